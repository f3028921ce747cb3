//===- StridedView.cpp - Reshapes, transposes and slices as addressing ----===//

#include "compiler/lowering/StridedView.h"

using namespace mlir;
using namespace nx;

SmallVector<AffineExpr> nx::rowMajorStrides(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  SmallVector<AffineExpr> strides(dims.size());
  AffineExpr stride = getAffineConstantExpr(1, context);
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride = normalize(stride * dims[d]);
  }
  return strides;
}

StridedView nx::rowMajorView(Value value) {
  SmallVector<AffineExpr> dims = dimsOf(cast<RankedTensorType>(value.getType()));
  MLIRContext *context = value.getContext();
  return {value, getAffineConstantExpr(0, context), dims, rowMajorStrides(dims, context)};
}

StridedView nx::transposeView(const StridedView &view, ArrayRef<int64_t> perm) {
  StridedView result{view.base, view.offset, {}, {}};
  for (int64_t p : perm) {
    result.dims.push_back(view.dims[p]);
    result.strides.push_back(view.strides[p]);
  }
  return result;
}

std::optional<StridedView> nx::reshapeView(const StridedView &view, ArrayRef<AffineExpr> dims) {
  MLIRContext *context = view.base.getContext();
  AffineExpr one = getAffineConstantExpr(1, context);
  StridedView result{view.base, view.offset, SmallVector<AffineExpr>(dims), {}};
  result.strides.assign(dims.size(), one);

  // Both shapes are cut, from the left, into the smallest groups of equal size. Within a group the
  // source must be contiguous, unless it is a single dimension, which may be split at will.
  size_t s = 0, d = 0;
  while (s < view.dims.size() || d < dims.size()) {
    size_t s0 = s, d0 = d;
    AffineExpr sourceSize = one, resultSize = one;
    bool ok = false;
    // Grow the smaller side; with symbols, the side that does not divide the other's size.
    while (true) {
      if (s > s0 && d > d0 && sourceSize == resultSize) {
        ok = true;
        break;
      }
      bool growSource =
          s < view.dims.size() &&
          (s == s0 || d == dims.size() ||
           (d > d0 && divideExactly(resultSize, sourceSize) && sourceSize != resultSize));
      if (growSource) {
        sourceSize = normalize(sourceSize * view.dims[s++]);
        continue;
      }
      if (d < dims.size()) {
        resultSize = normalize(resultSize * dims[d++]);
        continue;
      }
      if (s < view.dims.size()) {
        sourceSize = normalize(sourceSize * view.dims[s++]);
        continue;
      }
      // One side is used up: what is left of the other must be ones.
      ok = sourceSize == resultSize;
      break;
    }
    if (!ok)
      return std::nullopt;
    // Leave ones out of the contiguity check: they have no extent.
    AffineExpr inner; // stride of the innermost dimension of the group
    AffineExpr expected;
    for (size_t i = s; i-- > s0;) {
      if (view.dims[i] == one)
        continue;
      if (!inner)
        inner = view.strides[i];
      else if (view.strides[i] != expected)
        return std::nullopt;
      expected = normalize(view.strides[i] * view.dims[i]);
    }
    AffineExpr stride = inner ? inner : one;
    for (size_t i = d; i-- > d0;) {
      result.strides[i] = stride;
      stride = normalize(stride * dims[i]);
    }
  }
  return result;
}

StridedView nx::viewOf(Value value, SmallVectorImpl<Operation *> *views) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<ReshapeOp, TransposeOp, SliceOp>(op))
    return rowMajorView(value);
  size_t mark = views ? views->size() : 0;
  if (views)
    views->push_back(op);
  StridedView inner = viewOf(op->getOperand(0), views);
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return transposeView(inner, transpose.getPerm());
  if (auto slice = dyn_cast<SliceOp>(op)) {
    StridedView result = inner;
    result.dims = dimsOf(slice.getType());
    for (auto [d, start] : llvm::enumerate(slice.getStarts().getExprs())) {
      result.offset = normalize(result.offset + start * inner.strides[d]);
      result.strides[d] = normalize(inner.strides[d] * slice.getSteps()[d]);
    }
    return result;
  }
  if (auto reshaped = reshapeView(inner, dimsOf(cast<RankedTensorType>(value.getType()))))
    return *reshaped;
  if (views)
    views->resize(mark);
  return rowMajorView(value);
}

StridedView nx::storageThroughViews(ArrayRef<Operation *> chain) {
  StridedView view = rowMajorView(chain.back()->getResult(0));
  for (Operation *op : llvm::reverse(chain.drop_front())) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      // Result dimension i is operand dimension perm[i], so the latter has the stride of the
      // former.
      StridedView operand = view;
      for (auto [i, p] : llvm::enumerate(transpose.getPerm())) {
        operand.dims[p] = view.dims[i];
        operand.strides[p] = view.strides[i];
      }
      view = operand;
    } else {
      auto reshaped =
          reshapeView(view, dimsOf(cast<RankedTensorType>(op->getOperand(0).getType())));
      if (!reshaped)
        return {};
      view = *reshaped;
    }
  }
  return view;
}
