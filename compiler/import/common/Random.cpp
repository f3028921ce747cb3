//===- Random.cpp - Reproducible random numbers ---------------------------===//

#include "compiler/import/common/Random.h"

using namespace mlir;
using namespace nx;

/// `x` with its bits mixed so that each bit of the result depends on all of them. `seed` goes in between.
static Value mix(GraphBuilder &b, Value x, uint64_t seed) {
  Type ui64 = b.builder.getIntegerType(64, false);
  auto number = [&](uint64_t value) {
    return b.constant(DenseElementsAttr::get(RankedTensorType::get({}, ui64),
                                             Attribute(IntegerAttr::get(ui64, APInt(64, value)))));
  };
  auto fold = [&](Value y, uint64_t shift) {
    return b.emit<XorOp>({y, b.emit<ShrOp>({y, number(shift)})});
  };
  Value y = b.emit<XorOp>({x, number(seed)});
  y = b.mul(fold(y, 30), number(0xbf58476d1ce4e5b9));
  y = b.mul(fold(y, 27), number(0x94d049bb133111eb));
  return fold(y, 31);
}

Value nx::randomBits(GraphBuilder &b, ArrayRef<AffineExpr> dims, uint64_t seed) {
  Type ui64 = b.builder.getIntegerType(64, false);
  AffineExpr count = productOf(dims, b.context());
  Value counter = b.cast(b.iota({count}, 0, b.builder.getI64Type()), ui64);
  return b.reshape(mix(b, mix(b, counter, 0x9e3779b97f4a7c15), seed), dims);
}

Value nx::randomUniform(GraphBuilder &b, ArrayRef<AffineExpr> dims, uint64_t seed, Type element) {
  Type ui64 = b.builder.getIntegerType(64, false);
  // As many of the highest bits as the type holds exactly.
  unsigned bits = element.isF64() ? 53 : 24;
  Value high = b.emit<ShrOp>({randomBits(b, dims, seed), b.scalar(ui64, 64 - bits)});
  return b.mul(b.cast(high, element), 1.0 / double(uint64_t(1) << bits));
}

Value nx::randomNormal(GraphBuilder &b, ArrayRef<AffineExpr> dims, uint64_t seed, Type element) {
  // Box and Muller: 1 - u is not 0.
  Value u = randomUniform(b, dims, seed, element);
  Value v = randomUniform(b, dims, seed ^ 0x5851f42d4c957f2d, element);
  Value radius = b.emit<SqrtOp>(b.mul(b.emit<LogOp>(b.sub(b.like(u, 1), u)), -2.0));
  return b.mul(radius, b.emit<CosOp>(b.mul(v, 6.283185307179586476925286766559)));
}
