#include "compiler/codegen/cpu/loops/Plan.h"
#include <numeric>
#include <set>

using namespace mlir;

namespace nx::loops {

// Elements that a tile of the Column mode covers, without and (at least) with loops inside.
static constexpr int64_t kColumnChunk = 4096, kReducedColumnChunk = 64;
// What a loop of unknown extent is taken to run when accesses are weighed.
static constexpr int64_t kUnknownExtent = 4;
// Rows of the result that a tile of the Turn mode writes: a cache line of f32 in the source.
static constexpr int64_t kTurnChunk = 16;

AffineExpr strideAlong(const Access &access, ArrayRef<AffineExpr> strides, int cls,
                       MLIRContext *context) {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (const Term &term : access.terms) {
    AffineExpr c = coefficient(term.index, cls);
    if (!c)
      return {};
    sum = sum + c * strides[term.last];
  }
  return sum;
}

namespace {

class Planner {
public:
  Planner(Model &model, int vectorLength)
      : model(model), vectorLength(vectorLength), context(model.host.kernel().getContext()) {
    plan.storage.resize(model.buffers.size());
    for (const Buffer &buffer : model.buffers)
      nominal.push_back(model.strides(buffer));
  }

  Plan run();

private:
  AffineExpr constant(int64_t v) { return getAffineConstantExpr(v, context); }
  const Node &node(int n) { return model.nodes[n]; }

  SmallVector<SmallVector<int>> components();
  Part planPart(ArrayRef<int> nodes);
  std::set<int> sharedClasses(ArrayRef<int> nodes);
  int lanesFor(ArrayRef<int> nodes);
  double score(ArrayRef<int> nodes, int cls, int lanes);
  int turnedClass(const Part &part);
  void makeGroups(Part &part, const std::set<int> &shared);
  void chooseLane(Part &part, Group &group);
  void assignStorage(Part &part, const std::set<int> &shared);
  bool staysInRegister(const Part &part, const Group &group, int writer, const Output &output);
  int ridesIn(const Part &part, int buffer, ArrayRef<int> groupOf);
  void countTiles(Part &part);

