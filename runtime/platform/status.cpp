#include "runtime/platform/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace nxrt {

static std::string formatList(const char *pattern, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  int length = std::vsnprintf(nullptr, 0, pattern, copy);
  va_end(copy);
  std::string text;
  if (length > 0) {
    text.resize(static_cast<size_t>(length));
    std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  }
  return text;
}

std::string format(const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = formatList(pattern, arguments);
  va_end(arguments);
  return text;
}

Status makeError(nxrt_status code, const char *pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = formatList(pattern, arguments);
  va_end(arguments);
  return Status(code, std::move(text));
}

std::string errnoText(int error) {
  char buffer[128];
  // The GNU form of strerror_r, which may return a static string.
  return strerror_r(error, buffer, sizeof buffer);
}

static std::string &lastError() {
  thread_local std::string text;
  return text;
}

nxrt_status report(const Status &status) {
  if (!status.ok())
    lastError() = status.message();
  return status.code();
}

const char *lastErrorText() { return lastError().c_str(); }

} // namespace nxrt
