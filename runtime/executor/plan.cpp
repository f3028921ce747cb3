#include "runtime/executor/plan.h"

#include "runtime/executor/binding.h"
#include "runtime/executor/expressions.h"
#include "runtime/memory/arena_plan.h"
#include "runtime/memory/tensor.h"
#include "runtime/platform/dtype.h"

#include <algorithm>

namespace nxrt {

using nx::fb::BufferKind;
using nx::fb::CommandBody;

static constexpr int64_t kMaxTiles = int64_t{1} << 48; // so that sums of tiles cannot overflow
static constexpr int64_t kMaxScratch = int64_t{1} << 40;

namespace {

class RankPlanner {
public:
  RankPlanner(const ProgramContext &context, std::span<const int64_t> values, uint32_t rank,
              RankPlan &plan)
      : executable(*context.executable), program(*context.program), code(*context.code),
        values(values), rank(rank), ownPlan(context.dependsOnRank), plan(plan) {}

  Status make() {
    NXRT_TRY(placeBuffers());
    NXRT_TRY(placeOutputs());
    if (program.commands())
      for (uint32_t i = 0; i < program.commands()->size(); ++i)
        NXRT_TRY(addStep(i, *program.commands()->Get(i)));
    return {};
  }

private:
  Status badBuffer(uint32_t index, const char *what) const {
    return makeError(
        NXRT_INVALID_FILE,
        "program \"%s\", buffer %u, rank %u: %s. The compiler made a wrong program for "
        "these sizes: please report it with the model.",
        program.name()->c_str(), index, rank, what);
  }
  Status badCommand(uint32_t index, const std::string &what) const {
    return makeError(
        NXRT_INVALID_FILE,
        "program \"%s\", command %u, rank %u: %s. The compiler made a wrong program for "
        "these sizes: please report it with the model.",
        program.name()->c_str(), index, rank, what.c_str());
  }

  /// Bytes of a tensor of the signature, for the values at hand.
  Status signatureBytes(const nx::fb::Signature &signature, uint64_t &bytes) const {
    int64_t dims[NXRT_MAX_RANK] = {};
    uint32_t count = signature.dims() ? signature.dims()->size() : 0;
    for (uint32_t d = 0; d < count; ++d)
      dims[d] = values[signature.dims()->Get(d)];
    return tensorBytes(static_cast<nxrt_dtype>(signature.dtype()), count, dims, bytes);
  }

  Status placeBuffers() {
    std::vector<LiveRange> ranges;
    std::vector<uint32_t> temporaries;
    const bool placedByCompiler = program.arena_bytes() >= 0;
    const uint32_t count = program.buffers() ? program.buffers()->size() : 0;
    plan.buffers.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      const nx::fb::Buffer &buffer = *program.buffers()->Get(i);
      const int64_t size = values[buffer.bytes()];
      if (size < 0)
        return badBuffer(i, "its size is negative");
      BufferPlace place = {buffer.kind(), buffer.index(), 0, static_cast<uint64_t>(size)};
      uint64_t available = 0;
      switch (buffer.kind()) {
      case BufferKind::Temp:
        if (placedByCompiler) {
          place.offset = static_cast<uint64_t>(buffer.arena_offset());
        } else {
          ranges.push_back({buffer.first(), buffer.last(), place.bytes});
          temporaries.push_back(i);
        }
        break;
      case BufferKind::Input:
        NXRT_TRY(signatureBytes(*program.inputs()->Get(buffer.index()), available));
        if (place.bytes != available)
          return badBuffer(i, "it has not the size of its input");
        break;
      case BufferKind::Output:
        NXRT_TRY(signatureBytes(*program.outputs()->Get(buffer.index()), available));
        if (place.bytes != available)
          return badBuffer(i, "it has not the size of its output");
        break;
      case BufferKind::Param: {
        const auto &parts = *executable.params()->Get(buffer.index())->parts();
        for (uint32_t r = 0; r < parts.size(); ++r)
          if ((r == rank || !ownPlan) && place.bytes > parts.Get(r)->bytes())
            return badBuffer(i, "it is larger than its parameter");
        break;
      }
      case BufferKind::View: {
        const BufferPlace &parent = plan.buffers[buffer.index()];
        const int64_t offset = values[buffer.offset()];
        if (offset < 0 || static_cast<uint64_t>(offset) > parent.bytes ||
            place.bytes > parent.bytes - static_cast<uint64_t>(offset))
          return badBuffer(i, "it reaches beyond the buffer that it is a view of");
        place.base = parent.base;
        place.index = parent.base == BufferKind::Temp ? roots[buffer.index()] : parent.index;
        place.offset = static_cast<uint64_t>(offset); // for a view of a temporary: see below
        if (parent.base != BufferKind::Temp || placedByCompiler)
          place.offset += parent.offset;
        break;
      }
      }
      roots.push_back(buffer.kind() == BufferKind::View ? roots[buffer.index()] : i);
      plan.buffers.push_back(place);
    }
    plan.arenaBytes = placedByCompiler ? static_cast<uint64_t>(program.arena_bytes()) : 0;
    if (placedByCompiler)
      return {};

