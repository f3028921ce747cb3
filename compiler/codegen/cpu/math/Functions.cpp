#include "compiler/codegen/cpu/math/Functions.h"
#include "compiler/codegen/cpu/math/Coefficients.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace nx::math_tables;

namespace nx::math_functions {

namespace {

// ln 2 with a first part of 33 bits, so that a small integer times it is exact; in f32 as the
// nearest float and the rest (an fma makes the product exact).
constexpr double kLn2High = 0.6931471804855391, kLn2Low = 7.440617110012397e-11;
constexpr double kLn2High32 = 0.693147182464599609375, kLn2Low32 = -1.9046542e-9;
constexpr double kLog2E = 1.4426950408889634, kLog2ELow = 2.0355273740931033e-17;
constexpr double kLog10E = 0.4342944819032518, kLog10ELow = 1.098319650216765e-17;
constexpr double kLog10Of2High = 0.30102999560767785, kLog10Of2Low = 5.630334806675098e-11;
constexpr double kPiHalf = 1.5707963267948966, kPiHalfLow = 6.123233995736766e-17;
constexpr double kPiHalf32 = 1.57079637050628662109375, kPiHalfLow32 = -4.371139e-8;

// The sum of two numbers, and what rounding it lost. |x| >= |y|, or x == 0.
std::pair<Num, Num> fastTwoSum(Num x, Num y) {
  Num sum = x + y;
  return {sum, y - (sum - x)};
}
std::pair<Num, Num> twoProduct(Num x, Num y) {
  Num product = x * y;
  return {product, x.m->fma(x, y, -product)};
}

// x = n ln 2 + r with an integer n, |r| <= ln(2)/2; and e^r - 1.
struct ReducedExp {
  Value n;
  Num expm1;
};
// `low` is a small term that adds to x; may be null.
ReducedExp reduceExp(Num x, const Num *low = nullptr) {
  FloatBuilder &m = *x.m;
  Num shifted = m.fma(x, kLog2E, m(m.roundingShift()));
  Num n = shifted - m.roundingShift();
  Num r = m.fma(n, m.wide ? -kLn2High : -kLn2High32, x);
  r = m.fma(n, m.wide ? -kLn2Low : -kLn2Low32, r);
  if (low)
    r = r + *low;
  Num q = m.wide ? m.polynomial(r, kExp64) : m.polynomial(r, kExp32);
  return {m.subInt(m.bits(shifted), m.integer(m.roundingShiftBits())), m.fma(q * r, r, r)};
}

// e^(x + low) in f64, with gradual underflow.
Num expWide(Num x, const Num *low = nullptr) {
  FloatBuilder &m = *x.m;
  auto [n, p] = reduceExp(m.clamp(x, -746, 710), low);
  // In two steps, as 2^n alone may not be a number.
  Value half = m.shiftRightSigned(n, 1);
  return (p + 1) * m.powerOfTwo(half) * m.powerOfTwo(m.subInt(n, half));
}

// x = 2^k * m with m in [sqrt(1/2), sqrt(2)); x > 0 and finite. Returns k and m - 1.
struct ReducedLog {
  Value k;
  Num f;
};
ReducedLog reduceLog(Num x) {
  FloatBuilder &m = *x.m;
  // Denormals become normal first.
  double smallest = m.wide ? 0x1p-1022 : 0x1p-126;
  int lift = m.wide ? 54 : 25;
  Value tiny = m.less(x, smallest);
  Num lifted = m.select(tiny, x * std::ldexp(1.0, lift), x);
  Value bits = m.bits(lifted);
  int64_t rootHalf = m.wide ? 0x3FE6A09E667F3BCD : 0x3F3504F3;
  Value k = m.shiftRightSigned(m.subInt(bits, m.integer(rootHalf)), m.mantissaBits());
  Num fraction = m.fromBits(m.subInt(bits, m.shiftLeft(k, m.mantissaBits())));
  Value lowered = m.subInt(k, m.integer(lift));
  k = m.make<arith::SelectOp>(tiny, lowered, k);
  return {k, fraction - 1};
}

// What a logarithm is where it is not finite: -inf at 0, NaN below, inf and NaN stay.
Num logSpecial(Num x, Num y) {
  FloatBuilder &m = *x.m;
  // x - x is NaN for inf and NaN; adding x keeps inf: here x itself is the result.
  y = m.select(m.compare(FloatBuilder::Predicate::ULT, x, m.infinity()), y, x);
  y = m.select(m.isNan(x), x, y);
  y = m.select(m.equal(x, 0.0), -INFINITY, y);
  return m.select(m.less(x, 0.0), NAN, y);
}

// log(1 + f) for the f of reduceLog, as a sum of two doubles that is good to about 2^-65.
std::pair<Num, Num> logTwice(Num f) {
  FloatBuilder &m = *f.m;
  // s = f / (2 + f), also in two parts.
  auto [d, dLow] = fastTwoSum(m(2), f);
  Num s = f / d;
  Num sLow = (m.fma(-s, d, f) - s * dLow) / d;
  auto [z, zLow] = twoProduct(s, s);
  zLow = m.fma(s * 2, sLow, zLow);
  auto [c, cLow] = twoProduct(z, s);
  cLow = cLow + m.fma(zLow, s, z * sLow);
  // log(1 + f) = 2 s + 2/3 s^3 + s^5 p(s^2)
  constexpr double third = 0.6666666666666666, thirdLow = 3.700743415417188e-17;
  auto [p, pLow] = twoProduct(c, m(third));
  pLow = pLow + m.fma(cLow, third, c * thirdLow);
  Num tail = z * c * m.polynomial(z, kLogTail64);
  auto [sum, sumLow] = fastTwoSum(s * 2, p);
  return fastTwoSum(sum, sumLow + (sLow * 2 + (pLow + tail)));
}

// log(1 + f) in one number, f64: the classical arrangement, within an ulp after k ln 2 is added.
Num logOnce(Num f, Num k) {
  FloatBuilder &m = *f.m;
  Num half = f * f * 0.5;
  if (m.wide) {
    Num s = f / (f + 2), z = s * s;
    Num r = z * m.polynomial(z, kLog64);
    // k ln2 + f - (f^2/2 - s (f^2/2 + r))
    return m.fma(k, kLn2High, f - (half - m.fma(s, half + r, k * kLn2Low)));
  }
  Num cubic = f * f * f * m.polynomial(f, kLog32);
  return m.fma(k, kLn2High32, f - (half - m.fma(k, kLn2Low32, cubic)));
}

} // namespace

Num exp(Num x) {
  FloatBuilder &m = *x.m;
  if (m.wide)
    return expWide(x);
  // n is added to the exponent field: no arithmetic ever touches a denormal, which costs an assist
  // of a hundred cycles on some machines and is what softmax produces in plenty.
  auto [n, p] = reduceExp(x);
  Num y = m.fromBits(m.addInt(m.bits(p + 1), m.shiftLeft(n, 23)));
  Value over = m.compare(FloatBuilder::Predicate::UGT, x, m(88.7228394));
  y = m.select(over, x * m.infinity(), y); // NaN, too
  return m.select(m.less(x, -87.3365479), 0.0, y);
}

Num exp2(Num x) {
  FloatBuilder &m = *x.m;
  Num shift = m(m.roundingShift());
  Num at = m.wide ? m.clamp(x, -1080, 1025) : m.clamp(x, -200, 129);
  Num shifted = at + shift, r = at - (shifted - shift);
  Value n = m.subInt(m.bits(shifted), m.integer(m.roundingShiftBits()));
  Num y = m(0);
  if (m.wide) {
    // 2^r = e^(r ln 2), the product in two parts.
    auto [t, tLow] = twoProduct(r, m(0.6931471805599453));
    tLow = m.fma(r, 2.3190468138462996e-17, tLow);
    y = m.fma(m.polynomial(t, kExp64) * t, t, t + tLow) + 1;
  } else {
    y = m.fma(r, m.polynomial(r, kExp2), m(1));
  }
  Value half = m.shiftRightSigned(n, 1);
  return y * m.powerOfTwo(half) * m.powerOfTwo(m.subInt(n, half));
}

Num expm1(Num x) {
  FloatBuilder &m = *x.m;
  auto [n, p] = reduceExp(m.wide ? m.clamp(x, -60, 710) : m.clamp(x, -30, 89));
  // 2^n (p + 1) - 1, halved on the way so that 2^n is a number.
  Num scale = m.powerOfTwo(m.subInt(n, m.integer(1)));
  Num y = m.fma(scale, p, scale - 0.5) * 2;
  // e^x - 1 = x for tiny x, signed zeros among them.
  return m.select(m.less(m.abs(x), m.wide ? 0x1p-54 : 0x1p-25), x, y);
}

Num log(Num x) {
  auto [k, f] = reduceLog(x);
  return logSpecial(x, logOnce(f, x.m->toFloat(k)));
}

Num log2(Num x) {
  FloatBuilder &m = *x.m;
  auto [k, f] = reduceLog(x);
  if (m.wide) {
    auto [l, lLow] = logTwice(f);
    auto [t, tLow] = twoProduct(l, m(kLog2E));
    tLow = tLow + m.fma(lLow, kLog2E, l * kLog2ELow);
    auto [sum, low] = fastTwoSum(m.toFloat(k), t);
    return logSpecial(x, sum + (low + tLow));
  }
  // k + log(1 + f) log2(e), the latter with a first part that is exact.
  Num half = f * f * 0.5;
  Num rest = f * f * f * m.polynomial(f, kLog32) - half;
  constexpr double high = 1.44269502162933349609375, low = 1.9259629911266174e-8;
  Num tail = m.fma(rest, high, m.fma(f, low, rest * low));
  auto [main, mainLow] = twoProduct(f, m(high));
  auto [sum, sumLow] = fastTwoSum(m.toFloat(k), main);
  return logSpecial(x, sum + (sumLow + (mainLow + tail)));
}

Num log10(Num x) {
  FloatBuilder &m = *x.m;
  auto [k, f] = reduceLog(x);
  auto [l, lLow] = logTwice(f);
  auto [t, tLow] = twoProduct(l, m(kLog10E));
  tLow = tLow + m.fma(lLow, kLog10E, l * kLog10ELow);
  Num n = m.toFloat(k);
  auto [sum, low] = fastTwoSum(n * kLog10Of2High, t);
  return logSpecial(x, sum + (low + m.fma(n, kLog10Of2Low, tLow)));
}

Num log1p(Num x) {
  FloatBuilder &m = *x.m;
  // log(1 + x) = log(u) + (1 + x - u) / u with u the rounded sum.
  Num u = x + 1;
  Num lost = m.select(m.greater(x, 1.0), 1 - (u - x), x - (u - 1));
  auto [k, f] = reduceLog(u);
  Num y = logOnce(f, m.toFloat(k)) + lost / u;
  y = logSpecial(u, y);
  return m.select(m.less(m.abs(x), m.wide ? 0x1p-54 : 0x1p-25), x, y);
}

Num atan(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x);
  // To |t| <= tan(pi/8): pi/2 + atan(-1/a), pi/4 + atan((a - 1) / (a + 1)), or a itself.
  Value large = m.greater(a, 2.414213562373095), middle = m.greater(a, 0.4142135623730951);
  Num top = m.select(large, -1.0, m.select(middle, a - 1, a));
  Num bottom = m.select(large, a, m.select(middle, a + 1, m(1)));
  Num t = top / bottom, z = t * t;
  double half = m.wide ? kPiHalf : kPiHalf32, halfLow = m.wide ? kPiHalfLow : kPiHalfLow32;
  Num offset = m.select(large, half, m.select(middle, half / 2, m(0)));
  Num offsetLow = m.select(large, halfLow, m.select(middle, halfLow / 2, m(0)));
  Num p = t * z * (m.wide ? m.polynomial(z, kAtan64) : m.polynomial(z, kAtan32));
  return m.copysign(offset + (t + (p + offsetLow)), x);
}

