//===- LinalgBuilder.cpp - linalg on tensors with symbolic sizes ----------===//

#include "compiler/lowering/LinalgBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace nx;

LinalgBuilder::LinalgBuilder(Location loc, Block *block, ValueRange symbols)
    : ScalarBuilder(loc, loc.getContext()), block(block), symbols(symbols) {
  setInsertionPointToEnd(block);
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

Value LinalgBuilder::index(AffineExpr size) {
  size = normalize(size);
  if (auto value = constantOf(size))
    return arith::ConstantIndexOp::create(*this, *value);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(size))
    return symbols[symbol.getPosition()];
  Value &known = indices[size];
  if (!known) {
    // Outside of the region that is being built: its operation comes after all of these.
    OpBuilder top = OpBuilder::atBlockEnd(block);
    AffineMap map = AffineMap::get(0, symbols.size(), size);
    known = affine::AffineApplyOp::create(top, getLoc(), map, symbols);
  }
  return known;
}

OpFoldResult LinalgBuilder::foldedIndex(AffineExpr size) {
  if (auto value = constantOf(size))
    return getIndexAttr(*value);
  return index(size);
}

Value LinalgBuilder::number(AffineExpr size, Type element) {
  if (auto value = constantOf(size))
    return isa<FloatType>(element)
               ? scalar(element, *value)
               : arith::ConstantOp::create(*this, getIntegerAttr(element, *value)).getResult();
  if (auto integer = dyn_cast<IntegerType>(element))
    return arith::IndexCastOp::create(*this, element, index(size));
  Value wide = arith::IndexCastOp::create(*this, getI64Type(), index(size));
  return arith::SIToFPOp::create(*this, element, wide);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

RankedTensorType LinalgBuilder::typeOf(ArrayRef<AffineExpr> dims, Type element) {
  SmallVector<int64_t> shape;
  for (AffineExpr dim : dims)
    shape.push_back(constantOf(dim).value_or(ShapedType::kDynamic));
  return RankedTensorType::get(shape, signlessElement(element));
}

SizedTensor LinalgBuilder::empty(ArrayRef<AffineExpr> dims, Type element) {
  SmallVector<Value> sizes;
  for (AffineExpr dim : dims)
    if (!constantOf(dim))
      sizes.push_back(index(dim));
  return {tensor::EmptyOp::create(*this, typeOf(dims, element), sizes), Dims(dims)};
}

SizedTensor LinalgBuilder::full(ArrayRef<AffineExpr> dims, TypedAttr value) {
  SizedTensor result = empty(dims, value.getType());
  Value scalar = arith::ConstantOp::create(*this, value);
  result.value = linalg::FillOp::create(*this, scalar, result.value).getResult(0);
  return result;
}

/// Groups of dimensions on both sides with equal products, as small as they can be. Dimensions of
/// size 1 at the end of a side belong to its last group.
static SmallVector<std::pair<ReassociationIndices, ReassociationIndices>>
matchProducts(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to, MLIRContext *context) {
  SmallVector<std::pair<ReassociationIndices, ReassociationIndices>> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The shortest prefix of what is left of `to` that some prefix of `from` equals.
    size_t bestI = from.size(), bestJ = to.size();
    AffineExpr left = getAffineConstantExpr(1, context);
    for (size_t a = i; a < from.size() && bestI == from.size(); ++a) {
      left = normalize(left * from[a]);
      AffineExpr right = getAffineConstantExpr(1, context);
      for (size_t b = j; b < to.size(); ++b) {
        right = normalize(right * to[b]);
        if (left == right) {
          bestI = a + 1;
          bestJ = b + 1;
          break;
        }
      }
    }
    bool last = (bestI == from.size()) != (bestJ == to.size());
    if (last)
      bestI = from.size(), bestJ = to.size();
    ReassociationIndices a, b;
    for (; i < bestI; ++i)
      a.push_back(i);
    for (; j < bestJ; ++j)
      b.push_back(j);
    groups.push_back({a, b});
  }
  return groups;
}

SizedTensor LinalgBuilder::reshape(SizedTensor x, ArrayRef<AffineExpr> dims) {
  if (ArrayRef(x.dims) == dims)
    return x;
  MLIRContext *context = getContext();
  Type element = x.element();
  auto isZero = [](AffineExpr e) { return constantOf(e) == 0; };
  SmallVector<std::pair<ReassociationIndices, ReassociationIndices>> groups;
  if (!x.dims.empty() && !dims.empty() && llvm::none_of(x.dims, isZero)) {
    groups = matchProducts(x.dims, dims, context);
  } else if (!x.dims.empty() && !dims.empty()) {
    // Without elements, any order of them is right: all dimensions are one group.
    groups.resize(1);
    llvm::append_range(groups[0].first, llvm::seq<int64_t>(0, x.dims.size()));
    llvm::append_range(groups[0].second, llvm::seq<int64_t>(0, dims.size()));
  }
  // From or to rank 0 there are no groups at all.
  SmallVector<ReassociationIndices> collapse, expand;
  Dims middle;
  for (auto &[a, b] : groups) {
    collapse.push_back(a);
    expand.push_back(b);
    Dims parts;
    for (int64_t i : a)
      parts.push_back(x.dims[i]);
    middle.push_back(productOf(parts, context));
  }
  if (middle.size() < x.dims.size())
    x = {tensor::CollapseShapeOp::create(*this, typeOf(middle, element), x.value, collapse), middle};
  if (middle.size() < dims.size()) {
    SmallVector<OpFoldResult> sizes;
    for (AffineExpr dim : dims)
      sizes.push_back(foldedIndex(dim));
    x.value = tensor::ExpandShapeOp::create(*this, typeOf(dims, element), x.value, expand, sizes);
  }
  x.dims.assign(dims.begin(), dims.end());
  return x;
}

