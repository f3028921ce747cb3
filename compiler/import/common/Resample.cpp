//===- Resample.cpp - Values between the elements of a tensor -------------===//

#include "compiler/import/common/Resample.h"
#include <cmath>

using namespace mlir;
using namespace nx;

/// The size as a scalar of type `element`.
static Value sizeNumber(GraphBuilder &b, AffineExpr size, Type element) {
  if (std::optional<int64_t> constant = constantOf(size))
    return b.scalar(element, double(*constant));
  return b.cast(b.sizeScalar(size), element);
}

static Value clamp(GraphBuilder &b, Value x, Value low, Value high) { return b.max(b.min(x, high), low); }

/// The weight of an element at distance `d` >= 0 under the convolution kernel of cubic interpolation.
static Value cubicKernel(GraphBuilder &b, Value d, double a) {
  // ((a + 2) d - (a + 3)) d^2 + 1 up to 1, ((a d - 5 a) d + 8 a) d - 4 a up to 2.
  Value inner = b.add(b.mul(b.mul(b.sub(b.mul(d, a + 2), a + 3), d), d), 1);
  Value outer = b.sub(b.mul(b.add(b.mul(b.sub(b.mul(d, a), 5 * a), d), 8 * a), d), 4 * a);
  Value zero = b.like(d, 0);
  return b.select(b.compare(ComparePredicate::le, d, 1.0), inner,
                  b.select(b.compare(ComparePredicate::lt, d, 2.0), outer, zero));
}

static Value linearKernel(GraphBuilder &b, Value d) { return b.max(b.sub(b.like(d, 1), d), 0.0); }

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

/// The positions of `count` output elements in an axis of `size` elements, as f64 [count].
static Value resizePositions(GraphBuilder &b, AffineExpr size, AffineExpr count, std::optional<double> scale,
                             ResizeCoordinates coordinates, double roiStart, double roiEnd) {
  Type f64 = b.builder.getF64Type();
  Value i = b.cast(b.iota({count}, 0, b.builder.getI64Type()), f64);
  Value in = sizeNumber(b, size, f64), whole = sizeNumber(b, count, f64);
  // The result's size before it was rounded to a number of elements.
  Value out = scale ? b.mul(in, *scale) : whole;
  Value factor = scale ? b.scalar(f64, *scale) : b.div(whole, in);
  Value isOne = b.compare(ComparePredicate::eq, out, 1.0);
  Value gaps = b.select(isOne, b.like(out, 1), b.sub(out, 1.0)), inGaps = b.sub(in, 1.0);
  Value centred = b.sub(b.div(b.add(i, 0.5), factor), 0.5);
  switch (coordinates) {
  case ResizeCoordinates::halfPixel:
    return centred;
  case ResizeCoordinates::pytorchHalfPixel:
    return b.select(isOne, b.like(out, -0.5), centred);
  case ResizeCoordinates::halfPixelSymmetric: {
    Value shift = b.mul(b.mul(in, 0.5), b.sub(b.like(out, 1), b.div(whole, out)));
    return b.add(centred, shift);
  }
  case ResizeCoordinates::alignCorners:
    return b.select(isOne, b.like(out, 0), b.div(b.mul(i, inGaps), gaps));
  case ResizeCoordinates::asymmetric:
    return b.div(i, factor);
  case ResizeCoordinates::cropAndResize: {
    Value inside = b.mul(b.div(b.mul(i, inGaps), gaps), roiEnd - roiStart);
    Value middle = b.mul(inGaps, (roiEnd - roiStart) / 2);
    return b.add(b.select(isOne, middle, inside), b.mul(inGaps, roiStart));
  }
  }
  llvm_unreachable("all coordinates are handled");
}

