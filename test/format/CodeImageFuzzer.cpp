// Maps arbitrary bytes as a code image. Its code is not run.
#include "runtime/loader/code_image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  nxrt::CodeImage image;
  nxrt::Status status = image.map({reinterpret_cast<const std::byte *>(data), size});
  (void)status.ok();
  return 0;
}
