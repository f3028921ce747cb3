#include "runtime/platform/topology.h"

#include "runtime/platform/status.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <sys/syscall.h>
#include <tuple>
#include <unistd.h>

namespace nxrt {

static constexpr size_t kBits = 8 * sizeof(unsigned long);
static constexpr size_t kMaskWords = 8192 / kBits; // CPUs that Linux can have

bool parseList(std::string_view text, uint32_t limit, std::vector<uint32_t> &numbers) {
  numbers.clear();
  size_t at = 0;
  auto number = [&](uint32_t &value) {
    size_t begin = at;
    uint64_t sum = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && sum < limit; ++at)
      sum = sum * 10 + static_cast<uint64_t>(text[at] - '0');
    value = static_cast<uint32_t>(sum);
    return at > begin && sum < limit;
  };
  do {
    uint32_t first = 0;
    if (!number(first))
      return false;
    uint32_t last = first;
    if (at < text.size() && text[at] == '-' && (++at, !number(last)))
      return false;
    if (last < first)
      return false;
    for (uint32_t value = first; value <= last; ++value)
      numbers.push_back(value);
  } while (at < text.size() && text[at] == ',' && ++at);
  if (at != text.size())
    return false;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return true;
}

/// The list in a file of /sys, e.g. "0,64"; empty when there is none.
static std::vector<uint32_t> readList(const std::string &path) {
  std::vector<uint32_t> numbers;
  std::FILE *file = std::fopen(path.c_str(), "re");
  if (!file)
    return numbers;
  char line[4096];
  if (std::fgets(line, sizeof line, file)) {
    std::string_view text(line, std::strcspn(line, "\n"));
    if (!parseList(text, static_cast<uint32_t>(kMaskWords * kBits), numbers))
      numbers.clear();
  }
  std::fclose(file);
  return numbers;
}

static std::vector<unsigned long> currentMask() {
  std::vector<unsigned long> mask(kMaskWords, 0);
  long bytes = syscall(SYS_sched_getaffinity, 0, mask.size() * sizeof mask[0], mask.data());
  mask.resize(bytes > 0 ? static_cast<size_t>(bytes) / sizeof mask[0] : 0);
  return mask;
}

static bool setMask(const std::vector<unsigned long> &mask) {
  return syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof mask[0], mask.data()) == 0;
}

std::vector<Cpu> usableCpus() {
  std::vector<Cpu> cpus;
  std::vector<unsigned long> mask = currentMask();
  for (size_t i = 0; i < mask.size() * kBits; ++i)
    if (mask[i / kBits] >> i % kBits & 1)
      cpus.push_back({static_cast<int32_t>(i), -1, 0});
  if (cpus.empty())
    cpus.push_back({0, -1, 0});

  for (uint32_t node : readList("/sys/devices/system/node/online"))
    for (uint32_t number : readList(format("/sys/devices/system/node/node%u/cpulist", node)))
      for (Cpu &cpu : cpus)
        if (cpu.number == static_cast<int32_t>(number))
          cpu.numaNode = static_cast<int32_t>(node);
  for (Cpu &cpu : cpus)
    for (uint32_t sibling : readList(
             format("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu.number)))
      cpu.sibling += static_cast<int32_t>(sibling) < cpu.number;

  std::sort(cpus.begin(), cpus.end(), [](const Cpu &a, const Cpu &b) {
    return std::tie(a.sibling, a.numaNode, a.number) < std::tie(b.sibling, b.numaNode, b.number);
  });
  return cpus;
}

static std::vector<unsigned long> maskOf(const int32_t *cpus, size_t count) {
  std::vector<unsigned long> mask;
  for (size_t i = 0; i < count; ++i) {
    size_t cpu = static_cast<size_t>(cpus[i]);
    mask.resize(std::max(mask.size(), cpu / kBits + 1), 0);
    mask[cpu / kBits] |= 1ul << cpu % kBits;
  }
  return mask;
}

bool pinThread(const std::vector<int32_t> &cpus) {
  return setMask(maskOf(cpus.data(), cpus.size()));
}

PinnedScope::PinnedScope(int32_t cpu) {
  if (cpu < 0)
    return;
  std::vector<unsigned long> wanted = maskOf(&cpu, 1);
  before = currentMask();
  std::vector<unsigned long> trimmed = before;
  while (!trimmed.empty() && trimmed.back() == 0)
    trimmed.pop_back();
  if (trimmed == wanted || !setMask(wanted))
    before.clear();
}

PinnedScope::~PinnedScope() {
  if (!before.empty())
    setMask(before);
}

} // namespace nxrt
