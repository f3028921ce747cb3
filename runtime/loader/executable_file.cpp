#include "runtime/loader/executable_file.h"

#include "runtime/loader/program_verifier.h"
#include "runtime/platform/checksum.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

static_assert(std::endian::native == std::endian::little, "executables are little-endian");

namespace nxrt {

static constexpr const char *kRemedy = "Copy the file again or recompile the model.";

static Status named(const std::string &path, const Status &status) {
  if (status.ok() || path.empty())
    return status;
  return Status(status.code(), path + ": " + status.message());
}

Status ExecutableFile::open(const char *path, Weights weights,
                            std::unique_ptr<ExecutableFile> &file) {
  // Without O_NONBLOCK a named pipe would hold us up until somebody writes to it.
  int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return makeError(NXRT_IO_ERROR, "%s: cannot be opened: %s. Check the path and its permissions.",
                     path, errnoText(errno).c_str());
  std::unique_ptr<ExecutableFile> opened(new ExecutableFile);
  opened->filePath = path;
  Status status;
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    status = makeError(NXRT_IO_ERROR, "cannot be examined: %s", errnoText(errno).c_str());
  else if (!S_ISREG(info.st_mode))
    status = makeError(NXRT_IO_ERROR, "is not a regular file. Give the path of a .nxe file.");
  else if (info.st_size > 0)
    status = opened->pages.mapFile(descriptor, static_cast<size_t>(info.st_size));
  ::close(descriptor);
  if (status.ok()) {
    opened->bytes = {opened->pages.data(), opened->pages.size()};
    status = opened->verify(weights);
  }
  if (!status.ok())
    return named(opened->filePath, status);
  file = std::move(opened);
  return {};
}

Status ExecutableFile::borrow(const void *bytes, size_t size, Weights weights,
                              std::unique_ptr<ExecutableFile> &file) {
  if (reinterpret_cast<uintptr_t>(bytes) % kNxeParamAlign != 0)
    return makeError(NXRT_INVALID_ARGUMENT,
                     "the executable's bytes are not aligned to 64. Align them, or let the runtime "
                     "copy them.");
  std::unique_ptr<ExecutableFile> opened(new ExecutableFile);
  opened->bytes = {static_cast<const std::byte *>(bytes), size};
  NXRT_TRY(opened->verify(weights));
  file = std::move(opened);
  return {};
}

Status ExecutableFile::copy(const void *bytes, size_t size, Weights weights,
                            std::unique_ptr<ExecutableFile> &file) {
  std::unique_ptr<ExecutableFile> opened(new ExecutableFile);
  NXRT_TRY(opened->pages.allocate(size));
  if (size)
    std::memcpy(opened->pages.data(), bytes, size);
  opened->bytes = {opened->pages.data(), size};
  NXRT_TRY(opened->verify(weights));
  file = std::move(opened);
  return {};
}

std::span<const std::byte> ExecutableFile::segment(uint32_t index) const {
  const nx::fb::Segment &segment = *executable->segments()->Get(index);
  return bytes.subspan(segment.offset(), segment.size());
}

Status ExecutableFile::verifyHeader() {
  if (bytes.size() < sizeof(NxeHeader)) {
    return makeError(NXRT_INVALID_FILE,
                     "the file has %zu bytes, fewer than an executable's header of %zu. It is "
                     "truncated or not an .nxe file. %s",
                     bytes.size(), sizeof(NxeHeader), kRemedy);
  }
  std::memcpy(&fileHeader, bytes.data(), sizeof fileHeader);
  const NxeHeader &header = fileHeader;
  if (std::memcmp(header.magic, kNxeMagic, sizeof kNxeMagic) != 0)
    return makeError(
        NXRT_INVALID_FILE,
        "the file does not begin with the mark of an executable. Give a file that nxcc "
        "wrote (.nxe).");
  if (header.major != kNxeMajor)
    return makeError(NXRT_UNSUPPORTED,
                     "the file has format version %u.%u; this libnxrt reads major version %u. "
                     "Recompile the model with the nxcc that belongs to this libnxrt.",
                     header.major, header.minor, kNxeMajor);
  uint64_t sum = checksum(bytes.data(), offsetof(NxeHeader, headerChecksum));
  if (sum != header.headerChecksum)
    return makeError(NXRT_INVALID_FILE,
                     "the header is corrupted (checksum %016llx, recorded %016llx). %s",
                     static_cast<unsigned long long>(sum),
                     static_cast<unsigned long long>(header.headerChecksum), kRemedy);
  if (header.headerSize < sizeof(NxeHeader) || header.headerSize > header.flatbufferOffset)
    return makeError(NXRT_INVALID_FILE,
                     "the header gives itself %u bytes, which is not between %zu and the start of "
                     "the program. %s",
                     header.headerSize, sizeof(NxeHeader), kRemedy);
  if (header.totalSize > bytes.size())
    return makeError(NXRT_INVALID_FILE, "the file is truncated: it has %zu of %llu bytes. %s",
                     bytes.size(), static_cast<unsigned long long>(header.totalSize), kRemedy);
  if (header.totalSize < bytes.size())
    return makeError(NXRT_INVALID_FILE,
                     "the file has %zu bytes but ends, by its header, at %llu. Something was "
                     "appended. %s",
                     bytes.size(), static_cast<unsigned long long>(header.totalSize), kRemedy);
  if (header.flatbufferOffset % 8 != 0 || header.flatbufferOffset > header.totalSize ||
      header.flatbufferSize > header.totalSize - header.flatbufferOffset ||
      header.flatbufferSize >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return makeError(NXRT_INVALID_FILE,
                     "the header places the program at %llu, %llu bytes, which is not an aligned "
                     "range of the file. %s",
                     static_cast<unsigned long long>(header.flatbufferOffset),
                     static_cast<unsigned long long>(header.flatbufferSize), kRemedy);
  return {};
}

/// Whether all of [begin, end) is zero.
static bool isZero(std::span<const std::byte> bytes, uint64_t begin, uint64_t end) {
  return std::all_of(bytes.begin() + begin, bytes.begin() + end,
                     [](std::byte byte) { return byte == std::byte{0}; });
}

Status ExecutableFile::verifySegments(Weights weights) {
  const auto *table = executable->segments();
  uint32_t count = table ? table->size() : 0;
  std::vector<bool> holdsWeights(count, false);
  if (const auto *params = executable->params())
    for (const nx::fb::Param *param : *params)
      for (const nx::fb::ParamPart *part : *param->parts())
        holdsWeights[part->segment()] = true;

  struct Range {
    uint64_t begin, end;
    const char *name;
  };
  std::vector<Range> ranges;
  const NxeHeader &header = fileHeader;
  ranges.push_back({0, header.headerSize, "header"});
  ranges.push_back(
      {header.flatbufferOffset, header.flatbufferOffset + header.flatbufferSize, "program"});
  for (uint32_t i = 0; i < count; ++i) {
    const nx::fb::Segment &segment = *table->Get(i);
    const char *name = segment.name()->c_str();
    if (segment.offset() % kNxeSegmentAlign != 0 || segment.offset() > bytes.size() ||
        segment.size() > bytes.size() - segment.offset())
      return makeError(NXRT_INVALID_FILE,
                       "segment \"%s\" lies at %llu, %llu bytes, which is not an aligned range of "
                       "the file. %s",
                       name, static_cast<unsigned long long>(segment.offset()),
                       static_cast<unsigned long long>(segment.size()), kRemedy);
    ranges.push_back({segment.offset(), segment.offset() + segment.size(), name});
  }

  // What lies between the parts is padding, and zero, so that no byte of a file is free to change.
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t end = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin < end)
      return makeError(NXRT_INVALID_FILE, "\"%s\" overlaps \"%s\" in the file. %s", ranges[i].name,
                       ranges[i - 1].name, kRemedy);
    if (!isZero(bytes, end, ranges[i].begin))
      return makeError(NXRT_INVALID_FILE, "the padding before \"%s\" is not zero. %s",
                       ranges[i].name, kRemedy);
    end = ranges[i].end;
  }
  if (!isZero(bytes, end, bytes.size()))
    return makeError(NXRT_INVALID_FILE, "the padding at the end of the file is not zero. %s",
                     kRemedy);

