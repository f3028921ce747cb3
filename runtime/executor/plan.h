// A program with all of its sizes known: what the executor walks.
//
// A plan is made once for each distinct set of symbol values and cached. It holds, for each rank,
// where every buffer lies, what every command does in numbers, and how much memory that takes;
// making it checks every range, so that the walk itself checks nothing.
#ifndef NXRT_EXECUTOR_PLAN_H
#define NXRT_EXECUTOR_PLAN_H

#include "runtime/collectives/collectives.h"
#include "runtime/loader/code_image.h"

#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace nxrt {

/// Where a buffer begins: in the rank's arena, or in an input, an output or a parameter.
struct BufferPlace {
  nx::fb::BufferKind base; // never View
  uint32_t index;          // of the input, output or parameter
  uint64_t offset;         // bytes from there
  uint64_t bytes;
};

struct Step {
  nx::fb::CommandBody kind;
  // Dispatch
  const nxrt_kernel *kernel;
  const uint32_t *operands; // buffers
  uint32_t operandCount;
  uint32_t dims; // position in RankPlan::dims
  int64_t tiles, grain;
  bool usesScratch;
  // Collective
  uint32_t collective; // position in RankPlan::collectives
  // Copy, Fill, Collective
  uint32_t src, dst;      // buffers
  uint64_t bytes;         // that are copied, filled or sent
  const uint8_t *pattern; // Fill
  uint32_t patternBytes;
};

struct RankPlan {
  std::vector<BufferPlace> buffers;
  std::vector<Step> steps; // one per command
  std::vector<int64_t> dims;
  std::vector<CollectiveCall> collectives;
  uint64_t arenaBytes = 0; // of temporaries
  // Space for the outputs behind the temporaries, for ranks whose outputs nobody asked for.
  std::vector<uint64_t> outputOffsets;
  uint64_t arenaWithOutputs = 0;
  uint64_t scratchBytes = 0; // of one thread
};

struct Plan {
  std::vector<int64_t> symbols;
  std::vector<nxrt_shape> outputs;
  std::vector<RankPlan> ranks; // one for each rank, or one for all when none depends on the rank

  const RankPlan &rank(uint32_t index) const { return ranks[ranks.size() == 1 ? 0 : index]; }
};

/// A program with what its plans need. The pointers outlive it.
struct ProgramContext {
  const nx::fb::Executable *executable = nullptr;
  const nx::fb::Program *program = nullptr;
  const CodeImage *code = nullptr;
  bool dependsOnRank = false;
};

/// Makes the plan for these values of the symbols (those of the rank are filled in here).
Status makePlan(const ProgramContext &context, std::span<const int64_t> symbols, Plan &plan);

/// The latest plans of a program. Thread-safe.
class PlanCache {
public:
  /// The plan for these values: from the cache, or made and kept.
  Status get(const ProgramContext &context, std::span<const int64_t> symbols,
             std::shared_ptr<const Plan> &plan);

  static constexpr size_t kCapacity = 32;

private:
  std::mutex mutex;
  std::list<std::shared_ptr<const Plan>> plans; // most recently used first
};

} // namespace nxrt

#endif // NXRT_EXECUTOR_PLAN_H
