// What code generation must know about an instruction-set level, and the table of the levels we
// have.
#ifndef NX_TARGET_TARGETDESCRIPTION_H
#define NX_TARGET_TARGETDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>

namespace nx {

// Numbered as `Arch` of runtime/schema/executable.fbs.
enum class Arch : uint8_t { X86_64 = 0, AArch64 = 1 };

// One instruction-set level. All strings and lists have static storage.
struct TargetDescription {
  llvm::StringRef name; // the name in the executable and on the command line: "x86-64-v3"
  Arch arch;
  llvm::StringRef triple;
  llvm::StringRef cpu;      // LLVM's CPU name
  llvm::StringRef features; // LLVM's feature string, on top of what `cpu` implies

  // What the loader asks the machine for, in the words of /proc/cpuinfo.
  llvm::ArrayRef<llvm::StringRef> loaderFeatures;
  // Of several code objects that match a machine, the one with the highest priority runs.
  uint32_t priority;

  int64_t vectorLanes;     // f32 lanes of one vector register
  int64_t vectorRegisters; // architectural vector registers
  bool maskedMemoryOps;    // masked loads and stores are single instructions

  // Sizes that blocking is planned for: a typical core of the level, not its largest.
  int64_t l1Bytes;
  int64_t l2Bytes;

  // The register tile of a contraction: mr rows by nr columns of f32 accumulators in registers.
  // nr is a multiple of vectorLanes and of kPanelWidth.
  int64_t mr;
  int64_t nr;
};

// Every target, in order of name.
llvm::ArrayRef<TargetDescription> knownTargets();

// The target called `name`; "native" is the best one that this machine can run. The error lists the
// known names.
llvm::Expected<const TargetDescription *> lookupTarget(llvm::StringRef name);

// Whether this machine can run code of `target`.
bool canRunHere(const TargetDescription &target);

} // namespace nx

#endif // NX_TARGET_TARGETDESCRIPTION_H