Value nx::resizeAxis(GraphBuilder &b, Value x, int64_t axis, AffineExpr count, std::optional<double> scale,
                     const ResizeSpec &spec, double roiStart, double roiEnd) {
  if (!x)
    return {};
  int64_t rank = b.rankOf(x);
  AffineExpr size = dimOf(b.typeOf(x), axis);
  Type element = b.elementOf(x), i64 = b.builder.getI64Type();
  Value position = resizePositions(b, size, count, scale, spec.coordinates, roiStart, roiEnd);
  Value last = b.sizeScalar(size - 1), zero = b.scalar(i64, 0);
  auto gatherAt = [&](Value index) { return b.gather(x, clamp(b, index, zero, last), axis); };
  /// [count] shaped to broadcast along the axis.
  auto alongAxis = [&](Value vector) { return b.appendUnitDims(vector, rank - axis); };

  Value result;
  if (spec.interpolation == Interpolation::nearest) {
    Value index;
    switch (spec.rounding) {
    case NearestRounding::preferFloor: index = b.emit<CeilOp>(b.sub(position, 0.5)); break;
    case NearestRounding::preferCeil: index = b.emit<FloorOp>(b.add(position, 0.5)); break;
    case NearestRounding::floor: index = b.emit<FloorOp>(position); break;
    case NearestRounding::ceil: index = b.emit<CeilOp>(position); break;
    }
    result = gatherAt(b.cast(index, i64));
  } else {
    bool isCubic = spec.interpolation == Interpolation::cubic;
    // A smaller result averages over a filter that is wider by as much.
    double narrow = spec.antialias ? std::min(scale.value_or(1), 1.0) : 1;
    double radius = isCubic ? 2 : 1;
    auto first = int64_t(std::floor(-radius / narrow)) + 1, end = 2 - first;
    Value base = b.emit<FloorOp>(position), ratio = b.sub(position, base), start = b.cast(base, i64);
    SmallVector<Value> weights, indices;
    Value total;
    for (int64_t tap = first; tap < end; ++tap) {
      Value distance = b.emit<AbsOp>(b.mul(b.sub(ratio, double(tap)), narrow));
      Value weight = isCubic ? cubicKernel(b, distance, spec.cubicCoefficient) : linearKernel(b, distance);
      Value index = b.add(start, double(tap));
      if (spec.excludeOutside) {
        Value inside = b.emit<AndOp>({b.compare(ComparePredicate::ge, index, zero),
                                      b.compare(ComparePredicate::le, index, last)});
        weight = b.select(inside, weight, b.like(weight, 0));
      }
      total = total ? b.add(total, weight) : weight;
      weights.push_back(weight);
      indices.push_back(index);
    }
    bool normalizes = spec.excludeOutside || narrow != 1;
    Type wide = isa<FloatType>(element) ? element : Type(b.builder.getF32Type());
    for (auto [weight, index] : llvm::zip(weights, indices)) {
      if (normalizes)
        weight = b.div(weight, b.select(b.compare(ComparePredicate::eq, total, 0.0), b.like(total, 1), total));
      Value term = b.mul(b.cast(gatherAt(index), wide), alongAxis(b.cast(weight, wide)));
      result = result ? b.add(result, term) : term;
    }
    result = b.cast(result, element);
  }
  if (spec.coordinates != ResizeCoordinates::cropAndResize || !result)
    return result;
  Value bound = sizeNumber(b, size - 1, b.builder.getF64Type());
  Value outside = b.emit<OrOp>({b.compare(ComparePredicate::lt, position, 0.0),
                                b.compare(ComparePredicate::gt, position, bound)});
  return b.select(alongAxis(outside), b.like(result, spec.extrapolation), result);
}

bool nx::repeatsElements(const ResizeSpec &spec) {
  if (spec.interpolation != Interpolation::nearest)
    return false;
  switch (spec.coordinates) {
  case ResizeCoordinates::asymmetric:
    return spec.rounding == NearestRounding::floor;
  case ResizeCoordinates::halfPixel:
  case ResizeCoordinates::halfPixelSymmetric:
    return spec.rounding == NearestRounding::preferFloor || spec.rounding == NearestRounding::preferCeil;
  default:
    return false;
  }
}

