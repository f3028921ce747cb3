// An executable as bytes: header, FlatBuffer and segments, verified. Needs no device, so tools that
// only look at files use it too.
#ifndef NXRT_LOADER_EXECUTABLE_FILE_H
#define NXRT_LOADER_EXECUTABLE_FILE_H

#include "runtime/platform/pages.h"
#include "runtime/platform/status.h"
#include "runtime/schema/executable_generated.h"
#include "runtime/schema/nxe_format.h"

#include <memory>
#include <span>
#include <string>

namespace nxrt {

class ExecutableFile {
public:
  enum class Weights {
    Trust, // weight segments are mapped and not read: a load takes milliseconds at any size
    Verify // their checksums are verified as well
  };

  /// Maps a file and verifies everything in it. Errors name the file.
  static Status open(const char *path, Weights weights, std::unique_ptr<ExecutableFile> &file);
  /// The same over bytes in memory, aligned to 64, that outlive the result.
  static Status borrow(const void *bytes, size_t size, Weights weights,
                       std::unique_ptr<ExecutableFile> &file);
  /// The same over a copy of the bytes, of any alignment.
  static Status copy(const void *bytes, size_t size, Weights weights,
                     std::unique_ptr<ExecutableFile> &file);

  const std::string &path() const { return filePath; } // "" when the bytes came from memory
  size_t size() const { return bytes.size(); }
  const NxeHeader &header() const { return fileHeader; }
  /// The root table. All of its fields keep the promises listed in program_verifier.h.
  const nx::fb::Executable &root() const { return *executable; }
  /// The bytes of a segment of the table.
  std::span<const std::byte> segment(uint32_t index) const;

private:
  ExecutableFile() = default;
  Status verify(Weights weights);
  Status verifyHeader();
  Status verifySegments(Weights weights);

  std::string filePath;
  Pages pages; // owns the bytes unless they are borrowed
  std::span<const std::byte> bytes;
  NxeHeader fileHeader = {};
  const nx::fb::Executable *executable = nullptr;
};

} // namespace nxrt

#endif // NXRT_LOADER_EXECUTABLE_FILE_H
