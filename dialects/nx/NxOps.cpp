//===- NxOps.cpp - Result types, verifiers and folders --------------------===//

#include "dialects/nx/Nx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nx;

#define GET_OP_CLASSES
#include "dialects/nx/NxOps.cpp.inc"

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static int64_t rankOf(Value value) { return typeOf(value).getRank(); }

static std::string shapeText(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(dimsOf(type), os, [&](AffineExpr e) { os << dimToString(e); });
  os << "]";
  return text;
}

/// True unless both are constants and differ.
static bool mayBeEqual(AffineExpr a, AffineExpr b) {
  auto ca = constantOf(a), cb = constantOf(b);
  return !ca || !cb || *ca == *cb;
}

static LogicalResult checkAxis(std::optional<Location> location, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return emitOptionalError(location, "axis ", axis, " is not in [0, ", rank, ")");
  return success();
}

/// Why a dimension cannot be cut into `blocks` (one, when there are none) of `parts` equal parts each;
/// empty when it can.
static std::string blocksProblem(AffineExpr dim, int64_t parts, ArrayRef<int64_t> blocks) {
  auto undivided = [&](const Twine &size) {
    return ("size " + size + " does not divide into " + Twine(parts) + " equal parts").str();
  };
  if (parts < 1 || !divideExactly(dim, getAffineConstantExpr(parts, dim.getContext())))
    return undivided(dimToString(dim));
  int64_t sum = 0;
  for (int64_t block : blocks) {
    if (block < 0 || block % parts)
      return undivided(Twine(block) + " of a block");
    if (llvm::AddOverflow(sum, block, sum))
      return "the blocks are too large";
  }
  if (!blocks.empty() && constantOf(dim) != sum)
    return ("the blocks add up to " + Twine(sum) + ", the dimension has size ").str() + dimToString(dim);
  return "";
}

static LogicalResult checkParts(std::optional<Location> location, AffineExpr dim, int64_t parts,
                                ArrayRef<int64_t> blocks = {}) {
  std::string problem = blocksProblem(dim, parts, blocks);
  return problem.empty() ? success() : emitOptionalError(location, problem);
}

