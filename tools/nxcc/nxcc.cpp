// nxcc: the compiler's command line.

#include "compiler/driver/Analyze.h"
#include "compiler/driver/Compiler.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Report.h"
#include "compiler/driver/Session.h"
#include "compiler/driver/Version.h"
#include "compiler/import/onnx/OnnxImporter.h"
#include "compiler/import/torch/TorchImporter.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

using namespace nx;

namespace {

// Exit statuses; docs/tools.md lists them.
enum ExitStatus { kDone = 0, kRefused = 1, kUsage = 2, kOutOfMemory = 3 };

[[noreturn]] void sayOutOfMemory() {
  static const char message[] = "nxcc: error: out of memory; raise --max-memory, or lower -j, or "
                                "compile on a larger machine\n";
  ssize_t written = ::write(STDERR_FILENO, message, sizeof message - 1);
  (void)written;
  ::_exit(kOutOfMemory);
}

/// LLVM's last resort. A thread that cannot be made has no memory for its stack.
void onFatalError(void *, const char *reason, bool) {
  if (llvm::StringRef(reason).contains("pthread_create"))
    sayOutOfMemory();
  llvm::errs() << "nxcc: error: internal: " << reason << "; please report it\n";
  ::_exit(kRefused);
}

/// "300M", "2G", "1048576" in bytes.
std::optional<uint64_t> parseSize(const std::string &text) {
  char *end = nullptr;
  errno = 0;
  double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || errno || !(value > 0))
    return std::nullopt;
  std::string unit(end);
  if (!unit.empty() && (unit.back() == 'B' || unit.back() == 'b'))
    unit.pop_back();
  double scale = unit.empty() ? 1 : unit == "K" ? 1e3 : unit == "M" ? 1e6 : unit == "G" ? 1e9 : 0;
  if (scale == 0)
    return std::nullopt;
  return uint64_t(value * scale);
}

/// One line on a terminal that says where the compilation is.
class ProgressLine {
public:
  explicit ProgressLine(bool enabled) : enabled(enabled && ::isatty(STDERR_FILENO)) {}
  void operator()(std::optional<Phase> phase) {
    if (!enabled)
      return;
    llvm::errs() << "\r\033[K";
    if (phase) {
      llvm::errs() << "[" << int(*phase) + 1 << "/" << allPhases().size() << "] "
                   << phaseName(*phase) << " ...";
    }
    llvm::errs().flush();
  }

private:
  bool enabled;
};

struct CommandLine {
  CompileOptions compile;
  AnalyzeOptions analyze;
  std::string targets, from = "import", to = "emit", maxMemory, report;
  std::vector<std::string> dump;
  bool explainPlan = false;
  unsigned optLevel = 2;
};

std::string phaseNames() {
  std::string names;
  for (Phase phase : allPhases())
    names += (names.empty() ? "" : ", ") + phaseName(phase).str();
  return names;
}

int usageError(const std::string &message) {
  llvm::errs() << "nxcc: error: " << message << "\n";
  return kUsage;
}

