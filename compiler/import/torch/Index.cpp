//===- Index.cpp - ATen operators that look elements up by index ----------===//

#include "compiler/import/common/Slices.h"
#include "compiler/import/torch/NodeImporter.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

using Dims = SmallVector<AffineExpr>;

Dims dims(GraphBuilder &b, Value x) { return x ? dimsOf(b.typeOf(x)) : Dims(); }

/// An index as nx takes it: int32 or int64.
Value indexValue(GraphBuilder &b, Value index) {
  if (!index || b.elementOf(index).isInteger(64) || b.elementOf(index).isInteger(32))
    return index;
  return b.cast(index, b.builder.getI64Type());
}

void embedding(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"padding_idx", "scale_grad_by_freq", "sparse"}); // of training
  Value weight = n.tensor("weight"), indices = indexValue(b, n.tensor("indices"));
  n.result(b.emit<GatherOp>({weight, indices}, b.i64("axis", 0)));
}

void indexSelect(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("index"));
  if (!x || !index)
    return;
  if (b.rankOf(x) == 0)
    return n.result(x);
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (b.rankOf(index) == 0)
    index = b.reshape(index, b.size(1));
  n.result(b.emit<GatherOp>({x, index}, b.i64("axis", axis)));
}

/// `x` cut to the sizes of `index` where they may be smaller: every dimension but `axis`.
void gather(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"sparse_grad"});
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("index"));
  if (!x || !index)
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (b.rankOf(x) == 0 && b.rankOf(index) == 0)
    return n.result(x);
  if (b.rankOf(x) == 0)
    x = b.reshape(x, b.size(1));
  Dims shape = dims(b, index);
  bool isScalar = b.rankOf(index) == 0;
  if (isScalar)
    index = b.reshape(index, b.size(1));
  Value result = b.emit<GatherElementsOp>({x, index}, b.i64("axis", axis));
  n.result(isScalar ? b.reshape(result, shape) : result);
}

void takeAlongDim(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("indices"));
  if (!x || !index)
    return;
  if (!n.has("dim")) {
    x = b.reshape(x, productOf(dims(b, x), b.context()));
    index = b.reshape(index, productOf(dims(b, index), b.context()));
    return n.result(b.emit<GatherOp>({x, index}, b.i64("axis", 0)));
  }
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  Dims wanted = dims(b, x), given = dims(b, index);
  if (b.failed() || wanted.size() != given.size())
    return n.unsupported("operands of different ranks");
  for (size_t i = 0; i < wanted.size(); ++i)
    if (int64_t(i) != axis) {
      AffineExpr common = broadcastDim(wanted[i], given[i]);
      if (!common)
        return n.unsupported("sizes that do not broadcast");
      wanted[i] = given[i] = common;
    }
  n.result(b.emit<GatherElementsOp>({b.broadcast(x, wanted), b.broadcast(index, given)}, b.i64("axis", axis)));
}

void take(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("index"));
  if (x)
    n.result(b.emit<GatherOp>({b.reshape(x, productOf(dims(b, x), b.context())), index}, b.i64("axis", 0)));
}

//===----------------------------------------------------------------------===//
// x[indices]
//===----------------------------------------------------------------------===//

/// Indices of an advanced index: which dimensions have one, and the indices broadcast together.
struct Indexing {
  SmallVector<int64_t> axes;
  SmallVector<Value> indices;
  Dims shape; ///< of the indices
  bool isTogether = true;
};

