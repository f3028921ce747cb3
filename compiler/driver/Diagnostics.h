//===- Diagnostics.h - Diagnostics as a user reads them -------------------===//
#ifndef NX_COMPILER_DRIVER_DIAGNOSTICS_H
#define NX_COMPILER_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace nx {

/// Where something comes from: a node of the model, a line of a file (of MLIR text, or of the program
/// that the model was exported from), both, or neither.
struct SourcePlace {
  std::string node;
  std::string file;
  unsigned line = 0, column = 0; // from 1; 0: unknown
};
SourcePlace sourcePlace(mlir::Location loc);

/// "node 'encoder/MatMul_3'" for a source node, with " (model.py:12)" behind it where its line is known;
/// "file:line:column" for text, "" when unknown.
std::string locationText(mlir::Location loc);

/// A diagnostic apart from its context.
struct DiagnosticRecord {
  enum class Severity { Note, Remark, Warning, Error };
  Severity severity;
  SourcePlace place;
  std::string message;
  std::vector<DiagnosticRecord> notes;
};
/// "error", ...
const char *severityName(DiagnosticRecord::Severity severity);

/// Keeps every diagnostic while it lives.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &context);
  std::vector<DiagnosticRecord> take() { return std::move(records); }

private:
  std::vector<DiagnosticRecord> records;
  mlir::ScopedDiagnosticHandler handler;
};

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