namespace {

// asin(t) - t for 0 <= t <= 1/2.
Num asinTail(Num t, Num z) {
  FloatBuilder &m = *t.m;
  return t * z * (m.wide ? m.polynomial(z, kAsin64) : m.polynomial(z, kAsin32));
}
// For a > 1/2: asin(a) = pi/2 - 2 asin(s) with s = sqrt((1 - a) / 2), which is exact in two parts.
struct HalfAngle {
  Num s, sLow, z;
};
HalfAngle halfAngle(Num a) {
  FloatBuilder &m = *a.m;
  Num z = (1 - a) * 0.5, s = m.sqrt(z);
  Num low = m.fma(-s, s, z) / (s * 2);
  return {s, m.select(m.equal(s, 0.0), 0.0, low), z};
}

} // namespace

Num asin(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x);
  auto [s, sLow, sz] = halfAngle(a);
  double half = m.wide ? kPiHalf : kPiHalf32, halfLow = m.wide ? kPiHalfLow : kPiHalfLow32;
  auto [main, mainLow] = fastTwoSum(m(half), s * -2);
  Num far = main + (mainLow + ((asinTail(s, sz) + sLow) * -2 + halfLow));
  Num near = a + asinTail(a, a * a);
  return m.copysign(m.select(m.greater(a, 0.5), far, near), x);
}

