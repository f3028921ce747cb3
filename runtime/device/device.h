// What the executor needs of a device. The CPU is the one that exists; another one implements these
// two interfaces.
#ifndef NXRT_DEVICE_DEVICE_H
#define NXRT_DEVICE_DEVICE_H

#include "nxrt/nxrt.h"
#include "runtime/platform/status.h"

#include <cstddef>
#include <cstdint>

namespace nxrt {

/// Work on the range [begin, end) by thread `thread` of a core. A result other than 0 stops the
/// loop.
using RangeBody = int32_t (*)(void *context, uint32_t thread, int64_t begin, int64_t end);
/// The work of one rank, called by the thread that leads its core.
using RankBody = void (*)(void *context, uint32_t rank);

/// What one rank runs on: a group of threads with working memory.
class Core {
public:
  virtual ~Core() = default;

  virtual uint32_t threadCount() const = 0;

  /// Makes the arena and each thread's scratch at least this large. Contents are lost when one
  /// grows. Only while the core is acquired.
  virtual Status reserve(uint64_t arenaBytes, uint64_t scratchBytes) = 0;
  virtual std::byte *arena() const = 0;
  virtual std::byte *scratch(uint32_t thread) const = 0;

  /// Calls `body` on ranges that cover [0, count) once, from the core's threads, none of less than
  /// `grain` unless it is the last, and returns the first result that is not 0. Only from a
  /// RankBody, by its thread.
  virtual int32_t parallelFor(int64_t count, int64_t grain, RangeBody body, void *context) = 0;
};

/// A machine's cores, numbered 0 .. coreCount()-1.
class Device {
public:
  virtual ~Device() = default;

  virtual uint32_t coreCount() const = 0;
  virtual Core &core(uint32_t index) = 0;
  virtual Status describe(uint32_t core, nxrt_core_info &info) = 0;

  /// Takes `count` neighbouring cores for a model: those from `first` on, or, when `first` is
  /// negative, the least used ones that this process can have.
  virtual Status place(uint32_t count, int64_t first, uint32_t &placed) = 0;
  /// Undoes one place().
  virtual void leave(uint32_t first, uint32_t count) = 0;

  /// Cores [first, first + count) for the caller alone, until `deadlineNs` of the monotonic clock
  /// (0: no limit).
  virtual Status acquire(uint32_t first, uint32_t count, uint64_t deadlineNs) = 0;
  virtual void release(uint32_t first, uint32_t count) = 0;

  /// Runs `body` for ranks 0 .. count-1 on acquired cores first + rank, all at once, and returns
  /// when all are done. Rank 0 runs in the calling thread.
  virtual void run(uint32_t first, uint32_t count, RankBody body, void *context) = 0;

  /// How long threads that wait for each other spin before they sleep.
  virtual uint64_t spinNs() const = 0;
};

} // namespace nxrt

#endif // NXRT_DEVICE_DEVICE_H
