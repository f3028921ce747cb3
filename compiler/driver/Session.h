//===- Session.h - What compilations run in -------------------------------===//
#ifndef NX_COMPILER_DRIVER_SESSION_H
#define NX_COMPILER_DRIVER_SESSION_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/ThreadPool.h"

namespace nx {

/// A context with all dialects loaded, and its threads. Sessions are independent of each other: any
/// number may compile at once.
struct Session {
  /// `jobs` threads; 0: one per CPU.
  explicit Session(unsigned jobs);
  llvm::DefaultThreadPool pool;
  mlir::MLIRContext context;
};

} // namespace nx
#endif // NX_COMPILER_DRIVER_SESSION_H
