#include "runtime/executor/state.h"

#include <cstring>

namespace nxrt {

const nx::fb::State &ModelStates::description(uint32_t index) const {
  return *file->root().states()->Get(index);
}

Status ModelStates::create(const ExecutableFile &newFile) {
  file = &newFile;
  const nx::fb::Executable &executable = file->root();
  if (!executable.states())
    return {};
  for (const nx::fb::State *description : *executable.states()) {
    State state;
    const auto *dims = description->dims();
    for (TensorRef &tensor : state.tensors)
      NXRT_TRY(makeTensor(static_cast<nxrt_dtype>(description->dtype()), dims ? dims->size() : 0,
                          dims ? dims->data() : nullptr, /*withStorage=*/true, tensor));
    if (description->param() >= 0) {
      // Row-major, and so the same on every rank.
      const auto param = static_cast<uint32_t>(description->param());
      const nx::fb::ParamPart &part = *executable.params()->Get(param)->parts()->Get(0);
      state.initial = file->segment(part.segment()).data() + part.offset();
    }
    states.push_back(std::move(state));
  }
  reset();
  return {};
}

Status ModelStates::find(const char *name, uint32_t &index) const {
  std::string known;
  for (uint32_t i = 0; i < count(); ++i) {
    if (description(i).name()->string_view() == name) {
      index = i;
      return {};
    }
    known += (i ? ", " : "") + description(i).name()->str();
  }
  return makeError(NXRT_NOT_FOUND, "the model has no state \"%s\"; it has: %s.", name,
                   known.empty() ? "none" : known.c_str());
}

void ModelStates::reset() {
  for (State &state : states) {
    nxrt_tensor &tensor = *state.tensors[0].get();
    if (tensor.bytes == 0)
      continue;
    if (state.initial)
      std::memcpy(tensor.data(), state.initial, tensor.bytes);
    else
      std::memset(tensor.data(), 0, tensor.bytes);
  }
}

} // namespace nxrt
