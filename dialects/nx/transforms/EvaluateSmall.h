//===- EvaluateSmall.h - Operations on small known values -----------------===//
//
// Shape arithmetic is ordinary IR: nx.shape_value and small nx.constant are its leaves, and an
// operation on known elements is evaluated to another leaf. Frontends do so while they build, the
// canonicalizer again later; nothing else in the compiler needs to know about shape computations.
//
//===----------------------------------------------------------------------===//
#ifndef NX_DIALECTS_NX_TRANSFORMS_EVALUATESMALL_H
#define NX_DIALECTS_NX_TRANSFORMS_EVALUATESMALL_H

#include "dialects/nx/Nx.h"

namespace nx {

/// A value with at most this much data may be evaluated and written as an attribute.
inline constexpr int64_t kMaxConstantBytes = 1024;

/// True when a value of this type is small enough, and of static size.
bool isSmall(mlir::RankedTensorType type);

/// The elements of a small integer or boolean value, row-major, when they are constants or sizes.
std::optional<llvm::SmallVector<mlir::AffineExpr>> knownElements(mlir::Value value);
/// The same when all are constants.
std::optional<llvm::SmallVector<int64_t>> knownInts(mlir::Value value);
/// The attribute of a constant that is small; null otherwise.
mlir::DenseElementsAttr knownConstant(mlir::Value value);

/// `elements` as a value of `type`: a constant if they all are constants, sizes otherwise.
mlir::Value createElements(mlir::OpBuilder &builder, mlir::Location loc,
                           llvm::ArrayRef<mlir::AffineExpr> elements, mlir::RankedTensorType type);

/// The value of the only result of `op` as a new leaf at the builder's insertion point; null when
/// the operands aren't known or the operation isn't one that is evaluated. `op` stays.
mlir::Value evaluateSmall(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace nx
#endif // NX_DIALECTS_NX_TRANSFORMS_EVALUATESMALL_H
