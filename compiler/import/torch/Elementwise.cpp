//===- Elementwise.cpp - Element-wise ATen operators ----------------------===//

#include "compiler/import/common/Slices.h"
#include "compiler/import/torch/NodeImporter.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The named operands, all of the element type that torch computes with.
SmallVector<Value> promotedOperands(NodeImporter &n, ArrayRef<StringRef> names, bool toFloat = false) {
  SmallVector<Operand> operands;
  for (StringRef name : names)
    operands.push_back(n.operand(name));
  Type element = toFloat ? n.promotedToFloat(operands) : n.promoted(operands);
  SmallVector<Value> values;
  for (const Operand &operand : operands)
    values.push_back(n.as(operand, element));
  return values;
}

/// x of float type, and constants beside it.
struct FloatInput {
  GraphBuilder &b;
  Value x;
  FloatInput(NodeImporter &n, GraphBuilder &b, StringRef name = "self") : b(b), x(n.tensor(name)) {
    if (x)
      x = b.cast(x, n.floatOf(b.elementOf(x)));
  }
  Value constant(double value) { return x ? b.scalar(b.elementOf(x), value) : Value(); }
};

bool isFloat(GraphBuilder &b, Value x) { return x && isa<FloatType>(b.elementOf(x)); }
bool isBool(GraphBuilder &b, Value x) { return x && b.elementOf(x).isInteger(1); }

Value selectWhere(GraphBuilder &b, Value condition, Value x, Value y) { return b.emit<SelectOp>({condition, x, y}); }
Value like(GraphBuilder &b, Value x, double value) { return x ? b.scalar(b.elementOf(x), value) : Value(); }

//===----------------------------------------------------------------------===//
// One operation each
//===----------------------------------------------------------------------===//

/// Of floats; integers become floats first.
template <typename OpTy> void unaryFloat(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<OpTy>(FloatInput(n, b).x));
}
/// Of numbers of any kind.
template <typename OpTy> void unary(NodeImporter &n, GraphBuilder &b) { n.result(b.emit<OpTy>(n.tensor("self"))); }
/// Roundings, which leave integers as they are.
template <typename OpTy> void rounding(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(isFloat(b, x) ? b.emit<OpTy>(x) : x);
}

template <typename OpTy> void binary(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<OpTy>(promotedOperands(n, {"self", "other"})));
}
/// Bitwise on integers, logical on booleans.
template <typename OpTy> void logical(NodeImporter &n, GraphBuilder &b) {
  Type boolean = b.builder.getI1Type();
  n.result(b.emit<OpTy>({b.cast(n.tensor("self"), boolean), b.cast(n.tensor("other"), boolean)}));
}
void logicalNot(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<NotOp>(b.cast(n.tensor("self"), b.builder.getI1Type())));
}

template <ComparePredicate predicate> void compare(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  // Booleans are ordered as 0 and 1.
  if (isBool(b, xs[0]) && predicate != ComparePredicate::eq && predicate != ComparePredicate::ne)
    for (Value &x : xs)
      x = b.cast(x, b.builder.getI8Type());
  n.result(b.compare(predicate, xs[0], xs[1]));
}

/// Arguments that only matter for training or for how memory is used.
void identity(NodeImporter &n, GraphBuilder &) { n.result(n.tensor("self")); }

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// other * alpha
Value scaledOther(NodeImporter &n, GraphBuilder &b, Value other) {
  if (!n.has("alpha") || !other)
    return other;
  Scalar alpha = n.scalar("alpha");
  if (alpha.isConstant() && alpha.number() == 1)
    return other;
  return b.emit<MulOp>({other, n.constant(b.elementOf(other), alpha)});
}

void add(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  Value other = scaledOther(n, b, xs[1]);
  n.result(isBool(b, xs[0]) ? b.emit<OrOp>({xs[0], other}) : b.emit<AddOp>({xs[0], other}));
}
void sub(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  n.result(b.emit<SubOp>({xs[0], scaledOther(n, b, xs[1])}));
}
void rsub(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  Value self = xs[0];
  n.result(b.emit<SubOp>({xs[1], scaledOther(n, b, self)}));
}
Value product(GraphBuilder &b, Value x, Value y) {
  return isBool(b, x) ? b.emit<AndOp>({x, y}) : b.emit<MulOp>({x, y});
}
void mul(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  n.result(product(b, xs[0], xs[1]));
}
void square(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(product(b, x, x));
}