LogicalResult nx::inferElementwise(std::optional<Location> location, ValueRange operands,
                                   Type element, SmallVectorImpl<Type> &types) {
  SmallVector<AffineExpr> dims;
  for (Value operand : operands) {
    SmallVector<AffineExpr> other = dimsOf(typeOf(operand));
    if (other.size() > dims.size())
      dims.insert(dims.begin(), other.size() - dims.size(),
                  getAffineConstantExpr(1, element.getContext()));
    size_t shift = dims.size() - other.size();
    for (auto [i, dim] : llvm::enumerate(other)) {
      AffineExpr merged = broadcastDim(dims[shift + i], dim);
      if (!merged)
        return emitOptionalError(location, "shapes ", shapeText(typeOf(operands[0])), " and ",
                                 shapeText(typeOf(operand)), " do not broadcast: ",
                                 dimToString(dims[shift + i]), " against ", dimToString(dim));
      dims[shift + i] = merged;
    }
  }
  types.push_back(tensorOf(dims, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters and constants
//===----------------------------------------------------------------------===//

FailureOr<RankedTensorType> nx::applyRecipe(RankedTensorType type, ArrayAttr recipe,
                                            function_ref<InFlightDiagnostic()> emitError) {
  if (!type.hasStaticShape())
    return emitError() << "a parameter has static sizes, this one is " << type;
  for (Attribute step : recipe) {
    SmallVector<int64_t> shape(type.getShape());
    if (auto transpose = dyn_cast<TransposeStepAttr>(step)) {
      ArrayRef<int64_t> perm = transpose.getPerm();
      SmallVector<int64_t> sorted(perm);
      llvm::sort(sorted);
      if (!llvm::equal(sorted, llvm::seq<int64_t>(0, shape.size())))
        return emitError() << step << " is not a permutation of " << shape.size() << " dimensions";
      for (auto [i, p] : llvm::enumerate(perm))
        shape[i] = type.getDimSize(p);
    } else if (auto reshape = dyn_cast<ReshapeStepAttr>(step)) {
      if (ShapedType::getNumElements(reshape.getShape()) != type.getNumElements())
        return emitError() << step << " changes the number of elements of " << type;
      shape.assign(reshape.getShape().begin(), reshape.getShape().end());
    } else if (auto castStep = dyn_cast<CastStepAttr>(step)) {
      type = RankedTensorType::get(shape, castStep.getElementType());
    } else if (auto shard = dyn_cast<ShardStepAttr>(step)) {
      int64_t dim = shard.getDim();
      if (dim < 0 || dim >= type.getRank())
        return emitError() << step << " does not fit " << type;
      AffineExpr size = getAffineConstantExpr(shape[dim], type.getContext());
      if (std::string problem = blocksProblem(size, shard.getParts(), shard.getBlocks()); !problem.empty())
        return emitError() << step << " of " << type << ": " << problem;
      shape[dim] /= shard.getParts();
    } else if (isa<PackStepAttr>(step)) {
      if (type.getRank() < 2 || step != recipe.getValue().back())
        return emitError() << step << " is the last step of a parameter of rank 2 or more";
    } else {
      return emitError() << step << " is not a recipe step";
    }
    type = RankedTensorType::get(shape, type.getElementType());
  }
  return type;
}

LogicalResult ParamOp::verify() {
  auto type = applyRecipe(cast<RankedTensorType>(getSourceType()), getRecipe(),
                          [&] { return emitOpError(); });
  if (failed(type))
    return failure();
  if (*type != getType())
    return emitOpError() << "recipe makes " << *type << ", the result is " << getType();
  return success();
}

LogicalResult ConstantOp::verify() {
  if (getValue().getShapedType() != getType())
    return emitOpError("value and result differ in type");
  if (!getValue().isSplat() &&
      getType().getNumElements() * llvm::divideCeil(getType().getElementTypeBitWidth(), 8) > 1024)
    return emitOpError("holds more than 1 KiB: a value of this size is a parameter");
  return success();
}
OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ShapeValueOp::verify() {
  size_t count = getDims().getExprs().size();
  if (getType().getRank() > 1 || !getType().hasStaticShape() ||
      getType().getNumElements() != int64_t(count) || (getType().getRank() == 0 && count != 1))
    return emitOpError() << "has " << count << " values for a result of type " << getType();
  return success();
}

LogicalResult IotaOp::verify() {
  if (getStart().getExprs().size() != 1 || getStep().getExprs().size() != 1)
    return emitOpError("start and step are one expression each");
  return checkAxis(getLoc(), getAxis(), getType().getRank());
}

LogicalResult CheckOp::verify() {
  if (getLhs().getExprs().size() != 1 || getRhs().getExprs().size() != 1)
    return emitOpError("compares one expression with one expression");
  return success();
}

LogicalResult SelectOp::verify() {
  if (typeOf(getX()).getElementType() != typeOf(getY()).getElementType())
    return emitOpError("chooses between values of different element types");
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? getX() : Value(); }

LogicalResult CastOp::verify() {
  if (!llvm::is_contained({"up", "down", "nearest"}, getRound()))
    return emitOpError() << "rounds up, down or to nearest, not '" << getRound() << "'";
  return success();
}

LogicalResult BitcastOp::verify() {
  auto bits = [](RankedTensorType type) { return type.getElementTypeBitWidth(); };
  if (bits(typeOf(getX())) != bits(getType()))
    return emitOpError() << "reads elements of " << bits(typeOf(getX())) << " bits as elements of " << bits(getType());
  return success();
}
OpFoldResult BitcastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? getX() : Value(); }

//===----------------------------------------------------------------------===//
// Contraction, convolution, attention
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs());
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOptionalError(location, "matmul needs rank 2 or more, got ", shapeText(lhs), " and ",
                             shapeText(rhs));
  SmallVector<AffineExpr> a = dimsOf(lhs), b = dimsOf(rhs);
  if (op.getTransposeLhs())
    std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (op.getTransposeRhs())
    std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (!mayBeEqual(a.back(), b[b.size() - 2]))
    return emitOptionalError(location, "matmul of ", shapeText(lhs), " and ", shapeText(rhs),
                             ": inner sizes ", dimToString(a.back()), " and ",
                             dimToString(b[b.size() - 2]), " differ");
  SmallVector<AffineExpr> dims;
  size_t batch = std::max(a.size(), b.size()) - 2;
  AffineExpr one = getAffineConstantExpr(1, context);
  for (size_t i = 0; i < batch; ++i) {
    auto at = [&](ArrayRef<AffineExpr> d) {
      size_t missing = batch - (d.size() - 2);
      return i < missing ? one : d[i - missing];
    };
    AffineExpr dim = broadcastDim(at(a), at(b));
    if (!dim)
      return emitOptionalError(location, "matmul of ", shapeText(lhs), " and ", shapeText(rhs),
                               ": batch sizes do not broadcast");
    dims.push_back(dim);
  }
  dims.push_back(a[a.size() - 2]);
  dims.push_back(b.back());
  types.push_back(withDims(lhs, dims));
  return success();
}

/// Output size of a window that slides over `size` elements.
static AffineExpr windowedSize(AffineExpr size, int64_t window, int64_t stride, int64_t dilation,
                               int64_t lo, int64_t hi, bool ceil) {
  int64_t extent = dilation * (window - 1) + 1;
  if (!ceil)
    return normalize((size + (lo + hi - extent)).floorDiv(stride) + 1);
  // Rounded up, but no window starts behind the last element: of the two numbers of windows that this
  // gives, both quotients by the stride, the smaller one.
  return normalize((size + (lo + std::min(hi - extent, -stride))).ceilDiv(stride) + 1);
}