std::optional<Indexing> readIndexing(NodeImporter &n, GraphBuilder &b, Value x) {
  Indexing indexing;
  SmallVector<Value> given = n.tensors("indices", /*mayBeNone=*/true);
  if (!x || b.failed())
    return std::nullopt;
  if (int64_t(given.size()) > b.rankOf(x)) {
    n.error() << given.size() << " indices for " << b.text(b.typeOf(x));
    return std::nullopt;
  }
  for (auto [axis, index] : llvm::enumerate(given)) {
    if (!index)
      continue;
    if (b.elementOf(index).isInteger(1) || b.elementOf(index).isUnsignedInteger(8))
      return n.unsupported("an index of booleans: the size of the result depends on the data"), std::nullopt;
    if (!indexing.axes.empty() && indexing.axes.back() + 1 != int64_t(axis))
      indexing.isTogether = false;
    indexing.axes.push_back(axis);
    indexing.indices.push_back(indexValue(b, index));
    Dims one = dims(b, index);
    Dims &shape = indexing.shape;
    shape.insert(shape.begin(), std::max(one.size(), shape.size()) - shape.size(), b.size(1));
    for (size_t i = 1; i <= one.size(); ++i) {
      AffineExpr merged = broadcastDim(shape[shape.size() - i], one[one.size() - i]);
      if (!merged) {
        n.error() << "the indices do not broadcast together";
        return std::nullopt;
      }
      shape[shape.size() - i] = merged;
    }
  }
  return indexing;
}

/// One index tuple per position: [shape.., count].
Value indexTuples(GraphBuilder &b, const Indexing &indexing, Value x) {
  Dims column(indexing.shape);
  column.push_back(b.size(1));
  SmallVector<Value> columns;
  for (auto [axis, index] : llvm::zip(indexing.axes, indexing.indices)) {
    Value wide = b.cast(b.broadcast(index, indexing.shape), b.builder.getI64Type());
    columns.push_back(b.reshape(wide, column));
  }
  return columns.size() == 1 ? columns[0] : b.emit<ConcatOp>(columns, b.i64("axis", int64_t(column.size()) - 1));
}

void index(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Indexing> indexing = readIndexing(n, b, x);
  if (!indexing)
    return;
  if (indexing->axes.empty())
    return n.result(x);
  // One index is a gather as it is.
  if (indexing->axes.size() == 1)
    return n.result(b.emit<GatherOp>({x, indexing->indices[0]}, b.i64("axis", indexing->axes[0])));
  // Several: their dimensions to the front, then by tuples.
  SmallVector<int64_t> perm(indexing->axes);
  for (int64_t i = 0; i < b.rankOf(x); ++i)
    if (!llvm::is_contained(indexing->axes, i))
      perm.push_back(i);
  Value picked = b.emit<GatherNdOp>({b.transpose(x, perm), indexTuples(b, *indexing, x)}, b.i64("batch_dims", 0));
  if (!picked)
    return;
  // Neighbouring indices leave their result where they were; others in front.
  int64_t rank = indexing->shape.size(), before = indexing->isTogether ? indexing->axes.front() : 0;
  SmallVector<int64_t> back;
  for (int64_t i = 0; i < before; ++i)
    back.push_back(rank + i);
  for (int64_t i = 0; i < rank; ++i)
    back.push_back(i);
  for (int64_t i = rank + before; i < b.rankOf(picked); ++i)
    back.push_back(i);
  n.result(b.transpose(picked, back));
}

//===----------------------------------------------------------------------===//
// Writes by index
//===----------------------------------------------------------------------===//

NamedAttribute scatterKind(GraphBuilder &b, ScatterKind kind) {
  return b.attr("reduction", ScatterKindAttr::get(b.context(), kind));
}

