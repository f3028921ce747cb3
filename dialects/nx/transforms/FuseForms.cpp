//===- FuseForms.cpp - Decomposed operations back to one ------------------===//
//
// Exporters write gelu, norms, softmax and attention in elementary operations, each in its own way.
// The patterns look for the formula: products and sums are matched in any order and grouping, and
// constants by value. A form is fused only when its intermediate values have no other use, so that
// nothing is computed twice.
//
//===----------------------------------------------------------------------===//

#include "dialects/nx/transforms/EvaluateSmall.h"
#include "dialects/nx/transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

using namespace mlir;

namespace nx {
#define GEN_PASS_DEF_NXFUSEFORMS
#include "dialects/nx/transforms/Passes.h.inc"
} // namespace nx

using namespace nx;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Matchers
//===----------------------------------------------------------------------===//

/// The number that every element of `value` is.
std::optional<double> uniformValue(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || !elements.isSplat() || !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// True when `value` is `wanted`, as far as its element type can hold it.
bool isAbout(std::optional<double> value, double wanted, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  double tolerance = bits >= 32 ? 1e-5 : 1e-2;
  return value && std::fabs(*value - wanted) <= tolerance * std::fabs(wanted);
}
bool isUniform(Value value, double wanted) {
  return isAbout(uniformValue(value), wanted, typeOf(value).getElementType());
}

/// The defining operation if it is an `OpTy` whose result has one use.
template <typename OpTy> OpTy onlyUse(Value value) {
  auto op = value.getDefiningOp<OpTy>();
  return op && op->hasOneUse() ? op : OpTy();
}

/// A product as a constant times its other factors.
struct Product {
  double constant = 1;
  SmallVector<Value, 4> factors;

  /// The other factors when `factor` is one of them.
  std::optional<SmallVector<Value>> without(Value factor) const {
    SmallVector<Value> rest(factors.begin(), factors.end());
    auto *it = llvm::find(rest, factor);
    if (it == rest.end())
      return std::nullopt;
    rest.erase(it);
    return rest;
  }
};

/// Adds the factors of `value`. The product itself may have other uses if `isRoot`.
void collectFactors(Value value, Product &product, bool isRoot) {
  if (std::optional<double> constant = uniformValue(value)) {
    product.constant *= *constant;
    return;
  }
  auto mul = isRoot ? value.getDefiningOp<MulOp>() : onlyUse<MulOp>(value);
  if (mul) {
    collectFactors(mul.getLhs(), product, false);
    collectFactors(mul.getRhs(), product, false);
    return;
  }
  auto div = isRoot ? value.getDefiningOp<DivOp>() : onlyUse<DivOp>(value);
  if (std::optional<double> divisor = div ? uniformValue(div.getRhs()) : std::nullopt; divisor && *divisor != 0) {
    product.constant /= *divisor;
    collectFactors(div.getLhs(), product, false);
    return;
  }
  auto pow = isRoot ? value.getDefiningOp<PowOp>() : onlyUse<PowOp>(value);
  if (pow)
    for (int exponent : {2, 3})
      if (isUniform(pow.getRhs(), exponent)) {
        product.factors.append(exponent, pow.getLhs());
        return;
      }
  product.factors.push_back(value);
}
Product productOf(Value value, bool isRoot = false) {
  Product product;
  collectFactors(value, product, isRoot);
  return product;
}

/// The operand of a sum that isn't `constant`; null when there is none.
Value otherSummand(AddOp add, double constant) {
  if (!add)
    return {};
  if (isUniform(add.getRhs(), constant))
    return add.getLhs();
  return isUniform(add.getLhs(), constant) ? add.getRhs() : Value();
}

/// x where value is x * x.
Value squareOf(Value value) {
  Product square = productOf(value);
  return square.constant == 1 && square.factors.size() == 2 && square.factors[0] == square.factors[1]
             ? square.factors[0]
             : Value();
}

/// A reduction whose axes are still there as size 1 (or were broadcast back).
struct Reduced {
  Value x;
  SmallVector<int64_t> axes;
};
std::optional<Reduced> matchReduce(Value value, ReduceKind kind) {
  if (auto broadcast = onlyUse<BroadcastOp>(value))
    value = broadcast.getX();
  RankedTensorType shape = typeOf(value);
  bool reshaped = false;
  if (auto reshape = onlyUse<ReshapeOp>(value)) {
    value = reshape.getX();
    reshaped = true;
  }
  // max(-inf, x) is x: some exporters start a maximum there.
  if (auto max = onlyUse<MaxOp>(value); max && kind == ReduceKind::max) {
    std::optional<double> low = uniformValue(max.getLhs());
    bool first = low.has_value();
    if (!first)
      low = uniformValue(max.getRhs());
    if (low && std::isinf(*low) && *low < 0)
      value = first ? max.getRhs() : max.getLhs();
  }
  auto reduce = onlyUse<ReduceOp>(value);
  if (!reduce || reduce.getKind() != kind || reduce.getKeepDims() == reshaped)
    return std::nullopt;
  // A reshape may only have put the axes back.
  SmallVector<AffineExpr> kept = dimsOf(typeOf(reduce.getX()));
  for (int64_t axis : reduce.getAxes())
    kept[axis] = getAffineConstantExpr(1, reduce.getContext());
  if (reshaped && tensorOf(kept, shape.getElementType()) != shape)
    return std::nullopt;
  return Reduced{reduce.getX(), SmallVector<int64_t>(reduce.getAxes())};
}

/// The first of the axes if they are the last dimensions of a tensor of this rank.
std::optional<int64_t> trailingAxis(ArrayRef<int64_t> axes, int64_t rank) {
  if (axes.empty() || axes.front() + int64_t(axes.size()) != rank || axes.back() != rank - 1)
    return std::nullopt;
  return axes.front();
}

/// `root` as `numerator / sqrt(v)`, in any spelling.
struct OverRoot {
  Value numerator, v;
};
std::optional<OverRoot> matchOverRoot(Operation *root) {
  if (auto div = dyn_cast<DivOp>(root)) {
    if (auto sqrt = onlyUse<SqrtOp>(div.getRhs()))
      return OverRoot{div.getLhs(), sqrt.getX()};
    if (auto pow = onlyUse<PowOp>(div.getRhs()); pow && isUniform(pow.getRhs(), 0.5))
      return OverRoot{div.getLhs(), pow.getLhs()};
    return std::nullopt;
  }
  auto mul = dyn_cast<MulOp>(root);
  if (!mul)
    return std::nullopt;
  for (auto [x, inverse] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())}) {
    if (auto rsqrt = onlyUse<RsqrtOp>(inverse))
      return OverRoot{x, rsqrt.getX()};
    if (auto pow = onlyUse<PowOp>(inverse); pow && isUniform(pow.getRhs(), -0.5))
      return OverRoot{x, pow.getLhs()};
    Value denominator;
    if (auto reciprocal = onlyUse<ReciprocalOp>(inverse))
      denominator = reciprocal.getX();
    else if (auto div = onlyUse<DivOp>(inverse); div && isUniform(div.getLhs(), 1))
      denominator = div.getRhs();
    if (auto sqrt = denominator ? onlyUse<SqrtOp>(denominator) : SqrtOp())
      return OverRoot{x, sqrt.getX()};
  }
  return std::nullopt;
}

