//===- NxToLinalgReduce.cpp - Reductions and normalizations as linalg -----===//

#include "compiler/lowering/LowerOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace nx;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// From `first` up to the last dimension.
static SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(first, rank));
}

static AffineExpr sizeOver(LinalgBuilder &b, ArrayRef<AffineExpr> dims, ArrayRef<int64_t> axes) {
  Dims sizes;
  for (int64_t axis : axes)
    sizes.push_back(dims[axis]);
  return productOf(sizes, b.getContext());
}

Lowered nx::lower(LinalgBuilder &b, ReduceOp op) {
  SizedTensor x = b[op.getX()];
  RankedTensorType type = tensorType(op.getResult());
  Type element = tensorType(op.getX()).getElementType();
  ArrayRef<int64_t> axes = op.getAxes();
  ReduceKind kind = op.getKind();
  bool isUnsigned = isUnsignedElement(element);
  SizedTensor result;
  if (axes.empty()) {
    result = b.move(x.dims, element, {b.plain(x)}, LinalgBuilder::first);
  } else {
    result = b.reduce(kind, isUnsigned, x.dims, axes, element, {b.plain(x)}, LinalgBuilder::first);
    if (kind == ReduceKind::mean || result.element() != x.element())
      result = b.map(result.dims, element, {b.plain(result)}, [&](ValueRange args) {
        if (kind != ReduceKind::mean)
          return args[0];
        Value count = b.number(sizeOver(b, x.dims, axes), args[0].getType());
        // The mean of no integers is 0, as far as anything is.
        if (isa<IntegerType>(count.getType()) && !constantOf(sizeOver(b, x.dims, axes)))
          count = arith::MaxUIOp::create(b, count, b.scalar(count.getType(), 1));
        return b.div(args[0], count, isUnsigned);
      });
  }
  return b.reshape(result, dimsOf(type)); // puts the kept dimensions back
}

Lowered nx::lower(LinalgBuilder &b, ArgReduceOp op) {
  SizedTensor x = b[op.getX()];
  RankedTensorType type = tensorType(op.getResult());
  bool isUnsigned = isUnsignedElement(tensorType(op.getX()).getElementType());
  bool isMax = op.getKind() == ReduceKind::max, last = op.getSelectLast();
  int64_t axis = op.getAxis();
  Type element = computeType(x.element());
  Dims kept(x.dims);
  kept.erase(kept.begin() + axis);
  // Starting from the neutral element at index 0 is right: where all elements are equal to it, an
  // earlier one would have the same index.
  SizedTensor best = b.full(kept, b.neutral(op.getKind(), isUnsigned, element));
  SizedTensor where = b.full(kept, b.getI64IntegerAttr(0));
  SmallVector<SizedTensor> results = b.nest(
      x.rank(), {axis}, {b.plain(x)}, {b.without(best, {axis}), b.without(where, {axis})},
      [&](ValueRange args) {
        Value value = b.widen(args[0]), so_far = args[1], take;
        if (isa<FloatType>(element)) {
          using P = arith::CmpFPredicate;
          // Unordered comparisons take any NaN; what is taken then only yields to another one.
          P better = isMax ? (last ? P::UGE : P::UGT) : (last ? P::ULE : P::ULT);
          take = arith::CmpFOp::create(b, better, value, so_far);
          Value open = arith::CmpFOp::create(b, P::ORD, so_far, so_far);
          if (last)
            open = arith::OrIOp::create(b, open, arith::CmpFOp::create(b, P::UNO, value, value));
          take = arith::AndIOp::create(b, take, open);
        } else {
          using P = arith::CmpIPredicate;
          P better = isUnsigned ? (isMax ? (last ? P::uge : P::ugt) : (last ? P::ule : P::ult))
                                : (isMax ? (last ? P::sge : P::sgt) : (last ? P::sle : P::slt));
          take = arith::CmpIOp::create(b, better, value, so_far);
        }
        Value here = arith::IndexCastOp::create(b, b.getI64Type(), b.loopIndex(axis));
        return SmallVector<Value>{b.select(take, value, so_far), b.select(take, here, args[2])};
      });
  return b.reshape(results[1], dimsOf(type));
}

