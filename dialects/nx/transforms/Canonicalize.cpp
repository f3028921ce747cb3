//===- Canonicalize.cpp - The graph in the form that patterns look for ----===//

#include "dialects/nx/transforms/EvaluateSmall.h"
#include "dialects/nx/transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace nx {
#define GEN_PASS_DEF_NXCANONICALIZE
#include "dialects/nx/transforms/Passes.h.inc"
} // namespace nx

using namespace nx;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
bool isNxOp(Operation *op) { return isa_and_nonnull<NxDialect>(op->getDialect()); }

/// `value` with the sizes of `type`, to which it broadcasts.
Value broadcastTo(PatternRewriter &rewriter, Location loc, Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return BroadcastOp::create(rewriter, loc, withDims(typeOf(value), dimsOf(type)), value);
}

/// True when every element is the same constant.
bool isUniform(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat();
}
bool isUniformOf(Value value, double wanted) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getX();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return false;
  if (auto integer = dyn_cast<IntegerType>(elements.getElementType()))
    return integer.getWidth() == 1 ? elements.getSplatValue<bool>() == (wanted != 0)
                                   : elements.getSplatValue<APInt>() == uint64_t(wanted);
  return isa<FloatType>(elements.getElementType()) && elements.getSplatValue<APFloat>().isExactlyValue(wanted);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Small known operands: see EvaluateSmall.h.
struct EvaluateKnown : RewritePattern {
  explicit EvaluateKnown(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/10, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isNxOp(op))
      return rewriter.notifyMatchFailure(op, "not an nx operation");
    Value value = evaluateSmall(rewriter, op);
    if (!value)
      return rewriter.notifyMatchFailure(op, "the operands are not known");
    rewriter.replaceOp(op, value);
    return success();
  }
};

/// op(x, neutral) is x.
template <typename OpTy> struct DropNeutral : OpRewritePattern<OpTy> {
  int neutral;
  bool isCommutative;
  DropNeutral(MLIRContext *context, int neutral, bool isCommutative)
      : OpRewritePattern<OpTy>(context), neutral(neutral), isCommutative(isCommutative) {}
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Value x;
    if (std::is_same_v<OpTy, AndOp> && !op.getType().getElementType().isInteger(1))
      return rewriter.notifyMatchFailure(op, "1 is neutral for booleans only");
    if (isUniformOf(op.getRhs(), neutral))
      x = op.getLhs();
    else if (isCommutative && isUniformOf(op.getLhs(), neutral))
      x = op.getRhs();
    if (!x)
      return rewriter.notifyMatchFailure(op, "no operand is neutral");
    rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), x, op.getType()));
    return success();
  }
};

/// A choice whose condition is constant.
struct DecidedSelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    bool isTrue = isUniformOf(op.getCondition(), 1);
    if (!isTrue && !isUniformOf(op.getCondition(), 0))
      return rewriter.notifyMatchFailure(op, "the condition is not constant");
    rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), isTrue ? op.getX() : op.getY(), op.getType()));
    return success();
  }
};

