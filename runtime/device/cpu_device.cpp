#include "runtime/device/cpu_device.h"

#include "runtime/platform/log.h"

#include <algorithm>
#include <cstring>

namespace nxrt {

// Long enough to bridge the gap between two dispatches, short against what a futex's sleep and wake
// cost on a virtual machine (up to 50 us).
static constexpr uint64_t kSpinNs = 50000;

static uint32_t coresOf(const std::vector<Cpu> &cpus, uint32_t threadsPerCore) {
  return std::max<uint32_t>(1, static_cast<uint32_t>(cpus.size()) / threadsPerCore);
}

uint32_t CpuDevice::machineCoreCount(uint32_t threadsPerCore) {
  return coresOf(usableCpus(), threadsPerCore);
}

uint32_t CpuDevice::machineCores() const { return coresOf(cpus, options.threadsPerCore); }

void CpuDevice::addCore(uint32_t number, bool pinned) {
  std::vector<int32_t> own;
  int32_t node = -1;
  for (uint32_t thread = 0; thread < options.threadsPerCore; ++thread) {
    const Cpu &cpu = cpus[(size_t{number} * options.threadsPerCore + thread) % cpus.size()];
    if (std::find(own.begin(), own.end(), cpu.number) == own.end())
      own.push_back(cpu.number);
    if (thread == 0)
      node = cpu.numaNode;
  }
  numbers.push_back(number);
  cores.push_back(std::make_unique<CpuCore>(static_cast<uint32_t>(cores.size()), std::move(own),
                                            node, options.threadsPerCore, pinned,
                                            options.coreMemory, spin));
}

Status CpuDevice::open(const CpuDeviceOptions &options, std::unique_ptr<CpuDevice> &result) {
  std::unique_ptr<CpuDevice> device(new CpuDevice);
  device->options = options;
  device->cpus = usableCpus();
  device->locks.configure(options.runtimeDirectory, options.share);
  const uint32_t machine = coresOf(device->cpus, options.threadsPerCore);
  // Pinned threads that share a CPU would only stand in each other's way.
  const bool fits = options.threadsPerCore <= device->cpus.size();
  bool pinned = options.pin && !options.share && fits;

  if (!options.visibleCores.empty()) {
    std::vector<uint32_t> visible;
    if (!parseList(options.visibleCores, machine, visible))
      return makeError(
          NXRT_INVALID_ARGUMENT,
          "the visible cores \"%s\" are not a list of cores such as 0-3,6 below %u, the "
          "number of cores here (%zu CPUs, %u threads a core). Correct "
          "NXRT_VISIBLE_CORES or set NXRT_THREADS_PER_CORE.",
          options.visibleCores.c_str(), machine, device->cpus.size(), options.threadsPerCore);
    for (uint32_t number : visible)
      device->addCore(number, pinned);
    NXRT_TRY(device->take(0, device->coreCount()));
  } else if (options.coreCount > machine) {
    for (uint32_t number = 0; number < options.coreCount; ++number)
      device->addCore(number, /*pinned=*/false);
    NXRT_TRY(device->take(0, device->coreCount()));
  } else if (options.coreCount > 0) {
    Status busy;
    for (uint32_t number = 0; number < machine && device->coreCount() < options.coreCount;
         ++number) {
      device->addCore(number, pinned);
      Status status = device->take(device->coreCount() - 1, 1);
      if (status.ok())
        continue;
      if (status.code() != NXRT_CORE_BUSY)
        return status;
      busy = status;
      device->cores.pop_back();
      device->numbers.pop_back();
    }
    if (device->coreCount() < options.coreCount)
      return makeError(NXRT_CORE_BUSY, "%u of %u cores are free, %u were asked for: %s",
                       device->coreCount(), machine, options.coreCount, busy.message().c_str());
  } else {
    for (uint32_t number = 0; number < machine; ++number)
      device->addCore(number, pinned);
  }
  device->chooseSpin();
  log(NXRT_LOG_INFO, "%u of %u cores visible, %u threads each, on %zu CPUs", device->coreCount(),
      machine, options.threadsPerCore, device->cpus.size());
  result = std::move(device);
  return {};
}

/// Takes the CPUs of visible cores from other processes.
Status CpuDevice::take(uint32_t first, uint32_t count) {
  std::vector<int32_t> wanted;
  for (uint32_t i = first; i < first + count; ++i)
    wanted.insert(wanted.end(), cores[i]->cpuNumbers().begin(), cores[i]->cpuNumbers().end());
  return locks.take(wanted);
}

void CpuDevice::chooseSpin() {
  if (options.spinNs >= 0) {
    spin = static_cast<uint64_t>(options.spinNs);
    return;
  }
  // Who waits for a thread that has no CPU must not keep the one that it needs.
  size_t threads = 0;
  for (const auto &core : cores)
    if (core->modelCount > 0)
      threads += core->threadCount();
  spin = threads <= cpus.size() ? kSpinNs : 0;
}

Status CpuDevice::describe(uint32_t index, nxrt_core_info &info) {
  std::lock_guard<std::mutex> guard(mutex);
  const CpuCore &core = *cores[index];
  info.machine_core = numbers[index];
  info.thread_count = core.threadCount();
  info.cpu_count = static_cast<uint32_t>(core.cpuNumbers().size());
  info.cpus = core.cpuNumbers().data();
  info.numa_node = core.numaNode();
  info.model_count = core.modelCount;
  info.memory_used = core.memoryUsed();
  info.memory_limit = core.memoryLimit();
  info.owned = 1;
  info.holder_pid = 0;
  info.holder_command[0] = '\0';
  for (int32_t cpu : core.cpuNumbers()) {
    info.owned &= locks.holds(cpu);
    Holder holder;
    if (info.holder_pid == 0 && locks.heldElsewhere(cpu, holder)) {
      info.holder_pid = holder.pid;
      size_t length = std::min(holder.command.size(), sizeof info.holder_command - 1);
      std::memcpy(info.holder_command, holder.command.data(), length);
      info.holder_command[length] = '\0';
    }
  }
  return {};
}

Status CpuDevice::place(uint32_t count, int64_t first, uint32_t &placed) {
  std::lock_guard<std::mutex> guard(mutex);
  if (count > coreCount())
    return makeError(
        NXRT_NOT_ENOUGH_CORES,
        "the executable needs %u cores and this process sees %u. Use a machine with "
        "more CPUs, fewer threads a core (NXRT_THREADS_PER_CORE), let cores share CPUs "
        "(NXRT_NUM_CORES=%u), or recompile with a smaller --tp.",
        count, coreCount(), count);
  std::vector<uint32_t> candidates;
  if (first >= 0) {
    if (first > static_cast<int64_t>(coreCount() - count))
      return makeError(NXRT_NOT_ENOUGH_CORES,
                       "the executable needs %u cores from core %lld on and this process sees %u. "
                       "Choose a lower first core.",
                       count, static_cast<long long>(first), coreCount());
    candidates.push_back(static_cast<uint32_t>(first));
  } else {
    for (uint32_t i = 0; i + count <= coreCount(); ++i)
      candidates.push_back(i);
    auto load = [&](uint32_t begin) {
      uint32_t models = 0;
      for (uint32_t i = begin; i < begin + count; ++i)
        models += cores[i]->modelCount;
      return models;
    };
    std::sort(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
      return load(a) != load(b) ? load(a) < load(b) : a < b;
    });
  }
  Status status;
  for (uint32_t candidate : candidates) {
    status = take(candidate, count);
    if (!status.ok() && status.code() != NXRT_CORE_BUSY)
      return status;
    if (!status.ok())
      continue;
    for (uint32_t i = candidate; i < candidate + count; ++i) {
      NXRT_TRY(cores[i]->start());
      ++cores[i]->modelCount;
    }
    chooseSpin();
    placed = candidate;
    return {};
  }
  return status;
}

