// Fused attention: out = softmax(scale * q k^T + mask) v, without the matrix of scores in memory.
//
//   q [B, queryHeads, S, D]   k [B, keyHeads, T, D]   v [B, keyHeads, T, Dv]   out [B, queryHeads,
//   S, Dv]
//
// each with any strides, so that splitting and merging heads needs no copies. B, S and T may be
// dynamic. queryHeads is a multiple of keyHeads: query head h uses key head h / (queryHeads /
// keyHeads). f32 arithmetic.
//
// Work is shared in tiles of one batch item, one key head, and a chunk of its queries. Keys are
// taken in blocks, with a running maximum and sum for each query.
#ifndef NX_CODEGEN_CPU_ATTENTION_H
#define NX_CODEGEN_CPU_ATTENTION_H

#include "compiler/codegen/cpu/TileEpilogue.h"

namespace nx {

struct AttentionSpec {
  KernelSignature signature;
  mlir::AffineExpr batch, queries, keys;
  int64_t queryHeads = 1, keyHeads = 1;
  int64_t depth = 0, valueDepth = 0;
  StridedOperand q;   // strides: batch, head, query, depth
  StridedOperand k;   // strides: batch, head, key, depth
  StridedOperand v;   // strides: batch, head, key, depth
  StridedOperand out; // strides: batch, head, query, depth
  float scale = 1;

  // Query s may use key t only when t <= s + causalOffset. Null: all keys.
  mlir::AffineExpr causalOffset;

  // Strides: batch, query head, query, key; 0 where broadcast. A float operand is added to the
  // scores; an i1 or i8 operand tells which keys are used.
  std::optional<StridedOperand> mask;

  // A query that may use none of the keys (boolean mask, -inf or causal; large finite masks are
  // ordinary numbers and give the mean). True: its result is zero, as torch's
  // scaled_dot_product_attention and ONNX's Attention have it. False: NaN, as a softmax of nothing
  // but -inf gives. Where there are no keys, the result is zero.
  bool zeroWithoutKeys = true;

  int64_t keyBlock = 128;     // keys at a time
  int64_t tilesPerChunk = 11; // register tiles of queries per chunk
};

// Adds the kernel's four functions to `module`.
void emitAttention(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
                   const AttentionSpec &spec, const TargetDescription &target);

} // namespace nx

#endif // NX_CODEGEN_CPU_ATTENTION_H
