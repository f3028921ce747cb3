//===- NxSharding.cpp - The sharding rule of each operation ---------------===//
//
// What must stay whole and why:
//  - the axis of softmax, norms, cumsum, arg_reduce: each result element needs all of it;
//  - what a gather indexes: the row of an index may lie on any rank;
//  - sizes that concat, pad or a strided slice change: parts would differ between ranks;
//  - spatial sizes of windows: parts overlap;
//  - in attention the query and key sizes (a causal mask counts positions) and both head widths.
//
//===----------------------------------------------------------------------===//

#include "dialects/nx/Nx.h"
#include <numeric>

using namespace mlir;
using namespace nx;

using Kind = Factor::Kind;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// A rule under construction; all dimensions start as size 1.
class RuleBuilder {
public:
  explicit RuleBuilder(Operation *op) : op(op) {
    for (Value operand : op->getOperands())
      rule.operands.emplace_back(typeOf(operand).getRank());
    for (Value result : op->getResults())
      rule.results.emplace_back(typeOf(result).getRank());
  }

  unsigned factor(AffineExpr size, Kind kind = Kind::Parallel, ReduceKind reduce = ReduceKind::sum) {
    rule.factors.push_back({size, kind, reduce});
    return rule.factors.size() - 1;
  }

  /// Dimension `dim` of operand `index` is the product of `factors`, or it is 1 and broadcasts.
  void operand(unsigned index, int64_t dim, ArrayRef<unsigned> factors) {
    put(rule.operands[index][dim], dimOf(typeOf(op->getOperand(index)), dim), factors);
  }
  void result(int64_t dim, ArrayRef<unsigned> factors) {
    for (auto [i, value] : llvm::enumerate(op->getResults()))
      put(rule.results[i][dim], dimOf(typeOf(value), dim), factors);
  }
  /// One new factor for dimension `from` of operand `index` and dimension `to` of the result.
  void same(unsigned index, int64_t from, int64_t to, Kind kind = Kind::Parallel) {
    unsigned f = factor(dimOf(typeOf(op->getOperand(index)), from), kind);
    operand(index, from, {f});
    result(to, {f});
  }

  /// All operands broadcast to the result, dimension by dimension from the right; dimension i of
  /// the result is of `kinds(i)`.
  void broadcast(function_ref<Kind(int64_t)> kinds = [](int64_t) { return Kind::Parallel; }) {
    RankedTensorType type = typeOf(op->getResult(0));
    for (int64_t i = 0; i < type.getRank(); ++i) {
      unsigned f = factor(dimOf(type, i), kinds(i));
      result(i, {f});
      for (unsigned o = 0; o < op->getNumOperands(); ++o) {
        int64_t dim = i - (type.getRank() - typeOf(op->getOperand(o)).getRank());
        if (dim >= 0)
          operand(o, dim, {f});
      }
    }
  }

  void linear(ArrayRef<unsigned> operands) { rule.linear.emplace_back(operands); }

  ShardingRule take() { return std::move(rule); }

  ShardingRule rule;

private:
  void put(FactoredDim &dim, AffineExpr size, ArrayRef<unsigned> factors) {
    if (constantOf(size) == 1)
      return;
    AffineExpr product = getAffineConstantExpr(1, op->getContext());
    for (unsigned f : factors) {
      product = product * rule.factors[f].size;
      if (constantOf(rule.factors[f].size) != 1)
        dim.factors.push_back(f);
    }
    // Equal only by a check at run time: there is no common size to split.
    if (!provablyEqual(product, size))
      for (unsigned f : factors)
        rule.factors[f].kind = Kind::Whole;
  }

  Operation *op;
};
} // namespace

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

ShardingRule nx::elementwiseRule(Operation *op) {
  RuleBuilder b(op);
  b.broadcast();
  if (isa<AddOp, SubOp>(op)) {
    b.linear({0, 1});
  } else if (isa<MulOp>(op)) {
    b.linear({0});
    b.linear({1});
  } else if (isa<NegOp>(op) || (isa<DivOp>(op) && isa<FloatType>(typeOf(op->getResult(0)).getElementType()))) {
    b.linear({0});
  } else if (isa<SelectOp>(op)) {
    b.linear({1, 2});
  }
  return b.take();
}

