//===- Planner.h - The cheapest strategies --------------------------------===//
#ifndef NX_COMPILER_PARTITION_PLANNER_H
#define NX_COMPILER_PARTITION_PLANNER_H

#include "compiler/partition/Costs.h"

namespace nx {

/// For values that are parameters: the states that the user's plan leaves.
using Pins = llvm::DenseMap<unsigned, llvm::SmallVector<unsigned>>;

/// One value turned into another state, in front of an operation.
struct Conversion {
  unsigned value, from, to;
};

struct Decision {
  unsigned strategy = 0;
  llvm::SmallVector<Conversion, 2> conversions; // in this order, before the operation
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2> sources; // (value, choice) used for the first time
};

struct Solution {
  std::vector<Decision> decisions; // one per operation of the space
  double seconds = 0;              // estimated, with the price of memory
  /// When the pins cannot be met: the operation at which they failed.
  mlir::Operation *stuck = nullptr;
};

/// Chooses a strategy for each operation such that the sum of costs is least.
///
/// Operations are visited in program order. What the past means for the future is only in which states
/// the live values are available, so the best way to each such combination is all that is kept (dynamic
/// programming over the frontier). A combination that another one can be converted into more cheaply
/// than it was reached is dropped; what is left is a handful, so that time is linear in the program.
Solution solve(const SearchSpace &space, const Costs &costs, const Pins &pins);

} // namespace nx
#endif // NX_COMPILER_PARTITION_PLANNER_H
