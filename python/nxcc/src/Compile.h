// The compiler behind nxcc._nxcc, without MLIR in the interface.
#ifndef NX_PYTHON_NXCC_COMPILE_H
#define NX_PYTHON_NXCC_COMPILE_H

#include <cstdint>
#include <string>
#include <vector>

namespace nxpy {

struct CompileRequest {
  std::string model, output;
  int64_t tp = 1;
  std::string plan; // rules as text, see docs/partition.md
  std::vector<std::string> targets, shapes;
  unsigned optLevel = 2, jobs = 0;
};

struct Message {
  std::string severity; // "error", "warning", "remark", "note"
  std::string node;     // of the model
  std::string file;     // of the program that the model was exported from
  unsigned line = 0, column = 0;
  std::string text;
  std::vector<Message> notes;
};

struct CompileResult {
  bool done = false;
  std::vector<Message> messages;
  std::string report, plan; // JSON; empty unless done
};

CompileResult compile(const CompileRequest &request);

struct AnalyzeResult {
  bool done = false;
  std::vector<Message> messages;
  std::string analysis; // JSON
};
AnalyzeResult analyze(const std::string &model, const std::vector<std::string> &shapes);

struct Target {
  std::string name;
  bool runsHere;
};
std::vector<Target> targets();
std::string version();

} // namespace nxpy

#endif // NX_PYTHON_NXCC_COMPILE_H
