// Clock, spinning and sleeping on a word.
#ifndef NXRT_PLATFORM_WAIT_H
#define NXRT_PLATFORM_WAIT_H

#include <atomic>
#include <cstdint>
#include <ctime>

namespace nxrt {

/// Nanoseconds of the monotonic clock.
inline uint64_t nowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__(
      "isb" ::
          : "memory"); // `yield` is a no-op on most cores; isb takes as long as pause
#endif
}

/// Sleeps while `word` is `expected`, at most `timeoutNs`; may return early.
void sleepOn(const std::atomic<uint32_t> &word, uint32_t expected, uint64_t timeoutNs);
/// Wakes up to `count` threads that sleep on `word`.
void wake(std::atomic<uint32_t> &word, uint32_t count);

/// Spins until `done()` or until `spinNs` have passed; returns done()'s last answer.
template <typename Done> bool spinUntil(Done done, uint64_t spinNs) {
  if (done())
    return true;
  if (spinNs == 0)
    return false;
  const uint64_t end = nowNs() + spinNs;
  do {
    for (int i = 0; i < 32; ++i) {
      cpuRelax();
      if (done())
        return true;
    }
  } while (nowNs() < end);
  return false;
}

} // namespace nxrt

#endif // NXRT_PLATFORM_WAIT_H
