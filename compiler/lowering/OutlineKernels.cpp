//===- OutlineKernels.cpp - Group operations into kernels -----------------===//

#include "compiler/lowering/Passes.h"
#include "compiler/lowering/StridedView.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace nx;

namespace nx {
#define GEN_PASS_DEF_NXOUTLINEKERNELS
#include "compiler/lowering/Passes.h.inc"
} // namespace nx

namespace {

/// Limits that keep compile time and register pressure of one kernel in bounds.
constexpr size_t kMaxOps = 48;
constexpr size_t kMaxOperands = 24;

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Operations that become one dispatch, or one operation that stays in the program (no family).
struct Group {
  StringRef family;
  SmallVector<Operation *> ops; // in program order
  RankedTensorType space;       // what element-wise members compute
  bool open = true;             // whether operations may still join
};

/// Stays in the program as it is.
bool isProgramOp(Operation *op) {
  return isa<ReshapeOp, CheckOp, AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp>(op);
}

bool isRowOp(Operation *op) {
  // Operations along the last dimension that keep the shape.
  int64_t rank = op->getNumOperands() ? typeOf(op->getOperand(0)).getRank() : 0;
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return int64_t(softmax.getAxis()) == rank - 1;
  if (auto norm = dyn_cast<LayerNormOp>(op))
    return int64_t(norm.getAxis()) == rank - 1;
  if (auto norm = dyn_cast<RmsNormOp>(op))
    return int64_t(norm.getAxis()) == rank - 1;
  return false;
}

class Outliner {
public:
  Outliner(ModuleOp module, func::FuncOp func)
      : module(module), func(func), symbols(module), rewriter(module.getContext()) {}

  LogicalResult run() {
    formGroups();
    return emitGroups();
  }

private:
  // --- grouping

  StringRef familyOf(Operation *op) {
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      auto param = matmul.getRhs().getDefiningOp<ParamOp>();
      bool packed = param && !param.getRecipe().empty() &&
                    isa<PackStepAttr>(param.getRecipe().getValue().back());
      if (packed)
        return kContractFamily;
      return matmul.getType().getElementType().isF32() ? kMatmulFamily : kLoopsFamily;
    }
    if (isa<AttentionOp>(op))
      return kAttentionFamily;
    if (isa<ScatterElementsOp, ScatterNdOp, TopKOp, RecurrentOp, DetOp, RoiAlignOp>(op))
      return kScalarFamily;
    return kLoopsFamily;
  }

