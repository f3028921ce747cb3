//===- NxElementwise.cpp - The scalar meaning of element-wise operations --===//
//
// Every emitScalar works on scalars and on vectors alike: constants are splat to the type of the
// arguments. Polynomials for exp, tanh and the like are chosen by the code generator.
//
//===----------------------------------------------------------------------===//

#include "dialects/nx/NarrowFloats.h"
#include "dialects/nx/Nx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nx;

namespace {

/// Short names for what scalar code is made of.
struct Emitter {
  OpBuilder &b;
  Location loc;

  Value splat(Type type, TypedAttr scalar) {
    if (auto shaped = dyn_cast<ShapedType>(type))
      return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(shaped, Attribute(scalar)));
    return arith::ConstantOp::create(b, loc, scalar);
  }
  Value f(Type type, double value) {
    return splat(type, b.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value i(Type type, int64_t value) {
    auto element = cast<IntegerType>(getElementTypeOrSelf(type));
    return splat(type, b.getIntegerAttr(element, APInt(element.getWidth(), value, true, true)));
  }
  Value zero(Type type) { return isFloat(type) ? f(type, 0) : i(type, 0); }
  static bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }
  /// `type` with another element type: the vector form when `type` is a vector.
  static Type like(Type type, Type element) {
    auto shaped = dyn_cast<ShapedType>(type);
    return shaped ? Type(shaped.clone(element)) : element;
  }

  template <typename OpTy, typename... Args> Value make(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...);
  }
  Value add(Value x, Value y) {
    return isFloat(x.getType()) ? make<arith::AddFOp>(x, y) : make<arith::AddIOp>(x, y);
  }
  Value sub(Value x, Value y) {
    return isFloat(x.getType()) ? make<arith::SubFOp>(x, y) : make<arith::SubIOp>(x, y);
  }
  Value mul(Value x, Value y) {
    return isFloat(x.getType()) ? make<arith::MulFOp>(x, y) : make<arith::MulIOp>(x, y);
  }
  Value div(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  Value fma(Value x, Value y, Value z) { return make<math::FmaOp>(x, y, z); }
  Value select(Value c, Value x, Value y) { return make<arith::SelectOp>(c, x, y); }
  Value cmpf(arith::CmpFPredicate p, Value x, Value y) { return make<arith::CmpFOp>(p, x, y); }
  Value cmpi(arith::CmpIPredicate p, Value x, Value y) { return make<arith::CmpIOp>(p, x, y); }
  Value sigmoid(Value x) {
    // exp(-x) overflows to infinity for very negative x, which gives the right limit 0.
    Value one = f(x.getType(), 1);
    return div(one, add(one, make<math::ExpOp>(make<arith::NegFOp>(x))));
  }
  Value maximum(Value x, Value y, bool isUnsigned) {
    if (isFloat(x.getType()))
      return make<arith::MaximumFOp>(x, y);
    return isUnsigned ? make<arith::MaxUIOp>(x, y) : make<arith::MaxSIOp>(x, y);
  }
  Value minimum(Value x, Value y, bool isUnsigned) {
    if (isFloat(x.getType()))
      return make<arith::MinimumFOp>(x, y);
    return isUnsigned ? make<arith::MinUIOp>(x, y) : make<arith::MinSIOp>(x, y);
  }

  /// A divisor that never traps (zero, or -1 under the least value), and the condition that it was
  /// zero. `minusOne` is null for unsigned types.
  struct SafeDivisor {
    Value divisor, isZero, isMinusOne;
  };
  SafeDivisor safeDivisor(Value y, bool isUnsigned) {
    Value one = i(y.getType(), 1);
    Value isZero = cmpi(arith::CmpIPredicate::eq, y, zero(y.getType()));
    Value divisor = select(isZero, one, y), isMinusOne;
    if (!isUnsigned) {
      isMinusOne = cmpi(arith::CmpIPredicate::eq, y, i(y.getType(), -1));
      divisor = select(isMinusOne, one, divisor);
    }
    return {divisor, isZero, isMinusOne};
  }
  /// Truncating division; x / 0 = 0, least / -1 wraps.
  Value divide(Value x, Value y, bool isUnsigned) {
    SafeDivisor s = safeDivisor(y, isUnsigned);
    Value q = isUnsigned ? make<arith::DivUIOp>(x, s.divisor) : make<arith::DivSIOp>(x, s.divisor);
    if (s.isMinusOne)
      q = select(s.isMinusOne, sub(zero(x.getType()), x), q);
    return select(s.isZero, zero(x.getType()), q);
  }
  /// Remainder with the sign of x; x % 0 = 0.
  Value remainder(Value x, Value y, bool isUnsigned) {
    SafeDivisor s = safeDivisor(y, isUnsigned);
    // With divisor 1 (standing for 0 and -1) the remainder is 0, as wanted.
    return isUnsigned ? make<arith::RemUIOp>(x, s.divisor) : make<arith::RemSIOp>(x, s.divisor);
  }
  /// True where integer x != 0 and x and y have different signs.
  Value signsDiffer(Value x, Value y) {
    Value nonzero = cmpi(arith::CmpIPredicate::ne, x, zero(x.getType()));
    Value differ = cmpi(arith::CmpIPredicate::slt, make<arith::XOrIOp>(x, y), zero(x.getType()));
    return make<arith::AndIOp>(nonzero, differ);
  }
};

Type elementOf(Value tensor) { return getElementTypeOrSelf(tensor.getType()); }

} // namespace

