//===- Slices.cpp - Parts of a dimension ----------------------------------===//

#include "compiler/import/common/Slices.h"

using namespace mlir;
using namespace nx;

/// A bound of a slice with a positive step, clamped to [0, size]. Where a symbol leaves open whether
/// a bound is inside, it is taken to be, and the execution checks it.
static AffineExpr clampedBound(GraphBuilder &b, AffineExpr bound, AffineExpr size) {
  std::optional<int64_t> constant = constantOf(bound), limit = constantOf(size);
  if (constant && limit)
    return b.size(std::clamp<int64_t>(*constant < 0 ? *constant + *limit : *constant, 0, *limit));
  if (constant && *constant >= kEndless)
    return size;
  if (constant && *constant <= -kEndless)
    return b.size(0);
  bool fromEnd = lowerBound(normalize(-bound)).value_or(0) > 0;
  AffineExpr inside = normalize(fromEnd ? size + bound : bound);
  b.requireAtMost(b.size(0), inside, "a bound of the slice");
  b.requireAtMost(inside, size, "a bound of the slice");
  return inside;
}

std::optional<SliceRange> nx::sliceRange(GraphBuilder &b, AffineExpr start, AffineExpr end, int64_t step, AffineExpr size) {
  SliceRange range;
  range.step = step;
  if (step > 0) {
    range.start = clampedBound(b, start, size);
    AffineExpr span = normalize(clampedBound(b, end, size) - range.start);
    std::optional<int64_t> constant = constantOf(span);
    if (constant)
      span = b.size(std::max<int64_t>(*constant, 0));
    else
      b.requireAtMost(b.size(0), span, "the start of the slice");
    range.count = normalize(span.ceilDiv(step));
    if (constantOf(range.count) == 0)
      range.start = b.size(0);
    return range;
  }
  // Backwards: bounds are clamped to [0, size - 1] and [-1, size - 1].
  std::optional<int64_t> from = constantOf(start), to = constantOf(end), limit = constantOf(size);
  if (!from || !to)
    return std::nullopt;
  if (limit) {
    int64_t first = std::clamp<int64_t>(*from < 0 ? *from + *limit : *from, -1, *limit - 1);
    int64_t last = std::clamp<int64_t>(*to < 0 ? *to + *limit : *to, -1, *limit - 1);
    int64_t count = first > last ? llvm::divideCeil(first - last, -step) : 0;
    range.start = b.size(count ? first : 0);
    range.count = b.size(count);
    return range;
  }
  if ((*from != -1 && *from < kEndless) || *to > -kEndless)
    return std::nullopt;
  range.start = size - 1;
  range.count = normalize(size.ceilDiv(-step));
  return range;
}

Value nx::emitSlice(GraphBuilder &b, Value x, ArrayRef<std::pair<int64_t, SliceRange>> ranges) {
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), starts(dims.size(), b.size(0));
  SmallVector<int64_t> steps(dims.size(), 1);
  for (auto &[axis, range] : ranges) {
    dims[axis] = range.count;
    starts[axis] = range.start;
    steps[axis] = range.step;
  }
  return b.emitAs<SliceOp>(withDims(b.typeOf(x), dims), x, {b.dims("starts", starts), b.ints("steps", steps)});
}
