// What a model keeps between executions.
//
// Each state has two tensors: executions read the current one and write the next one, and success
// swaps them. A failed execution therefore leaves every state as it was.
#ifndef NXRT_EXECUTOR_STATE_H
#define NXRT_EXECUTOR_STATE_H

#include "runtime/loader/executable_file.h"
#include "runtime/memory/tensor.h"

#include <vector>

namespace nxrt {

/// Not thread-safe: used only while the model's cores are acquired, which no two executions are at
/// once.
class ModelStates {
public:
  /// Allocates the states of a verified file and gives them their first values. The file outlives
  /// them.
  Status create(const ExecutableFile &file);

  uint32_t count() const { return static_cast<uint32_t>(states.size()); }
  const nx::fb::State &description(uint32_t index) const;
  Status find(const char *name, uint32_t &index) const;

  nxrt_tensor &current(uint32_t index) const { return *states[index].tensors[0].get(); }
  nxrt_tensor &next(uint32_t index) const { return *states[index].tensors[1].get(); }
  void advance(uint32_t index) { std::swap(states[index].tensors[0], states[index].tensors[1]); }
  /// Sets all to their first values.
  void reset();

private:
  struct State {
    TensorRef tensors[2]; // current, next
    const std::byte *initial = nullptr; // null: zeros
  };
  const ExecutableFile *file = nullptr;
  std::vector<State> states;
};

} // namespace nxrt

#endif // NXRT_EXECUTOR_STATE_H
