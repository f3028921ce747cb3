//===- NxToLinalgContract.cpp - Contractions and windows as linalg --------===//
//
// Plain loop nests: right for every type and size. The shapes that models spend their time in have
// kernels of their own.
//
//===----------------------------------------------------------------------===//

#include "compiler/lowering/LowerOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nx;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `x` rounded to `element`, when it is not of that type.
static SizedTensor rounded(LinalgBuilder &b, SizedTensor x, Type element) {
  return x.element() == element ? x
                                : b.map(x.dims, element, {b.plain(x)}, LinalgBuilder::first);
}

Lowered nx::lower(LinalgBuilder &b, MatmulOp op) {
  SizedTensor lhs = b[op.getLhs()], rhs = b[op.getRhs()];
  RankedTensorType type = tensorType(op.getResult());
  // Loops: batch, m, n, k.
  Dims dims = dimsOf(type);
  int64_t batch = dims.size() - 2;
  unsigned m = batch, n = batch + 1, k = batch + 2;
  AffineExpr depth = lhs.dims[lhs.rank() - (op.getTransposeLhs() ? 2 : 1)];
  dims.push_back(depth);
  auto access = [&](SizedTensor x, unsigned row, unsigned column, bool transposed) {
    Dims outer(ArrayRef(x.dims).drop_back(2));
    Access result{x, b.broadcast({x.value, outer}, ArrayRef(dims).take_front(batch)).index};
    result.index.push_back(b.loop(transposed ? column : row));
    result.index.push_back(b.loop(transposed ? row : column));
    return result;
  };
  SizedTensor sum = b.reduce(
      ReduceKind::sum, false, dims, {k}, lhs.element(),
      {access(lhs, m, k, op.getTransposeLhs()), access(rhs, k, n, op.getTransposeRhs())},
      [&](ValueRange args) { return b.mul(args[0], args[1]); });
  return rounded(b, sum, lhs.element());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Lowered nx::lower(LinalgBuilder &b, AttentionOp op) {
  SizedTensor query = b[op.getQuery()], key = b[op.getKey()], value = b[op.getValue()];
  Type element = query.element(), wide = computeType(element);
  AffineExpr batch = query.dims[0], rows = query.dims[2], depth = query.dims[3];
  AffineExpr heads = key.dims[1], columns = key.dims[2], width = value.dims[3];
  int64_t perKey = *constantOf(query.dims[1]) / *constantOf(heads);
  AffineExpr group = b.constant(perKey);
  // Query heads as key heads times the query heads of each: loops are batch, head, group, row,
  // then column or depth.
  enum { Batch, Head, Group, Row, Column, Depth };
  auto at = [&](std::initializer_list<unsigned> loops) {
    Dims index;
    for (unsigned i : loops)
      index.push_back(b.loop(i));
    return index;
  };
  query = b.reshape(query, {batch, heads, group, rows, depth});
  Dims space{batch, heads, group, rows, columns};
  Dims withDepth(space);
  withDepth.push_back(depth);
  SizedTensor products =
      b.reduce(ReduceKind::sum, false, withDepth, {Depth}, element,
               {{query, at({Batch, Head, Group, Row, Depth})}, {key, at({Batch, Head, Column, Depth})}},
               [&](ValueRange args) { return b.mul(args[0], args[1]); });

  SmallVector<Access> inputs{b.plain(products)};
  bool keeps = false; // the mask is boolean
  if (op.getMask()) {
    SizedTensor mask = b[op.getMask()];
    keeps = mask.element().isInteger(1);
    Dims full{b.loop(Batch), b.loop(Head) * perKey + b.loop(Group), b.loop(Row), b.loop(Column)};
    Dims index;
    for (auto [i, dim] : llvm::enumerate(mask.dims))
      index.push_back(constantOf(dim) == 1 ? b.constant(0) : full[4 - mask.rank() + i]);
    inputs.push_back({mask, index});
  }
  SizedTensor scores = b.map(space, wide, inputs, [&](ValueRange args) {
    Value score = b.mul(args[0], b.scalar(wide, op.getScale().convertToDouble()));
    Value none = arith::ConstantOp::create(b, b.neutral(ReduceKind::max, false, wide));
    if (op.getMask()) {
      Value mask = args[1];
      if (keeps) {
        score = b.select(mask, score, none);
      } else {
        if (mask.getType() != wide)
          mask = wide.isF64() ? arith::ExtFOp::create(b, wide, mask).getResult()
                              : arith::TruncFOp::create(b, wide, mask).getResult();
        score = b.add(score, mask);
      }
    }
    if (op.getCausal()) {
      Value limit = b.add(b.loopIndex(Row), b.index(op.getCausal()->getExprs()[0]));
      Value seen = b.compare(arith::CmpIPredicate::sle, b.loopIndex(Column), limit);
      score = b.select(seen, score, none);
    }
    return score;
  });
  SizedTensor max = b.reduce(ReduceKind::max, false, space, {Column}, wide, {b.plain(scores)},
                             LinalgBuilder::first);
  auto isNone = [&](Value maximum) -> Value {
    Value none = arith::ConstantOp::create(b, b.neutral(ReduceKind::max, false, wide));
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, maximum, none);
  };
  SizedTensor power =
      b.map(space, wide, {b.plain(scores), b.without(max, {Column})}, [&](ValueRange args) -> Value {
        Value shift = args[1];
        if (op.getZeroWithoutKeys()) // exp(-inf - 0) is 0 where exp(-inf + inf) is NaN
          shift = b.select(isNone(shift), b.scalar(wide, 0), shift);
        return math::ExpOp::create(b, b.sub(args[0], shift));
      });
  SizedTensor sum = b.reduce(ReduceKind::sum, false, space, {Column}, wide, {b.plain(power)},
                             LinalgBuilder::first);

  // Loops: batch, head, group, row, width, column. The division comes last: it is one per element.
  Dims result{batch, heads, group, rows, width};
  Dims withColumn(result);
  withColumn.push_back(columns);
  SizedTensor weighted = b.reduce(ReduceKind::sum, false, withColumn, {5}, wide,
                                  {{power, at({0, 1, 2, 3, 5})}, {value, at({0, 1, 5, 4})}},
                                  [&](ValueRange args) { return b.mul(args[0], args[1]); });
  SizedTensor y = b.map(result, element, {b.plain(weighted), b.without(sum, {4})},
                        [&](ValueRange args) {
                          // Only a query without keys has a sum of 0.
                          Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, args[1],
                                                              b.scalar(wide, 0));
                          Value sum = b.select(empty, b.scalar(wide, 1), args[1]);
                          return b.div(args[0], sum, false);
                        });
  return b.reshape(y, dimsOf(tensorType(op.getResult())));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// One spatial dimension that a window slides over: position out * stride + tap * dilation - lo.
