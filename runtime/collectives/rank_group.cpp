#include "runtime/collectives/rank_group.h"

#include "runtime/platform/log.h"
#include "runtime/platform/wait.h"

#include <algorithm>

namespace nxrt {

// How often a sleeping rank looks whether another one failed.
static constexpr uint64_t kLookNs = 20000000;

RankGroup::RankGroup(uint32_t size) : ranks(size), slots(new Slot[size]) {}

void RankGroup::begin(uint64_t deadlineNs, uint64_t spinNs) {
  deadline = deadlineNs;
  spin = spinNs;
  waiting.store(0, std::memory_order_relaxed);
  hasFailed.store(false, std::memory_order_relaxed);
  for (uint32_t rank = 0; rank < ranks; ++rank)
    slots[rank].arrivals.store(0, std::memory_order_relaxed);
  status = {};
}

bool RankGroup::barrier(uint32_t rank, const char *operation) {
  if (ranks == 1)
    return !failed();
  const uint32_t current = generation.load(std::memory_order_acquire);
  slots[rank].arrivals.fetch_add(1, std::memory_order_relaxed);
  if (waiting.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    waiting.store(0, std::memory_order_relaxed);
    generation.store(current + 1, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0)
      wake(generation, INT32_MAX);
    return !failed();
  }
  auto passed = [&] { return generation.load(std::memory_order_acquire) != current || failed(); };
  if (!spinUntil(passed, spin)) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    while (generation.load(std::memory_order_seq_cst) == current && !failed()) {
      uint64_t patience = kLookNs;
      if (deadline) {
        uint64_t now = nowNs();
        if (now >= deadline) {
          failLate(rank, operation);
          break;
        }
        patience = std::min(patience, deadline - now);
      }
      sleepOn(generation, current, patience);
    }
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  return !failed();
}

void RankGroup::fail(Status failure) {
  std::lock_guard<std::mutex> guard(mutex);
  if (hasFailed.load(std::memory_order_relaxed))
    return;
  status = std::move(failure);
  hasFailed.store(true, std::memory_order_release);
  // Ranks that sleep look again after kLookNs at the latest; most need not wait that long.
  wake(generation, INT32_MAX);
}

Status RankGroup::takeStatus() {
  std::lock_guard<std::mutex> guard(mutex);
  return std::move(status);
}

void RankGroup::failLate(uint32_t rank, const char *operation) {
  const uint64_t own = slots[rank].arrivals.load(std::memory_order_relaxed);
  std::string missing;
  for (uint32_t other = 0; other < ranks; ++other)
    if (slots[other].arrivals.load(std::memory_order_relaxed) < own)
      missing += (missing.empty() ? "" : ", ") + std::to_string(other);
  Status late =
      makeError(NXRT_TIMEOUT,
                "rank %u waited for rank %s at %s until the execution's timeout. Look what "
                "keeps that rank's core busy, or raise NXRT_EXEC_TIMEOUT.",
                rank, missing.empty() ? "?" : missing.c_str(), operation);
  log(NXRT_LOG_ERROR, "%s", late.message().c_str());
  fail(std::move(late));
}

bool RankGroup::checkDeadline(uint32_t rank, uint32_t command) {
  if (!deadline || nowNs() < deadline)
    return !failed();
  fail(
      makeError(NXRT_TIMEOUT,
                "the execution's timeout passed on rank %u before command %u. Use smaller sizes or "
                "raise NXRT_EXEC_TIMEOUT.",
                rank, command));
  return false;
}

} // namespace nxrt
