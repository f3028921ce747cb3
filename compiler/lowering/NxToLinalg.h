//===- NxToLinalg.h - Kernel bodies for the loop emitter ------------------===//
#ifndef NX_COMPILER_LOWERING_NXTOLINALG_H
#define NX_COMPILER_LOWERING_NXTOLINALG_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx {

/// Rewrites the body of a kernel function from nx operations to linalg on tensors, the form that
/// `emitLoops` takes: types lose their `#nx.dims`, and arguments and results get
/// `nx.shape = affine_map<()[s0, ..] -> (..)>` instead. Every nx operation on tensors lowers, except
/// parameters, collectives and dispatches, which are no part of kernels.
llvm::LogicalResult lowerToLinalg(mlir::func::FuncOp kernel);

} // namespace nx
#endif // NX_COMPILER_LOWERING_NXTOLINALG_H
