//===- Dims.h - Symbolic sizes --------------------------------------------===//
//
// Sizes are AffineExprs over symbols s0, s1, ... (products of symbols included). All expressions in
// the IR are in a normal form: a polynomial with integer coefficients, its monomials in a fixed
// order, over symbols and over floordiv/ceildiv/mod terms as opaque factors. Equal polynomials are
// therefore the same object, and types compare by pointer.
//
//===----------------------------------------------------------------------===//
#ifndef NX_DIALECTS_NX_DIMS_H
#define NX_DIALECTS_NX_DIMS_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace nx {

/// True when every dynamic dimension of `type` has an expression.
bool hasKnownDims(mlir::RankedTensorType type);

/// The expression of each dimension; constants for static ones. Requires hasKnownDims.
llvm::SmallVector<mlir::AffineExpr> dimsOf(mlir::RankedTensorType type);
mlir::AffineExpr dimOf(mlir::RankedTensorType type, unsigned dim);

/// The tensor type with these sizes: constants become static dimensions; the encoding is there
/// exactly when a dimension is dynamic. Expressions are brought to normal form.
mlir::RankedTensorType tensorOf(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
/// `type` with other sizes or another element type.
mlir::RankedTensorType withDims(mlir::RankedTensorType type, llvm::ArrayRef<mlir::AffineExpr> dims);
mlir::RankedTensorType withElement(mlir::RankedTensorType type, mlir::Type element);

/// The normal form of `expr`. Of an expression that is too long for a size of a model, it is one that
/// stands for all of them.
mlir::AffineExpr normalize(mlir::AffineExpr expr);
bool isTooComplex(mlir::AffineExpr normalized);

/// The constant value of `expr`, if it is one.
std::optional<int64_t> constantOf(mlir::AffineExpr expr);

/// numerator / denominator when the division is exact for all symbol values; null otherwise.
mlir::AffineExpr divideExactly(mlir::AffineExpr numerator, mlir::AffineExpr denominator);

/// A number that `expr` is never below, given that symbols are >= 0; null when none is evident.
std::optional<int64_t> lowerBound(mlir::AffineExpr expr);

/// Product of all sizes, in normal form (1 for rank 0).
mlir::AffineExpr productOf(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *context);

/// True when the two are equal for all symbol values (symbols are >= 0).
inline bool provablyEqual(mlir::AffineExpr a, mlir::AffineExpr b) {
  return normalize(a) == normalize(b);
}

/// The size that NumPy broadcasting gives for `a` against `b`, or null when both are constants that
/// do not match. A symbol against another symbol gives `a`; the frontend emits the run-time check.
mlir::AffineExpr broadcastDim(mlir::AffineExpr a, mlir::AffineExpr b);

/// "batch * 2 + 1": `expr` with the symbols' names, for messages. Unnamed ones print as sN.
std::string dimToString(mlir::AffineExpr expr, llvm::ArrayRef<llvm::StringRef> names = {});

} // namespace nx
#endif // NX_DIALECTS_NX_DIMS_H
