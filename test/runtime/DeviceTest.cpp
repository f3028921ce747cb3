// Cores: loops over tiles, fair locks, ownership between processes, placement.
#include "runtime/device/cpu_device.h"
#include "runtime/platform/wait.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nxrt;
using testing::HasSubstr;

namespace {

/// A directory of its own for each test's locks.
class LockDirectory {
public:
  LockDirectory() {
    char path[] = "/tmp/nxrt-locks-XXXXXX";
    name = mkdtemp(path);
  }
  ~LockDirectory() { [[maybe_unused]] int result = std::system(("rm -rf " + name).c_str()); }
  std::string name;
};

std::unique_ptr<CpuDevice> open(CpuDeviceOptions options, const LockDirectory &directory) {
  options.runtimeDirectory = directory.name;
  std::unique_ptr<CpuDevice> device;
  Status status = CpuDevice::open(options, device);
  EXPECT_TRUE(status.ok()) << status.message();
  return device;
}

//===-- Loops
//-------------------------------------------------------------------------------------===

class Loops : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, Loops, testing::Values(1, 2, 3, 8));

TEST_P(Loops, CoverEachTileOnce) {
  LockDirectory directory;
  CpuDeviceOptions options;
  options.coreCount = 1;
  options.threadsPerCore = GetParam();
  std::unique_ptr<CpuDevice> device = open(options, directory);
  uint32_t first = 0;
  ASSERT_TRUE(device->place(1, -1, first).ok());
  struct Work {
    std::vector<std::atomic<int>> visits;
    uint32_t threads;
    std::atomic<bool> wrong{false};
  };
  auto body = [](void *context, uint32_t) {
    CpuDevice &device = *static_cast<CpuDevice *>(context);
    Core &core = device.core(0);
    for (int64_t count : {0, 1, 2, 3, 7, 100, 1001})
      for (int64_t grain : {1, 3, 1000})
        for (int round = 0; round < 20; ++round) {
          Work work{std::vector<std::atomic<int>>(static_cast<size_t>(count)), core.threadCount()};
          int32_t code = core.parallelFor(
              count, grain,
              [](void *context, uint32_t thread, int64_t begin, int64_t end) {
                Work &work = *static_cast<Work *>(context);
                if (thread >= work.threads || begin >= end)
                  work.wrong = true;
                for (int64_t i = begin; i < end; ++i)
                  ++work.visits[static_cast<size_t>(i)];
                return 0;
              },
              &work);
          EXPECT_EQ(code, 0);
          EXPECT_FALSE(work.wrong);
          for (auto &visits : work.visits)
            EXPECT_EQ(visits, 1);
        }
  };
  ASSERT_TRUE(device->acquire(0, 1, 0).ok());
  device->run(0, 1, body, device.get());
  device->release(0, 1);
  device->leave(0, 1);
}

TEST(Loop, StopsAtTheFirstError) {
  LockDirectory directory;
  CpuDeviceOptions options;
  options.coreCount = 1;
  options.threadsPerCore = 2;
  std::unique_ptr<CpuDevice> device = open(options, directory);
  uint32_t first = 0;
  ASSERT_TRUE(device->place(1, -1, first).ok());
  std::atomic<int64_t> done{0};
  int32_t code = device->core(0).parallelFor(
      100000, 1,
      [](void *context, uint32_t, int64_t begin, int64_t end) {
        *static_cast<std::atomic<int64_t> *>(context) += end - begin;
        return begin <= 5 ? 42 : 0;
      },
      &done);
  EXPECT_EQ(code, 42);
  EXPECT_LT(done, 100000);
  device->leave(0, 1);
}

TEST(Loop, SleepingHelpersWakeUp) {
  LockDirectory directory;
  CpuDeviceOptions options;
  options.coreCount = 1;
  options.threadsPerCore = 3;
  options.spinNs = 0; // they sleep at once
  std::unique_ptr<CpuDevice> device = open(options, directory);
  uint32_t first = 0;
  ASSERT_TRUE(device->place(1, -1, first).ok());
  for (int round = 0; round < 200; ++round) {
    // Every thread must come: each takes one tile and waits for the others.
    std::atomic<uint32_t> here{0};
    device->core(0).parallelFor(
        3, 1,
        [](void *context, uint32_t, int64_t, int64_t) {
          auto &here = *static_cast<std::atomic<uint32_t> *>(context);
          ++here;
          while (here < 3)
            sched_yield();
          return 0;
        },
        &here);
    EXPECT_EQ(here, 3u);
  }
  device->leave(0, 1);
}

