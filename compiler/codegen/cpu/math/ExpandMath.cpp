#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "compiler/codegen/cpu/math/Functions.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
namespace fn = nx::math_functions;
using nx::FloatBuilder;
using nx::Num;

namespace {

bool isSmallFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}
Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}
Value widen(OpBuilder &b, Location loc, Value v, Type element) {
  return arith::ExtFOp::create(b, loc, withElement(v.getType(), element), v);
}
Value narrow(OpBuilder &b, Location loc, Value v, Type type) {
  return arith::TruncFOp::create(b, loc, type, v);
}

// An op on 16-bit floats, done in f32.
template <typename Op> LogicalResult computeInF32(Op op, PatternRewriter &b) {
  Location loc = op.getLoc();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(widen(b, loc, operand, b.getF32Type()));
  Value y = Op::create(b, loc, TypeRange{withElement(op.getType(), b.getF32Type())}, operands);
  b.replaceOp(op, narrow(b, loc, y, op.getType()));
  return success();
}

// What is an instruction for f32 and f64.
template <typename Op> struct Widen : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    if (!isSmallFloat(op.getType()))
      return b.notifyMatchFailure(op, "no 16-bit float");
    return computeInF32(op, b);
  }
};

// f(x) or f(x, y) for one op. f32 has a formula of its own or goes through f64; f16 and bf16
// compute in f32.
template <typename Op, int numOperands> struct Expand : OpRewritePattern<Op> {
  using Formula = std::function<Num(ArrayRef<Num>, bool forSingle)>;
  Expand(MLIRContext *context, Formula wide, Formula single)
      : OpRewritePattern<Op>(context), wide(std::move(wide)), single(std::move(single)) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    Location loc = op.getLoc();
    if (isSmallFloat(type))
      return computeInF32(op, b);
    if (!element.isF32() && !element.isF64())
      return b.notifyMatchFailure(op, "not a float type that kernels compute in");
    bool through = element.isF32() && !single;
    FloatBuilder m(b, loc, through ? withElement(type, b.getF64Type()) : type);
    SmallVector<Num> operands;
    for (Value operand : op->getOperands())
      operands.push_back(m.num(through ? widen(b, loc, operand, b.getF64Type()) : operand));
    bool useSingle = element.isF32() && single;
    Value y = (useSingle ? single : wide)(operands, through).v;
    b.replaceOp(op, through ? narrow(b, loc, y, type) : y);
    return success();
  }

  Formula wide, single;
};

// Whether f32 has a formula of its own, or goes through f64.
enum Single { Own, Through };

template <typename Op>
void addUnary(RewritePatternSet &patterns, Num (*formula)(Num), Single single) {
  typename Expand<Op, 1>::Formula call = [formula](ArrayRef<Num> x, bool) { return formula(x[0]); };
  patterns.add<Expand<Op, 1>>(patterns.getContext(), call, single == Own ? call : nullptr);
}

template <typename Op>
void addTrigonometric(RewritePatternSet &patterns, Num (*formula)(Num, bool)) {
  typename Expand<Op, 1>::Formula call = [formula](ArrayRef<Num> x, bool forSingle) {
    return formula(x[0], forSingle);
  };
  patterns.add<Expand<Op, 1>>(patterns.getContext(), call, nullptr);
}

// x^2 and its like, before pow sees them.
struct PowOfConstant : OpRewritePattern<math::PowFOp> {
  PowOfConstant(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(math::PowFOp op, PatternRewriter &b) const override {
    APFloat exponent(0.0);
    if (!matchPattern(op.getRhs(), m_ConstantFloat(&exponent)))
      return b.notifyMatchFailure(op, "the exponent is not constant");
    Value x = op.getLhs();
    Location loc = op.getLoc();
    auto square = [&](Value v) -> Value { return arith::MulFOp::create(b, loc, v, v); };
    if (exponent.isExactlyValue(1.0))
      b.replaceOp(op, x);
    else if (exponent.isExactlyValue(2.0))
      b.replaceOp(op, square(x));
    else if (exponent.isExactlyValue(3.0))
      b.replaceOpWithNewOp<arith::MulFOp>(op, square(x), x);
    else if (exponent.isExactlyValue(4.0))
      b.replaceOp(op, square(square(x)));
    else
      return b.notifyMatchFailure(op, "not a small power");
    return success();
  }
};

// bf16 is the upper half of f32.
struct WidenBf16 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &b) const override {
    Type to = op.getType(), from = op.getIn().getType();
    Location loc = op.getLoc();
    if (!isSmallFloat(from))
      return b.notifyMatchFailure(op, "not from a 16-bit float");
    if (!getElementTypeOrSelf(to).isF32()) {
      // In two steps: no machine has the one, and both are exact.
      b.replaceOpWithNewOp<arith::ExtFOp>(op, to, widen(b, loc, op.getIn(), b.getF32Type()));
      return success();
    }
    if (!getElementTypeOrSelf(from).isBF16())
      return b.notifyMatchFailure(op, "f16 has instructions");
    Type i32 = withElement(to, b.getI32Type());
    Value bits = arith::BitcastOp::create(b, loc, withElement(from, b.getI16Type()), op.getIn());
    Value wide = arith::ExtUIOp::create(b, loc, i32, bits);
    FloatBuilder m(b, loc, to);
    b.replaceOp(op, m.fromBits(m.shiftLeft(wide, 16)).v);
    return success();
  }
};

