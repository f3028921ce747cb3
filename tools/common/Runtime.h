// The runtime's C API for the tools: handles that free themselves, errors that throw.
#ifndef NX_TOOLS_COMMON_RUNTIME_H
#define NX_TOOLS_COMMON_RUNTIME_H

#include "nxrt/nxrt.h"
#include "tools/common/Refusal.h"

#include <memory>

namespace nxtool {

/// Throws the runtime's own sentence when a call failed.
inline void check(nxrt_status status) {
  if (status != NXRT_OK)
    throw Refusal(*nxrt_last_error() ? nxrt_last_error() : nxrt_status_string(status));
}

struct Deleter {
  void operator()(nxrt_model *model) const { nxrt_unload(model); }
  void operator()(nxrt_tensor *tensor) const { nxrt_tensor_free(tensor); }
  void operator()(nxrt_tensor_set *set) const { nxrt_tensor_set_free(set); }
};
using ModelHandle = std::unique_ptr<nxrt_model, Deleter>;
using TensorHandle = std::unique_ptr<nxrt_tensor, Deleter>;
using TensorSetHandle = std::unique_ptr<nxrt_tensor_set, Deleter>;

/// The runtime between nxrt_init and nxrt_close.
class RuntimeSession {
public:
  explicit RuntimeSession(const nxrt_config &config) { check(nxrt_init(&config)); }
  RuntimeSession(const RuntimeSession &) = delete;
  RuntimeSession &operator=(const RuntimeSession &) = delete;
  ~RuntimeSession() { nxrt_close(); }
};

} // namespace nxtool

#endif // NX_TOOLS_COMMON_RUNTIME_H
