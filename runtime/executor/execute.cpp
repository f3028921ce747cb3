// One execution: bind tensors, get the plan, take the cores, walk the commands on every rank.
#include "runtime/executor/binding.h"
#include "runtime/executor/model.h"
#include "runtime/memory/arena_plan.h"
#include "runtime/platform/dtype.h"
#include "runtime/platform/log.h"
#include "runtime/platform/wait.h"

#include <algorithm>
#include <cstring>

namespace nxrt {

using nx::fb::BufferKind;
using nx::fb::CommandBody;

// A walk looks at the clock once in so many commands.
static constexpr uint32_t kClockEvery = 16;
// Copies and fills from this size on are shared by a core's threads.
static constexpr int64_t kShareBytes = 64 << 10;

template <typename T> static uint32_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

static bool isAligned(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % kArenaAlign == 0;
}

static bool intersect(const std::byte *a, uint64_t aBytes, const std::byte *b, uint64_t bBytes) {
  return aBytes && bBytes && a < b + bBytes && b < a + aBytes;
}

//===-- Binding
//-----------------------------------------------------------------------------------===

static std::string
signatureNames(const flatbuffers::Vector<flatbuffers::Offset<nx::fb::Signature>> *signatures,
               uint32_t count) {
  std::string names;
  for (uint32_t i = 0; i < count; ++i)
    names += (i ? ", " : "") + signatures->Get(i)->name()->str();
  return names.empty() ? "none" : names;
}

/// Every tensor of a set must belong to the signature.
static Status checkNames(const char *kind, const nx::fb::Program &program,
                         const flatbuffers::Vector<flatbuffers::Offset<nx::fb::Signature>> *known,
                         uint32_t count, const nxrt_tensor_set &set) {
  for (const auto &[name, entry] : set.entries) {
    bool found = false;
    for (uint32_t i = 0; i < count && !found; ++i)
      found = known->Get(i)->name()->string_view() == name;
    if (!found)
      return makeError(NXRT_NOT_FOUND, "entry point \"%s\" has no %s \"%s\"; it has: %s.",
                       program.name()->c_str(), kind, name.c_str(),
                       signatureNames(known, count).c_str());
  }
  return {};
}

static Status checkTensor(const char *kind, const nx::fb::Signature &signature,
                          const nxrt_tensor &tensor) {
  if (tensor.dtype != static_cast<nxrt_dtype>(signature.dtype()))
    return makeError(NXRT_DTYPE_MISMATCH, "%s \"%s\" is a tensor of %s, the program wants %s.",
                     kind, signature.name()->c_str(), dtypeName(tensor.dtype),
                     dtypeName(static_cast<int>(signature.dtype())));
  if (!tensor.data())
    return makeError(NXRT_INVALID_ARGUMENT,
                     "%s \"%s\" has no memory yet. Attach some with nxrt_tensor_attach.", kind,
                     signature.name()->c_str());
  return {};
}

Status Model::bindInputs(const nx::fb::Program &program, const nxrt_tensor_set &set,
                         std::vector<nxrt_tensor *> &tensors,
                         std::vector<nxrt_shape> &shapes) const {
  const uint32_t count = callerInputs(program);
  for (uint32_t i = 0; i < count; ++i) {
    const nx::fb::Signature &signature = *program.inputs()->Get(i);
    auto found = set.entries.find(signature.name()->str());
    if (found == set.entries.end())
      return makeError(NXRT_NOT_FOUND,
                       "input \"%s\" of entry point \"%s\" is missing; it takes: %s.",
                       signature.name()->c_str(), program.name()->c_str(),
                       signatureNames(program.inputs(), count).c_str());
    nxrt_tensor *tensor = found->second.tensor.get();
    NXRT_TRY(checkTensor("input", signature, *tensor));
    nxrt_shape shape = {};
    shape.rank = tensor->rank;
    std::copy_n(tensor->dims, tensor->rank, shape.dims);
    tensors.push_back(tensor);
    shapes.push_back(shape);
  }
  if (set.entries.size() != count)
    return checkNames("input", program, program.inputs(), count, set);
  return {};
}

Status Model::bindOutputs(const nx::fb::Program &program, const nxrt_tensor_set &set,
                          const Plan &plan, std::vector<TensorRef> &tensors,
                          std::vector<bool> &made) const {
  const uint32_t count = callerOutputs(program);
  NXRT_TRY(checkNames("output", program, program.outputs(), count, set));
  for (uint32_t i = 0; i < count; ++i) {
    const nx::fb::Signature &signature = *program.outputs()->Get(i);
    const nxrt_shape &shape = plan.outputs[i];
    auto found = set.entries.find(signature.name()->str());
    TensorRef tensor;
    bool isNew = true;
    if (found != set.entries.end()) {
      nxrt_tensor &given = *found->second.tensor.get();
      const bool fits =
          std::equal(given.dims, given.dims + given.rank, shape.dims, shape.dims + shape.rank);
      if (!found->second.runtimeMade) {
        NXRT_TRY(checkTensor("output", signature, given));
        if (!fits)
          return makeError(
              NXRT_SHAPE_MISMATCH,
              "output \"%s\" is given as a tensor of shape %s; with these inputs it has "
              "shape %s.",
              signature.name()->c_str(), shapeText(given.shape()).c_str(),
              shapeText({shape.dims, shape.rank}).c_str());
      }
      if (fits && given.dtype == static_cast<nxrt_dtype>(signature.dtype())) {
        tensor = TensorRef::share(&given);
        isNew = false;
      }
    }
    if (isNew)
      NXRT_TRY(makeTensor(static_cast<nxrt_dtype>(signature.dtype()), shape.rank, shape.dims,
                          /*withStorage=*/true, tensor));
    tensors.push_back(std::move(tensor));
    made.push_back(isNew);
  }
  return {};
}

/// An output must not share memory with an input or another output.
static Status checkApart(const nx::fb::Program &program, std::span<nxrt_tensor *const> inputs,
                         std::span<const TensorRef> outputs) {
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    const nxrt_tensor &output = *outputs[o].get();
    auto clash = [&](const char *kind, const flatbuffers::String *other) {
      return makeError(NXRT_INVALID_ARGUMENT,
                       "output \"%s\" shares memory with %s \"%s\". Give it memory of its own.",
                       program.outputs()->Get(o)->name()->c_str(), kind, other->c_str());
    };
    for (uint32_t i = 0; i < inputs.size(); ++i)
      if (intersect(output.data(), output.bytes, inputs[i]->data(), inputs[i]->bytes))
        return clash("input", program.inputs()->Get(i)->name());
    for (uint32_t i = 0; i < o; ++i)
      if (intersect(output.data(), output.bytes, outputs[i]->data(), outputs[i]->bytes))
        return clash("output", program.outputs()->Get(i)->name());
  }
  return {};
}

