// Inputs of one run: arrays from a file bound to the model's inputs, or values made here.
#ifndef NX_TOOLS_NX_RUN_FEEDS_H
#define NX_TOOLS_NX_RUN_FEEDS_H

#include "tools/common/Npz.h"
#include "tools/common/Runtime.h"
#include "tools/nx-run/Signature.h"

#include <map>
#include <optional>

namespace nxtool {

/// How inputs are made that no file gives.
struct Generator {
  enum class Kind { None, Zeros, Random };
  Kind kind = Kind::None;
  uint64_t seed = 0;
  std::map<std::string, int64_t> sizes;                        // --dim
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;   // --range, both ends inclusive
};

/// Binds the arrays to inputs: by name, or arr_0, arr_1, ... by position. Refuses names that fit no
/// input and element types that are not the input's. `source` is what errors call the file.
std::map<uint32_t, TensorHandle> bindArrays(const Signature &signature, const NamedArrays &arrays,
                                            const std::string &source);

/// Adds a made tensor for each input that `feeds` lacks.
void makeMissing(const Signature &signature, const Generator &generator,
                 std::map<uint32_t, TensorHandle> &feeds);

TensorSetHandle toTensorSet(const Signature &signature,
                            const std::map<uint32_t, TensorHandle> &feeds);

} // namespace nxtool

#endif // NX_TOOLS_NX_RUN_FEEDS_H
