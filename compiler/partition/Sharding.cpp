//===- Sharding.cpp - Types and conversions of sharded values -------------===//

#include "compiler/partition/Sharding.h"
#include <numeric>

using namespace mlir;
using namespace nx;

raw_ostream &nx::operator<<(raw_ostream &os, const Sharding &sharding) {
  switch (sharding.kind) {
  case Sharding::Kind::Replicated:
    return os << "replicated";
  case Sharding::Kind::Partial:
    return os << "partial " << stringifyReduceKind(sharding.reduce);
  case Sharding::Kind::Split:
    os << "split (dim " << sharding.dim;
    if (!sharding.isContiguous()) {
      os << " in blocks ";
      llvm::interleave(sharding.blocks, os, " ");
    }
    return os << ")";
  }
  return os;
}

static AffineExpr divided(AffineExpr size, int64_t parts) {
  return divideExactly(size, getAffineConstantExpr(parts, size.getContext()));
}

/// `type` with another size of dimension `dim`.
static RankedTensorType withDim(RankedTensorType type, int64_t dim, AffineExpr size) {
  SmallVector<AffineExpr> dims = dimsOf(type);
  dims[dim] = size;
  return withDims(type, dims);
}

RankedTensorType nx::localType(RankedTensorType type, const Sharding &sharding, int64_t parts) {
  if (!sharding.isSplit())
    return type;
  return withDim(type, sharding.dim, divided(dimOf(type, sharding.dim), parts));
}

/// Elements [start, start + size) of one dimension.
static Value sliceDim(OpBuilder &b, Location loc, Value x, int64_t dim, int64_t start, int64_t size) {
  auto type = cast<RankedTensorType>(x.getType());
  MLIRContext *context = b.getContext();
  SmallVector<AffineExpr> starts(type.getRank(), getAffineConstantExpr(0, context));
  starts[dim] = getAffineConstantExpr(start, context);
  return SliceOp::create(b, loc, withDim(type, dim, getAffineConstantExpr(size, context)), x,
                         DimsAttr::get(context, starts), SmallVector<int64_t>(type.getRank(), 1));
}

/// A rank's part of a value that it has whole.
static Value takePart(OpBuilder &b, Location loc, Value x, const Sharding &to, int64_t parts) {
  return ShardOp::create(b, loc, x, to.dim, parts, to.stepBlocks());
}

/// The whole of a value of which each rank has a part.
static Value gatherParts(OpBuilder &b, Location loc, Value x, const Sharding &from, int64_t parts) {
  int64_t dim = from.dim;
  Value gathered = AllGatherOp::create(b, loc, x, dim, parts);
  if (from.isContiguous())
    return gathered;
  // The gathered dimension is [parts, block 0 / parts + block 1 / parts + ..]; bring each block together.
  auto type = cast<RankedTensorType>(gathered.getType());
  SmallVector<AffineExpr> dims = dimsOf(type);
  dims[dim] = divided(dims[dim], parts);
  dims.insert(dims.begin() + dim, getAffineConstantExpr(parts, b.getContext()));
  Value byRank = ReshapeOp::create(b, loc, withDims(type, dims), gathered);
  SmallVector<Value> pieces;
  int64_t start = 0;
  for (int64_t block : from.blocks) {
    Value piece = sliceDim(b, loc, byRank, dim + 1, start, block / parts);
    RankedTensorType joined = withDim(type, dim, getAffineConstantExpr(block, b.getContext()));
    pieces.push_back(ReshapeOp::create(b, loc, joined, piece));
    start += block / parts;
  }
  return ConcatOp::create(b, loc, pieces, dim);
}

/// One of `parts` equal terms of x.
static MulOp share(OpBuilder &b, Location loc, Value x, int64_t parts) {
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  auto scalar = RankedTensorType::get({}, element);
  Value scale = ConstantOp::create(
      b, loc, DenseElementsAttr::get(scalar, Attribute(b.getFloatAttr(element, 1.0 / parts))));
  return MulOp::create(b, loc, x, scale);
}

/// A value that every rank has, as a term of a sum or mean over the ranks.
static Value asTerm(OpBuilder &b, Location loc, Value x, ReduceKind reduce, int64_t parts) {
  if (reduce != ReduceKind::sum)
    return x;
  MulOp term = share(b, loc, x, parts);
  term->setAttr(kShareAttr, b.getUnitAttr());
  return term;
}

