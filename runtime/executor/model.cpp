#include "runtime/executor/model.h"

#include "runtime/executor/binding.h"
#include "runtime/executor/expressions.h"
#include "runtime/platform/dtype.h"
#include "runtime/platform/log.h"
#include "runtime/platform/wait.h"

#include <algorithm>
#include <set>

namespace nxrt {

template <typename T> static uint32_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

Status Model::create(std::unique_ptr<ExecutableFile> file, Device &device,
                     const ModelOptions &options, std::unique_ptr<Model> &model) {
  std::unique_ptr<Model> made(new Model);
  NXRT_TRY(made->load(std::move(file), device, options));
  model = std::move(made);
  return {};
}

Model::~Model() {
  for (uint32_t running; (running = executing.load(std::memory_order_acquire)) != 0;)
    sleepOn(executing, running, 1000000);
  if (placed)
    device->leave(first, root().tp_degree());
}

Status Model::load(std::unique_ptr<ExecutableFile> file, Device &newDevice,
                   const ModelOptions &options) {
  executableFile = std::move(file);
  device = &newDevice;
  const nx::fb::Executable &executable = root();
  auto named = [&](const Status &status) {
    if (status.ok() || executableFile->path().empty())
      return status;
    return Status(status.code(), executableFile->path() + ": " + status.message());
  };
  if (sizeOf(executable.kernels()) > 0) {
    uint32_t object = 0;
    NXRT_TRY(named(selectCode(executable, object)));
    codeObject = executable.code()->Get(object);
    NXRT_TRY(named(
        image.load(executableFile->segment(codeObject->segment()), sizeOf(executable.kernels()))));
    if (options.perfMap)
      image.writePerfMap(executable);
  }

  const uint32_t tp = executable.tp_degree();
  ranks.resize(tp);
  for (uint32_t rank = 0; rank < tp; ++rank) {
    for (uint32_t i = 0; i < sizeOf(executable.params()); ++i) {
      const nx::fb::ParamPart &part = *executable.params()->Get(i)->parts()->Get(rank);
      const std::byte *bytes = executableFile->segment(part.segment()).data() + part.offset();
      // Programs were verified not to write to parameters; the pages are read-only besides.
      ranks[rank].params.push_back(const_cast<std::byte *>(bytes));
    }
  }
  NXRT_TRY(named(describePrograms()));
  NXRT_TRY(named(modelStates.create(*executableFile)));

  // A program without run-time sizes shows now whether its sizes are right.
  for (auto &state : programs) {
    bool isStatic = true;
    const nx::fb::Program &program = *state->context.program;
    for (uint32_t i = 0; i < sizeOf(program.symbols()); ++i)
      isStatic &= program.symbols()->Get(i)->source() == nx::fb::SymbolSource::Rank;
    if (!isStatic)
      continue;
    std::vector<int64_t> symbols(sizeOf(program.symbols()), 0);
    std::shared_ptr<const Plan> plan;
    NXRT_TRY(named(state->plans.get(state->context, symbols, plan)));
  }

  NXRT_TRY(named(device->place(tp, options.firstCore, first)));
  placed = true;
  group = std::make_unique<RankGroup>(tp);
  return {};
}

Status Model::describePrograms() {
  const nx::fb::Executable &executable = root();
  for (const nx::fb::Program *program : *executable.programs()) {
    auto state = std::make_unique<ProgramState>();
    state->context = {&executable, program, &image, false};
    std::vector<uint8_t> depends = dependences(*program);
    for (uint8_t bits : depends)
      state->context.dependsOnRank |= (bits & DependsOnRank) != 0;
    auto texts =
        [&](const flatbuffers::Vector<flatbuffers::Offset<nx::fb::Signature>> *signatures) {
          std::vector<std::vector<std::string>> result(sizeOf(signatures));
          for (uint32_t i = 0; i < result.size(); ++i) {
            const auto *dims = signatures->Get(i)->dims();
            for (uint32_t d = 0; d < sizeOf(dims); ++d)
              result[i].push_back(depends[dims->Get(d)] ? expressionText(*program, dims->Get(d))
                                                        : "");
          }
          return result;
        };
    state->inputTexts = texts(program->inputs());
    state->outputTexts = texts(program->outputs());
    const uint32_t commands = sizeOf(program->commands());
    for (uint32_t i = 0; i < commands; ++i) {
      const auto *locations = program->commands()->Get(i)->locations();
      std::string text;
      for (uint32_t l = 0; l < sizeOf(locations); ++l)
        text += (l ? "; " : "") + executable.locations()->Get(locations->Get(l))->str();
      state->sources.push_back(std::move(text));
    }
    state->times.reset(new CommandTimes[size_t{commands} * executable.tp_degree()]);
    profileEntries += commands * executable.tp_degree();
    NXRT_TRY(evaluateConstants(*program, state->constants));
    programs.push_back(std::move(state));
  }
  return {};
}

Status Model::findProgram(const char *name, uint32_t &index) const {
  if (!name) {
    index = 0;
    return {};
  }
  std::string known;
  for (uint32_t i = 0; i < programCount(); ++i) {
    if (program(i).name()->string_view() == name) {
      index = i;
      return {};
    }
    known += (i ? ", " : "") + program(i).name()->str();
  }
  return makeError(NXRT_NOT_FOUND, "the model has no entry point \"%s\"; it has: %s.", name,
                   known.c_str());
}

const char *Model::dimText(uint32_t index, bool output, uint32_t tensor, uint32_t dim) const {
  const ProgramState &state = *programs[index];
  const std::string &text = (output ? state.outputTexts : state.inputTexts)[tensor][dim];
  return text.empty() ? nullptr : text.c_str();
}

uint64_t Model::paramBytes() const {
  std::set<std::pair<uint32_t, uint64_t>> seen;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < sizeOf(root().params()); ++i)
    for (const nx::fb::ParamPart *part : *root().params()->Get(i)->parts())
      if (seen.emplace(part->segment(), part->offset()).second)
        bytes += part->bytes();
  return bytes;
}