/// v = x + epsilon with a small positive constant.
struct PlusEpsilon {
  Value x;
  double epsilon;
};
std::optional<PlusEpsilon> matchPlusEpsilon(Value v) {
  auto add = onlyUse<AddOp>(v);
  if (!add)
    return std::nullopt;
  for (auto [x, constant] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())})
    if (std::optional<double> epsilon = uniformValue(constant); epsilon && *epsilon >= 0 && *epsilon < 0.1)
      return PlusEpsilon{x, *epsilon};
  return std::nullopt;
}

/// True when both are the same subtraction.
bool isSameDifference(SubOp a, SubOp b) { return a && b && a.getLhs() == b.getLhs() && a.getRhs() == b.getRhs(); }

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// x * (1 + erf(x / sqrt(2))) / 2, or the form with tanh.
struct FuseGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    Type element = op.getType().getElementType();
    Product product = productOf(op.getResult(), /*isRoot=*/true);
    if (product.factors.size() != 2 || !isAbout(product.constant, 0.5, element))
      return rewriter.notifyMatchFailure(op, "not half of two factors");
    for (auto [x, other] : {std::pair(product.factors[0], product.factors[1]),
                            std::pair(product.factors[1], product.factors[0])}) {
      Value function = otherSummand(onlyUse<AddOp>(other), 1);
      if (!function || x.getType() != op.getType())
        continue;
      bool isTanh = false;
      if (auto erf = onlyUse<ErfOp>(function)) {
        Product argument = productOf(erf.getX());
        if (argument.factors.size() != 1 || argument.factors[0] != x || !isAbout(argument.constant, M_SQRT1_2, element))
          continue;
      } else if (auto tanh = onlyUse<TanhOp>(function)) {
        if (!isTanhArgument(tanh.getX(), x, element))
          continue;
        isTanh = true;
      } else {
        continue;
      }
      rewriter.replaceOpWithNewOp<GeluOp>(op, op.getType(), x, isTanh ? rewriter.getUnitAttr() : UnitAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not a gelu");
  }

  /// sqrt(2/pi) * (x + 0.044715 x^3), also with x factored out.
  static bool isTanhArgument(Value value, Value x, Type element) {
    constexpr double cubic = 0.044715;
    Product argument = productOf(value);
    if (!isAbout(argument.constant, std::sqrt(2 / M_PI), element))
      return false;
    if (argument.factors.size() == 1) {
      auto add = onlyUse<AddOp>(argument.factors[0]);
      if (!add)
        return false;
      for (auto [linear, rest] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
        Product cube = productOf(rest);
        if (linear == x && isAbout(cube.constant, cubic, element) && cube.factors == SmallVector<Value, 4>{x, x, x})
          return true;
      }
      return false;
    }
    std::optional<SmallVector<Value>> rest = argument.without(x);
    if (!rest || rest->size() != 1)
      return false;
    Value square = otherSummand(onlyUse<AddOp>(rest->front()), 1);
    if (!square)
      return false;
    Product quadratic = productOf(square);
    return isAbout(quadratic.constant, cubic, element) && quadratic.factors == SmallVector<Value, 4>{x, x};
  }
};