static LogicalResult checkWindows(std::optional<Location> location, RankedTensorType input,
                                  ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                                  ArrayRef<int64_t> dilations, ArrayRef<int64_t> lo,
                                  ArrayRef<int64_t> hi) {
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1)
    return emitOptionalError(location, "needs an input [N, C, spatial..], got ", shapeText(input));
  for (ArrayRef<int64_t> list : {window, strides, dilations, lo, hi})
    if (int64_t(list.size()) != spatial)
      return emitOptionalError(location, "window, strides, dilations and pads need one value per spatial dimension (",
                               spatial, ")");
  for (int64_t i = 0; i < spatial; ++i) {
    if (window[i] < 1 || strides[i] < 1 || dilations[i] < 1)
      return emitOptionalError(location, "window, stride and dilation must be positive");
    auto size = constantOf(dimOf(input, i + 2));
    if (size && *size + lo[i] + hi[i] < dilations[i] * (window[i] - 1) + 1)
      return emitOptionalError(location, "window of ", dilations[i] * (window[i] - 1) + 1,
                               " elements does not fit into the padded size ", *size + lo[i] + hi[i],
                               " of dimension ", i + 2);
  }
  return success();
}

LogicalResult ConvOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(op.getInput()), weight = typeOf(op.getWeight());
  if (input.getRank() != weight.getRank())
    return emitOptionalError(location, "convolution of ", shapeText(input), " with weights ",
                             shapeText(weight), ": ranks differ");
  SmallVector<int64_t> window;
  for (int64_t i = 2; i < weight.getRank(); ++i) {
    auto size = constantOf(dimOf(weight, i));
    if (!size)
      return emitOptionalError(location, "convolution needs a static kernel size");
    window.push_back(*size);
  }
  if (failed(checkWindows(location, input, window, op.getStrides(), op.getDilations(),
                          op.getPadsLo(), op.getPadsHi())))
    return failure();
  int64_t groups = op.getGroups();
  if (groups < 1 || !mayBeEqual(dimOf(input, 1), dimOf(weight, 1) * groups))
    return emitOptionalError(location, "convolution of ", shapeText(input), " with weights ",
                             shapeText(weight), " in ", groups, " groups: channels differ");
  if (auto outputs = constantOf(dimOf(weight, 0)); outputs && *outputs % groups)
    return emitOptionalError(location, *outputs, " output channels do not divide into ", groups, " groups");
  if (op.getBias() && (rankOf(op.getBias()) != 1 ||
                       !mayBeEqual(dimOf(typeOf(op.getBias()), 0), dimOf(weight, 0))))
    return emitOptionalError(location, "bias ", shapeText(typeOf(op.getBias())), " does not fit weights ",
                             shapeText(weight));
  SmallVector<AffineExpr> dims{dimOf(input, 0), dimOf(weight, 0)};
  for (auto [i, size] : llvm::enumerate(window))
    dims.push_back(windowedSize(dimOf(input, i + 2), size, op.getStrides()[i], op.getDilations()[i],
                                op.getPadsLo()[i], op.getPadsHi()[i], false));
  types.push_back(withDims(input, dims));
  return success();
}

LogicalResult PoolOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(op.getInput());
  if (failed(checkWindows(location, input, op.getWindow(), op.getStrides(), op.getDilations(),
                          op.getPadsLo(), op.getPadsHi())))
    return failure();
  SmallVector<AffineExpr> dims{dimOf(input, 0), dimOf(input, 1)};
  for (auto [i, size] : llvm::enumerate(op.getWindow()))
    dims.push_back(windowedSize(dimOf(input, i + 2), size, op.getStrides()[i], op.getDilations()[i],
                                op.getPadsLo()[i], op.getPadsHi()[i], bool(op.getCeilMode())));
  types.push_back(withDims(input, dims));
  return success();
}