Lowered nx::lower(LinalgBuilder &b, CumulativeOp op) {
  SizedTensor x = b[op.getX()];
  int64_t axis = op.getAxis();
  // In reverse: over views that run backwards.
  Dims starts(x.rank(), b.constant(0));
  SmallVector<int64_t> steps(x.rank(), 1);
  starts[axis] = x.dims[axis] - 1;
  steps[axis] = -1;
  bool reverse = op.getReverse();
  if (reverse)
    x = b.slice(x, starts, x.dims, steps);
  Type element = x.element(), wide = computeType(element);
  Dims kept(x.dims);
  kept.erase(kept.begin() + axis);
  bool isUnsigned = isUnsignedElement(tensorType(op.getX()).getElementType());
  SizedTensor before = b.full(kept, b.neutral(op.getKind(), isUnsigned, wide));
  SizedTensor result =
      b.nest(x.rank(), {axis}, {b.plain(x)},
             {b.plain(b.empty(x.dims, element)), b.without(before, {axis})}, [&](ValueRange args) {
               Value next = b.combine(op.getKind(), isUnsigned, args[2], b.widen(args[0]));
               Value out = op.getExclusive() ? args[2] : next;
               return SmallVector<Value>{b.narrow(out, element), next};
             })[0];
  if (reverse)
    result = b.insert(result, b.empty(result.dims, element), starts, steps);
  return result;
}

Lowered nx::lower(LinalgBuilder &b, SoftmaxOp op) {
  SizedTensor x = b[op.getX()];
  Type element = x.element();
  Type wide = computeType(element);
  SmallVector<int64_t> axis{int64_t(op.getAxis())};
  SizedTensor max =
      b.reduce(ReduceKind::max, false, x.dims, axis, element, {b.plain(x)}, LinalgBuilder::first);
  auto shifted = [&](ValueRange args) { return b.sub(args[0], args[1]); };
  if (op.getLog()) {
    SizedTensor difference = b.map(x.dims, wide, {b.plain(x), b.without(max, axis)}, shifted);
    SizedTensor sum = b.reduce(
        ReduceKind::sum, false, x.dims, axis, wide, {b.plain(difference)},
        [&](ValueRange args) -> Value { return math::ExpOp::create(b, args[0]); });
    SizedTensor log = b.map(sum.dims, wide, {b.plain(sum)}, [&](ValueRange args) -> Value {
      return math::LogOp::create(b, args[0]);
    });
    return b.map(x.dims, element, {b.plain(difference), b.without(log, axis)}, shifted);
  }
  SizedTensor power =
      b.map(x.dims, wide, {b.plain(x), b.without(max, axis)}, [&](ValueRange args) -> Value {
        return math::ExpOp::create(b, shifted(args));
      });
  SizedTensor sum = b.reduce(ReduceKind::sum, false, x.dims, axis, wide, {b.plain(power)},
                             LinalgBuilder::first);
  SizedTensor factor = b.map(sum.dims, wide, {b.plain(sum)}, [&](ValueRange args) {
    return b.div(b.scalar(wide, 1), args[0], false);
  });
  return b.map(x.dims, element, {b.plain(power), b.without(factor, axis)},
               [&](ValueRange args) { return b.mul(args[0], args[1]); });
}

/// 1 / sqrt(mean of the squares of x over `axes` + epsilon), in the type that statistics have.
static SizedTensor inverseRootMeanSquare(LinalgBuilder &b, SizedTensor x, ArrayRef<int64_t> axes,
                                         double epsilon) {
  Type wide = computeType(x.element());
  SizedTensor sum = b.reduce(ReduceKind::sum, false, x.dims, axes, wide, {b.plain(x)},
                             [&](ValueRange args) { return b.mul(args[0], args[0]); });
  return b.map(sum.dims, wide, {b.plain(sum)}, [&](ValueRange args) {
    Value mean = b.div(args[0], b.number(sizeOver(b, x.dims, axes), wide), false);
    Value root = math::SqrtOp::create(b, b.add(mean, b.scalar(wide, epsilon)));
    return b.div(b.scalar(wide, 1), root, false);
  });
}

