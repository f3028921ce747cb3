//===- Collectives.cpp - Fewer and smaller collectives --------------------===//
//
//   all_reduce(a) + all_reduce(b)         -> all_reduce(a + b)
//   (all_reduce(a) + c) + all_reduce(b)   -> all_reduce(a + b) + c
//   all_reduce(a + share(c))              -> all_reduce(a) + c, when all ranks have c
//   slice(all_reduce(x))                  -> all_reduce(slice(x))
//   shard(all_reduce(x))                  -> reduce_scatter(x)
//   shard(all_gather(x))                  -> x, or all_to_all(x) when the dimensions differ
//   all_gather(shard(x))                  -> x
//   all_gather(reduce_scatter(x))         -> all_reduce(x)
//   shard(param), shard(splat)            -> a step in the recipe, a smaller splat
//
// A collective that others use too stays, so no pattern makes work. Equal ones are merged by CSE.
//
//===----------------------------------------------------------------------===//

#include "compiler/partition/Partition.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace nx;

/// The all_reduce (a sum) that makes `value` and has no other use.
static AllReduceOp onlyUsedSum(Value value) {
  auto reduce = value.getDefiningOp<AllReduceOp>();
  return reduce && reduce.getKind() == ReduceKind::sum && reduce->hasOneUse() ? reduce : AllReduceOp();
}

namespace {

struct MergeSums : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    AllReduceOp a = onlyUsedSum(op.getLhs()), b = onlyUsedSum(op.getRhs());
    if (!a || !b || a.getParts() != b.getParts())
      return rewriter.notifyMatchFailure(op, "not a sum of two all_reduces");
    Value sum = AddOp::create(rewriter, op.getLoc(), a.getX(), b.getX());
    rewriter.replaceOpWithNewOp<AllReduceOp>(op, sum, ReduceKind::sum, a.getParts());
    return success();
  }
};

/// Terms that every rank has wait until after the sum.
struct MergeSumsAcrossTerm : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      AllReduceOp outer = onlyUsedSum(y);
      auto inner = x.getDefiningOp<AddOp>();
      if (!outer || !inner || !inner->hasOneUse())
        continue;
      for (auto [reduced, term] : {std::pair(inner.getLhs(), inner.getRhs()), std::pair(inner.getRhs(), inner.getLhs())}) {
        AllReduceOp a = onlyUsedSum(reduced);
        // Equal types: a broadcast in between would change what is moved.
        if (!a || a.getParts() != outer.getParts() || a.getType() != outer.getType())
          continue;
        Value sum = AddOp::create(rewriter, op.getLoc(), a.getX(), outer.getX());
        Value all = AllReduceOp::create(rewriter, outer.getLoc(), sum, ReduceKind::sum, a.getParts());
        rewriter.replaceOpWithNewOp<AddOp>(op, all, term);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(op, "not a sum of two all_reduces and a term");
  }
};

/// The planner adds what every rank has to a partial sum, by shares; where the sum follows, add it then.
struct TermAfterReduce : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() != ReduceKind::sum)
      return rewriter.notifyMatchFailure(op, "not a sum");
    // The additions that only this sum uses.
    SmallVector<Value> tree{op.getX()};
    while (!tree.empty()) {
      auto add = tree.pop_back_val().getDefiningOp<AddOp>();
      if (!add || !add->hasOneUse() || add.getType() != op.getType())
        continue;
      for (auto [x, y] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
        auto share = y.getDefiningOp<MulOp>();
        if (!share || !share->hasAttr(kShareAttr) || x.getType() != add.getType())
          continue;
        rewriter.setInsertionPointAfter(op);
        auto sum = AddOp::create(rewriter, add.getLoc(), op, share.getLhs());
        rewriter.replaceOp(add, x);
        rewriter.replaceAllUsesExcept(op, sum, sum);
        return success();
      }
      tree.append({add.getLhs(), add.getRhs()});
    }
    return rewriter.notifyMatchFailure(op, "no share is added");
  }
};