    std::vector<uint64_t> offsets;
    if (!planArena(ranges, offsets, plan.arenaBytes))
      return makeError(
          NXRT_OUT_OF_MEMORY,
          "program \"%s\" needs more memory for these sizes than an address can reach. "
          "Give smaller inputs.",
          program.name()->c_str());
    for (size_t i = 0; i < temporaries.size(); ++i)
      plan.buffers[temporaries[i]].offset = offsets[i];
    for (uint32_t i = 0; i < count; ++i)
      if (const nx::fb::Buffer &buffer = *program.buffers()->Get(i);
          buffer.kind() == BufferKind::View && plan.buffers[i].base == BufferKind::Temp)
        plan.buffers[i].offset += plan.buffers[buffer.index()].offset;
    return {};
  }

  Status placeOutputs() {
    uint64_t end = 0;
    bool fits = alignArena(plan.arenaBytes, end);
    for (uint32_t i = 0; program.outputs() && i < program.outputs()->size(); ++i) {
      uint64_t bytes = 0;
      NXRT_TRY(signatureBytes(*program.outputs()->Get(i), bytes));
      plan.outputOffsets.push_back(end);
      fits = fits && addChecked(end, bytes, end) && alignArena(end, end);
    }
    if (!fits)
      return makeError(NXRT_OUT_OF_MEMORY,
                       "the outputs are larger than memory can be. Give smaller "
                       "inputs.");
    plan.arenaWithOutputs = end;
    return {};
  }

  /// Whether two buffers' first bytes intersect in memory.
  bool overlap(uint32_t a, uint64_t aBytes, uint32_t b, uint64_t bBytes) const {
    if (roots[a] != roots[b] || aBytes == 0 || bBytes == 0)
      return false;
    const uint64_t aBegin = plan.buffers[a].offset, bBegin = plan.buffers[b].offset;
    return aBegin < bBegin + bBytes && bBegin < aBegin + aBytes;
  }

  Status addStep(uint32_t index, const nx::fb::Command &command) {
    Step step = {};
    step.kind = command.body_type();
    switch (step.kind) {
    case CommandBody::Dispatch:
      NXRT_TRY(addDispatch(index, *command.body_as_Dispatch(), step));
      break;
    case CommandBody::Collective:
      NXRT_TRY(addCollective(index, *command.body_as_Collective(), step));
      break;
    case CommandBody::Copy: {
      const nx::fb::Copy &copy = *command.body_as_Copy();
      const int64_t bytes = values[copy.bytes()];
      step.src = copy.src();
      step.dst = copy.dst();
      step.bytes = static_cast<uint64_t>(bytes);
      if (bytes < 0 || step.bytes > plan.buffers[step.src].bytes ||
          step.bytes > plan.buffers[step.dst].bytes)
        return badCommand(index, "it copies more than its buffers hold");
      if (overlap(step.src, step.bytes, step.dst, step.bytes))
        return badCommand(index, "it copies between buffers that overlap");
      break;
    }
    case CommandBody::Fill: {
      const nx::fb::Fill &fill = *command.body_as_Fill();
      step.dst = fill.dst();
      step.bytes = plan.buffers[step.dst].bytes;
      step.pattern = fill.pattern()->data();
      step.patternBytes = fill.pattern()->size();
      if (step.bytes % step.patternBytes != 0)
        return badCommand(index, "its pattern does not fit the buffer a whole number of times");
      break;
    }
    case CommandBody::NONE:
      return badCommand(index, "it is empty");
    }
    plan.steps.push_back(step);
    return {};
  }

