//===- Trees.cpp - Tree ensembles of the domain ai.onnx.ml ----------------===//
//
// All trees go down one level at a time: what each node asks and where it leads are tables that are looked up with the
// current nodes. Leaves lead to themselves, so the deepest tree decides how many levels there are.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/NodeImporter.h"
#include <limits>
#include <map>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

constexpr int64_t kMaxLevels = 64;

struct Forest {
  SmallVector<int64_t> features, trueNodes, falseNodes, roots;
  SmallVector<double> thresholds;
  SmallVector<StringRef> modes; ///< LEAF for leaves
  SmallVector<bool> missingIsTrue;
  int64_t levels = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> places; ///< of (tree, node)
};

/// Reads the lists nodes_*; false after an error or a refusal.
bool readForest(NodeImporter &n, Forest &forest) {
  SmallVector<int64_t> trees = n.getInts("nodes_treeids"), ids = n.getInts("nodes_nodeids");
  SmallVector<int64_t> onTrue = n.getInts("nodes_truenodeids"), onFalse = n.getInts("nodes_falsenodeids");
  SmallVector<int64_t> missing = n.getInts("nodes_missing_value_tracks_true");
  forest.features = n.getInts("nodes_featureids");
  forest.thresholds = n.getFloats("nodes_values");
  forest.modes = n.getStrings("nodes_modes");
  n.ignoreAttrs({"nodes_hitrates", "nodes_hitrates_as_tensor"});
  if (n.hasAttr("nodes_values_as_tensor"))
    return n.unsupported("attribute nodes_values_as_tensor"), false;
  size_t count = ids.size();
  if (count == 0 || trees.size() != count || onTrue.size() != count || onFalse.size() != count ||
      forest.features.size() != count || forest.thresholds.size() != count || forest.modes.size() != count ||
      (!missing.empty() && missing.size() != count)) {
    n.error() << "the lists nodes_* differ in length";
    return false;
  }
  for (size_t i = 0; i < count; ++i)
    if (!forest.places.try_emplace({trees[i], ids[i]}, i).second) {
      n.error() << "tree " << trees[i] << " has node " << ids[i] << " twice";
      return false;
    }
  static constexpr StringLiteral known[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};
  SmallVector<bool> hasParent(count, false);
  for (size_t i = 0; i < count; ++i) {
    bool isLeaf = forest.modes[i] == "LEAF";
    if (!llvm::is_contained(known, forest.modes[i]))
      return n.unsupported("nodes of mode " + forest.modes[i]), false;
    forest.missingIsTrue.push_back(!missing.empty() && missing[i]);
    if (isLeaf)
      forest.features[i] = 0;
    for (auto [child, list] : {std::pair(onTrue[i], &forest.trueNodes), std::pair(onFalse[i], &forest.falseNodes)}) {
      auto place = isLeaf ? forest.places.end() : forest.places.find({trees[i], child});
      if (!isLeaf && (place == forest.places.end() || hasParent[place->second])) {
        n.error() << "node " << ids[i] << " of tree " << trees[i] << " leads to a missing or shared node " << child;
        return false;
      }
      list->push_back(isLeaf ? int64_t(i) : place->second);
      // Both answers of a node may lead to one and the same.
      if (!isLeaf && onTrue[i] != onFalse[i])
        hasParent[place->second] = true;
    }
    if (!isLeaf && onTrue[i] == onFalse[i])
      hasParent[forest.trueNodes.back()] = true;
  }
  for (size_t i = 0; i < count; ++i)
    if (!hasParent[i])
      forest.roots.push_back(i);
  // Levels, breadth first. With one parent for each node, only a ring without a root could go on for ever.
  SmallVector<int64_t> level(forest.roots);
  while (!level.empty() && forest.levels <= kMaxLevels) {
    SmallVector<int64_t> next;
    for (int64_t node : level)
      if (forest.modes[node] != "LEAF") {
        next.push_back(forest.trueNodes[node]);
        if (forest.falseNodes[node] != forest.trueNodes[node])
          next.push_back(forest.falseNodes[node]);
      }
    forest.levels += !next.empty();
    level = std::move(next);
  }
  if (forest.roots.empty() || forest.levels > kMaxLevels)
    return n.unsupported("trees of more than " + Twine(kMaxLevels) + " levels"), false;
  return true;
}

