//===- Product.cpp - ATen operators that multiply tensors -----------------===//

#include "compiler/import/common/Products.h"
#include "compiler/import/torch/NodeImporter.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

using Dims = SmallVector<AffineExpr>;

/// x times a number, unless it is 1.
Value scaled(NodeImporter &n, GraphBuilder &b, Value x, StringRef factor) {
  if (!x || !n.has(factor))
    return x;
  Scalar value = n.scalar(factor);
  if (value.isConstant() && value.number() == 1)
    return x;
  return b.emit<MulOp>({x, n.constant(b.elementOf(x), value)});
}

/// input * weight^T + bias
void linear(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("input"), weight = n.tensor("weight"), bias = n.optionalTensor("bias");
  if (!x || !weight)
    return;
  Value product;
  if (b.rankOf(weight) == 2 && b.rankOf(x) >= 2)
    product = b.emit<MatmulOp>({x, weight}, b.flag("transpose_rhs"));
  else
    product = emitMatmul(b, x, b.rankOf(weight) == 2 ? b.transpose(weight, {1, 0}) : weight);
  n.result(bias ? b.emit<AddOp>({product, bias}) : product);
}

void matmul(NodeImporter &n, GraphBuilder &b) { n.result(emitMatmul(b, n.tensor("self"), n.tensor("other"))); }

/// The arguments of a product of one kind of rank.
template <int rankX, int rankY> void product(NodeImporter &n, GraphBuilder &b) {
  StringRef name = "mat2";
  for (StringRef other : {"vec", "tensor", "vec2", "other"})
    if (n.argument(other))
      name = other;
  Value x = n.tensor("self"), y = n.tensor(name);
  if (!x || !y)
    return;
  if (b.rankOf(x) != rankX || b.rankOf(y) != rankY) {
    n.error() << "multiplies " << b.text(b.typeOf(x)) << " and " << b.text(b.typeOf(y));
    return;
  }
  if (rankX == 3)
    b.requireEqual(dimOf(b.typeOf(x), 0), dimOf(b.typeOf(y), 0), "the batch");
  n.result(emitMatmul(b, x, y));
}

/// beta * self + alpha * (first * second); `isSummed` adds the products of a batch up.
template <bool isSummed> void addProduct(NodeImporter &n, GraphBuilder &b) {
  StringRef first = "mat1", second = "mat2";
  for (auto [x, y] : {std::pair<StringRef, StringRef>("batch1", "batch2"), {"mat", "vec"}})
    if (n.argument(x) && n.argument(y))
      first = x, second = y;
  Value bias = n.tensor("self"), x = n.tensor(first), y = n.tensor(second);
  Value result = emitMatmul(b, x, y);
  if (isSummed && result)
    result = b.reduce(ReduceKind::sum, result, 0, false);
  result = scaled(n, b, result, "alpha");
  // With beta = 0 nothing of self counts, not even NaN.
  bool counts = !n.has("beta") || !n.scalar("beta").isConstant() || n.scalar("beta").number() != 0;
  n.result(counts ? b.emit<AddOp>({result, scaled(n, b, bias, "beta")}) : result);
}

void outer(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), y = n.tensor("vec2");
  if (!x || !y)
    return;
  Type element = n.promoted({{x, {}}, {y, {}}});
  n.result(b.emit<MulOp>({b.cast(b.reshape(x, {dimOf(b.typeOf(x), 0), b.size(1)}), element), b.cast(y, element)}));
}
void addOuter(NodeImporter &n, GraphBuilder &b) {
  Value bias = n.tensor("self"), x = n.tensor("vec1"), y = n.tensor("vec2");
  if (!x || !y)
    return;
  Value product = b.emit<MulOp>({b.reshape(x, {dimOf(b.typeOf(x), 0), b.size(1)}), y});
  n.result(b.emit<AddOp>({scaled(n, b, product, "alpha"), scaled(n, b, bias, "beta")}));
}

/// Sums over the last dimension of both.
void inner(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), y = n.tensor("other");
  if (!x || !y)
    return;
  if (b.rankOf(x) == 0 || b.rankOf(y) == 0)
    return n.result(b.emit<MulOp>({x, y}));
  std::string left, right;
  for (int64_t i = 1; i < b.rankOf(x); ++i)
    left += char('a' + i);
  for (int64_t i = 1; i < b.rankOf(y); ++i)
    right += char('A' + i);
  n.result(emitEinsum(b, left + "z," + right + "z->" + left + right, {x, y}));
}

