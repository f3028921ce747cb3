// nxrt._nxrt: the runtime's C API as Python objects. The package's modules in Python are its users.
#include "python/nxrt/src/Model.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <cstring>

namespace nb = nanobind;
using namespace nb::literals;
using namespace nxpy;

namespace {

/// nxrt.Error(status, message), raised for every failed call of the C API.
void translate(const std::exception_ptr &exception, void *) {
  try {
    std::rethrow_exception(exception);
  } catch (const Failure &failure) {
    nb::object type = nb::module_::import_("nxrt._errors").attr("Error");
    nb::object error = type(int(failure.status()), failure.what());
    PyErr_SetObject(type.ptr(), error.ptr());
  }
}

void init(uint32_t threadsPerCore, uint32_t numCores, const std::optional<std::string> &visibleCores,
          double timeoutSeconds, uint64_t coreMemory, const std::optional<std::string> &logLevel,
          const std::optional<std::string> &logLocation) {
  NXRT_STRUCT(nxrt_config, config);
  config.threads_per_core = threadsPerCore;
  config.num_cores = numCores;
  config.visible_cores = visibleCores ? visibleCores->c_str() : nullptr;
  config.exec_timeout_ms = uint64_t(timeoutSeconds * 1000);
  config.core_memory_bytes = coreMemory;
  config.log_location = logLocation ? logLocation->c_str() : nullptr;
  if (logLevel) {
    static constexpr const char *levels[] = {"error", "warning", "info", "debug"};
    for (int i = 0; i < 4; ++i)
      if (*logLevel == levels[i])
        config.log_level = nxrt_log_level(i + 1);
    if (config.log_level == NXRT_LOG_DEFAULT)
      throw nb::value_error("log_level is 'error', 'warning', 'info' or 'debug'");
  }
  nb::gil_scoped_release release;
  check(nxrt_init(&config));
}

nb::dict coreInfo(uint32_t core) {
  NXRT_STRUCT(nxrt_core_info, info);
  check(nxrt_get_core_info(core, &info));
  nb::dict result;
  result["core"] = core;
  result["machine_core"] = info.machine_core;
  result["threads"] = info.thread_count;
  result["cpus"] = std::vector<int32_t>(info.cpus, info.cpus + info.cpu_count);
  result["numa_node"] = info.numa_node;
  result["models"] = info.model_count;
  result["owned"] = info.owned != 0;
  result["holder_pid"] = info.holder_pid;
  result["holder_command"] = static_cast<const char *>(info.holder_command);
  result["memory_used"] = info.memory_used;
  result["memory_limit"] = info.memory_limit;
  return result;
}

/// "TIMEOUT" for NXRT_TIMEOUT: the library's own names, so that there is one list of them.
std::vector<std::pair<std::string, int>> statuses() {
  std::vector<std::pair<std::string, int>> names;
  for (int i = 0;; ++i) {
    const char *name = nxrt_status_string(nxrt_status(i));
    if (std::strncmp(name, "NXRT_", 5) != 0)
      return names;
    names.emplace_back(name + 5, i);
  }
}

} // namespace

NB_MODULE(_nxrt, m) {
  nb::register_exception_translator(translate);

  m.def("init", init, "threads_per_core"_a, "num_cores"_a, "visible_cores"_a.none(), "timeout"_a, "core_memory"_a,
        "log_level"_a.none(), "log_location"_a.none());
  m.def("close", [] {
    nb::gil_scoped_release release;
    check(nxrt_close());
  });
  m.def("version", [] {
    NXRT_STRUCT(nxrt_version_info, info);
    check(nxrt_get_version(&info));
    return std::string(info.text);
  });
  m.def("core_count", [] {
    uint32_t count = 0;
    check(nxrt_get_visible_core_count(&count));
    return count;
  });
  m.def("core_info", coreInfo, "core"_a);
  m.def("statuses", statuses);
  m.def("dtype_name", [](int dtype) { return std::string(nxrt_dtype_name(nxrt_dtype(dtype))); }, "dtype"_a);

  nb::enum_<Framework>(m, "Framework").value("NUMPY", Framework::Numpy).value("TORCH", Framework::Torch);

  nb::class_<Raw>(m, "Raw")
      .def("__init__",
           [](Raw *self, nb::object array, int dtype) { new (self) Raw{std::move(array), nxrt_dtype(dtype)}; },
           "array"_a, "dtype"_a);

  nb::class_<Port>(m, "Port")
      .def_ro("name", &Port::name)
      .def_prop_ro("dtype", [](const Port &port) { return int(port.dtype); })
      .def_ro("shape", &Port::shape);
  nb::class_<Symbol>(m, "Symbol")
      .def_ro("name", &Symbol::name)
      .def_ro("min", &Symbol::min)
      .def_ro("max", &Symbol::max);
  nb::class_<Entry>(m, "Entry")
      .def_ro("name", &Entry::name)
      .def_ro("inputs", &Entry::inputs)
      .def_ro("outputs", &Entry::outputs)
      .def_ro("symbols", &Entry::symbols);

  nb::class_<Model>(m, "Model")
      .def_static("load", &Model::load, "path"_a, "first_core"_a.none(), "verify"_a)
      .def_static("load_bytes", &Model::loadBytes, "data"_a, "first_core"_a.none(), "verify"_a)
      .def("info", &Model::info)
      .def("close", &Model::close)
      .def_prop_ro("closed", &Model::closed)
      .def_prop_ro("entries", &Model::entries)
      .def_prop_ro("states", &Model::states)
      .def("read_state", &Model::readState, "name"_a, "framework"_a)
      .def("write_state", &Model::writeState, "name"_a, "value"_a)
      .def("reset_states", &Model::resetStates)
      .def("run", &Model::run, "entry"_a, "inputs"_a, "framework"_a, "outputs"_a.none());
}