struct Window {
  AffineExpr size, outSize;
  int64_t taps, stride, dilation, lo, hi;

  /// Whether some position may lie outside of the input.
  bool leaves() const {
    if (lo > 0)
      return true;
    auto known = constantOf(size), out = constantOf(outSize);
    if (!known || !out)
      return true;
    return (*out - 1) * stride + (taps - 1) * dilation - lo > *known - 1;
  }
};

/// The elements under sliding windows, inside of a loop nest.
struct WindowedInput {
  SizedTensor x;
  ArrayRef<Window> windows;
  unsigned outLoop, tapLoop; // the first loops over windows and over the taps of one
  Dims index;                // of x, over the loops; of use when no window leaves x

  bool leaves() const {
    return llvm::any_of(windows, [](const Window &w) { return w.leaves(); });
  }
  /// Inside of a region: the element, or `outside` where the window leaves x.
  Value load(LinalgBuilder &b, ArrayRef<unsigned> outerLoops, Value outside) const {
    SmallVector<Value> at;
    for (unsigned loop : outerLoops)
      at.push_back(b.loopIndex(loop));
    Value inside;
    for (auto [i, w] : llvm::enumerate(windows)) {
      Value out = b.mul(b.loopIndex(outLoop + i), b.index(w.stride));
      Value tap = b.mul(b.loopIndex(tapLoop + i), b.index(w.dilation));
      Value position = b.add(out, tap);
      if (!w.leaves() && w.lo == 0) {
        at.push_back(position);
        continue;
      }
      position = b.sub(position, b.index(w.lo));
      // Unsigned, so that a negative position is too large.
      Value here = b.compare(arith::CmpIPredicate::ult, position, b.index(w.size));
      at.push_back(b.select(here, position, b.index(int64_t(0))));
      inside = inside ? arith::AndIOp::create(b, inside, here).getResult() : here;
    }
    Value element = tensor::ExtractOp::create(b, x.value, at);
    return inside ? b.select(inside, element, outside) : element;
  }
};
} // namespace

static WindowedInput windowedInput(LinalgBuilder &b, SizedTensor x, ArrayRef<Window> windows,
                                   ArrayRef<unsigned> outerLoops, unsigned outLoop,
                                   unsigned tapLoop) {
  WindowedInput input{x, windows, outLoop, tapLoop, {}};
  for (unsigned loop : outerLoops)
    input.index.push_back(b.loop(loop));
  for (auto [i, w] : llvm::enumerate(windows))
    input.index.push_back(b.loop(outLoop + i) * w.stride + b.loop(tapLoop + i) * w.dilation - w.lo);
  return input;
}