int compileCommand(CommandLine &line) {
  CompileOptions &options = line.compile;
  options.optLevel = line.optLevel;
  auto from = phaseByName(line.from), to = phaseByName(line.to);
  if (!from || !to)
    return usageError("there is no phase '" + (from ? line.to : line.from) + "'; phases are " +
                      phaseNames());
  options.from = *from;
  options.to = *to;
  if (*from > *to)
    return usageError("--from " + line.from + " comes after --to " + line.to);
  for (const std::string &name : line.dump) {
    auto phase = phaseByName(name);
    if (!phase)
      return usageError("there is no phase '" + name + "'; phases are " + phaseNames());
    options.dump.push_back(*phase);
  }
  if (options.to == Phase::Emit && options.output.empty())
    return usageError("no output file; say -o OUT.nxe, or --to PHASE for a phase before emit");
  // Before any work: the compilation may take long.
  if (options.to == Phase::Emit) {
    std::string folder = llvm::sys::path::parent_path(options.output).str();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0) {
      llvm::errs() << "nxcc: error: cannot create the output file '" << options.output
                   << "': " << std::strerror(errno)
                   << "; check that its folder exists and is writable\n";
      return kRefused;
    }
  }
  for (size_t at = 0; at < line.targets.size();) {
    size_t comma = std::min(line.targets.find(',', at), line.targets.size());
    options.targets.push_back(line.targets.substr(at, comma - at));
    at = comma + 1;
  }
  if (options.tpDegree < 1 || options.tpDegree > 64)
    return usageError("--tp " + std::to_string(options.tpDegree) + ": the degree is 1 to 64");
  if (!line.maxMemory.empty()) {
    auto bytes = parseSize(line.maxMemory);
    if (!bytes)
      return usageError("--max-memory '" + line.maxMemory +
                        "' is not a size; write it as 500M or 2G");
    // Data, not address space: mapped weights do not count.
    rlimit limit = {*bytes, *bytes};
    if (setrlimit(RLIMIT_DATA, &limit) != 0)
      return usageError("cannot set the memory limit");
  }
  if (!line.report.empty() && line.report != "text" && line.report != "json")
    return usageError("--report is text or json");

  ProgressLine progress(true);
  options.progress = [&](std::optional<Phase> phase) { progress(phase); };
  Session session(options.jobs);
  // Diagnostics begin on a fresh line.
  std::string errors;
  llvm::raw_string_ostream os(errors);
  DiagnosticPrinter printer(session.context, "nxcc", os);
  Compiler compiler(session.context, options);
  bool done = succeeded(compiler.run());
  progress(std::nullopt);
  if (!done && printer.errors() == 0)
    os << "nxcc: error: internal: the compilation failed without saying why; please report it\n";
  llvm::errs() << errors;
  if (!done)
    return kRefused;
  if (line.explainPlan)
    compiler.plan().explain(llvm::outs());
  if (line.report == "json")
    printReportJson(compiler.report(), llvm::outs());
  else if (line.report == "text")
    printReport(compiler.report(), llvm::outs());
  return kDone;
}

int analyzeCommand(CommandLine &line) {
  Session session(1);
  DiagnosticPrinter printer(session.context, "nxcc", llvm::errs());
  CompileOptions options = line.compile;
  options.to = Phase::Simplify;
  Compiler compiler(session.context, options);
  if (failed(compiler.run()))
    return kRefused;
  analyze(compiler.module(), compiler.parameters(), line.analyze, llvm::outs());
  return kDone;
}

/// Names separated by commas, in lines of bounded length.
template <typename Name> void printList(const std::vector<Name> &names) {
  std::string line;
  for (const Name &name : names) {
    if (line.size() + name.size() + 2 > 110) {
      llvm::outs() << line << "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(name) + (&name == &names.back() ? "" : ",");
  }
  llvm::outs() << line << "\n";
}

/// The page docs/supported-operators.md.
int operatorsCommand() {
  llvm::outs() << "# Supported operators\n\n"
               << "Written by `nxcc operators`. A model with any other operator is refused, with a list of all its "
                  "nodes that cannot\nbe compiled and the reason for each.\n\n"
               << "## ONNX\n\nOpsets " << kMinOnnxOpset << " to " << kMaxOnnxOpset
               << " of the domain ai.onnx; an operator is read in every version of these opsets in which it exists.\n\n";
  std::vector<std::pair<llvm::StringRef, std::vector<llvm::StringRef>>> domains;
  for (const SupportedOperator &op : supportedOnnxOperators()) {
    if (domains.empty() || domains.back().first != op.domain)
      domains.push_back({op.domain, {}});
    if (domains.back().second.empty() || domains.back().second.back() != op.name)
      domains.back().second.push_back(op.name);
  }
  for (auto &[domain, names] : domains) {
    if (!domain.empty())
      llvm::outs() << "\n### Domain " << domain << "\n\n";
    printList(names);
  }
  llvm::outs() << "\n## PyTorch\n\nPrograms of torch.export, as exported and after `run_decompositions()`. Overloads other "
                  "than the default one are behind the\nname. Each operator stands for the one that writes to its "
                  "argument too (`add_` for `add`).\n\n";
  printList(torch::supportedTorchOperators());
  return kDone;
}

} // namespace

