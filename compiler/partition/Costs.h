//===- Costs.h - Prices for the planner -----------------------------------===//
#ifndef NX_COMPILER_PARTITION_COSTS_H
#define NX_COMPILER_PARTITION_COSTS_H

#include "compiler/partition/Partition.h"
#include "compiler/partition/SearchSpace.h"

namespace nx {

/// Seconds for work and communication of one step, at assumed sizes of the symbols.
class Costs {
public:
  Costs(mlir::func::FuncOp func, const PartitionOptions &options);

  /// The assumed value of a size, at least 0.
  int64_t sizeOf(mlir::AffineExpr expr) const;
  int64_t bytesOf(mlir::RankedTensorType type) const;
  /// Name and assumed size of each symbol.
  std::vector<std::pair<std::string, int64_t>> symbols;

  /// Contractions and attention; only these are worth sharing.
  static bool isCostly(mlir::Operation *op);
  /// One rank's time for `op` by `strategy`. Element-wise work rides along in the kernels of its
  /// neighbours and is free, up to a preference for smaller values that only breaks ties.
  double compute(const SearchSpace &space, const OpNode &op, const Strategy &strategy) const;
  /// One rank's time for turning a value from one state into another; infinite when impossible.
  double reshard(mlir::RankedTensorType type, const Sharding &from, const Sharding &to) const;
  /// What having a part of a parameter or constant costs: memory.
  double source(const ValueNode &value, const Sharding &to) const;
  /// Bytes that come into each rank.
  double movedBytes(mlir::RankedTensorType type, const Sharding &from, const Sharding &to) const;

private:
  double flopsOf(mlir::Operation *op) const;

  const PartitionOptions &options;
  llvm::SmallVector<int64_t> symbolSizes;
};

} // namespace nx
#endif // NX_COMPILER_PARTITION_COSTS_H