SizedTensor LinalgBuilder::slice(SizedTensor x, ArrayRef<AffineExpr> starts,
                                 ArrayRef<AffineExpr> sizes, ArrayRef<int64_t> steps) {
  SmallVector<OpFoldResult> offset, size, stride;
  for (auto [start, count, step] : llvm::zip_equal(starts, sizes, steps)) {
    offset.push_back(foldedIndex(start));
    size.push_back(foldedIndex(count));
    stride.push_back(getIndexAttr(step));
  }
  Value value = tensor::ExtractSliceOp::create(*this, typeOf(sizes, x.element()), x.value, offset,
                                               size, stride);
  return {value, Dims(sizes)};
}

SizedTensor LinalgBuilder::insert(SizedTensor x, SizedTensor dest, ArrayRef<AffineExpr> starts,
                                  ArrayRef<int64_t> steps) {
  SmallVector<OpFoldResult> offset, size, stride;
  for (auto [start, count, step] : llvm::zip_equal(starts, x.dims, steps)) {
    offset.push_back(foldedIndex(start));
    size.push_back(foldedIndex(count));
    stride.push_back(getIndexAttr(step));
  }
  dest.value = tensor::InsertSliceOp::create(*this, x.value, dest.value, offset, size, stride);
  return dest;
}

//===----------------------------------------------------------------------===//
// Accesses and loop nests
//===----------------------------------------------------------------------===//

Access LinalgBuilder::broadcast(SizedTensor x, ArrayRef<AffineExpr> dims) {
  Dims index;
  size_t shift = dims.size() - x.dims.size();
  for (auto [i, dim] : llvm::enumerate(x.dims))
    index.push_back(constantOf(dim) == 1 && constantOf(dims[shift + i]) != 1 ? constant(0)
                                                                             : loop(shift + i));
  return {std::move(x), std::move(index)};
}

Access LinalgBuilder::without(SizedTensor x, ArrayRef<int64_t> left) {
  Dims index;
  for (unsigned i = 0; index.size() < x.dims.size(); ++i)
    if (!llvm::is_contained(left, i))
      index.push_back(loop(i));
  return {std::move(x), std::move(index)};
}

SmallVector<SizedTensor> LinalgBuilder::nest(unsigned loops, ArrayRef<int64_t> reduced,
                                             ArrayRef<Access> inputs, ArrayRef<Access> outputs,
                                             Body body) {
  SmallVector<Value> in, out;
  SmallVector<Type> types;
  SmallVector<AffineMap> maps;
  auto addMap = [&](const Access &access) {
    maps.push_back(AffineMap::get(loops, 0, access.index, getContext()));
  };
  for (const Access &input : inputs) {
    in.push_back(input.tensor.value);
    addMap(input);
  }
  for (const Access &output : outputs) {
    out.push_back(output.tensor.value);
    types.push_back(output.tensor.value.getType());
    addMap(output);
  }
  SmallVector<utils::IteratorType> kinds(loops, utils::IteratorType::parallel);
  for (int64_t i : reduced)
    kinds[i] = utils::IteratorType::reduction;
  auto generic = linalg::GenericOp::create(
      *this, types, in, out, maps, kinds, [&](OpBuilder &nested, Location, ValueRange args) {
        InsertionGuard guard(*this);
        restoreInsertionPoint(nested.saveInsertionPoint());
        linalg::YieldOp::create(*this, body(args));
      });
  SmallVector<SizedTensor> results;
  for (auto [value, output] : llvm::zip_equal(generic.getResults(), outputs))
    results.push_back({value, output.tensor.dims});
  return results;
}

SizedTensor LinalgBuilder::move(ArrayRef<AffineExpr> dims, Type element, ArrayRef<Access> inputs,
                                ScalarBody body) {
  return nest(dims.size(), {}, inputs, {plain(empty(dims, element))},
              [&](ValueRange args) { return SmallVector<Value>{body(args.drop_back())}; })[0];
}

SizedTensor LinalgBuilder::map(ArrayRef<AffineExpr> dims, Type element, ArrayRef<Access> inputs,
                               ScalarBody body) {
  return move(dims, element, inputs, [&](ValueRange args) {
    SmallVector<Value> wide;
    for (Value arg : args)
      wide.push_back(widen(arg));
    return narrow(body(wide), signlessElement(element));
  });
}

SizedTensor LinalgBuilder::reduce(ReduceKind kind, bool isUnsigned, ArrayRef<AffineExpr> dims,
                                  ArrayRef<int64_t> axes, Type element, ArrayRef<Access> inputs,
                                  ScalarBody body) {
  Dims kept;
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!llvm::is_contained(axes, int64_t(i)))
      kept.push_back(dim);
  Type type = computeType(signlessElement(element));
  SizedTensor init = full(kept, neutral(kind, isUnsigned, type));
  return nest(dims.size(), axes, inputs, {without(init, axes)}, [&](ValueRange args) {
    SmallVector<Value> wide;
    for (Value arg : args.drop_back())
      wide.push_back(widen(arg));
    return SmallVector<Value>{combine(kind, isUnsigned, args.back(), body(wide))};
  })[0];
}

Value LinalgBuilder::loopIndex(unsigned loop) { return linalg::IndexOp::create(*this, loop); }
