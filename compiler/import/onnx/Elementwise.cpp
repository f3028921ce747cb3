//===- Elementwise.cpp - Element-wise ONNX operators ----------------------===//

#include "compiler/import/common/Random.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

//===----------------------------------------------------------------------===//
// One operation each
//===----------------------------------------------------------------------===//

template <typename OpTy> void unary(NodeImporter &n, GraphBuilder &b) { n.result(b.emit<OpTy>(n.input(0))); }

template <typename OpTy> void binary(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<OpTy>({n.input(0), n.input(1)}));
}

template <typename OpTy> void variadic(NodeImporter &n, GraphBuilder &b) {
  Value result = n.input(0);
  for (size_t i = 1; i < n.numInputs(); ++i)
    result = b.emit<OpTy>({result, n.input(i)});
  n.result(result);
}

template <ComparePredicate predicate> void compare(NodeImporter &n, GraphBuilder &b) {
  n.result(b.compare(predicate, n.input(0), n.input(1)));
}

void identity(NodeImporter &n, GraphBuilder &) { n.result(n.input(0)); }

void mean(NodeImporter &n, GraphBuilder &b) {
  variadic<AddOp>(n, b);
  Value sum = n.takenResults().front();
  if (sum)
    n.result(b.emit<DivOp>({sum, b.scalar(b.elementOf(sum), double(n.numInputs()))}));
}

void mod(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), y = n.input(1);
  if (n.getInt("fmod", 0))
    return n.result(b.emit<RemOp>({x, y}));
  if (x && isa<FloatType>(b.elementOf(x)) && n.opset() < 28) {
    n.error() << "floats need the attribute fmod = 1";
    return;
  }
  n.result(b.emit<ModOp>({x, y}));
}

void bitShift(NodeImporter &n, GraphBuilder &b) {
  StringRef direction = n.getString("direction", "");
  if (direction == "LEFT")
    binary<ShlOp>(n, b);
  else if (direction == "RIGHT")
    binary<ShrOp>(n, b);
  else
    n.error() << "direction '" << direction << "' is neither LEFT nor RIGHT";
}

void where(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<SelectOp>({n.input(0), n.input(1), n.input(2)}));
}

/// Conversion to `element` by the attributes of Cast.
void convert(NodeImporter &n, GraphBuilder &b, Value x, Type element) {
  SmallVector<NamedAttribute> attributes;
  if (!n.getInt("saturate", 1))
    attributes.push_back(b.flag("overflow"));
  StringRef round = n.getString("round_mode", "up");
  if (round != "up" && round != "down" && round != "nearest") {
    n.error() << "round_mode '" << round << "' is not up, down or nearest";
    return;
  }
  if (round != "up")
    attributes.push_back(b.attr("round", b.builder.getStringAttr(round)));
  if (x)
    n.result(b.emitAs<CastOp>(withElement(b.typeOf(x), element), x, attributes));
}

void castTo(NodeImporter &n, GraphBuilder &b) {
  auto to = DataType(n.requireInt("to"));
  Type element = elementType(to, b.context());
  if (!element)
    return n.unsupported("nx does not have element type " + nameOf(to));
  convert(n, b, n.input(0), element);
}

