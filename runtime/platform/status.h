// Errors inside the runtime: a status code and a sentence with cause and remedy.
#ifndef NXRT_PLATFORM_STATUS_H
#define NXRT_PLATFORM_STATUS_H

#include "nxrt/nxrt.h"

#include <string>
#include <utility>

namespace nxrt {

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(nxrt_status code, std::string message) : statusCode(code), text(std::move(message)) {}

  bool ok() const { return statusCode == NXRT_OK; }
  nxrt_status code() const { return statusCode; }
  const std::string &message() const { return text; }

private:
  nxrt_status statusCode = NXRT_OK;
  std::string text;
};

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));
/// An error whose sentence is made by printf.
Status makeError(nxrt_status code, const char *pattern, ...) __attribute__((format(printf, 2, 3)));
/// The text of an errno value.
std::string errnoText(int error);

/// Keeps the error's sentence for nxrt_last_error of this thread and returns its code: the last
/// step of every function of the C API.
nxrt_status report(const Status &status);
const char *lastErrorText();

} // namespace nxrt

/// Returns from the calling function when `expression` is an error.
#define NXRT_TRY(expression)                                                                       \
  do {                                                                                             \
    if (::nxrt::Status tryStatus = (expression); !tryStatus.ok())                                  \
      return tryStatus;                                                                            \
  } while (false)

#endif // NXRT_PLATFORM_STATUS_H