/// The whole quotient below x / y. Of floats by the exact remainder, as rounding x / y first may step
/// over the whole number.
Value floorQuotient(GraphBuilder &b, Value x, Value y) {
  if (!x || !isFloat(b, x))
    return b.emit<FloorDivOp>({x, y});
  Value zero = like(b, x, 0), one = like(b, x, 1);
  Value rest = b.emit<RemOp>({x, y});
  Value quotient = b.emit<DivOp>({b.emit<SubOp>({x, rest}), y});
  // A rest of the other sign than the divisor belongs to the quotient above.
  Value crosses = b.emit<AndOp>({b.compare(ComparePredicate::ne, rest, zero),
                                 b.emit<XorOp>({b.compare(ComparePredicate::lt, y, zero),
                                                b.compare(ComparePredicate::lt, rest, zero)})});
  quotient = selectWhere(b, crosses, b.emit<SubOp>({quotient, one}), quotient);
  Value whole = b.emit<FloorOp>(quotient);
  Value isAbove = b.compare(ComparePredicate::gt, b.emit<SubOp>({quotient, whole}), like(b, x, 0.5));
  whole = selectWhere(b, isAbove, b.emit<AddOp>({whole, one}), whole);
  return selectWhere(b, b.compare(ComparePredicate::eq, y, zero), b.emit<DivOp>({x, y}), whole);
}

void div(NodeImporter &n, GraphBuilder &b) {
  StringRef mode = n.string("rounding_mode", "");
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"}, /*toFloat=*/mode.empty());
  if (mode == "floor")
    return n.result(floorQuotient(b, xs[0], xs[1]));
  Value quotient = b.emit<DivOp>(xs);
  if (mode == "trunc" && isFloat(b, quotient))
    quotient = b.emit<TruncOp>(quotient);
  n.result(quotient);
}
void floorDivide(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  n.result(floorQuotient(b, xs[0], xs[1]));
}

void pow(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "exponent"});
  n.result(b.emit<PowOp>(xs));
}
void floatPower(NodeImporter &n, GraphBuilder &b) {
  Type f64 = b.builder.getF64Type();
  n.result(b.emit<PowOp>({n.as(n.operand("self"), f64), n.as(n.operand("exponent"), f64)}));
}

/// Of two numbers of which one is NaN, the other.
template <typename OpTy> void ignoringNan(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  Value result = b.emit<OpTy>(xs);
  if (isFloat(b, xs[0]))
    result = selectWhere(b, b.emit<IsNanOp>(xs[0]), xs[1], selectWhere(b, b.emit<IsNanOp>(xs[1]), xs[0], result));
  n.result(result);
}
template <typename OpTy, typename BoolOp> void extremum(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  n.result(isBool(b, xs[0]) ? b.emit<BoolOp>(xs) : b.emit<OpTy>(xs));
}

void addcmul(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "tensor1", "tensor2"});
  Value term = b.emit<MulOp>({xs[1], xs[2]});
  if (n.has("value") && term)
    term = b.emit<MulOp>({term, n.constant(b.elementOf(term), n.scalar("value"))});
  n.result(b.emit<AddOp>({xs[0], term}));
}
void addcdiv(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "tensor1", "tensor2"}, /*toFloat=*/true);
  Value term = b.emit<DivOp>({xs[1], xs[2]});
  if (n.has("value") && term)
    term = b.emit<MulOp>({term, n.constant(b.elementOf(term), n.scalar("value"))});
  n.result(b.emit<AddOp>({xs[0], term}));
}
void lerp(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "end"});
  Value weight = xs[0] ? n.as(n.operand("weight"), b.elementOf(xs[0])) : Value();
  n.result(b.emit<AddOp>({xs[0], b.emit<MulOp>({weight, b.emit<SubOp>({xs[1], xs[0]})})}));
}

void atan2(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"}, /*toFloat=*/true);
  Value y = xs[0], x = xs[1];
  if (!x || !y)
    return;
  constexpr double pi = 3.14159265358979323846;
  // 1 / v is negative for -0 too.
  auto isNegative = [&](Value v) { return b.compare(ComparePredicate::lt, b.emit<ReciprocalOp>(v), like(b, v, 0)); };
  Value zero = like(b, x, 0);
  Value absX = b.emit<AbsOp>(x), absY = b.emit<AbsOp>(y);
  // The angle in the first octant and its mirror images; equal infinities make 45 degrees.
  Value larger = b.emit<MaxOp>({absX, absY}), smaller = b.emit<MinOp>({absX, absY});
  Value ratio = selectWhere(b, b.compare(ComparePredicate::eq, larger, smaller), like(b, x, 1), b.emit<DivOp>({smaller, larger}));
  ratio = selectWhere(b, b.compare(ComparePredicate::eq, larger, zero), zero, ratio);
  Value angle = b.emit<AtanOp>(ratio);
  angle = selectWhere(b, b.compare(ComparePredicate::gt, absY, absX), b.emit<SubOp>({like(b, x, pi / 2), angle}), angle);
  angle = selectWhere(b, isNegative(x), b.emit<SubOp>({like(b, x, pi), angle}), angle);
  angle = selectWhere(b, isNegative(y), b.emit<NegOp>(angle), angle);
  Value isNan = b.emit<OrOp>({b.emit<IsNanOp>(x), b.emit<IsNanOp>(y)});
  n.result(selectWhere(b, isNan, like(b, x, std::numeric_limits<double>::quiet_NaN()), angle));
}

