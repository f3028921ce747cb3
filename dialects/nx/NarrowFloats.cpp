//===- NarrowFloats.cpp - Floats of 8 and 4 bits as integer arithmetic ----===//

#include "dialects/nx/NarrowFloats.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace nx;

namespace {

/// How a type lays out its bits. Codes are those of positive numbers.
struct Format {
  int width, fraction, bias;
  int64_t greatest; ///< code of the greatest number
  int64_t beyond;   ///< code of what is larger: infinity, or NaN; the greatest number when there is neither
  int64_t nan;      ///< code of NaN, or -1
  bool unsignedZero; ///< the code of -0 is the one NaN

  explicit Format(FloatType type) {
    width = type.getWidth();
    if (isa<Float8E4M3FNType>(type))
      fraction = 3, bias = 7, greatest = 0x7e, beyond = nan = 0x7f, unsignedZero = false;
    else if (isa<Float8E5M2Type>(type))
      fraction = 2, bias = 15, greatest = 0x7b, beyond = 0x7c, nan = 0x7e, unsignedZero = false;
    else if (isa<Float8E4M3FNUZType>(type))
      fraction = 3, bias = 8, greatest = 0x7f, beyond = nan = 0x80, unsignedZero = true;
    else if (isa<Float8E5M2FNUZType>(type))
      fraction = 2, bias = 16, greatest = 0x7f, beyond = nan = 0x80, unsignedZero = true;
    else // f4E2M1FN
      fraction = 1, bias = 1, greatest = beyond = 7, nan = -1, unsignedZero = false;
  }
};

/// Arithmetic on i32 and f32, scalars or vectors.
struct Emitter {
  OpBuilder &b;
  Location loc;
  Type i32, f32, i8;

  Emitter(OpBuilder &b, Location loc, Type like) : b(b), loc(loc) {
    auto shaped = dyn_cast<ShapedType>(like);
    auto of = [&](Type element) { return shaped ? Type(shaped.clone(element)) : element; };
    i32 = of(b.getI32Type()), f32 = of(b.getF32Type()), i8 = of(b.getI8Type());
  }
  Value constant(Type type, TypedAttr scalar) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(shaped, Attribute(scalar)));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  Value i(int64_t value) {
    return constant(i32, b.getIntegerAttr(b.getI32Type(), APInt(32, uint64_t(value), false, true)));
  }
  Value f(double value) { return constant(f32, b.getF32FloatAttr(value)); }
  template <typename OpTy, typename... Args> Value make(Args... args) { return OpTy::create(b, loc, args...); }
  Value add(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return make<arith::SubIOp>(x, y); }
  Value land(Value x, Value y) { return make<arith::AndIOp>(x, y); }
  Value lor(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  Value shl(Value x, int64_t by) { return make<arith::ShLIOp>(x, i(by)); }
  Value shr(Value x, int64_t by) { return make<arith::ShRUIOp>(x, i(by)); }
  Value is(arith::CmpIPredicate p, Value x, Value y) { return make<arith::CmpIOp>(p, x, y); }
  Value select(Value c, Value x, Value y) { return make<arith::SelectOp>(c, x, y); }
  Value asFloat(Value bits) { return make<arith::BitcastOp>(f32, bits); }
  Value asBits(Value x) { return make<arith::BitcastOp>(i32, x); }
};

constexpr int64_t kNanBits = 0x7fc00000, kMagnitude = 0x7fffffff;
using P = arith::CmpIPredicate;

} // namespace