// One-line meanings. `e` emits, `x`, `y`, `z` are the arguments.
#define NX_SCALAR(OP, EXPR)                                                                        \
  Value OP::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {                        \
    Emitter e{builder, loc};                                                                       \
    [[maybe_unused]] Value x = args[0], y = args.size() > 1 ? args[1] : Value();                   \
    [[maybe_unused]] Type t = x.getType();                                                         \
    return EXPR;                                                                                   \
  }
#define NX_MATH(OP, MATH) NX_SCALAR(OP, e.make<math::MATH>(x))

NX_MATH(ExpOp, ExpOp)
NX_MATH(Expm1Op, ExpM1Op)
NX_MATH(LogOp, LogOp)
NX_MATH(Log1pOp, Log1pOp)
NX_MATH(SqrtOp, SqrtOp)
NX_MATH(SinOp, SinOp)
NX_MATH(CosOp, CosOp)
NX_MATH(TanOp, TanOp)
NX_MATH(AsinOp, AsinOp)
NX_MATH(AcosOp, AcosOp)
NX_MATH(AtanOp, AtanOp)
NX_MATH(SinhOp, SinhOp)
NX_MATH(CoshOp, CoshOp)
NX_MATH(TanhOp, TanhOp)
NX_MATH(AsinhOp, AsinhOp)
NX_MATH(AcoshOp, AcoshOp)
NX_MATH(AtanhOp, AtanhOp)
NX_MATH(ErfOp, ErfOp)
NX_MATH(CeilOp, CeilOp)
NX_MATH(FloorOp, FloorOp)
NX_MATH(RoundOp, RoundEvenOp)
NX_MATH(TruncOp, TruncOp)
NX_SCALAR(RsqrtOp, e.div(e.f(t, 1), e.make<math::SqrtOp>(x)))
NX_SCALAR(ReciprocalOp, e.div(e.f(t, 1), x))
NX_SCALAR(NegOp, e.isFloat(t) ? e.make<arith::NegFOp>(x) : e.sub(e.zero(t), x))
NX_SCALAR(AbsOp, e.isFloat(t) ? e.make<math::AbsFOp>(x)
                 : isUnsignedElement(elementOf(getX()))
                     ? x
                     : e.make<arith::MaxSIOp>(x, e.sub(e.zero(t), x)))
NX_SCALAR(ReluOp, e.maximum(x, e.zero(t), isUnsignedElement(elementOf(getX()))))
NX_SCALAR(SigmoidOp, e.sigmoid(x))
NX_SCALAR(SiluOp, e.mul(x, e.sigmoid(x)))
NX_SCALAR(NotOp, e.make<arith::XOrIOp>(x, e.i(t, -1)))
NX_SCALAR(IsNanOp, e.cmpf(arith::CmpFPredicate::UNO, x, x))
NX_SCALAR(LeakyReluOp, e.select(e.cmpf(arith::CmpFPredicate::OGE, x, e.f(t, 0)), x,
                                e.mul(x, e.f(t, getAlpha().convertToDouble()))))
