#include "runtime/platform/environment.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <strings.h>

namespace nxrt {

static constexpr VariableInfo table[] = {
    {Variable::VisibleCores, "NXRT_VISIBLE_CORES", "a list such as `0`, `0-3` or `0-3,6`",
     "all cores of the machine",
     "The cores that the process uses; they are taken by `nxrt_init`. Core numbers in the API "
     "count "
     "within this list."},
    {Variable::NumCores, "NXRT_NUM_CORES", "1 to 4096",
     "all cores, each taken when a model needs it",
     "Take this many free cores in `nxrt_init`. More than the machine has is allowed: cores then "
     "share CPUs, without pinning. `NXRT_VISIBLE_CORES` wins over it."},
    {Variable::ThreadsPerCore, "NXRT_THREADS_PER_CORE", "1 to 1024", "1",
     "Threads of a core. The machine has CPUs / threads cores; a CPU is one that the process may "
     "run on (`taskset`, cgroup cpusets)."},
    {Variable::ShareCores, "NXRT_SHARE_CORES", "0 or 1", "0",
     "With 1 the process shares its cores with others that say the same instead of owning them "
     "alone, and does not pin its threads. For tests and development."},
    {Variable::PinThreads, "NXRT_PIN_THREADS", "0 or 1", "1",
     "Whether the threads of a core stay on its CPUs. The thread that calls `nxrt_execute` is "
     "pinned "
     "while it executes, where other threads work with it."},
    {Variable::SpinMicroseconds, "NXRT_SPIN_US", "0 to 1000000",
     "50, and 0 when the process has more threads than CPUs",
     "How long a thread that waits for others spins before it sleeps."},
    {Variable::CoreMemory, "NXRT_CORE_MEMORY", "bytes, with K, M, G or T", "no limit",
     "Budget of one core for arenas and scratch memory. An execution that needs more is refused."},
    {Variable::ExecTimeout, "NXRT_EXEC_TIMEOUT", "seconds; 0 waits for ever", "600",
     "How long one `nxrt_execute` may take, with the wait for its cores. Noticed between kernels."},
    {Variable::VerifyWeights, "NXRT_VERIFY_WEIGHTS", "0 or 1", "0",
     "With 1 a load checks the checksums of weights too, which reads the whole file. Program and "
     "code are always checked."},
    {Variable::LogLevel, "NXRT_LOG_LEVEL", "`error`, `warning`, `info` or `debug`", "`warning`",
     "The least serious message that is written to the log."},
    {Variable::LogLocation, "NXRT_LOG_LOCATION", "`stderr` or a file's path", "`stderr`",
     "Where the log goes. A file is appended to."},
    {Variable::PerfMap, "NXRT_PERF_MAP", "0 or 1", "0",
     "With 1 the names of loaded kernels are written to `/tmp/perf-PID.map`, where Linux `perf` "
     "looks for them."},
    {Variable::RuntimeDir, "NXRT_RUNTIME_DIR", "a directory", "`/dev/shm/nxrt`",
     "Where the lock files are by which processes own cores. It must be the same for all processes "
     "of the machine."},
};

std::span<const VariableInfo> environmentTable() { return table; }

static const VariableInfo &infoOf(Variable variable) {
  return table[static_cast<size_t>(variable)];
}

const char *variableText(Variable variable) {
  const char *text = std::getenv(infoOf(variable).name);
  return text && *text ? text : nullptr;
}

static Status badValue(Variable variable, const char *text) {
  const VariableInfo &info = infoOf(variable);
  return makeError(NXRT_INVALID_ARGUMENT, "%s is \"%s\"; it takes %s. Correct or unset it.",
                   info.name, text, info.values);
}

/// Parses the decimal number at the start of `text` and moves `text` behind it.
static bool parseUnsigned(const char *&text, uint64_t &value) {
  if (*text < '0' || *text > '9')
    return false;
  char *end = nullptr;
  errno = 0;
  value = std::strtoull(text, &end, 10);
  text = end;
  return errno == 0;
}

Status readNumber(Variable variable, uint64_t minimum, uint64_t maximum, uint64_t &value) {
  const char *text = variableText(variable);
  if (!text)
    return {};
  const char *rest = text;
  uint64_t number = 0;
  if (!parseUnsigned(rest, number) || *rest || number < minimum || number > maximum)
    return badValue(variable, text);
  value = number;
  return {};
}

Status readSwitch(Variable variable, bool &value) {
  uint64_t number = value;
  NXRT_TRY(readNumber(variable, 0, 1, number));
  value = number != 0;
  return {};
}

Status readSize(Variable variable, uint64_t &bytes) {
  const char *text = variableText(variable);
  if (!text)
    return {};
  const char *rest = text;
  uint64_t number = 0;
  if (!parseUnsigned(rest, number))
    return badValue(variable, text);
  static constexpr char suffixes[] = "KMGT";
  if (const char *suffix = *rest ? std::strchr(suffixes, *rest & ~0x20) : nullptr) {
    int shift = 10 * static_cast<int>(suffix - suffixes + 1);
    if (number > UINT64_MAX >> shift)
      return badValue(variable, text);
    number <<= shift;
    ++rest;
  }
  if (*rest)
    return badValue(variable, text);
  bytes = number;
  return {};
}

Status readSeconds(Variable variable, uint64_t &milliseconds) {
  const char *text = variableText(variable);
  if (!text)
    return {};
  char *end = nullptr;
  double seconds = std::strtod(text, &end);
  if (end == text || *end || !std::isfinite(seconds) || seconds < 0 || seconds > 1e9)
    return badValue(variable, text);
  milliseconds = static_cast<uint64_t>(std::ceil(seconds * 1000));
  return {};
}

} // namespace nxrt
