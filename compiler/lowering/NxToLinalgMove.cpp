//===- NxToLinalgMove.cpp - Data movement as linalg -----------------------===//

#include "compiler/lowering/LowerOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nx;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

Lowered nx::lower(LinalgBuilder &b, TransposeOp op) {
  SizedTensor x = b[op.getX()];
  Dims index(x.rank());
  for (auto [i, p] : llvm::enumerate(op.getPerm()))
    index[p] = b.loop(i);
  return b.move(dimsOf(tensorType(op.getResult())), x.element(), {{x, index}},
                LinalgBuilder::first);
}

Lowered nx::lower(LinalgBuilder &b, ReshapeOp op) {
  return b.reshape(b[op.getX()], dimsOf(op.getType()));
}

Lowered nx::lower(LinalgBuilder &b, BroadcastOp op) {
  SizedTensor x = b[op.getX()];
  Dims dims = dimsOf(op.getType());
  return b.move(dims, x.element(), {b.broadcast(x, dims)}, LinalgBuilder::first);
}

Lowered nx::lower(LinalgBuilder &b, SliceOp op) {
  return b.slice(b[op.getX()], op.getStarts().getExprs(), dimsOf(op.getType()), op.getSteps());
}

Lowered nx::lower(LinalgBuilder &b, ConcatOp op) {
  RankedTensorType type = tensorType(op.getResult());
  SizedTensor result = b.empty(dimsOf(type), type.getElementType());
  Dims starts(type.getRank(), b.constant(0));
  SmallVector<int64_t> steps(type.getRank(), 1);
  int64_t axis = op.getAxis();
  for (Value input : op.getInputs()) {
    SizedTensor x = b[input];
    if (constantOf(x.dims[axis]) == 0)
      continue;
    result = b.insert(x, result, starts, steps);
    starts[axis] = normalize(starts[axis] + x.dims[axis]);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

/// Whether `expr` is not negative for any values of the symbols, which are not. Sums and products in
/// normal form show it.
static bool isNotNegative(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue() >= 0;
  if (isa<AffineSymbolExpr>(expr))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return binary && isNotNegative(binary.getLHS()) && isNotNegative(binary.getRHS());
}

/// Whether padding is a copy of all of x, or of a slice of it, into a larger tensor: amounts and
/// what they leave of x are known not to be negative.
static bool isPlainPad(SizedTensor x, ArrayRef<AffineExpr> lo, ArrayRef<AffineExpr> hi) {
  for (auto [size, before, after] : llvm::zip_equal(x.dims, lo, hi)) {
    auto low = constantOf(before), high = constantOf(after), known = constantOf(size);
    if ((!low && !isNotNegative(before)) || (!high && !isNotNegative(after)))
      return false;
    int64_t removed = -std::min<int64_t>(low.value_or(0), 0) - std::min<int64_t>(high.value_or(0), 0);
    if (removed && (!known || *known < removed))
      return false;
  }
  return true;
}

/// The index into a dimension of `size` elements that `position` stands for in the given mode.
static Value sourceIndex(LinalgBuilder &b, PadMode mode, Value position, AffineExpr size) {
  Value zero = b.index(0), one = b.index(1);
  Value last = b.index(size - 1);
  switch (mode) {
  case PadMode::constant:
  case PadMode::edge:
    return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, position, last), zero);
  case PadMode::reflect:
  case PadMode::wrap: {
    // Periodic. Of one element, everything is a copy.
    bool reflect = mode == PadMode::reflect;
    Value period = b.index(reflect ? (size - 1) * 2 : size);
    period = arith::MaxSIOp::create(b, period, one);
    Value rest = arith::RemSIOp::create(b, position, period);
    Value negative = b.compare(arith::CmpIPredicate::slt, rest, zero);
    rest = b.select(negative, b.add(rest, period), rest);
    return reflect ? arith::MinSIOp::create(b, rest, b.sub(period, rest)).getResult() : rest;
  }
  }
  llvm_unreachable("all modes are handled");
}

