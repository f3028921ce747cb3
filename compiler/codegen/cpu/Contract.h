// Packed contraction: C[M,N] = epilogue(A[M,K] x B), B a constant in panels (kPanelWidth), M
// dynamic or static, any N and K, f32 arithmetic.
//
// Work is shared in tiles: for few rows a tile is all rows by some panels (a matrix-vector product,
// bound by reading B); else a block of rows by one register tile's columns.
#ifndef NX_CODEGEN_CPU_CONTRACT_H
#define NX_CODEGEN_CPU_CONTRACT_H

#include "compiler/codegen/cpu/TileEpilogue.h"

namespace nx {

// How the loops are blocked; chooseContractBlocking fills it in, tests set it by hand.
struct ContractBlocking {
  int64_t depthBlock = 0;       // K per block: depthBlock x nr of B stays near
  int64_t rowTilesPerBlock = 0; // register tiles of rows per block: their A block stays in L2
  bool depthOutside = false;    // depth blocks outside of the column loop
  // The block of A is copied to scratch first, with rows whose distance is no multiple of a page:
  // else the rows of a tile share a few sets of L1 and push each other out.
  bool copyRows = false;
  // Steps of K that B is fetched ahead into L1; 0: off. Gains up to 10 % of peak where weights come
  // from memory, as in a whole model; costs 1 % where a benchmark keeps them in the cache.
  int64_t prefetchAhead = 16;
  bool prefetchNextBlock = true; // the next block of B is fetched into L2 meanwhile
  bool prefetchResults = true;   // the next tile's place in C is fetched, too
};

struct ContractSpec {
  KernelSignature signature;
  unsigned a = 0, b = 1, c = 2; // operand numbers
  mlir::AffineExpr m;           // over the kernel's symbols
  int64_t n = 0, k = 0;
  mlir::AffineExpr aRowStride; // in elements; null: k
  mlir::AffineExpr cRowStride; // null: n
  Epilogue epilogue;           // null: the sums
  std::optional<ContractBlocking> blocking;
};

ContractBlocking chooseContractBlocking(const ContractSpec &spec, const TargetDescription &target);

// Adds the kernel's four functions to `module`.
void emitContract(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
                  const ContractSpec &spec, const TargetDescription &target);

} // namespace nx

#endif // NX_CODEGEN_CPU_CONTRACT_H