Value nx::decodeNarrowFloat(OpBuilder &builder, Location loc, Value bytes, FloatType from) {
  Emitter e(builder, loc, bytes.getType());
  Value code = e.land(e.make<arith::ExtUIOp>(e.i32, bytes), e.i((1 << from.getWidth()) - 1));
  if (isa<Float8E8M0FNUType>(from)) {
    // 2^(code - 127): an f32 of that exponent; the least one is a subnormal number.
    Value power = e.select(e.is(P::eq, code, e.i(0)), e.i(0x00400000), e.shl(code, 23));
    return e.asFloat(e.select(e.is(P::eq, code, e.i(255)), e.i(kNanBits), power));
  }
  Format format(from);
  int64_t signBit = int64_t(1) << (format.width - 1);
  Value magnitude = e.land(code, e.i(signBit - 1)), sign = e.shl(e.land(code, e.i(signBit)), 32 - format.width);
  Value fraction = e.land(code, e.i((1 << format.fraction) - 1));
  // Normal numbers move to f32's exponent and fraction; the others are multiples of the least number.
  Value normal = e.add(e.shl(magnitude, 23 - format.fraction), e.i(int64_t(127 - format.bias) << 23));
  Value isSubnormal = e.is(P::ult, magnitude, e.i(1 << format.fraction));
  Value multiple = e.make<arith::MulFOp>(e.make<arith::SIToFPOp>(e.f32, fraction),
                                         e.f(std::ldexp(1.0, 1 - format.bias - format.fraction)));
  Value bits = e.lor(e.select(isSubnormal, e.asBits(multiple), normal), sign);
  if (format.unsignedZero) {
    bits = e.select(e.is(P::eq, code, e.i(signBit)), e.i(kNanBits), bits);
  } else if (format.nan >= 0) {
    bits = e.select(e.is(P::ugt, magnitude, e.i(format.beyond == format.nan ? format.greatest : format.beyond)),
                    e.i(kNanBits), bits);
    if (format.beyond != format.nan)
      bits = e.select(e.is(P::eq, magnitude, e.i(format.beyond)), e.lor(e.i(0x7f800000), sign), bits);
  }
  return e.asFloat(bits);
}

Value nx::encodeNarrowFloat(OpBuilder &builder, Location loc, Value x, FloatType to, bool overflow, StringRef round) {
  Emitter e(builder, loc, x.getType());
  Value bits = e.asBits(x), magnitude = e.land(bits, e.i(kMagnitude));
  Value isNan = e.is(P::ugt, magnitude, e.i(0x7f800000));
  if (isa<Float8E8M0FNUType>(to)) {
    // The exponent, and one more when the rest asks for it. Subnormal numbers lie below the second power.
    Value exponent = e.shr(magnitude, 23), rest = e.land(magnitude, e.i(0x7fffff));
    int64_t bound = round == "up" ? 0 : round == "nearest" ? 0x3fffff : 0x7fffff;
    Value isMore = e.is(P::ugt, rest, e.i(bound));
    if (round == "nearest") // below 2^-126 the power beneath is 2^-127, not 0
      isMore = e.land(isMore, e.lor(e.is(P::ne, exponent, e.i(0)), e.is(P::ugt, rest, e.i(0x5fffff))));
    else if (round == "up")
      isMore = e.land(isMore, e.lor(e.is(P::ne, exponent, e.i(0)), e.is(P::ugt, rest, e.i(0x400000))));
    Value code = e.add(exponent, e.make<arith::ExtUIOp>(e.i32, isMore));
    Value limit = e.i(overflow ? 255 : 254);
    code = e.make<arith::MinUIOp>(code, limit);
    code = e.select(isNan, e.i(255), code);
    return e.make<arith::TruncIOp>(e.i8, code);
  }
  Format format(to);
  // In units of the last place; numbers below the least normal one share its place.
  Value exponent = e.sub(e.shr(magnitude, 23), e.i(127));
  exponent = e.make<arith::MaxSIOp>(exponent, e.i(1 - format.bias));
  exponent = e.make<arith::MinSIOp>(exponent, e.i(127));
  Value scale = e.asFloat(e.shl(e.sub(e.i(format.fraction + 127), exponent), 23));
  Value finite = e.asFloat(e.make<arith::MinUIOp>(magnitude, e.i(0x7f7fffff)));
  Value units = e.make<math::RoundEvenOp>(e.make<arith::MulFOp>(finite, scale));
  // The implicit bit of normal numbers adds 1 to the exponent, and so does a carry.
  Value code = e.add(e.shl(e.add(exponent, e.i(format.bias - 1)), format.fraction),
                     e.make<arith::FPToSIOp>(e.i32, units));
  Value tooLarge = e.lor(e.is(P::sgt, code, e.i(format.greatest)), e.is(P::eq, magnitude, e.i(0x7f800000)));
  code = e.select(tooLarge, e.i(overflow ? format.beyond : format.greatest), code);
  if (format.nan >= 0)
    code = e.select(isNan, e.i(format.nan), code);
  int64_t signBit = int64_t(1) << (format.width - 1);
  Value sign = e.land(e.shr(bits, 32 - format.width), e.i(signBit));
  Value signedCode = e.lor(code, sign);
  if (format.unsignedZero) // zero has no sign, and NaN is the code of -0
    signedCode = e.select(e.is(P::eq, code, e.i(0)), code, signedCode);
  return e.make<arith::TruncIOp>(e.i8, signedCode);
}
