#include "runtime/device/cpu_core.h"

#include "runtime/platform/log.h"
#include "runtime/platform/topology.h"
#include "runtime/platform/wait.h"

#include <algorithm>

namespace nxrt {

static constexpr uint64_t kOpen = uint64_t{1} << 31;
static constexpr uint64_t kInside = kOpen - 1;
static constexpr uint64_t kEpoch = uint64_t{1} << 32;
// Sleeps are bounded only as a net under lost wake-ups; none is known.
static constexpr uint64_t kSleepNs = 1000000000;
// How finely a loop is cut: enough pieces that a slow thread does not hold up the others.
static constexpr int64_t kChunksPerThread = 4;

CpuCore::CpuCore(uint32_t number, std::vector<int32_t> cpus, int32_t numaNode, uint32_t threads,
                 bool pinned, uint64_t memoryLimit, const std::atomic<uint64_t> &spinNs)
    : number(number), cpus(std::move(cpus)), node(numaNode), threads(threads), pinned(pinned),
      limit(memoryLimit), spinNs(spinNs) {}

CpuCore::~CpuCore() { stop(); }

void *CpuCore::runThread(void *argument) {
  const ThreadStart &start = *static_cast<ThreadStart *>(argument);
  start.core->pin(start.thread);
  if (start.thread == 0)
    start.core->leaderLoop();
  else
    start.core->helperLoop(start.thread);
  return nullptr;
}

Status CpuCore::start() {
  if (!running.empty())
    return {};
  starts.resize(threads);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    starts[thread] = {this, thread};
    pthread_t handle;
    int error = pthread_create(&handle, nullptr, runThread, &starts[thread]);
    if (error != 0) {
      stop();
      return makeError(NXRT_OUT_OF_MEMORY,
                       "thread %u of core %u could not be started: %s. Use fewer threads or raise "
                       "the limit on them (ulimit -u).",
                       thread, number, errnoText(error).c_str());
    }
    running.push_back(handle);
  }
  return {};
}

void CpuCore::stop() {
  if (running.empty())
    return;
  stopping.store(true);
  alarm.fetch_add(1);
  wake(alarm, INT32_MAX);
  ticket.fetch_add(2); // stays even: no work
  wake(ticket, INT32_MAX);
  for (pthread_t thread : running)
    pthread_join(thread, nullptr);
  running.clear();
  stopping.store(false);
}

void CpuCore::pin(uint32_t thread) {
  pthread_setname_np(pthread_self(), format("nxrt-%u.%u", number, thread).c_str());
  if (pinned && !pinThread({cpus[thread % cpus.size()]}))
    log(NXRT_LOG_WARNING, "thread %u of core %u could not be pinned to CPU %d", thread, number,
        cpus[thread % cpus.size()]);
}

//===-- Memory
//------------------------------------------------------------------------------------===

Status CpuCore::reserve(uint64_t arenaBytes, uint64_t scratchBytes) {
  constexpr uint64_t page = 4096; // scratch areas of two threads never share one
  uint64_t stride = (scratchBytes + page - 1) / page * page;
  uint64_t scratchTotal = 0, total = 0;
  if (scratchBytes > uint64_t{1} << 48 || !multiplyChecked(stride, threads, scratchTotal) ||
      !addChecked(scratchTotal, arenaBytes, total) || (limit && total > limit))
    return makeError(
        NXRT_OUT_OF_MEMORY,
        "core %u needs more memory than its budget: arena %llu bytes, scratch %u x %llu "
        "bytes, budget %llu bytes. Use smaller sizes, more cores (--tp), or raise "
        "NXRT_CORE_MEMORY.",
        number, static_cast<unsigned long long>(arenaBytes), threads,
        static_cast<unsigned long long>(scratchBytes), static_cast<unsigned long long>(limit));
  if (limit && std::max<uint64_t>(arenaBytes, arenaPages.size()) +
                       std::max<uint64_t>(scratchTotal, scratchPages.size()) >
                   limit)
    freeMemory(); // what other sizes left behind does not fit beside what these need
  // An arena that has to grow grows by half at least, if it can: sizes that rise from call to call
  // would move it every time. Pages that nobody touches take no memory.
  Status status;
  if (arenaBytes > arenaPages.size()) {
    const uint64_t roomy = std::max<uint64_t>(arenaBytes, arenaPages.size() / 2 * 3);
    const bool fits = !limit || scratchTotal + roomy <= limit;
    status = arenaPages.allocate(fits ? roomy : arenaBytes);
    if (!status.ok() && roomy > arenaBytes)
      status = arenaPages.allocate(arenaBytes);
  }
  if (status.ok() && scratchTotal > scratchPages.size())
    status = scratchPages.allocate(scratchTotal);
  scratchStride = scratchPages.size() / threads / page * page;
  used.store(arenaPages.size() + scratchPages.size(), std::memory_order_relaxed);
  if (!status.ok())
    return makeError(
        NXRT_OUT_OF_MEMORY,
        "no memory for core %u: arena %llu bytes, scratch %u x %llu bytes; it has %llu "
        "(%s). Use smaller sizes or free memory on the machine.",
        number, static_cast<unsigned long long>(arenaBytes), threads,
        static_cast<unsigned long long>(scratchBytes),
        static_cast<unsigned long long>(memoryUsed()), status.message().c_str());
  return {};
}

void CpuCore::freeMemory() {
  arenaPages.release();
  scratchPages.release();
  scratchStride = 0;
  used.store(0, std::memory_order_relaxed);
}

