// Collectives between the ranks of one process, over shared memory. Each rank calls run() with its
// own buffers; sizes and kinds are equal on all ranks. Reductions go in the order of the ranks, so
// the result is the same on every rank and in every run; f16 and bf16 are summed in f32. Each rank
// reduces its share of the elements for all.
#ifndef NXRT_COLLECTIVES_COLLECTIVES_H
#define NXRT_COLLECTIVES_COLLECTIVES_H

#include "runtime/collectives/rank_group.h"
#include "runtime/device/device.h"
#include "runtime/schema/program_generated.h"

namespace nxrt {

/// A collective with its sizes, as in the schema's table: src is [outer, count, inner].
struct CollectiveCall {
  nx::fb::CollectiveKind kind;
  nx::fb::ReduceKind reduce;
  int dtype;
  uint32_t root;           // Broadcast
  const uint32_t *sources; // Permute: one per rank
  int64_t outer, count, inner;
  int64_t dstOuter, dstCount, dstInner; // AllToAll: extents of one part as it lies in dst
};

/// "all_reduce", ...
const char *collectiveName(nx::fb::CollectiveKind kind);

/// Bytes of src and dst for `ranks` ranks. Refuses sizes that are negative, too large, not
/// divisible by the ranks where a split needs it, or that would cut a byte between 4-bit elements.
Status collectiveBytes(const CollectiveCall &call, uint32_t ranks, uint64_t &srcBytes,
                       uint64_t &dstBytes);

/// Runs this rank's part; `call` has been through collectiveBytes. `dst` is `src` or apart from it.
/// False when the execution failed. Adds the time that was spent waiting to *waitNs unless it is
/// null.
bool runCollective(const CollectiveCall &call, RankGroup &group, Core &core, uint32_t rank,
                   std::byte *src, std::byte *dst, uint64_t *waitNs);

} // namespace nxrt

#endif // NXRT_COLLECTIVES_COLLECTIVES_H
