//===- SearchSpace.h - What the planner chooses from ----------------------===//
//
// Of each operation the ways to run it on N ranks (strategies), of each value the states that some
// strategy makes or wants (choices). Built from the sharding rules alone; no cost is known here.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_PARTITION_SEARCHSPACE_H
#define NX_COMPILER_PARTITION_SEARCHSPACE_H

#include "compiler/partition/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace nx {

/// A way to run an operation: which state each operand must have, which each result gets.
struct Strategy {
  int factor = -1;                        // the split factor of the rule, or none
  llvm::SmallVector<int64_t, 3> blocks;   // its blocks
  llvm::SmallVector<unsigned> operands, results; // indices into the values' choices
  /// Attention with more ranks than key heads: split by query heads; every rank has all keys and values
  /// and picks those of its heads.
  bool picksKeys = false;
  bool operator==(const Strategy &) const = default;
};

/// Whether a dimension belongs to the model (it is one of a weight's) or to the data that one
/// execution works on (batch, sequence). Of both, data wins: such dimensions are not split.
enum class DimOrigin : uint8_t { Unknown, Model, Data };

struct ValueNode {
  mlir::Value value;
  llvm::SmallVector<Sharding> choices; // the first is Replicated
  llvm::SmallVector<DimOrigin> origins;
  mlir::Operation *source = nullptr;   // the nx.param or nx.constant: available in every state
  mlir::RankedTensorType type() const { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
};

struct OpNode {
  mlir::Operation *op;
  ShardingRule rule; // empty when every rank must run the operation whole
  bool hasRule = false;
  llvm::SmallVector<unsigned> operands, results; // values; operands used inside regions come last
  llvm::SmallVector<Strategy> strategies;        // the first one: all whole
};

class SearchSpace {
public:
  /// All operations of `func` but sources, in program order. Fails on a rule that does not fit its
  /// operation, with an error.
  static mlir::FailureOr<SearchSpace> build(mlir::func::FuncOp func, int64_t parts);

  int64_t parts;
  std::vector<ValueNode> values;
  std::vector<OpNode> ops;
  llvm::DenseMap<mlir::Value, unsigned> valueOf;
  llvm::DenseMap<mlir::Operation *, unsigned> opOf;

  /// Whether factor `f` of `node` belongs to the model.
  bool isModelFactor(const OpNode &node, unsigned f) const;

  /// The state of the dimensions `dims` of a value when `factor` is split in `blocks`; replicated when
  /// it does not occur, none when it cannot be.
  std::optional<Sharding> shardingOf(const OpNode &node, llvm::ArrayRef<FactoredDim> dims, unsigned factor,
                                     llvm::ArrayRef<int64_t> blocks) const;

private:
  SearchSpace() = default;
  void collect(mlir::func::FuncOp func);
  void findOrigins(mlir::func::FuncOp func);
  void enumerate();
  /// The index of a choice, added if need be. With `isMade` an operation makes it, and others may pass it on.
  unsigned choice(unsigned value, const Sharding &sharding, bool isMade = true);
  void addSplit(unsigned op, unsigned factor, llvm::ArrayRef<int64_t> blocks,
                std::optional<std::pair<unsigned, unsigned>> operandChoice = {});
  void addKeyPicking(unsigned op);
  void addLinear(unsigned op, unsigned value, unsigned choiceIndex);
  void propagate(unsigned value, unsigned choiceIndex);

  llvm::SmallVector<llvm::SmallVector<unsigned>> opsOf; // operations that touch each value
  llvm::SmallVector<std::pair<unsigned, unsigned>> worklist; // (value, choice) not yet propagated
  llvm::DenseSet<std::pair<unsigned, unsigned>> notMade; // partial only because a user takes shares
};

} // namespace nx
#endif // NX_COMPILER_PARTITION_SEARCHSPACE_H
