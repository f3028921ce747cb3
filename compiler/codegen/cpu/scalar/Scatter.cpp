// scatter_elements and scatter_nd: a copy, then the updates in order.
#include "compiler/codegen/cpu/scalar/ScalarKernel.h"

using namespace mlir;

namespace nx {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// The element that becomes of an update and what it meets.
static Value merged(ScalarKernel &k, ScatterKind kind, bool isUnsigned, Value there, Value update) {
  switch (kind) {
  case ScatterKind::set:
    return update;
  case ScatterKind::add:
    return k.at().combine(ReduceKind::sum, isUnsigned, there, update);
  case ScatterKind::mul:
    return k.at().combine(ReduceKind::prod, isUnsigned, there, update);
  case ScatterKind::max:
    // As numbers, the boolean true is the signed -1.
    return k.at().combine(ReduceKind::max, isUnsigned || there.getType().isInteger(1), there, update);
  case ScatterKind::min:
    return k.at().combine(ReduceKind::min, isUnsigned || there.getType().isInteger(1), there, update);
  }
  llvm_unreachable("all kinds are handled");
}

// A tile is a line along the axis.
ScalarBodies scalarBodies(ScatterElementsOp op) {
  RankedTensorType type = typeOf(op.getX()), indexType = typeOf(op.getIndices());
  int64_t axis = op.getAxis();
  ScalarBodies bodies;
  bodies.canFail = true;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      bodies.tiles.push_back(dimOf(type, i));
  bodies.tileCost = dimOf(type, axis) + dimOf(indexType, axis) * 2;
  bodies.run = [op, axis](ScalarKernel &k, Value begin, Value end) mutable {
    KernelBuilder &kb = k.kb;
    ScalarTensor x = k.operand(op.getX()), indices = k.operand(op.getIndices()), updates = k.operand(op.getUpdates());
    ScalarTensor y = k.result(0);
    SmallVector<Value> outer(x.sizes);
    outer.erase(outer.begin() + axis);
    kb.loop(begin, end, 1, [&](Value line) {
      SmallVector<Value> place = k.indexOf(line, outer);
      place.insert(place.begin() + axis, kb.index(0));
      Value from = k.offset(x, place), to = k.offset(y, place);
      k.loop(x.sizes[axis], [&](Value i) {
        Value value = k.load(x, kb.add(from, kb.mul(i, x.strides[axis])));
        k.store(value, y, kb.add(to, kb.mul(i, y.strides[axis])));
      });
      // Indices may cover a part of the lines only.
      Value covered = kb.equal(kb.index(0), kb.index(0));
      for (unsigned d = 0; d < place.size(); ++d)
        if (int64_t(d) != axis)
          covered = k.both(covered, kb.less(place[d], indices.sizes[d]));
      Value count = kb.select(covered, indices.sizes[axis], kb.index(0));
      Value indexFrom = k.offset(indices, place), updateFrom = k.offset(updates, place);
      k.loop(count, [&](Value j) {
        Value number = k.load(indices, kb.add(indexFrom, kb.mul(j, indices.strides[axis])));
        Value update = k.load(updates, kb.add(updateFrom, kb.mul(j, updates.strides[axis])));
        Value at = kb.add(to, kb.mul(k.checkedIndex(number, x.sizes[axis]), y.strides[axis]));
        k.store(merged(k, op.getReduction(), x.isUnsigned, k.load(y, at), update), y, at);
      });
    });
  };
  return bodies;
}

// A tile is a range of the dimensions that no index chooses in.
ScalarBodies scalarBodies(ScatterNdOp op) {
  constexpr int64_t width = 1024;
  RankedTensorType type = typeOf(op.getX()), indexType = typeOf(op.getIndices());
  int64_t tuple = *constantOf(dimOf(indexType, indexType.getRank() - 1)), outer = indexType.getRank() - 1;
  SmallVector<AffineExpr> dims = dimsOf(type), indexDims = dimsOf(indexType);
  MLIRContext *context = op.getContext();
  AffineExpr inner = productOf(ArrayRef(dims).drop_front(tuple), context);
  AffineExpr rows = productOf(ArrayRef(dims).take_front(tuple), context);
  AffineExpr numUpdates = productOf(ArrayRef(indexDims).take_front(outer), context);
  ScalarBodies bodies;
  bodies.canFail = true;
  bodies.tiles = {inner.ceilDiv(width)};
  bodies.tileCost = (rows + numUpdates) * 256;
  bodies.run = [=](ScalarKernel &k, Value begin, Value end) mutable {
    KernelBuilder &kb = k.kb;
    ScalarTensor x = k.operand(op.getX()), indices = k.operand(op.getIndices()), updates = k.operand(op.getUpdates());
    ScalarTensor y = k.result(0);
    Value innerSize = kb.size(inner);
    // Constants that are all alike have stride 0.
    auto step = [&](const ScalarTensor &t) { return t.rank() ? t.strides.back() : kb.index(1); };
    kb.loop(begin, end, 1, [&](Value tile) {
      Value first = kb.mul(tile, width), last = kb.min(kb.add(first, width), innerSize);
      k.loop(kb.size(rows), [&](Value row) {
        Value base = kb.mul(row, innerSize);
        kb.loop(first, last, 1, [&](Value i) {
          Value at = kb.add(base, i);
          k.store(k.load(x, kb.mul(at, step(x))), y, at);
        });
      });
      k.loop(kb.size(numUpdates), [&](Value number) {
        Value row = kb.index(0);
        for (int64_t t = 0; t < tuple; ++t) {
          Value place = kb.mul(kb.add(kb.mul(number, tuple), kb.index(t)), step(indices));
          row = kb.add(kb.mul(row, x.sizes[t]), k.checkedIndex(k.load(indices, place), x.sizes[t]));
        }
        Value base = kb.mul(row, innerSize), from = kb.mul(number, innerSize);
        kb.loop(first, last, 1, [&](Value i) {
          Value at = kb.add(base, i), update = k.load(updates, kb.mul(kb.add(from, i), step(updates)));
          k.store(merged(k, op.getReduction(), x.isUnsigned, k.load(y, at), update), y, at);
        });
      });
    });
  };
  return bodies;
}

} // namespace nx