Value nx::repeatElements(GraphBuilder &b, Value x, ArrayRef<int64_t> factors) {
  if (!x)
    return {};
  SmallVector<AffineExpr> split, spread, result;
  for (auto [dim, factor] : llvm::zip_equal(dimsOf(b.typeOf(x)), factors)) {
    split.push_back(dim);
    spread.push_back(dim);
    if (factor != 1) {
      split.push_back(b.size(1));
      spread.push_back(b.size(factor));
    }
    result.push_back(normalize(dim * factor));
  }
  return b.reshape(b.broadcast(b.reshape(x, split), spread), result);
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

/// `x` mirrored at `low` and `high` until it lies between them.
static Value reflect(GraphBuilder &b, Value x, Value low, Value high) {
  Value range = b.sub(high, low);
  Value isEmpty = b.compare(ComparePredicate::le, range, 0.0);
  Value safe = b.select(isEmpty, b.like(range, 1), range);
  Value distance = b.emit<AbsOp>(b.sub(x, low));
  Value flips = b.emit<FloorOp>(b.div(distance, safe));
  Value rest = b.sub(distance, b.mul(flips, safe));
  Value isOdd = b.compare(ComparePredicate::ne, b.emit<RemOp>({flips, b.like(flips, 2)}), 0.0);
  Value mirrored = b.select(isOdd, b.sub(high, rest), b.add(low, rest));
  return b.select(isEmpty, low, mirrored);
}

Value nx::sampleAt(GraphBuilder &b, Value x, ArrayRef<Value> positions, Interpolation interpolation,
                   SamplePadding padding, bool alignCorners) {
  if (!x || llvm::is_contained(positions, Value()))
    return {};
  int64_t spatial = b.rankOf(x) - 2, points = b.rankOf(positions[0]);
  Type element = b.elementOf(x), wide = b.elementOf(positions[0]), i64 = b.builder.getI64Type();
  bool isCubic = interpolation == Interpolation::cubic, isNearest = interpolation == Interpolation::nearest;

  // Where a position or a tap that may lie outside reads, as the padding has it.
  SmallVector<Value> last(spatial);
  auto inside = [&](Value position, int64_t d) {
    if (padding == SamplePadding::reflection) {
      double margin = alignCorners ? 0 : 0.5;
      Value low = b.scalar(wide, -margin);
      position = reflect(b, position, low, b.add(last[d], margin));
    }
    return clamp(b, position, b.like(position, 0), last[d]);
  };

  /// One tap of a dimension: index and weight (none: 1), both [N, O..].
  struct Tap {
    Value index, weight;
  };
  SmallVector<SmallVector<Tap>> taps(spatial);
  for (int64_t d = 0; d < spatial; ++d) {
    last[d] = sizeNumber(b, dimOf(b.typeOf(x), d + 2) - 1, wide);
    Value position = positions[d];
    if (isNearest)
      position = b.emit<RoundOp>(position);
    if (padding != SamplePadding::zeros && !isCubic)
      position = inside(position, d);
    Value base = isNearest ? position : b.emit<FloorOp>(position);
    Value ratio = isNearest ? Value() : b.sub(position, base);
    int64_t first = isCubic ? -1 : 0, end = isNearest ? 1 : isCubic ? 3 : 2;
    for (int64_t t = first; t < end; ++t) {
      Tap tap{t == 0 ? base : b.add(base, double(t)), {}};
      if (!isNearest) {
        Value distance = b.emit<AbsOp>(b.sub(ratio, double(t)));
        tap.weight = isCubic ? cubicKernel(b, distance, -0.75) : linearKernel(b, distance);
      }
      if (padding == SamplePadding::zeros) {
        Value here = b.emit<AndOp>({b.compare(ComparePredicate::ge, tap.index, 0.0),
                                    b.compare(ComparePredicate::le, tap.index, last[d])});
        Value weight = tap.weight ? tap.weight : b.like(tap.index, 1);
        tap.weight = b.select(here, weight, b.like(weight, 0));
      }
      tap.index = b.cast(inside(tap.index, d), i64);
      taps[d].push_back(tap);
    }
  }

  // Channels last, so that one index tuple reads all of them.
  SmallVector<int64_t> perm{0};
  for (int64_t d = 0; d < spatial; ++d)
    perm.push_back(d + 2);
  perm.push_back(1);
  Value source = b.transpose(x, perm), result;
  SmallVector<size_t> at(spatial, 0);
  for (bool more = true; more;) {
    SmallVector<Value> index;
    Value weight;
    for (int64_t d = 0; d < spatial; ++d) {
      const Tap &tap = taps[d][at[d]];
      index.push_back(b.insertUnitDim(tap.index, points));
      if (tap.weight)
        weight = weight ? b.mul(weight, tap.weight) : tap.weight;
    }
    Value term = b.emit<GatherNdOp>({source, b.concat(index, points)}, b.i64("batch_dims", 1));
    if (weight)
      term = b.mul(term, b.insertUnitDim(b.cast(weight, element), points));
    result = result ? b.add(result, term) : term;
    more = false;
    for (int64_t d = spatial; d-- > 0 && !more;)
      if (++at[d] < taps[d].size())
        more = true;
      else
        at[d] = 0;
  }
  // [N, O.., C] to [N, C, O..]
  SmallVector<int64_t> back{0, points};
  for (int64_t d = 1; d < points; ++d)
    back.push_back(d);
  return b.transpose(result, back);
}

Value nx::gridSample(GraphBuilder &b, Value x, Value grid, Interpolation interpolation, SamplePadding padding,
                     bool alignCorners) {
  if (!x || !grid)
    return {};
  int64_t spatial = b.rankOf(x) - 2, rank = b.rankOf(grid);
  SmallVector<AffineExpr> points = dimsOf(b.typeOf(grid));
  points.pop_back();
  SmallVector<Value> positions;
  for (int64_t d = 0; d < spatial; ++d) {
    Value coordinate = b.reshape(b.slice(grid, rank - 1, b.size(spatial - 1 - d), b.size(1)), points);
    if (!coordinate)
      return {};
    if (b.elementOf(coordinate).getIntOrFloatBitWidth() < 32)
      coordinate = b.cast(coordinate, b.builder.getF32Type());
    Value size = sizeNumber(b, dimOf(b.typeOf(x), d + 2), b.elementOf(coordinate));
    Value shifted = b.add(coordinate, 1.0);
    positions.push_back(alignCorners ? b.mul(b.mul(shifted, 0.5), b.sub(size, 1.0))
                                     : b.mul(b.sub(b.mul(shifted, size), 1.0), 0.5));
  }
  return sampleAt(b, x, positions, interpolation, padding, alignCorners);
}

Value nx::affineGrid(GraphBuilder &b, Value theta, ArrayRef<AffineExpr> sizes, bool alignCorners) {
  if (!theta)
    return {};
  int64_t spatial = sizes.size();
  Type element = b.elementOf(theta);
  // Coordinates [O.., k + 1], the innermost dimension first and a 1 at the end.
  SmallVector<AffineExpr> full(sizes);
  full.push_back(b.size(1));
  SmallVector<Value> columns;
  for (int64_t d = spatial; d-- > 0;) {
    SmallVector<AffineExpr> line(spatial, b.size(1));
    line[d] = sizes[d];
    Value i = b.cast(b.iota(line, d, b.builder.getI64Type()), element), size = sizeNumber(b, sizes[d], element);
    Value coordinate;
    if (alignCorners) {
      Value gaps = b.sub(size, 1.0);
      Value isOne = b.compare(ComparePredicate::eq, gaps, 0.0);
      Value step = b.div(b.like(size, 2), b.select(isOne, b.like(size, 1), gaps));
      // One element lies in the middle.
      coordinate = b.select(isOne, b.like(size, 0), b.sub(b.mul(i, step), 1.0));
    } else {
      coordinate = b.sub(b.div(b.add(b.mul(i, 2.0), 1.0), size), 1.0);
    }
    columns.push_back(b.broadcast(b.insertUnitDim(coordinate, spatial), full));
  }
  columns.push_back(b.broadcast(b.scalar(element, 1), full));
  Value points = b.concat(columns, spatial);
  AffineExpr count = productOf(sizes, b.context());
  Value flat = b.reshape(points, {count, b.size(spatial + 1)});
  Value grid = b.emit<MatmulOp>({flat, theta}, b.flag("transpose_rhs"));
  SmallVector<AffineExpr> shape{dimOf(b.typeOf(theta), 0)};
  llvm::append_range(shape, sizes);
  shape.push_back(b.size(spatial));
  return b.reshape(grid, shape);
}