NX_SCALAR(EluOp, e.select(e.cmpf(arith::CmpFPredicate::OGT, x, e.f(t, 0)), x,
                          e.mul(e.f(t, getAlpha().convertToDouble()), e.make<math::ExpM1Op>(x))))
NX_SCALAR(HardSigmoidOp,
          e.make<arith::MinimumFOp>(
              e.f(t, 1),
              e.make<arith::MaximumFOp>(e.f(t, 0),
                                        e.add(e.mul(x, e.f(t, getAlpha().convertToDouble())),
                                              e.f(t, getBeta().convertToDouble())))))
NX_SCALAR(AddOp, e.add(x, y))
NX_SCALAR(SubOp, e.sub(x, y))
NX_SCALAR(MulOp, e.mul(x, y))
NX_SCALAR(DivOp,
          e.isFloat(t) ? e.div(x, y) : e.divide(x, y, isUnsignedElement(elementOf(getLhs()))))
NX_SCALAR(RemOp, e.isFloat(t) ? e.make<arith::RemFOp>(x, y)
                              : e.remainder(x, y, isUnsignedElement(elementOf(getLhs()))))
NX_SCALAR(MaxOp, e.maximum(x, y, isUnsignedElement(elementOf(getLhs()))))
NX_SCALAR(MinOp, e.minimum(x, y, isUnsignedElement(elementOf(getLhs()))))
NX_SCALAR(AndOp, e.make<arith::AndIOp>(x, y))
NX_SCALAR(OrOp, e.make<arith::OrIOp>(x, y))
NX_SCALAR(XorOp, e.make<arith::XOrIOp>(x, y))
NX_SCALAR(SelectOp, e.select(x, y, args[2]))

Value SignOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0], zero = e.zero(x.getType());
  if (e.isFloat(x.getType())) {
    Value sign = e.make<math::CopySignOp>(e.f(x.getType(), 1), x);
    // Zeros and NaN are their own sign.
    return e.select(e.cmpf(arith::CmpFPredicate::ONE, x, zero), sign, x);
  }
  Value one = e.i(x.getType(), 1);
  if (isUnsignedElement(elementOf(getX())))
    return e.make<arith::MinUIOp>(x, one);
  return e.make<arith::MaxSIOp>(e.make<arith::MinSIOp>(x, one), e.i(x.getType(), -1));
}

Value SoftplusOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  // max(x, 0) + log1p(exp(-|x|)) does not overflow.
  Value x = args[0];
  Value tail =
      e.make<math::Log1pOp>(e.make<math::ExpOp>(e.make<arith::NegFOp>(e.make<math::AbsFOp>(x))));
  return e.add(e.make<arith::MaximumFOp>(x, e.f(x.getType(), 0)), tail);
}

Value GeluOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0];
  Type t = x.getType();
  Value inner;
  if (getTanh()) {
    // sqrt(2/pi) * (x + 0.044715 x^3) = x * (c0 + c1 x^2)
    Value polynomial =
        e.fma(e.mul(x, x), e.f(t, 0.7978845608028654 * 0.044715), e.f(t, 0.7978845608028654));
    inner = e.make<math::TanhOp>(e.mul(x, polynomial));
  } else {
    inner = e.make<math::ErfOp>(e.mul(x, e.f(t, 0.7071067811865476)));
  }
  Value half = e.mul(x, e.f(t, 0.5));
  return e.fma(half, inner, half);
}

Value IsInfOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0];
  Type t = x.getType();
  double infinity = std::numeric_limits<double>::infinity();
  Value positive = e.cmpf(arith::CmpFPredicate::OEQ, x, e.f(t, infinity));
  Value negative = e.cmpf(arith::CmpFPredicate::OEQ, x, e.f(t, -infinity));
  if (getPositive() && getNegative())
    return e.make<arith::OrIOp>(positive, negative);
  if (getPositive() || getNegative())
    return getPositive() ? positive : negative;
  return e.i(positive.getType(), 0);
}