/// x * sigmoid(x)
struct FuseSilu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [x, gate] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (auto sigmoid = onlyUse<SigmoidOp>(gate); sigmoid && sigmoid.getX() == x) {
        rewriter.replaceOpWithNewOp<SiluOp>(op, op.getType(), x);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "not x * sigmoid(x)");
  }
};

/// pow with a small whole exponent: products are exact to the last bit or two, and far cheaper.
struct PowToProduct : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    std::optional<double> exponent = uniformValue(op.getRhs());
    Value x = op.getLhs();
    if (!exponent || x.getType() != op.getType() || !isa<FloatType>(op.getType().getElementType()))
      return rewriter.notifyMatchFailure(op, "exponent is not constant");
    auto square = [&] { return MulOp::create(rewriter, op.getLoc(), op.getType(), x, x); };
    if (*exponent == 1)
      rewriter.replaceOp(op, x);
    else if (*exponent == 2)
      rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), x, x);
    else if (*exponent == 3)
      rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), square(), x);
    else if (*exponent == 0.5)
      rewriter.replaceOpWithNewOp<SqrtOp>(op, op.getType(), x);
    else if (*exponent == -1)
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getType(), x);
    else
      return rewriter.notifyMatchFailure(op, "exponent has no short form");
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

/// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), or x / sqrt(mean(x^2) + epsilon).
template <typename RootOp> struct FuseNorm : OpRewritePattern<RootOp> {
  using OpRewritePattern<RootOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(RootOp op, PatternRewriter &rewriter) const override {
    std::optional<OverRoot> overRoot = matchOverRoot(op);
    std::optional<PlusEpsilon> sum = overRoot ? matchPlusEpsilon(overRoot->v) : std::nullopt;
    std::optional<Reduced> variance = sum ? matchReduce(sum->x, ReduceKind::mean) : std::nullopt;
    if (!variance)
      return rewriter.notifyMatchFailure(op, "not x / sqrt(mean(..) + epsilon)");
    Value numerator = overRoot->numerator, base = squareOf(variance->x);
    std::optional<int64_t> axis = trailingAxis(variance->axes, typeOf(variance->x).getRank());
    if (!base || !axis || numerator.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not the mean of squares over the last dimensions");
    IntegerAttr axisAttr = rewriter.getI64IntegerAttr(*axis);
    FloatAttr epsilon = rewriter.getF64FloatAttr(sum->epsilon);

    auto centred = numerator.getDefiningOp<SubOp>(), squared = base.getDefiningOp<SubOp>();
    if (numerator == base || isSameDifference(centred, squared))
      if (Value x = centredValue(centred, *axis); x && usedOnlyBy(numerator, op, variance->x)) {
        rewriter.replaceOpWithNewOp<LayerNormOp>(op, op.getType(), x, Value(), Value(), axisAttr, epsilon);
        return success();
      }
    if (numerator != base)
      return rewriter.notifyMatchFailure(op, "another value is divided");
    rewriter.replaceOpWithNewOp<RmsNormOp>(op, op.getType(), base, Value(), axisAttr, epsilon);
    return success();
  }

  /// True when nothing but the root and the square uses the difference.
  static bool usedOnlyBy(Value difference, Operation *root, Value square) {
    return llvm::all_of(difference.getUsers(), [&](Operation *user) {
      return user == root || user == square.getDefiningOp();
    });
  }

  /// x of `x - mean(x)` over the dimensions from `axis` on. The difference may have several uses,
  /// which are all in the form.
  static Value centredValue(SubOp sub, int64_t axis) {
    if (!sub)
      return {};
    Value mean = sub.getRhs();
    while (auto broadcast = mean.getDefiningOp<BroadcastOp>())
      mean = broadcast.getX();
    auto reduce = mean.getDefiningOp<ReduceOp>();
    if (!reduce || reduce.getKind() != ReduceKind::mean || reduce.getX() != sub.getLhs() || !reduce.getKeepDims() ||
        trailingAxis(reduce.getAxes(), typeOf(reduce.getX()).getRank()) != axis)
      return {};
    return sub.getLhs();
  }
};

/// `value` as a parameter of a norm over the dimensions of `type` from `axis` on; null when it
/// varies over the others.
Value normParameter(PatternRewriter &rewriter, Location loc, Value value, RankedTensorType type, int64_t axis) {
  SmallVector<AffineExpr> dims = dimsOf(typeOf(value));
  int64_t extra = int64_t(dims.size()) - (type.getRank() - axis);
  for (int64_t i = 0; i < extra; ++i)
    if (constantOf(dims[i]) != 1)
      return {};
  if (extra <= 0)
    return value;
  RankedTensorType last = withDims(typeOf(value), ArrayRef(dims).drop_front(extra));
  return ReshapeOp::create(rewriter, loc, last, value);
}

/// norm * scale becomes the norm's scale, layer_norm + bias its bias.
template <typename NormOp> struct AbsorbScale : OpRewritePattern<MulOp> {
  using OpRewritePattern<MulOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [normal, scale] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto norm = onlyUse<NormOp>(normal);
      if (!norm || norm.getScale() || norm.getType() != op.getType())
        continue;
      if constexpr (std::is_same_v<NormOp, LayerNormOp>)
        if (norm.getBias())
          continue;
      Value parameter = normParameter(rewriter, op.getLoc(), scale, op.getType(), norm.getAxis());
      if (!parameter)
        continue;
      if constexpr (std::is_same_v<NormOp, LayerNormOp>)
        rewriter.replaceOpWithNewOp<LayerNormOp>(op, op.getType(), norm.getX(), parameter, Value(),
                                                 norm.getAxisAttr(), norm.getEpsilonAttr());
      else
        rewriter.replaceOpWithNewOp<RmsNormOp>(op, op.getType(), norm.getX(), parameter, norm.getAxisAttr(),
                                               norm.getEpsilonAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no norm is scaled");
  }
};

struct AbsorbBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [normal, bias] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto norm = onlyUse<LayerNormOp>(normal);
      if (!norm || norm.getBias() || norm.getType() != op.getType())
        continue;
      Value parameter = normParameter(rewriter, op.getLoc(), bias, op.getType(), norm.getAxis());
      if (!parameter)
        continue;
      rewriter.replaceOpWithNewOp<LayerNormOp>(op, op.getType(), norm.getX(), norm.getScale(), parameter,
                                               norm.getAxisAttr(), norm.getEpsilonAttr());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no norm gets a bias");
  }
};