  Status addDispatch(uint32_t index, const nx::fb::Dispatch &dispatch, Step &step) {
    const nx::fb::Kernel &description = *executable.kernels()->Get(dispatch.kernel());
    step.kernel = &code.kernel(dispatch.kernel());
    step.operands = dispatch.operands()->data();
    step.operandCount = dispatch.operands()->size();
    step.dims = static_cast<uint32_t>(plan.dims.size());
    for (uint32_t i = 0; i < description.dim_slots(); ++i)
      plan.dims.push_back(values[dispatch.dims()->Get(i)]);
    // A valid pointer for kernels without sizes, too.
    static const int64_t none = 0;
    const int64_t *dims = description.dim_slots() ? plan.dims.data() + step.dims : &none;
    step.tiles = step.kernel->tiles(dims);
    step.grain = step.kernel->grain(dims);
    const int64_t scratch = step.kernel->scratch_bytes(dims);
    if (step.tiles < 0 || step.tiles > kMaxTiles || step.grain < 1 || scratch < 0 ||
        scratch > kMaxScratch)
      return badCommand(
          index, format("kernel \"%s\" gives %lld tiles, grain %lld and %lld bytes of "
                        "scratch",
                        description.name()->c_str(), static_cast<long long>(step.tiles),
                        static_cast<long long>(step.grain), static_cast<long long>(scratch)));
    step.usesScratch = scratch > 0;
    plan.scratchBytes = std::max(plan.scratchBytes, static_cast<uint64_t>(scratch));
    return {};
  }

  Status addCollective(uint32_t index, const nx::fb::Collective &collective, Step &step) {
    CollectiveCall call = {};
    call.kind = collective.kind();
    call.reduce = collective.reduce();
    call.dtype = static_cast<int>(collective.dtype());
    call.root = collective.root();
    call.sources = collective.sources() ? collective.sources()->data() : nullptr;
    call.outer = values[collective.outer()];
    call.count = values[collective.count()];
    call.inner = values[collective.inner()];
    if (call.kind == nx::fb::CollectiveKind::AllToAll) {
      call.dstOuter = values[collective.dst_outer()];
      call.dstCount = values[collective.dst_count()];
      call.dstInner = values[collective.dst_inner()];
    }
    step.src = collective.src();
    step.dst = collective.dst();
    step.collective = static_cast<uint32_t>(plan.collectives.size());
    uint64_t dstBytes = 0;
    if (Status status = collectiveBytes(call, executable.tp_degree(), step.bytes, dstBytes);
        !status.ok())
      return badCommand(index, status.message());
    const BufferPlace &src = plan.buffers[step.src], &dst = plan.buffers[step.dst];
    if (step.bytes > src.bytes || dstBytes > dst.bytes)
      return badCommand(index, "its buffers are too small");
    const bool inPlace = call.kind == nx::fb::CollectiveKind::AllReduce &&
                         roots[step.src] == roots[step.dst] && src.offset == dst.offset;
    if (!inPlace && overlap(step.src, step.bytes, step.dst, dstBytes))
      return badCommand(index, "its buffers overlap");
    plan.collectives.push_back(call);
    return {};
  }

  const nx::fb::Executable &executable;
  const nx::fb::Program &program;
  const CodeImage &code;
  std::span<const int64_t> values; // of all expressions
  const uint32_t rank;
  const bool ownPlan; // false: the plan serves all ranks
  RankPlan &plan;
  std::vector<uint32_t> roots; // of each buffer: the buffer that is no view in which it lies
};

} // namespace

Status makePlan(const ProgramContext &context, std::span<const int64_t> symbols, Plan &plan) {
  const nx::fb::Program &program = *context.program;
  plan.symbols.assign(symbols.begin(), symbols.end());
  std::vector<int64_t> own = plan.symbols, values;
  const uint32_t count = context.dependsOnRank ? context.executable->tp_degree() : 1;
  plan.ranks.resize(count);
  for (uint32_t rank = 0; rank < count; ++rank) {
    for (uint32_t i = 0; i < own.size(); ++i)
      if (program.symbols()->Get(i)->source() == nx::fb::SymbolSource::Rank)
        own[i] = rank;
    NXRT_TRY(evaluate(program.exprs(), own, values));
    if (rank == 0)
      NXRT_TRY(signatureShapes(program.outputs(), values, plan.outputs));
    NXRT_TRY(RankPlanner(context, values, rank, plan.ranks[rank]).make());
  }
  return {};
}

Status PlanCache::get(const ProgramContext &context, std::span<const int64_t> symbols,
                      std::shared_ptr<const Plan> &plan) {
  std::lock_guard<std::mutex> guard(mutex);
  for (auto it = plans.begin(); it != plans.end(); ++it) {
    if (!std::equal(symbols.begin(), symbols.end(), (*it)->symbols.begin(), (*it)->symbols.end()))
      continue;
    plans.splice(plans.begin(), plans, it);
    plan = plans.front();
    return {};
  }
  auto made = std::make_shared<Plan>();
  NXRT_TRY(makePlan(context, symbols, *made));
  plans.push_front(made);
  if (plans.size() > kCapacity)
    plans.pop_back();
  plan = made;
  return {};
}

} // namespace nxrt
