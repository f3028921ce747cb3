// top_k: a stable merge sort of each line's indices.
#include "compiler/codegen/cpu/scalar/ScalarKernel.h"

using namespace mlir;

namespace nx {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

// Whether x comes before y, strictly.
static Value comesBefore(ScalarKernel &k, Value x, Value y, bool smallest, bool isUnsigned) {
  if (!isa<FloatType>(x.getType())) {
    using P = arith::CmpIPredicate;
    bool isLogical = isUnsigned || x.getType().isInteger(1);
    return k.at().compare(smallest ? (isLogical ? P::ult : P::slt) : (isLogical ? P::ugt : P::sgt), x, y);
  }
  using P = arith::CmpFPredicate;
  auto compare = [&](P predicate, Value a, Value b) {
    return arith::CmpFOp::create(k.kb.b, k.kb.loc, predicate, a, b).getResult();
  };
  // NaN is the greatest: last of the smallest, first of the greatest.
  Value numbers = compare(smallest ? P::OLT : P::OGT, x, y);
  Value nan = smallest ? y : x, other = smallest ? x : y;
  return k.either(numbers, k.both(compare(P::UNO, nan, nan), compare(P::ORD, other, other)));
}

ScalarBodies scalarBodies(TopKOp op) {
  RankedTensorType type = typeOf(op.getX());
  int64_t axis = op.getAxis();
  ScalarBodies bodies;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      bodies.tiles.push_back(dimOf(type, i));
  AffineExpr size = dimOf(type, axis);
  // Two lists of indices, each aligned.
  AffineExpr listBytes = (size * 8).ceilDiv(64) * 64;
  bodies.scratchBytes = listBytes * 2;
  bodies.tileCost = size * 64;
  bool smallest = op.getSmallest();
  bodies.run = [=](ScalarKernel &k, Value begin, Value end) mutable {
    KernelBuilder &kb = k.kb;
    ScalarTensor x = k.operand(op.getX()), values = k.result(0), indices = k.result(1);
    Type i64 = kb.b.getI64Type();
    Value count = x.sizes[axis], zero = kb.index(0), limit = kb.sub(count, kb.index(1));
    Value lists = kb.scratch(i64, zero), second = kb.size(listBytes.floorDiv(8));
    SmallVector<Value> outer(x.sizes);
    outer.erase(outer.begin() + axis);
    auto asNumber = [&](Value index) -> Value { return arith::IndexCastOp::create(kb.b, kb.loc, i64, index); };
    auto entry = [&](Value list, Value i) -> Value {
      return arith::IndexCastOp::create(kb.b, kb.loc, kb.b.getIndexType(), kb.loadScalar(lists, kb.add(list, i)));
    };
    kb.loop(begin, end, 1, [&](Value line) {
      SmallVector<Value> place = k.indexOf(line, outer);
      place.insert(place.begin() + axis, zero);
      Value from = k.offset(x, place);
      auto element = [&](Value i) { return k.load(x, kb.add(from, kb.mul(i, x.strides[axis]))); };
      k.loop(count, [&](Value i) { kb.storeScalar(asNumber(i), lists, i); });
      // Runs of 1, 2, 4, .. elements are merged pairwise from one list to the other.
      Value passes = kb.index(62);
      SmallVector<Value> sorted =
          kb.loop(zero, passes, 1, {kb.index(1), zero, second}, [&](Value, ValueRange carried) {
            Value run = carried[0], source = carried[1], target = carried[2];
            return kb.choose(
                kb.less(run, count), {run.getType(), run.getType(), run.getType()},
                [&] {
                  Value pairs = kb.ceilDiv(count, kb.mul(run, 2));
                  k.loop(pairs, [&](Value pair) {
                    Value low = kb.mul(kb.mul(pair, run), 2), middle = kb.min(kb.add(low, run), count);
                    Value high = kb.min(kb.add(middle, run), count);
                    kb.loop(low, high, 1, {low, middle}, [&](Value to, ValueRange heads) {
                      Value left = heads[0], right = heads[1];
                      Value hasLeft = kb.less(left, middle), hasRight = kb.less(right, high);
                      // Past its end a run's head is not looked at, but it is loaded.
                      Value leftEntry = entry(source, kb.min(left, limit)), rightEntry = entry(source, kb.min(right, limit));
                      Value before = comesBefore(k, element(rightEntry), element(leftEntry), smallest, x.isUnsigned);
                      Value takeRight = kb.select(hasLeft, k.both(hasRight, before), hasRight);
                      kb.storeScalar(asNumber(kb.select(takeRight, rightEntry, leftEntry)), lists, kb.add(target, to));
                      return SmallVector<Value>{kb.select(takeRight, left, kb.add(left, 1)),
                                                kb.select(takeRight, kb.add(right, 1), right)};
                    });
                  });
                  return SmallVector<Value>{kb.mul(run, 2), target, source};
                },
                [&] { return SmallVector<Value>{run, source, target}; });
          });
      Value valuesAt = k.offset(values, place), indicesAt = k.offset(indices, place);
      k.loop(values.sizes[axis], [&](Value i) {
        Value best = entry(sorted[1], i);
        k.store(element(best), values, kb.add(valuesAt, kb.mul(i, values.strides[axis])));
        k.store(asNumber(best), indices, kb.add(indicesAt, kb.mul(i, indices.strides[axis])));
      });
    });
  };
  return bodies;
}

} // namespace nx