// To the nearest, ties to even; NaN stays NaN.
struct NarrowToBf16 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &b) const override {
    Type to = op.getType(), from = op.getIn().getType();
    Location loc = op.getLoc();
    if (!isSmallFloat(to) || op.getRoundingmodeAttr())
      return b.notifyMatchFailure(op, "not to a 16-bit float");
    if (getElementTypeOrSelf(from).isF64()) {
      // By way of f32, rounded to odd: then the second rounding sees what the first one dropped.
      FloatBuilder wide(b, loc, from);
      Type f32 = withElement(from, b.getF32Type());
      FloatBuilder m(b, loc, f32);
      Num x = wide.num(op.getIn());
      Num near = m.num(narrow(b, loc, x.v, f32));
      Num back = wide.num(widen(b, loc, near.v, b.getF64Type()));
      Value bits = m.bits(near);
      // Towards zero, then the lowest bit set.
      Value away = wide.less(wide.abs(x), wide.abs(back));
      Value toZero = m.make<arith::SelectOp>(away, m.subInt(bits, m.integer(1)), bits);
      Value odd = m.make<arith::OrIOp>(toZero, m.integer(1));
      Value inexact = wide.compare(FloatBuilder::Predicate::ONE, x, back);
      Num rounded = m.select(inexact, m.fromBits(odd), near);
      b.replaceOpWithNewOp<arith::TruncFOp>(op, to, rounded.v);
      return success();
    }
    if (!getElementTypeOrSelf(to).isBF16() || !getElementTypeOrSelf(from).isF32())
      return b.notifyMatchFailure(op, "f16 has instructions");
    FloatBuilder m(b, loc, from);
    Num x = m.num(op.getIn());
    Value bits = m.bits(x);
    Value odd = m.andInt(m.shiftRight(bits, 16), m.integer(1));
    Value rounded = m.addInt(m.addInt(bits, m.integer(0x7FFF)), odd);
    Value quiet = m.make<arith::OrIOp>(bits, m.integer(0x400000));
    Value chosen = m.make<arith::SelectOp>(m.isNan(x), quiet, rounded);
    Value half =
        arith::TruncIOp::create(b, loc, withElement(to, b.getI16Type()), m.shiftRight(chosen, 16));
    b.replaceOpWithNewOp<arith::BitcastOp>(op, to, half);
    return success();
  }
};

// Integers to and from 16-bit floats by way of f32.
template <typename Op> struct ConvertThroughF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &b) const override {
    Location loc = op.getLoc();
    if (isSmallFloat(op.getType())) {
      Value y = Op::create(b, loc, withElement(op.getType(), b.getF32Type()), op.getIn());
      b.replaceOp(op, narrow(b, loc, y, op.getType()));
      return success();
    }
    if (isSmallFloat(op.getIn().getType())) {
      b.replaceOpWithNewOp<Op>(op, op.getType(), widen(b, loc, op.getIn(), b.getF32Type()));
      return success();
    }
    return b.notifyMatchFailure(op, "no 16-bit float");
  }
};

