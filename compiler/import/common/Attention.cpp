//===- Attention.cpp - Attention with what surrounds it -------------------===//

#include "compiler/import/common/Attention.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nx;

static constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

Value nx::attend(GraphBuilder &b, const AttentionSpec4D &spec) {
  if (spec.softcap != 0)
    return attendInSteps(b, spec).result;
  if (!spec.query)
    return {};
  // A boolean mask alone stays one.
  Value mask = spec.keep;
  if (spec.bias) {
    mask = b.cast(spec.bias, b.elementOf(spec.query));
    if (spec.keep)
      mask = b.select(spec.keep, mask, b.like(mask, kMinusInfinity));
  }
  SmallVector<NamedAttribute> attributes{b.f64("scale", spec.scale)};
  if (spec.causal)
    attributes.push_back(b.dims("causal", spec.causal));
  if (spec.zeroWithoutKeys)
    attributes.push_back(b.flag("zero_without_keys"));
  return b.emitOptional<AttentionOp>({spec.query, spec.key, spec.value, mask}, attributes);
}

AttentionSteps nx::attendInSteps(GraphBuilder &b, const AttentionSpec4D &spec) {
  AttentionSteps steps;
  if (!spec.query || !spec.key || !spec.value)
    return steps;
  Type element = b.elementOf(spec.query);
  Type wide = element.isF64() ? element : Type(b.builder.getF32Type());
  Value q = b.cast(spec.query, wide), k = b.cast(spec.key, wide), v = b.cast(spec.value, wide);
  SmallVector<AffineExpr> qd = dimsOf(b.typeOf(q)), kd = dimsOf(b.typeOf(k)), vd = dimsOf(b.typeOf(v));
  AffineExpr heads = kd[1], group = divideExactly(qd[1], heads);
  if (!group) {
    b.error() << b.text(qd[1]) << " query heads are no multiple of " << b.text(heads) << " key heads";
    return steps;
  }
  // Query heads beside their key head: [B, Hkv, group, ..].
  Value grouped = b.reshape(q, {qd[0], heads, group, qd[2], qd[3]});
  Value keys = b.insertUnitDim(k, 2), values = b.insertUnitDim(v, 2);
  SmallVector<AffineExpr> square{qd[0], qd[1], qd[2], kd[2]};
  Value products = b.emit<MatmulOp>({grouped, keys}, b.flag("transpose_rhs"));
  steps.scores = b.mul(b.reshape(products, square), spec.scale);
  steps.capped = steps.scores;
  if (spec.softcap != 0)
    steps.capped = b.mul(b.emit<TanhOp>(b.div(steps.scores, spec.softcap)), spec.softcap);
  steps.biased = steps.capped;
  if (spec.bias)
    steps.biased = b.add(steps.biased, b.cast(spec.bias, wide));
  Value keep = spec.keep;
  if (spec.causal)
    keep = bothHold(b, keep, atMostBehind(b, qd[2], kd[2], b.sizeScalar(spec.causal)));
  if (keep)
    steps.biased = b.select(keep, steps.biased, b.like(steps.biased, kMinusInfinity));
  steps.probabilities = b.emit<SoftmaxOp>(steps.biased, b.i64("axis", 3));
  if (spec.zeroWithoutKeys) {
    Value most = b.reduce(ReduceKind::max, steps.biased, {3}, true);
    Value hasNone = b.compare(ComparePredicate::eq, most, kMinusInfinity);
    steps.probabilities = b.select(hasNone, b.like(most, 0), steps.probabilities);
  }
  Value weights = b.reshape(steps.probabilities, {qd[0], heads, group, qd[2], kd[2]});
  steps.result = b.reshape(b.matmul(weights, values), {qd[0], qd[1], qd[2], vd[3]});
  for (Value *value : {&steps.scores, &steps.capped, &steps.biased, &steps.probabilities, &steps.result})
    *value = b.cast(*value, element);
  return steps;
}

Value nx::atMostBehind(GraphBuilder &b, AffineExpr rows, AffineExpr columns, Value offset) {
  Type i64 = b.builder.getI64Type();
  Value row = b.iota({rows, b.size(1)}, 0, i64), column = b.iota({b.size(1), columns}, 1, i64);
  return b.compare(ComparePredicate::le, b.sub(column, row), offset);
}

Value nx::bothHold(GraphBuilder &b, Value x, Value y) { return !x ? y : !y ? x : b.emit<AndOp>({x, y}); }

Value nx::splitHeads(GraphBuilder &b, Value x, int64_t heads) {
  if (!x)
    return {};
  SmallVector<AffineExpr> d = dimsOf(b.typeOf(x));
  AffineExpr size = d.size() == 3 && heads > 0 ? divideExactly(d[2], b.size(heads)) : AffineExpr();
  if (!size)
    return b.error() << b.text(b.typeOf(x)) << " does not divide into " << heads << " heads", Value();
  return b.transpose(b.reshape(x, {d[0], d[1], b.size(heads), size}), {0, 2, 1, 3});
}

Value nx::mergeHeads(GraphBuilder &b, Value x) {
  if (!x)
    return {};
  SmallVector<AffineExpr> d = dimsOf(b.typeOf(x));
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {d[0], d[2], d[1] * d[3]});
}

Value nx::rotate(GraphBuilder &b, Value x, Value cosine, Value sine, AffineExpr width, bool interleaved) {
  if (!x || !cosine || !sine)
    return {};
  int64_t axis = b.rankOf(x) - 1;
  AffineExpr size = dimOf(b.typeOf(x), axis), half = divideExactly(width, b.size(2));
  if (!half)
    return b.error() << "a width of " << b.text(width) << " has no halves", Value();
  Value first, second;
  if (interleaved) {
    first = b.slice(x, axis, b.size(0), half, 2);
    second = b.slice(x, axis, b.size(1), half, 2);
  } else {
    first = b.slice(x, axis, b.size(0), half);
    second = b.slice(x, axis, half, half);
  }
  Value real = b.sub(b.mul(cosine, first), b.mul(sine, second));
  Value imaginary = b.add(b.mul(sine, first), b.mul(cosine, second));
  Value turned;
  if (interleaved && real) {
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(real));
    dims[axis] = width;
    turned = b.reshape(b.concat({b.insertUnitDim(real, axis + 1), b.insertUnitDim(imaginary, axis + 1)}, axis + 1), dims);
  } else {
    turned = b.concat({real, imaginary}, axis);
  }
  if (provablyEqual(size, width))
    return turned;
  return b.concat({turned, b.slice(x, axis, width, size - width)}, axis);
}
