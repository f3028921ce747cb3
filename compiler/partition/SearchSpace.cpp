//===- SearchSpace.cpp - Strategies and choices from sharding rules -------===//

#include "compiler/partition/SearchSpace.h"
#include "mlir/Transforms/RegionUtils.h"
#include <numeric>

using namespace mlir;
using namespace nx;

/// A split into more blocks than this moves too small pieces to be of use.
static constexpr size_t maxBlocks = 64;
/// States of one value; more would come from a chain of ever finer blocks.
static constexpr size_t maxChoices = 24;

FailureOr<SearchSpace> SearchSpace::build(func::FuncOp func, int64_t parts) {
  SearchSpace space;
  space.parts = parts;
  space.collect(func);
  for (OpNode &node : space.ops)
    if (node.hasRule && failed(node.rule.verify(node.op, [&] { return node.op->emitOpError(); })))
      return failure();
  space.findOrigins(func);
  space.enumerate();
  return space;
}

void SearchSpace::collect(func::FuncOp func) {
  auto addValue = [&](Value value, Operation *source = nullptr) {
    unsigned index = values.size();
    valueOf[value] = index;
    values.push_back({value, {Sharding::replicated()}, {}, source});
    values.back().origins.assign(values.back().type().getRank(), DimOrigin::Unknown);
    return index;
  };
  for (BlockArgument argument : func.getArguments())
    addValue(argument);
  for (Operation &op : func.getBody().front()) {
    if (isa<ParamOp, ConstantOp>(op)) {
      addValue(op.getResult(0), &op);
      continue;
    }
    OpNode node{&op, {}, false, {}, {}, {}};
    if (auto shardable = dyn_cast<ShardingRuleOpInterface>(op)) {
      node.rule = shardable.getShardingRule();
      node.hasRule = true;
    }
    for (Value operand : op.getOperands())
      node.operands.push_back(valueOf.lookup(operand));
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    for (Value value : captured)
      node.operands.push_back(valueOf.lookup(value));
    for (Value result : op.getResults())
      node.results.push_back(addValue(result));
    node.strategies.push_back({-1, {}, SmallVector<unsigned>(node.operands.size(), 0),
                               SmallVector<unsigned>(node.results.size(), 0)});
    opOf[&op] = ops.size();
    ops.push_back(std::move(node));
  }
  opsOf.resize(values.size());
  for (auto [i, node] : llvm::enumerate(ops))
    for (ArrayRef<unsigned> list : {ArrayRef(node.operands), ArrayRef(node.results)})
      for (unsigned value : list)
        if (opsOf[value].empty() || opsOf[value].back() != i)
          opsOf[value].push_back(i);
}

//===----------------------------------------------------------------------===//
// Where dimensions come from
//===----------------------------------------------------------------------===//

/// Calls `visit(value, dims)` for each operand and result.
template <typename Fn> static void forEachTensor(const OpNode &node, Fn visit) {
  for (auto [value, dims] : llvm::zip(node.operands, node.rule.operands))
    visit(value, dims);
  for (auto [value, dims] : llvm::zip_equal(node.results, node.rule.results))
    visit(value, dims);
}

