//===- NxToLinalg.h - Kernel bodies for the loop emitter ------------------===//
#ifndef NX_COMPILER_LOWERING_NXTOLINALG_H
#define NX_COMPILER_LOWERING_NXTOLINALG_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx {

/// Attribute of a kernel's tensors at the linalg level: their sizes over the kernel's symbols, as
/// `affine_map<()[s0, ..] -> (..)>`.
inline constexpr llvm::StringLiteral kShapeAttr = "nx.shape";
/// Attribute of an `index` argument: which symbol it is the value of. Such arguments are no operands
/// of the kernel.
inline constexpr llvm::StringLiteral kSymbolAttr = "nx.symbol";

/// Rewrites the body of a kernel function from nx operations to linalg on tensors, the form that
/// `emitLoops` takes: types lose their `#nx.dims` and unsigned elements become signless; arguments
/// and results get `nx.shape`; behind the tensors comes one `index` argument per symbol. Every nx
/// operation on tensors lowers, except parameters, collectives and dispatches, which are no part
/// of kernels. On failure a diagnostic names the operation, and the kernel is unchanged.
llvm::LogicalResult lowerToLinalg(mlir::func::FuncOp kernel);

} // namespace nx
#endif // NX_COMPILER_LOWERING_NXTOLINALG_H
