//===- Session.cpp - What compilations run in -----------------------------===//

#include "compiler/driver/Session.h"
#include "compiler/driver/Register.h"
#include "mlir/IR/DialectRegistry.h"

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  nx::registerDialects(registry);
  return registry;
}

nx::Session::Session(unsigned jobs)
    : pool(llvm::hardware_concurrency(jobs)),
      context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {
  context.setThreadPool(pool);
  // Messages are for users of models: they name nodes, not operations of the compiler.
  context.printOpOnDiagnostic(false);
  context.loadAllAvailableDialects();
}
