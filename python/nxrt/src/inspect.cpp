// nxrt._inspect: an executable's tables as JSON, by the code that nx-inspect uses.
#include "tools/nx-inspect/Describe.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

/// Status and sentence of the refusal, or 0 and the JSON.
static std::pair<int, std::string> inspect(const std::string &path, bool verify) {
  using nxrt::ExecutableFile;
  nb::gil_scoped_release release;
  std::unique_ptr<ExecutableFile> file;
  nxrt::Status status = ExecutableFile::open(
      path.c_str(), verify ? ExecutableFile::Weights::Verify : ExecutableFile::Weights::Trust, file);
  if (!status.ok())
    return {int(status.code()), status.message()};
  // Names come from the model: invalid UTF-8 in them must not stop the description.
  return {0, nxtool::describe(*file).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)};
}

NB_MODULE(_inspect, m) { m.def("inspect", inspect, "path"_a, "verify"_a); }
