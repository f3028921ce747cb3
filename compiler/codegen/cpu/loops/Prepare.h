// The form that the loop emitter's model is built from.
#ifndef NX_CODEGEN_LOOPS_PREPARE_H
#define NX_CODEGEN_LOOPS_PREPARE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx::loops {

// Brings `kernel` into the form in which
// - structured linalg ops are linalg.generic, a fill only serves as an init,
// - each returned value is written by the kernel and returned once,
// - an insert_slice overwrites a destination that nobody else reads,
// - element-wise producers with one consumer are part of it (when `fuse`).
mlir::LogicalResult prepare(mlir::func::FuncOp kernel, bool fuse);

} // namespace nx::loops

#endif // NX_CODEGEN_LOOPS_PREPARE_H