Value FloorDivOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0], y = args[1];
  if (e.isFloat(x.getType()))
    return e.make<math::FloorOp>(e.div(x, y));
  bool isUnsigned = isUnsignedElement(elementOf(getLhs()));
  Value quotient = e.divide(x, y, isUnsigned);
  if (isUnsigned)
    return quotient;
  Value adjust = e.signsDiffer(e.remainder(x, y, false), y);
  return e.select(adjust, e.sub(quotient, e.i(x.getType(), 1)), quotient);
}

Value ModOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0], y = args[1];
  if (e.isFloat(x.getType())) {
    Value r = e.make<arith::RemFOp>(x, y), zero = e.f(x.getType(), 0);
    Value nonzero = e.cmpf(arith::CmpFPredicate::UNE, r, zero);
    Value differ = e.make<arith::XOrIOp>(e.cmpf(arith::CmpFPredicate::OLT, r, zero),
                                         e.cmpf(arith::CmpFPredicate::OLT, y, zero));
    // A zero remainder takes the divisor's sign, as in Python.
    return e.select(e.make<arith::AndIOp>(nonzero, differ), e.add(r, y),
                    e.select(nonzero, r, e.make<math::CopySignOp>(zero, y)));
  }
  bool isUnsigned = isUnsignedElement(elementOf(getLhs()));
  Value r = e.remainder(x, y, isUnsigned);
  return isUnsigned ? r : e.select(e.signsDiffer(r, y), e.add(r, y), r);
}

Value ShlOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0], y = args[1];
  Type t = x.getType();
  unsigned width = getElementTypeOrSelf(t).getIntOrFloatBitWidth();
  Value tooFar = e.cmpi(arith::CmpIPredicate::uge, y, e.i(t, width));
  Value amount = e.select(tooFar, e.i(t, 0), y);
  return e.select(tooFar, e.i(t, 0), e.make<arith::ShLIOp>(x, amount));
}

Value ShrOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0], y = args[1];
  Type t = x.getType();
  unsigned width = getElementTypeOrSelf(t).getIntOrFloatBitWidth();
  Value tooFar = e.cmpi(arith::CmpIPredicate::uge, y, e.i(t, width));
  if (isUnsignedElement(elementOf(getLhs()))) {
    Value amount = e.select(tooFar, e.i(t, 0), y);
    return e.select(tooFar, e.i(t, 0), e.make<arith::ShRUIOp>(x, amount));
  }
  return e.make<arith::ShRSIOp>(x, e.select(tooFar, e.i(t, width - 1), y));
}