Lowered nx::lower(LinalgBuilder &b, ConvOp op) {
  SizedTensor x = b[op.getInput()], weight = b[op.getWeight()];
  Type element = x.element();
  Dims outDims = dimsOf(tensorType(op.getResult()));
  int64_t spatial = x.rank() - 2;
  AffineExpr groups = b.constant(op.getGroups());
  AffineExpr inputs = weight.dims[1], outputs = divideExactly(weight.dims[0], groups);
  if (!outputs)
    return op.emitOpError("has output channels that may not divide into its groups");
  SmallVector<Window> windows;
  for (int64_t i = 0; i < spatial; ++i)
    windows.push_back({x.dims[i + 2], outDims[i + 2], *constantOf(weight.dims[i + 2]),
                       op.getStrides()[i], op.getDilations()[i], op.getPadsLo()[i],
                       op.getPadsHi()[i]});

  // Channels as [groups, channels of a group]. Loops: image, group, output channel, place..; then,
  // reduced, input channel, tap..
  auto grouped = [&](SizedTensor t, int64_t dim, AffineExpr channels) {
    Dims dims(t.dims);
    dims[dim] = channels;
    dims.insert(dims.begin() + dim, groups);
    return b.reshape(t, dims);
  };
  x = grouped(x, 1, inputs);
  weight = grouped(weight, 0, outputs);
  unsigned image = 0, group = 1, output = 2, place = 3, channel = 3 + spatial, tap = channel + 1;
  Dims loops{outDims[0], groups, outputs};
  llvm::append_range(loops, ArrayRef(outDims).drop_front(2));
  Dims result(loops);
  loops.push_back(inputs);
  SmallVector<int64_t> reduced{channel};
  Dims weightIndex{b.loop(group), b.loop(output), b.loop(channel)};
  for (int64_t i = 0; i < spatial; ++i) {
    loops.push_back(weight.dims[3 + i]);
    reduced.push_back(tap + i);
    weightIndex.push_back(b.loop(tap + i));
  }
  SmallVector<unsigned> outer{image, group, channel};
  WindowedInput input = windowedInput(b, x, windows, outer, place, tap);
  SmallVector<Access> operands{{weight, weightIndex}};
  bool guarded = input.leaves();
  if (!guarded)
    operands.push_back({x, input.index});
  SizedTensor sum = b.reduce(
      ReduceKind::sum, false, loops, reduced, element, operands, [&](ValueRange args) {
        Value outside = guarded ? b.scalar(element, 0) : Value();
        return b.mul(guarded ? b.widen(input.load(b, outer, outside)) : args[1], args[0]);
      });
  if (op.getBias()) {
    SizedTensor bias = b.reshape(b[op.getBias()], {groups, outputs});
    sum = b.map(result, element, {b.plain(sum), {bias, {b.loop(group), b.loop(output)}}},
                [&](ValueRange args) { return b.add(args[0], args[1]); });
  }
  return b.reshape(rounded(b, sum, element), outDims);
}

/// How many taps of the window at loop `place` lie in [-before, size + after) of its dimension.
static Value countTaps(LinalgBuilder &b, const Window &w, unsigned place, int64_t before,
                       int64_t after) {
  Value zero = b.index(int64_t(0));
  Value start = b.sub(b.mul(b.loopIndex(place), b.index(w.stride)), b.index(w.lo));
  // The first tap at or behind `bound`, at most the number of taps.
  auto firstFrom = [&](Value bound) {
    Value distance = arith::MaxSIOp::create(b, b.sub(bound, start), zero);
    if (w.dilation != 1) {
      Value roundedUp = b.add(distance, b.index(w.dilation - 1));
      distance = b.div(roundedUp, b.index(w.dilation), true);
    }
    return arith::MinSIOp::create(b, distance, b.index(w.taps)).getResult();
  };
  return b.sub(firstFrom(b.index(w.size + after)), firstFrom(b.index(-before)));
}

namespace {
/// The nest of a pool over x. Loops: image, channel, place..; then, reduced, tap..
struct PoolNest {
  SmallVector<Window> windows;
  Dims dims, loops; // of the result; with the taps
  SmallVector<int64_t> reduced;
  Access taps; // only says how many there are
  int64_t numTaps = 1;
  unsigned place = 2, tap;

  template <typename OpTy> PoolNest(LinalgBuilder &b, OpTy op, SizedTensor x) : dims(dimsOf(tensorType(op.getResult()))) {
    tap = dims.size();
    loops = dims;
    for (int64_t i = 0, spatial = x.rank() - 2; i < spatial; ++i) {
      windows.push_back({x.dims[i + 2], dims[i + 2], op.getWindow()[i], op.getStrides()[i],
                         op.getDilations()[i], op.getPadsLo()[i], op.getPadsHi()[i]});
      taps.index.push_back(b.loop(loops.size()));
      reduced.push_back(loops.size());
      loops.push_back(b.constant(windows[i].taps));
      numTaps *= windows[i].taps;
    }
    taps.tensor = b.empty(ArrayRef(loops).drop_front(tap), x.element());
  }
};
} // namespace

