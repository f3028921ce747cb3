//===- Diagnostics.h - Diagnostics as a user reads them -------------------===//
#ifndef NX_COMPILER_DRIVER_DIAGNOSTICS_H
#define NX_COMPILER_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace nx {

/// "node 'encoder/MatMul_3'" for a source node, "file:line:column" for text, "" when unknown.
std::string locationText(mlir::Location loc);

/// Prints every diagnostic as `<tool>: error: node '...': <message>`, notes indented below, while
/// it lives. Counts the errors.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext &context, llvm::StringRef tool, llvm::raw_ostream &os);
  unsigned errors() const { return errorCount; }

private:
  void print(mlir::Diagnostic &diagnostic);
  llvm::StringRef tool;
  llvm::raw_ostream &os;
  unsigned errorCount = 0;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace nx
#endif // NX_COMPILER_DRIVER_DIAGNOSTICS_H
