// Times per command and rank, recorded while a profile is on.
#ifndef NXRT_EXECUTOR_PROFILE_H
#define NXRT_EXECUTOR_PROFILE_H

#include "nxrt/nxrt.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace nxrt {

/// Written by the thread that leads the rank, one execution at a time; read at any time.
class CommandTimes {
public:
  void add(uint64_t ns, uint64_t waited, int64_t size) {
    auto relaxed = std::memory_order_relaxed;
    calls.store(calls.load(relaxed) + 1, relaxed);
    total.store(total.load(relaxed) + ns, relaxed);
    wait.store(wait.load(relaxed) + waited, relaxed);
    if (ns < min.load(relaxed))
      min.store(ns, relaxed);
    if (ns > max.load(relaxed))
      max.store(ns, relaxed);
    tiles.store(size, relaxed);
  }
  void clear() {
    for (std::atomic<uint64_t> *counter : {&calls, &total, &wait, &max})
      counter->store(0, std::memory_order_relaxed);
    min.store(UINT64_MAX, std::memory_order_relaxed);
    tiles.store(0, std::memory_order_relaxed);
  }
  void read(nxrt_profile_entry &entry) const {
    auto relaxed = std::memory_order_relaxed;
    entry.calls = calls.load(relaxed);
    entry.total_ns = total.load(relaxed);
    entry.wait_ns = wait.load(relaxed);
    entry.max_ns = max.load(relaxed);
    entry.min_ns = entry.calls ? min.load(relaxed) : 0;
    entry.tiles = tiles.load(relaxed);
  }

private:
  std::atomic<uint64_t> calls{0}, total{0}, wait{0}, max{0}, min{UINT64_MAX};
  std::atomic<int64_t> tiles{0};
};

} // namespace nxrt

#endif // NXRT_EXECUTOR_PROFILE_H
