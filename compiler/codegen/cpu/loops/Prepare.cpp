#include "compiler/codegen/cpu/loops/Prepare.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace nx::loops {

// A generic that copies `source` into a new tensor.
static Value copyOf(OpBuilder &b, Location loc, Value source) {
  auto type = cast<RankedTensorType>(source.getType());
  Value empty =
      tensor::EmptyOp::create(b, loc, tensor::getMixedSizes(b, loc, source), type.getElementType());
  if (empty.getType() != type)
    empty = tensor::CastOp::create(b, loc, type, empty);
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto copy = linalg::GenericOp::create(b, loc, TypeRange{type}, ValueRange{source},
                                        ValueRange{empty}, ArrayRef<AffineMap>{identity, identity},
                                        loops, [](OpBuilder &b, Location loc, ValueRange args) {
                                          linalg::YieldOp::create(b, loc, args[0]);
                                        });
  return copy.getResult(0);
}

// A generic that fills a tensor with what `fill` fills it with.
static Value filled(OpBuilder &b, linalg::FillOp fill) {
  auto type = cast<RankedTensorType>(fill.getResult(0).getType());
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  Value value = fill.getInputs()[0];
  auto generic = linalg::GenericOp::create(
      b, fill.getLoc(), TypeRange{type}, ValueRange{}, ValueRange{fill.getOutputs()[0]},
      ArrayRef<AffineMap>{identity}, loops,
      [&](OpBuilder &b, Location loc, ValueRange) { linalg::YieldOp::create(b, loc, value); });
  return generic.getResult(0);
}

// Whether fusing into `operand` repeats no work that counts: the consumer visits each element of
// the producer once, or the producer is cheap.
static bool worthFusing(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || !producer->hasOneUse())
    return false;
  if (consumer.getMatchingIndexingMap(operand).isPermutation())
    return true;
  return producer.getBody()
             ->walk([](Operation *op) {
               bool costly =
                   isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
                   isa<tensor::ExtractOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp>(op);
               return costly ? WalkResult::interrupt() : WalkResult::advance();
             })
             .wasInterrupted() == false;
}

LogicalResult prepare(func::FuncOp kernel, bool fuse) {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitError("loop emitter: a kernel has one block");
  Block &body = kernel.getBody().front();
  IRRewriter rewriter(kernel.getContext());

  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || isa<linalg::GenericOp, linalg::FillOp>(op))
      continue;
    rewriter.setInsertionPoint(&op);
    if (failed(linalg::generalizeNamedOp(rewriter, structured)))
      return op.emitError("loop emitter: not a structured op");
  }

  RewritePatternSet patterns(kernel.getContext());
  if (fuse)
    linalg::populateElementwiseOpsFusionPatterns(patterns, worthFusing);
  linalg::GenericOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  tensor::CastOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  tensor::DimOp::getCanonicalizationPatterns(patterns, kernel.getContext());
  GreedyRewriteConfig config;
  config.enableFolding(true);
  if (failed(applyPatternsGreedily(kernel, std::move(patterns), config)))
    return kernel.emitError("loop emitter: simplification does not end");
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);

  // A fill whose elements are read becomes a generic.
  SmallVector<linalg::FillOp> fills(body.getOps<linalg::FillOp>());
  for (linalg::FillOp fill : fills) {
    auto isInit = [](OpOperand &use) {
      auto generic = dyn_cast<linalg::GenericOp>(use.getOwner());
      return generic && generic.isDpsInit(&use);
    };
    Value full;
    for (OpOperand &use : llvm::make_early_inc_range(fill.getResult(0).getUses())) {
      if (isInit(use) || isa<tensor::DimOp>(use.getOwner()))
        continue;
      if (!full) {
        rewriter.setInsertionPointAfter(fill);
        full = filled(rewriter, fill);
      }
      use.set(full);
    }
  }

  // An insert_slice overwrites its destination: that must be new memory with no other reader.
  SmallVector<tensor::InsertSliceOp> inserts(body.getOps<tensor::InsertSliceOp>());
  for (tensor::InsertSliceOp insert : inserts) {
    Value dest = insert.getDest();
    Operation *source = dest.getDefiningOp();
    bool ownMemory = isa_and_nonnull<tensor::EmptyOp>(source);
    if (isa_and_nonnull<linalg::GenericOp, tensor::InsertSliceOp>(source))
      ownMemory = llvm::all_of(dest.getUses(), [&](OpOperand &use) {
        return use.getOwner() == insert || isa<tensor::DimOp>(use.getOwner());
      });
    rewriter.setInsertionPoint(insert);
    if (!ownMemory) {
      insert.getDestMutable().set(copyOf(rewriter, insert.getLoc(), dest));
    } else if (isa<tensor::EmptyOp>(source) && !dest.hasOneUse()) {
      insert.getDestMutable().set(rewriter.clone(*source)->getResult(0));
    }
  }

  // Each result has memory of its own.
  auto ret = cast<func::ReturnOp>(body.getTerminator());
  llvm::SmallPtrSet<Value, 4> returned;
  rewriter.setInsertionPoint(ret);
  for (OpOperand &operand : ret->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      return ret.emitError("loop emitter: result ")
             << operand.getOperandNumber() << " is not a ranked tensor";
    Value root = operand.get();
    while (isa_and_nonnull<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
        root.getDefiningOp()))
      root = root.getDefiningOp()->getOperand(0);
    // Not a value that a later insert_slice overwrites: such an insert has copied it above.
    bool written = isa_and_nonnull<linalg::GenericOp, tensor::InsertSliceOp>(root.getDefiningOp());
    if (!written || !returned.insert(root).second)
      operand.set(copyOf(rewriter, ret.getLoc(), operand.get()));
  }
  return success();
}

} // namespace nx::loops
