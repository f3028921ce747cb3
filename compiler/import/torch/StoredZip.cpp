//===- StoredZip.cpp - Zip files whose entries are stored as they are -----===//
//
// The layout: APPNOTE.TXT of PKWARE, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 and
// 4.3.15 (zip64 end), 4.3.16 (end), 4.5.3 (zip64 extra field).
//
//===----------------------------------------------------------------------===//

#include "compiler/import/torch/StoredZip.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"

using namespace nx::torch;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50, kEnd = 0x06054b50,
                   kZip64End = 0x06064b50, kZip64Locator = 0x07064b50;
constexpr size_t kLocalHeaderBytes = 30, kDirectoryEntryBytes = 46, kEndBytes = 22, kZip64EndBytes = 56,
                 kZip64LocatorBytes = 20;

/// Little-endian numbers at a place that the caller has shown to be inside.
uint16_t u16(StringRef bytes, size_t at) { return llvm::support::endian::read16le(bytes.data() + at); }
uint32_t u32(StringRef bytes, size_t at) { return llvm::support::endian::read32le(bytes.data() + at); }
uint64_t u64(StringRef bytes, size_t at) { return llvm::support::endian::read64le(bytes.data() + at); }

/// Where the directory is.
struct Directory {
  uint64_t offset, size, count;
};

/// Finds the end record: the last one whose comment reaches exactly to the end of the file.
Expected<Directory> findDirectory(StringRef file) {
  if (file.size() < kEndBytes)
    return createStringError("the file is too short for a zip archive");
  size_t end = file.size() - kEndBytes, first = end > 0xffff ? end - 0xffff : 0;
  while (u32(file, end) != kEnd || end + kEndBytes + u16(file, end + 20) != file.size())
    if (end-- == first)
      return createStringError("the zip archive has no end record: the file is cut off or damaged");
  if (u16(file, end + 4) != 0 || u16(file, end + 6) != 0 || u16(file, end + 8) != u16(file, end + 10)) {
    // 0xffff in these fields says that zip64's record has them.
    bool isZip64 = u16(file, end + 8) == 0xffff || u16(file, end + 4) == 0xffff;
    if (!isZip64)
      return createStringError("the zip archive is spread over several files");
  }
  Directory directory{u32(file, end + 16), u32(file, end + 12), u16(file, end + 10)};
  bool needsZip64 = directory.offset == 0xffffffff || directory.size == 0xffffffff || directory.count == 0xffff;
  uint64_t limit = end;
  if (end >= kZip64LocatorBytes && u32(file, end - kZip64LocatorBytes) == kZip64Locator) {
    size_t locator = end - kZip64LocatorBytes;
    uint64_t at = u64(file, locator + 8);
    if (locator < kZip64EndBytes || at > locator - kZip64EndBytes || u32(file, at) != kZip64End)
      return createStringError("the zip64 end record is not where its locator says");
    if (u32(file, locator + 4) != 0 || u32(file, locator + 16) > 1 || u32(file, at + 16) != 0 || u32(file, at + 20) != 0)
      return createStringError("the zip archive is spread over several files");
    directory = {u64(file, at + 48), u64(file, at + 40), u64(file, at + 32)};
    limit = at;
  } else if (needsZip64) {
    return createStringError("the zip archive needs a zip64 end record and has none");
  }
  if (directory.size > limit || directory.offset > limit - directory.size)
    return createStringError("the directory of the zip archive lies outside the file");
  if (directory.count > directory.size / kDirectoryEntryBytes)
    return createStringError("the zip archive says it has " + Twine(directory.count) + " entries, its directory has room for " +
                             Twine(directory.size / kDirectoryEntryBytes));
  return directory;
}

/// Names are data from somebody else: they must be plain relative paths.
Error checkName(StringRef name) {
  auto wrong = [&](const Twine &why) {
    std::string shown;
    llvm::raw_string_ostream os(shown);
    os.write_escaped(name.take_front(200));
    return createStringError("the zip archive has an entry '" + shown + "': " + why);
  };
  if (name.empty())
    return wrong("the name is empty");
  if (name.size() > 4096)
    return wrong("the name has " + Twine(name.size()) + " bytes");
  if (name.contains('\0') || name.contains('\\') || name.contains(':'))
    return wrong("the name has a character that paths of an archive may not have");
  if (name.front() == '/')
    return wrong("the name is an absolute path");
  llvm::SmallVector<StringRef> parts;
  name.split(parts, '/');
  for (StringRef part : parts)
    if (part == ".." || part == "." || part.empty())
      return wrong("the name is not a plain relative path");
  return Error::success();
}