Num acos(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x);
  double half = m.wide ? kPiHalf : kPiHalf32, halfLow = m.wide ? kPiHalfLow : kPiHalfLow32;
  auto [s, sLow, sz] = halfAngle(a);
  // acos(a) = 2 asin(s); acos(-a) = pi - 2 asin(s); near 0 it is pi/2 - asin(x).
  Num tail = asinTail(s, sz) + sLow;
  Num up = (s + tail) * 2;
  auto [down, downLow] = fastTwoSum(m(half * 2), s * -2);
  down = down + (downLow + (tail * -2 + halfLow * 2));
  auto [near, nearLow] = fastTwoSum(m(half), -x);
  near = near + (nearLow + (halfLow - asinTail(x, x * x)));
  Num far = m.select(m.less(x, 0.0), down, up);
  return m.select(m.greater(a, 0.5), far, near);
}

Num rsqrt(Num x) { return 1 / x.m->sqrt(x); }

Num round(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x), down = m.floor(a);
  // a - down is exact, so a half is seen as such.
  Num up = m.select(m.compare(FloatBuilder::Predicate::OGE, a - down, m(0.5)), down + 1, down);
  return m.copysign(up, x);
}

//===----------------------------------------------------------------------===//
// Trigonometric functions
//===----------------------------------------------------------------------===//

