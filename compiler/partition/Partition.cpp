//===- Partition.cpp - Plan a function and rewrite it for one rank --------===//

#include "compiler/partition/Partition.h"
#include "compiler/partition/Report.h"
#include "compiler/partition/UserPlan.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <chrono>

using namespace mlir;
using namespace nx;

namespace {

/// A function with the plan for it.
struct PlannedFunction {
  func::FuncOp func;
  SearchSpace space;
  Solution solution;
};

/// Rewrites one function for one rank by its solution.
class Partitioner {
public:
  explicit Partitioner(PlannedFunction &planned)
      : func(planned.func), space(planned.space), solution(planned.solution),
        local(space.values.size()) {}

  LogicalResult run();

private:
  /// The rank's value of `value` in state `choice`; it was made before.
  Value lookup(unsigned value, unsigned choice) const {
    for (auto [c, v] : local[value])
      if (c == choice)
        return v;
    return {};
  }
  void materializeSources(const Decision &decision);
  void convert(const OpNode &node, const Conversion &conversion);
  LogicalResult rewrite(const OpNode &node, const Strategy &strategy);

  func::FuncOp func;
  const SearchSpace &space;
  const Solution &solution;
  std::vector<SmallVector<std::pair<unsigned, Value>, 2>> local; // per value: (choice, rank's value)
  SmallVector<Operation *> replaced;
};

void Partitioner::materializeSources(const Decision &decision) {
  for (auto [value, choice] : decision.sources) {
    const ValueNode &node = space.values[value];
    if (lookup(value, choice))
      continue;
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(node.source);
    const Sharding &sharding = node.choices[choice];
    Value part;
    if (auto param = dyn_cast<ParamOp>(node.source))
      part = shardParam(builder, param, sharding, space.parts);
    else
      part = shardConstant(builder, cast<ConstantOp>(node.source), sharding, space.parts);
    local[value].push_back({choice, part});
  }
}

void Partitioner::convert(const OpNode &node, const Conversion &conversion) {
  const ValueNode &value = space.values[conversion.value];
  OpBuilder builder(node.op);
  // A collective belongs to what made the value.
  Operation *maker = value.value.getDefiningOp();
  Value result = reshard(builder, maker ? maker->getLoc() : node.op->getLoc(),
                         lookup(conversion.value, conversion.from), value.type(),
                         value.choices[conversion.from], value.choices[conversion.to], space.parts);
  local[conversion.value].push_back({conversion.to, result});
}

LogicalResult Partitioner::rewrite(const OpNode &node, const Strategy &strategy) {
  Operation *op = node.op;
  SmallVector<Value> operands;
  IRMapping inside; // values used in regions
  for (auto [value, choice] : llvm::zip_equal(node.operands, strategy.operands)) {
    operands.push_back(lookup(value, choice));
    inside.map(space.values[value].value, operands.back());
  }
  operands.truncate(op->getNumOperands());
  bool isSame = llvm::all_of(llvm::zip_equal(node.operands, strategy.operands), [&](auto use) {
    return lookup(std::get<0>(use), std::get<1>(use)) == space.values[std::get<0>(use)].value;
  });
  if (strategy.factor < 0 && isSame) {
    for (auto [value, choice] : llvm::zip_equal(node.results, strategy.results))
      local[value].push_back({choice, space.values[value].value});
    return success();
  }
  if (isa<func::ReturnOp>(op)) {
    op->setOperands(operands);
    return success();
  }

  replaced.push_back(op);
  OpBuilder builder(op);
  if (strategy.picksKeys)
    for (unsigned i : {1, 2})
      operands[i] = pickKeyHeads(builder, op->getLoc(), operands[i], space.parts);
  Operation *part = builder.clone(*op, inside);
  part->setOperands(operands);
  SmallVector<Type> types;
  for (auto [value, choice, result] : llvm::zip_equal(node.results, strategy.results, part->getResults())) {
    result.setType(localType(space.values[value].type(), space.values[value].choices[choice], space.parts));
    types.push_back(result.getType());
    local[value].push_back({choice, result});
  }
  if (strategy.factor >= 0)
    cast<ShardingRuleOpInterface>(part).adaptToPart(node.rule, strategy.factor, space.parts);
  // What the rule says of the results must be what the operation makes of its operands.
  if (auto infer = dyn_cast<InferTypeOpInterface>(part)) {
    SmallVector<Type> inferred;
    if (failed(infer.inferReturnTypes(part->getContext(), part->getLoc(), part->getOperands(),
                                      part->getDiscardableAttrDictionary(), part->getPropertiesStorage(),
                                      part->getRegions(), inferred)))
      return failure();
    if (inferred != types)
      return part->emitOpError() << "sharding rule is wrong: a part makes " << inferred << ", the rule says " << types;
  }
  return success();
}

LogicalResult Partitioner::run() {
  for (auto [i, node] : llvm::enumerate(space.values))
    if (isa<BlockArgument>(node.value))
      local[i].push_back({0, node.value});
  for (auto [node, decision] : llvm::zip_equal(space.ops, solution.decisions)) {
    materializeSources(decision);
    for (const Conversion &conversion : decision.conversions)
      convert(node, conversion);
    if (failed(rewrite(node, node.strategies[decision.strategy])))
      return failure();
  }
  // The users of what was replaced come after it and were replaced, too.
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  for (const ValueNode &value : space.values)
    if (value.source && value.source->use_empty())
      value.source->erase();
  return success();
}

} // namespace