LogicalResult ArgPoolOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(op.getInput());
  if (failed(checkWindows(location, input, op.getWindow(), op.getStrides(), op.getDilations(),
                          op.getPadsLo(), op.getPadsHi())))
    return failure();
  SmallVector<AffineExpr> dims{dimOf(input, 0), dimOf(input, 1)};
  for (auto [i, size] : llvm::enumerate(op.getWindow()))
    dims.push_back(windowedSize(dimOf(input, i + 2), size, op.getStrides()[i], op.getDilations()[i],
                                op.getPadsLo()[i], op.getPadsHi()[i], bool(op.getCeilMode())));
  types.push_back(tensorOf(dims, IntegerType::get(context, 64)));
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType q = typeOf(op.getQuery()), k = typeOf(op.getKey()), v = typeOf(op.getValue());
  if (q.getRank() != 4 || k.getRank() != 4 || v.getRank() != 4)
    return emitOptionalError(location, "attention needs query, key and value of rank 4");
  if (!mayBeEqual(dimOf(q, 3), dimOf(k, 3)) || !mayBeEqual(dimOf(k, 2), dimOf(v, 2)) ||
      !mayBeEqual(dimOf(k, 1), dimOf(v, 1)) || !mayBeEqual(dimOf(q, 0), dimOf(k, 0)) ||
      !mayBeEqual(dimOf(q, 0), dimOf(v, 0)))
    return emitOptionalError(location, "attention of query ", shapeText(q), ", key ", shapeText(k),
                             " and value ", shapeText(v), ": sizes do not fit");
  auto heads = constantOf(dimOf(q, 1)), keyHeads = constantOf(dimOf(k, 1));
  if (!heads || !keyHeads || *keyHeads < 1 || *heads % *keyHeads)
    return emitOptionalError(location, "attention needs static head counts, key heads dividing query heads; got ",
                             dimToString(dimOf(q, 1)), " and ", dimToString(dimOf(k, 1)));
  if (op.getCausal() && op.getCausal()->getExprs().size() != 1)
    return emitOptionalError(location, "causal is one offset, not ", op.getCausal()->getExprs().size());
  if (op.getMask()) {
    SmallVector<AffineExpr> full{dimOf(q, 0), dimOf(q, 1), dimOf(q, 2), dimOf(k, 2)};
    RankedTensorType mask = typeOf(op.getMask());
    if (mask.getRank() > 4)
      return emitOptionalError(location, "attention mask has rank ", mask.getRank());
    for (int64_t i = 0; i < mask.getRank(); ++i) {
      AffineExpr dim = dimOf(mask, i), want = full[4 - mask.getRank() + i];
      if (constantOf(dim) != 1 && !mayBeEqual(dim, want))
        return emitOptionalError(location, "attention mask ", shapeText(mask), " does not broadcast to [B, H, S, T]");
    }
  }
  types.push_back(withDims(q, {dimOf(q, 0), dimOf(q, 1), dimOf(q, 2), dimOf(v, 3)}));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions and normalizations
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  int64_t previous = -1;
  SmallVector<AffineExpr> dims = dimsOf(x), kept;
  for (int64_t axis : op.getAxes()) {
    if (failed(checkAxis(location, axis, x.getRank())))
      return failure();
    if (axis <= previous)
      return emitOptionalError(location, "axes must be ascending and unique");
    previous = axis;
  }
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(op.getAxes(), int64_t(i)))
      kept.push_back(dim);
    else if (op.getKeepDims())
      kept.push_back(getAffineConstantExpr(1, context));
  }
  types.push_back(withDims(x, kept));
  return success();
}

LogicalResult ArgReduceOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  if (failed(checkAxis(location, op.getAxis(), x.getRank())))
    return failure();
  if (op.getKind() != ReduceKind::max && op.getKind() != ReduceKind::min)
    return emitOptionalError(location, "arg_reduce is max or min");
  SmallVector<AffineExpr> dims = dimsOf(x);
  if (op.getKeepDims())
    dims[op.getAxis()] = getAffineConstantExpr(1, context);
  else
    dims.erase(dims.begin() + op.getAxis());
  types.push_back(tensorOf(dims, IntegerType::get(context, 64)));
  return success();
}

LogicalResult CumulativeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  types.push_back(op.getX().getType());
  if (op.getKind() == ReduceKind::mean)
    return emitOptionalError(location, "cumulative is sum, prod, max or min");
  return checkAxis(location, op.getAxis(), rankOf(op.getX()));
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(op.getX().getType());
  return checkAxis(location, op.getAxis(), rankOf(op.getX()));
}

/// `part` broadcasts to the shape of `x` without making it larger.
static LogicalResult checkFits(std::optional<Location> location, StringRef what, Value part, Value x) {
  if (!part)
    return success();
  RankedTensorType type = typeOf(part), full = typeOf(x);
  bool fits = type.getRank() <= full.getRank();
  for (int64_t i = 0; fits && i < type.getRank(); ++i) {
    AffineExpr dim = dimOf(type, i);
    fits = constantOf(dim) == 1 || mayBeEqual(dim, dimOf(full, full.getRank() - type.getRank() + i));
  }
  if (!fits)
    return emitOptionalError(location, what, " ", shapeText(type), " does not broadcast to ", shapeText(full));
  return success();
}

LogicalResult LayerNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  types.push_back(op.getX().getType());
  return success(succeeded(checkAxis(location, op.getAxis(), rankOf(op.getX()))) &&
                 succeeded(checkFits(location, "scale", op.getScale(), op.getX())) &&
                 succeeded(checkFits(location, "bias", op.getBias(), op.getX())));
}

LogicalResult RmsNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(op.getX().getType());
  return success(succeeded(checkAxis(location, op.getAxis(), rankOf(op.getX()))) &&
                 succeeded(checkFits(location, "scale", op.getScale(), op.getX())));
}

