//===- UserPlan.h - The user's choices for parameters ---------------------===//
//
// One rule per line, "pattern: split"; '#' starts a comment:
//
//   .*\.fc1\.weight: column     # outputs of its contraction
//   .*\.fc2\.weight: row        # inputs of its contraction
//   embed.*: replicate
//   conv1: dim 0                # a dimension of the value after its recipe
//   head: split                 # on whichever dimension costs least
//
// or the same as a JSON object {"pattern": "split", ..}. A pattern is an extended regular expression
// for the whole name; the first one that matches a parameter decides.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_PARTITION_USERPLAN_H
#define NX_COMPILER_PARTITION_USERPLAN_H

#include "compiler/partition/Planner.h"

namespace nx {

struct PlanRule {
  enum class Kind { Column, Row, Replicate, Dim, Split };
  std::string pattern;
  Kind kind;
  int64_t dim = 0;
  std::string where; // "plan.txt:3", for messages
};

mlir::FailureOr<llvm::SmallVector<PlanRule>> parsePlan(llvm::StringRef text, llvm::StringRef name,
                                                       mlir::Location loc);

/// Applies `rules` to the parameters of `space`. `used[i]` becomes true when rule i matched. Emits an
/// error that names the tensor, the dimension and the legal degrees for a split that cannot be.
mlir::FailureOr<Pins> resolvePlan(llvm::ArrayRef<PlanRule> rules, const SearchSpace &space,
                                  llvm::SmallVectorImpl<bool> &used);

/// What a dimension of a weight is to the contraction or lookup that uses it.
enum class WeightRole { None, Column, Row };
/// The role of dimension `dim` of `value`, also through reshapes and the like.
WeightRole weightRole(const SearchSpace &space, unsigned value, int64_t dim);

/// "1, 2, 3, 6": the degrees that divide `size`.
std::string legalDegrees(int64_t size);

} // namespace nx
#endif // NX_COMPILER_PARTITION_USERPLAN_H