//===----------------------------------------------------------------------===//
// Contraction, convolution, attention
//===----------------------------------------------------------------------===//

ShardingRule MatmulOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), out = getType();
  const RankedTensorType operands[] = {lhs, rhs};
  int64_t batch = out.getRank() - 2;
  for (int64_t i = 0; i < batch; ++i) {
    unsigned f = b.factor(dimOf(out, i));
    b.result(i, {f});
    for (auto [index, type] : llvm::enumerate(operands))
      if (int64_t dim = i - (out.getRank() - type.getRank()); dim >= 0)
        b.operand(index, dim, {f});
  }
  int64_t l = lhs.getRank(), r = rhs.getRank();
  int64_t lhsRow = getTransposeLhs() ? l - 1 : l - 2, lhsInner = getTransposeLhs() ? l - 2 : l - 1;
  int64_t rhsInner = getTransposeRhs() ? r - 1 : r - 2, rhsColumn = getTransposeRhs() ? r - 2 : r - 1;
  unsigned m = b.factor(dimOf(lhs, lhsRow)), n = b.factor(dimOf(rhs, rhsColumn));
  unsigned k = b.factor(dimOf(lhs, lhsInner), Kind::Reduction);
  b.operand(0, lhsRow, {m});
  b.operand(0, lhsInner, {k});
  b.operand(1, rhsInner, {k});
  b.operand(1, rhsColumn, {n});
  b.result(batch, {m});
  b.result(batch + 1, {n});
  b.linear({0});
  b.linear({1});
  return b.take();
}

ShardingRule ConvOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType input = typeOf(getInput()), weight = typeOf(getWeight()), out = getType();
  AffineExpr groups = getAffineConstantExpr(getGroups(), getContext());
  unsigned n = b.factor(dimOf(input, 0));
  unsigned g = b.factor(groups);
  AffineExpr perGroup = divideExactly(dimOf(weight, 0), groups);
  unsigned o = b.factor(perGroup ? perGroup : dimOf(weight, 0).floorDiv(groups));
  // Each rank would add the bias to its partial sum.
  unsigned c = b.factor(dimOf(weight, 1), getBias() ? Kind::Whole : Kind::Reduction);
  b.operand(0, 0, {n});
  b.operand(0, 1, {g, c});
  b.operand(1, 0, {g, o});
  b.operand(1, 1, {c});
  if (getBias())
    b.operand(2, 0, {g, o});
  b.result(0, {n});
  b.result(1, {g, o});
  for (int64_t i = 2; i < input.getRank(); ++i) {
    b.operand(0, i, {b.factor(dimOf(input, i), Kind::Whole)});
    b.operand(1, i, {b.factor(dimOf(weight, i), Kind::Whole)});
    b.result(i, {b.factor(dimOf(out, i), Kind::Whole)});
  }
  if (!getBias()) {
    b.linear({0});
    b.linear({1});
  }
  return b.take();
}

void ConvOp::adaptToPart(const ShardingRule &rule, unsigned factor, int64_t parts) {
  // The factor of the groups is the one that input and output channels share.
  if (llvm::is_contained(rule.operands[0][1].factors, factor) &&
      llvm::is_contained(rule.operands[1][0].factors, factor))
    setGroups(getGroups() / parts);
}

/// Images and channels are apart.
static RuleBuilder pooling(Operation *op) {
  RuleBuilder b(op);
  b.same(0, 0, 0);
  b.same(0, 1, 1);
  RankedTensorType in = typeOf(op->getOperand(0)), out = typeOf(op->getResult(0));
  for (int64_t i = 2; i < out.getRank(); ++i) {
    b.operand(0, i, {b.factor(dimOf(in, i), Kind::Whole)});
    b.result(i, {b.factor(dimOf(out, i), Kind::Whole)});
  }
  return b;
}
ShardingRule PoolOp::getShardingRule() {
  RuleBuilder b = pooling(*this);
  if (getKind() != PoolKind::max)
    b.linear({0});
  return b.take();
}
ShardingRule ArgPoolOp::getShardingRule() { return pooling(*this).take(); }