/// A position in a grid: what an index tensor is along one axis of its own. start + step * index.
IotaOp iotaBehindReshape(Value value) {
  while (true) {
    if (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getX();
    else if (auto broadcast = value.getDefiningOp<BroadcastOp>())
      value = broadcast.getX();
    else
      return value.getDefiningOp<IotaOp>();
  }
}

/// Indices compared with a constant that they never reach.
struct DecidedCompare : OpRewritePattern<CompareOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CompareOp op, PatternRewriter &rewriter) const override {
    IotaOp iota = iotaBehindReshape(op.getLhs());
    DenseElementsAttr bound;
    if (!iota || !isUniform(op.getRhs()) || !isa<IntegerType>(typeOf(op.getRhs()).getElementType()))
      return rewriter.notifyMatchFailure(op, "not indices and a constant");
    Value constant = op.getRhs();
    while (auto broadcast = constant.getDefiningOp<BroadcastOp>())
      constant = broadcast.getX();
    (void)matchPattern(constant, m_Constant(&bound));
    std::optional<int64_t> least = lowerBound(iota.getStart().getExprs()[0]),
                           step = constantOf(iota.getStep().getExprs()[0]);
    if (!least || !step || *step < 0 || isUnsignedElement(bound.getElementType()))
      return rewriter.notifyMatchFailure(op, "the least index is not known");
    int64_t value = bound.getSplatValue<APInt>().getSExtValue();
    std::optional<bool> holds;
    switch (op.getPredicate()) {
    case ComparePredicate::ge: if (*least >= value) holds = true; break;
    case ComparePredicate::gt: if (*least > value) holds = true; break;
    case ComparePredicate::ne: if (*least > value) holds = true; break;
    case ComparePredicate::lt: if (*least >= value) holds = false; break;
    case ComparePredicate::le: if (*least > value) holds = false; break;
    case ComparePredicate::eq: if (*least > value) holds = false; break;
    }
    if (!holds)
      return rewriter.notifyMatchFailure(op, "the comparison depends on the index");
    auto scalar = RankedTensorType::get({}, rewriter.getI1Type());
    Value answer = ConstantOp::create(rewriter, op.getLoc(), DenseElementsAttr::get(scalar, *holds));
    rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), answer, op.getType()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

struct MergeBroadcasts : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<BroadcastOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a broadcast");
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getX());
    return success();
  }
};

/// Type of an element-wise operation on other operands; null when they don't broadcast.
RankedTensorType elementwiseType(Operation *op, ValueRange operands) {
  SmallVector<Type> types;
  Type element = typeOf(op->getResult(0)).getElementType();
  if (failed(inferElementwise(std::nullopt, operands, element, types)))
    return {};
  return cast<RankedTensorType>(types.front());
}

/// Element-wise operations broadcast by themselves. Without the explicit broadcasts the result is the
/// same, or smaller; then one broadcast comes after.
struct BroadcastBehindElementwise : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    bool changes = false;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      operands.push_back(broadcast ? broadcast.getX() : operand);
      changes |= bool(broadcast);
    }
    RankedTensorType type = changes ? elementwiseType(op, operands) : RankedTensorType();
    if (!type)
      return rewriter.notifyMatchFailure(op, "no operand is a broadcast");
    auto result = typeOf(op->getResult(0));
    Operation *smaller = rewriter.clone(*op);
    smaller->setOperands(operands);
    smaller->getResult(0).setType(type);
    rewriter.replaceOp(op, broadcastTo(rewriter, op->getLoc(), smaller->getResult(0), result));
    return success();
  }
};

