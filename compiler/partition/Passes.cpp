//===- Passes.cpp - Passes of the partitioner -----------------------------===//

#include "compiler/partition/Passes.h"
#include "compiler/partition/Partition.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace nx {
#define GEN_PASS_DEF_NXPLAN
#define GEN_PASS_DEF_NXPARTITION
#define GEN_PASS_DEF_NXSIMPLIFYCOLLECTIVES
#define GEN_PASS_DEF_NXPRINTSHARDINGRULES
#define GEN_PASS_REGISTRATION
#include "compiler/partition/Passes.h.inc"
} // namespace nx

using namespace nx;

/// The options of a planning pass, with the plan file read.
static FailureOr<PartitionOptions> makeOptions(ModuleOp module, int64_t degree, StringRef planFile,
                                               ArrayRef<std::string> sizes) {
  PartitionOptions options;
  options.degree = degree;
  if (!planFile.empty()) {
    auto file = llvm::MemoryBuffer::getFile(planFile, /*IsText=*/true);
    if (!file)
      return module.emitError() << "cannot read the plan '" << planFile << "': " << file.getError().message();
    options.planText = (*file)->getBuffer().str();
    options.planName = planFile.rsplit('/').second.empty() ? planFile.str() : planFile.rsplit('/').second.str();
  }
  for (StringRef entry : sizes) {
    auto [name, value] = entry.split('=');
    int64_t size;
    if (value.getAsInteger(10, size) || size < 0)
      return module.emitError() << "size '" << entry << "' is not name=value";
    options.sizes[name] = size;
  }
  return options;
}

static LogicalResult print(ModuleOp module, StringRef form, const PartitionPlan &plan) {
  if (form == "text")
    plan.explain(llvm::outs());
  else if (form == "json")
    plan.printJson(llvm::outs());
  else if (!form.empty())
    return module.emitError() << "explain is 'text' or 'json', not '" << form << "'";
  return success();
}

namespace {

struct Plan : nx::impl::NxPlanBase<Plan> {
  using NxPlanBase::NxPlanBase;
  void runOnOperation() override {
    auto options = makeOptions(getOperation(), degree, planFile, sizes);
    PartitionPlan plan;
    if (failed(options) || failed(planPartition(getOperation(), *options, plan)) ||
        failed(print(getOperation(), explain, plan)))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

struct Partition : nx::impl::NxPartitionBase<Partition> {
  using NxPartitionBase::NxPartitionBase;
  void runOnOperation() override {
    auto options = makeOptions(getOperation(), degree, planFile, sizes);
    PartitionPlan plan;
    if (failed(options) || failed(partition(getOperation(), *options, plan)) ||
        failed(print(getOperation(), explain, plan)))
      signalPassFailure();
  }
};

struct SimplifyCollectives : nx::impl::NxSimplifyCollectivesBase<SimplifyCollectives> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateCollectivePatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

struct PrintShardingRules : nx::impl::NxPrintShardingRulesBase<PrintShardingRules> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](ShardingRuleOpInterface op) {
      ShardingRule rule = op.getShardingRule();
      if (failed(rule.verify(op, [&] { return op->emitOpError(); })))
        return WalkResult::interrupt();
      llvm::outs() << op->getName() << ": ";
      rule.print(llvm::outs());
      llvm::outs() << "\n";
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

void nx::registerPartitionPasses() { ::nx::registerNxPartitionPasses(); }
