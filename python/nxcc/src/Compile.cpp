#include "python/nxcc/src/Compile.h"

#include "compiler/driver/Analyze.h"
#include "compiler/driver/Compiler.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Report.h"
#include "compiler/driver/Session.h"
#include "compiler/driver/Version.h"
#include "dialects/nx/Nx.h"

namespace nxpy {

static Message toMessage(const nx::DiagnosticRecord &record) {
  Message message{nx::severityName(record.severity), record.place.node, record.place.file, record.place.line,
                  record.place.column, record.message, {}};
  for (const nx::DiagnosticRecord &note : record.notes)
    message.notes.push_back(toMessage(note));
  return message;
}

/// What the compiler said. The nodes that it refused together in one text are one error each.
static std::vector<Message> toMessages(nx::DiagnosticCollector &collector, nx::Compiler &compiler, bool done) {
  std::vector<Message> messages;
  if (mlir::ModuleOp module = compiler.module(); module && !done)
    module.walk([&](nx::UnsupportedOp op) {
      nx::SourcePlace place = nx::sourcePlace(op.getLoc());
      messages.push_back({"error", op.getNode().str(), place.file, place.line, place.column,
                          (op.getOpType() + ": " + op.getReason()).str(), {}});
    });
  if (!messages.empty())
    return messages;
  for (const nx::DiagnosticRecord &record : collector.take())
    messages.push_back(toMessage(record));
  return messages;
}

CompileResult compile(const CompileRequest &request) {
  nx::CompileOptions options;
  options.model = request.model;
  options.output = request.output;
  options.tpDegree = request.tp;
  options.planText = request.plan;
  options.targets = request.targets;
  options.shapes = request.shapes;
  options.optLevel = request.optLevel;
  options.jobs = request.jobs;

  nx::Session session(request.jobs);
  nx::DiagnosticCollector collector(session.context);
  nx::Compiler compiler(session.context, std::move(options));
  CompileResult result;
  result.done = succeeded(compiler.run());
  result.messages = toMessages(collector, compiler, result.done);
  if (!result.done)
    return result;
  llvm::raw_string_ostream report(result.report), plan(result.plan);
  nx::printReportJson(compiler.report(), report);
  compiler.plan().printJson(plan);
  return result;
}

AnalyzeResult analyze(const std::string &model, const std::vector<std::string> &shapes) {
  nx::CompileOptions options;
  options.model = model;
  options.shapes = shapes;
  options.to = nx::Phase::Simplify;
  nx::AnalyzeOptions form;
  form.json = true;

  nx::Session session(/*jobs=*/1);
  nx::DiagnosticCollector collector(session.context);
  nx::Compiler compiler(session.context, std::move(options));
  AnalyzeResult result;
  result.done = succeeded(compiler.run());
  result.messages = toMessages(collector, compiler, result.done);
  if (!result.done)
    return result;
  llvm::raw_string_ostream analysis(result.analysis);
  nx::analyze(compiler.module(), compiler.parameters(), form, analysis);
  return result;
}

std::vector<Target> targets() {
  std::vector<Target> result;
  for (const nx::TargetDescription &target : nx::knownTargets())
    result.push_back({target.name.str(), nx::canRunHere(target)});
  return result;
}

std::string version() { return std::string(nx::kVersion) + " (LLVM " LLVM_VERSION_STRING ")"; }

} // namespace nxpy
