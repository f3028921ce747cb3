//===- Report.cpp - From a solution to the plan that people read ----------===//

#include "compiler/partition/Report.h"
#include "compiler/partition/UserPlan.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <numeric>

using namespace mlir;
using namespace nx;

namespace {
class Reporter {
public:
  Reporter(const SearchSpace &space, const Solution &solution, const Pins &pins, const Costs &costs,
           PartitionPlan &plan)
      : space(space), solution(solution), pins(pins), costs(costs), plan(plan),
        share("1/" + std::to_string(space.parts)) {}

  void run();

private:
  struct Use {
    unsigned choice, op;
  };
  void reportParam(unsigned value, ArrayRef<Use> uses);
  void reportCollective(unsigned op, const Conversion &conversion);
  void reportUnsplit(const OpNode &node);
  std::string splitName(unsigned value, const Sharding &sharding) const;
  std::string reasonFor(unsigned value, const Use &use) const;
  std::string cannotSplit(const OpNode &node) const;

  const SearchSpace &space;
  const Solution &solution;
  const Pins &pins;
  const Costs &costs;
  PartitionPlan &plan;
  std::string share;
};
} // namespace

static std::string quoted(const std::string &name) { return "'" + name + "'"; }

std::string Reporter::splitName(unsigned value, const Sharding &sharding) const {
  if (!sharding.isSplit())
    return "replicated";
  WeightRole role = weightRole(space, value, sharding.dim);
  std::string name = "dim " + std::to_string(sharding.dim);
  if (role != WeightRole::None)
    name = (role == WeightRole::Column ? "column (" : "row (") + name + ")";
  if (sharding.blocks.size() > 1)
    name += " in " + std::to_string(sharding.blocks.size()) + " blocks";
  return name;
}

/// Why a costly operation is not split, when sizes are the reason.
std::string Reporter::cannotSplit(const OpNode &node) const {
  auto divides = [&](int64_t size) { return size % space.parts == 0; };
  if (auto attention = dyn_cast<AttentionOp>(node.op)) {
    auto heads = constantOf(dimOf(cast<RankedTensorType>(attention.getQuery().getType()), 1));
    auto keyHeads = constantOf(dimOf(cast<RankedTensorType>(attention.getKey().getType()), 1));
    auto isLegal = [&](int64_t degree) {
      return *keyHeads % degree == 0 || *heads / *keyHeads % degree == 0 ||
             *heads % std::lcm(*keyHeads, degree) == 0;
    };
    if (isLegal(space.parts))
      return "";
    std::string text = std::to_string(*heads) + " heads", legal;
    if (*heads != *keyHeads)
      text += " on " + std::to_string(*keyHeads) + " key heads";
    for (int64_t degree = 1; degree <= *heads; ++degree)
      if (isLegal(degree))
        legal += (legal.empty() ? "" : ", ") + std::to_string(degree);
    return text + " do not divide by " + std::to_string(space.parts) + "; legal degrees: " + legal;
  }
  std::string sizes;
  for (auto [i, factor] : llvm::enumerate(node.rule.factors)) {
    auto size = constantOf(factor.size);
    if (!size || *size == 1 || factor.kind == Factor::Kind::Whole || !space.isModelFactor(node, i))
      continue;
    if (divides(*size))
      return "";
    if (!sizes.empty())
      sizes += "; ";
    sizes += "size " + std::to_string(*size) + " does not divide by " + std::to_string(space.parts) +
             ", legal degrees: " + legalDegrees(*size);
  }
  return sizes.empty() ? "none of its dimensions comes from a weight" : sizes;
}

std::string Reporter::reasonFor(unsigned value, const Use &use) const {
  const OpNode &node = space.ops[use.op];
  const Strategy &strategy = node.strategies[solution.decisions[use.op].strategy];
  const Sharding &sharding = space.values[value].choices[use.choice];
  std::string prefix = pins.contains(value) ? "asked for by the plan; " : "";
  std::string name = quoted(nodeName(node.op));
  if (sharding.isSplit()) {
    if (node.rule.factors[strategy.factor].kind == Factor::Kind::Reduction)
      return prefix + "each rank sums over its " + share + " of the inputs of " + name;
    if (Costs::isCostly(node.op))
      return prefix + "each rank computes its " + share + " of the outputs of " + name;
    return prefix + "goes with values of " + name + " that are split";
  }
  if (pins.contains(value))
    return "asked for by the plan";
  bool maySplit = llvm::any_of(space.values[value].choices, [](const Sharding &s) { return s.isSplit(); });
  if (!maySplit && Costs::isCostly(node.op))
    if (std::string reason = cannotSplit(node); !reason.empty())
      return reason;
  if (!maySplit)
    return name + " needs it whole";
  return "used with whole values by " + name + "; splitting would cost more than it saves";
}