struct SliceBeforeReduce : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto reduce = op.getX().getDefiningOp<AllReduceOp>();
    if (!reduce || !reduce->hasOneUse())
      return rewriter.notifyMatchFailure(op, "not the only use of an all_reduce");
    Value slice = SliceOp::create(rewriter, op.getLoc(), op.getType(), reduce.getX(), op.getStartsAttr(), op.getStepsAttr());
    rewriter.replaceOpWithNewOp<AllReduceOp>(op, slice, reduce.getKind(), reduce.getParts());
    return success();
  }
};

struct ShardOfReduce : OpRewritePattern<ShardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShardOp op, PatternRewriter &rewriter) const override {
    auto reduce = op.getX().getDefiningOp<AllReduceOp>();
    if (!reduce || !reduce->hasOneUse() || !op.isContiguous() || reduce.getParts() != op.getParts())
      return rewriter.notifyMatchFailure(op, "not a contiguous part of an all_reduce of its own");
    rewriter.replaceOpWithNewOp<ReduceScatterOp>(op, reduce.getX(), reduce.getKind(), op.getDim(), op.getParts());
    return success();
  }
};

struct ShardOfGather : OpRewritePattern<ShardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShardOp op, PatternRewriter &rewriter) const override {
    auto gather = op.getX().getDefiningOp<AllGatherOp>();
    if (!gather || !op.isContiguous() || gather.getParts() != op.getParts())
      return rewriter.notifyMatchFailure(op, "not a contiguous part of an all_gather");
    if (gather.getDim() == op.getDim()) {
      rewriter.replaceOp(op, gather.getX());
      return success();
    }
    if (!gather->hasOneUse())
      return rewriter.notifyMatchFailure(op, "the gathered value has other uses");
    rewriter.replaceOpWithNewOp<AllToAllOp>(op, gather.getX(), op.getDim(), gather.getDim(), op.getParts());
    return success();
  }
};

struct GatherOfPart : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op, PatternRewriter &rewriter) const override {
    if (auto shard = op.getX().getDefiningOp<ShardOp>();
        shard && shard.isContiguous() && shard.getDim() == op.getDim() && shard.getParts() == op.getParts()) {
      rewriter.replaceOp(op, shard.getX());
      return success();
    }
    if (auto scatter = op.getX().getDefiningOp<ReduceScatterOp>();
        scatter && scatter->hasOneUse() && scatter.getDim() == op.getDim() && scatter.getParts() == op.getParts()) {
      rewriter.replaceOpWithNewOp<AllReduceOp>(op, scatter.getX(), scatter.getKind(), op.getParts());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "not a gather of parts of one value");
  }
};

struct ShardOfSource : OpRewritePattern<ShardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShardOp op, PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getX().getType());
    if (!type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "not a parameter or constant");
    SmallVector<int64_t> blocks(op.getBlocks());
    if (blocks.empty())
      blocks.push_back(type.getDimSize(op.getDim()));
    Sharding to = Sharding::split(op.getDim(), blocks);
    Value part;
    if (auto param = op.getX().getDefiningOp<ParamOp>())
      part = shardParam(rewriter, param, to, op.getParts());
    else if (auto constant = op.getX().getDefiningOp<ConstantOp>(); constant && constant.getValue().isSplat())
      part = shardConstant(rewriter, constant, to, op.getParts());
    else
      return rewriter.notifyMatchFailure(op, "not a parameter or splat");
    rewriter.replaceOp(op, part);
    return success();
  }
};

} // namespace

void nx::populateCollectivePatterns(RewritePatternSet &patterns) {
  patterns.add<MergeSums, MergeSumsAcrossTerm, SliceBeforeReduce, ShardOfReduce, ShardOfGather, GatherOfPart,
               ShardOfSource, TermAfterReduce>(patterns.getContext());
}
