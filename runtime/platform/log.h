// The runtime's log: one line per message, written with one system call.
#ifndef NXRT_PLATFORM_LOG_H
#define NXRT_PLATFORM_LOG_H

#include "runtime/platform/status.h"

namespace nxrt {

/// Sets level and place (null or "stderr": standard error; else a file, appended to).
Status openLog(nxrt_log_level level, const char *location);
/// Back to warnings on standard error.
void closeLog();

bool logs(nxrt_log_level level);
void log(nxrt_log_level level, const char *pattern, ...) __attribute__((format(printf, 2, 3)));

/// The level of a name of NXRT_LOG_LEVEL's values; false when there is none.
bool parseLogLevel(const char *name, nxrt_log_level &level);

} // namespace nxrt

#endif // NXRT_PLATFORM_LOG_H