ShardingRule AttentionOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType q = typeOf(getQuery()), k = typeOf(getKey()), v = typeOf(getValue());
  // Query heads are key heads times a group, so both can be split: by key heads, or, with more ranks
  // than key heads, by a part of each group.
  AffineExpr keyHeads = dimOf(k, 1), group = divideExactly(dimOf(q, 1), keyHeads);
  unsigned batch = b.factor(dimOf(q, 0)), h = b.factor(keyHeads), g = b.factor(group);
  unsigned s = b.factor(dimOf(q, 2), Kind::Whole), t = b.factor(dimOf(k, 2), Kind::Whole);
  unsigned d = b.factor(dimOf(q, 3), Kind::Whole), e = b.factor(dimOf(v, 3), Kind::Whole);
  auto operand = [&](unsigned index, std::initializer_list<ArrayRef<unsigned>> dims) {
    int64_t rank = typeOf(getOperand(index)).getRank();
    int64_t dim = rank - int64_t(dims.size());
    for (ArrayRef<unsigned> factors : dims) {
      if (dim >= 0)
        b.operand(index, dim, factors);
      ++dim;
    }
  };
  operand(0, {{batch}, {h, g}, {s}, {d}});
  operand(1, {{batch}, {h}, {t}, {d}});
  operand(2, {{batch}, {h}, {t}, {e}});
  if (getMask())
    operand(3, {{batch}, {h, g}, {s}, {t}});
  b.result(0, {batch});
  b.result(1, {h, g});
  b.result(2, {s});
  b.result(3, {e});
  b.linear({2});
  return b.take();
}

//===----------------------------------------------------------------------===//
// Reductions and normalizations
//===----------------------------------------------------------------------===//

ShardingRule ReduceOp::getShardingRule() {
  RuleBuilder b(*this);
  Type element = getType().getElementType();
  bool isMean = getKind() == ReduceKind::mean;
  // A mean of integers rounds; booleans are not something that ranks combine.
  bool splits = !element.isInteger(1) && (!isMean || isa<FloatType>(element));
  int64_t to = 0;
  for (int64_t i = 0, rank = typeOf(getX()).getRank(); i < rank; ++i) {
    if (!llvm::is_contained(getAxes(), i)) {
      b.same(0, i, to++);
      continue;
    }
    b.operand(0, i, {b.factor(dimOf(typeOf(getX()), i), splits ? Kind::Reduction : Kind::Whole, getKind())});
    to += getKeepDims();
  }
  if (splits && (isMean || getKind() == ReduceKind::sum))
    b.linear({0});
  return b.take();
}

ShardingRule ArgReduceOp::getShardingRule() {
  RuleBuilder b(*this);
  int64_t to = 0;
  for (int64_t i = 0, rank = typeOf(getX()).getRank(); i < rank; ++i) {
    if (i != int64_t(getAxis())) {
      b.same(0, i, to++);
      continue;
    }
    b.operand(0, i, {b.factor(dimOf(typeOf(getX()), i), Kind::Whole)});
    to += getKeepDims();
  }
  return b.take();
}

/// Result and operand have the same dimensions; `axis` is whole.
static ShardingRule alongAxis(Operation *op, int64_t axis) {
  RuleBuilder b(op);
  b.broadcast([&](int64_t i) { return i == axis ? Kind::Whole : Kind::Parallel; });
  return b.take();
}

ShardingRule CumulativeOp::getShardingRule() {
  ShardingRule rule = alongAxis(*this, getAxis());
  if (getKind() == ReduceKind::sum)
    rule.linear.push_back({0});
  return rule;
}
ShardingRule TopKOp::getShardingRule() {
  RuleBuilder b(*this);
  int64_t axis = getAxis();
  for (int64_t i = 0, rank = typeOf(getX()).getRank(); i < rank; ++i) {
    if (i != axis) {
      b.same(0, i, i);
      continue;
    }
    b.operand(0, i, {b.factor(dimOf(typeOf(getX()), i), Kind::Whole)});
    b.result(i, {b.factor(getK().getExprs()[0], Kind::Whole)});
  }
  return b.take();
}
ShardingRule SoftmaxOp::getShardingRule() { return alongAxis(*this, getAxis()); }

