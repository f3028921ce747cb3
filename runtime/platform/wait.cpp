#include "runtime/platform/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nxrt {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain word");

void sleepOn(const std::atomic<uint32_t> &word, uint32_t expected, uint64_t timeoutNs) {
  timespec timeout = {static_cast<time_t>(timeoutNs / 1000000000u),
                      static_cast<long>(timeoutNs % 1000000000u)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, &timeout, nullptr, 0);
}

void wake(std::atomic<uint32_t> &word, uint32_t count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

} // namespace nxrt
