//===- SegmentWriter.cpp - The file that an executable is written to ------===//

#include "compiler/emit/SegmentWriter.h"
#include "llvm/Support/MathExtras.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace llvm;
using namespace nx;

static constexpr size_t kBufferBytes = 1 << 20;

struct SegmentWriter::Hash {
  XXH3_state_t state;
};

SegmentWriter::SegmentWriter(std::string path, std::string temporary, int fd)
    : path(std::move(path)), temporary(std::move(temporary)), fd(fd),
      hash(std::make_unique<Hash>()) {
  buffer.reserve(kBufferBytes);
}

SegmentWriter::~SegmentWriter() {
  if (fd >= 0)
    ::close(fd);
  if (!committed)
    ::unlink(temporary.c_str());
}

Error SegmentWriter::systemError(StringRef what) {
  return createStringError(std::error_code(errno, std::generic_category()),
                           "cannot " + what.str() + " '" + path + "': " + std::strerror(errno));
}

Expected<std::unique_ptr<SegmentWriter>> SegmentWriter::create(StringRef path,
                                                               uint64_t headerSize) {
  std::string temporary = (path + ".XXXXXX").str();
  int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0)
    return createStringError(std::error_code(errno, std::generic_category()),
                             "cannot create the output file '" + path.str() +
                                 "': " + std::strerror(errno) +
                                 "; check that its folder exists and is writable");
  std::unique_ptr<SegmentWriter> writer(new SegmentWriter(path.str(), temporary, fd));
  if (Error error = writer->writeAll(std::vector<char>(headerSize).data(), headerSize))
    return error;
  return writer;
}

Error SegmentWriter::flush() {
  const char *data = buffer.data();
  size_t left = buffer.size();
  while (left > 0) {
    ssize_t n = ::write(fd, data, left);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError("write to");
    data += n;
    left -= n;
  }
  buffer.clear();
  return Error::success();
}

Error SegmentWriter::writeAll(const char *data, size_t size) {
  position += size;
  while (size > 0) {
    size_t n = std::min(size, kBufferBytes - buffer.size());
    buffer.insert(buffer.end(), data, data + n);
    data += n;
    size -= n;
    if (buffer.size() == kBufferBytes)
      if (Error error = flush())
        return error;
  }
  return Error::success();
}

Error SegmentWriter::beginSegment(StringRef name, uint64_t alignment) {
  std::vector<char> padding(offsetToAlignment(position, Align(alignment)));
  if (Error error = writeAll(padding.data(), padding.size()))
    return error;
  segments.push_back({name.str(), position, 0, 0});
  XXH3_64bits_reset(&hash->state);
  return Error::success();
}

Error SegmentWriter::write(ArrayRef<char> bytes) {
  XXH3_64bits_update(&hash->state, bytes.data(), bytes.size());
  return writeAll(bytes.data(), bytes.size());
}

Expected<uint64_t> SegmentWriter::alignWithin(uint64_t alignment) {
  std::vector<char> padding(offsetToAlignment(offsetWithin(), Align(alignment)));
  if (Error error = write(padding))
    return error;
  return offsetWithin();
}

void SegmentWriter::endSegment() {
  segments.back().size = offsetWithin();
  segments.back().checksum = XXH3_64bits_digest(&hash->state);
}

Error SegmentWriter::commit(ArrayRef<char> header) {
  if (Error error = flush())
    return error;
  if (::pwrite(fd, header.data(), header.size(), 0) != ssize_t(header.size()))
    return systemError("write to");
  // mkostemp makes private files; an executable is an ordinary one.
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(fd, 0666 & ~mask) != 0)
    return systemError("set the mode of");
  if (::close(fd) != 0) {
    fd = -1;
    return systemError("close");
  }
  fd = -1;
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return systemError("give the output its name");
  committed = true;
  return Error::success();
}
