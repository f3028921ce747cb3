#include "runtime/platform/log.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <strings.h>
#include <unistd.h>

namespace nxrt {

static std::atomic<int> currentLevel{NXRT_LOG_WARNING};
static std::atomic<int> descriptor{STDERR_FILENO};

static constexpr const char *levelNames[] = {"default", "error", "warning", "info", "debug"};

bool parseLogLevel(const char *name, nxrt_log_level &level) {
  for (int i = NXRT_LOG_ERROR; i <= NXRT_LOG_DEBUG; ++i) {
    if (strcasecmp(name, levelNames[i]) != 0)
      continue;
    level = static_cast<nxrt_log_level>(i);
    return true;
  }
  return false;
}

void closeLog() {
  int old = descriptor.exchange(STDERR_FILENO);
  if (old != STDERR_FILENO)
    close(old);
  currentLevel = NXRT_LOG_WARNING;
}

Status openLog(nxrt_log_level level, const char *location) {
  int file = STDERR_FILENO;
  if (location && *location && std::strcmp(location, "stderr") != 0) {
    file = open(location, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0)
      return makeError(NXRT_IO_ERROR,
                       "the log file \"%s\" cannot be opened: %s. Set NXRT_LOG_LOCATION to a "
                       "writable place.",
                       location, errnoText(errno).c_str());
  }
  closeLog();
  descriptor = file;
  currentLevel = level;
  return {};
}

bool logs(nxrt_log_level level) { return level <= currentLevel.load(std::memory_order_relaxed); }

void log(nxrt_log_level level, const char *pattern, ...) {
  if (!logs(level))
    return;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts;
  gmtime_r(&now.tv_sec, &parts);
  char line[2048];
  int length = std::snprintf(
      line, sizeof line, "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ nxrt[%d] %s: ", parts.tm_year + 1900,
      parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
      now.tv_nsec / 1000000, getpid(), levelNames[level]);
  va_list arguments;
  va_start(arguments, pattern);
  int more = std::vsnprintf(line + length, sizeof line - length, pattern, arguments);
  va_end(arguments);
  size_t end = std::min(sizeof line - 1, static_cast<size_t>(length + std::max(more, 0)));
  line[end] = '\n';
  // A log that cannot be written must not stop the work.
  [[maybe_unused]] ssize_t written = write(descriptor.load(), line, end + 1);
}

} // namespace nxrt