/// x[indices] = values, or += with `accumulate`.
void indexPut(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"unsafe"});
  Value x = n.tensor("self"), values = n.tensor("values");
  if (!x || !values)
    return;
  bool accumulate = n.boolean("accumulate", false);
  SmallVector<Value> given = n.tensors("indices", /*mayBeNone=*/true);
  values = b.cast(values, b.elementOf(x));
  // One mask over the leading dimensions and one value for all: a choice.
  if (given.size() == 1 && given[0] && b.elementOf(given[0]).isInteger(1)) {
    if (b.rankOf(values) != 0 || accumulate)
      return n.unsupported("an index of booleans: the number of elements depends on the data");
    Value mask = b.appendUnitDims(given[0], b.rankOf(x));
    return n.result(b.emit<SelectOp>({mask, values, x}));
  }
  std::optional<Indexing> indexing = readIndexing(n, b, x);
  if (!indexing)
    return;
  SmallVector<int64_t> perm(indexing->axes), inverse(b.rankOf(x));
  for (int64_t i = 0; i < b.rankOf(x); ++i)
    if (!llvm::is_contained(indexing->axes, i))
      perm.push_back(i);
  for (auto [i, axis] : llvm::enumerate(perm))
    inverse[axis] = i;
  if (indexing->axes.empty())
    return n.result(b.broadcast(values, dims(b, x)));
  Value moved = b.transpose(x, perm);
  // What the index shows, as [indices.., rest..]; the program's values have the indices' dimensions where
  // neighbouring indices were.
  Dims wanted(indexing->shape), all = dims(b, moved);
  wanted.append(all.begin() + indexing->axes.size(), all.end());
  int64_t before = indexing->isTogether ? indexing->axes.front() : 0, rank = indexing->shape.size();
  SmallVector<int64_t> shown;
  Dims shownDims;
  for (int64_t i = 0; i < before; ++i)
    shown.push_back(rank + i);
  for (int64_t i = 0; i < rank; ++i)
    shown.push_back(i);
  for (int64_t i = rank + before; i < int64_t(wanted.size()); ++i)
    shown.push_back(i);
  SmallVector<int64_t> back(shown.size());
  for (auto [i, axis] : llvm::enumerate(shown)) {
    shownDims.push_back(wanted[axis]);
    back[axis] = i;
  }
  Value updates = b.transpose(b.broadcast(values, shownDims), back);
  Value result = b.emit<ScatterNdOp>({moved, indexTuples(b, *indexing, x), updates},
                                     scatterKind(b, accumulate ? ScatterKind::add : ScatterKind::set));
  n.result(b.transpose(result, inverse));
}

/// scatter, scatter_add, scatter_reduce: one index per update along a dimension.
void scatter(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("index"));
  if (!x || !index)
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  StringRef reduce = n.string("reduce", "");
  if (!n.boolean("include_self", true))
    return n.unsupported("include_self = False");
  std::optional<ScatterKind> kind = llvm::StringSwitch<std::optional<ScatterKind>>(reduce)
                                        .Case("", ScatterKind::set)
                                        .Cases({"add", "sum"}, ScatterKind::add)
                                        .Cases({"multiply", "prod"}, ScatterKind::mul)
                                        .Case("amax", ScatterKind::max)
                                        .Case("amin", ScatterKind::min)
                                        .Default(std::nullopt);
  if (!kind)
    return n.unsupported("reduce = '" + reduce + "'");
  if (b.rankOf(x) == 0)
    return n.unsupported("a scalar");
  // Updates may be larger than the indices; what lies beyond does not count.
  Value updates = n.has("src") ? n.tensor("src") : b.broadcast(n.as(n.operand("value"), b.elementOf(x)), dims(b, index));
  if (!updates)
    return;
  updates = b.cast(updates, b.elementOf(x));
  if (dims(b, updates) != dims(b, index)) {
    SmallVector<std::pair<int64_t, SliceRange>> ranges;
    for (auto [i, size] : llvm::enumerate(dims(b, index)))
      ranges.push_back({int64_t(i), SliceRange{b.size(0), size, 1}});
    updates = emitSlice(b, updates, ranges);
  }
  n.result(b.emit<ScatterElementsOp>({x, index, updates}, {b.i64("axis", axis), scatterKind(b, *kind)}));
}
void scatterAdd(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("index")), source = n.tensor("src");
  if (!x || !index || !source)
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (dims(b, source) != dims(b, index)) {
    SmallVector<std::pair<int64_t, SliceRange>> ranges;
    for (auto [i, size] : llvm::enumerate(dims(b, index)))
      ranges.push_back({int64_t(i), SliceRange{b.size(0), size, 1}});
    source = emitSlice(b, source, ranges);
  }
  n.result(b.emit<ScatterElementsOp>({x, index, b.cast(source, b.elementOf(x))},
                                     {b.i64("axis", axis), scatterKind(b, ScatterKind::add)}));
}

