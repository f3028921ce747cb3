//===- Costs.cpp - Prices for the planner ---------------------------------===//

#include "compiler/partition/Costs.h"

using namespace mlir;
using namespace nx;

static constexpr double infinity = std::numeric_limits<double>::infinity();

Costs::Costs(func::FuncOp func, const PartitionOptions &options) : options(options) {
  SmallVector<StringRef> names = symbolNames(func);
  unsigned count = names.size();
  // Functions need not name their symbols.
  func.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        if (auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
          count = std::max(count, dims.getMap().getNumSymbols());
  });
  for (Type type : func.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding()))
        count = std::max(count, dims.getMap().getNumSymbols());

  symbolSizes.assign(count, options.defaultSize);
  for (Type type : func.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getNumDynamicDims() < 2)
      continue;
    if (auto batch = dyn_cast<AffineSymbolExpr>(dimOf(tensor, 0)))
      symbolSizes[batch.getPosition()] = 1;
  }
  for (unsigned i = 0; i < count; ++i) {
    std::string name = i < names.size() ? names[i].str() : "s" + std::to_string(i);
    if (auto it = options.sizes.find(name); it != options.sizes.end())
      symbolSizes[i] = it->second;
    symbols.push_back({name, symbolSizes[i]});
  }
}

int64_t Costs::sizeOf(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::max<int64_t>(0, constant.getValue());
  auto evaluate = [&](AffineExpr e, auto &&self) -> int64_t {
    if (auto constant = dyn_cast<AffineConstantExpr>(e))
      return constant.getValue();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      return symbol.getPosition() < symbolSizes.size() ? symbolSizes[symbol.getPosition()] : 1;
    auto binary = dyn_cast<AffineBinaryOpExpr>(e);
    if (!binary)
      return 1;
    int64_t l = self(binary.getLHS(), self), r = self(binary.getRHS(), self);
    switch (e.getKind()) {
    case AffineExprKind::Add:
      return l + r;
    case AffineExprKind::Mul:
      return l * r;
    case AffineExprKind::Mod:
      return r > 0 ? llvm::mod(l, r) : 0;
    case AffineExprKind::FloorDiv:
      return r != 0 ? llvm::divideFloorSigned(l, r) : 0;
    default:
      return r != 0 ? llvm::divideCeilSigned(l, r) : 0;
    }
  };
  return std::max<int64_t>(0, evaluate(expr, evaluate));
}

int64_t Costs::bytesOf(RankedTensorType type) const {
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    bytes *= sizeOf(dimOf(type, dim));
  return bytes;
}

bool Costs::isCostly(Operation *op) { return isa<MatmulOp, ConvOp, AttentionOp>(op); }

double Costs::flopsOf(Operation *op) const {
  auto elements = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    double count = 1;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      count *= sizeOf(dimOf(type, dim));
    return count;
  };
  auto size = [&](Value value, int64_t dim) {
    return double(sizeOf(dimOf(cast<RankedTensorType>(value.getType()), dim)));
  };
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    int64_t rank = cast<RankedTensorType>(matmul.getLhs().getType()).getRank();
    return 2 * elements(matmul.getResult()) * size(matmul.getLhs(), rank - (matmul.getTransposeLhs() ? 2 : 1));
  }
  if (auto conv = dyn_cast<ConvOp>(op)) {
    double outputs = size(conv.getWeight(), 0);
    return outputs > 0 ? 2 * elements(conv.getResult()) * elements(conv.getWeight()) / outputs : 0;
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    double scores = size(attention.getQuery(), 0) * size(attention.getQuery(), 1) *
                    size(attention.getQuery(), 2) * size(attention.getKey(), 2);
    return 2 * scores * (size(attention.getQuery(), 3) + size(attention.getValue(), 3));
  }
  return 0;
}

double Costs::compute(const SearchSpace &space, const OpNode &op, const Strategy &strategy) const {
  double share = strategy.factor >= 0 ? 1.0 / space.parts : 1.0;
  double localBytes = 0;
  auto add = [&](unsigned value, unsigned choice) {
    const ValueNode &node = space.values[value];
    double bytes = bytesOf(node.type());
    localBytes += node.choices[choice].isSplit() ? bytes / space.parts : bytes;
  };
  for (auto [value, choice] : llvm::zip_equal(op.operands, strategy.operands))
    add(value, choice);
  for (auto [value, choice] : llvm::zip_equal(op.results, strategy.results))
    add(value, choice);
  // Ties: smaller values, then fewer blocks.
  double tieBreak = localBytes * 1e-18 + (strategy.blocks.size() > 1 ? 1e-12 : 0);
  if (!isCostly(op.op))
    return tieBreak;
  return tieBreak + std::max(flopsOf(op.op) * share / options.cost.flopsPerSecond,
                             localBytes / options.cost.memoryBytesPerSecond);
}

double Costs::movedBytes(RankedTensorType type, const Sharding &from, const Sharding &to) const {
  double bytes = bytesOf(type), n = options.degree, others = (n - 1) / n;
  if (from == to || from.isReplicated())
    return 0;
  if (from.isPartial())
    return to.isSplit() && to.isContiguous() ? bytes * others : 2 * bytes * others;
  if (to.isSplit() && from.isContiguous() && to.isContiguous())
    return bytes / n * others;
  return bytes * others;
}

double Costs::reshard(RankedTensorType type, const Sharding &from, const Sharding &to) const {
  if (from == to)
    return 0;
  const CostModel &cost = options.cost;
  if (to.isPartial()) {
    // A term of a mean is the value itself, a term of a sum its N-th part.
    if (!from.isReplicated() || !isa<FloatType>(type.getElementType()))
      return infinity;
    return to.reduce == ReduceKind::mean ? 0 : to.reduce == ReduceKind::sum ? cost.copySeconds : infinity;
  }
  auto copy = [&](double bytes) { return cost.copySeconds + bytes / cost.memoryBytesPerSecond; };
  double bytes = bytesOf(type), local = bytes / options.degree, seconds = 0;
  if (!from.isReplicated())
    seconds = cost.collectiveSeconds + movedBytes(type, from, to) / cost.collectiveBytesPerSecond;
  bool isOneCollective = !from.isReplicated() && to.isSplit() && to.isContiguous() && from.isContiguous() &&
                         (from.isPartial() || from.dim != to.dim);
  if (from.isSplit() && !from.isContiguous())
    seconds += copy(bytes);
  if (to.isSplit() && !isOneCollective)
    seconds += copy(local);
  return seconds;
}

double Costs::source(const ValueNode &value, const Sharding &to) const {
  double bytes = bytesOf(value.type());
  if (to.isPartial())
    return bytes * options.cost.weightSecondsPerByte + reshard(value.type(), Sharding::replicated(), to);
  return (to.isSplit() ? bytes / options.degree : bytes) * options.cost.weightSecondsPerByte;
}