LogicalResult GroupNormOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  if (x.getRank() < 2)
    return emitOptionalError(location, "group_norm needs an input [N, C, ..], got ", shapeText(x));
  AffineExpr channels = dimOf(x, 1);
  if (failed(checkParts(location, channels, op.getGroups())))
    return failure();
  for (Value part : {op.getScale(), op.getBias()})
    if (rankOf(part) != 1 || !mayBeEqual(dimOf(typeOf(part), 0), channels))
      return emitOptionalError(location, "group_norm scale and bias have one value per channel");
  types.push_back(x);
  return success();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  SmallVector<int64_t> sorted(op.getPerm());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, x.getRank())))
    return emitOptionalError(location, "perm is not a permutation of ", x.getRank(), " dimensions");
  SmallVector<AffineExpr> dims;
  for (int64_t p : op.getPerm())
    dims.push_back(dimOf(x, p));
  types.push_back(withDims(x, dims));
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (llvm::equal(getPerm(), llvm::seq<int64_t>(0, getPerm().size())))
    return getX();
  return {};
}

namespace {
/// transpose(transpose(x)) is one transpose.
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a transpose");
    SmallVector<int64_t> perm;
    for (int64_t p : op.getPerm())
      perm.push_back(inner.getPerm()[p]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getX(), perm);
    return success();
  }
};

/// transpose(param) becomes a step of the parameter's recipe.
struct TransposeOfParam : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto param = op.getX().getDefiningOp<ParamOp>();
    if (!param)
      return rewriter.notifyMatchFailure(op, "operand is not a parameter");
    SmallVector<Attribute> recipe(param.getRecipe().getValue());
    if (!recipe.empty() && isa<PackStepAttr>(recipe.back()))
      return rewriter.notifyMatchFailure(op, "parameter is packed");
    recipe.push_back(TransposeStepAttr::get(op.getContext(), op.getPerm()));
    rewriter.replaceOpWithNewOp<ParamOp>(op, op.getType(), param.getName(), param.getSourceType(),
                                         rewriter.getArrayAttr(recipe));
    return success();
  }
};

/// reshape(reshape(x)) is one reshape.
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a reshape");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX());
    return success();
  }
};

/// reshape(param) becomes a step of the parameter's recipe.
struct ReshapeOfParam : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto param = op.getX().getDefiningOp<ParamOp>();
    if (!param || !op.getType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "operand is not a parameter");
    SmallVector<Attribute> recipe(param.getRecipe().getValue());
    if (!recipe.empty() && isa<PackStepAttr>(recipe.back()))
      return rewriter.notifyMatchFailure(op, "parameter is packed");
    recipe.push_back(ReshapeStepAttr::get(op.getContext(), op.getType().getShape()));
    rewriter.replaceOpWithNewOp<ParamOp>(op, op.getType(), param.getName(), param.getSourceType(),
                                         rewriter.getArrayAttr(recipe));
    return success();
  }
};
} // namespace

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes, TransposeOfParam>(context);
}
void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapes, ReshapeOfParam>(context);
}

LogicalResult ReshapeOp::verify() {
  AffineExpr from = productOf(dimsOf(typeOf(getX())), getContext());
  AffineExpr to = productOf(dimsOf(getType()), getContext());
  if (from != to)
    return emitOpError() << "makes " << shapeText(getType()) << " of " << shapeText(typeOf(getX()))
                         << ": " << dimToString(to) << " elements of " << dimToString(from);
  return success();
}
OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getX().getType() == getType())
    return getX();
  if (auto value = dyn_cast_or_null<DenseElementsAttr>(adaptor.getX()))
    if (getType().hasStaticShape())
      return value.reshape(getType());
  return {};
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = typeOf(getX()), to = getType();
  bool fits = from.getRank() <= to.getRank();
  for (int64_t i = 0; fits && i < from.getRank(); ++i) {
    AffineExpr dim = dimOf(from, i);
    fits = constantOf(dim) == 1 || mayBeEqual(dim, dimOf(to, to.getRank() - from.getRank() + i));
  }
  if (!fits)
    return emitOpError() << shapeText(from) << " does not broadcast to " << shapeText(to);
  return success();
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) { return getX().getType() == getType() ? getX() : Value(); }