  /// Whether `op` may become a part of `group`, whose members include producers of its operands.
  bool mayJoin(Operation *op, const Group &group) {
    if (!group.open || group.ops.size() >= kMaxOps || op->getNumResults() != 1 ||
        externalInputs(group, op) > kMaxOperands)
      return false;
    Value result = op->getResult(0);
    if (group.family == kContractFamily) {
      // A chain on the register tile: each value has one reader, nothing changes shape.
      Value last = group.ops.back()->getResult(0);
      if (!isa<ElementwiseOpInterface>(op) || !last.hasOneUse() || *last.user_begin() != op ||
          dimsOf(typeOf(result)) != dimsOf(typeOf(last)))
        return false;
      return typeOf(result).getElementType().isF32() &&
             llvm::all_of(op->getOperands(),
                          [](Value v) { return typeOf(v).getElementType().isF32(); });
    }
    if (group.family == kAttentionFamily || group.family == kMatmulFamily) {
      // The result may be written through a transpose or reshape.
      Value last = group.ops.back()->getResult(0);
      if (!isa<TransposeOp, ReshapeOp>(op) || !last.hasOneUse())
        return false;
      StridedView view = storageOfChain(group, op);
      return bool(view.base);
    }
    if (group.family != kLoopsFamily || !group.space)
      return false;
    SmallVector<AffineExpr> space = dimsOf(group.space);
    if (isa<ElementwiseOpInterface>(op))
      return dimsOf(typeOf(result)) == space;
    if (isRowOp(op))
      return !space.empty() && dimsOf(typeOf(result)) == space;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      auto x = typeOf(reduce.getX());
      return reduce.getAxes().size() == 1 && reduce.getAxes()[0] == x.getRank() - 1 &&
             dimsOf(x) == space;
    }
    return false;
  }

  /// How the kernel's root result is stored when the chain of views after it ends with `op`: the
  /// inverse of reading `op`'s row-major result back through the chain. Null base when impossible.
  StridedView storageOfChain(const Group &group, Operation *op) {
    SmallVector<Operation *> chain;
    for (Operation *member : group.ops)
      if (chain.empty() ? isa<AttentionOp, MatmulOp>(member) : true)
        chain.push_back(member);
    chain.push_back(op);
    return storageThroughViews(chain);
  }

  size_t externalInputs(const Group &group, Operation *extra) {
    llvm::SmallSetVector<Value, 16> inputs;
    auto add = [&](Operation *op) {
      for (Value v : op->getOperands())
        if (!isa_and_nonnull<ConstantOp>(v.getDefiningOp()))
          inputs.insert(v);
    };
    for (Operation *op : group.ops)
      add(op);
    add(extra);
    return inputs.size() + group.ops.size();
  }

  void formGroups() {
    for (Operation &op : func.getBody().front().without_terminator()) {
      if (isa<ParamOp, ConstantOp>(op))
        continue;
      int64_t last = -1;
      for (Value operand : op.getOperands())
        if (auto it = groupOf.find(operand.getDefiningOp()); it != groupOf.end())
          last = std::max(last, it->second);
      // Views that were cloned for one matmul or attention belong to its group.
      if (isa<ReshapeOp, TransposeOp, SliceOp>(op) && isPrivateView(&op)) {
        pendingViews.push_back(&op);
        continue;
      }
      bool program = isProgramOp(&op);
      if (last >= 0 && mayJoin(&op, groups[last]) && (!program || isa<ReshapeOp>(op))) {
        join(&op, last);
        continue;
      }
      Group group;
      if (program) {
        group.open = false;
      } else {
        group.family = familyOf(&op);
        group.space = op.getNumResults() == 1 ? typeOf(op.getResult(0)) : RankedTensorType();
        // Data movement with stores of its own shape stands alone, and so does what is emitted by
        // the general loops.
        if (group.family == kLoopsFamily && !isa<ElementwiseOpInterface, GatherOp, SliceOp>(op) &&
            !isRowOp(&op))
          group.open = false;
      }
      groups.push_back(group);
      if (group.family == kMatmulFamily || group.family == kAttentionFamily)
        adoptViews(&op, groups.size() - 1);
      join(&op, groups.size() - 1);
    }
  }

  void join(Operation *op, int64_t index) {
    groups[index].ops.push_back(op);
    groupOf[op] = index;
    if (isa<ReduceOp>(op))
      groups[index].open = false;
  }

  /// True when all that reads `op`, through further views, is one matmul or attention of
  /// activations, and the whole chain is expressible as addressing.
  bool isPrivateView(Operation *op) {
    Operation *reader = op;
    while (isa<ReshapeOp, TransposeOp, SliceOp>(reader)) {
      if (!reader->hasOneUse())
        return false;
      Operation *next = *reader->user_begin();
      if (isa<MatmulOp, AttentionOp>(next)) {
        StringRef family = familyOf(next);
        if (family != kMatmulFamily && family != kAttentionFamily)
          return false;
        SmallVector<Operation *> views;
        viewOf(reader->getResult(0), &views);
        return llvm::is_contained(views, op);
      }
      reader = next;
    }
    return false;
  }

  void adoptViews(Operation *op, int64_t index) {
    for (Operation *view : pendingViews)
      if (feeds(view, op)) {
        groups[index].ops.push_back(view);
        groupOf[view] = index;
      }
    llvm::erase_if(pendingViews, [&](Operation *view) { return groupOf.count(view); });
  }

  static bool feeds(Operation *view, Operation *op) {
    while (isa<ReshapeOp, TransposeOp, SliceOp>(view))
      view = *view->user_begin();
    return view == op;
  }

  // --- emission

  LogicalResult emitGroups() {
    Block &block = func.getBody().front();
    for (auto [index, group] : llvm::enumerate(groups)) {
      if (group.family.empty()) {
        for (Operation *op : group.ops)
          op->moveBefore(block.getTerminator());
        continue;
      }
      if (failed(emitKernel(group)))
        return failure();
    }
    materializeConstants();
    for (Group &group : llvm::reverse(groups))
      if (!group.family.empty())
        for (Operation *op : llvm::reverse(group.ops))
          rewriter.eraseOp(op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        rewriter.eraseOp(&op);
    return success();
  }

  LogicalResult emitKernel(Group &group) {
    llvm::SmallDenseSet<Operation *> members(group.ops.begin(), group.ops.end());
    llvm::SmallSetVector<Value, 16> inputs;
    llvm::SmallSetVector<Operation *, 8> constants;
    SmallVector<Value> results;
    SmallVector<Location> locations;
    for (Operation *op : group.ops) {
      locations.push_back(op->getLoc());
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (producer && members.contains(producer))
          continue;
        if (isa_and_nonnull<ConstantOp>(producer))
          constants.insert(producer);
        else
          inputs.insert(operand);
      }
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !members.contains(user); }))
          results.push_back(result);
    }
    // Values that an earlier group's dispatch replaced.
    SmallVector<Value> actual;
    for (Value input : inputs)
      actual.push_back(replaced.lookup(input) ? replaced.lookup(input) : input);

    SmallVector<AffineExpr> slots;
    func::FuncOp kernel =
        buildKernel(group, constants.getArrayRef(), inputs.getArrayRef(), results, slots);
    rewriter.setInsertionPoint(func.getBody().front().getTerminator());
    SmallVector<Type> types;
    for (Value result : results)
      types.push_back(result.getType());
    auto dispatch =
        DispatchOp::create(rewriter, FusedLoc::get(func.getContext(), locations), types,
                           kernel.getName(), actual, DimsAttr::get(func.getContext(), slots));
    for (auto [result, value] : llvm::zip(results, dispatch.getResults())) {
      replaced[result] = value;
      result.replaceUsesWithIf(value, [&](OpOperand &use) {
        auto it = groupOf.find(use.getOwner());
        return it == groupOf.end() || groups[it->second].family.empty();
      });
    }
    return success();
  }

  /// The kernel function of a group; an equal one when it exists. `slots` receives the program's
  /// expression of each kernel symbol.
  func::FuncOp buildKernel(const Group &group, ArrayRef<Operation *> constants,
                           ArrayRef<Value> inputs, ArrayRef<Value> results,
                           SmallVectorImpl<AffineExpr> &slots) {
    MLIRContext *context = func.getContext();
    // Number the symbols in the order in which the kernel mentions them, so that kernels which
    // differ only in the program's numbering are equal.
    llvm::MapVector<unsigned, unsigned> local;
    auto mention = [&](Attribute attr) {
      attr.walk([&](DimsAttr dims) {
        for (AffineExpr expr : dims.getExprs())
          expr.walk([&](AffineExpr e) {
            if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
              local.insert({symbol.getPosition(), local.size()});
          });
      });
    };
    for (Value input : inputs)
      mention(TypeAttr::get(input.getType()));
    for (Operation *op : group.ops) {
      mention(op->getAttrDictionary());
      for (Type type : op->getResultTypes())
        mention(TypeAttr::get(type));
    }
    SmallVector<AffineExpr> toLocal;
    for (auto [global, slot] : local) {
      slots.push_back(getAffineSymbolExpr(global, context));
      if (toLocal.size() <= global)
        toLocal.resize(global + 1, getAffineConstantExpr(0, context));
      toLocal[global] = getAffineSymbolExpr(slot, context);
    }
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](DimsAttr dims) {
      SmallVector<AffineExpr> exprs;
      for (AffineExpr expr : dims.getExprs())
        exprs.push_back(expr.replaceSymbols(toLocal));
      return std::make_pair(Attribute(DimsAttr::get(context, exprs)), WalkResult::skip());
    });

    SmallVector<Type> argumentTypes, resultTypes;
    SmallVector<Location> locations;
    for (Value input : inputs) {
      argumentTypes.push_back(replacer.replace(input.getType()));
      locations.push_back(UnknownLoc::get(context));
    }
    for (Value result : results)
      resultTypes.push_back(replacer.replace(result.getType()));

    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(module.getBody());
    auto kernel = func::FuncOp::create(rewriter, group.ops.back()->getLoc(), "kernel",
                                       rewriter.getFunctionType(argumentTypes, resultTypes));
    kernel.setPrivate();
    kernel->setAttr(kFamilyAttr, rewriter.getStringAttr(group.family));
    for (auto [i, input] : llvm::enumerate(inputs))
      if (auto param = input.getDefiningOp<ParamOp>())
        if (!param.getRecipe().empty() && isa<PackStepAttr>(param.getRecipe().getValue().back()))
          kernel.setArgAttr(i, kLayoutAttr, rewriter.getStringAttr("panel16"));
    Block *body = kernel.addEntryBlock();
    rewriter.setInsertionPointToStart(body);
    IRMapping map;
    map.map(inputs, body->getArguments());
    for (Operation *constant : constants)
      rewriter.clone(*constant, map);
    for (Operation *op : group.ops)
      replacer.replaceElementsIn(rewriter.clone(*op, map), /*replaceAttrs=*/true,
                                 /*replaceLocs=*/false, /*replaceTypes=*/true);
    SmallVector<Value> returned;
    for (Value result : results)
      returned.push_back(map.lookup(result));
    func::ReturnOp::create(rewriter, kernel.getLoc(), returned);
    return unique(kernel, group);
  }

  /// Names `kernel`, or erases it for an equal one that is there.
  func::FuncOp unique(func::FuncOp kernel, const Group &group) {
    std::string text;
    llvm::raw_string_ostream os(text);
    kernel.print(os, OpPrintingFlags().useLocalScope());
    auto [it, isNew] = kernels.try_emplace(text, kernel);
    if (!isNew) {
      rewriter.eraseOp(kernel);
      return it->second;
    }
    kernel.setName(nameOf(group));
    symbols.insert(kernel); // makes the name unique
    return kernel;
  }

  static std::string nameOf(const Group &group) {
    std::string name;
    llvm::raw_string_ostream os(name);
    size_t shown = 0;
    for (Operation *op : group.ops) {
      bool root = isa<MatmulOp, AttentionOp>(op);
      if ((group.family == kMatmulFamily || group.family == kAttentionFamily) && !root)
        continue; // views
      if (shown++)
        os << "_";
      if (shown > 4) {
        os << "etc";
        break;
      }
      os << op->getName().stripDialect();
      auto dimName = [&](AffineExpr dim) {
        auto size = constantOf(dim);
        os << (size ? std::to_string(*size) : "d");
      };
      if (auto matmul = dyn_cast<MatmulOp>(op)) {
        os << "_";
        SmallVector<AffineExpr> rhs = dimsOf(typeOf(matmul.getRhs()));
        if (matmul.getTransposeRhs())
          std::swap(rhs[rhs.size() - 1], rhs[rhs.size() - 2]);
        dimName(rhs[rhs.size() - 2]);
        os << "x";
        dimName(rhs.back());
      } else if (auto attention = dyn_cast<AttentionOp>(op)) {
        os << "_";
        dimName(dimOf(typeOf(attention.getQuery()), 1));
        os << "x";
        dimName(dimOf(typeOf(attention.getQuery()), 3));
      }
    }
    return name;
  }

  /// Constants that the program itself needs (a result, an operand of a collective) are written by
  /// a kernel of their own.
  void materializeConstants() {
    Block &block = func.getBody().front();
    for (Operation &op : llvm::make_early_inc_range(block))
      for (OpOperand &operand : op.getOpOperands()) {
        auto constant = operand.get().getDefiningOp<ConstantOp>();
        auto group = groupOf.find(&op);
        if (!constant || (group != groupOf.end() && !groups[group->second].family.empty()))
          continue;
        rewriter.setInsertionPoint(&op);
        auto copy = BroadcastOp::create(rewriter, constant.getLoc(), constant.getType(), constant);
        Group single;
        single.family = kLoopsFamily;
        single.ops.push_back(copy);
        SmallVector<AffineExpr> slots;
        func::FuncOp kernel = buildKernel(single, {constant}, {}, {copy.getResult()}, slots);
        auto dispatch = DispatchOp::create(rewriter, constant.getLoc(),
                                           TypeRange{constant.getType()}, kernel.getName(),
                                           ValueRange{}, DimsAttr::get(func.getContext(), {}));
        operand.set(dispatch.getResult(0));
        rewriter.eraseOp(copy);
      }
  }

  ModuleOp module;
  func::FuncOp func;
  SymbolTable symbols;
  IRRewriter rewriter;
  SmallVector<Group> groups;
  DenseMap<Operation *, int64_t> groupOf;
  SmallVector<Operation *> pendingViews;
  DenseMap<Value, Value> replaced;
  llvm::StringMap<func::FuncOp> kernels;
};

struct OutlineKernels : public nx::impl::NxOutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> programs;
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (!func->hasAttr(kFamilyAttr))
        programs.push_back(func);
    for (func::FuncOp func : programs)
      if (failed(Outliner(getOperation(), func).run()))
        return signalPassFailure();
  }
};

} // namespace
