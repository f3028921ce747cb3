// The emitter's view of a kernel: nodes that loop over classes and access buffers.
#ifndef NX_CODEGEN_LOOPS_MODEL_H
#define NX_CODEGEN_LOOPS_MODEL_H

#include "compiler/codegen/cpu/loops/HostValues.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <optional>
#include <vector>

namespace nx::loops {

// A loop class is a set of loops of several nodes that run over the same index, found through the
// tensors that pass between the nodes. Expressions below have one affine dim per class.

// index * stride of dim `last`. More than one dim (first < last) is a collapsed, contiguous group.
struct Term {
  mlir::AffineExpr index;
  unsigned first, last;

  bool operator==(const Term &) const = default;
};

// Where a node reads or writes: the buffer, and the terms whose sum is the element's offset. Dims
// that stay at index 0 have no term.
struct Access {
  int buffer = -1;
  llvm::SmallVector<Term> terms;

  bool operator==(const Access &) const = default;
};

// Memory for one tensor. Views (slices, reshapes, casts) are resolved into accesses, and an
// insert_slice writes into the buffer of its destination.
struct Buffer {
  mlir::Value value;
  mlir::Type element; // as the tensor has it; i1 takes a byte in memory
  llvm::SmallVector<mlir::AffineExpr> sizes;
  llvm::SmallVector<int> dimClass; // the class that runs over each dim; -1: none or size 1
  int operand = -1;                // of the kernel call, or -1
  bool isArgument = false;
  mlir::DenseElementsAttr constant; // a small constant tensor that is not a splat
  llvm::SmallVector<int> writers;   // nodes

  bool onlyRead() const { return isArgument || constant; }
};

struct Input {
  Access access;
  // Instead of an access: a scalar of the kernel's top level, or a splat constant. Nothing at all
  // when the region does not look at it.
  mlir::Value scalar;
  mlir::TypedAttr splat;
};

struct Output {
  Access access;
  // Accumulates over the node's reduced loops.
  bool accumulates = false;
  // What the region sees before the first write; none when the region does not look.
  std::optional<Input> init;
  // The op that merges a new value into the accumulator, when the region has this simple form.
  mlir::Operation *combiner = nullptr;
  std::optional<mlir::vector::CombiningKind> kind;
};

// A linalg.generic, or an insert_slice: a copy whose store is shifted.
struct Node {
  mlir::Operation *op;
  llvm::SmallVector<int> loops;    // classes; loops that run once are left out
  llvm::SmallVector<bool> reduced; // beside `loops`
  llvm::SmallVector<Input> inputs;
  llvm::SmallVector<Output> outputs;
  // tensor.extracts of the region; their terms are over the op's index operands.
  llvm::DenseMap<mlir::Operation *, Access> gathers;
  llvm::SmallVector<int> loopClass; // of each original loop; -1: runs once
  bool vectorizable = true;         // the region holds element-wise ops only
  bool costly = false;              // ... transcendental functions among them

  mlir::linalg::GenericOp generic() const { return llvm::dyn_cast<mlir::linalg::GenericOp>(op); }
  bool hasLoop(int c) const { return llvm::is_contained(loops, c); }
  bool reduces(int c) const {
    auto it = llvm::find(loops, c);
    return it != loops.end() && reduced[it - loops.begin()];
  }
  bool isReduction() const { return llvm::is_contained(reduced, true); }
  // Every access, gathers left out.
  void forEachAccess(llvm::function_ref<void(const Access &, bool isWrite)> fn) const;
  // Every buffer that is read, gathers included.
  void forEachRead(llvm::function_ref<void(int buffer)> fn) const;
};

struct Model {
  explicit Model(mlir::func::FuncOp kernel) : host(kernel) {}

  // Reads `host.kernel()`; the diagnostic names the op that can't be expressed.
  mlir::LogicalResult build();

  HostValues host;
  std::vector<Buffer> buffers;
  std::vector<Node> nodes;                     // in program order
  llvm::SmallVector<mlir::AffineExpr> extents; // per class

  // Whether two classes that are adjacent everywhere can run as one; merges all such pairs.
  void mergeClasses();
  // Nodes `a` and `b` write parts of one buffer that are known to be apart.
  bool writesApart(const Node &a, const Node &b) const;
  // Row-major strides of a packed buffer.
  llvm::SmallVector<mlir::AffineExpr> strides(const Buffer &buffer) const;
};

// The class that `expr` is, or -1.
int plainClass(mlir::AffineExpr expr);
bool dependsOn(mlir::AffineExpr expr, int cls);
// d expr / d cls, an expression over symbols; null when `expr` is not linear in cls.
mlir::AffineExpr coefficient(mlir::AffineExpr expr, int cls);
std::optional<int64_t> constantOf(mlir::AffineExpr expr);

} // namespace nx::loops

#endif // NX_CODEGEN_LOOPS_MODEL_H
