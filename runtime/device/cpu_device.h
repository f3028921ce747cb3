// The CPU as a device: its usable CPUs cut into cores of equally many threads.
#ifndef NXRT_DEVICE_CPU_DEVICE_H
#define NXRT_DEVICE_CPU_DEVICE_H

#include "runtime/device/core_lock.h"
#include "runtime/device/cpu_core.h"
#include "runtime/platform/topology.h"

#include <memory>
#include <mutex>
#include <vector>

namespace nxrt {

struct CpuDeviceOptions {
  uint32_t threadsPerCore = 1;
  uint32_t coreCount = 0;   // 0: as many as the machine has, taken when models need them
  std::string visibleCores; // a list; wins over coreCount; "": all
  bool share = false;       // with other processes
  bool pin = true;
  int64_t spinNs = -1;     // -1: chosen by the device
  uint64_t coreMemory = 0; // budget in bytes, 0: none
  std::string runtimeDirectory;
};

class CpuDevice final : public Device {
public:
  static Status open(const CpuDeviceOptions &options, std::unique_ptr<CpuDevice> &device);
  /// Cores that a process could have, without opening the device.
  static uint32_t machineCoreCount(uint32_t threadsPerCore);
  uint32_t machineCores() const;

  uint32_t coreCount() const override { return static_cast<uint32_t>(cores.size()); }
  Core &core(uint32_t index) override { return *cores[index]; }
  Status describe(uint32_t core, nxrt_core_info &info) override;
  Status place(uint32_t count, int64_t first, uint32_t &placed) override;
  void leave(uint32_t first, uint32_t count) override;
  Status acquire(uint32_t first, uint32_t count, uint64_t deadlineNs) override;
  void release(uint32_t first, uint32_t count) override;
  void run(uint32_t first, uint32_t count, RankBody body, void *context) override;
  uint64_t spinNs() const override { return spin.load(std::memory_order_relaxed); }

private:
  CpuDevice() = default;
  void addCore(uint32_t number, bool pinned);
  Status take(uint32_t first, uint32_t count);
  void chooseSpin();

  CpuDeviceOptions options;
  std::vector<Cpu> cpus;
  std::atomic<uint64_t> spin{0};
  std::mutex mutex; // guards ownership and placement
  CoreLocks locks;
  std::vector<uint32_t> numbers; // of each visible core in the machine
  std::vector<std::unique_ptr<CpuCore>> cores;
};

} // namespace nxrt

#endif // NXRT_DEVICE_CPU_DEVICE_H
