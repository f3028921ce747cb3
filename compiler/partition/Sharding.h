//===- Sharding.h - How a value lies on the ranks -------------------------===//
#ifndef NX_COMPILER_PARTITION_SHARDING_H
#define NX_COMPILER_PARTITION_SHARDING_H

#include "dialects/nx/Nx.h"

namespace nx {

/// The state of a value among the ranks.
struct Sharding {
  enum class Kind : uint8_t {
    Replicated, // every rank has all of it
    Split,      // every rank has a part of dimension `dim`
    Partial     // every rank has a term; `reduce` over the ranks gives the value
  };
  Kind kind = Kind::Replicated;
  ReduceKind reduce = ReduceKind::sum;
  int64_t dim = 0;
  /// Split: the sizes of the blocks of the dimension; a rank has its part of each block, in order.
  /// One block is a contiguous split. Empty stands for one block of symbolic size.
  llvm::SmallVector<int64_t, 3> blocks;

  static Sharding replicated() { return {}; }
  static Sharding split(int64_t dim, llvm::ArrayRef<int64_t> blocks) {
    return {Kind::Split, ReduceKind::sum, dim, llvm::SmallVector<int64_t, 3>(blocks)};
  }
  static Sharding partial(ReduceKind reduce) { return {Kind::Partial, reduce, 0, {}}; }

  bool isReplicated() const { return kind == Kind::Replicated; }
  bool isSplit() const { return kind == Kind::Split; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool isContiguous() const { return blocks.size() <= 1; }
  /// The blocks as operations and recipe steps name them: none when the parts are contiguous.
  llvm::ArrayRef<int64_t> stepBlocks() const {
    return isContiguous() ? llvm::ArrayRef<int64_t>() : llvm::ArrayRef<int64_t>(blocks);
  }
  bool operator==(const Sharding &) const = default;
};

/// "replicated", "split (dim 1)", "split (dim 1 in blocks 512 128 128)", "partial sum".
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const Sharding &sharding);

/// What one of `parts` ranks holds of a value of type `type`.
mlir::RankedTensorType localType(mlir::RankedTensorType type, const Sharding &sharding, int64_t parts);

/// Emits what turns a rank's `value` from one state into another; `type` is the type of the whole
/// value. A replicated value becomes a term of a sum by taking its N-th part; a split one cannot.
mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                    mlir::RankedTensorType type, const Sharding &from, const Sharding &to, int64_t parts);

/// A rank's part of a constant: a smaller splat, or a slice of the whole.
mlir::Value shardConstant(mlir::OpBuilder &builder, ConstantOp constant, const Sharding &to, int64_t parts);

/// A rank's part of a parameter: a step in its recipe.
mlir::Value shardParam(mlir::OpBuilder &builder, ParamOp param, const Sharding &to, int64_t parts);

/// From all key (or value) heads `[B, H, T, D]` those that a rank's 1/parts of the query heads use, where
/// parts is no divisor of H.
mlir::Value pickKeyHeads(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value keys, int64_t parts);

/// Marks the multiplication that made a replicated value a term of a sum, so that it can be undone when
/// the sum is taken next. Only inside `partition`.
inline constexpr llvm::StringLiteral kShareAttr = "nx.share";

/// The name of the source node of `op`, or its operation name.
std::string nodeName(mlir::Operation *op);

} // namespace nx
#endif // NX_COMPILER_PARTITION_SHARDING_H