/// The leaves that x [N, F] ends in, [N, trees] places.
Value descend(NodeImporter &n, GraphBuilder &b, Value x, const Forest &forest) {
  Type element = b.elementOf(x), i64 = b.builder.getI64Type();
  AffineExpr rows = dimOf(b.typeOf(x), 0), trees = b.size(int64_t(forest.roots.size()));
  Value features = n.table(forest.features, i64), thresholds = n.table(forest.thresholds, element);
  Value onTrue = n.table(forest.trueNodes, i64), onFalse = n.table(forest.falseNodes, i64);
  SmallVector<StringRef> modes;
  for (StringRef mode : forest.modes)
    if (mode != "LEAF" && !llvm::is_contained(modes, mode))
      modes.push_back(mode);
  Value modeTable, missingTable;
  if (modes.size() > 1) {
    SmallVector<int64_t> numbers;
    for (StringRef mode : forest.modes)
      numbers.push_back(llvm::find(modes, mode) - modes.begin());
    modeTable = n.table(numbers, i64);
  }
  if (llvm::is_contained(forest.missingIsTrue, true))
    missingTable = n.table(SmallVector<int64_t>(forest.missingIsTrue.begin(), forest.missingIsTrue.end()), i64);

  Value at = b.broadcast(b.reshape(n.table(forest.roots, i64), {b.size(1), trees}), {rows, trees});
  for (int64_t level = 0; level < forest.levels; ++level) {
    Value value = b.emit<GatherElementsOp>({x, b.gather(features, at, 0)}, b.i64("axis", 1));
    Value threshold = b.gather(thresholds, at, 0), holds;
    for (auto [i, mode] : llvm::enumerate(modes)) {
      ComparePredicate predicate = mode == "BRANCH_LEQ"   ? ComparePredicate::le
                                   : mode == "BRANCH_LT"  ? ComparePredicate::lt
                                   : mode == "BRANCH_GTE" ? ComparePredicate::ge
                                   : mode == "BRANCH_GT"  ? ComparePredicate::gt
                                   : mode == "BRANCH_EQ"  ? ComparePredicate::eq
                                                          : ComparePredicate::ne;
      Value answer = b.compare(predicate, value, threshold);
      holds = holds ? b.select(b.compare(ComparePredicate::eq, b.gather(modeTable, at, 0), double(i)), answer, holds) : answer;
    }
    if (missingTable)
      holds = b.emit<OrOp>({holds, b.emit<AndOp>({b.emit<IsNanOp>(value),
                                                  b.compare(ComparePredicate::ne, b.gather(missingTable, at, 0), 0.0)})});
    at = b.select(holds, b.gather(onTrue, at, 0), b.gather(onFalse, at, 0));
  }
  return at;
}

/// The weights that the leaves add to each of `targets` numbers, combined over all trees: [N, targets]. `isHit` tells, if
/// it is asked for, which of the numbers any leaf has a weight for.
Value combined(NodeImporter &n, GraphBuilder &b, Value x, int64_t targets, bool isRegressor, Value *isHit = nullptr) {
  Forest forest;
  StringRef kind = isRegressor ? "target" : "class";
  SmallVector<int64_t> trees = n.getInts(isRegressor ? "target_treeids" : "class_treeids"),
                       ids = n.getInts(isRegressor ? "target_nodeids" : "class_nodeids"),
                       to = n.getInts(isRegressor ? "target_ids" : "class_ids");
  SmallVector<double> weights = n.getFloats(isRegressor ? "target_weights" : "class_weights"), base = n.getFloats("base_values");
  StringRef aggregate = isRegressor ? n.getString("aggregate_function", "SUM") : "SUM";
  for (StringRef tensor : {"base_values_as_tensor", "target_weights_as_tensor", "class_weights_as_tensor"})
    if (n.hasAttr(tensor))
      return n.unsupported("attribute " + tensor), Value();
  if (!x || !readForest(n, forest))
    return {};
  Type f32 = b.builder.getF32Type();
  if (b.rankOf(x) != 2 || targets < 1 || trees.size() != ids.size() || to.size() != ids.size() || weights.size() != ids.size())
    return n.error() << "needs an input [N, F] and lists " << kind << "_* of one length", Value();
  if (!isa<FloatType>(b.elementOf(x)))
    x = b.cast(x, f32);
  for (int64_t feature : forest.features)
    if (feature < 0)
      return n.error() << "feature " << feature, Value();
  if (targets > (int64_t(1) << 20) / std::max<int64_t>(int64_t(forest.modes.size()) / 1024, 1))
    return n.unsupported(Twine(targets) + " targets"), Value();
  SmallVector<double> table(forest.modes.size() * targets, 0.0), hits(table);
  for (auto [tree, id, target, weight] : llvm::zip(trees, ids, to, weights)) {
    auto place = forest.places.find({tree, id});
    if (place == forest.places.end() || target < 0 || target >= targets)
      return n.error() << "a weight is of a missing node or target", Value();
    table[place->second * targets + target] += weight;
    hits[place->second * targets + target] = 1;
  }
  Value leaves = descend(n, b, x, forest);
  auto perLeaf = [&](ArrayRef<double> values) { // [N, trees, targets]
    Value rows = b.reshape(n.table(values, f32), {b.size(int64_t(forest.modes.size())), b.size(targets)});
    return b.gather(rows, leaves, 0);
  };
  Value all = perLeaf(table);
  if (isHit)
    *isHit = base.empty() ? b.compare(ComparePredicate::gt, b.reduce(ReduceKind::max, perLeaf(hits), {1}, false), 0.0) : Value();
  Value result;
  if (aggregate == "SUM" || aggregate == "AVERAGE")
    result = b.reduce(aggregate == "SUM" ? ReduceKind::sum : ReduceKind::mean, all, {1}, false);
  else if (aggregate == "MIN" || aggregate == "MAX")
    result = b.reduce(aggregate == "MIN" ? ReduceKind::min : ReduceKind::max, all, {1}, false);
  else
    return n.error() << "aggregate_function '" << aggregate << "' is not known", Value();
  if (!base.empty() && int64_t(base.size()) != targets && base.size() != 1)
    return n.error() << base.size() << " base values for " << targets << " targets", Value();
  return base.empty() ? result : b.add(result, n.table(base, f32));
}