/// Plans all functions; nothing is changed.
static LogicalResult planAll(ModuleOp module, const PartitionOptions &options, PartitionPlan &plan,
                             std::vector<PlannedFunction> &planned) {
  if (options.degree < 1)
    return module.emitError() << "tensor-parallel degree " << options.degree << ": must be 1 or more";
  auto begin = std::chrono::steady_clock::now();
  plan = {};
  plan.degree = options.degree;
  auto rules = parsePlan(options.planText, options.planName, module.getLoc());
  if (failed(rules))
    return failure();
  SmallVector<bool> used(rules->size(), false);

  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    if (!func.getBody().hasOneBlock())
      return func.emitError() << "function '" << func.getName() << "' has several blocks";
    for (Type type : func.getArgumentTypes())
      if (!isa<RankedTensorType>(type) || !hasKnownDims(cast<RankedTensorType>(type)))
        return func.emitError() << "cannot be partitioned: an argument has type " << type;
    for (Operation &op : func.getBody().front())
      for (Value value : llvm::concat<Value>(op.getOperands(), op.getResults()))
        if (!isa<RankedTensorType>(value.getType()) || !hasKnownDims(cast<RankedTensorType>(value.getType())))
          return op.emitOpError() << "cannot be partitioned: a value has type " << value.getType();
    FailureOr<SearchSpace> space = SearchSpace::build(func, options.degree);
    if (failed(space))
      return failure();
    FailureOr<Pins> pins = resolvePlan(*rules, *space, used);
    if (failed(pins))
      return failure();
    Costs costs(func, options);
    Solution solution = solve(*space, costs, *pins);
    if (solution.stuck) {
      auto diag = solution.stuck->emitError()
                  << options.planName << ": '" << nodeName(solution.stuck) << "' ("
                  << solution.stuck->getName() << ") cannot use the splits that the plan asks for";
      const OpNode &node = space->ops[space->opOf.lookup(solution.stuck)];
      for (unsigned value : node.operands)
        if (auto it = pins->find(value); it != pins->end() && !it->second.empty())
          diag.attachNote(space->values[value].source->getLoc())
              << "parameter '" << cast<ParamOp>(space->values[value].source).getName() << "' is to be "
              << (space->values[value].choices[it->second.front()].isSplit() ? "split on dimension " +
                      std::to_string(space->values[value].choices[it->second.front()].dim) : "whole");
      return failure();
    }
    reportPlan(*space, solution, *pins, costs, plan);
    planned.push_back({func, std::move(*space), std::move(solution)});
  }
  for (auto [rule, wasUsed] : llvm::zip_equal(*rules, used))
    if (!wasUsed)
      return module.emitError() << rule.where << ": '" << rule.pattern << "' matches no parameter";
  plan.planningSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return success();
}

LogicalResult nx::planPartition(ModuleOp module, const PartitionOptions &options, PartitionPlan &plan) {
  std::vector<PlannedFunction> planned;
  return planAll(module, options, plan, planned);
}

LogicalResult nx::partition(ModuleOp module, const PartitionOptions &options, PartitionPlan &plan) {
  std::vector<PlannedFunction> planned;
  if (failed(planAll(module, options, plan, planned)))
    return failure();
  if (options.degree == 1)
    return success();
  for (PlannedFunction &function : planned)
    if (failed(Partitioner(function).run()))
      return failure();
  RewritePatternSet patterns(module.getContext());
  populateCollectivePatterns(patterns);
  if (failed(applyPatternsGreedily(module, std::move(patterns))))
    return failure();
  module.walk([](MulOp op) { op->removeAttr(kShareAttr); });
  return success();
}
