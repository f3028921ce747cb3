//===- SegmentWriter.h - The file that an executable is written to --------===//
#ifndef NX_COMPILER_EMIT_SEGMENTWRITER_H
#define NX_COMPILER_EMIT_SEGMENTWRITER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace nx {

/// A byte range of the file.
struct SegmentRecord {
  std::string name;
  uint64_t offset, size, checksum;
};

/// Writes a file front to back in segments, under a temporary name until commit().
class SegmentWriter {
public:
  /// Opens the temporary file beside `path` and leaves room for a header of `headerSize` bytes.
  static llvm::Expected<std::unique_ptr<SegmentWriter>> create(llvm::StringRef path,
                                                               uint64_t headerSize);
  ~SegmentWriter(); // removes the temporary file unless commit() was called

  llvm::Error beginSegment(llvm::StringRef name, uint64_t alignment);
  llvm::Error write(llvm::ArrayRef<char> bytes);
  /// Pads the segment with zeros to a multiple of `alignment`; returns the offset within it.
  llvm::Expected<uint64_t> alignWithin(uint64_t alignment);
  uint64_t offsetWithin() const { return position - segments.back().offset; }
  void endSegment();

  llvm::ArrayRef<SegmentRecord> records() const { return segments; }
  uint64_t size() const { return position; }

  /// Writes the header, makes the file durable and gives it its name.
  llvm::Error commit(llvm::ArrayRef<char> header);

private:
  SegmentWriter(std::string path, std::string temporary, int fd);
  llvm::Error writeAll(const char *data, size_t size);
  llvm::Error flush();
  llvm::Error systemError(llvm::StringRef what);

  std::string path, temporary;
  int fd;
  bool committed = false;
  uint64_t position = 0;
  std::vector<char> buffer;
  std::vector<SegmentRecord> segments;
  struct Hash; // of the segment being written
  std::unique_ptr<Hash> hash;
};

} // namespace nx
#endif // NX_COMPILER_EMIT_SEGMENTWRITER_H
