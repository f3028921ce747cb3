//===- LinalgBuilder.h - linalg on tensors with symbolic sizes ------------===//
//
// What the lowerings of single nx operations share: loop nests over tensors whose sizes are
// expressions over the kernel's symbols.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_LOWERING_LINALGBUILDER_H
#define NX_COMPILER_LOWERING_LINALGBUILDER_H

#include "compiler/lowering/ScalarBuilder.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace nx {

using Dims = llvm::SmallVector<mlir::AffineExpr>;

/// A tensor of the linalg level (no encoding, signless elements) and its sizes.
struct SizedTensor {
  mlir::Value value;
  Dims dims;

  mlir::Type element() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
  }
  int64_t rank() const { return dims.size(); }
};

/// A tensor in a loop nest: the index of each of its dimensions, over the loops d0, d1, ...
struct Access {
  SizedTensor tensor;
  Dims index;
};

class LinalgBuilder : public ScalarBuilder {
public:
  /// Builds at the end of `block`. `symbols` are index values that dominate it.
  LinalgBuilder(mlir::Location loc, mlir::Block *block, mlir::ValueRange symbols);

  // --- Values of the kernel: nx on the left, linalg on the right.

  SizedTensor operator[](mlir::Value value) const { return values.lookup(value); }
  void set(mlir::Value value, SizedTensor tensor) { values[value] = std::move(tensor); }

  // --- Sizes.

  mlir::AffineExpr constant(int64_t value) { return getAffineConstantExpr(value); }
  mlir::AffineExpr loop(unsigned i) { return getAffineDimExpr(i); }
  /// An index value, valid in every region.
  mlir::Value index(mlir::AffineExpr size);
  mlir::Value index(int64_t value) { return index(constant(value)); }
  mlir::OpFoldResult foldedIndex(mlir::AffineExpr size);
  /// The size as a number of type `element`.
  mlir::Value number(mlir::AffineExpr size, mlir::Type element);

  // --- Tensors.

  mlir::RankedTensorType typeOf(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
  SizedTensor empty(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
  SizedTensor full(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::TypedAttr value);
  /// The same elements in row-major order with other sizes: a view.
  SizedTensor reshape(SizedTensor x, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// x[start], x[start + step], ..: a view.
  SizedTensor slice(SizedTensor x, llvm::ArrayRef<mlir::AffineExpr> starts,
                    llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<int64_t> steps);
  /// `dest`, with x at `starts` and every `steps`-th element from there.
  SizedTensor insert(SizedTensor x, SizedTensor dest, llvm::ArrayRef<mlir::AffineExpr> starts,
                     llvm::ArrayRef<int64_t> steps);

  // --- Accesses.

  /// Over the last loops of a nest over `dims`; dimensions of size 1 are broadcast.
  Access broadcast(SizedTensor x, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// Over the loops that are not in `left`, in order: what a reduction over `left` gives.
  Access without(SizedTensor x, llvm::ArrayRef<int64_t> left);
  /// Over d0, d1, ...
  Access plain(SizedTensor x) { return without(std::move(x), {}); }

  // --- Loop nests.

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  using ScalarBody = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

  /// A linalg.generic. The body gets the elements of inputs and outputs as they are in memory.
  llvm::SmallVector<SizedTensor> nest(unsigned loops, llvm::ArrayRef<int64_t> reduced,
                                      llvm::ArrayRef<Access> inputs,
                                      llvm::ArrayRef<Access> outputs, Body body);
  /// One element of the result per iteration over `dims`. The body gets and gives what memory
  /// holds: for moving data.
  SizedTensor move(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element,
                   llvm::ArrayRef<Access> inputs, ScalarBody body);
  /// The same for arithmetic: f16 and bf16 are widened to f32 on the way in and rounded once on
  /// the way out.
  SizedTensor map(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element,
                  llvm::ArrayRef<Access> inputs, ScalarBody body);
  /// Combines `body` over the loops `axes` of a nest over `dims`, starting from the neutral element
  /// of `kind` (sum for mean). The result has the other dimensions and the type that body returns.
  SizedTensor reduce(ReduceKind kind, bool isUnsigned, llvm::ArrayRef<mlir::AffineExpr> dims,
                     llvm::ArrayRef<int64_t> axes, mlir::Type element,
                     llvm::ArrayRef<Access> inputs, ScalarBody body);
  /// The usual body of the above.
  static mlir::Value first(mlir::ValueRange args) { return args[0]; }
  mlir::Value loopIndex(unsigned loop);

private:
  mlir::Block *block;
  llvm::SmallVector<mlir::Value> symbols;
  llvm::DenseMap<mlir::Value, SizedTensor> values;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> indices;
};

} // namespace nx
#endif // NX_COMPILER_LOWERING_LINALGBUILDER_H
