// Kernels of one operation that has an order of its own: scattering, sorting, recurrence over time. They are
// written as loops over single elements with loads and stores; what is independent in them is shared in tiles.
#ifndef NX_CODEGEN_CPU_SCALAR_EMITSCALAR_H
#define NX_CODEGEN_CPU_SCALAR_EMITSCALAR_H

#include "compiler/target/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx {

// Adds the functions of `kernel`, whose body is one operation of the scalar family (and constants), to its module.
void emitScalarKernel(mlir::func::FuncOp kernel, const TargetDescription &target);

} // namespace nx

#endif // NX_CODEGEN_CPU_SCALAR_EMITSCALAR_H