Status Model::outputShapes(uint32_t index, std::span<const nxrt_shape> inputs,
                           std::vector<nxrt_shape> &outputs) const {
  std::vector<int64_t> symbols, values;
  NXRT_TRY(bindSymbols(program(index), inputs, symbols));
  NXRT_TRY(evaluate(program(index).exprs(), symbols, values));
  NXRT_TRY(signatureShapes(program(index).outputs(), values, outputs));
  outputs.resize(callerOutputs(program(index)));
  return {};
}

//===-- States
//------------------------------------------------------------------------------------===

Status Model::stateTensor(const char *name, const nxrt_tensor &other, uint32_t &index) const {
  NXRT_TRY(modelStates.find(name, index));
  const nx::fb::State &state = modelStates.description(index);
  const auto dtype = static_cast<nxrt_dtype>(state.dtype());
  if (other.dtype != dtype)
    return makeError(NXRT_DTYPE_MISMATCH, "state \"%s\" is of type %s, the tensor of %s.", name,
                     dtypeName(dtype), dtypeName(other.dtype));
  const uint32_t rank = sizeOf(state.dims());
  const std::span<const int64_t> dims(rank ? state.dims()->data() : nullptr, rank);
  if (!std::equal(dims.begin(), dims.end(), other.dims, other.dims + other.rank))
    return makeError(NXRT_SHAPE_MISMATCH, "state \"%s\" has the shape %s, the tensor %s.", name,
                     shapeText(dims).c_str(), shapeText(other.shape()).c_str());
  if (!other.data())
    return makeError(NXRT_INVALID_ARGUMENT,
                     "the tensor for state \"%s\" has no memory yet. Attach some with "
                     "nxrt_tensor_attach.",
                     name);
  return {};
}

Status Model::readState(const char *name, nxrt_tensor &to) {
  uint32_t index = 0;
  NXRT_TRY(stateTensor(name, to, index));
  const uint32_t tp = root().tp_degree();
  NXRT_TRY(device->acquire(first, tp, /*deadlineNs=*/0));
  std::copy_n(modelStates.current(index).data(), to.bytes, to.data());
  device->release(first, tp);
  return {};
}

Status Model::writeState(const char *name, const nxrt_tensor &from) {
  uint32_t index = 0;
  NXRT_TRY(stateTensor(name, from, index));
  const uint32_t tp = root().tp_degree();
  NXRT_TRY(device->acquire(first, tp, /*deadlineNs=*/0));
  std::copy_n(from.data(), from.bytes, modelStates.current(index).data());
  device->release(first, tp);
  return {};
}

Status Model::resetStates() {
  const uint32_t tp = root().tp_degree();
  NXRT_TRY(device->acquire(first, tp, /*deadlineNs=*/0));
  modelStates.reset();
  device->release(first, tp);
  return {};
}

//===-- Profile
//-----------------------------------------------------------------------------------===

void Model::startProfile() {
  profiling.store(false);
  for (auto &state : programs) {
    size_t count = size_t{sizeOf(state->context.program->commands())} * ranks.size();
    for (size_t i = 0; i < count; ++i)
      state->times[i].clear();
  }
  profiling.store(true);
}

static const char *kindName(const nx::fb::Command &command) {
  switch (command.body_type()) {
  case nx::fb::CommandBody::Dispatch:
    return "dispatch";
  case nx::fb::CommandBody::Collective:
    return collectiveName(command.body_as_Collective()->kind());
  case nx::fb::CommandBody::Copy:
    return "copy";
  case nx::fb::CommandBody::Fill:
    return "fill";
  case nx::fb::CommandBody::NONE:
    break;
  }
  return "";
}

void Model::readProfile(uint32_t index, nxrt_profile_entry &entry) const {
  for (const auto &state : programs) {
    const nx::fb::Program &program = *state->context.program;
    const uint32_t commands = sizeOf(program.commands());
    const uint32_t count = commands * static_cast<uint32_t>(ranks.size());
    if (index >= count) {
      index -= count;
      continue;
    }
    entry.rank = index / commands;
    entry.command = index % commands;
    const nx::fb::Command &command = *program.commands()->Get(entry.command);
    entry.entry = program.name()->c_str();
    entry.kind = kindName(command);
    entry.kernel = "";
    if (const nx::fb::Dispatch *dispatch = command.body_as_Dispatch())
      entry.kernel = root().kernels()->Get(dispatch->kernel())->name()->c_str();
    entry.sources = state->sources[entry.command].c_str();
    state->times[index].read(entry);
    return;
  }
}

} // namespace nxrt
