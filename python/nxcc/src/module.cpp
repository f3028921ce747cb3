// nxcc._nxcc: the compiler as Python functions. The package's modules in Python are its users.
#include "python/nxcc/src/Compile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using namespace nxpy;

NB_MODULE(_nxcc, m) {
  nb::class_<Message>(m, "Message")
      .def_ro("severity", &Message::severity)
      .def_ro("node", &Message::node)
      .def_ro("file", &Message::file)
      .def_ro("line", &Message::line)
      .def_ro("column", &Message::column)
      .def_ro("text", &Message::text)
      .def_ro("notes", &Message::notes);
  nb::class_<CompileResult>(m, "CompileResult")
      .def_ro("done", &CompileResult::done)
      .def_ro("messages", &CompileResult::messages)
      .def_ro("report", &CompileResult::report)
      .def_ro("plan", &CompileResult::plan);
  nb::class_<AnalyzeResult>(m, "AnalyzeResult")
      .def_ro("done", &AnalyzeResult::done)
      .def_ro("messages", &AnalyzeResult::messages)
      .def_ro("analysis", &AnalyzeResult::analysis);
  nb::class_<Target>(m, "Target").def_ro("name", &Target::name).def_ro("runs_here", &Target::runsHere);

  m.def(
      "compile",
      [](std::string model, std::string output, int64_t tp, std::string plan, std::vector<std::string> targets,
         std::vector<std::string> shapes, unsigned optLevel, unsigned jobs) {
        CompileRequest request{std::move(model), std::move(output), tp, std::move(plan), std::move(targets),
                               std::move(shapes), optLevel, jobs};
        nb::gil_scoped_release release;
        return compile(request);
      },
      "model"_a, "output"_a, "tp"_a, "plan"_a, "targets"_a, "shapes"_a, "opt_level"_a, "jobs"_a);
  m.def(
      "analyze",
      [](std::string model, std::vector<std::string> shapes) {
        nb::gil_scoped_release release;
        return analyze(model, shapes);
      },
      "model"_a, "shapes"_a);
  m.def("targets", targets);
  m.def("version", version);
}