void castLike(NodeImporter &n, GraphBuilder &b) {
  if (Value like = n.input(1))
    convert(n, b, n.input(0), b.elementOf(like));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// x of float type and a way to make constants beside it.
struct Activation {
  NodeImporter &n;
  GraphBuilder &b;
  Value x = n.input(0);
  Value constant(double value) { return x ? b.scalar(b.elementOf(x), value) : Value(); }
  Value zero() { return constant(0); }
};

void leakyRelu(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<LeakyReluOp>(n.input(0), b.f64("alpha", n.getFloat("alpha", 0.01))));
}
void elu(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<EluOp>(n.input(0), b.f64("alpha", n.getFloat("alpha", 1))));
}
void hardSigmoid(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<HardSigmoidOp>(
      n.input(0), {b.f64("alpha", n.getFloat("alpha", 0.2)), b.f64("beta", n.getFloat("beta", 0.5))}));
}
void hardSwish(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  n.result(b.emit<MulOp>({x, b.emit<HardSigmoidOp>(x, {b.f64("alpha", 1.0 / 6), b.f64("beta", 0.5)})}));
}
void prelu(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  Value scaled = b.emit<MulOp>({a.x, n.input(1)});
  n.result(b.emit<SelectOp>({b.compare(ComparePredicate::lt, a.x, a.zero()), scaled, a.x}));
}
void selu(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  double alpha = n.getFloat("alpha", 1.67326319217681884765625), gamma = n.getFloat("gamma", 1.05070102214813232421875);
  n.result(b.emit<MulOp>({b.emit<EluOp>(a.x, b.f64("alpha", alpha)), a.constant(gamma)}));
}
void celu(NodeImporter &n, GraphBuilder &b) {
  // max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) = alpha * elu(x / alpha), for alpha > 0
  Activation a{n, b};
  double alpha = n.getFloat("alpha", 1);
  Value scaled = b.emit<DivOp>({a.x, a.constant(alpha)});
  n.result(b.emit<MulOp>({b.emit<EluOp>(scaled, b.f64("alpha", 1)), a.constant(alpha)}));
}
void thresholdedRelu(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  Value above = b.compare(ComparePredicate::gt, a.x, a.constant(n.getFloat("alpha", 1)));
  n.result(b.emit<SelectOp>({above, a.x, a.zero()}));
}
void shrink(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  double lambd = n.getFloat("lambd", 0.5), bias = n.getFloat("bias", 0);
  Value low = b.compare(ComparePredicate::lt, a.x, a.constant(-lambd));
  Value high = b.compare(ComparePredicate::gt, a.x, a.constant(lambd));
  Value up = b.emit<AddOp>({a.x, a.constant(bias)}), down = b.emit<SubOp>({a.x, a.constant(bias)});
  n.result(b.emit<SelectOp>({low, up, b.emit<SelectOp>({high, down, a.zero()})}));
}
void softsign(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  n.result(b.emit<DivOp>({a.x, b.emit<AddOp>({b.emit<AbsOp>(a.x), a.constant(1)})}));
}
void mish(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  n.result(b.emit<MulOp>({x, b.emit<TanhOp>(b.emit<SoftplusOp>(x))}));
}
void swish(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  double alpha = n.getFloat("alpha", 1);
  if (alpha == 1)
    return n.result(b.emit<SiluOp>(a.x));
  n.result(b.emit<MulOp>({a.x, b.emit<SigmoidOp>(b.emit<MulOp>({a.x, a.constant(alpha)}))}));
}
void gelu(NodeImporter &n, GraphBuilder &b) {
  StringRef approximate = n.getString("approximate", "none");
  if (approximate == "tanh")
    return n.result(b.emit<GeluOp>(n.input(0), b.flag("tanh")));
  if (approximate != "none") {
    n.error() << "approximate '" << approximate << "' is neither none nor tanh";
    return;
  }
  n.result(b.emit<GeluOp>(n.input(0)));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

void clip(NodeImporter &n, GraphBuilder &b) {
  Activation a{n, b};
  Value low, high;
  if (n.opset() < 11) {
    low = n.hasAttr("min") ? a.constant(n.getFloat("min", 0)) : Value();
    high = n.hasAttr("max") ? a.constant(n.getFloat("max", 0)) : Value();
  } else {
    low = n.optionalInput(1), high = n.optionalInput(2);
  }
  Value x = a.x;
  if (low)
    x = b.emit<MaxOp>({x, low});
  if (high)
    x = b.emit<MinOp>({x, high});
  n.result(x);
}

void isInf(NodeImporter &n, GraphBuilder &b) {
  bool negative = n.getInt("detect_negative", 1), positive = n.getInt("detect_positive", 1);
  n.result(b.emit<IsInfOp>(n.input(0), {b.attr("positive", b.builder.getBoolAttr(positive)),
                                        b.attr("negative", b.builder.getBoolAttr(negative))}));
}

void dropout(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), training = n.opset() >= 12 ? n.optionalInput(2) : Value();
  if (!x)
    return;
  Type i1 = b.builder.getI1Type(), element = b.elementOf(x);
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  auto everywhere = [&] { return b.broadcast(b.scalar(i1, 1), dims); };
  std::optional<SmallVector<int64_t>> known = training ? knownInts(training) : std::nullopt;
  if (!training || (known && known->size() == 1 && !known->front())) {
    n.ignoreAttrs({"ratio", "seed"}); // of training
    return n.results({x, n.hasOutput(1) ? everywhere() : Value()});
  }
  // Some elements become 0, the others grow by as much.
  Type wide = element.isF64() ? element : Type(b.builder.getF32Type());
  Value ratio = n.optionalInput(1);
  ratio = ratio ? b.cast(b.reshape(ratio, {}), wide) : b.scalar(wide, 0.5);
  Value keep = b.compare(ComparePredicate::ge, randomUniform(b, dims, n.seed(), wide), ratio);
  Value scale = b.div(b.scalar(wide, 1), b.sub(b.scalar(wide, 1), ratio));
  Value dropped = b.select(keep, b.cast(b.mul(b.cast(x, wide), scale), element), b.scalar(element, 0));
  if (!known) {
    Value isTraining = b.reshape(training, {});
    dropped = b.select(isTraining, dropped, x);
    keep = b.select(isTraining, keep, b.scalar(i1, 1));
  }
  n.results({dropped, n.hasOutput(1) ? keep : Value()});
}

void bitCast(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  auto to = DataType(n.requireInt("to"));
  Type element = elementType(to, b.context());
  if (!element)
    return n.unsupported("nx does not have element type " + nameOf(to));
  if (x)
    n.result(b.emitAs<BitcastOp>(withElement(b.typeOf(x), element), x));
}