void Reporter::reportParam(unsigned value, ArrayRef<Use> uses) {
  const ValueNode &node = space.values[value];
  auto param = cast<ParamOp>(node.source);
  int64_t bytes = costs.bytesOf(node.type());
  plan.weightBytes += bytes;
  for (const Use &use : uses) {
    const Sharding &sharding = node.choices[use.choice];
    int64_t perRank = sharding.isSplit() ? bytes / space.parts : bytes;
    plan.weightBytesPerRank += perRank;
    plan.params.push_back({param.getName().str(), std::vector<int64_t>(node.type().getShape()),
                           splitName(value, sharding), reasonFor(value, use), bytes, perRank});
  }
}

void Reporter::reportCollective(unsigned op, const Conversion &conversion) {
  const ValueNode &value = space.values[conversion.value];
  const Sharding &from = value.choices[conversion.from], &to = value.choices[conversion.to];
  plan.seconds += costs.reshard(value.type(), from, to);
  if (from.isReplicated())
    return;
  bool isDirect = to.isSplit() && to.isContiguous();
  PartitionPlan::Collective entry;
  entry.kind = from.isPartial()                            ? isDirect ? "reduce_scatter" : "all_reduce"
               : isDirect && from.isContiguous() && from.dim != to.dim ? "all_to_all"
                                                                       : "all_gather";
  Operation *maker = value.value.getDefiningOp();
  std::string user = quoted(nodeName(space.ops[op].op));
  if (isa<func::ReturnOp>(space.ops[op].op))
    user = "the output";
  entry.node = maker ? nodeName(maker) : "";
  entry.reason = from.isPartial() ? "each rank has a term of the " + stringifyReduceKind(from.reduce).str()
                                  : "each rank has " + share + " of dim " + std::to_string(from.dim);
  entry.reason += "; " + user + (to.isSplit() ? " needs another split" : " needs the whole value");
  AffineExpr size = productOf(dimsOf(value.type()), value.value.getContext()) *
                    int64_t(llvm::divideCeil(value.type().getElementTypeBitWidth(), 8));
  entry.size = dimToString(normalize(size), symbolNames(space.ops[op].op));
  entry.bytes = costs.bytesOf(value.type());
  entry.moved = int64_t(costs.movedBytes(value.type(), from, to));
  plan.collectives.push_back(std::move(entry));
}

void Reporter::reportUnsplit(const OpNode &node) {
  std::string reason = cannotSplit(node);
  if (reason.empty())
    reason = "moving its values would cost more than splitting saves";
  plan.unsplit.push_back({nodeName(node.op), reason});
}

void Reporter::run() {
  plan.sizes = costs.symbols;
  std::vector<SmallVector<Use>> uses(space.values.size());
  for (auto [op, decision] : llvm::enumerate(solution.decisions)) {
    const OpNode &node = space.ops[op];
    for (auto [value, choice] : decision.sources)
      if (llvm::none_of(uses[value], [&](const Use &use) { return use.choice == choice; }))
        uses[value].push_back({choice, unsigned(op)});
    for (const Conversion &conversion : decision.conversions)
      reportCollective(op, conversion);
    double compute = costs.compute(space, node, node.strategies[decision.strategy]);
    plan.seconds += compute;
    plan.computeSeconds += compute;
    plan.unsplitSeconds += costs.compute(space, node, node.strategies[0]);
    if (space.parts > 1 && Costs::isCostly(node.op) && node.strategies[decision.strategy].factor < 0)
      reportUnsplit(node);
  }
  for (auto [value, node] : llvm::enumerate(space.values))
    if (isa_and_nonnull<ParamOp>(node.source) && !uses[value].empty())
      reportParam(value, uses[value]);
}

