// Native code from an executable, in memory and ready to call.
//
// A code image is a closed ELF shared object in a subset of the format: loadable segments that are
// not writable and executable at once, relative relocations, one entry point that returns the table
// of kernels (kernel_abi.h). Everything else is refused: imports, constructors, thread-local
// storage, interpreters. The bytes are copied into anonymous memory, so they may lie anywhere in a
// file on any file system, and neither dlopen nor a linker is needed.
#ifndef NXRT_LOADER_CODE_IMAGE_H
#define NXRT_LOADER_CODE_IMAGE_H

#include "nxrt/kernel_abi.h"
#include "runtime/loader/executable_file.h"
#include "runtime/platform/status.h"

#include <cstddef>
#include <span>
#include <vector>

namespace nxrt {

class CodeImage {
public:
  CodeImage() = default;
  CodeImage(const CodeImage &) = delete;
  CodeImage &operator=(const CodeImage &) = delete;
  ~CodeImage();

  /// Loads an image that must hold `kernelCount` kernels: map, then bind.
  Status load(std::span<const std::byte> image, uint32_t kernelCount);
  /// Copies the image into memory, relocates and protects it. Runs none of its code.
  Status map(std::span<const std::byte> image);
  /// Asks the mapped image for its kernels, which runs its entry point.
  Status bind(uint32_t kernelCount);

  const nxrt_kernel &kernel(uint32_t index) const { return kernels[index]; }
  uint32_t kernelCount() const { return count; }

  /// Appends the kernels' addresses and names to /tmp/perf-PID.map, for `perf`.
  void writePerfMap(const nx::fb::Executable &executable) const;

private:
  struct Segment {
    size_t begin, end;    // pages, relative to the base
    size_t address, size; // bytes in use
    bool writable, executable;
  };
  Status mapSegments(std::span<const std::byte> image);
  Status relocate();
  Status protect();
  bool isCode(const void *address) const;
  bool isData(const void *address, size_t size) const;
  const Segment *segmentOf(size_t address, size_t size) const;

  std::byte *base = nullptr;
  size_t span = 0;
  std::vector<Segment> segments;
  size_t entry = 0;
  size_t dynamic = 0, dynamicSize = 0;
  const nxrt_kernel *kernels = nullptr;
  uint32_t count = 0;
};

/// Picks the code object for this machine: of those whose kernel ABI, architecture and features it
/// has, the one of highest priority. The error lists what the file has and what the machine lacks.
Status selectCode(const nx::fb::Executable &executable, uint32_t &index);

} // namespace nxrt

#endif // NXRT_LOADER_CODE_IMAGE_H