void swiGlu(NodeImporter &n, GraphBuilder &b) {
  Value gate = n.input(0), linear = n.input(1);
  double alpha = n.getFloat("alpha", 1);
  Value swished = alpha == 1 ? b.emit<SiluOp>(gate) : b.mul(gate, b.emit<SigmoidOp>(b.mul(gate, alpha)));
  n.result(b.mul(swished, linear));
}

const OperatorRow kOperators[] = {
    {"Abs", 6, kLatest, unary<AbsOp>},
    {"Acos", 7, kLatest, unary<AcosOp>},
    {"Acosh", 9, kLatest, unary<AcoshOp>},
    {"Add", 7, kLatest, binary<AddOp>},
    {"And", 7, kLatest, binary<AndOp>},
    {"Asin", 7, kLatest, unary<AsinOp>},
    {"Asinh", 9, kLatest, unary<AsinhOp>},
    {"Atan", 7, kLatest, unary<AtanOp>},
    {"Atanh", 9, kLatest, unary<AtanhOp>},
    {"BitCast", 26, kLatest, bitCast},
    {"BitShift", 11, kLatest, bitShift},
    {"BitwiseAnd", 18, kLatest, binary<AndOp>},
    {"BitwiseNot", 18, kLatest, unary<NotOp>},
    {"BitwiseOr", 18, kLatest, binary<OrOp>},
    {"BitwiseXor", 18, kLatest, binary<XorOp>},
    {"Cast", 6, kLatest, castTo},
    {"CastLike", 15, kLatest, castLike},
    {"Ceil", 6, kLatest, unary<CeilOp>},
    {"Celu", 12, kLatest, celu},
    {"Clip", 6, kLatest, clip},
    {"Cos", 7, kLatest, unary<CosOp>},
    {"Cosh", 9, kLatest, unary<CoshOp>},
    {"Div", 7, kLatest, binary<DivOp>},
    {"Dropout", 7, kLatest, dropout},
    {"Elu", 6, kLatest, elu},
    {"Equal", 7, kLatest, compare<ComparePredicate::eq>},
    {"Erf", 9, kLatest, unary<ErfOp>},
    {"Exp", 6, kLatest, unary<ExpOp>},
    {"Floor", 6, kLatest, unary<FloorOp>},
    {"Gelu", 20, kLatest, gelu},
    {"Greater", 7, kLatest, compare<ComparePredicate::gt>},
    {"GreaterOrEqual", 12, kLatest, compare<ComparePredicate::ge>},
    {"HardSigmoid", 6, kLatest, hardSigmoid},
    {"HardSwish", 14, kLatest, hardSwish},
    {"Identity", 1, kLatest, identity},
    {"IsInf", 10, kLatest, isInf},
    {"IsNaN", 9, kLatest, unary<IsNanOp>},
    {"LeakyRelu", 6, kLatest, leakyRelu},
    {"Less", 7, kLatest, compare<ComparePredicate::lt>},
    {"LessOrEqual", 12, kLatest, compare<ComparePredicate::le>},
    {"Log", 6, kLatest, unary<LogOp>},
    {"Max", 6, kLatest, variadic<MaxOp>},
    {"Mean", 6, kLatest, mean},
    {"Min", 6, kLatest, variadic<MinOp>},
    {"Mish", 18, kLatest, mish},
    {"Mod", 10, kLatest, mod},
    {"Mul", 7, kLatest, binary<MulOp>},
    {"Neg", 6, kLatest, unary<NegOp>},
    {"Not", 1, kLatest, unary<NotOp>},
    {"Or", 7, kLatest, binary<OrOp>},
    {"PRelu", 7, kLatest, prelu},
    {"Pow", 7, kLatest, binary<PowOp>},
    {"Reciprocal", 6, kLatest, unary<ReciprocalOp>},
    {"Relu", 6, kLatest, unary<ReluOp>},
    {"Round", 11, kLatest, unary<RoundOp>},
    {"Selu", 6, kLatest, selu},
    {"Shrink", 9, kLatest, shrink},
    {"Sigmoid", 6, kLatest, unary<SigmoidOp>},
    {"Sign", 9, kLatest, unary<SignOp>},
    {"Sin", 7, kLatest, unary<SinOp>},
    {"Sinh", 9, kLatest, unary<SinhOp>},
    {"Softplus", 1, kLatest, unary<SoftplusOp>},
    {"Softsign", 1, kLatest, softsign},
    {"Sqrt", 6, kLatest, unary<SqrtOp>},
    {"Sub", 7, kLatest, binary<SubOp>},
    {"Sum", 6, kLatest, variadic<AddOp>},
    {"SwiGLU", 28, kLatest, swiGlu},
    {"Swish", 24, kLatest, swish},
    {"Tan", 7, kLatest, unary<TanOp>},
    {"Tanh", 6, kLatest, unary<TanhOp>},
    {"ThresholdedRelu", 10, kLatest, thresholdedRelu},
    {"Where", 9, kLatest, where},
    {"Xor", 7, kLatest, binary<XorOp>},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::elementwiseOperators() { return kOperators; }
