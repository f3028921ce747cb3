// LLVM IR to object files, in memory.
#ifndef NX_TARGET_OBJECTEMITTER_H
#define NX_TARGET_OBJECTEMITTER_H

#include "compiler/target/TargetDescription.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <string>

namespace nx {

using ObjectBytes = llvm::SmallVector<char, 0>;

// Optimizes `module` for `target` and returns its object file. Functions become hidden and get the
// target's attributes; `no-builtins` keeps the optimizer from calling a C library that is not
// there.
llvm::Expected<ObjectBytes> emitObject(llvm::Module &module, const TargetDescription &target,
                                       unsigned optLevel);

// The object with the table of `kernels` and the image's entry point `nx_module`.
llvm::Expected<ObjectBytes> emitModuleTable(llvm::ArrayRef<std::string> kernels,
                                            const TargetDescription &target);

// The object with memcpy, memmove and memset, which LLVM may call; linked only where used.
llvm::Expected<ObjectBytes> emitMemoryFunctions(const TargetDescription &target);

} // namespace nx

#endif // NX_TARGET_OBJECTEMITTER_H