LogicalResult SliceOp::verify() {
  int64_t rank = getType().getRank();
  if (rankOf(getX()) != rank || int64_t(getSteps().size()) != rank ||
      int64_t(getStarts().getExprs().size()) != rank)
    return emitOpError("needs one start and one step per dimension, and keeps the rank");
  for (int64_t i = 0; i < rank; ++i) {
    int64_t step = getSteps()[i];
    if (step == 0)
      return emitOpError() << "step of dimension " << i << " is 0";
    auto size = constantOf(dimOf(typeOf(getX()), i)), count = constantOf(dimOf(getType(), i)),
         start = constantOf(getStarts().getExprs()[i]);
    if (!size || !count || !start || *count == 0)
      continue;
    int64_t last = *start + (*count - 1) * step;
    if (*start < 0 || *start >= *size || last < 0 || last >= *size)
      return emitOpError() << "elements " << *start << " to " << last << " of dimension " << i
                           << " are not in [0, " << *size << ")";
  }
  return success();
}
OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool whole = getX().getType() == getType() && llvm::all_of(getSteps(), [](int64_t s) { return s == 1; });
  return whole ? getX() : Value();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  if (op.getInputs().empty())
    return emitOptionalError(location, "concat of nothing");
  RankedTensorType first = typeOf(op.getInputs()[0]);
  int64_t axis = op.getAxis();
  if (failed(checkAxis(location, axis, first.getRank())))
    return failure();
  SmallVector<AffineExpr> dims = dimsOf(first);
  for (Value input : op.getInputs().drop_front()) {
    RankedTensorType type = typeOf(input);
    if (type.getRank() != first.getRank())
      return emitOptionalError(location, "concat of ", shapeText(first), " and ", shapeText(type), ": ranks differ");
    for (int64_t i = 0; i < type.getRank(); ++i) {
      AffineExpr dim = dimOf(type, i);
      if (i == axis)
        dims[i] = dims[i] + dim;
      else if (!mayBeEqual(dims[i], dim))
        return emitOptionalError(location, "concat of ", shapeText(first), " and ", shapeText(type),
                                 " along axis ", axis, ": dimension ", i, " differs");
      else if (constantOf(dim))
        dims[i] = dim;
    }
  }
  types.push_back(withDims(first, dims));
  return success();
}
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 ? OpFoldResult(getInputs()[0]) : OpFoldResult();
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  ArrayRef<AffineExpr> lo = op.getLo().getExprs(), hi = op.getHi().getExprs();
  if (int64_t(lo.size()) != x.getRank() || int64_t(hi.size()) != x.getRank())
    return emitOptionalError(location, "pad needs one amount before and after each of ", x.getRank(), " dimensions");
  if (op.getValue() && (rankOf(op.getValue()) != 0 ||
                        typeOf(op.getValue()).getElementType() != x.getElementType()))
    return emitOptionalError(location, "pad value is a scalar of the input's element type");
  SmallVector<AffineExpr> dims;
  for (int64_t i = 0; i < x.getRank(); ++i) {
    dims.push_back(normalize(dimOf(x, i) + lo[i] + hi[i]));
    if (auto size = constantOf(dims.back()); size && *size < 0)
      return emitOptionalError(location, "pad leaves ", *size, " elements of dimension ", i);
  }
  types.push_back(withDims(x, dims));
  return success();
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  if (failed(checkAxis(location, op.getAxis(), x.getRank())))
    return failure();
  SmallVector<AffineExpr> dims = dimsOf(x), indices = dimsOf(typeOf(op.getIndices()));
  dims.erase(dims.begin() + op.getAxis());
  dims.insert(dims.begin() + op.getAxis(), indices.begin(), indices.end());
  types.push_back(withDims(x, dims));
  return success();
}

LogicalResult GatherElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                 Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX()), indices = typeOf(op.getIndices());
  if (failed(checkAxis(location, op.getAxis(), x.getRank())))
    return failure();
  if (indices.getRank() != x.getRank())
    return emitOptionalError(location, "gather_elements of ", shapeText(x), " by ", shapeText(indices), ": ranks differ");
  types.push_back(withElement(indices, x.getElementType()));
  return success();
}

LogicalResult GatherNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX()), indices = typeOf(op.getIndices());
  int64_t batch = op.getBatchDims();
  if (indices.getRank() < 1)
    return emitOptionalError(location, "gather_nd needs indices of rank 1 or more");
  auto tuple = constantOf(dimOf(indices, indices.getRank() - 1));
  if (!tuple || batch < 0 || batch >= indices.getRank() || batch + *tuple > x.getRank())
    return emitOptionalError(location, "gather_nd of ", shapeText(x), " by ", shapeText(indices),
                             " with ", batch, " batch dimensions: index tuples do not fit");
  SmallVector<AffineExpr> dims = dimsOf(indices);
  dims.pop_back();
  llvm::append_range(dims, ArrayRef(dimsOf(x)).drop_front(batch + *tuple));
  types.push_back(withDims(x, dims));
  return success();
}

/// What both scatters ask for beside the shapes.
static LogicalResult checkScatter(std::optional<Location> location, RankedTensorType x, RankedTensorType updates,
                                  ScatterKind kind) {
  if (updates.getElementType() != x.getElementType())
    return emitOptionalError(location, "scatters updates of another element type");
  if (x.getElementType().isInteger(1) && (kind == ScatterKind::add || kind == ScatterKind::mul))
    return emitOptionalError(location, "scatters booleans by set, max (or) or min (and)");
  return success();
}

LogicalResult ScatterElementsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                                  SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX()), indices = typeOf(op.getIndices()), updates = typeOf(op.getUpdates());
  if (failed(checkAxis(location, op.getAxis(), x.getRank())) ||
      failed(checkScatter(location, x, updates, op.getReduction())))
    return failure();
  bool fits = indices.getRank() == x.getRank() && updates.getRank() == x.getRank();
  for (int64_t i = 0; fits && i < x.getRank(); ++i) {
    auto count = constantOf(dimOf(indices, i)), size = constantOf(dimOf(x, i));
    fits = mayBeEqual(dimOf(indices, i), dimOf(updates, i)) &&
           (i == int64_t(op.getAxis()) || !count || !size || *count <= *size);
  }
  if (!fits)
    return emitOptionalError(location, "scatter_elements of updates ", shapeText(updates), " by indices ",
                             shapeText(indices), " into ", shapeText(x), ": sizes do not fit");
  types.push_back(x);
  return success();
}