/// The dimensions from `axis` on are whole; scale and bias broadcast.
static ShardingRule normalization(Operation *op, int64_t axis) {
  RuleBuilder b(op);
  b.broadcast([&](int64_t i) { return i >= axis ? Kind::Whole : Kind::Parallel; });
  return b.take();
}
ShardingRule LayerNormOp::getShardingRule() { return normalization(*this, getAxis()); }
ShardingRule RmsNormOp::getShardingRule() { return normalization(*this, getAxis()); }

ShardingRule GroupNormOp::getShardingRule() {
  RuleBuilder b(*this);
  AffineExpr groups = getAffineConstantExpr(getGroups(), getContext());
  AffineExpr channels = dimOf(getType(), 1);
  unsigned g = b.factor(groups), c = b.factor(divideExactly(channels, groups), Kind::Whole);
  b.same(0, 0, 0);
  b.operand(0, 1, {g, c});
  b.result(1, {g, c});
  b.operand(1, 0, {g, c});
  b.operand(2, 0, {g, c});
  for (int64_t i = 2; i < getType().getRank(); ++i)
    b.same(0, i, i, Kind::Whole);
  return b.take();
}

void GroupNormOp::adaptToPart(const ShardingRule &rule, unsigned factor, int64_t parts) {
  if (llvm::is_contained(rule.operands[0][1].factors, factor))
    setGroups(getGroups() / parts);
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

ShardingRule IotaOp::getShardingRule() {
  RuleBuilder b(*this);
  for (int64_t i = 0; i < getType().getRank(); ++i)
    b.result(i, {b.factor(dimOf(getType(), i), i == int64_t(getAxis()) ? Kind::Whole : Kind::Parallel)});
  return b.take();
}

ShardingRule TransposeOp::getShardingRule() {
  RuleBuilder b(*this);
  for (auto [to, from] : llvm::enumerate(getPerm()))
    b.same(0, from, to);
  b.linear({0});
  return b.take();
}

/// Walks both shapes from the outside. What is left of the two current dimensions is cut at their
/// common outer factor; where they have none, everything up to the next common boundary is whole.
ShardingRule ReshapeOp::getShardingRule() {
  RuleBuilder b(*this);
  MLIRContext *context = getContext();
  SmallVector<AffineExpr> from = dimsOf(typeOf(getX())), to = dimsOf(getType());
  SmallVector<SmallVector<unsigned>> fromFactors(from.size()), toFactors(to.size());
  AffineExpr one = getAffineConstantExpr(1, context);
  auto finish = [&] {
    for (auto [i, factors] : llvm::enumerate(fromFactors))
      b.operand(0, i, factors);
    for (auto [i, factors] : llvm::enumerate(toFactors))
      b.result(i, factors);
    b.linear({0});
    return b.take();
  };
  size_t i = 0, j = 0;
  AffineExpr a = from.empty() ? one : from[0], c = to.empty() ? one : to[0];
  auto nextFrom = [&] { a = ++i < from.size() ? from[i] : one; };
  auto nextTo = [&] { c = ++j < to.size() ? to[j] : one; };
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && constantOf(a) == 1) {
      nextFrom();
      continue;
    }
    if (j < to.size() && constantOf(c) == 1) {
      nextTo();
      continue;
    }
    // A size of 0 leaves nothing to walk by.
    if (i >= from.size() || j >= to.size() || constantOf(a) == 0 || constantOf(c) == 0)
      break;
    AffineExpr common;
    if (divideExactly(a, c))
      common = c;
    else if (divideExactly(c, a))
      common = a;
    else if (auto ca = constantOf(a), cc = constantOf(c); ca && cc && std::gcd(*ca, *cc) > 1)
      common = getAffineConstantExpr(std::gcd(*ca, *cc), context);
    if (common) {
      unsigned f = b.factor(common);
      fromFactors[i].push_back(f);
      toFactors[j].push_back(f);
      a = divideExactly(a, common);
      c = divideExactly(c, common);
      continue;
    }
    // No common outer factor: take in dimensions until what remains of both has equal products.
    AffineExpr left = a, right = c;
    size_t iEnd = i + 1, jEnd = j + 1;
    while (!provablyEqual(left, right)) {
      // Extend the side that the other one is a multiple of, or else the shorter one.
      bool extendLeft = iEnd < from.size() && (jEnd >= to.size() || !divideExactly(left, right));
      if (extendLeft && jEnd < to.size()) {
        auto l = constantOf(left), r = constantOf(right);
        extendLeft = l && r ? *l < *r : iEnd - i <= jEnd - j;
      }
      if (extendLeft)
        left = normalize(left * from[iEnd++]);
      else if (jEnd < to.size())
        right = normalize(right * to[jEnd++]);
      else
        break;
    }
    fromFactors[i].push_back(b.factor(a, Kind::Whole));
    toFactors[j].push_back(b.factor(c, Kind::Whole));
    for (size_t k = i + 1; k < iEnd; ++k)
      fromFactors[k].push_back(b.factor(from[k], Kind::Whole));
    for (size_t k = j + 1; k < jEnd; ++k)
      toFactors[k].push_back(b.factor(to[k], Kind::Whole));
    i = iEnd - 1;
    j = jEnd - 1;
    nextFrom();
    nextTo();
  }
  // A size of 0: everything is whole.
  if (i < from.size() || j < to.size()) {
    b.rule.factors.clear();
    for (auto [k, factors] : llvm::enumerate(fromFactors))
      factors.assign(1, b.factor(from[k], Kind::Whole));
    for (auto [k, factors] : llvm::enumerate(toFactors))
      factors.assign(1, b.factor(to[k], Kind::Whole));
  }
  return finish();
}

