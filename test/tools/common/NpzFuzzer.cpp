// Any bytes are an archive of arrays or a refusal, never a crash; what was read survives being packed
// for every element type that the reader admits.
#include "tools/common/Npz.h"
#include "tools/common/Refusal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte *>(data), size);
  // Half of the inputs go straight to the array parser: checksums keep most mutations away from it.
  try {
    if (size && data[0] & 1) {
      nxtool::parseNpy(bytes.subspan(1), "input");
    } else {
      for (auto &[name, array] : nxtool::parseNpz(bytes, "input"))
        for (int dtype = NXRT_DTYPE_F32; dtype <= NXRT_DTYPE_F8E8M0; ++dtype) {
          std::vector<std::byte> packed;
          nxtool::toTensorBytes(array, static_cast<nxrt_dtype>(dtype), packed);
        }
    }
  } catch (const nxtool::Refusal &) {
  }
  return 0;
}
