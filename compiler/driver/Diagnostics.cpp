//===- Diagnostics.cpp - Diagnostics as a user reads them -----------------===//

#include "compiler/driver/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace nx;

/// The first node and the first line that `loc` names fill what `place` lacks.
static void addPlace(Location loc, SourcePlace &place) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    if (place.node.empty())
      place.node = name.getName().str();
    addPlace(name.getChildLoc(), place);
  } else if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    if (place.file.empty()) {
      place.file = file.getFilename().str();
      place.line = file.getLine();
      place.column = file.getColumn();
    }
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      addPlace(part, place);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    addPlace(call.getCallee(), place);
  }
}

SourcePlace nx::sourcePlace(Location loc) {
  SourcePlace place;
  addPlace(loc, place);
  return place;
}

static std::string placeText(const SourcePlace &place) {
  std::string line = place.file;
  if (!place.file.empty() && place.line) {
    line += ":" + std::to_string(place.line);
    // Of the user's program only the line is known.
    if (place.column && place.node.empty())
      line += ":" + std::to_string(place.column);
  }
  if (place.node.empty())
    return line;
  return "node '" + place.node + "'" + (line.empty() ? "" : " (" + line + ")");
}

std::string nx::locationText(Location loc) { return placeText(sourcePlace(loc)); }

const char *nx::severityName(DiagnosticRecord::Severity severity) {
  switch (severity) {
  case DiagnosticRecord::Severity::Error:
    return "error";
  case DiagnosticRecord::Severity::Warning:
    return "warning";
  case DiagnosticRecord::Severity::Remark:
    return "remark";
  case DiagnosticRecord::Severity::Note:
    return "note";
  }
  llvm_unreachable("all severities are named");
}

static DiagnosticRecord makeRecord(Diagnostic &diagnostic) {
  auto severity = [&] {
    switch (diagnostic.getSeverity()) {
    case DiagnosticSeverity::Error:
      return DiagnosticRecord::Severity::Error;
    case DiagnosticSeverity::Warning:
      return DiagnosticRecord::Severity::Warning;
    case DiagnosticSeverity::Remark:
      return DiagnosticRecord::Severity::Remark;
    case DiagnosticSeverity::Note:
      return DiagnosticRecord::Severity::Note;
    }
    llvm_unreachable("all severities are mapped");
  };
  DiagnosticRecord record{severity(), sourcePlace(diagnostic.getLocation()), diagnostic.str(), {}};
  for (Diagnostic &note : diagnostic.getNotes())
    record.notes.push_back(makeRecord(note));
  return record;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        records.push_back(makeRecord(diagnostic));
        return success();
      }) {}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, StringRef tool, raw_ostream &os)
    : tool(tool), os(os), handler(&context, [this](Diagnostic &diagnostic) {
        print(diagnostic);
        return success();
      }) {}

void DiagnosticPrinter::print(Diagnostic &diagnostic) {
  DiagnosticRecord record = makeRecord(diagnostic);
  errorCount += record.severity == DiagnosticRecord::Severity::Error;
  std::string where = placeText(record.place);
  os << tool << ": " << severityName(record.severity) << ": " << where << (where.empty() ? "" : ": ")
     << record.message << "\n";
  for (const DiagnosticRecord &note : record.notes) {
    std::string noteWhere = placeText(note.place);
    os << "  note: " << (noteWhere == where ? "" : noteWhere)
       << (noteWhere == where || noteWhere.empty() ? "" : ": ") << note.message << "\n";
  }
  os.flush();
}
