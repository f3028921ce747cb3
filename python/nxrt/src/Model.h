// A loaded executable, as the Python side uses it.
#ifndef NX_PYTHON_NXRT_MODEL_H
#define NX_PYTHON_NXRT_MODEL_H

#include "python/nxrt/src/Arrays.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nxpy {

/// An input or output: a size is a number, or its text where only an execution knows it.
struct Port {
  std::string name;
  nxrt_dtype dtype;
  std::vector<std::variant<int64_t, std::string>> shape;
};

struct Symbol {
  std::string name;
  int64_t min, max;
};

struct Entry {
  std::string name;
  std::vector<Port> inputs, outputs;
  std::vector<Symbol> symbols;
};

/// Executions keep the model loaded: close() and a thread that runs cannot hurt each other.
class Model {
public:
  static Model load(const std::string &path, std::optional<uint32_t> firstCore, bool verify);
  static Model loadBytes(nanobind::bytes bytes, std::optional<uint32_t> firstCore, bool verify);

  const std::vector<Entry> &entries() const { return theEntries; }
  const std::vector<Port> &states() const { return theStates; }
  nanobind::dict info() const;
  void close() { handle.reset(); }
  bool closed() const { return !handle; }

  /// Runs entry point `entry` on `inputs`, arrays in the order of its inputs; returns its outputs in
  /// order. `outputs`, when given, holds for each of them an array to write to, or None.
  nanobind::list run(uint32_t entry, nanobind::sequence inputs, Framework framework,
                     std::optional<nanobind::sequence> outputs) const;

  /// A copy of a state's present value.
  nanobind::object readState(const std::string &name, Framework framework) const;
  void writeState(const std::string &name, nanobind::handle value) const;
  void resetStates() const;

private:
  explicit Model(nxrt_model *model);
  std::shared_ptr<nxrt_model> open() const;

  std::shared_ptr<nxrt_model> handle;
  std::vector<Entry> theEntries;
  std::vector<Port> theStates;
};

} // namespace nxpy

#endif // NX_PYTHON_NXRT_MODEL_H