void hypot(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  Value x = b.emit<AbsOp>(xs[0]), y = b.emit<AbsOp>(xs[1]);
  // The larger one is taken out, so that squares do not overflow.
  Value larger = b.emit<MaxOp>({x, y}), smaller = b.emit<MinOp>({x, y});
  Value ratio = b.emit<DivOp>({smaller, larger});
  Value root = b.emit<MulOp>({larger, b.emit<SqrtOp>(b.emit<AddOp>({b.emit<MulOp>({ratio, ratio}), like(b, x, 1)}))});
  Value isPlain = b.emit<OrOp>({b.compare(ComparePredicate::eq, larger, like(b, x, 0)), b.emit<IsInfOp>(larger)});
  n.result(selectWhere(b, isPlain, larger, root));
}

void copysign(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"}, /*toFloat=*/true);
  Value magnitude = b.emit<AbsOp>(xs[0]);
  // -0 has a negative reciprocal; that of -inf is -0, which compares by itself.
  Value zero = like(b, xs[1], 0);
  Value negative = b.emit<OrOp>({b.compare(ComparePredicate::lt, xs[1], zero),
                                 b.compare(ComparePredicate::lt, b.emit<ReciprocalOp>(xs[1]), zero)});
  n.result(selectWhere(b, negative, b.emit<NegOp>(magnitude), magnitude));
}

/// x * log(y), and 0 where x is 0 unless y is NaN.
template <typename LogOpTy> void xlogy(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"}, /*toFloat=*/true);
  Value product = b.emit<MulOp>({xs[0], b.emit<LogOpTy>(xs[1])});
  Value isZero = b.emit<AndOp>({b.compare(ComparePredicate::eq, xs[0], like(b, xs[0], 0)),
                                b.emit<NotOp>(b.emit<IsNanOp>(xs[1]))});
  n.result(selectWhere(b, isZero, like(b, xs[0], 0), product));
}

void logaddexp(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  Value larger = b.emit<MaxOp>(xs), smaller = b.emit<MinOp>(xs);
  // Equal infinities have no difference.
  Value same = b.compare(ComparePredicate::eq, larger, smaller);
  Value difference = selectWhere(b, same, like(b, larger, 0), b.emit<SubOp>({smaller, larger}));
  n.result(b.emit<AddOp>({larger, b.emit<Log1pOp>(b.emit<ExpOp>(difference))}));
}

void ldexp(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"}, /*toFloat=*/true);
  n.result(b.emit<MulOp>({xs[0], b.emit<PowOp>({like(b, xs[0], 2), xs[1]})}));
}

void heaviside(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "values"});
  Value zero = like(b, xs[0], 0);
  Value step = b.cast(b.compare(ComparePredicate::gt, xs[0], zero), xs[0] ? b.elementOf(xs[0]) : Type());
  n.result(selectWhere(b, b.compare(ComparePredicate::eq, xs[0], zero), xs[1], step));
}


//===----------------------------------------------------------------------===//
// Functions of one number
//===----------------------------------------------------------------------===//

/// log(x) in another base.
template <int base> void logBase(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  n.result(b.emit<MulOp>({b.emit<LogOp>(in.x), in.constant(1 / std::log(double(base)))}));
}
void exp2(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  n.result(b.emit<PowOp>({in.constant(2), in.x}));
}
void erfc(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  n.result(b.emit<SubOp>({in.constant(1), b.emit<ErfOp>(in.x)}));
}
void frac(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(b.emit<SubOp>({x, b.emit<TruncOp>(x)}));
}
void sign(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(isBool(b, x) ? x : b.emit<SignOp>(x));
}
void signbit(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), zero = like(b, x, 0);
  if (isBool(b, x))
    return n.result(b.broadcast(b.scalar(b.builder.getI1Type(), 0), dimsOf(b.typeOf(x))));
  Value negative = b.compare(ComparePredicate::lt, x, zero);
  if (isFloat(b, x))
    negative = b.emit<OrOp>({negative, b.compare(ComparePredicate::lt, b.emit<ReciprocalOp>(x), zero)});
  n.result(negative);
}
void roundTo(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!isFloat(b, x))
    return n.result(x);
  double scale = std::pow(10.0, std::abs(double(n.integer("decimals", 0))));
  bool isPositive = n.integer("decimals", 0) >= 0;
  Value factor = like(b, x, scale);
  Value scaled = isPositive ? b.emit<MulOp>({x, factor}) : b.emit<DivOp>({x, factor});
  Value rounded = b.emit<RoundOp>(scaled);
  n.result(isPositive ? b.emit<DivOp>({rounded, factor}) : b.emit<MulOp>({rounded, factor}));
}
void scaleBy(NodeImporter &n, GraphBuilder &b, double factor) {
  FloatInput in(n, b);
  n.result(b.emit<MulOp>({in.x, in.constant(factor)}));
}
void degToRad(NodeImporter &n, GraphBuilder &b) { scaleBy(n, b, 0.017453292519943295); }
void radToDeg(NodeImporter &n, GraphBuilder &b) { scaleBy(n, b, 57.29577951308232); }
void sinc(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  Value angle = b.emit<MulOp>({in.x, in.constant(3.14159265358979323846)});
  Value isZero = b.compare(ComparePredicate::eq, in.x, in.constant(0));
  n.result(selectWhere(b, isZero, in.constant(1), b.emit<DivOp>({b.emit<SinOp>(angle), angle})));
}
void logit(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  Value x = in.x;
  if (n.has("eps")) {
    double eps = n.number("eps", 0);
    x = b.emit<MinOp>({b.emit<MaxOp>({x, in.constant(eps)}), in.constant(1 - eps)});
  }
  n.result(b.emit<LogOp>(b.emit<DivOp>({x, b.emit<SubOp>({in.constant(1), x})})));
}