void SearchSpace::findOrigins(func::FuncOp func) {
  SmallVector<unsigned> changed;
  auto mark = [&](unsigned value, int64_t dim, DimOrigin origin) {
    DimOrigin &now = values[value].origins[dim];
    if (origin <= now)
      return;
    now = origin;
    changed.push_back(value);
  };

  // Data: symbolic sizes, the first dimension of every input, all of an integer or boolean input.
  for (auto [index, node] : llvm::enumerate(values))
    for (int64_t dim = 0, rank = node.type().getRank(); dim < rank; ++dim) {
      bool isInput = isa<BlockArgument>(node.value);
      if (!constantOf(dimOf(node.type(), dim)) ||
          (isInput && (dim == 0 || !isa<FloatType>(node.type().getElementType()))))
        mark(index, dim, DimOrigin::Data);
    }
  // Model: the dimensions of what was computed from weights alone and goes into a contraction or is a
  // table to look up. (Not of a bias or a position table: these follow what they are added to.)
  llvm::BitVector isWeight(values.size());
  for (auto [index, node] : llvm::enumerate(values))
    isWeight[index] = node.source != nullptr;
  for (const OpNode &node : ops) {
    bool allWeights = !node.operands.empty() &&
                      llvm::all_of(node.operands, [&](unsigned v) { return isWeight[v]; });
    for (unsigned result : node.results)
      isWeight[result] = allWeights;
    if (isa<MatmulOp, ConvOp, AttentionOp, GatherOp>(node.op))
      for (unsigned operand : node.operands)
        if (isWeight[operand])
          for (int64_t dim = 0, rank = values[operand].type().getRank(); dim < rank; ++dim)
            mark(operand, dim, DimOrigin::Model);
  }

  // A factor has the origin of every dimension that it is, and of a product that belongs to the model;
  // a product belongs to the data only with all its factors.
  while (!changed.empty()) {
    unsigned value = changed.pop_back_val();
    for (unsigned op : opsOf[value]) {
      const OpNode &node = ops[op];
      if (!node.hasRule)
        continue;
      SmallVector<DimOrigin> origins(node.rule.factors.size(), DimOrigin::Unknown);
      forEachTensor(node, [&](unsigned v, ArrayRef<FactoredDim> dims) {
        for (auto [dim, origin] : llvm::zip_equal(dims, values[v].origins))
          for (unsigned f : dim.factors)
            if (dim.factors.size() == 1 || origin == DimOrigin::Model)
              origins[f] = std::max(origins[f], origin);
      });
      forEachTensor(node, [&](unsigned v, ArrayRef<FactoredDim> dims) {
        for (auto [i, dim] : llvm::enumerate(dims)) {
          // A part of a dimension says nothing about the whole unless all parts are used alike.
          if (dim.factors.empty())
            continue;
          bool allData = llvm::all_of(dim.factors, [&](unsigned f) { return origins[f] == DimOrigin::Data; });
          bool anyModel = llvm::any_of(dim.factors, [&](unsigned f) { return origins[f] == DimOrigin::Model; });
          if (allData)
            mark(v, i, DimOrigin::Data);
          else if (anyModel)
            mark(v, i, DimOrigin::Model);
        }
      });
    }
  }
}

bool SearchSpace::isModelFactor(const OpNode &node, unsigned f) const {
  DimOrigin origin = DimOrigin::Unknown;
  forEachTensor(node, [&](unsigned v, ArrayRef<FactoredDim> dims) {
    for (auto [dim, dimOrigin] : llvm::zip_equal(dims, values[v].origins))
      if (llvm::is_contained(dim.factors, f) && (dim.factors.size() == 1 || dimOrigin == DimOrigin::Model))
        origin = std::max(origin, dimOrigin);
  });
  return origin == DimOrigin::Model;
}

//===----------------------------------------------------------------------===//
// Strategies
//===----------------------------------------------------------------------===//

namespace {
/// A dimension around one of its factors: `outer` times the factor times `inner`.
struct AroundFactor {
  AffineExpr outer, inner;
  std::optional<int64_t> outerSize() const { return constantOf(outer); }
  std::optional<int64_t> innerSize() const { return constantOf(inner); }
};
} // namespace

static AroundFactor around(const ShardingRule &rule, const FactoredDim &dim, unsigned factor) {
  MLIRContext *context = rule.factors[factor].size.getContext();
  AroundFactor result{getAffineConstantExpr(1, context), getAffineConstantExpr(1, context)};
  AffineExpr *side = &result.outer;
  for (unsigned f : dim.factors) {
    if (f == factor)
      side = &result.inner;
    else
      *side = *side * rule.factors[f].size;
  }
  return result;
}

std::optional<Sharding> SearchSpace::shardingOf(const OpNode &node, ArrayRef<FactoredDim> dims,
                                                unsigned factor, ArrayRef<int64_t> blocks) const {
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(dim.factors, factor))
      continue;
    AroundFactor sizes = around(node.rule, dim, factor);
    auto outer = sizes.outerSize(), inner = sizes.innerSize();
    if (!outer || !inner) {
      // Part of a symbolic size: only a contiguous split can be written down.
      if (outer == 1 && blocks.size() == 1 && !dim.isWindow())
        return Sharding::split(i, {});
      return std::nullopt;
    }
    SmallVector<int64_t> all(dim.before.begin(), dim.before.end());
    if (all.size() + size_t(*outer) * blocks.size() + dim.after.size() > maxBlocks)
      return std::nullopt;
    for (int64_t k = 0; k < *outer; ++k)
      for (int64_t block : blocks)
        all.push_back(block * *inner);
    llvm::append_range(all, dim.after);
    if (llvm::any_of(all, [&](int64_t block) { return block % parts; }))
      return std::nullopt;
    return Sharding::split(i, all);
  }
  return Sharding::replicated();
}