void nx::reportPlan(const SearchSpace &space, const Solution &solution, const Pins &pins,
                    const Costs &costs, PartitionPlan &plan) {
  Reporter(space, solution, pins, costs, plan).run();
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static std::string bytesText(int64_t bytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (bytes < 10000)
    os << bytes << " B";
  else if (bytes < 10000000)
    os << llvm::format("%.1f KB", double(bytes) / 1e3);
  else
    os << llvm::format("%.1f MB", double(bytes) / 1e6);
  return text;
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

/// Columns as wide as their longest cell.
static void printTable(raw_ostream &os, ArrayRef<SmallVector<std::string>> rows) {
  SmallVector<size_t> widths;
  for (auto &row : rows)
    for (auto [i, cell] : llvm::enumerate(row)) {
      if (i >= widths.size())
        widths.push_back(0);
      widths[i] = std::max(widths[i], cell.size());
    }
  for (auto &row : rows) {
    os << " ";
    for (auto [i, cell] : llvm::enumerate(row)) {
      os << " " << cell;
      if (i + 1 < row.size())
        os.indent(widths[i] - cell.size() + 1);
    }
    os << "\n";
  }
}

void PartitionPlan::explain(raw_ostream &os) const {
  os << "partition plan for " << degree << (degree == 1 ? " rank" : " ranks");
  if (!sizes.empty()) {
    os << ", assuming ";
    llvm::interleaveComma(sizes, os, [&](auto &size) { os << size.first << "=" << size.second; });
  }
  os << "\nparameters: " << bytesText(weightBytes) << " in all, " << bytesText(weightBytesPerRank)
     << " on each rank\n";
  SmallVector<SmallVector<std::string>> rows;
  for (const Param &param : params)
    rows.push_back({param.name, shapeText(param.shape), param.split, bytesText(param.bytesPerRank), param.reason});
  printTable(os, rows);
  int64_t moved = 0;
  for (const Collective &collective : collectives)
    moved += collective.moved;
  os << "collectives: " << collectives.size() << " per step, " << bytesText(moved) << " into each rank\n";
  rows.clear();
  for (const Collective &c : collectives)
    rows.push_back({c.kind, c.node, c.size + " bytes", bytesText(c.moved), c.reason});
  printTable(os, rows);
  if (!unsplit.empty()) {
    os << "not split:\n";
    rows.clear();
    for (const Unsplit &u : unsplit)
      rows.push_back({u.node, u.reason});
    printTable(os, rows);
  }
  os << llvm::format("estimated step: %.3f ms (compute %.3f ms, communication %.3f ms); on one rank %.3f ms\n",
                     seconds * 1e3, computeSeconds * 1e3, (seconds - computeSeconds) * 1e3, unsplitSeconds * 1e3);
}

void PartitionPlan::printJson(raw_ostream &os) const {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("degree", degree);
    json.attributeObject("assumed_sizes", [&] {
      for (auto &[name, size] : sizes)
        json.attribute(name, size);
    });
    json.attribute("weight_bytes", weightBytes);
    json.attribute("weight_bytes_per_rank", weightBytesPerRank);
    json.attribute("estimated_seconds", seconds);
    json.attribute("compute_seconds", computeSeconds);
    json.attribute("one_rank_seconds", unsplitSeconds);
    json.attributeArray("parameters", [&] {
      for (const Param &p : params)
        json.object([&] {
          json.attribute("name", p.name);
          json.attributeArray("shape", [&] {
            for (int64_t size : p.shape)
              json.value(size);
          });
          json.attribute("split", p.split);
          json.attribute("bytes", p.bytes);
          json.attribute("bytes_per_rank", p.bytesPerRank);
          json.attribute("reason", p.reason);
        });
    });
    json.attributeArray("collectives", [&] {
      for (const Collective &c : collectives)
        json.object([&] {
          json.attribute("kind", c.kind);
          json.attribute("node", c.node);
          json.attribute("size", c.size);
          json.attribute("bytes", c.bytes);
          json.attribute("moved_bytes", c.moved);
          json.attribute("reason", c.reason);
        });
    });
    json.attributeArray("not_split", [&] {
      for (const Unsplit &u : unsplit)
        json.object([&] {
          json.attribute("node", u.node);
          json.attribute("reason", u.reason);
        });
    });
  });
  os << "\n";
}

std::vector<std::pair<std::string, std::string>> PartitionPlan::table() const {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Param &param : params)
    pairs.push_back({param.name, param.split});
  return pairs;
}
