//===- Diagnostics.cpp - Diagnostics as a user reads them -----------------===//

#include "compiler/driver/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;

std::string nx::locationText(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    // Programs of torch say which line of the user's code a node comes from.
    std::string line;
    if (auto file = dyn_cast<FileLineColLoc>(name.getChildLoc()))
      line = " (" + file.getFilename().str() + ":" + std::to_string(file.getLine()) + ")";
    return "node '" + name.getName().str() + "'" + line;
  }
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
           std::to_string(file.getColumn());
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string text = locationText(part); !text.empty())
        return text;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return locationText(call.getCallee());
  return "";
}

nx::DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, StringRef tool, raw_ostream &os)
    : tool(tool), os(os), handler(&context, [this](Diagnostic &diagnostic) {
        print(diagnostic);
        return success();
      }) {}

void nx::DiagnosticPrinter::print(Diagnostic &diagnostic) {
  auto severity = [](DiagnosticSeverity s) {
    switch (s) {
    case DiagnosticSeverity::Error:
      return "error";
    case DiagnosticSeverity::Warning:
      return "warning";
    case DiagnosticSeverity::Remark:
      return "remark";
    case DiagnosticSeverity::Note:
      return "note";
    }
    return "error";
  };
  errorCount += diagnostic.getSeverity() == DiagnosticSeverity::Error;
  std::string where = locationText(diagnostic.getLocation());
  os << tool << ": " << severity(diagnostic.getSeverity()) << ": " << where
     << (where.empty() ? "" : ": ") << diagnostic.str() << "\n";
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string noteWhere = locationText(note.getLocation());
    os << "  note: " << (noteWhere == where ? "" : noteWhere)
       << (noteWhere == where || noteWhere.empty() ? "" : ": ") << note.str() << "\n";
  }
  os.flush();
}
