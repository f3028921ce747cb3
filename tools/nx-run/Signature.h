// What an entry point takes and gives, read once through the C API.
#ifndef NX_TOOLS_NX_RUN_SIGNATURE_H
#define NX_TOOLS_NX_RUN_SIGNATURE_H

#include "nxrt/nxrt.h"

#include <string>
#include <vector>

namespace nxtool {

struct Port {
  std::string name;
  nxrt_dtype dtype;
  std::vector<int64_t> dims;            // -1 where known only at run time
  std::vector<std::string> dimSymbols;  // there the size as text, else ""
  std::string typeText() const;         // "f32[batch, 128]"
};

/// A size known only at run time: dimension `dim` of input `input`.
struct RunTimeSize {
  std::string name;
  uint32_t input;
  uint32_t dim;
  int64_t min, max;
};

struct Signature {
  std::string entry;
  std::vector<Port> inputs, outputs;
  std::vector<RunTimeSize> sizes;

  int findInput(const std::string &name) const; // -1 when there is none
};

/// Of the entry point of that name ("": the first). Throws Refusal.
Signature readSignature(const nxrt_model *model, const std::string &entry);

} // namespace nxtool

#endif // NX_TOOLS_NX_RUN_SIGNATURE_H
