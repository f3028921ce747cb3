//===- Index.cpp - ATen operators that look elements up by index ----------===//

#include "compiler/import/common/Slices.h"
#include "compiler/import/torch/NodeImporter.h"

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

const OperatorRow kOperators[] = {
    {"aten.embedding", "", embedding},
    {"aten.gather", "", gather},
    {"aten.index", "Tensor", index},
    {"aten.index_select", "", indexSelect},
    {"aten.take", "", take},
    {"aten.take_along_dim", "", takeAlongDim},
    {"aten._unsafe_index", "Tensor", index},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::indexOperators() { return kOperators; }
