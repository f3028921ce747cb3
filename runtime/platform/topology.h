// The CPUs that this process may run on, in the order in which cores are made of them.
#ifndef NXRT_PLATFORM_TOPOLOGY_H
#define NXRT_PLATFORM_TOPOLOGY_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace nxrt {

struct Cpu {
  int32_t number;
  int32_t numaNode; // -1 when unknown
  uint32_t sibling; // 0 for the first hardware thread of a physical core, 1 for the second, ...
};

/// Physical cores first, then their further hardware threads; within each, NUMA node by node. So
/// neighbouring cores share a node, and hardware threads are shared only when nothing else is left.
std::vector<Cpu> usableCpus();

/// Parses "0-3,6" into numbers below `limit`, ascending and unique. False when it is not of that
/// form or empty.
bool parseList(std::string_view text, uint32_t limit, std::vector<uint32_t> &numbers);

/// Lets the calling thread run on these CPUs only. False when the system refuses.
bool pinThread(const std::vector<int32_t> &cpus);

/// Keeps the calling thread on one CPU while it lives, then gives it back the CPUs it had.
class PinnedScope {
public:
  explicit PinnedScope(int32_t cpu); // negative: does nothing
  ~PinnedScope();
  PinnedScope(const PinnedScope &) = delete;
  PinnedScope &operator=(const PinnedScope &) = delete;

private:
  std::vector<unsigned long> before; // the thread's mask; empty when nothing was changed
};

} // namespace nxrt

#endif // NXRT_PLATFORM_TOPOLOGY_H