//===-- Fair lock
//---------------------------------------------------------------------------------===

TEST(FairLock, ServesInOrder) {
  FairLock lock;
  ASSERT_TRUE(lock.lock(0));
  std::vector<int> order;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      ASSERT_TRUE(lock.lock(0));
      order.push_back(i);
      lock.unlock();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30)); // until it queues
  }
  lock.unlock();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(FairLock, GivesUpAtTheDeadline) {
  FairLock lock;
  ASSERT_TRUE(lock.lock(0));
  EXPECT_FALSE(lock.lock(nowNs() + 5000000));
  lock.unlock();
  EXPECT_TRUE(lock.lock(nowNs() + 5000000));
  lock.unlock();
}

//===-- Ownership
//---------------------------------------------------------------------------------===

/// Runs a check in another process; it must return 0.
int inChild(std::function<int()> body) {
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Ownership, ABusyCpuNamesItsHolder) {
  LockDirectory directory;
  CoreLocks locks;
  locks.configure(directory.name, /*shared=*/false);
  ASSERT_TRUE(locks.take({0, 1}).ok());
  const pid_t parent = getpid();
  EXPECT_EQ(inChild([&] {
              CoreLocks other;
              other.configure(directory.name, false);
              Status status = other.take({1});
              std::string want = "process " + std::to_string(parent) + " (";
              bool good = status.code() == NXRT_CORE_BUSY &&
                          status.message().find(want) != std::string::npos &&
                          status.message().find("device_test") != std::string::npos;
              if (!good)
                fprintf(stderr, "%s\n", status.message().c_str());
              Holder holder;
              good = good && other.heldElsewhere(0, holder) && holder.pid == parent;
              return good && other.take({2}).ok() ? 0 : 1;
            }),
            0);
  locks.releaseAll();
  EXPECT_EQ(inChild([&] {
              CoreLocks other;
              other.configure(directory.name, false);
              return other.take({0, 1}).ok() ? 0 : 1;
            }),
            0);
  // The child is gone, and with it its locks, although it did not release them.
  EXPECT_TRUE(locks.take({0, 1}).ok());
}

TEST(Ownership, SharersShareAndOwnersDoNot) {
  LockDirectory directory;
  CoreLocks locks;
  locks.configure(directory.name, /*shared=*/true);
  ASSERT_TRUE(locks.take({0}).ok());
  EXPECT_EQ(inChild([&] {
              CoreLocks sharer, owner;
              sharer.configure(directory.name, true);
              owner.configure(directory.name, false);
              return sharer.take({0}).ok() && owner.take({0}).code() == NXRT_CORE_BUSY ? 0 : 1;
            }),
            0);
  // The file still names the child, which is gone: nobody is better than somebody wrong.
  CoreLocks owner;
  owner.configure(directory.name, false);
  Status status = owner.take({0});
  EXPECT_EQ(status.code(), NXRT_CORE_BUSY);
  EXPECT_THAT(status.message(), HasSubstr("CPU 0 belongs to another process."));
}

TEST(Ownership, AllOrNothing) {
  LockDirectory directory;
  CoreLocks locks;
  locks.configure(directory.name, false);
  ASSERT_TRUE(locks.take({1}).ok());
  EXPECT_EQ(inChild([&] {
              CoreLocks other;
              other.configure(directory.name, false);
              return other.take({0, 1}).code() == NXRT_CORE_BUSY && !other.holds(0) ? 0 : 1;
            }),
            0);
}

TEST(Ownership, AnUnusableDirectoryIsExplained) {
  CoreLocks locks;
  locks.configure("/proc/none", false);
  Status status = locks.take({0});
  EXPECT_EQ(status.code(), NXRT_IO_ERROR);
  EXPECT_THAT(status.message(), HasSubstr("NXRT_RUNTIME_DIR"));
}

//===-- Placement
//---------------------------------------------------------------------------------===