ShardingRule BroadcastOp::getShardingRule() {
  RuleBuilder b(*this);
  b.broadcast();
  b.linear({0});
  return b.take();
}

/// Where the slices of `x` cut dimension `dim`: 0, each start and end, and the size, ascending. Empty
/// when one of them is not a static range.
static SmallVector<int64_t> cutsOf(Value x, int64_t dim) {
  SmallVector<int64_t> cuts{0};
  auto size = constantOf(dimOf(typeOf(x), dim));
  if (!size)
    return {};
  cuts.push_back(*size);
  for (Operation *user : x.getUsers()) {
    auto slice = dyn_cast<SliceOp>(user);
    if (!slice)
      continue;
    auto start = constantOf(slice.getStarts().getExprs()[dim]);
    auto count = constantOf(dimOf(slice.getType(), dim));
    if (!start || !count || slice.getSteps()[dim] != 1)
      return {};
    cuts.push_back(*start);
    cuts.push_back(*start + *count);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  return cuts;
}

ShardingRule SliceOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType from = typeOf(getX()), to = getType();
  for (int64_t i = 0; i < to.getRank(); ++i) {
    AffineExpr start = getStarts().getExprs()[i];
    if (constantOf(start) == 0 && getSteps()[i] == 1 && provablyEqual(dimOf(from, i), dimOf(to, i))) {
      b.same(0, i, i);
      continue;
    }
    SmallVector<int64_t> cuts = cutsOf(getX(), i);
    auto count = constantOf(dimOf(to, i));
    if (cuts.empty() || !count || *count == 0) {
      b.operand(0, i, {b.factor(dimOf(from, i), Kind::Whole)});
      b.result(i, {b.factor(dimOf(to, i), Kind::Whole)});
      continue;
    }
    // A window, as one piece of a value that is cut into several.
    int64_t first = *constantOf(start), end = first + *count;
    unsigned f = b.factor(dimOf(to, i));
    FactoredDim &dim = b.rule.operands[0][i];
    dim.factors.push_back(f);
    for (size_t k = 0; k + 1 < cuts.size(); ++k) {
      if (cuts[k + 1] <= first)
        dim.before.push_back(cuts[k + 1] - cuts[k]);
      else if (cuts[k] >= end)
        dim.after.push_back(cuts[k + 1] - cuts[k]);
    }
    b.result(i, {f});
  }
  b.linear({0});
  return b.take();
}

void SliceOp::adaptToPart(const ShardingRule &rule, unsigned factor, int64_t parts) {
  SmallVector<AffineExpr> starts(getStarts().getExprs());
  for (auto [i, dim] : llvm::enumerate(rule.operands[0]))
    // Every block in front of the window was cut too.
    if (dim.isWindow() && llvm::is_contained(dim.factors, factor))
      starts[i] = divideExactly(starts[i], getAffineConstantExpr(parts, getContext()));
  setStartsAttr(DimsAttr::get(getContext(), starts));
}