Lowered nx::lower(LinalgBuilder &b, ArgPoolOp op) {
  SizedTensor x = b[op.getInput()];
  bool isUnsigned = isUnsignedElement(tensorType(op.getInput()).getElementType());
  Type element = computeType(x.element());
  PoolNest pool(b, op, x);
  SmallVector<unsigned> outer{0, 1};
  WindowedInput input = windowedInput(b, x, pool.windows, outer, pool.place, pool.tap);
  TypedAttr least = b.neutral(ReduceKind::max, isUnsigned, element);
  SizedTensor best = b.full(pool.dims, least), where = b.full(pool.dims, b.getI64IntegerAttr(-1));
  SmallVector<SizedTensor> results = b.nest(
      pool.loops.size(), pool.reduced, {pool.taps}, {b.without(best, pool.reduced), b.without(where, pool.reduced)},
      [&](ValueRange args) {
        Value soFar = args[1], index = args[2], inside;
        Value value = b.widen(input.load(b, outer, arith::ConstantOp::create(b, b.getZeroAttr(x.element()))));
        Value here = b.index(int64_t(0));
        for (auto [i, w] : llvm::enumerate(pool.windows)) {
          Value out = b.mul(b.loopIndex(pool.place + i), b.index(w.stride));
          Value position = b.sub(b.add(out, b.mul(b.loopIndex(pool.tap + i), b.index(w.dilation))), b.index(w.lo));
          Value fits = b.compare(arith::CmpIPredicate::ult, position, b.index(w.size));
          inside = inside ? arith::AndIOp::create(b, inside, fits).getResult() : fits;
          here = b.add(b.mul(here, b.index(w.size)), position);
        }
        Value better;
        if (isa<FloatType>(element)) {
          // An unordered comparison takes any NaN; what is taken then stays.
          better = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, value, soFar);
          better = arith::AndIOp::create(b, better, arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, soFar, soFar));
        } else {
          better = b.compare(isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt, value, soFar);
        }
        // The first element of a window is taken whatever it is.
        Value isFirst = b.compare(arith::CmpIPredicate::slt, index, b.scalar(b.getI64Type(), 0));
        Value take = arith::AndIOp::create(b, inside, arith::OrIOp::create(b, better, isFirst));
        Value number = arith::IndexCastOp::create(b, b.getI64Type(), here);
        return SmallVector<Value>{b.select(take, value, soFar), b.select(take, number, index)};
      });
  return results[1];
}

Lowered nx::lower(LinalgBuilder &b, PoolOp op) {
  SizedTensor x = b[op.getInput()];
  Type source = tensorType(op.getInput()).getElementType(), element = x.element();
  bool isUnsigned = isUnsignedElement(source), isMax = op.getKind() == PoolKind::max;
  ReduceKind kind = isMax ? ReduceKind::max : ReduceKind::sum;
  PoolNest pool(b, op, x);
  auto &[windows, dims, loops, reduced, taps, numTaps, place, tap] = pool;
  SmallVector<unsigned> outer{0, 1};
  WindowedInput input = windowedInput(b, x, windows, outer, place, tap);
  SmallVector<Access> operands{taps};
  bool guarded = input.leaves();
  if (!guarded)
    operands.push_back({x, input.index});
  SizedTensor total =
      b.reduce(kind, isUnsigned, loops, reduced, element, operands, [&](ValueRange args) {
        if (!guarded)
          return args[1];
        Value outside = arith::ConstantOp::create(b, b.neutral(kind, isUnsigned, element));
        return b.widen(input.load(b, outer, outside));
      });
  if (op.getKind() != PoolKind::avg)
    return rounded(b, total, element);
  return b.map(dims, element, {b.plain(total)}, [&](ValueRange args) {
    Type type = args[0].getType();
    bool isInteger = isa<IntegerType>(type);
    if (!guarded)
      return b.div(args[0], b.number(b.constant(numTaps), type), isUnsigned);
    Value count;
    for (auto [i, w] : llvm::enumerate(windows)) {
      bool padded = op.getCountIncludePad();
      Value taps = countTaps(b, w, place + i, padded ? w.lo : 0, padded ? w.hi : 0);
      count = count ? b.mul(count, taps) : taps;
    }
    if (isInteger)
      count = arith::MaxSIOp::create(b, count, b.index(1));
    count = arith::IndexCastOp::create(b, isInteger ? type : b.getI64Type(), count);
    if (!isInteger)
      count = arith::SIToFPOp::create(b, type, count);
    return b.div(args[0], count, isUnsigned);
  });
}