Value nx::reshard(OpBuilder &b, Location loc, Value value, RankedTensorType type,
                  const Sharding &from, const Sharding &to, int64_t parts) {
  if (from == to)
    return value;
  if (from.isReplicated())
    return to.isPartial() ? asTerm(b, loc, value, to.reduce, parts) : takePart(b, loc, value, to, parts);
  if (from.isPartial()) {
    ReduceKind kind = from.reduce;
    // A mean is a sum of equal shares.
    if (kind == ReduceKind::mean) {
      value = share(b, loc, value, parts);
      kind = ReduceKind::sum;
    }
    if (to.isSplit() && to.isContiguous())
      return ReduceScatterOp::create(b, loc, value, kind, to.dim, parts);
    value = AllReduceOp::create(b, loc, value, kind, parts);
    return to.isSplit() ? takePart(b, loc, value, to, parts) : value;
  }
  if (to.isSplit() && from.isContiguous() && to.isContiguous() && from.dim != to.dim)
    return AllToAllOp::create(b, loc, value, /*split_dim=*/to.dim, /*concat_dim=*/from.dim, parts);
  value = gatherParts(b, loc, value, from, parts);
  return to.isSplit() ? takePart(b, loc, value, to, parts) : value;
}

Value nx::shardConstant(OpBuilder &b, ConstantOp constant, const Sharding &to, int64_t parts) {
  if (to.isPartial())
    return asTerm(b, constant.getLoc(), constant, to.reduce, parts);
  if (!to.isSplit())
    return constant;
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    return ConstantOp::create(b, constant.getLoc(), splat.resizeSplat(localType(constant.getType(), to, parts)));
  return takePart(b, constant.getLoc(), constant, to, parts);
}

Value nx::shardParam(OpBuilder &b, ParamOp param, const Sharding &to, int64_t parts) {
  if (to.isPartial())
    return asTerm(b, param.getLoc(), param, to.reduce, parts);
  if (!to.isSplit())
    return param;
  SmallVector<Attribute> recipe(param.getRecipe().getValue());
  auto step = ShardStepAttr::get(b.getContext(), to.dim, parts, to.stepBlocks());
  // Packing is the last step, and its type is that of the value before it.
  bool isPacked = !recipe.empty() && isa<PackStepAttr>(recipe.back());
  recipe.insert(recipe.end() - isPacked, step);
  return ParamOp::create(b, param.getLoc(), localType(param.getType(), to, parts), param.getName(),
                         param.getSourceType(), b.getArrayAttr(recipe));
}

Value nx::pickKeyHeads(OpBuilder &b, Location loc, Value keys, int64_t parts) {
  auto type = cast<RankedTensorType>(keys.getType());
  SmallVector<AffineExpr> dims = dimsOf(type);
  int64_t heads = *constantOf(dims[1]), copies = std::lcm(heads, parts) / heads;
  // Repeat each head: [B, H, T, D] -> [B, H, 1, T, D] -> [B, H, copies, T, D] -> [B, H * copies, T, D].
  dims.insert(dims.begin() + 2, getAffineConstantExpr(1, b.getContext()));
  keys = ReshapeOp::create(b, loc, withDims(type, dims), keys);
  dims[2] = getAffineConstantExpr(copies, b.getContext());
  keys = BroadcastOp::create(b, loc, withDims(type, dims), keys);
  dims[1] = dims[1] * copies;
  dims.erase(dims.begin() + 2);
  keys = ReshapeOp::create(b, loc, withDims(type, dims), keys);
  return ShardOp::create(b, loc, keys, /*dim=*/1, parts, /*blocks=*/ArrayRef<int64_t>());
}

std::string nx::nodeName(Operation *op) {
  std::string name;
  auto visit = [&](Location loc, auto &&self) -> void {
    if (!name.empty())
      return;
    if (auto named = dyn_cast<NameLoc>(loc))
      name = named.getName().str();
    else if (auto fused = dyn_cast<FusedLoc>(loc))
      for (Location part : fused.getLocations())
        self(part, self);
  };
  visit(op->getLoc(), visit);
  return name.empty() ? op->getName().getStringRef().str() : name;
}
