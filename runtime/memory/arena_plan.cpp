#include "runtime/memory/arena_plan.h"

#include <algorithm>
#include <numeric>

namespace nxrt {

bool alignArena(uint64_t bytes, uint64_t &aligned) {
  if (bytes > static_cast<uint64_t>(INT64_MAX) - kArenaAlign)
    return false;
  aligned = (bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
  return true;
}

bool planArena(std::span<const LiveRange> ranges, std::vector<uint64_t> &offsets,
               uint64_t &arenaBytes) {
  struct Placed {
    uint64_t begin, end;
    uint32_t first, last;
  };
  std::vector<Placed> placed; // by beginning
  std::vector<uint32_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (ranges[a].bytes != ranges[b].bytes)
      return ranges[a].bytes > ranges[b].bytes;
    return ranges[a].first != ranges[b].first ? ranges[a].first < ranges[b].first : a < b;
  });
  offsets.assign(ranges.size(), 0);
  arenaBytes = 0;
  for (uint32_t index : order) {
    const LiveRange &range = ranges[index];
    uint64_t bytes = 0;
    if (!alignArena(range.bytes, bytes))
      return false;
    if (bytes == 0)
      continue;
    // Walk over those that live at the same time; `top` is the end of what they cover so far.
    uint64_t top = 0, best = 0, bestGap = UINT64_MAX;
    for (const Placed &other : placed) {
      if (other.first > range.last || other.last < range.first)
        continue;
      if (other.begin > top && other.begin - top >= bytes && other.begin - top < bestGap) {
        best = top;
        bestGap = other.begin - top;
      }
      top = std::max(top, other.end);
    }
    if (bestGap == UINT64_MAX)
      best = top;
    if (best > static_cast<uint64_t>(INT64_MAX) - bytes)
      return false;
    offsets[index] = best;
    arenaBytes = std::max(arenaBytes, best + bytes);
    Placed entry = {best, best + bytes, range.first, range.last};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed &a, const Placed &b) { return a.begin < b.begin; }),
        entry);
  }
  return true;
}

} // namespace nxrt