void einsum(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"path"});
  StringRef equation = n.string("equation", "");
  n.result(emitEinsum(b, equation, n.tensors("tensors")));
}

void tensordot(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), y = n.tensor("other");
  if (!x || !y)
    return;
  SmallVector<int64_t> dimsX = n.integers("dims_self"), dimsY = n.integers("dims_other");
  n.axes(dimsX, b.rankOf(x)), n.axes(dimsY, b.rankOf(y));
  if (b.failed() || dimsX.size() != dimsY.size())
    return;
  std::string left, right, output;
  for (int64_t i = 0; i < b.rankOf(x); ++i)
    left += char('a' + i);
  for (int64_t i = 0; i < b.rankOf(y); ++i)
    right += char('A' + i);
  for (auto [i, j] : llvm::zip(dimsX, dimsY))
    right[n.axis(j, b.rankOf(y))] = left[n.axis(i, b.rankOf(x))];
  for (char label : left)
    if (!StringRef(right).contains(label))
      output += label;
  for (char label : right)
    if (!StringRef(left).contains(label))
      output += label;
  n.result(emitEinsum(b, left + "," + right + "->" + output, {x, y}));
}

template <int argument> void chain(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = n.tensors(argument == 0 ? "matrices" : "tensors");
  Value result;
  for (Value x : xs)
    result = result ? emitMatmul(b, result, x) : x;
  n.result(result);
}

/// sum over i, j of input1[.., i] * weight[o, i, j] * input2[.., j], plus bias
void bilinear(NodeImporter &n, GraphBuilder &b) {
  Value product = emitEinsum(b, "...i,oij,...j->...o", {n.tensor("input1"), n.tensor("weight"), n.tensor("input2")});
  Value bias = n.optionalTensor("bias");
  n.result(bias ? b.emit<AddOp>({product, bias}) : product);
}

/// The sum over some dimensions of a product of three tensors with dimensions put in between.
void trilinear(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"unroll_dim"});
  Value product;
  for (auto [name, expand] : {std::pair<StringRef, StringRef>("i1", "expand1"), {"i2", "expand2"}, {"i3", "expand3"}}) {
    Value x = n.tensor(name);
    SmallVector<int64_t> added = n.integers(expand);
    if (!x)
      return;
    Dims dims = dimsOf(b.typeOf(x));
    for (int64_t axis : added)
      dims.insert(dims.begin() + std::clamp<int64_t>(axis, 0, dims.size()), b.size(1));
    x = b.reshape(x, dims);
    product = product ? b.emit<MulOp>({product, x}) : x;
  }
  if (product)
    n.result(b.reduce(ReduceKind::sum, product, n.axes(n.integers("sumdim"), b.rankOf(product)), false));
}

void cross(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), y = n.tensor("other");
  if (!x || !y)
    return;
  int64_t axis = n.axis(n.integer("dim", -1), b.rankOf(x));
  if (b.failed() || constantOf(dimOf(b.typeOf(x), axis)) != 3)
    return n.unsupported("the dimension must have size 3");
  // x[1, 2, 0] * y[2, 0, 1] - x[2, 0, 1] * y[1, 2, 0]
  auto turned = [&](Value value, ArrayRef<int64_t> order) {
    return b.emit<GatherOp>({value, b.intVector(order)}, b.i64("axis", axis));
  };
  n.result(b.emit<SubOp>({b.emit<MulOp>({turned(x, {1, 2, 0}), turned(y, {2, 0, 1})}),
                          b.emit<MulOp>({turned(x, {2, 0, 1}), turned(y, {1, 2, 0})})}));
}

/// Products of all elements with all others, blockwise.
void kron(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), y = n.tensor("other");
  if (!x || !y)
    return;
  Dims xd = dimsOf(b.typeOf(x)), yd = dimsOf(b.typeOf(y)), left, right, result;
  size_t rank = std::max(xd.size(), yd.size());
  xd.insert(xd.begin(), rank - xd.size(), b.size(1));
  yd.insert(yd.begin(), rank - yd.size(), b.size(1));
  for (size_t i = 0; i < rank; ++i) {
    left.append({xd[i], b.size(1)});
    right.append({b.size(1), yd[i]});
    result.push_back(normalize(xd[i] * yd[i]));
  }
  n.result(b.reshape(b.emit<MulOp>({b.reshape(x, left), b.reshape(y, right)}), result));
}

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

Value sumOver(GraphBuilder &b, Value x, int64_t axis, bool keepDims = false) {
  return b.reduce(ReduceKind::sum, x, axis, keepDims);
}

