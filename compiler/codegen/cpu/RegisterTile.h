// The inner kernel that contractions and attention share: a tile of rows x panels accumulators in
// registers, and how a range of rows is cut into such tiles.
//
// Each accumulator is one chain of fused multiply-adds over the depth in order, so a result has the
// same bits whatever the tile, the blocking, the number of threads or the vector length.
#ifndef NX_CODEGEN_CPU_REGISTERTILE_H
#define NX_CODEGEN_CPU_REGISTERTILE_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nx {

// sum over d < depth of A[r, d] * B[d, 0..15] for some rows and some panels of 16 columns.
struct RegisterTileInputs {
  mlir::Value a, aOffset; // memref and the index of A[0, 0]
  mlir::Value aRowStride, aDepthStride;
  mlir::Value b;
  llvm::SmallVector<mlir::Value> bOffsets; // index of B[0, 0] of each panel
  mlir::Value bDepthStride;
  mlir::Value depth;
};

// Vector v of row r is columns [v * lanes, (v+1) * lanes) of the tile: panel v * lanes / 16.
struct RegisterTileHooks {
  // The accumulators' first values, row by row; null: zero.
  std::function<llvm::SmallVector<mlir::Value>()> init;
  // Called in each step of the depth loop, for prefetches; may be null.
  std::function<void(mlir::Value depth)> step;
  // Takes the results, row by row.
  std::function<void(llvm::ArrayRef<mlir::Value>)> finish;
};

void emitRegisterTile(KernelBuilder &kb, int64_t rows, const RegisterTileInputs &inputs,
                      const RegisterTileHooks &hooks);

// With few rows a tile takes so many panels that the latency of the multiply-adds is covered.
int64_t panelsForRows(const TargetDescription &target, int64_t rows);

// `rows` rows cut into as few tiles of at most `most` rows as possible, of nearly equal height: the
// first `extra` ones have base + 1 rows, the others base.
struct RowCut {
  RowCut(KernelBuilder &kb, mlir::Value rows, int64_t most);
  mlir::Value first(KernelBuilder &kb, mlir::Value tile) const;
  mlir::Value height(KernelBuilder &kb, mlir::Value tile) const;

  mlir::Value count, base, extra;

  // The heights that occur for numbers of rows in [fewest, largest], largest unbounded when not
  // given.
  static llvm::SmallVector<int64_t> heights(int64_t fewest, std::optional<int64_t> largest,
                                            int64_t most);
};

} // namespace nx

#endif // NX_CODEGEN_CPU_REGISTERTILE_H