//===----------------------------------------------------------------------===//
// Softmax and attention
//===----------------------------------------------------------------------===//

/// exp(x - max(x)) / sum(exp(x - max(x)))
struct FuseSoftmax : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    auto exp = op.getLhs().getDefiningOp<ExpOp>();
    std::optional<Reduced> sum = matchReduce(op.getRhs(), ReduceKind::sum);
    auto shifted = exp ? onlyUse<SubOp>(exp.getX()) : SubOp();
    if (!shifted || !sum || sum->x != exp.getResult() || sum->axes.size() != 1)
      return rewriter.notifyMatchFailure(op, "not exp(..) / sum(exp(..)) along one axis");
    // The exponential is used by the quotient and the sum, and by nothing else.
    if (std::distance(exp->use_begin(), exp->use_end()) != 2)
      return rewriter.notifyMatchFailure(op, "the exponential has other uses");
    std::optional<Reduced> max = matchReduce(shifted.getRhs(), ReduceKind::max);
    Value x = shifted.getLhs();
    if (!max || max->x != x || max->axes != sum->axes || x.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "the maximum is not of the same axis");
    rewriter.replaceOpWithNewOp<SoftmaxOp>(op, op.getType(), x, rewriter.getI64IntegerAttr(sum->axes[0]), UnitAttr());
    return success();
  }
};