template <bool positive, bool negative> void isInf(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  if (!isFloat(b, x))
    return n.result(b.broadcast(b.scalar(b.builder.getI1Type(), 0), dimsOf(b.typeOf(x))));
  n.result(b.emit<IsInfOp>(x, {b.attr("positive", b.builder.getBoolAttr(positive)),
                               b.attr("negative", b.builder.getBoolAttr(negative))}));
}
void isNan(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  n.result(isFloat(b, x) ? b.emit<IsNanOp>(x) : b.broadcast(b.scalar(b.builder.getI1Type(), 0), dimsOf(b.typeOf(x))));
}
void isFinite(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  if (!isFloat(b, x))
    return n.result(b.broadcast(b.scalar(b.builder.getI1Type(), 1), dimsOf(b.typeOf(x))));
  n.result(b.emit<NotOp>(b.emit<OrOp>({b.emit<IsNanOp>(x), b.emit<IsInfOp>(x)})));
}
void nanToNum(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  double nan = n.number("nan", 0);
  if (!x || !isFloat(b, x))
    return n.result(x);
  Type element = b.elementOf(x);
  APFloat largest = APFloat::getLargest(cast<FloatType>(element).getFloatSemantics());
  bool losesInfo;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  double limit = largest.convertToDouble();
  double above = n.number("posinf", limit), below = n.number("neginf", -limit);
  auto infinite = [&](bool positive) {
    return b.emit<IsInfOp>(x, {b.attr("positive", b.builder.getBoolAttr(positive)),
                               b.attr("negative", b.builder.getBoolAttr(!positive))});
  };
  Value result = selectWhere(b, infinite(true), like(b, x, above), x);
  result = selectWhere(b, infinite(false), like(b, x, below), result);
  n.result(selectWhere(b, b.emit<IsNanOp>(x), like(b, x, nan), result));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

void gelu(NodeImporter &n, GraphBuilder &b) {
  StringRef approximate = n.string("approximate", "none");
  if (approximate == "tanh")
    return n.result(b.emit<GeluOp>(n.tensor("self"), b.flag("tanh")));
  if (approximate != "none") {
    n.error() << "approximate '" << approximate << "' is neither none nor tanh";
    return;
  }
  n.result(b.emit<GeluOp>(n.tensor("self")));
}
void leakyRelu(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<LeakyReluOp>(n.tensor("self"), b.f64("alpha", n.number("negative_slope", 0.01))));
}
void rrelu(NodeImporter &n, GraphBuilder &b) {
  if (n.boolean("training", false))
    return n.unsupported("it is in training mode; export the model after eval()");
  n.ignore({"generator", "noise"});
  double slope = (n.number("lower", 0.125) + n.number("upper", 1.0 / 3)) / 2;
  n.results({b.emit<LeakyReluOp>(n.tensor("self"), b.f64("alpha", slope)), n.optionalTensor("noise")});
}
void elu(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  double alpha = n.number("alpha", 1), scale = n.number("scale", 1), inputScale = n.number("input_scale", 1);
  if (scale == 1 && inputScale == 1)
    return n.result(b.emit<EluOp>(in.x, b.f64("alpha", alpha)));
  Value negative = b.emit<MulOp>({b.emit<Expm1Op>(b.emit<MulOp>({in.x, in.constant(inputScale)})), in.constant(alpha * scale)});
  n.result(selectWhere(b, b.compare(ComparePredicate::gt, in.x, in.constant(0)),
                       b.emit<MulOp>({in.x, in.constant(scale)}), negative));
}
void selu(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  Value x = b.emit<EluOp>(in.x, b.f64("alpha", 1.6732632423543772848170429916717));
  n.result(b.emit<MulOp>({x, in.constant(1.0507009873554804934193349852946)}));
}
void celu(NodeImporter &n, GraphBuilder &b) {
  // max(0, x) + min(0, alpha * (exp(x / alpha) - 1))
  FloatInput in(n, b);
  double alpha = n.number("alpha", 1);
  Value negative = b.emit<MulOp>({b.emit<Expm1Op>(b.emit<DivOp>({in.x, in.constant(alpha)})), in.constant(alpha)});
  n.result(b.emit<AddOp>({b.emit<MaxOp>({in.x, in.constant(0)}), b.emit<MinOp>({negative, in.constant(0)})}));
}
void hardtanh(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  double low = n.number("min_val", -1), high = n.number("max_val", 1);
  n.result(b.emit<MinOp>({b.emit<MaxOp>({x, like(b, x, low)}), like(b, x, high)}));
}
void relu6(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(b.emit<MinOp>({b.emit<ReluOp>(x), like(b, x, 6)}));
}
Value hardSigmoidOf(GraphBuilder &b, Value x) {
  return b.emit<HardSigmoidOp>(x, {b.f64("alpha", 1.0 / 6), b.f64("beta", 0.5)});
}
void hardSigmoid(NodeImporter &n, GraphBuilder &b) { n.result(hardSigmoidOf(b, n.tensor("self"))); }
void hardSwish(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(b.emit<MulOp>({x, hardSigmoidOf(b, x)}));
}
void softplus(NodeImporter &n, GraphBuilder &b) {
  FloatInput in(n, b);
  double beta = n.number("beta", 1), threshold = n.number("threshold", 20);
  Value scaled = beta == 1 ? in.x : b.emit<MulOp>({in.x, in.constant(beta)});
  Value soft = b.emit<SoftplusOp>(scaled);
  if (beta != 1)
    soft = b.emit<DivOp>({soft, in.constant(beta)});
  // Above the threshold it is x; from 20 on that is the same number.
  if (threshold < 20)
    soft = selectWhere(b, b.compare(ComparePredicate::gt, scaled, in.constant(threshold)), in.x, soft);
  n.result(soft);
}
void logSigmoid(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<NegOp>(b.emit<SoftplusOp>(b.emit<NegOp>(n.tensor("self")))));
}
void mish(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(b.emit<MulOp>({x, b.emit<TanhOp>(b.emit<SoftplusOp>(x))}));
}
/// One half of a dimension times the sigmoid of the other.
void glu(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("dim", -1), b.rankOf(x));
  AffineExpr half = b.rankOf(x) ? divideExactly(dimOf(b.typeOf(x), axis), b.size(2)) : AffineExpr();
  if (b.failed())
    return;
  if (!half)
    return n.unsupported("nx cannot show that dimension " + Twine(axis) + " of " + b.text(b.typeOf(x)) + " is even");
  Value first = emitSlice(b, x, {{axis, SliceRange{b.size(0), half, 1}}});
  n.result(b.emit<MulOp>({first, b.emit<SigmoidOp>(emitSlice(b, x, {{axis, SliceRange{half, half, 1}}}))}));
}
void softsign(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(b.emit<DivOp>({x, b.emit<AddOp>({b.emit<AbsOp>(x), like(b, x, 1)})}));
}
void tanhshrink(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  n.result(b.emit<SubOp>({x, b.emit<TanhOp>(x)}));
}
void hardshrink(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  // NaN stays: it is not inside.
  Value inside = b.compare(ComparePredicate::le, b.emit<AbsOp>(x), like(b, x, n.number("lambd", 0.5)));
  n.result(selectWhere(b, inside, like(b, x, 0), x));
}
void softshrink(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), lambd = like(b, x, n.number("lambd", 0.5));
  Value low = b.compare(ComparePredicate::lt, x, b.emit<NegOp>(lambd)), high = b.compare(ComparePredicate::gt, x, lambd);
  Value middle = b.emit<MulOp>({x, like(b, x, 0)}); // 0, and NaN of NaN
  n.result(selectWhere(b, low, b.emit<AddOp>({x, lambd}), selectWhere(b, high, b.emit<SubOp>({x, lambd}), middle)));
}
void threshold(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  Value limit = n.constant(b.elementOf(x), n.scalar("threshold")), value = n.constant(b.elementOf(x), n.scalar("value"));
  n.result(selectWhere(b, b.compare(ComparePredicate::le, x, limit), value, x));
}
void prelu(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), weight = n.tensor("weight");
  if (!x || !weight)
    return;
  // One slope per channel (dimension 1), or one for all; the decomposed form has them shaped already.
  if (b.rankOf(weight) == 1 && b.rankOf(x) > 1) {
    SmallVector<AffineExpr> dims(b.rankOf(x), b.size(1));
    dims[1] = dimOf(b.typeOf(weight), 0);
    weight = b.reshape(weight, dims);
  } else if (b.rankOf(x) == 0) {
    weight = b.reshape(weight, {});
  }
  Value scaled = b.emit<MulOp>({x, weight});
  n.result(selectWhere(b, b.compare(ComparePredicate::gt, x, like(b, x, 0)), x, scaled));
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