  Model &model;
  int vectorLength;
  MLIRContext *context;
  Plan plan;
  SmallVector<SmallVector<AffineExpr>> nominal; // strides of each buffer when packed
  llvm::SmallDenseSet<int> ridden;              // results that hold a temporary for a while
};

// Nodes joined by the buffers that pass between them.
SmallVector<SmallVector<int>> Planner::components() {
  SmallVector<int> parent(model.nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](int n) {
    while (parent[n] != n)
      n = parent[n];
    return n;
  };
  auto join = [&](int a, int b) {
    a = find(a), b = find(b);
    parent[std::max(a, b)] = std::min(a, b);
  };
  for (int n = 0; n < static_cast<int>(model.nodes.size()); ++n)
    node(n).forEachRead([&](int buffer) {
      for (int writer : model.buffers[buffer].writers)
        join(n, writer);
    });
  for (const Buffer &buffer : model.buffers)
    for (int a : buffer.writers)
      for (int b : buffer.writers)
        if (a < b && !model.writesApart(node(a), node(b)))
          join(a, b);
  SmallVector<SmallVector<int>> result;
  DenseMap<int, int> position;
  for (int n = 0; n < static_cast<int>(model.nodes.size()); ++n) {
    auto [it, isNew] = position.insert({find(n), static_cast<int>(result.size())});
    if (isNew)
      result.emplace_back();
    result[it->second].push_back(n);
  }
  return result;
}

// The classes that are a parallel loop of every node and along which no node reads what another
// one writes at a different index: the points of these loops are independent.
std::set<int> Planner::sharedClasses(ArrayRef<int> nodes) {
  std::set<int> shared;
  for (int c = 0; c < static_cast<int>(model.extents.size()); ++c)
    if (llvm::all_of(nodes, [&](int n) { return node(n).hasLoop(c) && !node(n).reduces(c); }))
      shared.insert(c);
  auto check = [&](const Access &access) {
    const Buffer &buffer = model.buffers[access.buffer];
    if (buffer.onlyRead())
      return;
    SmallVector<int> runs(buffer.sizes.size(), -1); // the class that runs through each dim
    for (const Term &term : access.terms)
      for (unsigned d = term.first; d <= term.last; ++d)
        runs[d] = plainClass(term.index);
    for (unsigned d = 0; d < runs.size(); ++d)
      if (runs[d] != buffer.dimClass[d] && constantOf(buffer.sizes[d]) != 1)
        shared.erase(buffer.dimClass[d]);
  };
  for (int n : nodes) {
    node(n).forEachAccess([&](const Access &access, bool) { check(access); });
    for (const auto &[op, access] : node(n).gathers)
      for (int cls : model.buffers[access.buffer].dimClass)
        if (!model.buffers[access.buffer].onlyRead())
          shared.erase(cls);
  }
  return shared;
}

// A vector holds as many elements as a register of f32 does, more when all types are narrower.
int Planner::lanesFor(ArrayRef<int> nodes) {
  if (vectorLength == 1)
    return 1;
  unsigned bits = 8;
  auto see = [&](Type type) {
    if (type.isIntOrFloat())
      bits = std::max(bits, type.getIntOrFloatBitWidth());
    else
      bits = 64;
  };
  for (int n : nodes) {
    node(n).forEachAccess(
        [&](const Access &access, bool) { see(model.buffers[access.buffer].element); });
    if (linalg::GenericOp generic = node(n).generic())
      generic.getRegion().walk([&](Operation *op) {
        for (Type type : op->getResultTypes())
          see(type);
      });
  }
  return bits >= 32 ? vectorLength : vectorLength * 32 / bits;
}

// How well the lanes of a vector suit class `cls`.
double Planner::score(ArrayRef<int> nodes, int cls, int lanes) {
  size_t deepest = 0;
  for (int n : nodes)
    deepest = std::max(deepest, node(n).loops.size());
  double sum = 0;
  for (int n : nodes) {
    if (node(n).loops.size() < deepest || !node(n).hasLoop(cls))
      continue;
    if (!node(n).vectorizable)
      return -1;
    node(n).forEachAccess([&](const Access &access, bool isWrite) {
      // What does not depend on a loop is not touched in all of its steps.
      double weight = 1;
      for (int c : node(n).loops)
        if (llvm::none_of(access.terms,
                          [&](const Term &term) { return dependsOn(term.index, c); }))
          weight /= std::max<int64_t>(constantOf(model.extents[c]).value_or(kUnknownExtent), 1);
      AffineExpr stride = strideAlong(access, nominal[access.buffer], cls, context);
      std::optional<int64_t> value = constantOf(stride);
      if (value == 0)
        sum += weight;
      else if (value == 1)
        sum += weight * (isWrite ? 5 : 4);
      else if (value == 2 || value == -1)
        sum += weight * (isWrite ? -4 : 1);
      else
        sum -= weight * 4;
    });
    for (const auto &[op, access] : node(n).gathers) {
      // The last index of an extract that is this loop's own makes a row of it.
      auto last = cast<tensor::ExtractOp>(op).getIndices();
      auto index = last.empty() ? linalg::IndexOp() : last.back().getDefiningOp<linalg::IndexOp>();
      sum += index && node(n).loopClass[index.getDim()] == cls ? 4 : 0;
    }
    if (node(n).costly)
      sum += 4;
    if (node(n).reduces(cls)) {
      sum -= 0.25;
      for (const Output &output : node(n).outputs)
        if (!output.accumulates || !output.combiner)
          return -1;
    }
  }
  if (std::optional<int64_t> extent = constantOf(model.extents[cls]))
    sum *= static_cast<double>(*extent) / llvm::alignTo(std::max<int64_t>(*extent, 1), lanes);
  return sum;
}

// The class along which the part's inputs have unit stride where the lane class does not.
int Planner::turnedClass(const Part &part) {
  for (int n : part.nodes)
    if (node(n).isReduction() || !node(n).vectorizable)
      return -1;
  int best = -1, most = 0;
  for (int c : part.outer) {
    int count = 0;
    for (int n : part.nodes)
      node(n).forEachAccess([&](const Access &access, bool isWrite) {
        const auto &strides = nominal[access.buffer];
        if (!isWrite && constantOf(strideAlong(access, strides, c, context)) == 1) {
          AffineExpr other = strideAlong(access, strides, part.lane, context);
          count += other && constantOf(other) != 0 && constantOf(other) != 1;
        }
      });
    std::optional<int64_t> extent = constantOf(model.extents[c]);
    if (count > most && (!extent || *extent * 2 >= part.lanes))
      best = c, most = count;
  }
  return best;
}

// Groups in order; a node goes into the first group that it may join.
void Planner::makeGroups(Part &part, const std::set<int> &shared) {
  SmallVector<int> groupOf(model.nodes.size(), -1);
  for (int n : part.nodes) {
    SmallVector<int> parallel, reduced;
    for (auto [loop, isReduced] : llvm::zip(node(n).loops, node(n).reduced))
      if (!shared.count(loop))
        (isReduced ? reduced : parallel).push_back(loop);
    auto all = [](ArrayRef<int> a, ArrayRef<int> b) {
      std::set<int> set(a.begin(), a.end());
      set.insert(b.begin(), b.end());
      return set;
    };

    // The first group that may hold the node, by what it reads and overwrites.
    int first = 0;
    auto after = [&](int other, bool sameGroupOk) {
      if (other != n && groupOf[other] >= 0)
        first = std::max(first, groupOf[other] + (sameGroupOk ? 0 : 1));
    };
    node(n).forEachAccess([&](const Access &access, bool isWrite) {
      const Buffer &buffer = model.buffers[access.buffer];
      for (int writer : buffer.writers) {
        if (isWrite) {
          after(writer, writer == n || model.writesApart(node(writer), node(n)));
          continue;
        }
        bool samePoint = buffer.writers.size() == 1;
        for (const Output &output : node(writer).outputs)
          if (output.access.buffer == access.buffer)
            samePoint = samePoint && !output.accumulates && output.access == access;
        after(writer, samePoint);
      }
      if (isWrite)
        for (int other : part.nodes)
          if (other < n)
            node(other).forEachRead([&](int read) {
              if (read == access.buffer)
                after(other, false);
            });
    });
    for (const auto &[op, access] : node(n).gathers)
      for (int writer : model.buffers[access.buffer].writers)
        after(writer, false);

    int target = part.groups.size();
    for (int g = first; g < static_cast<int>(part.groups.size()); ++g) {
      Group &group = part.groups[g];
      if (all(group.parallel, group.reduced) != all(parallel, reduced))
        continue;
      // All reductions of a group reduce the same loops. Scans keep their order, so they are
      // alone with nodes of their kind.
      bool isReduction = !reduced.empty();
      if (isReduction && !group.reduced.empty() && all(group.reduced, {}) != all(reduced, {}))
        continue;
      target = g;
      break;
    }
    if (target == static_cast<int>(part.groups.size()))
      part.groups.emplace_back();
    Group &group = part.groups[target];
    group.nodes.push_back(n);
    groupOf[n] = target;
    if (group.nodes.size() == 1 || (group.reduced.empty() && !reduced.empty())) {
      group.parallel = parallel;
      group.reduced = reduced;
    }
  }
  // A node that came into a group before its reduction did is parallel in all of the loops.
  for (Group &group : part.groups)
    chooseLane(part, group);
}

// Row mode: the lane class of one group, and the order of its loops.
void Planner::chooseLane(Part &part, Group &group) {
  if (part.mode != LaneMode::Row || part.lanes == 1)
    return;
  if (llvm::any_of(group.nodes, [&](int n) { return !node(n).vectorizable; }))
    return;
  double best = 0;
  auto consider = [&](int c, bool isReduced) {
    if (isReduced)
      for (int n : group.nodes)
        for (const Output &output : node(n).outputs)
          if (node(n).isReduction() && (!output.accumulates || !output.combiner))
            return;
    double value = score(group.nodes, c, part.lanes);
    if (value >= best)
      best = value, group.lane = c;
  };
  for (int c : group.parallel)
    consider(c, false);
  for (int c : group.reduced)
    consider(c, true);
  for (SmallVector<int> *loops : {&group.parallel, &group.reduced})
    if (auto *it = llvm::find(*loops, group.lane); it != loops->end())
      std::rotate(it, it + 1, loops->end());
}

// Whether every reader of `output` finds it in a register.
bool Planner::staysInRegister(const Part &part, const Group &group, int writer,
                              const Output &output) {
  const Buffer &buffer = model.buffers[output.access.buffer];
  if (buffer.operand >= 0 || buffer.writers.size() > 1)
    return false;
  bool lasts = group.parallel.empty() && (group.reduced.empty() || output.accumulates);
  for (int n : part.nodes) {
    for (const auto &[op, access] : node(n).gathers)
      if (access.buffer == output.access.buffer)
        return false;
    bool ok = true;
    node(n).forEachAccess([&](const Access &access, bool isWrite) {
      if (isWrite || access.buffer != output.access.buffer)
        return;
      bool here = llvm::is_contained(group.nodes, n) && !output.accumulates;
      ok = ok && access == output.access && (lasts || here);
    });
    if (!ok)
      return false;
  }
  return true;
}

// A result whose memory can hold temporary `id` until the result itself is written: same type,
// same loops, and whoever reads the temporary has done so before the result is stored there.
int Planner::ridesIn(const Part &part, int id, ArrayRef<int> groupOf) {
  const Buffer &buffer = model.buffers[id];
  if (buffer.writers.size() != 1)
    return -1;
  int writer = buffer.writers[0];
  auto outputOf = [&](int n, int bufferId) -> const Output & {
    return *llvm::find_if(node(n).outputs,
                          [&](const Output &o) { return o.access.buffer == bufferId; });
  };
  for (int candidate = 0; candidate < static_cast<int>(model.buffers.size()); ++candidate) {
    const Buffer &result = model.buffers[candidate];
    if (result.isArgument || result.operand < 0 || result.writers.size() != 1 ||
        result.element != buffer.element || result.sizes != buffer.sizes ||
        ridden.contains(candidate))
      continue;
    int last = result.writers[0];
    if (!llvm::is_contained(part.nodes, last) || groupOf[writer] >= groupOf[last] ||
        outputOf(writer, id).access.terms != outputOf(last, candidate).access.terms)
      continue;
    bool ok = true;
    for (int n : part.nodes) {
      auto late = [&] {
        return groupOf[n] > groupOf[last] || (groupOf[n] == groupOf[last] && n > last);
      };
      for (const auto &[op, access] : node(n).gathers)
        ok = ok && (access.buffer != id || groupOf[n] < groupOf[last]);
      node(n).forEachAccess([&](const Access &access, bool isWrite) {
        if (isWrite || access.buffer != id)
          return;
        bool samePoint = access.terms == outputOf(last, candidate).access.terms;
        ok = ok && !late() && (samePoint || groupOf[n] < groupOf[last]);
      });
    }
    if (ok)
      return candidate;
  }
  return -1;
}

void Planner::assignStorage(Part &part, const std::set<int> &shared) {
  SmallVector<int> groupOf(model.nodes.size(), -1);
  for (auto [g, group] : llvm::enumerate(part.groups))
    for (int n : group.nodes)
      groupOf[n] = g;
  AffineExpr used = constant(0);
  for (Group &group : part.groups)
    for (int n : group.nodes)
      for (const Output &output : node(n).outputs) {
        int id = output.access.buffer;
        const Buffer &buffer = model.buffers[id];
        Storage &storage = plan.storage[id];
        if (storage.kind != Storage::None || staysInRegister(part, group, n, output))
          continue;
        storage.strides = nominal[id];
        if (buffer.operand >= 0) {
          storage.kind = Storage::Operand;
          storage.operand = buffer.operand;
          continue;
        }
        if (int host = ridesIn(part, id, groupOf); host >= 0) {
          ridden.insert(host);
          storage.kind = Storage::Operand;
          storage.operand = model.buffers[host].operand;
          continue;
        }
        // Scratch holds what one tile needs of it: shared classes take no room.
        storage.kind = Storage::Scratch;
        storage.offset = used;
        AffineExpr stride = constant(1);
        if (part.mode == LaneMode::Column) {
          storage.local = true;
          stride = constant(part.lanes * unrollOf(model, part, part.nodes));
        }
        for (unsigned d = buffer.sizes.size(); d-- > 0;) {
          if (part.mode == LaneMode::Column && buffer.dimClass[d] == part.lane) {
            storage.strides[d] = constant(1);
          } else if (shared.count(buffer.dimClass[d])) {
            storage.strides[d] = constant(0);
          } else {
            storage.strides[d] = stride;
            stride = stride * buffer.sizes[d];
          }
        }
        int64_t bytes = buffer.element.isIndex()
                            ? 8
                            : llvm::divideCeil(buffer.element.getIntOrFloatBitWidth(), 8);
        used = used + (stride * bytes).ceilDiv(64) * 64;
      }
  part.scratchBytes = used;
}

void Planner::countTiles(Part &part) {
  AffineExpr tiles = constant(1);
  for (int c : part.outer)
    tiles = tiles * model.extents[c];
  int chunked = part.mode == LaneMode::Column ? part.lane : part.turned;
  if (part.chunk)
    tiles = tiles * model.extents[chunked].ceilDiv(part.chunk);
  part.tiles = tiles;

  // What one tile costs: each access once per point of the loops that it depends on, plus the
  // work of each node, where an ordinary loop step weighs a byte and a costly one many.
  auto points = [&](llvm::function_ref<bool(int)> uses, ArrayRef<int> loops) {
    AffineExpr count = constant(1);
    for (int c : loops) {
      if (llvm::is_contained(part.outer, c) || !uses(c))
        continue;
      AffineExpr extent = model.extents[c];
      if (part.chunk && c == chunked) {
        std::optional<int64_t> known = constantOf(extent);
        extent = constant(known ? std::min(*known, part.chunk) : part.chunk);
      }
      count = count * extent;
    }
    return count;
  };
  AffineExpr cost = constant(0);
  for (int n : part.nodes) {
    int64_t work = (node(n).costly ? 12 : 1) * (part.lanes == 1 ? 4 : 1);
    cost = cost + points([](int) { return true; }, node(n).loops) * work;
    node(n).forEachAccess([&](const Access &access, bool) {
      Storage::Kind kind = plan.storage[access.buffer].kind;
      if (kind == Storage::None || kind == Storage::Scratch)
        return;
      Type element = model.buffers[access.buffer].element;
      int64_t bytes = element.isIndex() ? 8 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
      auto uses = [&](int c) {
        return llvm::any_of(access.terms,
                            [&](const Term &term) { return dependsOn(term.index, c); });
      };
      cost = cost + points(uses, node(n).loops) * bytes;
    });
  }
  part.tileCost = cost;
}

Part Planner::planPart(ArrayRef<int> nodes) {
  Part part;
  part.nodes.assign(nodes.begin(), nodes.end());
  part.lanes = lanesFor(nodes);
  std::set<int> shared = sharedClasses(nodes);

  // The class that suits vectors best decides: shared by all nodes, it is the lane class of all.
  int best = -1;
  double bestScore = -1e9;
  for (int n : nodes)
    for (int c : node(n).loops)
      if (double value = score(nodes, c, part.lanes);
          value > bestScore || (value == bestScore && c != best && shared.count(c))) {
        best = c;
        bestScore = value;
      }
  bool vectorizable = llvm::all_of(nodes, [&](int n) { return node(n).vectorizable; });
  if (best >= 0 && shared.count(best)) {
    part.mode = LaneMode::Column;
    part.lane = best;
  }
  // The loops of the node that is deepest give the order of the tiles: that of its result.
  int deepest = nodes[0];
  for (int n : nodes)
    if (node(n).loops.size() >= node(deepest).loops.size())
      deepest = n;
  SmallVector<int> order;
  for (const Term &term : node(deepest).outputs[0].access.terms)
    if (int c = plainClass(term.index); c >= 0)
      order.push_back(c);
  order.append(node(deepest).loops.begin(), node(deepest).loops.end());
  for (int c : order)
    if (shared.count(c) && c != part.lane && !llvm::is_contained(part.outer, c))
      part.outer.push_back(c);
  if (part.mode == LaneMode::Column) {
    bool reduces = llvm::any_of(nodes, [&](int n) { return node(n).isReduction(); });
    bool allShared =
        llvm::all_of(nodes, [&](int n) { return node(n).loops.size() == shared.size(); });
    if (!vectorizable)
      part.lanes = 1;
    if (int turned = part.lanes > 1 && allShared ? turnedClass(part) : -1; turned >= 0) {
      part.mode = LaneMode::Turn;
      part.turned = turned;
      part.lanes = std::min(part.lanes, 16);
      part.chunk = std::max<int64_t>(kTurnChunk, part.lanes);
      llvm::erase(part.outer, turned);
    } else {
      int64_t block = part.lanes * unrollOf(model, part, nodes);
      int64_t chunk = reduces || !allShared ? std::max(kReducedColumnChunk, block) : kColumnChunk;
      std::optional<int64_t> extent = constantOf(model.extents[part.lane]);
      part.chunk = extent && *extent <= chunk ? 0 : chunk;
    }
  }
  makeGroups(part, shared);
  assignStorage(part, shared);
  countTiles(part);
  return part;
}

Plan Planner::run() {
  for (auto [id, buffer] : llvm::enumerate(model.buffers)) {
    Storage &storage = plan.storage[id];
    if (!buffer.onlyRead())
      continue;
    storage.kind = buffer.constant ? Storage::Constant : Storage::Operand;
    storage.operand = buffer.operand;
    storage.strides = nominal[id];
  }
  for (ArrayRef<int> nodes : components())
    plan.parts.push_back(planPart(nodes));
  return std::move(plan);
}

} // namespace

int unrollOf(const Model &model, const Part &part, ArrayRef<int> nodes) {
  if (part.lanes == 1)
    return 1;
  bool costly = false, reduces = false;
  for (int n : nodes) {
    costly |= model.nodes[n].costly;
    reduces |= model.nodes[n].isReduction();
  }
  // Costly chains have enough independent work in one vector, and need the registers.
  if (part.mode == LaneMode::Column)
    return costly ? (reduces ? 2 : 1) : reduces ? 8 : 4;
  return costly ? 2 : 4;
}

Plan makePlan(Model &model, int vectorLength) { return Planner(model, vectorLength).run(); }

} // namespace nx::loops