namespace {
/// Counts an execution, so that an unload waits for it.
class Counted {
public:
  explicit Counted(std::atomic<uint32_t> &counter) : counter(counter) { counter.fetch_add(1); }
  ~Counted() { counter.fetch_sub(1, std::memory_order_release); }

private:
  std::atomic<uint32_t> &counter;
};
} // namespace

Status Model::execute(uint32_t index, const nxrt_tensor_set &inputSet, nxrt_tensor_set &outputSet,
                      uint64_t timeoutMs) {
  Counted counted(executing);
  constexpr uint64_t maxMs = uint64_t{1} << 40; // 34 years
  const uint64_t deadline = timeoutMs ? nowNs() + std::min(timeoutMs, maxMs) * 1000000 : 0;
  ProgramState &state = *programs[index];
  const nx::fb::Program &program = *state.context.program;

  std::vector<nxrt_tensor *> inputs;
  std::vector<nxrt_shape> shapes;
  NXRT_TRY(bindInputs(program, inputSet, inputs, shapes));
  std::vector<int64_t> symbols;
  NXRT_TRY(bindSymbols(program, shapes, symbols));
  std::shared_ptr<const Plan> plan;
  NXRT_TRY(state.plans.get(state.context, symbols, plan));
  std::vector<TensorRef> outputs;
  std::vector<bool> made;
  NXRT_TRY(bindOutputs(program, outputSet, *plan, outputs, made));
  NXRT_TRY(checkApart(program, inputs, outputs));

  const uint32_t tp = static_cast<uint32_t>(ranks.size());
  NXRT_TRY(device->acquire(first, tp, deadline));
  for (uint32_t i = 0; i < sizeOf(program.states()); ++i) {
    const nx::fb::StateUse &use = *program.states()->Get(i);
    inputs.push_back(&modelStates.current(use.state()));
    if (use.output() >= 0)
      outputs.push_back(TensorRef::share(&modelStates.next(use.state())));
  }
  Status status = runPlanned(state, *plan, inputs, outputs, deadline);
  for (uint32_t i = 0; status.ok() && i < sizeOf(program.states()); ++i)
    if (const nx::fb::StateUse &use = *program.states()->Get(i); use.output() >= 0)
      modelStates.advance(use.state());
  device->release(first, tp);
  NXRT_TRY(status);

  for (uint32_t i = 0; i < made.size(); ++i) {
    if (!made[i])
      continue;
    nxrt_tensor_set::Entry &entry = outputSet.entries[program.outputs()->Get(i)->name()->str()];
    entry.tensor = std::move(outputs[i]);
    entry.runtimeMade = true;
  }
  return {};
}