struct SplitSincos : OpRewritePattern<math::SincosOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::SincosOp op, PatternRewriter &b) const override {
    Value x = op.getOperand();
    Value s = math::SinOp::create(b, op.getLoc(), x), c = math::CosOp::create(b, op.getLoc(), x);
    b.replaceOp(op, {s, c});
    return success();
  }
};

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  StringRef getArgument() const override { return "nx-expand-math"; }
  StringRef getDescription() const override {
    return "Expand math ops into arithmetic on f32 and f64, and conversions of 16-bit floats";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    nx::populateExpandMathPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void nx::populateExpandMathPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  addUnary<math::ExpOp>(patterns, fn::exp, Own);
  addUnary<math::Exp2Op>(patterns, fn::exp2, Own);
  addUnary<math::ExpM1Op>(patterns, fn::expm1, Own);
  addUnary<math::LogOp>(patterns, fn::log, Own);
  addUnary<math::Log2Op>(patterns, fn::log2, Own);
  addUnary<math::Log1pOp>(patterns, fn::log1p, Own);
  addUnary<math::Log10Op>(patterns, fn::log10, Through);
  addUnary<math::AsinOp>(patterns, fn::asin, Own);
  addUnary<math::AcosOp>(patterns, fn::acos, Own);
  addUnary<math::AtanOp>(patterns, fn::atan, Own);
  addUnary<math::RsqrtOp>(patterns, fn::rsqrt, Own);
  addUnary<math::RoundOp>(patterns, fn::round, Own);
  addUnary<math::SinhOp>(patterns, fn::sinh, Through);
  addUnary<math::CoshOp>(patterns, fn::cosh, Through);
  addUnary<math::TanhOp>(patterns, fn::tanh, Through);
  addUnary<math::AsinhOp>(patterns, fn::asinh, Through);
  addUnary<math::AcoshOp>(patterns, fn::acosh, Through);
  addUnary<math::AtanhOp>(patterns, fn::atanh, Through);
  patterns.add<Expand<math::ErfOp, 1>>(
      context, [](ArrayRef<Num> x, bool) { return fn::erf(x[0]); },
      [](ArrayRef<Num> x, bool) { return fn::erfSingle(x[0]); });
  addUnary<math::ErfcOp>(patterns, fn::erfc, Through);
  addUnary<math::CbrtOp>(patterns, fn::cbrt, Through);
  addTrigonometric<math::SinOp>(patterns, fn::sin);
  addTrigonometric<math::CosOp>(patterns, fn::cos);
  addTrigonometric<math::TanOp>(patterns, fn::tan);
  patterns.add<Expand<math::Atan2Op, 2>>(
      context, [](ArrayRef<Num> x, bool) { return fn::atan2(x[0], x[1]); }, nullptr);
  patterns.add<Expand<math::PowFOp, 2>>(
      context, [](ArrayRef<Num> x, bool forSingle) { return fn::pow(x[0], x[1], forSingle); },
      nullptr);
  Expand<arith::RemFOp, 2>::Formula remainder = [](ArrayRef<Num> x, bool) {
    return fn::remainder(x[0], x[1]);
  };
  patterns.add<Expand<arith::RemFOp, 2>>(context, remainder, remainder);
  // Upstream's f32 form of this is quick and good enough; it wins over the one above.
  populateMathPolynomialApproximationPatterns(
      patterns, [](StringRef name) { return name == math::TanhOp::getOperationName(); },
      /*benefit=*/2);
  patterns.add<Widen<math::AbsFOp>, Widen<math::SqrtOp>, Widen<math::FloorOp>, Widen<math::CeilOp>,
               Widen<math::TruncOp>, Widen<math::RoundEvenOp>, Widen<math::CopySignOp>,
               Widen<math::FmaOp>>(context);
  patterns.add<PowOfConstant, SplitSincos, WidenBf16, NarrowToBf16,
               ConvertThroughF32<arith::SIToFPOp>, ConvertThroughF32<arith::UIToFPOp>,
               ConvertThroughF32<arith::FPToSIOp>, ConvertThroughF32<arith::FPToUIOp>>(context);
  math::populateExpansionPatterns(patterns, {"clampf", "fpowi"});
}

std::unique_ptr<Pass> nx::createExpandMathPass() { return std::make_unique<ExpandMathPass>(); }

void nx::addMathPasses(OpPassManager &pm) {
  // Arithmetic on 16-bit floats is done in f32.
  arith::ArithEmulateUnsupportedFloatsOptions options;
  options.sourceTypeStrs = {"bf16", "f16"};
  options.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(options));
  pm.addPass(createExpandMathPass());
}

void nx::registerMathPasses() { PassRegistration<ExpandMathPass>(); }
