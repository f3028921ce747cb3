// Links objects into a closed code image with ld.lld, as a child process.
#ifndef NX_TARGET_IMAGELINKER_H
#define NX_TARGET_IMAGELINKER_H

#include "compiler/target/ObjectEmitter.h"
#include <string>
#include <vector>

namespace nx {

// Links `objects`, and of `library` what they need, into an image that enters at `nx_module`. Any
// symbol left undefined is an error that names it. `linker`: path of ld.lld, see
// KernelCompileOptions::linker.
llvm::Expected<std::vector<char>> linkImage(llvm::ArrayRef<ObjectBytes> objects,
                                            const ObjectBytes &library,
                                            const TargetDescription &target,
                                            llvm::StringRef linker);

} // namespace nx

#endif // NX_TARGET_IMAGELINKER_H