void CpuDevice::leave(uint32_t first, uint32_t count) {
  std::lock_guard<std::mutex> guard(mutex);
  for (uint32_t i = first; i < first + count; ++i)
    if (--cores[i]->modelCount == 0)
      cores[i]->freeMemory();
  chooseSpin();
}

Status CpuDevice::acquire(uint32_t first, uint32_t count, uint64_t deadlineNs) {
  // Always in ascending order: no two executions can wait for each other.
  for (uint32_t i = first; i < first + count; ++i) {
    if (cores[i]->turn.lock(deadlineNs))
      continue;
    release(first, i - first);
    return makeError(NXRT_TIMEOUT,
                     "core %u was kept by other executions of this process until the timeout. Send "
                     "fewer requests at once, use more cores, or raise NXRT_EXEC_TIMEOUT.",
                     i);
  }
  return {};
}

void CpuDevice::release(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i)
    cores[i]->turn.unlock();
}

void CpuDevice::run(uint32_t first, uint32_t count, RankBody body, void *context) {
  // Changing a thread's CPUs costs several microseconds. It is worth that where pinned threads work
  // with the caller, which would otherwise have to share a CPU with one of them now and then.
  const bool alone = count == 1 && cores[first]->threadCount() == 1;
  PinnedScope pinned(alone ? -1 : cores[first]->leaderCpu());
  for (uint32_t rank = 1; rank < count; ++rank)
    cores[first + rank]->startRank(body, context, rank);
  body(context, 0);
  for (uint32_t rank = 1; rank < count; ++rank)
    cores[first + rank]->finishRank();
}

} // namespace nxrt
