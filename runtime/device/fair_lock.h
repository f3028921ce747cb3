// A lock that goes to its waiters in the order in which they came, with a bounded wait.
#ifndef NXRT_DEVICE_FAIR_LOCK_H
#define NXRT_DEVICE_FAIR_LOCK_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

namespace nxrt {

class FairLock {
public:
  /// Waits until `deadlineNs` of the monotonic clock (0: for ever). False when that passed.
  bool lock(uint64_t deadlineNs) {
    std::unique_lock<std::mutex> guard(mutex);
    if (!held && waiters.empty()) {
      held = true;
      return true;
    }
    Waiter self;
    auto place = waiters.insert(waiters.end(), &self);
    if (deadlineNs == 0) {
      while (!self.granted)
        self.turn.wait(guard);
      return true;
    }
    std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(deadlineNs)};
    while (!self.granted)
      if (self.turn.wait_until(guard, deadline) == std::cv_status::timeout && !self.granted) {
        waiters.erase(place);
        return false;
      }
    return true;
  }

  void unlock() {
    std::lock_guard<std::mutex> guard(mutex);
    if (waiters.empty()) {
      held = false;
      return;
    }
    Waiter *next = waiters.front(); // ownership passes to it directly
    waiters.pop_front();
    next->granted = true;
    next->turn.notify_one();
  }

private:
  struct Waiter {
    std::condition_variable turn;
    bool granted = false;
  };
  std::mutex mutex;
  std::list<Waiter *> waiters;
  bool held = false;
};

} // namespace nxrt

#endif // NXRT_DEVICE_FAIR_LOCK_H
