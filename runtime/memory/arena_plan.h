// Places for buffers in one arena, from sizes and lifetimes.
#ifndef NXRT_MEMORY_ARENA_PLAN_H
#define NXRT_MEMORY_ARENA_PLAN_H

#include <cstdint>
#include <span>
#include <vector>

namespace nxrt {

inline constexpr uint64_t kArenaAlign = 64;

/// A buffer that is needed from command `first` to command `last`, both included.
struct LiveRange {
  uint32_t first;
  uint32_t last;
  uint64_t bytes;
};

/// Gives each buffer an offset, aligned to 64, such that buffers that live at once don't overlap.
/// The largest buffers are placed first, each into the smallest gap that holds it (greedy by size,
/// best fit): within a few per cent of the lower bound for networks, in O(n^2) for n buffers. False
/// when the arena's size does not fit 63 bits.
bool planArena(std::span<const LiveRange> ranges, std::vector<uint64_t> &offsets,
               uint64_t &arenaBytes);

/// `bytes` rounded up to the arena's alignment; false when that overflows 63 bits.
bool alignArena(uint64_t bytes, uint64_t &aligned);

} // namespace nxrt

#endif // NXRT_MEMORY_ARENA_PLAN_H
