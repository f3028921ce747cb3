// The runtime's C API for the extension: handles that free themselves, failures that throw.
#ifndef NX_PYTHON_NXRT_RUNTIME_H
#define NX_PYTHON_NXRT_RUNTIME_H

#include "nxrt/nxrt.h"

#include <memory>
#include <stdexcept>
#include <unistd.h>

namespace nxpy {

/// A failed call of the C API; becomes nxrt.Error.
class Failure : public std::runtime_error {
public:
  explicit Failure(nxrt_status status)
      : std::runtime_error(*nxrt_last_error() ? nxrt_last_error() : nxrt_status_string(status)), code(status) {}
  nxrt_status status() const { return code; }

private:
  nxrt_status code;
};

inline void check(nxrt_status status) {
  if (status != NXRT_OK)
    throw Failure(status);
}

struct Deleter {
  void operator()(nxrt_model *model) const {
    // The child of a fork has none of the runtime's threads, which unloading would wait for.
    if (::getpid() == owner)
      nxrt_unload(model);
  }
  void operator()(nxrt_tensor *tensor) const { nxrt_tensor_free(tensor); }
  void operator()(nxrt_tensor_set *set) const { nxrt_tensor_set_free(set); }
  pid_t owner = ::getpid();
};
using TensorHandle = std::unique_ptr<nxrt_tensor, Deleter>;
using TensorSetHandle = std::unique_ptr<nxrt_tensor_set, Deleter>;

} // namespace nxpy

#endif // NX_PYTHON_NXRT_RUNTIME_H
