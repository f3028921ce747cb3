// How the command-line tools end: exit statuses, and the exception that carries a sentence to main.
#ifndef NX_TOOLS_COMMON_REFUSAL_H
#define NX_TOOLS_COMMON_REFUSAL_H

#include <stdexcept>
#include <string>

namespace nxtool {

/// Exit statuses of the tools. Documented in docs/tools.md: keep both in step.
enum ExitStatus : int {
  ExitDone = 0,
  ExitRefused = 1, // a file, a model or a run was refused; the sentence is on standard error
  ExitUsage = 2,   // the command line itself is wrong
  ExitDiffers = 3, // everything ran, but results differ from what --expect named
};

/// Ends the tool with `status` and the sentence on standard error.
class Refusal : public std::runtime_error {
public:
  explicit Refusal(const std::string &sentence, ExitStatus status = ExitRefused)
      : std::runtime_error(sentence), exitStatus(status) {}
  ExitStatus status() const { return exitStatus; }

private:
  ExitStatus exitStatus;
};

} // namespace nxtool

#endif // NX_TOOLS_COMMON_REFUSAL_H
