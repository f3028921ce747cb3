//===- Partition.h - Tensor parallelism: plan and partition ---------------===//
//
// `partition` turns a program for one rank into the program that each of N ranks runs (SPMD). It
// plans first: a way to run each operation and a state for each value such that the estimated time of
// a step and the memory for weights are least. docs/partition.md says how that is priced.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_PARTITION_PARTITION_H
#define NX_COMPILER_PARTITION_PARTITION_H

#include "compiler/partition/Sharding.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace nx {

/// What work and communication cost. The defaults describe ranks of one or two AVX2 or AVX-512 cores
/// that share memory; they only have to be right in proportion.
struct CostModel {
  double flopsPerSecond = 8e10;           // of one rank, in contractions
  double memoryBytesPerSecond = 1.5e10;   // of one rank, streaming weights
  double collectiveSeconds = 5e-6;        // of one collective, however small
  double collectiveBytesPerSecond = 1e10; // into one rank
  double copySeconds = 1e-6;              // of one local copy, however small
  double weightSecondsPerByte = 1e-11;    // what one byte of weights on a rank is worth
};

struct PartitionOptions {
  /// Number of ranks. 1 leaves the program as it is.
  int64_t degree = 1;
  /// The user's plan (see docs/partition.md), and its name for messages.
  std::string planText, planName = "plan";
  /// Sizes assumed for the program's symbols, by name.
  llvm::StringMap<int64_t> sizes;
  /// Size assumed for other symbols; the first dimension of an input with several symbolic ones (the
  /// batch) counts as 1.
  int64_t defaultSize = 128;
  CostModel cost;
};

/// What was planned and why.
struct PartitionPlan {
  struct Param {
    std::string name;
    std::vector<int64_t> shape; // of the value, after the recipe
    std::string split;          // "column (dim 1)", "row (dim 0)", "dim 2", "replicated"
    std::string reason;
    int64_t bytes = 0, bytesPerRank = 0;
  };
  struct Collective {
    std::string kind;   // "all_reduce", ..
    std::string node;   // the source node that made the value
    std::string reason;
    std::string size;   // bytes of the whole value as an expression of the program's symbols
    int64_t bytes = 0;  // the same at the assumed sizes
    int64_t moved = 0;  // bytes that come into each rank
  };
  struct Unsplit {
    std::string node, reason; // a costly operation that every rank runs whole
  };

  int64_t degree = 1;
  std::vector<std::pair<std::string, int64_t>> sizes; // assumed sizes of symbols
  std::vector<Param> params;
  std::vector<Collective> collectives;
  std::vector<Unsplit> unsplit;
  int64_t weightBytes = 0, weightBytesPerRank = 0; // of the program for one rank, and for N
  double seconds = 0, computeSeconds = 0, unsplitSeconds = 0; // estimated, per step
  double planningSeconds = 0; // taken by the planner; not part of explain()

  /// A table for people.
  void explain(llvm::raw_ostream &os) const;
  /// The same as JSON.
  void printJson(llvm::raw_ostream &os) const;
  /// (parameter, split) for the executable's plan table.
  std::vector<std::pair<std::string, std::string>> table() const;
};

/// Plans and rewrites the functions of `module` for `options.degree` ranks. Inputs and outputs of a
/// function stay whole on every rank. Errors in the user's plan and degrees that cannot be honoured
/// are emitted as diagnostics, before anything is changed.
llvm::LogicalResult partition(mlir::ModuleOp module, const PartitionOptions &options, PartitionPlan &plan);

/// Only plans.
llvm::LogicalResult planPartition(mlir::ModuleOp module, const PartitionOptions &options, PartitionPlan &plan);

/// Merges, moves and removes collectives; see Collectives.cpp for the list.
void populateCollectivePatterns(mlir::RewritePatternSet &patterns);

} // namespace nx
#endif // NX_COMPILER_PARTITION_PARTITION_H
