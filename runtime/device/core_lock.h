// Ownership of CPUs between processes: one lock file per CPU, locked with flock. The kernel
// releases a lock when its process ends, however it ends, so nothing is ever left behind.
#ifndef NXRT_DEVICE_CORE_LOCK_H
#define NXRT_DEVICE_CORE_LOCK_H

#include "runtime/platform/status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace nxrt {

struct Holder {
  int32_t pid = 0;     // 0: nobody, or unknown
  std::string command; // the beginning of its command line
};

class CoreLocks {
public:
  CoreLocks() = default;
  CoreLocks(const CoreLocks &) = delete;
  CoreLocks &operator=(const CoreLocks &) = delete;
  ~CoreLocks() { releaseAll(); }

  /// `directory` is made when it does not exist. Shared locks go together with other shared ones.
  void configure(std::string directory, bool shared);

  /// Takes the CPUs that are not taken yet, all or none. NXRT_CORE_BUSY names the holder.
  Status take(const std::vector<int32_t> &cpus);
  void releaseAll();
  bool holds(int32_t cpu) const { return descriptors.count(cpu) != 0; }

  /// Whether another process holds the CPU, and who.
  bool heldElsewhere(int32_t cpu, Holder &holder) const;

private:
  Status openFile(int32_t cpu, int &descriptor) const;
  Status lock(int32_t cpu, int &descriptor) const;

  std::string directory;
  bool shared = false;
  std::map<int32_t, int> descriptors; // CPU -> locked file
};

} // namespace nxrt

#endif // NXRT_DEVICE_CORE_LOCK_H
