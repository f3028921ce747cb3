// How results leave a tile: element-wise work on vectors of sums, and the store to the output.
#ifndef NX_CODEGEN_CPU_TILEEPILOGUE_H
#define NX_CODEGEN_CPU_TILEEPILOGUE_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nx {

// The place of one vector of results, C[batch..., row, column .. column + lanes - 1].
struct TilePoint {
  mlir::Value row;
  mlir::Value column;
  mlir::Value mask;                     // lanes that exist; null: all of them
  llvm::SmallVector<mlir::Value> batch; // one index per batch dim of the kernel
};

// Computes the values to store from a vector of sums. It may load other operands at the point
// (KernelBuilder::operand), with its mask. It may return f32 or the output's element type.
using Epilogue = std::function<mlir::Value(KernelBuilder &, mlir::Value sums, const TilePoint &)>;

// An operand whose elements are found by strides, in elements. `strides`: one per dim, the kernel's
// batch dims first; constant 0 where the operand is broadcast.
struct StridedOperand {
  unsigned operand = 0;
  llvm::SmallVector<mlir::AffineExpr> strides;
  mlir::AffineExpr offset; // of the first element; null: 0

  // The index of the element at `indices`, of which trailing ones may be left out.
  mlir::Value at(KernelBuilder &kb, llvm::ArrayRef<mlir::Value> indices) const;
  mlir::Value stride(KernelBuilder &kb, unsigned dim) const { return kb.size(strides[dim]); }
};

// A tile of f32 sums in memory, `width` columns wide (a multiple of kPanelWidth), and the part of
// it that goes to the output: `columns` <= width of them.
struct SumTile {
  mlir::Value memory, offset, rowStride;
  mlir::Value rows, columns; // both may be 0
  int64_t width = 0;
  bool alwaysFull = false;           // columns is known to be width
  mlir::Value firstRow, firstColumn; // in the output
  llvm::SmallVector<mlir::Value> batch;
};

void storeSumTile(KernelBuilder &kb, const SumTile &tile, const Epilogue &epilogue,
                  const StridedOperand &output);

} // namespace nx

#endif // NX_CODEGEN_CPU_TILEEPILOGUE_H