/// Replaces sizes and offset that the zip64 extra field has.
Error readZip64(StringRef extra, uint64_t &size, uint64_t &stored, uint64_t &offset) {
  while (extra.size() >= 4) {
    size_t length = u16(extra, 2);
    if (length > extra.size() - 4)
      return createStringError("an extra field is cut off");
    StringRef body = extra.substr(4, length);
    if (u16(extra, 0) == 1) {
      for (uint64_t *value : {&size, &stored, &offset}) {
        if (*value != 0xffffffff)
          continue;
        if (body.size() < 8)
          return createStringError("the zip64 extra field is too short");
        *value = u64(body, 0);
        body = body.drop_front(8);
      }
      return Error::success();
    }
    extra = extra.drop_front(4 + length);
  }
  return Error::success();
}

} // namespace

Expected<StoredZip> StoredZip::open(StringRef file) {
  Expected<Directory> directory = findDirectory(file);
  if (!directory)
    return directory.takeError();
  StoredZip zip;
  zip.all.reserve(directory->count);
  StringRef rest = file.substr(directory->offset, directory->size);
  struct Extent {
    uint64_t begin, end;
    StringRef name;
  };
  std::vector<Extent> extents;
  for (uint64_t i = 0; i < directory->count; ++i) {
    if (rest.size() < kDirectoryEntryBytes || u32(rest, 0) != kDirectoryEntry)
      return createStringError("entry " + Twine(i) + " of the zip archive's directory is cut off or damaged");
    size_t nameBytes = u16(rest, 28), extraBytes = u16(rest, 30), commentBytes = u16(rest, 32);
    size_t length = kDirectoryEntryBytes + nameBytes + extraBytes + commentBytes;
    if (length > rest.size())
      return createStringError("entry " + Twine(i) + " of the zip archive's directory is cut off");
    StringRef name = rest.substr(kDirectoryEntryBytes, nameBytes);
    if (Error error = checkName(name))
      return error;
    auto wrong = [&](const Twine &why) { return createStringError("entry '" + name + "' of the zip archive " + why); };
    uint16_t flags = u16(rest, 8), method = u16(rest, 10);
    uint64_t stored = u32(rest, 20), size = u32(rest, 24), offset = u32(rest, 42);
    if (flags & 0x2041) // encrypted, strongly encrypted, masked header
      return wrong("is encrypted");
    if (method != 0)
      return wrong("is compressed (method " + Twine(method) + "); nx maps tensors in place and reads stored entries only");
    if (Error error = readZip64(rest.substr(kDirectoryEntryBytes + nameBytes, extraBytes), size, stored, offset))
      return wrong("is damaged: " + toString(std::move(error)));
    if (size != stored)
      return wrong("is stored but has two sizes, " + Twine(stored) + " and " + Twine(size));

    // The local header must agree: other readers may go by it.
    uint64_t limit = directory->offset;
    if (limit < kLocalHeaderBytes || offset > limit - kLocalHeaderBytes)
      return wrong("lies outside the file");
    if (u32(file, offset) != kLocalHeader)
      return wrong("has no header where the directory says");
    uint64_t localName = u16(file, offset + 26), localExtra = u16(file, offset + 28);
    uint64_t begin = offset + kLocalHeaderBytes + localName + localExtra;
    if (begin > limit || size > limit - begin)
      return wrong("lies outside the file");
    if (file.substr(offset + kLocalHeaderBytes, localName) != name || u16(file, offset + 8) != method)
      return wrong("has a header that differs from the directory");

    extents.push_back({offset, begin + size, name});
    if (!zip.byName.try_emplace(name, zip.all.size()).second)
      return wrong("is there twice");
    zip.all.push_back({name, file.substr(begin, size), u32(rest, 16)});
    rest = rest.drop_front(length);
  }
  llvm::sort(extents, [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < extents.size(); ++i)
    if (extents[i].begin < extents[i - 1].end)
      return createStringError("entries '" + extents[i - 1].name + "' and '" + extents[i].name +
                               "' of the zip archive overlap");
  return zip;
}

const StoredZip::Entry *StoredZip::find(StringRef name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &all[it->second];
}

Expected<StringRef> StoredZip::read(StringRef name) const {
  const Entry *entry = find(name);
  if (!entry)
    return createStringError("the archive has no entry '" + name + "'");
  if (llvm::crc32(llvm::arrayRefFromStringRef(entry->bytes)) != entry->checksum)
    return createStringError("entry '" + name + "' of the archive has a wrong checksum: the file is damaged");
  return entry->bytes;
}
