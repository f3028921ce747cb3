//===- Attention.h - Attention with what surrounds it ---------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_ATTENTION_H
#define NX_COMPILER_IMPORT_COMMON_ATTENTION_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// `query [B, Hq, S, D]`, `key [B, Hkv, T, D]`, `value [B, Hkv, T, Dv]`, Hq a multiple of Hkv.
struct AttentionSpec4D {
  mlir::Value query, key, value;
  mlir::Value keep; ///< booleans that broadcast to [B, Hq, S, T]: where a key may be used; or null
  mlir::Value bias; ///< floats likewise, added to the scores; or null
  double scale = 1;
  double softcap = 0;   ///< scores become softcap * tanh(scores / softcap); 0: they stay
  mlir::AffineExpr causal; ///< drops keys t > s + causal; null: none
  bool zeroWithoutKeys = true; ///< a query that may use no key gives zero, else NaN
};

/// The result [B, Hq, S, Dv].
mlir::Value attend(GraphBuilder &b, const AttentionSpec4D &spec);

/// The same step by step, for those who want to see what lies between: all are [B, Hq, S, T] but the result.
struct AttentionSteps {
  mlir::Value scores, capped, biased, probabilities, result;
};
AttentionSteps attendInSteps(GraphBuilder &b, const AttentionSpec4D &spec);

/// [rows, columns]: column - row <= offset.
mlir::Value atMostBehind(GraphBuilder &b, mlir::AffineExpr rows, mlir::AffineExpr columns, mlir::Value offset);

/// `x` and `y`, either of which may be null.
mlir::Value bothHold(GraphBuilder &b, mlir::Value x, mlir::Value y);

/// [B, S, heads * D] as [B, heads, S, D], and back.
mlir::Value splitHeads(GraphBuilder &b, mlir::Value x, int64_t heads);
mlir::Value mergeHeads(GraphBuilder &b, mlir::Value x);

/// Pairs (x1, x2) of `x [.., D]` turned: (cos x1 - sin x2, sin x1 + cos x2). The first `width` elements of D are turned; a pair
/// is an element of their first half and one of the second, or two neighbours when `interleaved`. `cosine` and
/// `sine` broadcast to [.., width / 2].
mlir::Value rotate(GraphBuilder &b, mlir::Value x, mlir::Value cosine, mlir::Value sine, mlir::AffineExpr width,
                   bool interleaved);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_ATTENTION_H