void where(NodeImporter &n, GraphBuilder &b) {
  Value condition = n.tensor("condition");
  SmallVector<Value> xs = promotedOperands(n, {"self", "other"});
  n.result(selectWhere(b, b.cast(condition, b.builder.getI1Type()), xs[0], xs[1]));
}

void maskedFill(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), mask = n.tensor("mask");
  if (x)
    n.result(selectWhere(b, mask, n.as(n.operand("value"), b.elementOf(x)), x));
}

void clamp(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Operand> operands{n.operand("self")};
  bool hasLow = n.has("min"), hasHigh = n.has("max");
  if (hasLow)
    operands.push_back(n.operand("min"));
  if (hasHigh)
    operands.push_back(n.operand("max"));
  Type element = n.promoted(operands);
  Value x = n.as(operands[0], element);
  if (hasLow)
    x = b.emit<MaxOp>({x, n.as(operands[1], element)});
  if (hasHigh)
    x = b.emit<MinOp>({x, n.as(operands.back(), element)});
  n.result(x);
}

void dropout(NodeImporter &n, GraphBuilder &b) {
  StringRef name = n.argument("self") ? "self" : "input";
  double p = n.number("p", 0.5);
  if (n.boolean("train", false) && p != 0)
    return n.unsupported("it is in training mode; export the model after eval()");
  n.result(n.tensor(name));
}
void nativeDropout(NodeImporter &n, GraphBuilder &b) {
  dropout(n, b);
  Value x = n.takenResults().empty() ? Value() : n.takenResults()[0];
  if (x)
    n.results({x, b.broadcast(b.scalar(b.builder.getI1Type(), 1), dimsOf(b.typeOf(x)))});
}
Value sameValue(NodeImporter &, GraphBuilder &, Value, Value view, size_t) { return view; }