LogicalResult ScatterNdOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX()), indices = typeOf(op.getIndices()), updates = typeOf(op.getUpdates());
  if (failed(checkScatter(location, x, updates, op.getReduction())))
    return failure();
  int64_t outer = indices.getRank() - 1;
  std::optional<int64_t> tuple = outer < 0 ? std::nullopt : constantOf(dimOf(indices, outer));
  bool fits = tuple && *tuple <= x.getRank() && updates.getRank() == outer + x.getRank() - *tuple;
  for (int64_t i = 0; fits && i < updates.getRank(); ++i)
    fits = mayBeEqual(dimOf(updates, i), i < outer ? dimOf(indices, i) : dimOf(x, *tuple + i - outer));
  if (!fits)
    return emitOptionalError(location, "scatter_nd of updates ", shapeText(updates), " by indices ",
                             shapeText(indices), " into ", shapeText(x), ": sizes do not fit");
  types.push_back(x);
  return success();
}

//===----------------------------------------------------------------------===//
// Order, recurrence, linear algebra, regions
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor op,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  if (failed(checkAxis(location, op.getAxis(), x.getRank())))
    return failure();
  if (op.getK().getExprs().size() != 1)
    return emitOptionalError(location, "k is one expression");
  SmallVector<AffineExpr> dims = dimsOf(x);
  auto size = constantOf(dims[op.getAxis()]), k = constantOf(op.getK().getExprs()[0]);
  if (k && (*k < 0 || (size && *k > *size)))
    return emitOptionalError(location, "the first ", *k, " of ", dimToString(dims[op.getAxis()]), " elements");
  dims[op.getAxis()] = op.getK().getExprs()[0];
  types.push_back(withDims(x, dims));
  types.push_back(tensorOf(dims, IntegerType::get(context, 64)));
  return success();
}

LogicalResult RecurrentOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType input = typeOf(op.getInput()), recurrence = typeOf(op.getRecurrence()), state = typeOf(op.getState());
  RecurrentKind kind = op.getKind();
  int64_t gates = kind == RecurrentKind::rnn ? 1 : kind == RecurrentKind::gru ? 3 : 4;
  size_t functions = kind == RecurrentKind::rnn ? 1 : kind == RecurrentKind::gru ? 2 : 3;
  if (input.getRank() != 3 || recurrence.getRank() != 2 || state.getRank() != 2)
    return emitOptionalError(location, "recurrent needs an input [T, B, gates * H], weights [gates * H, H] and a state [B, H]");
  AffineExpr batch = dimOf(input, 1), hidden = dimOf(state, 1);
  auto has = [&](Value value, ArrayRef<AffineExpr> dims) {
    if (!value)
      return true;
    SmallVector<AffineExpr> own = dimsOf(typeOf(value));
    return own.size() == dims.size() && llvm::all_of(llvm::zip(own, dims), [](auto pair) {
             return mayBeEqual(std::get<0>(pair), std::get<1>(pair));
           });
  };
  if (!mayBeEqual(dimOf(input, 2), hidden * gates) || !has(op.getRecurrence(), {hidden * gates, hidden}) ||
      !has(op.getState(), {batch, hidden}) || !has(op.getCell(), {batch, hidden}) ||
      !has(op.getRecurrentBias(), {hidden}) || !has(op.getPeephole(), {hidden * 3}) || !has(op.getLengths(), {batch}))
    return emitOptionalError(location, "recurrent over ", shapeText(input), " with weights ", shapeText(recurrence),
                             " and a state ", shapeText(state), ": sizes do not fit ", gates, " gates");
  if (op.getActivations().size() != functions || op.getParameters().size() != 2 * functions)
    return emitOptionalError(location, "needs ", functions, " activations with two parameters each");
  static constexpr StringLiteral known[] = {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid",
                                            "Softplus", "Softsign", "Tanh", "ThresholdedRelu"};
  for (Attribute activation : op.getActivations())
    if (!llvm::is_contained(known, cast<StringAttr>(activation).getValue()))
      return emitOptionalError(location, "there is no activation ", activation);
  for (Value operand : {op.getRecurrence(), op.getState(), op.getCell(), op.getRecurrentBias(), op.getPeephole()})
    if (operand && typeOf(operand).getElementType() != input.getElementType())
      return emitOptionalError(location, "all operands but the lengths have one element type");
  types.push_back(withDims(input, {dimOf(input, 0), batch, hidden}));
  types.append(2, withDims(input, {batch, hidden}));
  return success();
}