namespace {

// x = k pi/2 + r + low: the lowest bits of k count.
struct Angle {
  Value k;
  Num r, low;
};

Angle reduceSmall(Num x) {
  FloatBuilder &m = *x.m;
  // Three parts of pi/2, of 33, 33 and 53 bits: the first two products are exact.
  constexpr double part[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
  Num shifted = m.fma(x, 0.6366197723675814, m(m.roundingShift()));
  Num k = shifted - m.roundingShift();
  Num a = m.fma(k, -part[0], x);
  Num w = k * part[1];
  Num b = a - w, bLow = (a - b) - w;
  Num v = m.fma(k, -part[2], bLow);
  Num r = b + v;
  return {m.bits(shifted), r, (b - r) + v};
}

// For any finite x of at least 2^20 or so: multiplies the mantissa by the part of 2/pi that makes
// the fraction, with integers (Payne and Hanek).
Angle reduceLarge(Num x) {
  FloatBuilder &m = *x.m;
  auto i = [&](int64_t v) { return m.integer(v); };
  auto select = [&](Value c, Value x, Value y) { return m.make<arith::SelectOp>(c, x, y); };
  auto left = [&](Value x, Value n) { return m.make<arith::ShLIOp>(x, n); };
  auto right = [&](Value x, Value n) { return m.make<arith::ShRUIOp>(x, n); };
  auto join = [&](Value x, Value y) { return m.make<arith::OrIOp>(x, y); };
  Value bits = m.bits(m.abs(x));
  Value mantissa = join(m.andInt(bits, i((int64_t(1) << 52) - 1)), i(int64_t(1) << 52));
  // x = mantissa * 2^e. The bits of 2/pi up to place e - 2 make multiples of 4, which count for
  // nothing. For e < 2 the places from e - 1 on begin with zeros: a word of them comes first.
  Value e = m.subInt(m.shiftRight(bits, 52), i(1075));
  Value skip = m.addInt(e, i(64 - 2));
  Value word = m.shiftRight(skip, 6), shift = m.andInt(skip, i(63));
  constexpr int numWords = 1 + static_cast<int>(std::size(kTwoOverPi));
  auto place = [](int w) { return w == 0 ? 0 : static_cast<int64_t>(kTwoOverPi[w - 1]); };
  Value words[4];
  for (int w = 0; w < 4; ++w) {
    words[w] = i(place(w));
    for (int at = 1; at + w < numWords && at <= 16; ++at)
      words[w] = select(m.compare(FloatBuilder::IntPredicate::eq, word, i(at)), i(place(at + w)),
                        words[w]);
  }
  // 192 bits from there on.
  Value whole = m.isZero(shift), back = m.andInt(m.subInt(i(64), shift), i(63));
  Value a[3];
  for (int w = 0; w < 3; ++w)
    a[w] = select(whole, words[w], join(left(words[w], shift), right(words[w + 1], back)));
  // The upper 128 bits of the product modulo 2^192: what is above are multiples of 4, again.
  auto product = [&](Value x, Value y) {
    auto op = arith::MulUIExtendedOp::create(m.b, m.loc, x, y);
    return std::pair<Value, Value>{op.getLow(), op.getHigh()};
  };
  Value high2 = product(a[2], mantissa).second;
  auto [low1, high1] = product(a[1], mantissa);
  Value p1 = m.addInt(low1, high2);
  Value carry =
      m.make<arith::ExtUIOp>(m.intType(), m.compare(FloatBuilder::IntPredicate::ult, p1, high2));
  Value p0 = m.addInt(m.addInt(m.make<arith::MulIOp>(a[0], mantissa), high1), carry);
  // Two bits before the binary point, the rest behind it.
  Value fraction = join(m.shiftLeft(p0, 2), m.shiftRight(p1, 62));
  Value fractionLow = m.shiftLeft(p1, 2);
  // To the nearest: a fraction of a half or more is one more, and negative.
  Value k = m.addInt(m.shiftRight(p0, 62), m.shiftRight(fraction, 63));
  auto convert = [&](Value v) { return m.num(m.make<arith::SIToFPOp>(m.type, v)); };
  // In pieces that convert exactly.
  Num high = convert(m.andInt(fraction, i(~int64_t(0x7FF)))) * 0x1p-64;
  Num low = m.fma(convert(m.shiftRight(fractionLow, 11)), 0x1p-117,
                  convert(m.andInt(fraction, i(0x7FF))) * 0x1p-64);
  std::tie(high, low) = fastTwoSum(high, low);
  // Times pi/2, and the sign of x.
  auto [r, rLow] = twoProduct(high, m(kPiHalf));
  rLow = rLow + m.fma(high, kPiHalfLow, low * kPiHalf);
  std::tie(r, rLow) = fastTwoSum(r, rLow);
  Value negative = m.less(x, 0.0);
  return {select(negative, m.subInt(i(0), k), k), m.select(negative, -r, r),
          m.select(negative, -rLow, rLow)};
}

// Whether a condition holds anywhere.
Value anyOf(FloatBuilder &m, Value condition) {
  auto type = dyn_cast<VectorType>(condition.getType());
  if (!type)
    return condition;
  if (type.getRank() != 1)
    condition = m.make<vector::ShapeCastOp>(
        VectorType::get({type.getNumElements()}, type.getElementType()), condition);
  return vector::ReductionOp::create(m.b, m.loc, vector::CombiningKind::OR, condition);
}

Angle reduceAngle(Num x) {
  FloatBuilder &m = *x.m;
  Angle small = reduceSmall(x);
  // Beyond 2^20 quarter turns, which hardly happens, in a branch.
  Num a = m.abs(x);
  Value large = m.both(m.greater(a, 1.6e6), m.less(a, INFINITY));
  auto branch = scf::IfOp::create(m.b, m.loc, TypeRange{small.k.getType(), m.type, m.type},
                                  anyOf(m, large), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(m.b);
  m.b.setInsertionPointToStart(branch.thenBlock());
  Angle exact = reduceLarge(x);
  Value k = m.make<arith::SelectOp>(large, exact.k, small.k);
  scf::YieldOp::create(
      m.b, m.loc,
      ValueRange{k, m.select(large, exact.r, small.r).v, m.select(large, exact.low, small.low).v});
  m.b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(m.b, m.loc, ValueRange{small.k, small.r.v, small.low.v});
  return {branch.getResult(0), m.num(branch.getResult(1)), m.num(branch.getResult(2))};
}

Num sinOf(const Angle &angle, bool forSingle) {
  FloatBuilder &m = *angle.r.m;
  Num r = angle.r, z = r * r;
  if (forSingle)
    return m.fma(r * z, m.polynomial(z, kSinShort), r);
  Num tail = m.fma(r * z, m.polynomial(z, kSin64), angle.low * m.fma(z, -0.5, m(1)));
  return r + tail;
}
Num cosOf(const Angle &angle, bool forSingle) {
  FloatBuilder &m = *angle.r.m;
  Num r = angle.r, z = r * r;
  if (forSingle)
    return m.fma(z * z, m.polynomial(z, kCosShort), m.fma(z, -0.5, m(1)));
  Num half = z * 0.5, w = 1 - half;
  return w + (((1 - w) - half) + (m.fma(z * z, m.polynomial(z, kCos64), -(r * angle.low))));
}

// sin(x + quarters pi/2)
Num sine(Num x, int quarters, bool forSingle) {
  FloatBuilder &m = *x.m;
  Angle angle = reduceAngle(x);
  Num s = sinOf(angle, forSingle), c = cosOf(angle, forSingle);
  Value k = m.addInt(angle.k, m.integer(quarters));
  Num y = m.select(m.isZero(m.andInt(k, m.integer(1))), s, c);
  // Negative in the third and fourth quarter.
  Value sign = m.shiftLeft(m.andInt(k, m.integer(2)), 62);
  return m.fromBits(m.make<arith::XOrIOp>(m.bits(y), sign));
}

} // namespace

Num sin(Num x, bool forSingle) {
  // -0 comes out of the reduction as 0.
  return x.m->select(x.m->equal(x, 0.0), x, sine(x, 0, forSingle));
}
Num cos(Num x, bool forSingle) { return sine(x, 1, forSingle); }

Num tan(Num x, bool forSingle) {
  FloatBuilder &m = *x.m;
  Angle angle = reduceAngle(x);
  Num s = sinOf(angle, forSingle), c = cosOf(angle, forSingle);
  Value even = m.isZero(m.andInt(angle.k, m.integer(1)));
  Num y = m.select(even, s, -c) / m.select(even, c, s);
  return m.select(m.equal(x, 0.0), x, y);
}

Num atan2(Num y, Num x) {
  FloatBuilder &m = *x.m;
  Num ax = m.abs(x), ay = m.abs(y);
  Value steep = m.less(ax, ay);
  Num top = m.select(steep, ax, ay), bottom = m.select(steep, ay, ax);
  // 0/0 is direction 0 and inf/inf is diagonal.
  Num t = top / bottom;
  t = m.select(m.equal(bottom, 0.0), 0.0, t);
  t = m.select(m.both(m.equal(top, INFINITY), m.equal(bottom, INFINITY)), 1.0, t);
  Num r = atan(t);
  r = m.select(steep, (kPiHalf - r) + kPiHalfLow, r);
  Value left = m.compare(FloatBuilder::IntPredicate::slt, m.bits(x), m.integer(0));
  r = m.select(left, (2 * kPiHalf - r) + 2 * kPiHalfLow, r);
  r = m.copysign(r, y);
  return m.select(m.either(m.isNan(x), m.isNan(y)), x + y, r);
}

//===----------------------------------------------------------------------===//
// Hyperbolic functions
//===----------------------------------------------------------------------===//

Num sinh(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x), t = expm1(a);
  Num near = (t + t / (t + 1)) * 0.5;
  // Where e^a overflows before its half does; infinite there, too.
  Num root = exp(a * 0.5), far = root * 0.5 * root;
  return m.copysign(m.select(m.greater(a, 700.0), far, near), x);
}

Num cosh(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x), e = exp(a);
  Num near = (e + 1 / e) * 0.5;
  Num root = exp(a * 0.5), far = root * 0.5 * root;
  return m.select(m.greater(a, 700.0), far, near);
}