void reducedLoss(NodeImporter &n, GraphBuilder &b, Value perElement) {
  // 0: each, 1: mean, 2: sum
  int64_t reduction = n.integer("reduction", 1);
  if (!perElement || reduction == 0)
    return n.result(perElement);
  n.result(b.reduce(reduction == 1 ? ReduceKind::mean : ReduceKind::sum, perElement,
                    llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(perElement))), false));
}
void mseLoss(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "target"});
  Value difference = b.emit<SubOp>(xs);
  reducedLoss(n, b, b.emit<MulOp>({difference, difference}));
}
void l1Loss(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "target"});
  reducedLoss(n, b, b.emit<AbsOp>(b.emit<SubOp>(xs)));
}
/// Quadratic inside `limit`, linear outside.
void smoothLoss(NodeImporter &n, GraphBuilder &b, double limit, double innerScale, double outerScale) {
  SmallVector<Value> xs = promotedOperands(n, {"self", "target"});
  Value distance = b.emit<AbsOp>(b.emit<SubOp>(xs));
  if (limit == 0)
    return reducedLoss(n, b, distance);
  Value inner = b.emit<MulOp>({b.emit<MulOp>({distance, distance}), like(b, distance, innerScale)});
  Value outer = b.emit<MulOp>({b.emit<SubOp>({distance, like(b, distance, 0.5 * limit)}), like(b, distance, outerScale)});
  reducedLoss(n, b, selectWhere(b, b.compare(ComparePredicate::lt, distance, like(b, distance, limit)), inner, outer));
}
void smoothL1Loss(NodeImporter &n, GraphBuilder &b) {
  double beta = n.number("beta", 1);
  smoothLoss(n, b, beta, 0.5 / beta, 1);
}
void huberLoss(NodeImporter &n, GraphBuilder &b) {
  double delta = n.number("delta", 1);
  smoothLoss(n, b, delta, 0.5, delta);
}