unsigned SearchSpace::choice(unsigned value, const Sharding &sharding, bool isMade) {
  SmallVector<Sharding> &choices = values[value].choices;
  auto *it = llvm::find(choices, sharding);
  unsigned index = it - choices.begin();
  bool isNew = it == choices.end();
  if (isNew)
    choices.push_back(sharding);
  if (isNew && !isMade)
    notMade.insert({value, index});
  else if (isNew || (isMade && notMade.erase({value, index})))
    worklist.push_back({value, index});
  return index;
}

/// Adds the strategy that splits `factor` in `blocks`. `operandChoice` (operand, choice) is the state that
/// asked for it: a window knows only the blocks that it covers.
void SearchSpace::addSplit(unsigned op, unsigned factor, ArrayRef<int64_t> blocks,
                           std::optional<std::pair<unsigned, unsigned>> operandChoice) {
  OpNode &node = ops[op];
  const Factor &f = node.rule.factors[factor];
  if (f.kind == Factor::Kind::Whole || llvm::any_of(blocks, [&](int64_t b) { return b == 0 || b % parts; }))
    return;
  SmallVector<Sharding> operands, results;
  for (auto [i, dims] : llvm::enumerate(node.rule.operands)) {
    std::optional<Sharding> s = operandChoice && operandChoice->first == i
        ? values[node.operands[i]].choices[operandChoice->second]
        : shardingOf(node, dims, factor, blocks);
    if (!s || (values[node.operands[i]].choices.size() >= maxChoices &&
               !llvm::is_contained(values[node.operands[i]].choices, *s)))
      return;
    operands.push_back(*s);
  }
  for (auto [i, dims] : llvm::enumerate(node.rule.results)) {
    std::optional<Sharding> s = f.kind == Factor::Kind::Reduction
        ? std::optional(Sharding::partial(f.reduce))
        : shardingOf(node, dims, factor, blocks);
    if (!s || (values[node.results[i]].choices.size() >= maxChoices &&
               !llvm::is_contained(values[node.results[i]].choices, *s)))
      return;
    results.push_back(*s);
  }
  Strategy strategy;
  strategy.factor = factor;
  strategy.blocks.assign(blocks.begin(), blocks.end());
  for (auto [value, s] : llvm::zip(node.operands, operands))
    strategy.operands.push_back(choice(value, s));
  strategy.operands.resize(node.operands.size(), 0); // values used inside regions
  for (auto [value, s] : llvm::zip_equal(node.results, results))
    strategy.results.push_back(choice(value, s));
  if (!llvm::is_contained(node.strategies, strategy))
    node.strategies.push_back(std::move(strategy));
}

void SearchSpace::addKeyPicking(unsigned op) {
  OpNode &node = ops[op];
  if (!isa<AttentionOp>(node.op))
    return;
  auto headsOf = [&](unsigned operand) { return *constantOf(dimOf(values[node.operands[operand]].type(), 1)); };
  int64_t heads = headsOf(0), keyHeads = headsOf(1);
  // Each key head is repeated until all ranks have a whole number of them.
  if (keyHeads % parts == 0 || heads / keyHeads % parts == 0 || heads % std::lcm(keyHeads, parts))
    return;
  Strategy strategy = node.strategies[0];
  strategy.picksKeys = true;
  strategy.factor = node.rule.results[0][1].factors.front();
  Sharding byHeads = Sharding::split(1, {heads});
  strategy.operands[0] = choice(node.operands[0], byHeads);
  if (node.operands.size() > 3) {
    RankedTensorType mask = values[node.operands[3]].type();
    int64_t dim = mask.getRank() - 3;
    if (dim >= 0 && constantOf(dimOf(mask, dim)) == heads)
      strategy.operands[3] = choice(node.operands[3], Sharding::split(dim, {heads}));
  }
  strategy.results[0] = choice(node.results[0], byHeads);
  node.strategies.push_back(std::move(strategy));
}