ShardingRule ConcatOp::getShardingRule() {
  RuleBuilder b(*this);
  SmallVector<unsigned, 2> all;
  for (int64_t i = 0; i < getType().getRank(); ++i) {
    bool isAxis = i == int64_t(getAxis());
    unsigned f = b.factor(dimOf(getType(), i), isAxis ? Kind::Whole : Kind::Parallel);
    b.result(i, {f});
    for (unsigned o = 0; o < getNumOperands(); ++o)
      b.operand(o, i, {isAxis ? b.factor(dimOf(typeOf(getOperand(o)), i), Kind::Whole) : f});
  }
  for (unsigned o = 0; o < getNumOperands(); ++o)
    all.push_back(o);
  b.linear(all);
  return b.take();
}

ShardingRule PadOp::getShardingRule() {
  RuleBuilder b(*this);
  for (int64_t i = 0; i < getType().getRank(); ++i) {
    if (constantOf(getLo().getExprs()[i]) == 0 && constantOf(getHi().getExprs()[i]) == 0) {
      b.same(0, i, i);
      continue;
    }
    b.operand(0, i, {b.factor(dimOf(typeOf(getX()), i), Kind::Whole)});
    b.result(i, {b.factor(dimOf(getType(), i), Kind::Whole)});
  }
  if (!getValue())
    b.linear({0});
  return b.take();
}

ShardingRule GatherOp::getShardingRule() {
  RuleBuilder b(*this);
  int64_t axis = getAxis(), rank = typeOf(getX()).getRank(), indexRank = typeOf(getIndices()).getRank();
  for (int64_t i = 0; i < rank; ++i) {
    if (i == axis)
      b.operand(0, i, {b.factor(dimOf(typeOf(getX()), i), Kind::Whole)});
    else
      b.same(0, i, i < axis ? i : i - 1 + indexRank);
  }
  for (int64_t i = 0; i < indexRank; ++i)
    b.same(1, i, axis + i);
  b.linear({0});
  return b.take();
}

ShardingRule GatherElementsOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType x = typeOf(getX()), out = getType();
  for (int64_t i = 0; i < out.getRank(); ++i) {
    // Away from the axis the indices may cover only a part of x.
    bool same = i != int64_t(getAxis()) && provablyEqual(dimOf(x, i), dimOf(out, i));
    unsigned f = b.factor(dimOf(out, i), same ? Kind::Parallel : Kind::Whole);
    b.result(i, {f});
    b.operand(1, i, {f});
    b.operand(0, i, {same ? f : b.factor(dimOf(x, i), Kind::Whole)});
  }
  b.linear({0});
  return b.take();
}

/// Lines along the axis are apart, where indices and updates cover all of them.
ShardingRule ScatterElementsOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType x = typeOf(getX()), indices = typeOf(getIndices());
  for (int64_t i = 0; i < x.getRank(); ++i) {
    bool apart = i != int64_t(getAxis()) && provablyEqual(dimOf(x, i), dimOf(indices, i));
    Kind kind = apart ? Kind::Parallel : Kind::Whole;
    unsigned line = b.factor(dimOf(x, i), kind), update = apart ? line : b.factor(dimOf(indices, i), kind);
    b.operand(0, i, {line});
    b.operand(1, i, {update});
    b.operand(2, i, {update});
    b.result(i, {line});
  }
  return b.take();
}

ShardingRule GatherNdOp::getShardingRule() {
  RuleBuilder b(*this);
  RankedTensorType x = typeOf(getX()), indices = typeOf(getIndices());
  int64_t batch = getBatchDims(), last = indices.getRank() - 1;
  int64_t tuple = *constantOf(dimOf(indices, last));
  for (int64_t i = 0; i < last; ++i) {
    unsigned f = b.factor(dimOf(indices, i));
    b.operand(1, i, {f});
    if (i < batch)
      b.operand(0, i, {f});
    b.result(i, {f});
  }
  b.operand(1, last, {b.factor(dimOf(indices, last), Kind::Whole)});
  for (int64_t i = 0; i < tuple; ++i)
    b.operand(0, batch + i, {b.factor(dimOf(x, batch + i), Kind::Whole)});
  for (int64_t i = batch + tuple; i < x.getRank(); ++i)
    b.same(0, i, last + i - batch - tuple);
  b.linear({0});
  return b.take();
}
