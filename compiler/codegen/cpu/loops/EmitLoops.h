// The loop emitter: turns a kernel whose body is a group of linalg ops on tensors into loops.
//
// It carries everything that has no hand-shaped kernel: element-wise chains, reductions,
// normalizations, softmax, data movement, gathers, and as plain correct forms convolution, pooling
// and contraction.
//
// Input: func.func @k(%in: tensor<...>, ...) -> (tensor<...>, ...), whose arguments and results
// with dynamic dims carry `nx.shape = affine_map<()[s0, ...] -> (...)>`. Behind the tensors there
// may be arguments `%s: index {nx.symbol = i}`, the values of symbols. The body may hold
//   linalg.generic (one or several results), linalg.fill, other structured linalg ops,
//   tensor.empty, tensor.extract_slice, tensor.insert_slice, tensor.expand_shape,
//   tensor.collapse_shape, tensor.cast, tensor.dim, constants (scalar, index, small dense ones),
//   and arithmetic on index and scalar values.
// Inside of regions also linalg.index, tensor.extract, and anything element-wise.
// Chained insert_slices into one destination must not overlap unless their sizes show it.
//
// Output, in place of @k, the functions of runtime/include/nxrt/kernel_abi.h:
//   @k(call: !llvm.ptr, begin: i64, end: i64) -> i32
//   @k.tiles(dim: !llvm.ptr) -> i64
//   @k.scratch_bytes(dim: !llvm.ptr) -> i64
//   @k.grain(dim: !llvm.ptr) -> i64
// in terms of scf, vector, memref, arith, math and llvm. Every tensor is row-major and packed;
// a bool is a byte in memory.
//
// A tensor.extract whose index comes from data is checked: outside of its dim it reads element 0
// and the kernel returns NXRT_KERNEL_INDEX_OUT_OF_RANGE. Negative indices must have been wrapped
// before. Integer division is emitted as it stands: a divisor that may be 0 is for the lowering
// to guard.
//
// A generic whose reduction loop also appears in the map of some of its results is a scan: that
// loop runs in order, such a result is stored at every step, and the others carry the state.
#ifndef NX_CODEGEN_LOOPS_EMITLOOPS_H
#define NX_CODEGEN_LOOPS_EMITLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx {

struct LoopOptions {
  // f32 lanes of a vector register; a kernel of narrower types uses more lanes. 1 emits scalar
  // code by the same walk: it accepts every kernel, and is the oracle of the vector form.
  int vectorLength = 8;
  // Fuse element-wise ops into their consumers first.
  bool fuse = true;
};

// Replaces `kernel` by its four functions. What the vector form refuses is emitted in scalar form.
// On failure a diagnostic names the op in the way, and `kernel` is left as it was after fusion.
mlir::LogicalResult emitLoops(mlir::func::FuncOp kernel, const LoopOptions &options);

// Registers `nx-emit-loops{vector-length=N}`: emitLoops on every function of a module that has a
// tensor among its arguments or results.
void registerLoopPasses();

} // namespace nx

#endif // NX_CODEGEN_LOOPS_EMITLOOPS_H
