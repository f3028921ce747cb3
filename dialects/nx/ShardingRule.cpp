//===- ShardingRule.cpp - Check and print rules ---------------------------===//

#include "dialects/nx/Nx.h"

using namespace mlir;
using namespace nx;

LogicalResult ShardingRule::verify(Operation *op,
                                   function_ref<InFlightDiagnostic()> emitError) const {
  if (operands.size() != op->getNumOperands() || results.size() != op->getNumResults())
    return emitError() << "sharding rule has " << operands.size() << " operands and "
                       << results.size() << " results";
  auto check = [&](ArrayRef<FactoredDim> dims, Value value, bool isResult) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    if (int64_t(dims.size()) != type.getRank())
      return emitError() << "sharding rule has " << dims.size() << " dimensions for " << type;
    llvm::SmallDenseSet<unsigned> seen;
    for (auto [i, dim] : llvm::enumerate(dims)) {
      AffineExpr size = getAffineConstantExpr(1, op->getContext());
      bool maySplit = false;
      for (unsigned f : dim.factors) {
        if (f >= factors.size() || !seen.insert(f).second)
          return emitError() << "sharding rule: factor " << f << " is unknown or occurs twice in " << type;
        if (isResult && factors[f].kind == Factor::Kind::Reduction)
          return emitError() << "sharding rule: reduction factor " << f << " occurs in a result";
        maySplit |= factors[f].kind != Factor::Kind::Whole;
        size = size * factors[f].size;
      }
      for (ArrayRef<int64_t> list : {ArrayRef(dim.before), ArrayRef(dim.after)})
        for (int64_t block : list)
          size = size + block;
      // Sizes that are only known to agree at run time cannot be split.
      if (maySplit && !provablyEqual(size, dimOf(type, i)))
        return emitError() << "sharding rule: dimension " << i << " of " << type << " has size "
                           << dimToString(normalize(size));
    }
    return success();
  };
  for (auto [dims, value] : llvm::zip_equal(operands, op->getOperands()))
    if (failed(check(dims, value, false)))
      return failure();
  for (auto [dims, value] : llvm::zip_equal(results, op->getResults()))
    if (failed(check(dims, value, true)))
      return failure();
  return success();
}

/// a, b, .., z, a1, b1, ..
static std::string factorName(unsigned i) {
  std::string name(1, char('a' + i % 26));
  return i < 26 ? name : name + std::to_string(i / 26);
}

static void printTensor(ArrayRef<FactoredDim> dims, raw_ostream &os) {
  os << "[";
  llvm::interleaveComma(dims, os, [&](const FactoredDim &dim) {
    for (int64_t block : dim.before)
      os << block << "|";
    if (dim.factors.empty())
      os << "1";
    else if (dim.factors.size() == 1)
      os << factorName(dim.factors[0]);
    else {
      os << "(";
      llvm::interleave(dim.factors, os, [&](unsigned f) { os << factorName(f); }, " ");
      os << ")";
    }
    for (int64_t block : dim.after)
      os << "|" << block;
  });
  os << "]";
}

void ShardingRule::print(raw_ostream &os) const {
  llvm::interleaveComma(operands, os, [&](auto &dims) { printTensor(dims, os); });
  os << (operands.empty() ? "-> " : " -> ");
  llvm::interleaveComma(results, os, [&](auto &dims) { printTensor(dims, os); });
  for (auto [i, factor] : llvm::enumerate(factors)) {
    os << (i ? ", " : " where ") << factorName(i) << " = " << dimToString(factor.size);
    if (factor.kind == Factor::Kind::Whole)
      os << " whole";
    else if (factor.kind == Factor::Kind::Reduction)
      os << " " << stringifyReduceKind(factor.reduce);
  }
  if (!linear.empty())
    os << "; linear";
  for (auto &set : linear) {
    os << " {";
    llvm::interleaveComma(set, os);
    os << "}";
  }
}