Value PowOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0], y = args[1];
  Type t = x.getType();
  if (e.isFloat(t)) {
    if (!e.isFloat(y.getType())) {
      bool isUnsigned = isUnsignedElement(elementOf(getRhs()));
      y = isUnsigned ? e.make<arith::UIToFPOp>(t, y) : e.make<arith::SIToFPOp>(t, y);
    } else if (y.getType() != t) {
      unsigned from = getElementTypeOrSelf(y.getType()).getIntOrFloatBitWidth();
      unsigned to = getElementTypeOrSelf(t).getIntOrFloatBitWidth();
      y = from < to ? e.make<arith::ExtFOp>(t, y) : e.make<arith::TruncFOp>(t, y);
    }
    return e.make<math::PowFOp>(x, y);
  }
  // Integer base. A float exponent is an integer by the frontend's word or is computed in f64.
  if (e.isFloat(y.getType())) {
    Type wide = e.like(t, builder.getF64Type());
    if (y.getType() != wide)
      y = e.make<arith::ExtFOp>(wide, y);
    bool isUnsigned = isUnsignedElement(elementOf(getLhs()));
    Value base = isUnsigned ? e.make<arith::UIToFPOp>(wide, x) : e.make<arith::SIToFPOp>(wide, x);
    Value power = e.make<math::PowFOp>(base, y);
    return isUnsigned ? e.make<arith::FPToUIOp>(t, power) : e.make<arith::FPToSIOp>(t, power);
  }
  bool signedExponent = !isUnsignedElement(elementOf(getRhs()));
  Type et = y.getType();
  // Square and multiply, unrolled over the exponent's bits: exact modulo 2^width.
  Value one = e.i(t, 1), result = one, base = x, exponent = y;
  unsigned bits = getElementTypeOrSelf(et).getIntOrFloatBitWidth();
  for (unsigned bit = 0; bit < bits; ++bit) {
    Value isSet =
        e.cmpi(arith::CmpIPredicate::ne, e.make<arith::AndIOp>(exponent, e.i(et, 1)), e.i(et, 0));
    result = e.select(isSet, e.mul(result, base), result);
    base = e.mul(base, base);
    exponent = e.make<arith::ShRUIOp>(exponent, e.i(et, 1));
  }
  if (signedExponent) {
    // x^-n is 1 for 1, +-1 for -1 and 0 otherwise.
    Value negative = e.cmpi(arith::CmpIPredicate::slt, y, e.i(et, 0));
    Value isOne = e.cmpi(arith::CmpIPredicate::eq, x, one);
    Value isMinusOne = e.cmpi(arith::CmpIPredicate::eq, x, e.i(t, -1));
    Value odd = e.cmpi(arith::CmpIPredicate::ne, e.make<arith::AndIOp>(y, e.i(et, 1)), e.i(et, 0));
    Value inverse = e.select(isMinusOne, e.select(odd, e.i(t, -1), one), e.i(t, 0));
    if (isUnsignedElement(elementOf(getLhs())))
      inverse = e.i(t, 0);
    result = e.select(negative, e.select(isOne, one, inverse), result);
  }
  return result;
}

Value CompareOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  using FP = arith::CmpFPredicate;
  using IP = arith::CmpIPredicate;
  bool isUnsigned = isUnsignedElement(elementOf(getLhs()));
  FP fp = FP::OEQ;
  IP ip = IP::eq;
  switch (getPredicate()) {
  case ComparePredicate::eq:
    break;
  case ComparePredicate::ne:
    fp = FP::UNE;
    ip = IP::ne;
    break;
  case ComparePredicate::lt:
    fp = FP::OLT;
    ip = isUnsigned ? IP::ult : IP::slt;
    break;
  case ComparePredicate::le:
    fp = FP::OLE;
    ip = isUnsigned ? IP::ule : IP::sle;
    break;
  case ComparePredicate::gt:
    fp = FP::OGT;
    ip = isUnsigned ? IP::ugt : IP::sgt;
    break;
  case ComparePredicate::ge:
    fp = FP::OGE;
    ip = isUnsigned ? IP::uge : IP::sge;
    break;
  }
  return e.isFloat(args[0].getType()) ? e.cmpf(fp, args[0], args[1]) : e.cmpi(ip, args[0], args[1]);
}

Value BitcastOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0];
  // 16-bit floats may arrive widened.
  Type from = e.like(x.getType(), signlessElement(elementOf(getX())));
  Type to = e.like(x.getType(), signlessElement(elementOf(getResult())));
  if (x.getType() != from)
    x = e.make<arith::TruncFOp>(from, x);
  return to == from ? x : e.make<arith::BitcastOp>(to, x);
}

