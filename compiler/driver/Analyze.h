//===- Analyze.h - What a model holds, before compiling it ----------------===//
#ifndef NX_COMPILER_DRIVER_ANALYZE_H
#define NX_COMPILER_DRIVER_ANALYZE_H

#include "compiler/params/ParamCatalog.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace nx {

struct AnalyzeOptions {
  bool json = false;
  int64_t assumedSize = 128; // of every symbolic size, for the counts of operations
};

/// Prints inputs, outputs, parameter bytes and, per kind of operation, count and floating-point
/// operations, for an imported and simplified module.
void analyze(mlir::ModuleOp module, const ParamCatalog &catalog, const AnalyzeOptions &options,
             llvm::raw_ostream &os);

} // namespace nx
#endif // NX_COMPILER_DRIVER_ANALYZE_H
