// NumPy's archive of named arrays (.npz): a ZIP file with one .npy member per array.
//
// Stored and deflated members are read, with ZIP64 sizes; members are written stored, as numpy.savez
// does. Encrypted, split and otherwise compressed archives are refused.
#ifndef NX_TOOLS_COMMON_NPZ_H
#define NX_TOOLS_COMMON_NPZ_H

#include "tools/common/Npy.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nxtool {

/// Arrays by name, in the archive's order. Names are unique.
using NamedArrays = std::vector<std::pair<std::string, Array>>;

/// Parses an archive in memory; `name` is what errors call it. Throws Refusal.
NamedArrays parseNpz(std::span<const std::byte> bytes, const std::string &name);

NamedArrays readNpz(const std::string &path);

/// Writes the archive whole or not at all. Throws Refusal. The bytes depend on the arrays alone.
void writeNpz(const std::string &path, const NamedArrays &arrays);

} // namespace nxtool

#endif // NX_TOOLS_COMMON_NPZ_H
