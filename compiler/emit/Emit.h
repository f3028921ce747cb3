//===- Emit.h - From an nxe executable to the file ------------------------===//
//
// A walk over the nxe dialect, one table per operation. Code images and weights become 4096-aligned
// segments, the weights streamed from the parameter catalogue one at a time; the FlatBuffer comes
// last, when all checksums are known. Equal inputs give equal bytes.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_EMIT_EMIT_H
#define NX_COMPILER_EMIT_EMIT_H

#include "compiler/params/ParamCatalog.h"
#include "compiler/target/TargetDescription.h"
#include "dialects/nxe/Nxe.h"

namespace nx {

/// The kernels' machine code for one target, in the order of the executable's kernels.
struct CodeImage {
  const TargetDescription *target;
  std::vector<char> bytes;
};

/// What goes into the file for people and for reports.
struct EmitInfo {
  std::string producer; // "nxcc 0.1.0"
  std::string modelName;
  std::string modelHash; // hexadecimal
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::string, std::string>> plan; // parameter -> split
};

struct EmitStats {
  uint64_t fileBytes = 0, codeBytes = 0, weightBytes = 0, tableBytes = 0;
};

/// Writes the executable to `path`, by way of a temporary file beside it that is renamed when it is
/// complete. Errors are sentences for the user; then nothing is left behind.
llvm::Expected<EmitStats> emitExecutable(nxe::ExecutableOp executable,
                                         llvm::ArrayRef<CodeImage> images,
                                         const ParamCatalog &catalog, const EmitInfo &info,
                                         llvm::StringRef path);

} // namespace nx
#endif // NX_COMPILER_EMIT_EMIT_H
