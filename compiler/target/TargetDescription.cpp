#include "compiler/target/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <string>

using llvm::StringRef;

namespace nx {

// The loader's words. /proc/cpuinfo calls lzcnt "abm".
static constexpr StringRef kX86V3[] = {"avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"};
static constexpr StringRef kX86V4[] = {"avx2",     "fma",      "f16c",     "bmi1",
                                       "bmi2",     "movbe",    "abm",      "avx512f",
                                       "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
static constexpr StringRef kArmV8[] = {"fp", "asimd"};

// 6x16 in 16 ymm registers: 12 accumulators, 2 of B, 1 broadcast. 14x32 in 32 zmm registers: 28 + 2
// + 1. 6x16 in 32 NEON registers: 24 accumulators, 4 of B; `fmla` takes A by element.
static constexpr TargetDescription kTargets[] = {
    {.name = "armv8-a",
     .arch = Arch::AArch64,
     .triple = "aarch64-unknown-linux-gnu",
     .cpu = "generic",
     .features = "+neon",
     .loaderFeatures = kArmV8,
     .priority = 1,
     .vectorLanes = 4,
     .vectorRegisters = 32,
     .maskedMemoryOps = false,
     .l1Bytes = 32 << 10,
     .l2Bytes = 512 << 10,
     .mr = 6,
     .nr = 16},
    {.name = "x86-64-v3",
     .arch = Arch::X86_64,
     .triple = "x86_64-unknown-linux-gnu",
     .cpu = "x86-64-v3",
     .features = "",
     .loaderFeatures = kX86V3,
     .priority = 3,
     .vectorLanes = 8,
     .vectorRegisters = 16,
     .maskedMemoryOps = true,
     .l1Bytes = 32 << 10,
     .l2Bytes = 512 << 10,
     .mr = 6,
     .nr = 16},
    {.name = "x86-64-v4",
     .arch = Arch::X86_64,
     .triple = "x86_64-unknown-linux-gnu",
     .cpu = "x86-64-v4",
     .features = "",
     .loaderFeatures = kX86V4,
     .priority = 4,
     .vectorLanes = 16,
     .vectorRegisters = 32,
     .maskedMemoryOps = true,
     .l1Bytes = 32 << 10,
     .l2Bytes = 1 << 20,
     .mr = 14,
     .nr = 32},
};

llvm::ArrayRef<TargetDescription> knownTargets() { return kTargets; }

bool canRunHere(const TargetDescription &target) {
  llvm::Triple host(llvm::sys::getProcessTriple());
  if (target.arch == Arch::AArch64)
    return host.isAArch64() && host.isLittleEndian();
  if (host.getArch() != llvm::Triple::x86_64)
    return false;
  // LLVM's names differ from cpuinfo's in two places.
  llvm::StringMap<bool> have = llvm::sys::getHostCPUFeatures();
  return llvm::all_of(target.loaderFeatures, [&](StringRef feature) {
    StringRef name = feature == "bmi1" ? "bmi" : feature == "abm" ? "lzcnt" : feature;
    return have.lookup(name);
  });
}

llvm::Expected<const TargetDescription *> lookupTarget(StringRef name) {
  if (name == "native") {
    const TargetDescription *best = nullptr;
    for (const TargetDescription &target : kTargets)
      if (canRunHere(target) && (!best || target.priority > best->priority))
        best = &target;
    if (best)
      return best;
    return llvm::createStringError("this machine can run none of the known targets; the lowest "
                                   "are x86-64-v3 (AVX2 and FMA) and armv8-a (NEON)");
  }
  if (name == "aarch64")
    name = "armv8-a";
  for (const TargetDescription &target : kTargets)
    if (target.name == name)
      return &target;
  std::string known = llvm::join(
      llvm::map_range(kTargets, [](const TargetDescription &t) { return t.name.str(); }), ", ");
  return llvm::createStringError("unknown target CPU '" + name.str() + "'; known: native, " +
                                 known);
}

} // namespace nx
