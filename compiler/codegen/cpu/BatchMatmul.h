// Batched matrix product of two run-time operands: C[b.., M, N] = epilogue(A[b.., M, K] x B[b.., K,
// N]) with any strides, which covers transposed forms, broadcast batch dims and views. All sizes
// may be dynamic. f32 arithmetic.
//
// The kernel packs its panels of B into the thread's scratch. Work is shared in tiles of one batch
// item, a block of rows, and one register tile's columns.
#ifndef NX_CODEGEN_CPU_BATCHMATMUL_H
#define NX_CODEGEN_CPU_BATCHMATMUL_H

#include "compiler/codegen/cpu/TileEpilogue.h"

namespace nx {

struct BatchMatmulSpec {
  KernelSignature signature;
  llvm::SmallVector<mlir::AffineExpr>
      batch; // sizes of the batch dims, outermost first; may be empty
  mlir::AffineExpr m, n, k;
  StridedOperand a;             // strides: batch.., m, k
  StridedOperand b;             // strides: batch.., k, n
  StridedOperand c;             // strides: batch.., m, n
  Epilogue epilogue;            // null: the sums
  int64_t depthBlock = 512;     // K packed at a time
  int64_t rowTilesPerBlock = 0; // 0: chosen from the target
};

// Adds the kernel's four functions to `module`.
void emitBatchMatmul(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
                     const BatchMatmulSpec &spec, const TargetDescription &target);

} // namespace nx

#endif // NX_CODEGEN_CPU_BATCHMATMUL_H