//===-- Loops
//-------------------------------------------------------------------------------------===

/// Takes chunks of the current loop until there are none.
void CpuCore::work(uint32_t thread) {
  for (;;) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= count)
      return;
    int32_t code = body(context, thread, begin, std::min(count, begin + chunk));
    if (code == 0)
      continue;
    int32_t none = 0;
    result.compare_exchange_strong(none, code, std::memory_order_relaxed);
    next.store(count, std::memory_order_relaxed); // nobody needs the rest
  }
}

int32_t CpuCore::parallelFor(int64_t total, int64_t grain, RangeBody newBody, void *newContext) {
  grain = std::max<int64_t>(grain, 1);
  if (threads == 1 || total / grain < 2)
    return total > 0 ? newBody(newContext, 0, 0, total) : 0;

  body = newBody;
  context = newContext;
  count = total;
  const int64_t pieces = kChunksPerThread * threads;
  chunk = std::max(grain, total / pieces + (total % pieces != 0));
  next.store(0, std::memory_order_relaxed);
  result.store(0, std::memory_order_relaxed);
  const uint64_t epoch = (gate.load(std::memory_order_relaxed) / kEpoch + 1) * kEpoch;
  // Sequentially consistent, against a helper that goes to sleep: it announces itself, then looks
  // at the gate; we open the gate, then look for sleepers. One of the two sees the other.
  gate.store(epoch | kOpen, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) > 0) {
    alarm.fetch_add(1, std::memory_order_release);
    wake(alarm, static_cast<uint32_t>(std::min<int64_t>(threads - 1, total / grain - 1)));
  }

  work(0);

  gate.fetch_and(~kOpen, std::memory_order_acq_rel);
  auto empty = [&] { return (gate.load(std::memory_order_acquire) & kInside) == 0; };
  while (!spinUntil(empty, spinNs.load(std::memory_order_relaxed))) {
    leaderSleeps.store(1, std::memory_order_seq_cst);
    uint32_t seen = left.load(std::memory_order_acquire);
    if ((gate.load(std::memory_order_seq_cst) & kInside) != 0)
      sleepOn(left, seen, kSleepNs);
    leaderSleeps.store(0, std::memory_order_relaxed);
  }
  return result.load(std::memory_order_relaxed);
}

void CpuCore::helperLoop(uint32_t thread) {
  uint64_t seen = 0; // epoch of the last loop that this helper was in
  auto hasWork = [&](uint64_t state) { return (state & kOpen) && state / kEpoch != seen; };
  while (!stopping.load(std::memory_order_acquire)) {
    uint64_t state = gate.load(std::memory_order_acquire);
    if (hasWork(state)) {
      if (!gate.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel))
        continue;
      seen = state / kEpoch;
      work(thread);
      uint64_t after = gate.fetch_sub(1, std::memory_order_seq_cst) - 1;
      if (!(after & kOpen) && (after & kInside) == 0 &&
          leaderSleeps.load(std::memory_order_seq_cst)) {
        left.fetch_add(1, std::memory_order_release);
        wake(left, 1);
      }
      continue;
    }
    auto called = [&] {
      return hasWork(gate.load(std::memory_order_acquire)) ||
             stopping.load(std::memory_order_relaxed);
    };
    if (spinUntil(called, spinNs.load(std::memory_order_relaxed)))
      continue;
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    uint32_t rung = alarm.load(std::memory_order_acquire);
    if (!hasWork(gate.load(std::memory_order_seq_cst)) && !stopping.load(std::memory_order_seq_cst))
      sleepOn(alarm, rung, kSleepNs);
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
}

//===-- Ranks
//-------------------------------------------------------------------------------------===

void CpuCore::startRank(RankBody newBody, void *newContext, uint32_t newRank) {
  rankBody = newBody;
  rankContext = newContext;
  rank = newRank;
  ticket.fetch_add(1, std::memory_order_seq_cst);
  if (ticketSleepers.load(std::memory_order_seq_cst) > 0)
    wake(ticket, INT32_MAX);
}

/// Waits until `ready()`, which looks at `ticket`: spins, then sleeps.
template <typename Ready>
static void waitForTicket(std::atomic<uint32_t> &ticket, std::atomic<uint32_t> &sleepers,
                          uint64_t spinNs, Ready ready) {
  if (spinUntil(ready, spinNs))
    return;
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    uint32_t seen = ticket.load(std::memory_order_seq_cst);
    if (ready())
      break;
    sleepOn(ticket, seen, kSleepNs);
  }
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void CpuCore::finishRank() {
  waitForTicket(ticket, ticketSleepers, spinNs.load(std::memory_order_relaxed),
                [&] { return ticket.load(std::memory_order_acquire) % 2 == 0; });
}

void CpuCore::leaderLoop() {
  for (;;) {
    waitForTicket(ticket, ticketSleepers, spinNs.load(std::memory_order_relaxed), [&] {
      return ticket.load(std::memory_order_acquire) % 2 == 1 ||
             stopping.load(std::memory_order_acquire);
    });
    if (ticket.load(std::memory_order_acquire) % 2 == 0)
      return; // stopping, and nothing left to do
    rankBody(rankContext, rank);
    ticket.fetch_add(1, std::memory_order_seq_cst);
    if (ticketSleepers.load(std::memory_order_seq_cst) > 0)
      wake(ticket, INT32_MAX);
  }
}

} // namespace nxrt