void treeEnsembleRegressor(NodeImporter &n, GraphBuilder &b) {
  n.result(postTransformed(n, b, combined(n, b, n.input(0), n.getInt("n_targets", 1), /*isRegressor=*/true)));
}

void treeEnsembleClassifier(NodeImporter &n, GraphBuilder &b) {
  if (!n.getStrings("classlabels_strings").empty())
    return n.unsupported("class labels that are strings");
  SmallVector<int64_t> labels = n.getInts("classlabels_int64s"), ids = n.getInts("class_ids");
  SmallVector<double> weights = n.getFloats("class_weights");
  if (labels.empty()) {
    n.error() << "it has no class labels";
    return;
  }
  // Two classes may have weights for one of them only.
  bool isBinary = labels.size() == 2 && llvm::all_equal(ids) && !ids.empty();
  Value isHit, scores = combined(n, b, n.input(0), labels.size(), /*isRegressor=*/false, &isHit);
  if (!scores)
    return;
  if (!isBinary) {
    // The greatest among those that have a score at all.
    Value chosen = isHit ? b.select(isHit, scores, b.like(scores, -std::numeric_limits<double>::infinity())) : scores;
    Value best = b.emit<ArgReduceOp>(chosen, {b.attr("kind", ReduceKindAttr::get(b.context(), ReduceKind::max)), b.i64("axis", 1)});
    return n.results({b.gather(b.intVector(labels), best, 0), postTransformed(n, b, scores)});
  }
  bool allPositive = llvm::all_of(weights, [](double weight) { return weight >= 0; });
  Value score = b.slice(scores, 1, b.size(ids.front()), b.size(1));
  Value isSecond = b.reshape(b.compare(ComparePredicate::gt, score, allPositive ? 0.5 : 0.0), {dimOf(b.typeOf(scores), 0)});
  Value label = b.gather(b.intVector(labels), b.cast(isSecond, b.builder.getI64Type()), 0);
  if (ids.front() == 1)
    return n.results({label, postTransformed(n, b, scores)});
  // Weights of the first class are a score of the second one, and the first gets the rest.
  StringRef transform = n.getString("post_transform", "NONE");
  if (transform != "NONE" && transform != "LOGISTIC")
    return n.unsupported("post_transform " + transform + " of two classes with one weight");
  Value first, second = score;
  if (transform == "LOGISTIC") {
    second = b.emit<SigmoidOp>(score);
    first = b.sub(b.like(score, 1), second);
  } else {
    first = allPositive ? b.sub(b.like(score, 1), score) : b.emit<NegOp>(score);
  }
  n.results({label, b.concat({first, second}, 1)});
}

const OperatorRow kOperators[] = {
    {"TreeEnsembleClassifier", 1, kLatest, treeEnsembleClassifier},
    {"TreeEnsembleRegressor", 1, kLatest, treeEnsembleRegressor},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::treeOperators() { return kOperators; }
