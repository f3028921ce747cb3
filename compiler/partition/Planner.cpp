//===- Planner.cpp - Dynamic programming over the frontier ----------------===//

#include "compiler/partition/Planner.h"
#include "llvm/ADT/Hashing.h"
#include <unordered_map>

using namespace mlir;
using namespace nx;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// More combinations than this are cut to the cheapest ones; the work per operation grows with the square.
static constexpr size_t maxStates = 128;
/// In which states a source is at hand is kept track of when having all of it costs more than this: the
/// small weights that layers share would else multiply the combinations for next to nothing.
static constexpr double trackedSourceSeconds = 1e-6;

namespace {

/// The states in which a value is available: bit c stands for its choice c.
using Mask = uint32_t;

/// One combination of what is available, and the best way to it.
struct State {
  SmallVector<Mask, 12> masks; // per slot
  double cost = 0;
  unsigned previous = 0; // state of the step before
  unsigned strategy = 0;
};

class Solver {
public:
  Solver(const SearchSpace &space, const Costs &costs, const Pins &pins)
      : space(space), costs(costs), pins(pins), prices(space.values.size()) {}

  Solution run();

private:
  /// Which values are live after a step, and where they were before it.
  struct Step {
    SmallVector<unsigned> live;  // the value in each slot after the step
    SmallVector<int> origin;     // its slot before the step, or -1 - result index
    SmallVector<int> operandSlots; // slot before the step of each operand; -1 for a source not tracked
  };

  void planSlots();
  void priceSources();
  double price(unsigned value, unsigned from, unsigned to);
  double sourcePrice(unsigned value, unsigned to) const { return sourcePrices[value][to]; }
  /// Cheapest available choice to make `to` of; its cost in `cost`.
  unsigned cheapest(unsigned value, Mask mask, unsigned to, double &cost);
  /// What `strategy` costs in front of and in operation `op`; updates `before` (the masks of the slots before
  /// the step) and tells `decision` what was done.
  double apply(unsigned op, unsigned strategy, SmallVectorImpl<Mask> &before, Decision *decision);
  void after(unsigned op, unsigned strategy, ArrayRef<Mask> before, SmallVectorImpl<Mask> &masks) const;
  void prune(std::vector<State> &states, ArrayRef<unsigned> live);

  const SearchSpace &space;
  const Costs &costs;
  const Pins &pins;
  std::vector<Step> steps;
  std::vector<SmallVector<double, 16>> prices; // per value, from * choices + to; NaN when not known yet
  SmallVector<SmallVector<double>> computeCosts;
  std::vector<SmallVector<double, 4>> sourcePrices; // per source, per choice
};

/// Slots are the live values in the order of their first appearance: sources appear when an operation
/// first uses them, if another one uses them later.
void Solver::planSlots() {
  SmallVector<unsigned> lastUse(space.values.size(), 0);
  for (auto [i, node] : llvm::enumerate(space.ops))
    for (unsigned value : node.operands)
      lastUse[value] = i + 1;
  SmallVector<unsigned> live;
  for (auto [i, value] : llvm::enumerate(space.values))
    if (isa<BlockArgument>(value.value) && lastUse[i])
      live.push_back(i);
  steps.resize(space.ops.size() + 1);
  steps[0].live = live; // the state before the first operation
  for (auto [i, node] : llvm::enumerate(space.ops)) {
    Step &step = steps[i + 1];
    SmallVector<unsigned> before = live;
    auto slotOf = [&](unsigned value) -> int {
      auto *it = llvm::find(before, value);
      return it == before.end() ? -1 : it - before.begin();
    };
    // A source that is needed again is given a slot in the state before, still empty.
    for (unsigned value : node.operands)
      if (slotOf(value) < 0 && space.values[value].source &&
          (lastUse[value] > i + 1 || llvm::count(node.operands, value) > 1) &&
          costs.source(space.values[value], Sharding::replicated()) > trackedSourceSeconds)
        before.push_back(value);
    for (unsigned value : node.operands)
      step.operandSlots.push_back(slotOf(value));
    live.clear();
    for (auto [slot, value] : llvm::enumerate(before))
      if (lastUse[value] > i + 1) {
        live.push_back(value);
        step.origin.push_back(slot);
      }
    for (auto [r, value] : llvm::enumerate(node.results))
      if (lastUse[value]) {
        live.push_back(value);
        step.origin.push_back(-1 - int(r));
      }
    step.live = live;
  }
}

double Solver::price(unsigned value, unsigned from, unsigned to) {
  const ValueNode &node = space.values[value];
  size_t n = node.choices.size();
  if (prices[value].empty())
    prices[value].assign(n * n, std::nan(""));
  double &known = prices[value][from * n + to];
  if (std::isnan(known))
    known = costs.reshard(node.type(), node.choices[from], node.choices[to]);
  return known;
}

void Solver::priceSources() {
  for (auto [value, node] : llvm::enumerate(space.values)) {
    auto &list = sourcePrices.emplace_back();
    if (!node.source)
      continue;
    auto pin = pins.find(value);
    for (auto [to, choice] : llvm::enumerate(node.choices)) {
      bool allowed = pin == pins.end() || llvm::is_contained(pin->second, to);
      list.push_back(allowed ? costs.source(node, choice) : infinity);
    }
  }
}

unsigned Solver::cheapest(unsigned value, Mask mask, unsigned to, double &cost) {
  cost = infinity;
  unsigned best = 0;
  for (unsigned from = 0; from < space.values[value].choices.size(); ++from)
    if (mask & (Mask(1) << from))
      if (double c = price(value, from, to); c < cost) {
        cost = c;
        best = from;
      }
  return best;
}

double Solver::apply(unsigned op, unsigned strategy, SmallVectorImpl<Mask> &before, Decision *decision) {
  const OpNode &node = space.ops[op];
  const Strategy &s = node.strategies[strategy];
  double cost = computeCosts[op][strategy];
  for (auto [value, want, slot] : llvm::zip_equal(node.operands, s.operands, steps[op + 1].operandSlots)) {
    Mask bit = Mask(1) << want;
    if (slot >= int(before.size()))
      before.resize(slot + 1, 0);
    if (slot >= 0 && (before[slot] & bit))
      continue;
    if (space.values[value].source) {
      cost += sourcePrice(value, want);
      if (decision)
        decision->sources.push_back({value, want});
    } else {
      double c;
      unsigned from = cheapest(value, before[slot], want, c);
      cost += c;
      if (decision)
        decision->conversions.push_back({value, from, want});
    }
    if (slot >= 0)
      before[slot] |= bit;
    if (cost == infinity)
      break;
  }
  return cost;
}

void Solver::after(unsigned op, unsigned strategy, ArrayRef<Mask> before,
                   SmallVectorImpl<Mask> &masks) const {
  const Strategy &s = space.ops[op].strategies[strategy];
  masks.clear();
  for (int origin : steps[op + 1].origin)
    masks.push_back(origin < 0 ? Mask(1) << s.results[-1 - origin]
                    : size_t(origin) < before.size() ? before[origin]
                                                     : 0);
}

void Solver::prune(std::vector<State> &states, ArrayRef<unsigned> live) {
  // Of equal costs the first one found comes first, so that plans do not depend on anything else.
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, states.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(states[a].cost, a) < std::pair(states[b].cost, b);
  });
  std::vector<State> kept;
  for (unsigned index : order) {
    State &state = states[index];
    if (kept.size() >= maxStates)
      break;
    bool isDominated = llvm::any_of(kept, [&](const State &better) {
      double cost = better.cost;
      for (size_t slot = 0; slot < live.size() && cost <= state.cost; ++slot) {
        Mask missing = state.masks[slot] & ~better.masks[slot];
        for (unsigned c = 0; missing >> c; ++c)
          if (missing & (Mask(1) << c)) {
            double conversion;
            if (space.values[live[slot]].source)
              conversion = sourcePrice(live[slot], c);
            else
              cheapest(live[slot], better.masks[slot], c, conversion);
            cost += conversion;
          }
      }
      return cost <= state.cost;
    });
    if (!isDominated)
      kept.push_back(std::move(state));
  }
  states = std::move(kept);
}