  for (uint32_t i = 0; i < count; ++i) {
    if (holdsWeights[i] && weights == Weights::Trust)
      continue;
    const nx::fb::Segment &segment = *table->Get(i);
    uint64_t sum = checksum(bytes.data() + segment.offset(), segment.size());
    if (sum != segment.checksum())
      return makeError(NXRT_INVALID_FILE,
                       "segment \"%s\" is corrupted (checksum %016llx, recorded %016llx). %s",
                       segment.name()->c_str(), static_cast<unsigned long long>(sum),
                       static_cast<unsigned long long>(segment.checksum()), kRemedy);
  }
  return {};
}

Status ExecutableFile::verify(Weights weights) {
  NXRT_TRY(verifyHeader());
  const auto *buffer =
      reinterpret_cast<const uint8_t *>(bytes.data()) + fileHeader.flatbufferOffset;
  size_t size = fileHeader.flatbufferSize;
  uint64_t sum = checksum(buffer, size);
  if (sum != fileHeader.flatbufferChecksum)
    return makeError(NXRT_INVALID_FILE,
                     "the program is corrupted (checksum %016llx, recorded %016llx). %s",
                     static_cast<unsigned long long>(sum),
                     static_cast<unsigned long long>(fileHeader.flatbufferChecksum), kRemedy);

  constexpr flatbuffers::uoffset_t maxDepth = 16; // the schema nests five tables
  flatbuffers::Verifier verifier(buffer, size, maxDepth,
                                 static_cast<flatbuffers::uoffset_t>(size / 4));
  if (!nx::fb::VerifyExecutableBuffer(verifier))
    return makeError(NXRT_INVALID_FILE, "the program's tables are malformed. %s", kRemedy);
  executable = nx::fb::GetExecutable(buffer);
  NXRT_TRY(verifyExecutable(*executable));
  return verifySegments(weights);
}

} // namespace nxrt