/// x minus its mean over `axes`, in the type that statistics have.
static SizedTensor centered(LinalgBuilder &b, SizedTensor x, ArrayRef<int64_t> axes) {
  Type wide = computeType(x.element());
  SizedTensor sum =
      b.reduce(ReduceKind::sum, false, x.dims, axes, wide, {b.plain(x)}, LinalgBuilder::first);
  SizedTensor mean = b.map(sum.dims, wide, {b.plain(sum)}, [&](ValueRange args) {
    return b.div(args[0], b.number(sizeOver(b, x.dims, axes), wide), false);
  });
  return b.map(x.dims, wide, {b.plain(x), b.without(mean, axes)},
               [&](ValueRange args) { return b.sub(args[0], args[1]); });
}

/// x * factor (of the dimensions outside of `axes`) * scale + bias.
static SizedTensor scaled(LinalgBuilder &b, SizedTensor x, SizedTensor factor,
                          ArrayRef<int64_t> axes, std::optional<Access> scale,
                          std::optional<Access> bias, Type element) {
  SmallVector<Access> inputs{b.plain(x), b.without(factor, axes)};
  if (scale)
    inputs.push_back(*scale);
  if (bias)
    inputs.push_back(*bias);
  return b.map(x.dims, element, inputs, [&](ValueRange args) {
    Value y = b.mul(args[0], args[1]);
    if (scale)
      y = b.mul(y, args[2]);
    return bias ? b.add(y, args.back()) : y;
  });
}

Lowered nx::lower(LinalgBuilder &b, LayerNormOp op) {
  SizedTensor x = b[op.getX()];
  SmallVector<int64_t> axes = axesFrom(op.getAxis(), x.rank());
  SizedTensor difference = centered(b, x, axes);
  SizedTensor factor =
      inverseRootMeanSquare(b, difference, axes, op.getEpsilon().convertToDouble());
  std::optional<Access> scale, bias;
  if (op.getScale())
    scale = b.broadcast(b[op.getScale()], x.dims);
  if (op.getBias())
    bias = b.broadcast(b[op.getBias()], x.dims);
  return scaled(b, difference, factor, axes, scale, bias, x.element());
}

Lowered nx::lower(LinalgBuilder &b, RmsNormOp op) {
  SizedTensor x = b[op.getX()];
  SmallVector<int64_t> axes = axesFrom(op.getAxis(), x.rank());
  SizedTensor factor = inverseRootMeanSquare(b, x, axes, op.getEpsilon().convertToDouble());
  std::optional<Access> scale;
  if (op.getScale())
    scale = b.broadcast(b[op.getScale()], x.dims);
  return scaled(b, x, factor, axes, scale, std::nullopt, x.element());
}

Lowered nx::lower(LinalgBuilder &b, GroupNormOp op) {
  SizedTensor whole = b[op.getX()];
  // [N, C, ..] as [N, groups, C / groups, ..].
  AffineExpr groups = b.constant(op.getGroups());
  AffineExpr channels = divideExactly(whole.dims[1], groups);
  Dims dims(whole.dims);
  dims[1] = channels;
  dims.insert(dims.begin() + 1, groups);
  SizedTensor x = b.reshape(whole, dims);
  SmallVector<int64_t> axes = axesFrom(2, x.rank());
  SizedTensor difference = centered(b, x, axes);
  SizedTensor factor =
      inverseRootMeanSquare(b, difference, axes, op.getEpsilon().convertToDouble());
  auto perChannel = [&](Value value) {
    return Access{b.reshape(b[value], {groups, channels}), {b.loop(1), b.loop(2)}};
  };
  SizedTensor y = scaled(b, difference, factor, axes, perChannel(op.getScale()),
                         perChannel(op.getBias()), x.element());
  return b.reshape(y, whole.dims);
}
