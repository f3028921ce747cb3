//===- StridedView.h - Reshapes, transposes and slices as addressing ------===//
//
// A value that is a chain of views of another one can be read in place: element [i0, i1, ..] lies
// at offset + sum(i_d * stride_d) elements from the base's first element.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_LOWERING_STRIDEDVIEW_H
#define NX_COMPILER_LOWERING_STRIDEDVIEW_H

#include "dialects/nx/Nx.h"

namespace nx {

struct StridedView {
  mlir::Value base;                            // stored row-major
  mlir::AffineExpr offset;                     // in elements
  llvm::SmallVector<mlir::AffineExpr> dims;    // sizes of the viewed value
  llvm::SmallVector<mlir::AffineExpr> strides; // in elements
};

/// The view of `value` itself: row-major strides.
StridedView rowMajorView(mlir::Value value);

/// What `value` is in terms of the furthest producer that it is a view of; the row-major view of
/// itself when its producer is not a view. `views`, when given, receives the operations passed,
/// producer last.
StridedView viewOf(mlir::Value value, llvm::SmallVectorImpl<mlir::Operation *> *views = nullptr);

/// `view` with its dimensions permuted, or regrouped to `dims`. Regrouping fails (nullopt) when
/// merged dimensions are not contiguous.
StridedView transposeView(const StridedView &view, llvm::ArrayRef<int64_t> perm);
std::optional<StridedView> reshapeView(const StridedView &view,
                                       llvm::ArrayRef<mlir::AffineExpr> dims);

/// Row-major strides of `dims`.
llvm::SmallVector<mlir::AffineExpr> rowMajorStrides(llvm::ArrayRef<mlir::AffineExpr> dims,
                                                    mlir::MLIRContext *context);

/// `chain` is an operation followed by transposes and reshapes, each of the one before. Where the
/// first one's elements lie in the last one's row-major storage; null base when that is not
/// expressible by strides.
StridedView storageThroughViews(llvm::ArrayRef<mlir::Operation *> chain);

} // namespace nx
#endif // NX_COMPILER_LOWERING_STRIDEDVIEW_H