const OperatorRow kOperators[] = {
    {"aten.abs", "", unary<AbsOp>},
    {"aten.absolute", "", unary<AbsOp>},
    {"aten.acos", "", unaryFloat<AcosOp>},
    {"aten.acosh", "", unaryFloat<AcoshOp>},
    {"aten.add", "Tensor Scalar", add},
    {"aten.addcdiv", "", addcdiv},
    {"aten.addcmul", "", addcmul},
    {"aten.alpha_dropout", "", dropout, sameValue},
    {"aten.arccos", "", unaryFloat<AcosOp>},
    {"aten.arccosh", "", unaryFloat<AcoshOp>},
    {"aten.arcsin", "", unaryFloat<AsinOp>},
    {"aten.arcsinh", "", unaryFloat<AsinhOp>},
    {"aten.arctan", "", unaryFloat<AtanOp>},
    {"aten.arctan2", "", atan2},
    {"aten.arctanh", "", unaryFloat<AtanhOp>},
    {"aten.asin", "", unaryFloat<AsinOp>},
    {"aten.asinh", "", unaryFloat<AsinhOp>},
    {"aten.atan", "", unaryFloat<AtanOp>},
    {"aten.atan2", "", atan2},
    {"aten.atanh", "", unaryFloat<AtanhOp>},
    {"aten.__and__", "Tensor Scalar", binary<AndOp>},
    {"aten.__or__", "Tensor Scalar", binary<OrOp>},
    {"aten.__xor__", "Tensor Scalar", binary<XorOp>},
    {"aten.__lshift__", "Tensor Scalar", binary<ShlOp>},
    {"aten.__rshift__", "Tensor Scalar", binary<ShrOp>},
    {"aten.bitwise_and", "Tensor Scalar", binary<AndOp>},
    {"aten.bitwise_left_shift", "Tensor Tensor_Scalar", binary<ShlOp>},
    {"aten.bitwise_not", "", unary<NotOp>},
    {"aten.bitwise_or", "Tensor Scalar", binary<OrOp>},
    {"aten.bitwise_right_shift", "Tensor Tensor_Scalar", binary<ShrOp>},
    {"aten.bitwise_xor", "Tensor Scalar", binary<XorOp>},
    {"aten.ceil", "", rounding<CeilOp>},
    {"aten.celu", "", celu},
    {"aten.clamp", "default Tensor", clamp},
    {"aten.clamp_max", "default Tensor", clamp},
    {"aten.clamp_min", "default Tensor", clamp},
    {"aten.clip", "default Tensor", clamp},
    {"aten.copysign", "Tensor Scalar", copysign},
    {"aten.cos", "", unaryFloat<CosOp>},
    {"aten.cosh", "", unaryFloat<CoshOp>},
    {"aten.deg2rad", "", degToRad},
    {"aten.div", "Tensor Scalar Tensor_mode Scalar_mode", div},
    {"aten.divide", "Tensor Scalar Tensor_mode Scalar_mode", div},
    {"aten.dropout", "", dropout, sameValue},
    {"aten.elu", "", elu},
    {"aten.eq", "Tensor Scalar", compare<ComparePredicate::eq>},
    {"aten.erf", "", unaryFloat<ErfOp>},
    {"aten.erfc", "", erfc},
    {"aten.exp", "", unaryFloat<ExpOp>},
    {"aten.exp2", "", exp2},
    {"aten.expm1", "", unaryFloat<Expm1Op>},
    {"aten.feature_alpha_dropout", "", dropout, sameValue},
    {"aten.feature_dropout", "", dropout, sameValue},
    {"aten.fix", "", rounding<TruncOp>},
    {"aten.float_power", "Tensor_Tensor Tensor_Scalar Scalar", floatPower},
    {"aten.floor", "", rounding<FloorOp>},
    {"aten.floor_divide", "default Scalar", floorDivide},
    {"aten.fmax", "", ignoringNan<MaxOp>},
    {"aten.fmin", "", ignoringNan<MinOp>},
    {"aten.fmod", "Tensor Scalar", binary<RemOp>},
    {"aten.frac", "", frac},
    {"aten.ge", "Tensor Scalar", compare<ComparePredicate::ge>},
    {"aten.gelu", "", gelu},
    {"aten.glu", "", glu},
    {"aten.greater", "Tensor Scalar", compare<ComparePredicate::gt>},
    {"aten.greater_equal", "Tensor Scalar", compare<ComparePredicate::ge>},
    {"aten.gt", "Tensor Scalar", compare<ComparePredicate::gt>},
    {"aten.hardshrink", "", hardshrink},
    {"aten.hardsigmoid", "", hardSigmoid},
    {"aten.hardswish", "", hardSwish},
    {"aten.hardtanh", "", hardtanh},
    {"aten.heaviside", "", heaviside},
    {"aten.huber_loss", "", huberLoss},
    {"aten.hypot", "", hypot},
    {"aten.isfinite", "", isFinite},
    {"aten.isinf", "", isInf<true, true>},
    {"aten.isnan", "", isNan},
    {"aten.isneginf", "", isInf<false, true>},
    {"aten.isposinf", "", isInf<true, false>},
    {"aten.l1_loss", "", l1Loss},
    {"aten.ldexp", "Tensor", ldexp},
    {"aten.le", "Tensor Scalar", compare<ComparePredicate::le>},
    {"aten.leaky_relu", "", leakyRelu},
    {"aten.lerp", "Tensor Scalar", lerp},
    {"aten.less", "Tensor Scalar", compare<ComparePredicate::lt>},
    {"aten.less_equal", "Tensor Scalar", compare<ComparePredicate::le>},
    {"aten.log", "", unaryFloat<LogOp>},
    {"aten.log10", "", logBase<10>},
    {"aten.log1p", "", unaryFloat<Log1pOp>},
    {"aten.log2", "", logBase<2>},
    {"aten.log_sigmoid", "", logSigmoid},
    {"aten.log_sigmoid_forward", "", logSigmoid},
    {"aten.logaddexp", "", logaddexp},
    {"aten.logical_and", "", logical<AndOp>},
    {"aten.logical_not", "", logicalNot},
    {"aten.logical_or", "", logical<OrOp>},
    {"aten.logical_xor", "", logical<XorOp>},
    {"aten.logit", "", logit},
    {"aten.lt", "Tensor Scalar", compare<ComparePredicate::lt>},
    {"aten.masked_fill", "Tensor Scalar", maskedFill},
    {"aten.max", "other", extremum<MaxOp, OrOp>},
    {"aten.maximum", "", extremum<MaxOp, OrOp>},
    {"aten.min", "other", extremum<MinOp, AndOp>},
    {"aten.minimum", "", extremum<MinOp, AndOp>},
    {"aten.mish", "", mish},
    {"aten.mse_loss", "", mseLoss},
    {"aten.mul", "Tensor Scalar", mul},
    {"aten.multiply", "Tensor Scalar", mul},
    {"aten.nan_to_num", "", nanToNum},
    {"aten.native_dropout", "", nativeDropout},
    {"aten.ne", "Tensor Scalar", compare<ComparePredicate::ne>},
    {"aten.neg", "", unary<NegOp>},
    {"aten.negative", "", unary<NegOp>},
    {"aten.not_equal", "Tensor Scalar", compare<ComparePredicate::ne>},
    {"aten.positive", "", identity, sameValue},
    {"aten.pow", "Tensor_Tensor Tensor_Scalar Scalar", pow},
    {"aten.prelu", "", prelu},
    {"aten._prelu_kernel", "", prelu},
    {"aten.rad2deg", "", radToDeg},
    {"aten.reciprocal", "", unaryFloat<ReciprocalOp>},
    {"aten.relu", "", unary<ReluOp>},
    {"aten.relu6", "", relu6},
    {"aten.remainder", "Tensor Scalar Scalar_Tensor", binary<ModOp>},
    {"aten.round", "", rounding<RoundOp>},
    {"aten.round", "decimals", roundTo},
    {"aten.rrelu", "", rrelu},
    {"aten.rrelu_with_noise", "", rrelu},
    {"aten.rrelu_with_noise_functional", "", rrelu},
    {"aten.rsqrt", "", unaryFloat<RsqrtOp>},
    {"aten.rsub", "Tensor Scalar", rsub},
    {"aten.selu", "", selu},
    {"aten.sgn", "", sign},
    {"aten.sigmoid", "", unaryFloat<SigmoidOp>},
    {"aten.sign", "", sign},
    {"aten.signbit", "", signbit},
    {"aten.silu", "", unaryFloat<SiluOp>},
    {"aten.sin", "", unaryFloat<SinOp>},
    {"aten.sinc", "", sinc},
    {"aten.sinh", "", unaryFloat<SinhOp>},
    {"aten.smooth_l1_loss", "", smoothL1Loss},
    {"aten.softplus", "", softplus},
    {"aten.softshrink", "", softshrink},
    {"aten.softsign", "", softsign},
    {"aten.special_erf", "", unaryFloat<ErfOp>},
    {"aten.special_erfc", "", erfc},
    {"aten.special_exp2", "", exp2},
    {"aten.special_expit", "", unaryFloat<SigmoidOp>},
    {"aten.special_expm1", "", unaryFloat<Expm1Op>},
    {"aten.special_log1p", "", unaryFloat<Log1pOp>},
    {"aten.special_logit", "", logit},
    {"aten.special_sinc", "", sinc},
    {"aten.special_xlog1py", "", xlogy<Log1pOp>},
    {"aten.special_xlogy", "", xlogy<LogOp>},
    {"aten.sqrt", "", unaryFloat<SqrtOp>},
    {"aten.square", "", square},
    {"aten.sub", "Tensor Scalar", sub},
    {"aten.subtract", "Tensor Scalar", sub},
    {"aten.tan", "", unaryFloat<TanOp>},
    {"aten.tanh", "", unaryFloat<TanhOp>},
    {"aten.tanhshrink", "", tanhshrink},
    {"aten.threshold", "", threshold},
    {"aten.true_divide", "Tensor Scalar", div},
    {"aten.trunc", "", rounding<TruncOp>},
    {"aten.where", "self ScalarSelf ScalarOther Scalar", where},
    {"aten.xlogy", "Tensor Scalar_Self Scalar_Other", xlogy<LogOp>},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::elementwiseOperators() { return kOperators; }
