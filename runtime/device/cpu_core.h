// One core of the CPU device: a leading thread, helpers, and their memory.
//
// The thread that leads a core runs a rank's commands; a dispatch with enough tiles is shared with
// the helpers. Rank 0 is led by the thread that called nxrt_execute, other ranks by a thread of the
// core. A helper joins a loop only while it is open, so a loop never waits for a helper that sleeps
// or is not scheduled: on a busy machine the leader just does more of the work.
#ifndef NXRT_DEVICE_CPU_CORE_H
#define NXRT_DEVICE_CPU_CORE_H

#include "runtime/device/device.h"
#include "runtime/device/fair_lock.h"
#include "runtime/platform/pages.h"

#include <atomic>
#include <pthread.h>
#include <vector>

namespace nxrt {

class CpuCore final : public Core {
public:
  /// `cpus` may be fewer than `threads` when cores outnumber CPUs. `spinNs` lives longer.
  CpuCore(uint32_t number, std::vector<int32_t> cpus, int32_t numaNode, uint32_t threads,
          bool pinned, uint64_t memoryLimit, const std::atomic<uint64_t> &spinNs);
  ~CpuCore() override;

  uint32_t threadCount() const override { return threads; }
  Status reserve(uint64_t arenaBytes, uint64_t scratchBytes) override;
  std::byte *arena() const override { return arenaPages.data(); }
  std::byte *scratch(uint32_t thread) const override {
    return scratchPages.data() + thread * scratchStride;
  }
  int32_t parallelFor(int64_t count, int64_t grain, RangeBody body, void *context) override;

  /// Starts the helpers, and the thread that leads ranks other than 0, if they are not running.
  Status start();
  /// Hands a rank to the core's own leading thread / waits until it is done.
  void startRank(RankBody body, void *context, uint32_t rank);
  void finishRank();
  void freeMemory();

  /// The CPU that the leader is pinned to; -1 when threads are not pinned.
  int32_t leaderCpu() const { return pinned ? cpus.front() : -1; }
  const std::vector<int32_t> &cpuNumbers() const { return cpus; }
  int32_t numaNode() const { return node; }
  uint64_t memoryLimit() const { return limit; }
  uint64_t memoryUsed() const { return used.load(std::memory_order_relaxed); }

  FairLock turn;           // held by the execution that has the core
  uint32_t modelCount = 0; // guarded by the device

private:
  struct ThreadStart {
    CpuCore *core;
    uint32_t thread; // 0: the leader
  };
  static void *runThread(void *start);
  void helperLoop(uint32_t thread);
  void leaderLoop();
  void work(uint32_t thread);
  void pin(uint32_t thread);
  void stop();

  const uint32_t number;
  const std::vector<int32_t> cpus;
  const int32_t node;
  const uint32_t threads;
  const bool pinned;
  const uint64_t limit;
  const std::atomic<uint64_t> &spinNs;
  std::vector<ThreadStart> starts;
  std::vector<pthread_t> running; // the leader of ranks other than 0, and threads 1 .. threads-1

  Pages arenaPages, scratchPages;
  uint64_t scratchStride = 0;
  std::atomic<uint64_t> used{0};

  // The loop that is being run. Written by the leader while the gate is closed and nobody is
  // inside.
  RangeBody body = nullptr;
  void *context = nullptr;
  int64_t count = 0, chunk = 0;

  // Epoch of the loop (high half), whether it is open, and how many helpers are inside (low bits).
  alignas(64) std::atomic<uint64_t> gate{0};
  alignas(64) std::atomic<int64_t> next{0}; // the first tile that nobody has taken
  std::atomic<int32_t> result{0};
  alignas(64) std::atomic<uint32_t> sleepers{0}; // helpers that sleep on `alarm`
  std::atomic<uint32_t> alarm{0};
  alignas(64) std::atomic<uint32_t> leaderSleeps{0};
  std::atomic<uint32_t> left{0}; // counts departures of the last helper, for a leader that sleeps

  // Mailbox of the leading thread: odd tickets are work to do, even ones work done.
  RankBody rankBody = nullptr;
  void *rankContext = nullptr;
  uint32_t rank = 0;
  alignas(64) std::atomic<uint32_t> ticket{0};
  std::atomic<uint32_t> ticketSleepers{0};
  std::atomic<bool> stopping{false};
};

} // namespace nxrt

#endif // NXRT_DEVICE_CPU_CORE_H