Num tanh(Num x) {
  FloatBuilder &m = *x.m;
  Num t = expm1(m.clamp(m.abs(x) * 2, 0, 50));
  return m.copysign(t / (t + 2), x);
}

Num asinh(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x), square = a * a;
  Value large = m.greater(a, 0x1p28);
  Num near = log1p(m.select(large, 0.0, a + square / (m.sqrt(square + 1) + 1)));
  Num far = log(a) + (kLn2High + kLn2Low);
  return m.copysign(m.select(large, far, near), x);
}

Num acosh(Num x) {
  FloatBuilder &m = *x.m;
  Value large = m.greater(x, 0x1p28);
  Num t = x - 1;
  Num near = log1p(m.select(large, 0.0, t + m.sqrt(m.fma(t, t, t * 2))));
  Num far = log(x) + (kLn2High + kLn2Low);
  return m.select(m.less(x, 1.0), NAN, m.select(large, far, near));
}

Num atanh(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x);
  Num y = log1p(a * 2 / (1 - a)) * 0.5;
  // 0.5 log1p(2a) loses the lowest bit of denormals.
  y = m.select(m.less(a, 0x1p-54), a, y);
  return m.copysign(m.select(m.greater(a, 1.0), NAN, y), x);
}

//===----------------------------------------------------------------------===//
// Error function, roots and powers
//===----------------------------------------------------------------------===//