/// Takes constant factors off `value` and multiplies them into `scale`.
Value withoutScale(Value value, double &scale) {
  while (true) {
    if (auto mul = onlyUse<MulOp>(value)) {
      Value rest;
      for (auto [x, factor] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
        if (std::optional<double> constant = uniformValue(factor); constant && !rest && x.getType() == mul.getType()) {
          scale *= *constant;
          rest = x;
        }
      if (!rest)
        return value;
      value = rest;
    } else if (auto div = onlyUse<DivOp>(value)) {
      std::optional<double> divisor = uniformValue(div.getRhs());
      if (!divisor || *divisor == 0 || div.getLhs().getType() != div.getType())
        return value;
      scale /= *divisor;
      value = div.getLhs();
    } else {
      return value;
    }
  }
}

/// `x` with its last two dimensions exchanged, merged with a transpose it comes from.
Value exchangeLast(PatternRewriter &rewriter, Location loc, Value x) {
  int64_t rank = typeOf(x).getRank();
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (auto transpose = x.getDefiningOp<TransposeOp>()) {
    perm.assign(transpose.getPerm().begin(), transpose.getPerm().end());
    x = transpose.getX();
  }
  std::swap(perm[rank - 1], perm[rank - 2]);
  if (llvm::equal(perm, llvm::seq<int64_t>(0, rank)))
    return x;
  return TransposeOp::create(rewriter, loc, x, perm);
}

/// A product whose batch dimensions are merged before and split again behind: the product as it was.
struct SplitBatch : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto product = onlyUse<MatmulOp>(op.getX());
    if (!product || product.getType().getRank() != 3)
      return rewriter.notifyMatchFailure(op, "no product with one batch dimension");
    SmallVector<AffineExpr> result = dimsOf(op.getType());
    if (result.size() < 4)
      return rewriter.notifyMatchFailure(op, "the batch is not split");
    ArrayRef<AffineExpr> batch = ArrayRef(result).drop_back(2);
    SmallVector<Value> operands;
    for (Value operand : product->getOperands()) {
      auto merge = operand.getDefiningOp<ReshapeOp>();
      if (!merge)
        return rewriter.notifyMatchFailure(op, "an operand is not merged");
      SmallVector<AffineExpr> from = dimsOf(merge.getX().getType()), to = dimsOf(merge.getType());
      if (from.size() != result.size() || ArrayRef(from).drop_back(2) != batch ||
          ArrayRef(from).take_back(2) != ArrayRef(to).take_back(2))
        return rewriter.notifyMatchFailure(op, "an operand's batch is another one");
      operands.push_back(merge.getX());
    }
    SmallVector<AffineExpr> whole = dimsOf(product.getType());
    if (ArrayRef(whole).take_back(2) != ArrayRef(result).take_back(2))
      return rewriter.notifyMatchFailure(op, "the matrices change as well");
    auto split = rewriter.replaceOpWithNewOp<MatmulOp>(op, op.getType(), operands[0], operands[1]);
    split.setTransposeLhs(product.getTransposeLhs());
    split.setTransposeRhs(product.getTransposeRhs());
    return success();
  }
};

