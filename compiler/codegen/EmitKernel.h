//===- EmitKernel.h - From a kernel function to loops ---------------------===//
#ifndef NX_COMPILER_CODEGEN_EMITKERNEL_H
#define NX_COMPILER_CODEGEN_EMITKERNEL_H

#include "compiler/target/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx {

/// Replaces a kernel function (nx operations, attribute `nx.family`) by the four functions of
/// runtime/include/nxrt/kernel_abi.h in its module. The family's emitter is tried first; a kernel
/// that it does not take goes to the general loops. Errors name the kernel's source nodes.
llvm::LogicalResult emitKernel(mlir::func::FuncOp kernel, const TargetDescription &target);

} // namespace nx
#endif // NX_COMPILER_CODEGEN_EMITKERNEL_H