TEST(Placement, ModelsSpreadOverCores) {
  LockDirectory directory;
  CpuDeviceOptions options;
  options.coreCount = 8; // shares CPUs on a small machine
  std::unique_ptr<CpuDevice> device = open(options, directory);
  ASSERT_EQ(device->coreCount(), 8u);
  uint32_t first = 99;
  ASSERT_TRUE(device->place(2, -1, first).ok());
  EXPECT_EQ(first, 0u);
  ASSERT_TRUE(device->place(2, -1, first).ok());
  EXPECT_EQ(first, 2u);
  ASSERT_TRUE(device->place(2, 3, first).ok());
  EXPECT_EQ(first, 3u);
  ASSERT_TRUE(device->place(4, -1, first).ok());
  EXPECT_EQ(first, 4u); // one used core: less than anywhere else
  Status status = device->place(9, -1, first);
  EXPECT_EQ(status.code(), NXRT_NOT_ENOUGH_CORES);
  EXPECT_THAT(status.message(), HasSubstr("needs 9 cores and this process sees 8"));
  EXPECT_EQ(device->place(2, 7, first).code(), NXRT_NOT_ENOUGH_CORES);
  nxrt_core_info info = {};
  ASSERT_TRUE(device->describe(4, info).ok());
  EXPECT_EQ(info.model_count, 2u);
  EXPECT_EQ(info.owned, 1u);
  for (auto [begin, count] : {std::pair(0u, 2u), {2u, 2u}, {3u, 2u}, {4u, 4u}})
    device->leave(begin, count);
  ASSERT_TRUE(device->describe(4, info).ok());
  EXPECT_EQ(info.model_count, 0u);
  EXPECT_EQ(info.memory_used, 0u);
}

TEST(Placement, VisibleCoresMustExist) {
  LockDirectory directory;
  CpuDeviceOptions options;
  options.runtimeDirectory = directory.name;
  std::unique_ptr<CpuDevice> device;
  for (const char *list : {"x", "0-", "1-0", "999999", "0,,1", "-1", "0 1", "4294967296"}) {
    options.visibleCores = list;
    Status status = CpuDevice::open(options, device);
    EXPECT_EQ(status.code(), NXRT_INVALID_ARGUMENT) << list;
    EXPECT_THAT(status.message(), HasSubstr("NXRT_VISIBLE_CORES"));
  }
  options.visibleCores = "0";
  EXPECT_TRUE(CpuDevice::open(options, device).ok());
  EXPECT_EQ(device->coreCount(), 1u);
}

TEST(Placement, AskedForCoresThatOthersHave) {
  LockDirectory directory;
  CpuDeviceOptions options;
  options.coreCount = CpuDevice::machineCoreCount(1);
  std::unique_ptr<CpuDevice> device = open(options, directory);
  EXPECT_EQ(inChild([&] {
              CpuDeviceOptions other;
              other.runtimeDirectory = directory.name;
              other.coreCount = 1;
              std::unique_ptr<CpuDevice> second;
              Status status = CpuDevice::open(other, second);
              bool good = status.code() == NXRT_CORE_BUSY &&
                          status.message().find("0 of ") != std::string::npos;
              // Without a wish the device opens, and the first model finds no core.
              other.coreCount = 0;
              good = good && CpuDevice::open(other, second).ok();
              uint32_t first = 0;
              return good && second->place(1, -1, first).code() == NXRT_CORE_BUSY ? 0 : 1;
            }),
            0);
}

TEST(Topology, Lists) {
  std::vector<uint32_t> numbers;
  EXPECT_TRUE(parseList("0-2,5,2", 10, numbers));
  EXPECT_EQ(numbers, (std::vector<uint32_t>{0, 1, 2, 5}));
  EXPECT_TRUE(parseList("9", 10, numbers));
  for (const char *bad : {"", "10", "a", "1,", "1-", "3-1", "1 "})
    EXPECT_FALSE(parseList(bad, 10, numbers)) << bad;
}

TEST(Topology, PinnedScopeRestores) {
  cpu_set_t before, inside, after;
  sched_getaffinity(0, sizeof before, &before);
  int cpu = usableCpus()[0].number;
  {
    PinnedScope scope(cpu);
    sched_getaffinity(0, sizeof inside, &inside);
  }
  sched_getaffinity(0, sizeof after, &after);
  EXPECT_EQ(CPU_COUNT(&inside), 1);
  EXPECT_TRUE(CPU_ISSET(cpu, &inside));
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

} // namespace