namespace {

// erfc(a) for a >= 1, f64.
Num erfcFar(Num a) {
  FloatBuilder &m = *a.m;
  Num x = m.clamp(a, 1, 28);
  Num q = m.polynomial((x - 4) / (x + 4), kErfcx64) / (x * 2 + 1);
  // e^(-x^2) with the square in two parts.
  auto [square, low] = twoProduct(x, x);
  Num minusLow = -low;
  return q * expWide(-square, &minusLow);
}
Num erfNear(Num x) { return x.m->fma(x, x.m->polynomial(x * x, kErf64), x); }

} // namespace

Num erf(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x);
  Num far = 1 - erfcFar(a);
  return m.select(m.less(a, 1.0), erfNear(x), m.copysign(far, x));
}

// In f32: by its own polynomials, without exponential and division, as gelu is full of it.
Num erfSingle(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.clamp(m.abs(x), 0, 3.925), z = x * x;
  Num far = 1 - m.polynomial(a - 2.4375, kErfcFar32);
  return m.select(m.less(a, 1.0), m.fma(x, m.polynomial(z, kErf32), x), m.copysign(far, x));
}

Num erfc(Num x) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x), far = erfcFar(a);
  far = m.select(m.less(x, 0.0), 2 - far, far);
  far = m.select(m.greater(x, 28.0), 0.0, far);
  // Near 1/2 the difference loses nothing; further up to 1 at most two bits.
  return m.select(m.less(a, 1.0), 0.5 - (erfNear(x) - 0.5), far);
}