/// Whole rows along one dimension: index_copy, index_add, index_fill.
template <ScatterKind kind> void indexRows(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), index = indexValue(b, n.tensor("index"));
  if (!x || !index)
    return;
  if (b.rankOf(x) == 0)
    return n.unsupported("a scalar");
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (b.failed())
    return;
  SmallVector<int64_t> perm{axis};
  for (int64_t i = 0; i < b.rankOf(x); ++i)
    if (i != axis)
      perm.push_back(i);
  SmallVector<int64_t> inverse(perm.size());
  for (auto [i, at] : llvm::enumerate(perm))
    inverse[at] = i;
  AffineExpr count = b.rankOf(index) ? dimOf(b.typeOf(index), 0) : b.size(1);
  Dims rows = dims(b, x);
  rows[axis] = count;
  Value source = n.has("source") ? n.tensor("source") : n.as(n.operand("value"), b.elementOf(x));
  if (!source)
    return;
  source = b.cast(source, b.elementOf(x));
  if (n.has("alpha") && (!n.scalar("alpha").isConstant() || n.scalar("alpha").number() != 1))
    source = b.emit<MulOp>({source, n.constant(b.elementOf(x), n.scalar("alpha"))});
  Value updates = b.transpose(b.broadcast(source, rows), perm);
  n.result(b.transpose(b.emit<ScatterNdOp>({b.transpose(x, perm), b.reshape(index, {count, b.size(1)}), updates},
                                           scatterKind(b, kind)),
                       inverse));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void ordered(NodeImporter &n, GraphBuilder &b, bool isSort) {
  n.ignore({"sorted", "stable"}); // nx sorts always, and equal elements keep their order
  Value x = n.tensor("self");
  if (!x)
    return;
  bool smallest = isSort ? !n.boolean("descending", false) : !n.boolean("largest", true);
  int64_t axis = n.axis(n.integer("dim", -1), b.rankOf(x));
  if (b.failed())
    return;
  if (b.rankOf(x) == 0)
    return n.results({x, b.scalar(b.builder.getI64Type(), 0)});
  std::optional<AffineExpr> k = isSort ? dimOf(b.typeOf(x), axis) : n.size("k");
  if (!k)
    return;
  b.requireAtMost(*k, dimOf(b.typeOf(x), axis), "k");
  SmallVector<NamedAttribute> attributes{b.i64("axis", axis), b.dims("k", *k)};
  if (smallest)
    attributes.push_back(b.flag("smallest"));
  n.results(b.emitMany<TopKOp>(2, {x}, attributes));
}
void topK(NodeImporter &n, GraphBuilder &b) { ordered(n, b, false); }
void sort(NodeImporter &n, GraphBuilder &b) { ordered(n, b, true); }
void argsort(NodeImporter &n, GraphBuilder &b) {
  ordered(n, b, true);
  if (n.takenResults().size() == 2)
    n.result(n.takenResults()[1]);
}

const OperatorRow kOperators[] = {
    {"aten.argsort", "default stable", argsort},
    {"aten.embedding", "", embedding},
    {"aten.gather", "", gather},
    {"aten.index", "Tensor", index},
    {"aten.index_add", "", indexRows<ScatterKind::add>},
    {"aten.index_copy", "", indexRows<ScatterKind::set>},
    {"aten.index_fill", "int_Scalar int_Tensor", indexRows<ScatterKind::set>},
    {"aten.index_put", "", indexPut},
    {"aten._index_put_impl", "", indexPut},
    {"aten.index_select", "", indexSelect},
    {"aten.scatter", "src value reduce value_reduce", scatter},
    {"aten.scatter_add", "", scatterAdd},
    {"aten.scatter_reduce", "two", scatter},
    {"aten.sort", "default stable", sort},
    {"aten.take", "", take},
    {"aten.take_along_dim", "", takeAlongDim},
    {"aten.topk", "", topK},
    {"aten._unsafe_index", "Tensor", index},
    {"aten._unsafe_index_put", "", indexPut},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::indexOperators() { return kOperators; }
