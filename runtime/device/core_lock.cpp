#include "runtime/device/core_lock.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nxrt {

static std::string ownCommand() {
  char text[256] = "";
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0)
    close(file);
  std::string command(text, length > 0 ? static_cast<size_t>(length) : 0);
  while (!command.empty() && command.back() == '\0')
    command.pop_back();
  for (char &c : command)
    if (static_cast<unsigned char>(c) < ' ')
      c = ' ';
  return command;
}

/// Reads "pid command" from a lock file. The text is what the holder wrote when it took the lock; of
/// several that share it, the last one, which may have ended before the others: then nobody is named.
static Holder readHolder(int descriptor) {
  char text[256];
  ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
  Holder holder;
  if (length <= 0)
    return holder;
  text[length] = '\0';
  char *rest = nullptr;
  holder.pid = static_cast<int32_t>(std::strtol(text, &rest, 10));
  if (holder.pid > 0 && kill(holder.pid, 0) != 0 && errno == ESRCH)
    return {};
  if (*rest == ' ')
    ++rest;
  holder.command = rest;
  while (!holder.command.empty() && holder.command.back() == '\n')
    holder.command.pop_back();
  return holder;
}

void CoreLocks::configure(std::string newDirectory, bool newShared) {
  releaseAll();
  directory = std::move(newDirectory);
  shared = newShared;
}

Status CoreLocks::openFile(int32_t cpu, int &descriptor) const {
  // Every user of the machine must be able to open the files: hence the modes, set against umask.
  if (mkdir(directory.c_str(), 01777) == 0)
    chmod(directory.c_str(), 01777);
  const std::string path = format("%s/cpu%d.lock", directory.c_str(), cpu);
  for (int attempt = 0; attempt < 8; ++attempt) {
    descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0 && errno == EACCES)
      descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor >= 0)
      return {};
    if (errno != ENOENT)
      break;
    descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor >= 0) {
      fchmod(descriptor, 0666);
      return {};
    }
    if (errno != EEXIST)
      break;
  }
  return makeError(
      NXRT_IO_ERROR,
      "the core's lock file %s cannot be opened: %s. Make the directory writable or set "
      "NXRT_RUNTIME_DIR to one that is, for all processes alike.",
      path.c_str(), errnoText(errno).c_str());
}

Status CoreLocks::lock(int32_t cpu, int &descriptor) const {
  NXRT_TRY(openFile(cpu, descriptor));
  if (flock(descriptor, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) {
    std::string text = format("%d %s\n", getpid(), ownCommand().c_str());
    // Only a message to others; a file that another user made may refuse it.
    if (ftruncate(descriptor, 0) == 0) [[maybe_unused]]
      ssize_t written = pwrite(descriptor, text.data(), text.size(), 0);
    return {};
  }
  int error = errno;
  Holder holder = readHolder(descriptor);
  close(descriptor);
  descriptor = -1;
  if (error != EWOULDBLOCK)
    return makeError(NXRT_IO_ERROR, "locking CPU %d failed: %s", cpu, errnoText(error).c_str());
  std::string who = holder.pid ? format("process %d (%s)", holder.pid, holder.command.c_str())
                               : std::string("another process");
  return makeError(NXRT_CORE_BUSY,
                   "CPU %d belongs to %s. Wait until that ends, choose other cores "
                   "(NXRT_VISIBLE_CORES), or let all processes share them (NXRT_SHARE_CORES=1).",
                   cpu, who.c_str());
}

Status CoreLocks::take(const std::vector<int32_t> &cpus) {
  std::vector<int32_t> taken;
  for (int32_t cpu : cpus) {
    if (holds(cpu))
      continue;
    int descriptor = -1;
    Status status = lock(cpu, descriptor);
    if (!status.ok()) {
      for (int32_t other : taken) {
        close(descriptors[other]);
        descriptors.erase(other);
      }
      return status;
    }
    descriptors[cpu] = descriptor;
    taken.push_back(cpu);
  }
  return {};
}

void CoreLocks::releaseAll() {
  for (auto [cpu, descriptor] : descriptors)
    close(descriptor);
  descriptors.clear();
}

bool CoreLocks::heldElsewhere(int32_t cpu, Holder &holder) const {
  if (holds(cpu))
    return false;
  int descriptor = -1;
  if (!openFile(cpu, descriptor).ok())
    return false;
  bool free = flock(descriptor, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0;
  if (!free)
    holder = readHolder(descriptor);
  close(descriptor);
  return !free;
}

} // namespace nxrt
