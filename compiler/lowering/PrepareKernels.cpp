//===- PrepareKernels.cpp - Forms that kernel families take ---------------===//

#include "compiler/lowering/Passes.h"
#include "compiler/lowering/StridedView.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nx;

namespace nx {
#define GEN_PASS_DEF_NXPREPAREKERNELS
#include "compiler/lowering/Passes.h.inc"
} // namespace nx

namespace {

struct PrepareKernels : public nx::impl::NxPrepareKernelsBase<PrepareKernels> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      if (func->hasAttr(kFamilyAttr))
        continue;
      IRRewriter rewriter(func.getContext());
      func.walk([&](ShardOp shard) { lowerShard(rewriter, func, shard); });
      func.walk([&](MatmulOp matmul) { packWeights(rewriter, matmul); });
      func.walk([&](ConvOp conv) { separatePadding(rewriter, conv); });
      func.walk([&](PoolOp pool) { separatePadding(rewriter, pool); });
      func.walk([&](Operation *op) {
        if (isa<MatmulOp, AttentionOp>(op))
          sinkViews(rewriter, op);
      });
      // The originals that nothing else reads.
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
        if (isOpTriviallyDead(&op))
          rewriter.eraseOp(&op);
    }
  }

  /// Packs the right-hand side of a matmul when it is a parameter used as a matrix.
  static void packWeights(IRRewriter &rewriter, MatmulOp matmul) {
    auto param = matmul.getRhs().getDefiningOp<ParamOp>();
    if (!param || param.getType().getRank() != 2 || !param.getType().getElementType().isF32() ||
        matmul.getTransposeLhs())
      return;
    SmallVector<Attribute> recipe(param.getRecipe().getValue());
    if (!recipe.empty() && isa<PackStepAttr>(recipe.back()))
      return;
    rewriter.setInsertionPoint(param);
    RankedTensorType type = param.getType();
    if (matmul.getTransposeRhs()) {
      recipe.push_back(TransposeStepAttr::get(rewriter.getContext(), {1, 0}));
      type = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    }
    recipe.push_back(PackStepAttr::get(rewriter.getContext()));
    auto packed = ParamOp::create(rewriter, param.getLoc(), type, param.getName(),
                                  param.getSourceType(), rewriter.getArrayAttr(recipe));
    rewriter.modifyOpInPlace(matmul, [&] {
      matmul.getRhsMutable().assign(packed);
      matmul.setTransposeRhs(false);
    });
  }

  /// `x [N, C, spatial..]` with `lo` and `hi` more elements around its spatial dimensions.
  static Value padded(IRRewriter &rewriter, Location loc, Value x, Value value, ArrayRef<int64_t> lo,
                      ArrayRef<int64_t> hi) {
    MLIRContext *context = rewriter.getContext();
    auto amounts = [&](ArrayRef<int64_t> pads) {
      SmallVector<AffineExpr> exprs(2, getAffineConstantExpr(0, context));
      for (int64_t pad : pads)
        exprs.push_back(getAffineConstantExpr(pad, context));
      return DimsAttr::get(context, exprs);
    };
    return PadOp::create(rewriter, loc, x, value, amounts(lo), amounts(hi), PadMode::constant);
  }

  static bool hasPadding(ArrayRef<int64_t> lo, ArrayRef<int64_t> hi) {
    auto isNotZero = [](int64_t pad) { return pad != 0; };
    return llvm::any_of(lo, isNotZero) || llvm::any_of(hi, isNotZero);
  }

  /// Windows that stay inside of their input address it directly: a copy of the input costs less
  /// than a check of each element.
  static void separatePadding(IRRewriter &rewriter, ConvOp conv) {
    if (!hasPadding(conv.getPadsLo(), conv.getPadsHi()))
      return;
    rewriter.setInsertionPoint(conv);
    Value input = padded(rewriter, conv.getLoc(), conv.getInput(), Value(), conv.getPadsLo(),
                         conv.getPadsHi());
    SmallVector<int64_t> none(conv.getPadsLo().size(), 0);
    rewriter.modifyOpInPlace(conv, [&] {
      conv.getInputMutable().assign(input);
      conv.setPadsLo(none);
      conv.setPadsHi(none);
    });
  }

  /// The same for pooling, where what is added does not count: the least value for a maximum, zeros
  /// for an average that divides by the size of the window.
  static void separatePadding(IRRewriter &rewriter, PoolOp pool) {
    auto input = cast<RankedTensorType>(pool.getInput().getType());
    auto result = cast<RankedTensorType>(pool.getResult().getType());
    bool isMax = pool.getKind() == PoolKind::max, ceil = pool.getCeilMode();
    SmallVector<int64_t> lo(pool.getPadsLo()), hi(pool.getPadsHi());
    if (!isMax && (ceil || !pool.getCountIncludePad()))
      return;
    for (size_t i = 0; ceil && i < hi.size(); ++i) {
      auto size = constantOf(dimOf(input, i + 2)), out = constantOf(dimOf(result, i + 2));
      if (!size || !out)
        return;
      // As much as the last window reaches beyond the input.
      hi[i] = (*out - 1) * pool.getStrides()[i] +
              pool.getDilations()[i] * (pool.getWindow()[i] - 1) + 1 - lo[i] - *size;
    }
    if (!hasPadding(lo, hi))
      return;
    rewriter.setInsertionPoint(pool);
    Location loc = pool.getLoc();
    Type element = input.getElementType();
    Value least;
    if (isMax) {
      Attribute value;
      if (auto type = dyn_cast<FloatType>(element)) {
        value = FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true));
      } else {
        unsigned width = element.getIntOrFloatBitWidth();
        value = IntegerAttr::get(element, isUnsignedElement(element)
                                              ? APInt::getMinValue(width)
                                              : APInt::getSignedMinValue(width));
      }
      least = ConstantOp::create(
          rewriter, loc, DenseElementsAttr::get(RankedTensorType::get({}, element), value));
    }
    Value source = padded(rewriter, loc, pool.getInput(), least, lo, hi);
    SmallVector<int64_t> none(lo.size(), 0);
    rewriter.modifyOpInPlace(pool, [&] {
      pool.getInputMutable().assign(source);
      pool.setPadsLo(none);
      pool.setPadsHi(none);
      pool.setCeilMode(false);
    });
  }

  /// The symbol `@rank` of `func`, added when it is not there.
  static AffineExpr rankSymbol(func::FuncOp func) {
    SmallVector<Attribute> names;
    if (auto attr = func->getAttrOfType<ArrayAttr>(kSymbolsAttr))
      names.assign(attr.begin(), attr.end());
    Builder builder(func.getContext());
    auto rank = builder.getStringAttr(kRankSymbol);
    auto it = llvm::find(names, rank);
    unsigned position = it - names.begin();
    if (it == names.end()) {
      names.push_back(rank);
      func->setAttr(kSymbolsAttr, builder.getArrayAttr(names));
    }
    return builder.getAffineSymbolExpr(position);
  }

  /// nx.shard is a slice of each block that starts at a multiple of the rank.
  static void lowerShard(IRRewriter &rewriter, func::FuncOp func, ShardOp shard) {
    rewriter.setInsertionPoint(shard);
    Location loc = shard.getLoc();
    MLIRContext *context = func.getContext();
    auto type = cast<RankedTensorType>(shard.getX().getType());
    AffineExpr rank = rankSymbol(func), parts = getAffineConstantExpr(shard.getParts(), context);
    // The rank's part of `x` in the block [start, start + size) of dimension `dim`.
    auto partOf = [&](Value x, int64_t dim, AffineExpr start, AffineExpr size) -> Value {
      SmallVector<AffineExpr> dims = dimsOf(cast<RankedTensorType>(x.getType()));
      SmallVector<AffineExpr> starts(dims.size(), getAffineConstantExpr(0, context));
      dims[dim] = divideExactly(size, parts);
      starts[dim] = start + rank * dims[dim];
      return SliceOp::create(rewriter, loc, withDims(type, dims), x, DimsAttr::get(context, starts),
                             SmallVector<int64_t>(dims.size(), 1));
    };
    int64_t dim = shard.getDim();
    ArrayRef<int64_t> blocks = shard.getBlocks();
    AffineExpr zero = getAffineConstantExpr(0, context);
    Value part;
    if (shard.isContiguous()) {
      part = partOf(shard.getX(), dim, zero, dimOf(type, dim));
    } else if (llvm::all_equal(blocks)) {
      // One slice of all blocks: [.., blocks * d, ..] is [.., blocks, d, ..] too.
      SmallVector<AffineExpr> dims = dimsOf(type);
      dims[dim] = getAffineConstantExpr(blocks.front(), context);
      dims.insert(dims.begin() + dim, getAffineConstantExpr(blocks.size(), context));
      part = ReshapeOp::create(rewriter, loc, withDims(type, dims), shard.getX());
      part = partOf(part, dim + 1, zero, dims[dim + 1]);
      part = ReshapeOp::create(rewriter, loc, shard.getType(), part);
    } else {
      SmallVector<Value> pieces;
      int64_t start = 0;
      for (int64_t block : blocks) {
        pieces.push_back(partOf(shard.getX(), dim, getAffineConstantExpr(start, context),
                                getAffineConstantExpr(block, context)));
        start += block;
      }
      part = ConcatOp::create(rewriter, loc, pieces, dim);
    }
    rewriter.replaceOp(shard, part);
  }

  /// Gives `op` its own copies of the views in front of its operands.
  static void sinkViews(IRRewriter &rewriter, Operation *op) {
    rewriter.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands()) {
      SmallVector<Operation *> views;
      viewOf(operand.get(), &views);
      IRMapping map;
      for (Operation *view : llvm::reverse(views))
        rewriter.clone(*view, map);
      if (!views.empty())
        rewriter.modifyOpInPlace(op, [&] { operand.set(map.lookup(operand.get())); });
    }
  }
};

} // namespace