Num cbrt(Num x) {
  FloatBuilder &m = *x.m;
  // Tiny numbers are scaled by 2^54, so that the cube below is a normal number.
  Value tiny = m.less(m.abs(x), 0x1p-960);
  Num a = m.abs(m.select(tiny, x * 0x1p54, x));
  Num y = exp(log(a) / 3);
  // One Newton step from a value that is right to almost all bits.
  Num square = y * y;
  Num better = y - m.fma(square, y, -a) / (square * 3);
  Value plain = m.both(m.greater(a, 0.0), m.less(a, INFINITY));
  y = m.select(plain, better, y);
  return m.copysign(m.select(tiny, y * 0x1p-18, y), x);
}

Num pow(Num x, Num y, bool forSingle) {
  FloatBuilder &m = *x.m;
  Num a = m.abs(x);
  auto [k, f] = reduceLog(a);
  Num n = m.toFloat(k), r = m(0);
  Value zero = m.equal(a, 0.0), infinite = m.equal(a, INFINITY);
  auto special = [&](Num logarithm) {
    return m.select(zero, -INFINITY, m.select(infinite, INFINITY, logarithm));
  };
  if (forSingle) {
    r = expWide(y * special(logOnce(f, n)));
  } else {
    auto [l, lLow] = logTwice(f);
    auto [sum, low] = fastTwoSum(n * kLn2High, l);
    low = low + m.fma(n, kLn2Low, lLow);
    std::tie(sum, low) = fastTwoSum(sum, low);
    sum = special(sum);
    auto [product, productLow] = twoProduct(y, sum);
    productLow = m.fma(y, low, productLow);
    // Neither infinities nor results that are 0 or infinite anyway have a low part.
    productLow = m.select(m.less(m.abs(product), 800.0), productLow, m(0));
    r = expWide(product, &productLow);
  }
  // Odd integers keep the sign of x; a negative finite x has no other powers.
  Num half = y * 0.5;
  Value integral = m.equal(m.floor(y), y);
  Value odd = m.both(integral, m.no(m.equal(m.floor(half), half)));
  Value negative = m.compare(FloatBuilder::IntPredicate::slt, m.bits(x), m.integer(0));
  r = m.select(m.both(negative, odd), -r, r);
  Value undefined = m.both(m.both(m.less(x, 0.0), m.no(integral)), m.no(infinite));
  r = m.select(m.both(undefined, m.no(m.isNan(y))), NAN, r);
  r = m.select(m.either(m.isNan(x), m.isNan(y)), x + y, r);
  // 1 to any power, anything to the power 0, and -1 to an infinite power are 1.
  Value one = m.both(m.equal(a, 1.0), m.equal(m.abs(y), INFINITY));
  one = m.either(m.either(one, m.equal(x, 1.0)), m.equal(y, 0.0));
  return m.select(one, 1.0, r);
}