/// An attention mask broadcasts by itself.
struct UnbroadcastMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getMask() ? op.getMask().getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!broadcast)
      return rewriter.notifyMatchFailure(op, "the mask is not a broadcast");
    rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().assign(broadcast.getX()); });
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// x gathered at a grid of all its indices, as vectorized maps write masks: index j of the tuple is
/// the position along some axis of the result, in ascending order of axes.
///
///     gather_nd(x [B, S], concat(b [B, 1, 1, S, 1], s [B, 1, 1, S, 1])) = x as [B, 1, 1, S]
struct GatherOfGrid : OpRewritePattern<GatherNdOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherNdOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getIndices().getDefiningOp<ConcatOp>();
    RankedTensorType indices = typeOf(op.getIndices()), x = typeOf(op.getX());
    int64_t gridRank = indices.getRank() - 1;
    if (!concat || op.getBatchDims() != 0 || int64_t(concat.getAxis()) != gridRank ||
        int64_t(concat.getInputs().size()) != x.getRank())
      return rewriter.notifyMatchFailure(op, "not a full tuple of single indices");
    SmallVector<AffineExpr> placed(gridRank, getAffineConstantExpr(1, op.getContext()));
    int64_t previous = -1;
    for (auto [j, component] : llvm::enumerate(concat.getInputs())) {
      std::optional<int64_t> axis = gridAxis(component, dimOf(x, j));
      if (!axis || *axis <= previous || *axis >= gridRank)
        return rewriter.notifyMatchFailure(op, "an index is not a position in the grid");
      placed[*axis] = dimOf(x, j);
      previous = *axis;
    }
    Value spread = ReshapeOp::create(rewriter, op.getLoc(), withDims(x, placed), op.getX());
    rewriter.replaceOp(op, broadcastTo(rewriter, op.getLoc(), spread, op.getType()));
    return success();
  }

  /// The dimensions that aren't of size 1.
  static SmallVector<int64_t> wideDims(RankedTensorType type) {
    SmallVector<int64_t> wide;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (constantOf(dimOf(type, i)) != 1)
        wide.push_back(i);
    return wide;
  }

  /// The axis along which `value` is 0, 1, ..., size - 1.
  static std::optional<int64_t> gridAxis(Value value, AffineExpr size) {
    // Follow the axis backwards: broadcasts keep it (counted from the end), reshapes may only move
    // dimensions of size 1 around it.
    SmallVector<Operation *> path;
    while (!value.getDefiningOp<IotaOp>()) {
      Operation *op = value.getDefiningOp();
      if (!op || !isa<ReshapeOp, BroadcastOp>(op))
        return std::nullopt;
      path.push_back(op);
      value = op->getOperand(0);
    }
    auto iota = value.getDefiningOp<IotaOp>();
    if (constantOf(iota.getStart().getExprs()[0]) != 0 || constantOf(iota.getStep().getExprs()[0]) != 1)
      return std::nullopt;
    int64_t axis = iota.getAxis();
    if (dimOf(iota.getType(), axis) != size)
      return std::nullopt;
    for (Operation *op : llvm::reverse(path)) {
      RankedTensorType from = typeOf(op->getOperand(0)), to = typeOf(op->getResult(0));
      if (isa<BroadcastOp>(op)) {
        axis += to.getRank() - from.getRank();
        continue;
      }
      // Only dimensions of size 1 come or go.
      SmallVector<int64_t> before = wideDims(from), after = wideDims(to);
      auto *position = llvm::find(before, axis);
      if (position == before.end() || before.size() != after.size())
        return std::nullopt;
      for (auto [i, j] : llvm::zip(before, after))
        if (dimOf(from, i) != dimOf(to, j))
          return std::nullopt;
      axis = after[position - before.begin()];
    }
    return axis;
  }
};

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// A reshape that keeps the last dimension and merges or splits those before it.
ReshapeOp leadingReshape(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  RankedTensorType from = typeOf(reshape.getX()), to = reshape.getType();
  if (from.getRank() < 2 || to.getRank() < 2 || dimOf(from, from.getRank() - 1) != dimOf(to, to.getRank() - 1))
    return {};
  return reshape;
}

/// matmul(reshape(x), matrix) = reshape(matmul(x, matrix))
struct ReshapeBehindMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    ReshapeOp reshape = leadingReshape(op.getLhs());
    if (!reshape || op.getTransposeLhs() || typeOf(op.getRhs()).getRank() != 2)
      return rewriter.notifyMatchFailure(op, "not rows times a matrix");
    SmallVector<AffineExpr> dims = dimsOf(typeOf(reshape.getX()));
    dims.back() = dimOf(op.getType(), op.getType().getRank() - 1);
    auto product = MatmulOp::create(rewriter, op.getLoc(), withDims(op.getType(), dims), reshape.getX(), op.getRhs(),
                                    op.getTransposeLhsAttr(), op.getTransposeRhsAttr());
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), product);
    return success();
  }
};