int main(int argc, char **argv) {
  // Both ways in which C++ code learns of it: operator new, and LLVM's own allocations.
  std::set_new_handler(sayOutOfMemory);
  llvm::install_fatal_error_handler(onFatalError);
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { sayOutOfMemory(); });
  CommandLine line;
  CLI::App app("Compiles a trained model to one executable file for accelerator cores.", "nxcc");
  app.require_subcommand(1);
  app.footer("Exit status: 0 done, 1 the model or an option is refused, 2 the command line is "
             "wrong, 3 out of memory.");

  CLI::App *compile = app.add_subcommand("compile", "Compile a model to an executable (.nxe)");
  compile->add_option("MODEL", line.compile.model, "The model: an .onnx or .pt2 file")->required();
  compile->add_option("-o,--output", line.compile.output, "The executable to write");
  compile->add_option("--tp", line.compile.tpDegree,
                      "Tensor-parallel degree: how many cores share the model (1)");
  compile->add_option("--plan", line.compile.planFile, "File that pins how parameters are split");
  compile->add_flag("--explain-plan", line.explainPlan,
                    "Print the partition plan, its reasons and its cost");
  compile->add_option("--target-cpu", line.targets,
                      "Instruction-set levels to generate code for, comma-separated: native "
                      "(default), x86-64-v3, x86-64-v4, armv8-a");
  compile->add_option("--shape", line.compile.shapes,
                      "Make an input static: NAME=DIMS, for example ids=1x128 (repeatable)");
  compile->add_option("-O", line.optLevel, "Optimization of machine code, 0 to 3 (2)")
      ->check(CLI::Range(0, 3));
  compile->add_option("-j,--jobs", line.compile.jobs, "Kernels to compile at once (one per CPU)");
  compile->add_option("--max-memory", line.maxMemory,
                      "Stop with an error when the compiler needs more, for example 2G; mapped "
                      "weights do not count");
  compile->add_option("--from", line.from,
                      "First phase; MODEL is then MLIR text as --dump writes it (" + phaseNames() +
                          ")");
  compile->add_option("--params", line.compile.paramsModel,
                      "With --from: the model that holds the weights");
  compile->add_option("--to", line.to, "Last phase");
  compile->add_option("--dump", line.dump, "Print the program after a phase (repeatable)");
  compile
      ->add_option("--report", line.report,
                   "Print time, peak memory and size per phase: text or json")
      ->expected(0, 1)
      ->default_str("text");
  CLI::App *analyzeApp =
      app.add_subcommand("analyze", "Print what a model holds: inputs, parameters, operations");
  analyzeApp->add_option("MODEL", line.compile.model, "The model: an .onnx or .pt2 file")->required();
  analyzeApp->add_option("--shape", line.compile.shapes, "As for compile");
  analyzeApp->add_flag("--json", line.analyze.json, "Print JSON");
  CLI::App *operators = app.add_subcommand("operators", "Print the operators that can be compiled");
  CLI::App *version = app.add_subcommand("version", "Print the compiler's version and its targets");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return usageError(std::string(error.what()) + "\nRun 'nxcc --help' or 'nxcc compile --help'.");
  }
  if (compile->parsed())
    return compileCommand(line);
  if (analyzeApp->parsed())
    return analyzeCommand(line);
  if (operators->parsed())
    return operatorsCommand();
  if (version->parsed()) {
    llvm::outs() << "nxcc " << kVersion << " (LLVM " << LLVM_VERSION_STRING << ")\ntargets:";
    for (const TargetDescription &target : knownTargets())
      llvm::outs() << " " << target.name << (canRunHere(target) ? "*" : "");
    llvm::outs() << "   (* runs on this machine)\n";
  }
  return kDone;
}