Value CastOp::emitScalar(OpBuilder &builder, Location loc, ValueRange args) {
  Emitter e{builder, loc};
  Value x = args[0];
  Type from = elementOf(getX()), to = getType().getElementType();
  Type target = e.like(x.getType(), signlessElement(to));
  unsigned toWidth = to.getIntOrFloatBitWidth();
  bool fromUnsigned = isUnsignedElement(from), toUnsigned = isUnsignedElement(to);

  // Narrow types are bytes: floats become f32 on the way in, and come from f32.
  if (isNarrowElement(from) && isa<FloatType>(from)) {
    x = decodeNarrowFloat(builder, loc, x, cast<FloatType>(from));
    from = builder.getF32Type();
  }
  if (isNarrowElement(to) && isa<FloatType>(to)) {
    Type f32 = e.like(x.getType(), builder.getF32Type());
    if (!e.isFloat(x.getType()))
      x = fromUnsigned ? e.make<arith::UIToFPOp>(f32, x) : e.make<arith::SIToFPOp>(f32, x);
    unsigned width = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
    if (width != 32)
      x = width < 32 ? e.make<arith::ExtFOp>(f32, x) : e.make<arith::TruncFOp>(f32, x);
    return encodeNarrowFloat(builder, loc, x, cast<FloatType>(to), getOverflow(), getRound());
  }

  if (e.isFloat(x.getType())) {
    if (to.isInteger(1))
      return e.cmpf(arith::CmpFPredicate::UNE, x, e.f(x.getType(), 0));
    if (isa<FloatType>(to)) {
      // Compare what the argument is, not what it was: f16 and bf16 may arrive widened.
      Type have = getElementTypeOrSelf(x.getType());
      if (have == to)
        return x;
      unsigned width = have.getIntOrFloatBitWidth();
      if (width < toWidth)
        return e.make<arith::ExtFOp>(target, x);
      if (width > toWidth)
        return e.make<arith::TruncFOp>(target, x);
      // f16 <-> bf16 goes through f32.
      Value wide = e.make<arith::ExtFOp>(e.like(x.getType(), builder.getF32Type()), x);
      return e.make<arith::TruncFOp>(target, wide);
    }
    // Saturate, and NaN to 0: the plain conversion is undefined outside of the range. A half float
    // cannot hold the bounds, so the comparison is done in f32 or wider.
    if (getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth() < 32)
      x = e.make<arith::ExtFOp>(e.like(x.getType(), builder.getF32Type()), x);
    Type ft = x.getType();
    double lowest = toUnsigned ? 0.0 : -std::ldexp(1.0, toWidth - 1);
    double beyond = std::ldexp(1.0, toUnsigned ? toWidth : toWidth - 1); // first value too large
    Value tooLow = e.cmpf(arith::CmpFPredicate::OLT, x, e.f(ft, lowest));
    Value tooHigh = e.cmpf(arith::CmpFPredicate::OGE, x, e.f(ft, beyond));
    Value isNan = e.cmpf(arith::CmpFPredicate::UNO, x, x);
    Value outside = e.make<arith::OrIOp>(e.make<arith::OrIOp>(tooLow, tooHigh), isNan);
    Value inside = e.select(outside, e.f(ft, 0), x);
    Value n = toUnsigned ? e.make<arith::FPToUIOp>(target, inside)
                         : e.make<arith::FPToSIOp>(target, inside);
    APInt least = toUnsigned ? APInt(toWidth, 0) : APInt::getSignedMinValue(toWidth);
    APInt greatest = toUnsigned ? APInt::getMaxValue(toWidth) : APInt::getSignedMaxValue(toWidth);
    auto bound = [&](const APInt &value) {
      return e.i(target, toUnsigned ? int64_t(value.getZExtValue()) : value.getSExtValue());
    };
    return e.select(tooLow, bound(least), e.select(tooHigh, bound(greatest), n));
  }

  if (isa<FloatType>(to))
    return fromUnsigned ? e.make<arith::UIToFPOp>(target, x) : e.make<arith::SIToFPOp>(target, x);
  if (to.isInteger(1))
    return e.cmpi(arith::CmpIPredicate::ne, x, e.zero(x.getType()));
  if (isNarrowElement(to)) {
    // The low bits, extended to the byte.
    Type byte = e.like(x.getType(), builder.getI8Type());
    if (x.getType() != byte)
      x = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth() < 8 ? e.make<arith::ExtUIOp>(byte, x)
                                                                       : e.make<arith::TruncIOp>(byte, x);
    Value amount = e.i(byte, 8 - toWidth), high = e.make<arith::ShLIOp>(x, amount);
    return toUnsigned ? e.make<arith::ShRUIOp>(high, amount) : e.make<arith::ShRSIOp>(high, amount);
  }
  unsigned fromWidth = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  if (fromWidth < toWidth)
    return fromUnsigned ? e.make<arith::ExtUIOp>(target, x) : e.make<arith::ExtSIOp>(target, x);
  if (fromWidth > toWidth)
    return e.make<arith::TruncIOp>(target, x);
  return x;
}
