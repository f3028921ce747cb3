//===- Windows.cpp - Convolutions and pools in terms of others ------------===//

#include "compiler/import/common/Windows.h"

using namespace mlir;
using namespace nx;

/// `step - 1` zeros between the elements of an axis.
static Value spread(GraphBuilder &b, Value x, int64_t axis, int64_t step) {
  if (step == 1 || !x)
    return x;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  AffineExpr size = dims[axis];
  Value column = b.padAxis(b.insertUnitDim(x, axis + 1), axis + 1, b.size(0), b.size(step - 1));
  dims[axis] = size * step;
  // Nothing follows the last element.
  return b.slice(b.reshape(column, dims), axis, b.size(0), size * step - (step - 1));
}

Value nx::convTranspose(GraphBuilder &b, Value x, Value weight, Value bias, const WindowSizes &window,
                        ArrayRef<int64_t> extra, int64_t groups) {
  if (!x || !weight)
    return {};
  int64_t spatial = b.rankOf(x) - 2;
  SmallVector<int64_t> lo, hi, ones(spatial, 1);
  for (int64_t i = 0; i < spatial; ++i) {
    x = spread(b, x, i + 2, window.strides[i]);
    int64_t reach = window.dilations[i] * (window.kernel[i] - 1);
    lo.push_back(reach - window.lo[i]);
    hi.push_back(reach - window.hi[i] + extra[i]);
    // A convolution only adds: what is to be cut off goes first.
    if (lo[i] < 0 || hi[i] < 0) {
      x = b.padAxis(x, i + 2, b.size(std::min<int64_t>(lo[i], 0)), b.size(std::min<int64_t>(hi[i], 0)));
      lo[i] = std::max<int64_t>(lo[i], 0);
      hi[i] = std::max<int64_t>(hi[i], 0);
    }
  }
  // [groups * c, o, kernel..] to [groups * o, c, flipped kernel..]
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(weight));
  AffineExpr inputs = divideExactly(dims[0], b.size(groups)), outputs = dims[1];
  if (!inputs)
    return b.error() << b.text(dims[0]) << " input channels do not divide into " << groups << " groups", Value();
  SmallVector<AffineExpr> grouped{b.size(groups), inputs}, merged{outputs * groups, inputs};
  grouped.append(dims.begin() + 1, dims.end());
  merged.append(dims.begin() + 2, dims.end());
  SmallVector<int64_t> perm{0, 2, 1};
  for (int64_t i = 0; i < spatial; ++i)
    perm.push_back(i + 3);
  weight = b.reshape(b.transpose(b.reshape(weight, grouped), perm), merged);
  for (int64_t i = 0; i < spatial; ++i)
    if (window.kernel[i] > 1)
      weight = b.slice(weight, i + 2, b.size(window.kernel[i] - 1), b.size(window.kernel[i]), -1);
  return b.emitOptional<ConvOp>({x, weight, bias},
                                {b.ints("strides", ones), b.ints("dilations", window.dilations), b.ints("pads_lo", lo),
                                 b.ints("pads_hi", hi), b.i64("groups", groups)});
}

Value nx::pool(GraphBuilder &b, PoolKind kind, Value x, const WindowSizes &window, bool ceilMode,
               bool countIncludePad) {
  SmallVector<NamedAttribute> attributes{b.ints("strides", window.strides), b.ints("dilations", window.dilations),
                                         b.ints("pads_lo", window.lo), b.ints("pads_hi", window.hi),
                                         b.ints("window", window.kernel),
                                         b.attr("kind", PoolKindAttr::get(b.context(), kind))};
  if (ceilMode)
    attributes.push_back(b.flag("ceil_mode"));
  if (countIncludePad)
    attributes.push_back(b.flag("count_include_pad"));
  return b.emit<PoolOp>(x, attributes);
}

Value nx::localResponseNorm(GraphBuilder &b, Value x, int64_t size, double alpha, double beta, double bias) {
  if (!x)
    return {};
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  // Windows slide over channels: [N, 1, C, rest].
  AffineExpr rest = productOf(ArrayRef(dims).drop_front(2), b.context());
  Value squares = b.reshape(b.mul(x, x), {dims[0], b.size(1), dims[1], rest});
  WindowSizes window{{size, 1}, {1, 1}, {1, 1}, {(size - 1) / 2, 0}, {size / 2, 0}};
  Value sums = b.reshape(pool(b, PoolKind::sum, squares, window, false, false), dims);
  Value scale = b.add(b.mul(sums, alpha / double(size)), bias);
  return b.div(x, b.emit<PowOp>({scale, b.like(scale, beta)}));
}

Value nx::foldBlocks(GraphBuilder &b, Value x, ArrayRef<AffineExpr> image, const WindowSizes &window) {
  if (!x)
    return {};
  Type i64 = b.builder.getI64Type();
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), padded;
  int64_t spatial = image.size(), block = 1;
  for (int64_t size : window.kernel)
    block *= size;
  AffineExpr channels = divideExactly(dims[1], b.size(block));
  if (!channels)
    return b.error() << b.text(dims[1]) << " rows do not divide into blocks of " << block, Value();
  // Where in the padded image each element of each block lies: [kernel.., places..].
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < spatial; ++i) {
    padded.push_back(normalize(image[i] + window.lo[i] + window.hi[i]));
    AffineExpr span = padded[i] - window.dilations[i] * (window.kernel[i] - 1) - 1;
    places.push_back(normalize(span.floorDiv(window.strides[i]) + 1));
  }
  AffineExpr count = productOf(places, b.context());
  b.requireEqual(dims[2], count, "blocks");
  Value position;
  for (int64_t i = 0; i < spatial; ++i) {
    SmallVector<AffineExpr> tapLine(2 * spatial, b.size(1)), placeLine(2 * spatial, b.size(1));
    tapLine[i] = b.size(window.kernel[i]);
    placeLine[spatial + i] = places[i];
    Value here = b.add(b.mul(b.iota(tapLine, i, i64), double(window.dilations[i])),
                       b.mul(b.iota(placeLine, spatial + i, i64), double(window.strides[i])));
    position = position ? b.add(b.mul(position, b.sizeScalar(padded[i])), here) : here;
  }
  AffineExpr images = normalize(dims[0] * channels), elements = normalize(count * block);
  AffineExpr area = productOf(padded, b.context());
  Value indices = b.broadcast(b.reshape(position, {b.size(1), elements}), {images, elements});
  Value updates = b.reshape(x, {images, elements});
  Value zeros = updates ? b.broadcast(b.like(updates, 0), {images, area}) : Value();
  Value sums = b.emit<ScatterElementsOp>(
      {zeros, indices, updates},
      {b.i64("axis", 1), b.attr("reduction", ScatterKindAttr::get(b.context(), ScatterKind::add))});
  SmallVector<AffineExpr> shape{dims[0], channels};
  llvm::append_range(shape, padded);
  Value result = b.reshape(sums, shape);
  for (int64_t i = 0; i < spatial; ++i)
    if (window.lo[i] || window.hi[i])
      result = b.slice(result, i + 2, b.size(window.lo[i]), image[i]);
  return result;
}
