//===- LowerOps.h - Each nx operation as linalg ---------------------------===//
//
// One overload per operation or kind of operation: builds its result from what `b` holds for its
// operands. On failure a diagnostic has been emitted. Results have one element or more as far as
// static sizes tell.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_LOWERING_LOWEROPS_H
#define NX_COMPILER_LOWERING_LOWEROPS_H

#include "compiler/lowering/LinalgBuilder.h"

namespace nx {

using Lowered = llvm::FailureOr<SizedTensor>;

// NxToLinalg.cpp
Lowered lower(LinalgBuilder &b, ElementwiseOpInterface op);
Lowered lower(LinalgBuilder &b, ConstantOp op);
Lowered lower(LinalgBuilder &b, ShapeValueOp op);
Lowered lower(LinalgBuilder &b, IotaOp op);

// NxToLinalgReduce.cpp
Lowered lower(LinalgBuilder &b, ReduceOp op);
Lowered lower(LinalgBuilder &b, ArgReduceOp op);
Lowered lower(LinalgBuilder &b, CumulativeOp op);
Lowered lower(LinalgBuilder &b, SoftmaxOp op);
Lowered lower(LinalgBuilder &b, LayerNormOp op);
Lowered lower(LinalgBuilder &b, RmsNormOp op);
Lowered lower(LinalgBuilder &b, GroupNormOp op);

// NxToLinalgContract.cpp
Lowered lower(LinalgBuilder &b, MatmulOp op);
Lowered lower(LinalgBuilder &b, AttentionOp op);
Lowered lower(LinalgBuilder &b, ConvOp op);
Lowered lower(LinalgBuilder &b, PoolOp op);
Lowered lower(LinalgBuilder &b, ArgPoolOp op);

// NxToLinalgMove.cpp
Lowered lower(LinalgBuilder &b, TransposeOp op);
Lowered lower(LinalgBuilder &b, ReshapeOp op);
Lowered lower(LinalgBuilder &b, BroadcastOp op);
Lowered lower(LinalgBuilder &b, SliceOp op);
Lowered lower(LinalgBuilder &b, ConcatOp op);
Lowered lower(LinalgBuilder &b, PadOp op);
Lowered lower(LinalgBuilder &b, GatherOp op);
Lowered lower(LinalgBuilder &b, GatherElementsOp op);
Lowered lower(LinalgBuilder &b, GatherNdOp op);

} // namespace nx
#endif // NX_COMPILER_LOWERING_LOWEROPS_H