//===-- Running
//-----------------------------------------------------------------------------------===

/// What the ranks of one execution share.
struct Model::Execution {
  Model *model;
  ProgramState *state;
  const Plan *plan;
  std::vector<std::byte *> inputs; // aligned
  std::vector<std::byte *>
      outputs; // of rank 0; null: in its arena, since the tensor is not aligned
  bool profiled;
};

Status Model::runPlanned(ProgramState &state, const Plan &plan,
                         std::span<nxrt_tensor *const> inputs, std::span<const TensorRef> outputs,
                         uint64_t deadline) {
  Execution execution = {this, &state, &plan, {}, {}, profiling.load(std::memory_order_relaxed)};
  uint64_t stagingBytes = 0;
  for (const nxrt_tensor *input : inputs)
    if (!isAligned(input->data()))
      stagingBytes += (input->bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
  if (stagingBytes > staging.size())
    NXRT_TRY(staging.allocate(stagingBytes));
  uint64_t staged = 0;
  for (const nxrt_tensor *input : inputs) {
    std::byte *data = input->data();
    if (!isAligned(data)) {
      std::byte *copy = staging.data() + staged;
      std::memcpy(copy, data, input->bytes);
      staged += (input->bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
      data = copy;
    }
    execution.inputs.push_back(data);
  }
  bool outputsInArena = false;
  for (const TensorRef &output : outputs) {
    const bool aligned = isAligned(output->data());
    execution.outputs.push_back(aligned ? output->data() : nullptr);
    outputsInArena |= !aligned;
  }

  const uint32_t tp = static_cast<uint32_t>(ranks.size());
  for (uint32_t rank = 0; rank < tp; ++rank) {
    const RankPlan &own = plan.rank(rank);
    const bool withOutputs = rank > 0 || outputsInArena;
    NXRT_TRY(device->core(first + rank)
                 .reserve(withOutputs ? own.arenaWithOutputs : own.arenaBytes, own.scratchBytes));
  }
  group->begin(deadline, device->spinNs());
  device->run(
      first, tp,
      [](void *context, uint32_t rank) {
        const Execution &execution = *static_cast<Execution *>(context);
        execution.model->runRank(execution, rank);
      },
      &execution);
  NXRT_TRY(group->takeStatus());
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (!execution.outputs[i] && outputs[i]->bytes)
      std::memcpy(outputs[i]->data(), device->core(first).arena() + plan.rank(0).outputOffsets[i],
                  outputs[i]->bytes);
  return {};
}

void Model::setAddresses(const Execution &execution, uint32_t rank) {
  const RankPlan &plan = execution.plan->rank(rank);
  RankState &own = ranks[rank];
  std::byte *arena = device->core(first + rank).arena();
  own.addresses.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferPlace &place = plan.buffers[i];
    std::byte *base = arena;
    if (place.base == BufferKind::Input) {
      base = execution.inputs[place.index];
    } else if (place.base == BufferKind::Param) {
      base = own.params[place.index];
    } else if (place.base == BufferKind::Output) {
      base = rank == 0 ? execution.outputs[place.index] : nullptr;
      if (!base)
        base = arena + plan.outputOffsets[place.index];
    }
    own.addresses[i] = base + place.offset;
  }
}

void Model::runRank(const Execution &execution, uint32_t rank) {
  setAddresses(execution, rank);
  if (execution.profiled)
    walk<true>(execution, rank);
  else
    walk<false>(execution, rank);
}

static const char *kernelFailure(int32_t code) {
  switch (code) {
  case NXRT_KERNEL_INDEX_OUT_OF_RANGE:
    return "an index is outside of its dimension";
  case NXRT_KERNEL_DIVIDE_BY_ZERO:
    return "an integer is divided by zero";
  default:
    return "it failed";
  }
}

bool Model::runDispatch(const Execution &execution, const Step &step, const RankPlan &plan,
                        uint32_t rank, uint32_t command) {
  struct Call {
    const Step *step;
    nxrt_kernel_call call;
    Core *core;
  };
  const RankState &own = ranks[rank];
  // Most kernels have a handful of operands; the verifier bounds the rest.
  constexpr uint32_t inlineOperands = 16;
  void *few[inlineOperands];
  std::unique_ptr<void *[]> many;
  void **operands = few;
  if (step.operandCount > inlineOperands) {
    many.reset(new void *[step.operandCount]);
    operands = many.get();
  }
  for (uint32_t i = 0; i < step.operandCount; ++i)
    operands[i] = own.addresses[step.operands[i]];

  Call call = {
      &step, {operands, plan.dims.data() + step.dims, nullptr}, &device->core(first + rank)};
  const int32_t code = call.core->parallelFor(
      step.tiles, step.grain,
      [](void *context, uint32_t thread, int64_t begin, int64_t end) {
        const Call &shared = *static_cast<Call *>(context);
        nxrt_kernel_call own = shared.call;
        if (shared.step->usesScratch)
          own.scratch = shared.core->scratch(thread);
        return shared.step->kernel->run(&own, begin, end);
      },
      &call);
  if (code == NXRT_KERNEL_OK)
    return true;
  const nx::fb::Command &source = *execution.state->context.program->commands()->Get(command);
  const nx::fb::Kernel &kernel = *root().kernels()->Get(source.body_as_Dispatch()->kernel());
  const std::string &nodes = execution.state->sources[command];
  group->fail(makeError(NXRT_EXECUTION_FAILED,
                        "%s in %s%s (kernel %s, code %d, rank %u). Check the values of the inputs.",
                        kernelFailure(code), nodes.empty() ? "the program" : "node ", nodes.c_str(),
                        kernel.name()->c_str(), code, rank));
  return false;
}

static void fill(Core &core, std::byte *to, const Step &step) {
  struct Call {
    std::byte *to;
    const Step *step;
  };
  Call call = {to, &step};
  core.parallelFor(
      static_cast<int64_t>(step.bytes / step.patternBytes), kShareBytes / step.patternBytes,
      [](void *context, uint32_t, int64_t begin, int64_t end) {
        const Call &call = *static_cast<Call *>(context);
        const uint32_t size = call.step->patternBytes;
        if (size == 1) {
          std::memset(call.to + begin, call.step->pattern[0], static_cast<size_t>(end - begin));
          return 0;
        }
        for (int64_t i = begin; i < end; ++i)
          std::memcpy(call.to + i * size, call.step->pattern, size);
        return 0;
      },
      &call);
}

static void copy(Core &core, std::byte *to, const std::byte *from, uint64_t bytes) {
  struct Call {
    std::byte *to;
    const std::byte *from;
  };
  Call call = {to, from};
  core.parallelFor(
      static_cast<int64_t>(bytes), kShareBytes,
      [](void *context, uint32_t, int64_t begin, int64_t end) {
        const Call &call = *static_cast<Call *>(context);
        std::memcpy(call.to + begin, call.from + begin, static_cast<size_t>(end - begin));
        return 0;
      },
      &call);
}

template <bool profiled> void Model::walk(const Execution &execution, uint32_t rank) {
  const RankPlan &plan = execution.plan->rank(rank);
  const std::vector<std::byte *> &addresses = ranks[rank].addresses;
  Core &core = device->core(first + rank);
  const uint32_t count = static_cast<uint32_t>(plan.steps.size());
  for (uint32_t i = 0; i < count; ++i) {
    const Step &step = plan.steps[i];
    if (i % kClockEvery == 0 && i > 0) {
      if (!group->checkDeadline(rank, i))
        return;
    } else if (group->failed()) {
      return;
    }
    const uint64_t begin = profiled ? nowNs() : 0;
    uint64_t waited = 0;
    bool done = true;
    switch (step.kind) {
    case CommandBody::Dispatch:
      done = runDispatch(execution, step, plan, rank, i);
      break;
    case CommandBody::Collective:
      done = runCollective(plan.collectives[step.collective], *group, core, rank,
                           addresses[step.src], addresses[step.dst], profiled ? &waited : nullptr);
      break;
    case CommandBody::Copy:
      copy(core, addresses[step.dst], addresses[step.src], step.bytes);
      break;
    case CommandBody::Fill:
      fill(core, addresses[step.dst], step);
      break;
    case CommandBody::NONE:
      break;
    }
    if constexpr (profiled) {
      const int64_t size =
          step.kind == CommandBody::Dispatch ? step.tiles : static_cast<int64_t>(step.bytes);
      execution.state->times[size_t{rank} * count + i].add(nowNs() - begin, waited, size);
    }
    if (!done)
      return;
  }
}

} // namespace nxrt