/// softmax(scale * q k^T + mask) v
struct FuseAttention : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    Value weights = op.getLhs(), v = op.getRhs();
    if (op.getTransposeLhs() || op.getTransposeRhs() || typeOf(v).getRank() != 4 || op.getType().getRank() != 4)
      return rewriter.notifyMatchFailure(op, "not a plain product of rank 4");
    // Weights of queries without keys are NaN; a guard makes them 0. It asks for NaN, or whether all scores
    // are -inf.
    auto guard = onlyUse<SelectOp>(weights);
    auto isNan = guard ? onlyUse<IsNanOp>(guard.getCondition()) : IsNanOp();
    Value allExcluded = guard ? excludedScores(guard.getCondition()) : Value();
    bool asksWeights = isNan && isNan.getX() == guard.getY(), asksScores = bool(allExcluded);
    bool guarded = (asksWeights || asksScores) && isUniform(guard.getX(), 0) && guard.getY().getType() == guard.getType();
    SoftmaxOp softmax = guarded ? guard.getY().getDefiningOp<SoftmaxOp>() : onlyUse<SoftmaxOp>(weights);
    if (softmax && guarded && std::distance(softmax->use_begin(), softmax->use_end()) != (asksWeights ? 2 : 1))
      return rewriter.notifyMatchFailure(op, "the weights have other uses");
    if (softmax && asksScores &&
        (softmax.getX() != allExcluded || std::distance(allExcluded.use_begin(), allExcluded.use_end()) != 2))
      return rewriter.notifyMatchFailure(op, "the scores have other uses");
    if (!softmax || softmax.getLog() || softmax.getAxis() != 3)
      return rewriter.notifyMatchFailure(op, "the left side is not a softmax over the keys");

    Value scores = softmax.getX(), mask;
    bool maskDrops = false; ///< the boolean mask is true where a key is left out
    // A guard is a second use of the scores.
    auto add = asksScores ? scores.getDefiningOp<AddOp>() : onlyUse<AddOp>(scores);
    auto select = asksScores ? scores.getDefiningOp<SelectOp>() : onlyUse<SelectOp>(scores);
    if (add) {
      for (auto [inner, summand] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())})
        if (!mask && isScores(inner) && inner.getType() == add.getType()) {
          scores = inner;
          mask = summand;
        }
      if (!mask)
        return rewriter.notifyMatchFailure(op, "a sum without a product of query and key");
    } else if (select) {
      bool first = isScores(select.getX());
      Value inner = first ? select.getX() : select.getY(), other = first ? select.getY() : select.getX();
      std::optional<double> filled = uniformValue(other);
      // Only -inf leaves a key out for certain; a large number does not where all keys are left out.
      if (!isScores(inner) || inner.getType() != select.getType() || !filled || !(std::isinf(*filled) && *filled < 0))
        return rewriter.notifyMatchFailure(op, "a choice that is no mask");
      scores = inner;
      mask = select.getCondition();
      maskDrops = !first;
    }

    double scale = 1;
    auto product = scores.getDefiningOp<MatmulOp>();
    if (!product || !asksScores || scores != softmax.getX()) {
      scores = withoutScale(scores, scale);
      product = onlyUse<MatmulOp>(scores);
    }
    if (!product || product.getTransposeLhs() || product.getType() != softmax.getType())
      return rewriter.notifyMatchFailure(op, "no product of query and key");
    Value q = withoutScale(product.getLhs(), scale), k = withoutScale(product.getRhs(), scale);
    if (typeOf(q).getRank() != 4 || typeOf(k).getRank() != 4)
      return rewriter.notifyMatchFailure(op, "query or key is not of rank 4");
    for (Value operand : {k, v})
      for (int64_t i : {0, 1})
        if (dimOf(typeOf(operand), i) != dimOf(typeOf(q), i))
          return rewriter.notifyMatchFailure(op, "query, key and value differ in batch or heads");
    if (!constantOf(dimOf(typeOf(q), 1)))
      return rewriter.notifyMatchFailure(op, "the number of heads is symbolic");
    if (mask && typeOf(mask).getRank() > 4)
      return rewriter.notifyMatchFailure(op, "the mask has more dimensions than the scores");
    if (mask && !typeOf(mask).getElementType().isInteger(1) &&
        typeOf(mask).getElementType() != op.getType().getElementType())
      return rewriter.notifyMatchFailure(op, "the mask has another element type");

    if (!product.getTransposeRhs())
      k = exchangeLast(rewriter, op.getLoc(), k);
    while (auto broadcast = mask ? mask.getDefiningOp<BroadcastOp>() : BroadcastOp())
      mask = broadcast.getX();
    if (maskDrops)
      mask = NotOp::create(rewriter, op.getLoc(), mask.getType(), mask);
    rewriter.replaceOpWithNewOp<AttentionOp>(op, op.getType(), q, k, v, mask, rewriter.getF64FloatAttr(scale), DimsAttr(),
                                             guarded ? rewriter.getUnitAttr() : UnitAttr());
    return success();
  }

  /// The scores of which a condition says that all of a query's are -inf: not any(not(scores == -inf)).
  static Value excludedScores(Value condition) {
    auto none = onlyUse<NotOp>(condition);
    std::optional<Reduced> any = none ? matchReduce(none.getX(), ReduceKind::max) : std::nullopt;
    auto some = any ? onlyUse<NotOp>(any->x) : NotOp();
    auto equal = some ? onlyUse<CompareOp>(some.getX()) : CompareOp();
    if (!equal || equal.getPredicate() != ComparePredicate::eq || any->axes != SmallVector<int64_t>{3})
      return {};
    std::optional<double> excluded = uniformValue(equal.getRhs());
    return excluded && std::isinf(*excluded) && *excluded < 0 ? equal.getLhs() : Value();
  }

  /// True for a product of two values, scaled or not.
  static bool isScores(Value value) {
    double scale = 1;
    return withoutScale(value, scale).getDefiningOp<MatmulOp>() != nullptr;
  }
};

struct FuseForms : nx::impl::NxFuseFormsBase<FuseForms> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    // First the forms, in terms of pow where the model has it; then what is left of pow.
    RewritePatternSet forms(context);
    forms.add<FuseGelu, FuseSilu, FuseNorm<MulOp>, FuseNorm<DivOp>, AbsorbScale<LayerNormOp>, AbsorbScale<RmsNormOp>,
              AbsorbBias, FuseSoftmax, SplitBatch, FuseAttention>(context);
    RewritePatternSet powers(context);
    powers.add<PowToProduct>(context);
    if (failed(applyPatternsGreedily(getOperation(), std::move(forms))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(powers))))
      signalPassFailure();
  }
};

} // namespace
