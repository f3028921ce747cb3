// The environment variables of the runtime, in one table. docs/runtime-environment.md is written
// from it.
#ifndef NXRT_PLATFORM_ENVIRONMENT_H
#define NXRT_PLATFORM_ENVIRONMENT_H

#include "runtime/platform/status.h"

#include <cstdint>
#include <span>

namespace nxrt {

enum class Variable : uint8_t {
  VisibleCores,
  NumCores,
  ThreadsPerCore,
  ShareCores,
  PinThreads,
  SpinMicroseconds,
  CoreMemory,
  ExecTimeout,
  VerifyWeights,
  LogLevel,
  LogLocation,
  PerfMap,
  RuntimeDir,
};

struct VariableInfo {
  Variable variable;
  const char *name;
  const char *values;       // what may be written
  const char *defaultValue; // in words
  const char *meaning;
};

/// All variables, in the order of the enumeration.
std::span<const VariableInfo> environmentTable();

/// The variable's text, or null when it is unset or empty.
const char *variableText(Variable variable);

/// Read a variable and leave `value` alone when it is unset. Errors name the variable and its
/// values. Sizes take the suffixes K, M, G, T (powers of 1024); seconds may have a fraction.
Status readNumber(Variable variable, uint64_t minimum, uint64_t maximum, uint64_t &value);
Status readSwitch(Variable variable, bool &value);
Status readSize(Variable variable, uint64_t &bytes);
Status readSeconds(Variable variable, uint64_t &milliseconds);

} // namespace nxrt

#endif // NXRT_PLATFORM_ENVIRONMENT_H
