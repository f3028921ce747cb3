//===- Quantize.cpp - Between numbers and quantized integers --------------===//

#include "compiler/import/common/Quantize.h"

using namespace mlir;
using namespace nx;

Value nx::dequantize(GraphBuilder &b, Value x, Value scale, Value zeroPoint, Type element) {
  if (!x || !scale)
    return {};
  Type wide = b.elementOf(scale).isF64() ? b.elementOf(scale) : Type(b.builder.getF32Type());
  Value centred = x;
  if (zeroPoint && isa<IntegerType>(b.elementOf(x))) {
    Type i32 = b.builder.getI32Type();
    centred = b.sub(b.cast(x, i32), b.cast(zeroPoint, i32));
  }
  return b.cast(b.mul(b.cast(centred, wide), b.cast(scale, wide)), element);
}

Value nx::quantize(GraphBuilder &b, Value x, Value scale, Value zeroPoint, Type element, bool saturates) {
  if (!x || !scale)
    return {};
  Value quotient = b.div(x, b.cast(scale, b.elementOf(x)));
  if (!quotient)
    return {};
  if (isa<FloatType>(element)) {
    SmallVector<NamedAttribute> attributes;
    if (!saturates)
      attributes.push_back(b.flag("overflow"));
    return b.emitAs<CastOp>(withElement(b.typeOf(quotient), element), quotient, attributes);
  }
  // 16 bits of zero point do not fit into a half float.
  Type wide = b.elementOf(quotient).isF64() ? b.elementOf(quotient) : Type(b.builder.getF32Type());
  Value rounded = b.emit<RoundOp>(b.cast(quotient, wide));
  if (zeroPoint)
    rounded = b.add(rounded, b.cast(zeroPoint, wide));
  return b.cast(rounded, element); // saturates
}

Value nx::alongAxis(GraphBuilder &b, Value part, Value x, int64_t axis, int64_t block) {
  if (!part || !x || b.rankOf(part) == 0)
    return part;
  if (block) {
    if (b.rankOf(part) != b.rankOf(x))
      return b.error() << "scales by blocks have the rank of the input, not " << b.rankOf(part), Value();
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(part)), spread(dims), merged(dims);
    AffineExpr size = dimOf(b.typeOf(x), axis);
    spread.insert(spread.begin() + axis + 1, b.size(block));
    merged[axis] = dims[axis] * block;
    b.requireAtMost(size, merged[axis], "the elements that the blocks cover");
    Value repeated = b.reshape(b.broadcast(b.insertUnitDim(part, axis + 1), spread), merged);
    return provablyEqual(merged[axis], size) ? repeated : b.slice(repeated, axis, b.size(0), size);
  }
  if (b.rankOf(part) != 1)
    return b.error() << "a scale of rank " << b.rankOf(part) << " needs a block size", Value();
  if (constantOf(dimOf(b.typeOf(part), 0)) == 1)
    return b.reshape(part, {});
  return b.appendUnitDims(part, b.rankOf(x) - axis);
}

DynamicScale nx::emitDynamicScale(GraphBuilder &b, Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  Value high = b.max(b.reduce(ReduceKind::max, x, all, false), 0.0);
  Value low = b.min(b.reduce(ReduceKind::min, x, all, false), 0.0);
  Value range = b.sub(high, low);
  Value isFlat = b.compare(ComparePredicate::eq, range, 0.0);
  Value scale = b.div(b.select(isFlat, b.like(range, 1), range), 255.0);
  Value zeroPoint = b.emit<RoundOp>(b.emit<NegOp>(b.div(low, scale)));
  return {scale, b.cast(zeroPoint, b.builder.getIntegerType(8, false))};
}