LogicalResult DetOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                      SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX());
  int64_t rank = x.getRank();
  if (rank < 2 || !mayBeEqual(dimOf(x, rank - 2), dimOf(x, rank - 1)))
    return emitOptionalError(location, "det needs square matrices, got ", shapeText(x));
  types.push_back(withDims(x, ArrayRef(dimsOf(x)).drop_back(2)));
  return success();
}

LogicalResult RoiAlignOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor op,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(op.getX()), rois = typeOf(op.getRois()), images = typeOf(op.getImages());
  if (x.getRank() != 4 || rois.getRank() != 2 || images.getRank() != 1 || constantOf(dimOf(rois, 1)) != 4 ||
      !mayBeEqual(dimOf(rois, 0), dimOf(images, 0)))
    return emitOptionalError(location, "roi_align needs images [N, C, H, W], regions [R, 4] and their images [R], got ",
                             shapeText(x), ", ", shapeText(rois), " and ", shapeText(images));
  if (int64_t(op.getHeight()) < 1 || int64_t(op.getWidth()) < 1 || int64_t(op.getSampling()) < 0)
    return emitOptionalError(location, "roi_align needs a positive height and width, and no negative sampling");
  types.push_back(withDims(x, {dimOf(rois, 0), dimOf(x, 1), getAffineConstantExpr(op.getHeight(), context),
                               getAffineConstantExpr(op.getWidth(), context)}));
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Type nx::substituteSymbols(Type type, ArrayRef<AffineExpr> values) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<AffineExpr> dims = dimsOf(tensor);
  for (AffineExpr &dim : dims)
    dim = dim.replaceSymbols(values);
  return withDims(tensor, dims);
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError() << "there is no kernel @" << getKernel();
  auto same = [&](TypeRange kernelTypes, TypeRange types) {
    return llvm::equal(kernelTypes, types, [&](Type k, Type t) {
      return substituteSymbols(k, getSlots().getExprs()) == t;
    });
  };
  if (!same(kernel.getArgumentTypes(), getInputs().getTypes()) ||
      !same(kernel.getResultTypes(), getResults().getTypes()))
    return emitOpError() << "types differ from those of kernel @" << getKernel() << ", "
                         << kernel.getFunctionType();
  return success();
}

//===----------------------------------------------------------------------===//
// Between ranks
//===----------------------------------------------------------------------===//

/// The type of `x` with dimension `dim` multiplied or divided by `parts`.
static LogicalResult scaleDim(std::optional<Location> location, SmallVectorImpl<AffineExpr> &dims,
                              int64_t dim, int64_t parts, bool divide) {
  if (failed(checkAxis(location, dim, dims.size())))
    return failure();
  if (!divide) {
    dims[dim] = dims[dim] * parts;
    return success();
  }
  if (failed(checkParts(location, dims[dim], parts)))
    return failure();
  dims[dim] = divideExactly(dims[dim], getAffineConstantExpr(parts, dims[dim].getContext()));
  return success();
}

LogicalResult ShardOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                        SmallVectorImpl<Type> &types) {
  SmallVector<AffineExpr> dims = dimsOf(typeOf(op.getX()));
  if (failed(checkAxis(location, op.getDim(), dims.size())))
    return failure();
  if (failed(checkParts(location, dims[op.getDim()], op.getParts(), op.getBlocks())))
    return failure();
  (void)scaleDim(location, dims, op.getDim(), op.getParts(), true);
  types.push_back(withDims(typeOf(op.getX()), dims));
  return success();
}

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  if (op.getKind() == ReduceKind::mean)
    return emitOptionalError(location, "all_reduce is sum, max, min or prod");
  types.push_back(op.getX().getType());
  return success();
}

LogicalResult AllGatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor op, SmallVectorImpl<Type> &types) {
  SmallVector<AffineExpr> dims = dimsOf(typeOf(op.getX()));
  if (failed(scaleDim(location, dims, op.getDim(), op.getParts(), false)))
    return failure();
  types.push_back(withDims(typeOf(op.getX()), dims));
  return success();
}

LogicalResult ReduceScatterOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                Adaptor op, SmallVectorImpl<Type> &types) {
  if (op.getKind() == ReduceKind::mean)
    return emitOptionalError(location, "reduce_scatter is sum, max, min or prod");
  SmallVector<AffineExpr> dims = dimsOf(typeOf(op.getX()));
  if (failed(scaleDim(location, dims, op.getDim(), op.getParts(), true)))
    return failure();
  types.push_back(withDims(typeOf(op.getX()), dims));
  return success();
}

LogicalResult AllToAllOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor op, SmallVectorImpl<Type> &types) {
  SmallVector<AffineExpr> dims = dimsOf(typeOf(op.getX()));
  if (failed(scaleDim(location, dims, op.getSplitDim(), op.getParts(), true)) ||
      failed(scaleDim(location, dims, op.getConcatDim(), op.getParts(), false)))
    return failure();
  types.push_back(withDims(typeOf(op.getX()), dims));
  return success();
}
