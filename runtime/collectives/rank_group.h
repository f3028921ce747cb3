// How the ranks of one execution meet: barriers with bounded waits, and a common end when one
// fails.
#ifndef NXRT_COLLECTIVES_RANK_GROUP_H
#define NXRT_COLLECTIVES_RANK_GROUP_H

#include "runtime/platform/status.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace nxrt {

class RankGroup {
public:
  explicit RankGroup(uint32_t size);

  uint32_t size() const { return ranks; }

  /// Before an execution, with no rank running. `deadlineNs` of the monotonic clock, 0: none.
  void begin(uint64_t deadlineNs, uint64_t spinNs);

  /// Waits until every rank of the group has called it as often. False when the execution failed
  /// meanwhile, here or on another rank; the deadline is such a failure and names the ranks that
  /// are missing and `operation`.
  bool barrier(uint32_t rank, const char *operation);

  /// Ends the execution on all ranks; the first error counts.
  void fail(Status status);
  bool failed() const { return hasFailed.load(std::memory_order_relaxed); }
  /// The error, or ok. Only when no rank is running.
  Status takeStatus();

  /// Fails the execution when the deadline has passed. False when the execution failed.
  bool checkDeadline(uint32_t rank, uint32_t command);

  /// What a rank shows the others at a barrier: a pointer that they may read after it.
  void publish(uint32_t rank, void *pointer) { slots[rank].pointer = pointer; }
  void *published(uint32_t rank) const { return slots[rank].pointer; }
  void publishSecond(uint32_t rank, void *pointer) { slots[rank].second = pointer; }
  void *publishedSecond(uint32_t rank) const { return slots[rank].second; }

private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> arrivals{0}; // at barriers of this execution
    void *pointer = nullptr;
    void *second = nullptr;
  };
  void failLate(uint32_t rank, const char *operation);

  const uint32_t ranks;
  std::unique_ptr<Slot[]> slots;
  uint64_t deadline = 0;
  uint64_t spin = 0;
  alignas(64) std::atomic<uint32_t> waiting{0}; // ranks that have arrived at this barrier
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> hasFailed{false};
  std::mutex mutex; // guards status
  Status status;
};

} // namespace nxrt

#endif // NXRT_COLLECTIVES_RANK_GROUP_H