Lowered nx::lower(LinalgBuilder &b, PadOp op) {
  SizedTensor x = b[op.getX()];
  RankedTensorType type = tensorType(op.getResult());
  Type element = x.element();
  Dims dims = dimsOf(type);
  Dims lo(op.getLo().getExprs()), hi(op.getHi().getExprs());
  bool isConstant = op.getMode() == PadMode::constant;
  bool isEmpty = llvm::any_of(x.dims, [](AffineExpr e) { return constantOf(e) == 0; });
  if (isEmpty && !isConstant)
    return op.emitOpError("repeats elements of a tensor that has none");

  SmallVector<Access> fill;
  if (op.getValue())
    fill.push_back({b[op.getValue()], {}});
  auto filling = [&](ValueRange args) -> Value {
    return args.empty() ? arith::ConstantOp::create(b, b.getZeroAttr(element)).getResult() : args[0];
  };
  if (isEmpty)
    return b.move(dims, element, fill, filling);

  if (isConstant && isPlainPad(x, lo, hi)) {
    SmallVector<int64_t> steps(x.rank(), 1);
    Dims from(x.rank(), b.constant(0)), kept(x.dims);
    bool grows = false;
    for (int64_t i = 0; i < x.rank(); ++i) {
      // What is not constant is not negative.
      int64_t low = std::min<int64_t>(constantOf(lo[i]).value_or(0), 0);
      int64_t high = std::min<int64_t>(constantOf(hi[i]).value_or(0), 0);
      from[i] = b.constant(-low);
      kept[i] = normalize(kept[i] + low + high);
      lo[i] = normalize(lo[i] - low);
      grows |= constantOf(lo[i]) != 0 || normalize(hi[i] - high) != b.constant(0);
    }
    bool leavesNone = llvm::any_of(kept, [](AffineExpr e) { return constantOf(e) == 0; });
    if (leavesNone)
      return b.move(dims, element, fill, filling);
    if (kept != x.dims)
      x = b.slice(x, from, kept, steps);
    return grows ? b.insert(x, b.move(dims, element, fill, filling), lo, steps) : x;
  }

  return b.move(dims, element, fill, [&](ValueRange args) -> Value {
    SmallVector<Value> at;
    Value inside;
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (constantOf(lo[i]) == 0 && constantOf(hi[i]) == 0) {
        at.push_back(b.loopIndex(i));
        continue;
      }
      Value position = b.sub(b.loopIndex(i), b.index(lo[i]));
      at.push_back(sourceIndex(b, op.getMode(), position, x.dims[i]));
      if (!isConstant)
        continue;
      // Unsigned, so that a negative position is too large.
      Value here = b.compare(arith::CmpIPredicate::ult, position, b.index(x.dims[i]));
      inside = inside ? arith::AndIOp::create(b, inside, here).getResult() : here;
    }
    Value value = tensor::ExtractOp::create(b, x.value, at);
    return inside ? b.select(inside, value, filling(args)) : value;
  });
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// An index from data into a dimension of `size` elements, negative ones counted from the end.
static Value wrapped(LinalgBuilder &b, Value index, AffineExpr size) {
  Value position = arith::IndexCastOp::create(b, b.getIndexType(), index);
  Value negative = b.compare(arith::CmpIPredicate::slt, position, b.index(0));
  return b.select(negative, b.add(position, b.index(size)), position);
}

Lowered nx::lower(LinalgBuilder &b, GatherOp op) {
  SizedTensor x = b[op.getX()], indices = b[op.getIndices()];
  Dims dims = dimsOf(tensorType(op.getResult()));
  int64_t axis = op.getAxis(), shift = indices.rank() - 1;
  Dims index;
  for (int64_t i = 0; i < indices.rank(); ++i)
    index.push_back(b.loop(axis + i));
  return b.move(dims, x.element(), {{indices, index}}, [&](ValueRange args) -> Value {
    SmallVector<Value> at;
    for (int64_t i = 0; i < x.rank(); ++i)
      at.push_back(i == axis ? wrapped(b, args[0], x.dims[axis])
                             : b.loopIndex(i < axis ? i : i + shift));
    return tensor::ExtractOp::create(b, x.value, at);
  });
}

Lowered nx::lower(LinalgBuilder &b, GatherElementsOp op) {
  SizedTensor x = b[op.getX()], indices = b[op.getIndices()];
  int64_t axis = op.getAxis();
  return b.move(indices.dims, x.element(), {b.plain(indices)}, [&](ValueRange args) -> Value {
    SmallVector<Value> at;
    for (int64_t i = 0; i < x.rank(); ++i)
      at.push_back(i == axis ? wrapped(b, args[0], x.dims[axis]) : b.loopIndex(i));
    return tensor::ExtractOp::create(b, x.value, at);
  });
}

Lowered nx::lower(LinalgBuilder &b, GatherNdOp op) {
  SizedTensor x = b[op.getX()], indices = b[op.getIndices()];
  Dims dims = dimsOf(tensorType(op.getResult()));
  int64_t batch = op.getBatchDims(), outer = indices.rank() - 1;
  int64_t tuple = *constantOf(indices.dims.back());
  // The components of an index tuple are inputs of their own.
  SmallVector<Access> inputs;
  for (int64_t i = 0; i < tuple; ++i) {
    Access component = b.plain(indices);
    component.index.back() = b.constant(i);
    inputs.push_back(component);
  }
  return b.move(dims, x.element(), inputs, [&](ValueRange args) -> Value {
    SmallVector<Value> at;
    for (int64_t i = 0; i < x.rank(); ++i) {
      bool indexed = i >= batch && i < batch + tuple;
      at.push_back(indexed     ? wrapped(b, args[i - batch], x.dims[i])
                   : i < batch ? b.loopIndex(i)
                               : b.loopIndex(outer + i - batch - tuple));
    }
    return tensor::ExtractOp::create(b, x.value, at);
  });
}