/// elementwise(reshape(x), row) = reshape(elementwise(x, row)), where the others are rows or scalars,
/// or reshaped alike.
struct ReshapeBehindElementwise : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op, PatternRewriter &rewriter) const override {
    auto result = typeOf(op->getResult(0));
    RankedTensorType before, after;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      ReshapeOp reshape = leadingReshape(operand);
      if (!reshape || !reshape->hasOneUse()) {
        if (typeOf(operand).getRank() > 1)
          return rewriter.notifyMatchFailure(op, "an operand is neither reshaped nor a row");
        operands.push_back(operand);
        continue;
      }
      RankedTensorType from = typeOf(reshape.getX());
      if (before && (dimsOf(before) != dimsOf(from) || dimsOf(after) != dimsOf(reshape.getType())))
        return rewriter.notifyMatchFailure(op, "operands are reshaped differently");
      before = from;
      after = reshape.getType();
      operands.push_back(reshape.getX());
    }
    if (!before || dimsOf(after) != dimsOf(result))
      return rewriter.notifyMatchFailure(op, "no operand of the result's shape is reshaped");
    Operation *moved = rewriter.clone(*op);
    moved->setOperands(operands);
    moved->getResult(0).setType(withDims(result, dimsOf(before)));
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, result, moved->getResult(0));
    return success();
  }
};

/// reshape(transpose(reshape(x))) where the first reshape merges runs of dimensions and the last one
/// splits them again: one transpose that moves the runs.
///
///     [B, H, T, D] -> [B * H, T, D] -> [B * H, D, T] -> [B, H, D, T]
struct TransposeOfMerged : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto transpose = op.getX().getDefiningOp<TransposeOp>();
    auto merge = transpose ? transpose.getX().getDefiningOp<ReshapeOp>() : ReshapeOp();
    if (!merge)
      return rewriter.notifyMatchFailure(op, "not a transpose between reshapes");
    SmallVector<AffineExpr> dims = dimsOf(typeOf(merge.getX())), merged = dimsOf(merge.getType());
    // Runs of source dimensions, one for each merged dimension.
    SmallVector<SmallVector<int64_t>> runs;
    size_t next = 0;
    for (AffineExpr size : merged) {
      SmallVector<int64_t> run;
      AffineExpr product = getAffineConstantExpr(1, op.getContext());
      do {
        if (next == dims.size())
          return rewriter.notifyMatchFailure(op, "the first reshape does not merge");
        run.push_back(next);
        product = normalize(product * dims[next++]);
      } while (product != size);
      runs.push_back(run);
    }
    if (next != dims.size())
      return rewriter.notifyMatchFailure(op, "the first reshape does not merge");
    SmallVector<int64_t> perm;
    SmallVector<AffineExpr> split;
    for (int64_t p : transpose.getPerm())
      for (int64_t i : runs[p]) {
        perm.push_back(i);
        split.push_back(dims[i]);
      }
    if (tensorOf(split, op.getType().getElementType()) != op.getType())
      return rewriter.notifyMatchFailure(op, "the last reshape splits otherwise");
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), merge.getX(), perm);
    return success();
  }
};

struct Canonicalize : nx::impl::NxCanonicalizeBase<Canonicalize> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      if (op.getDialectNamespace() == NxDialect::getDialectNamespace())
        op.getCanonicalizationPatterns(patterns, context);
    patterns.add<EvaluateKnown, DecidedSelect, DecidedCompare, MergeBroadcasts, BroadcastBehindElementwise,
                 UnbroadcastMask, GatherOfGrid, ReshapeBehindMatmul, ReshapeBehindElementwise, TransposeOfMerged>(context);
    // x + 0 is left alone: it makes 0 of -0.
    patterns.add<DropNeutral<MulOp>>(context, 1, true);
    patterns.add<DropNeutral<DivOp>>(context, 1, false);
    patterns.add<DropNeutral<SubOp>>(context, 0, false);
    patterns.add<DropNeutral<AndOp>>(context, 1, true);
    patterns.add<DropNeutral<OrOp>>(context, 0, true);
    // Top down: a reshape meets the transpose that it comes from before what uses it moves it away.
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     GreedyRewriteConfig().setUseTopDownTraversal())))
      signalPassFailure();
  }
};

} // namespace