/// Lets `op` pass on the partial state that an operand may have. Another operand may have to be made
/// partial for that: each rank then takes its share of a value that all have.
void SearchSpace::addLinear(unsigned op, unsigned value, unsigned choiceIndex) {
  Sharding state = values[value].choices[choiceIndex];
  // A contraction of a partial value would be computed in full by every rank.
  if ((state.reduce != ReduceKind::sum && state.reduce != ReduceKind::mean) ||
      isa<MatmulOp, ConvOp, AttentionOp>(ops[op].op))
    return;
  bool isFloat = isa<FloatType>(values[value].type().getElementType());
  for (auto &set : ops[op].rule.linear) {
    bool concerned = llvm::any_of(set, [&](unsigned operand) { return ops[op].operands[operand] == value; });
    bool possible = llvm::all_of(set, [&](unsigned operand) {
      return isFloat || llvm::is_contained(values[ops[op].operands[operand]].choices, state);
    });
    if (!possible || !concerned)
      continue;
    Strategy strategy = ops[op].strategies[0];
    for (unsigned operand : set)
      strategy.operands[operand] = choice(ops[op].operands[operand], state, /*isMade=*/false);
    for (auto [i, result] : llvm::enumerate(ops[op].results))
      strategy.results[i] = choice(result, state);
    if (!llvm::is_contained(ops[op].strategies, strategy))
      ops[op].strategies.push_back(std::move(strategy));
  }
}

/// A new state of a value: every operation that touches it may have a strategy with that state.
void SearchSpace::propagate(unsigned value, unsigned choiceIndex) {
  Sharding state = values[value].choices[choiceIndex];
  for (unsigned op : opsOf[value]) {
    if (!ops[op].hasRule)
      continue;
    if (state.isPartial()) {
      addLinear(op, value, choiceIndex);
      continue;
    }
    auto tryDims = [&](ArrayRef<FactoredDim> dims, std::optional<unsigned> operand) {
      const ShardingRule &rule = ops[op].rule;
      const FactoredDim &dim = dims[state.dim];
      ArrayRef<int64_t> blocks = state.blocks;
      // A window takes whole blocks, and what lies before and after does not matter.
      std::optional<std::pair<unsigned, unsigned>> operandChoice;
      if (dim.isWindow()) {
        auto sum = [](ArrayRef<int64_t> list) { return std::accumulate(list.begin(), list.end(), int64_t(0)); };
        int64_t before = sum(dim.before), after = sum(dim.after);
        while (before > 0 && !blocks.empty()) {
          before -= blocks.front();
          blocks = blocks.drop_front();
        }
        while (after > 0 && !blocks.empty()) {
          after -= blocks.back();
          blocks = blocks.drop_back();
        }
        if (before != 0 || after != 0 || blocks.empty())
          return;
        operandChoice = {*operand, choiceIndex};
      }
      for (unsigned f : dim.factors) {
        AroundFactor sizes = around(rule, dim, f);
        auto outer = sizes.outerSize(), inner = sizes.innerSize(), size = constantOf(rule.factors[f].size);
        if (!size)
          continue;
        if (blocks.empty()) {
          if (outer == 1)
            addSplit(op, f, {*size});
          continue;
        }
        if (!outer || !inner || blocks.size() % *outer)
          continue;
        // The blocks repeat `outer` times, and each holds whole inner parts.
        SmallVector<int64_t> own;
        int64_t total = 0;
        size_t period = blocks.size() / *outer;
        bool fits = true;
        for (size_t k = 0; k < blocks.size() && fits; ++k) {
          fits = blocks[k] % *inner == 0 && blocks[k] == blocks[k % period];
          if (k < period) {
            own.push_back(blocks[k] / *inner);
            total += own.back();
          }
        }
        if (fits && total == *size)
          addSplit(op, f, own, operandChoice);
      }
    };
    // Adding strategies does not move nodes, so that the dimensions stay where they are.
    for (unsigned i = 0; i < ops[op].rule.operands.size(); ++i)
      if (ops[op].operands[i] == value)
        tryDims(ops[op].rule.operands[i], i);
    for (unsigned i = 0; i < ops[op].rule.results.size(); ++i)
      if (ops[op].results[i] == value)
        tryDims(ops[op].rule.results[i], std::nullopt);
  }
}

void SearchSpace::enumerate() {
  if (parts == 1)
    return;
  for (unsigned op = 0; op < ops.size(); ++op) {
    addKeyPicking(op);
    for (unsigned f = 0; f < ops[op].rule.factors.size(); ++f) {
      auto size = constantOf(ops[op].rule.factors[f].size);
      if (size && isModelFactor(ops[op], f))
        addSplit(op, f, {*size});
    }
  }
  while (!worklist.empty()) {
    auto [value, choiceIndex] = worklist.pop_back_val();
    propagate(value, choiceIndex);
  }
}