Solution Solver::run() {
  planSlots();
  priceSources();
  for (const OpNode &node : space.ops) {
    auto &list = computeCosts.emplace_back();
    for (const Strategy &strategy : node.strategies)
      list.push_back(costs.compute(space, node, strategy));
  }

  State start;
  start.masks.assign(steps[0].live.size(), 1); // inputs are replicated
  std::vector<std::vector<std::pair<unsigned, unsigned>>> trail; // per operation: (previous, strategy)
  std::vector<State> states{start};
  SmallVector<Mask, 16> before, masks;
  Solution solution;
  for (unsigned op = 0; op < space.ops.size(); ++op) {
    std::vector<State> next;
    std::unordered_map<size_t, SmallVector<unsigned, 1>> known; // hash of the masks -> states
    for (auto [index, state] : llvm::enumerate(states))
      for (unsigned strategy = 0; strategy < space.ops[op].strategies.size(); ++strategy) {
        before.assign(state.masks.begin(), state.masks.end());
        double cost = state.cost + apply(op, strategy, before, nullptr);
        if (cost == infinity)
          continue;
        after(op, strategy, before, masks);
        SmallVector<unsigned, 1> &same = known[llvm::hash_combine_range(masks.begin(), masks.end())];
        auto *it = llvm::find_if(same, [&](unsigned i) { return ArrayRef<Mask>(next[i].masks) == ArrayRef<Mask>(masks); });
        if (it == same.end()) {
          same.push_back(next.size());
          next.push_back({{masks.begin(), masks.end()}, cost, unsigned(index), strategy});
        } else if (cost < next[*it].cost) {
          next[*it].cost = cost;
          next[*it].previous = index;
          next[*it].strategy = strategy;
        }
      }
    if (next.empty()) {
      solution.stuck = space.ops[op].op;
      return solution;
    }
    prune(next, steps[op + 1].live);
    auto &marks = trail.emplace_back();
    for (const State &state : next)
      marks.push_back({state.previous, state.strategy});
    states = std::move(next);
  }

  // The states are sorted by cost: walk back from the first, then forward to see what was converted.
  solution.seconds = states[0].cost;
  solution.decisions.resize(space.ops.size());
  unsigned current = 0;
  for (unsigned op = space.ops.size(); op-- > 0;) {
    solution.decisions[op].strategy = trail[op][current].second;
    current = trail[op][current].first;
  }
  SmallVector<Mask, 16> now(start.masks.begin(), start.masks.end());
  for (auto [op, decision] : llvm::enumerate(solution.decisions)) {
    apply(op, decision.strategy, now, &decision);
    after(op, decision.strategy, now, masks);
    now.assign(masks.begin(), masks.end());
  }
  return solution;
}

} // namespace

Solution nx::solve(const SearchSpace &space, const Costs &costs, const Pins &pins) {
  return Solver(space, costs, pins).run();
}