// Long division in digits of 20 bits: every step is exact, as the quotient of a step and the
// remainder's multiple of the divisor's last place fit into a float. Numbers of like size take one
// step.
Num remainder(Num x, Num y) {
  FloatBuilder &m = *x.m;
  constexpr double digit = 0x1p20;
  Num a = m.abs(x), d = m.abs(y);
  Value finite = m.less(a, INFINITY);
  Value usable = m.both(finite, m.both(m.greater(d, 0.0), m.less(d, INFINITY)));
  Num rest = m.select(usable, a, m(0)), divisor = m.select(usable, d, m(1));

  // The divisor times the largest power of the digit that fits.
  auto fits = [&](Num scaled) {
    return m.compare(FloatBuilder::Predicate::OLE, scaled * digit, rest);
  };
  auto up = scf::WhileOp::create(
      m.b, m.loc, TypeRange{m.type}, ValueRange{divisor.v},
      [&](OpBuilder &, Location loc, ValueRange args) {
        scf::ConditionOp::create(m.b, loc, anyOf(m, fits(m.num(args[0]))), args);
      },
      [&](OpBuilder &, Location loc, ValueRange args) {
        Num scaled = m.num(args[0]);
        scf::YieldOp::create(m.b, loc, m.select(fits(scaled), scaled * digit, scaled).v);
      });
  // Subtract multiples of it, from the highest digit to the lowest.
  auto down = scf::WhileOp::create(
      m.b, m.loc, TypeRange{m.type, m.type}, ValueRange{rest.v, up.getResult(0)},
      [&](OpBuilder &, Location loc, ValueRange args) {
        Num left = m.num(args[0]), scaled = m.num(args[1]);
        // Rounding up may make the quotient one too large.
        Num next = m.fma(-m.floor(left / scaled), scaled, left);
        next = m.select(m.less(next, 0.0), next + scaled, next);
        Value more = anyOf(m, m.less(divisor, scaled));
        scf::ConditionOp::create(m.b, loc, more, ValueRange{next.v, scaled.v});
      },
      [&](OpBuilder &, Location loc, ValueRange args) {
        Num scaled = m.num(args[1]);
        Num lower = m.select(m.less(divisor, scaled), scaled * (1 / digit), scaled);
        scf::YieldOp::create(m.b, loc, ValueRange{args[0], lower.v});
      });
  Num r = m.copysign(m.num(down.getResult(0)), x);
  Value whole = m.both(finite, m.equal(d, INFINITY));
  return m.select(usable, r, m.select(whole, x, m.nan()));
}

} // namespace nx::math_functions
