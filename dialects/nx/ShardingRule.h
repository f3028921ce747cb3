//===- ShardingRule.h - What of an operation ranks can share --------------===//
//
// A rule names the loops that an operation runs over, its factors, and writes each dimension of each
// operand and result as a product of factors, outermost first:
//
//   matmul          [a, b] [b, c] -> [a, c]           b is a reduction (sum)
//   reshape         [a, (b c d)] -> [a, b, c, d]      d within c within b
//   slice 64..128   [a, 64|b|64] -> [a, b]            a window: what lies before and after it
//
// Splitting one factor over the ranks splits every dimension that it occurs in. When it is not the
// outermost factor of a dimension, or the dimension has a window, each rank gets a part of each of
// several blocks of the dimension.
//
//===----------------------------------------------------------------------===//
#ifndef NX_DIALECTS_NX_SHARDINGRULE_H
#define NX_DIALECTS_NX_SHARDINGRULE_H

#include "dialects/nx/NxEnums.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Operation.h"

namespace nx {

/// One loop of an operation.
struct Factor {
  enum class Kind {
    Parallel,  // every rank may compute its part alone
    Reduction, // a rank that has a part gets a partial result, to be combined with `reduce`
    Whole      // every rank needs all of it
  };
  mlir::AffineExpr size;
  Kind kind = Kind::Parallel;
  ReduceKind reduce = ReduceKind::sum;
};

/// A dimension: a product of factors (no factor: size 1), and for the operand of a slice the sizes
/// of the blocks that lie before and after that product.
struct FactoredDim {
  llvm::SmallVector<unsigned, 2> factors;
  llvm::SmallVector<int64_t, 0> before, after;
  bool isWindow() const { return !before.empty() || !after.empty(); }
};

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<llvm::SmallVector<FactoredDim>> operands, results;
  /// Sets of operands in which the operation is linear: when exactly these are sums still to be
  /// taken over the ranks, so is every result.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>> linear;

  /// Whether the rule fits the types of `op`; else the reason.
  llvm::LogicalResult verify(mlir::Operation *op,
                             llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const;
  /// "[a, b], [b, c] -> [a, c] where a = s0, b = 768 sum, c = 3072; linear {0} {1}"
  void print(llvm::raw_ostream &os) const;
};

/// The rule of an operation with NumPy broadcasting.
ShardingRule elementwiseRule(mlir::Operation *op);

} // namespace nx
#endif // NX_DIALECTS_NX_SHARDINGRULE_H