void cosineSimilarity(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("x1"), y = n.tensor("x2");
  if (!x || !y)
    return;
  Value product = b.emit<MulOp>({x, y});
  if (!product)
    return;
  int64_t rank = b.rankOf(product), axis = n.axis(n.integer("dim", 1), rank);
  double eps = n.number("eps", 1e-8);
  if (b.failed())
    return;
  // Each operand is as long as it is before it is broadcast.
  auto unit = [&](Value value) {
    Dims dims = dimsOf(b.typeOf(value));
    dims.insert(dims.begin(), rank - dims.size(), b.size(1));
    value = b.reshape(value, dims);
    Value norm = b.emit<SqrtOp>(sumOver(b, b.emit<MulOp>({value, value}), axis, true));
    return b.emit<DivOp>({value, b.emit<MaxOp>({norm, b.scalar(b.elementOf(value), eps)})});
  };
  n.result(sumOver(b, b.emit<MulOp>({unit(x), unit(y)}), axis));
}

/// (sum |d|^p)^(1/p) over the last dimension.
Value lengthOf(GraphBuilder &b, Value difference, double p, bool keepDims) {
  if (!difference)
    return {};
  int64_t axis = b.rankOf(difference) - 1;
  auto constant = [&](double value) { return b.scalar(b.elementOf(difference), value); };
  Value magnitude = b.emit<AbsOp>(difference);
  if (std::isinf(p))
    return b.reduce(ReduceKind::max, magnitude, axis, keepDims);
  if (p == 0)
    return sumOver(b, b.cast(b.compare(ComparePredicate::ne, difference, constant(0)), b.elementOf(difference)), axis, keepDims);
  if (p == 1)
    return sumOver(b, magnitude, axis, keepDims);
  if (p == 2)
    return b.emit<SqrtOp>(sumOver(b, b.emit<MulOp>({difference, difference}), axis, keepDims));
  return b.emit<PowOp>({sumOver(b, b.emit<PowOp>({magnitude, constant(p)}), axis, keepDims), constant(1 / p)});
}
void pairwiseDistance(NodeImporter &n, GraphBuilder &b) {
  Value difference = b.emit<SubOp>({n.tensor("x1"), n.tensor("x2")});
  if (difference)
    difference = b.emit<AddOp>({difference, b.scalar(b.elementOf(difference), n.number("eps", 1e-6))});
  n.result(lengthOf(b, difference, n.number("p", 2), n.boolean("keepdim", false)));
}
void cdist(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"compute_mode"});
  Value x = n.tensor("x1"), y = n.tensor("x2");
  if (!x || !y || b.rankOf(x) < 2 || b.rankOf(y) < 2)
    return;
  Dims rows = dimsOf(b.typeOf(x)), columns = dimsOf(b.typeOf(y));
  rows.insert(rows.end() - 1, b.size(1));
  columns.insert(columns.end() - 2, b.size(1));
  n.result(lengthOf(b, b.emit<SubOp>({b.reshape(x, rows), b.reshape(y, columns)}), n.number("p", 2), false));
}

const OperatorRow kOperators[] = {
    {"aten.addbmm", "", addProduct<true>},
    {"aten.addmm", "", addProduct<false>},
    {"aten.addmv", "", addProduct<false>},
    {"aten.addr", "", addOuter},
    {"aten.baddbmm", "", addProduct<false>},
    {"aten.bilinear", "", bilinear},
    {"aten.bmm", "", product<3, 3>},
    {"aten.cdist", "", cdist},
    {"aten._cdist_forward", "", cdist},
    {"aten.chain_matmul", "", chain<0>},
    {"aten.cosine_similarity", "", cosineSimilarity},
    {"aten.dot", "", product<1, 1>},
    {"aten.einsum", "", einsum},
    {"aten.ger", "", outer},
    {"aten.inner", "", inner},
    {"aten.kron", "", kron},
    {"aten.linalg_cross", "", cross},
    {"aten.linalg_matmul", "", matmul},
    {"aten.linalg_multi_dot", "", chain<1>},
    {"aten.linear", "", linear},
    {"aten.matmul", "", matmul},
    {"aten.mm", "", product<2, 2>},
    {"aten.mv", "", product<2, 1>},
    {"aten.outer", "", outer},
    {"aten.pairwise_distance", "", pairwiseDistance},
    {"aten.tensordot", "", tensordot},
    {"aten._trilinear", "", trilinear},
    {"aten.vdot", "", product<1, 1>},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::productOperators() { return kOperators; }
