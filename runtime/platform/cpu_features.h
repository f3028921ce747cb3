// What instructions this machine has, by name.
#ifndef NXRT_PLATFORM_CPU_FEATURES_H
#define NXRT_PLATFORM_CPU_FEATURES_H

#include <string>
#include <string_view>

namespace nxrt {

/// Whether the processor has a feature and the operating system lets programs use it. Takes the
/// names of /proc/cpuinfo and those of LLVM ("avx512_vnni", "avx512vnni"; "asimddp", "dotprod"). A
/// name that the runtime does not know is a feature that the machine does not have.
bool machineHas(std::string_view feature);

/// The known features that the machine has, for messages: "avx2 fma ...".
std::string machineFeatures();

/// "x86_64" or "aarch64".
const char *machineArch();

} // namespace nxrt

#endif // NXRT_PLATFORM_CPU_FEATURES_H
