#include "tools/common/Npz.h"
#include "tools/common/Files.h"
#include "tools/common/Refusal.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <zlib.h>

namespace nxtool {
namespace {

// Signatures and fixed sizes of the ZIP records (APPNOTE.TXT 4.3).
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                 kEnd64LocatorSize = 20;
constexpr uint16_t kZip64Extra = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint64_t kMax32 = 0xffffffff;
// Deflate cannot do better than this: a member that claims more is a lie, found before allocating.
constexpr uint64_t kMaxDeflateRatio = 1032;

struct Member {
  std::string name;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t storedSize = 0, size = 0, localOffset = 0;
};

class ZipReader {
public:
  ZipReader(std::span<const std::byte> bytes, const std::string &name) : bytes(bytes), name(name) {}

  std::vector<Member> members() {
    uint64_t count = 0, at = 0;
    findDirectory(count, at);
    if (count > bytes.size() / kCentralSize)
      fail("its directory claims more members than it can hold");
    std::vector<Member> result;
    uint64_t stored = 0; // members that share bytes would let a small file fill the memory
    for (uint64_t i = 0; i < count; ++i) {
      result.push_back(member(at));
      if (__builtin_add_overflow(stored, result.back().storedSize, &stored) || stored > bytes.size())
        fail("its members are larger than the file");
    }
    return result;
  }

  std::vector<std::byte> extract(const Member &member) {
    need(member.localOffset, kLocalSize);
    if (get32(member.localOffset) != kLocalSignature)
      fail("member '" + member.name + "' is not where the directory says");
    uint64_t dataAt = member.localOffset + kLocalSize + get16(member.localOffset + 26) +
                      get16(member.localOffset + 28);
    need(dataAt, member.storedSize);
    std::span<const std::byte> stored = bytes.subspan(dataAt, member.storedSize);
    std::vector<std::byte> data = member.method == kStored ? store(member, stored)
                                                           : inflated(member, stored);
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef *>(data.data()), data.size());
    if (crc != member.crc)
      fail("the checksum of member '" + member.name + "' is wrong: the file is damaged");
    return data;
  }

private:
  [[noreturn]] void fail(const std::string &why) {
    throw Refusal(name + " is not a readable .npz archive: " + why);
  }
  void need(uint64_t at, uint64_t size) {
    if (at > bytes.size() || size > bytes.size() - at)
      fail("it is truncated");
  }
  uint64_t get(uint64_t at, unsigned width) {
    need(at, width);
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, width); // little-endian hosts only, as the runtime
    return value;
  }
  uint16_t get16(uint64_t at) { return static_cast<uint16_t>(get(at, 2)); }
  uint32_t get32(uint64_t at) { return static_cast<uint32_t>(get(at, 4)); }
  uint64_t get64(uint64_t at) { return get(at, 8); }

  /// The end record lies at the very end, but for a comment of at most 64 KiB.
  void findDirectory(uint64_t &count, uint64_t &offset) {
    if (bytes.size() < kEndSize)
      fail("it is too short");
    uint64_t lowest = bytes.size() - std::min<uint64_t>(bytes.size(), kEndSize + 0xffff);
    uint64_t end = bytes.size() - kEndSize;
    while (get32(end) != kEndSignature || end + kEndSize + get16(end + 20) != bytes.size()) {
      if (end == lowest)
        fail("it has no directory (truncated, or not a ZIP file)");
      --end;
    }
    count = get16(end + 10);
    offset = get32(end + 16);
    if (end >= kEnd64LocatorSize && get32(end - kEnd64LocatorSize) == kEnd64LocatorSignature) {
      uint64_t end64 = get64(end - kEnd64LocatorSize + 8);
      need(end64, kEnd64Size);
      if (get32(end64) != kEnd64Signature)
        fail("its ZIP64 directory is not where it should be");
      count = get64(end64 + 32);
      offset = get64(end64 + 48);
    }
  }

  /// The directory entry at `at`, which moves to the next one.
  Member member(uint64_t &at) {
    need(at, kCentralSize);
    if (get32(at) != kCentralSignature)
      fail("its directory is damaged");
    Member member;
    uint16_t flags = get16(at + 8);
    member.method = get16(at + 10);
    member.crc = get32(at + 16);
    member.storedSize = get32(at + 20);
    member.size = get32(at + 24);
    member.localOffset = get32(at + 42);
    uint16_t nameSize = get16(at + 28), extraSize = get16(at + 30), commentSize = get16(at + 32);
    need(at, kCentralSize + uint64_t{nameSize} + extraSize + commentSize);
    member.name.assign(reinterpret_cast<const char *>(bytes.data()) + at + kCentralSize, nameSize);
    readZip64(at + kCentralSize + nameSize, extraSize, member);
    if (flags & 1)
      fail("member '" + member.name + "' is encrypted");
    if (member.method != kStored && member.method != kDeflated)
      fail("member '" + member.name + "' is compressed in a way other than deflate");
    at += kCentralSize + uint64_t{nameSize} + extraSize + commentSize;
    return member;
  }

  /// The ZIP64 field holds, in this order, those values that did not fit their 32 bits.
  void readZip64(uint64_t at, uint64_t size, Member &member) {
    for (uint64_t end = at + size; at + 4 <= end;) {
      uint64_t fieldEnd = at + 4 + get16(at + 2);
      if (fieldEnd > end)
        fail("its directory is damaged");
      if (get16(at) == kZip64Extra) {
        uint64_t valueAt = at + 4;
        for (uint64_t *value : {&member.size, &member.storedSize, &member.localOffset})
          if (*value == kMax32) {
            if (valueAt + 8 > fieldEnd)
              fail("a ZIP64 field of its directory is too short");
            *value = get64(valueAt);
            valueAt += 8;
          }
      }
      at = fieldEnd;
    }
  }

  std::vector<std::byte> store(const Member &member, std::span<const std::byte> stored) {
    if (member.size != member.storedSize)
      fail("the sizes of member '" + member.name + "' contradict each other");
    return {stored.begin(), stored.end()};
  }

  std::vector<std::byte> inflated(const Member &member, std::span<const std::byte> stored) {
    if (member.size / kMaxDeflateRatio > member.storedSize)
      fail("the size of member '" + member.name + "' is impossible");
    std::vector<std::byte> data(member.size);
    z_stream stream = {};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      fail("zlib cannot start");
    // zlib counts in 32 bits: feed both sides in pieces.
    constexpr uint64_t kPiece = 1 << 30;
    uint64_t in = 0, out = 0;
    int state = Z_OK;
    Bytef none = 0; // zlib refuses a null output even for an empty member
    while (state == Z_OK) {
      uint64_t inSize = std::min(kPiece, stored.size() - in);
      uint64_t outSize = std::min(kPiece, data.size() - out);
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<std::byte *>(stored.data())) + in;
      stream.avail_in = static_cast<uInt>(inSize);
      stream.next_out = data.empty() ? &none : reinterpret_cast<Bytef *>(data.data()) + out;
      stream.avail_out = static_cast<uInt>(outSize);
      state = inflate(&stream, Z_NO_FLUSH);
      in += inSize - stream.avail_in;
      out += outSize - stream.avail_out;
    }
    inflateEnd(&stream);
    if (state != Z_STREAM_END || out != data.size())
      fail("the compressed data of member '" + member.name + "' is damaged");
    return data;
  }

  std::span<const std::byte> bytes;
  const std::string &name;
};

void put(std::string &to, uint64_t value, unsigned width) {
  to.append(reinterpret_cast<const char *>(&value), width);
}

} // namespace

NamedArrays parseNpz(std::span<const std::byte> bytes, const std::string &name) {
  ZipReader zip(bytes, name);
  NamedArrays arrays;
  std::set<std::string> seen;
  for (const Member &member : zip.members()) {
    std::string arrayName = member.name;
    if (!arrayName.ends_with(".npy"))
      throw Refusal(name + " has the member '" + member.name + "', which is not a .npy array");
    arrayName.resize(arrayName.size() - 4);
    if (!seen.insert(arrayName).second)
      throw Refusal(name + " has two arrays named '" + arrayName + "'");
    arrays.emplace_back(arrayName,
                        parseNpy(zip.extract(member), "array '" + arrayName + "' of " + name));
  }
  return arrays;
}

NamedArrays readNpz(const std::string &path) { return parseNpz(readFile(path), "'" + path + "'"); }

void writeNpz(const std::string &path, const NamedArrays &arrays) {
  OutputFile file(path);
  std::string directory;
  uint64_t at = 0;
  auto write = [&](const void *bytes, size_t size) {
    file.write(bytes, size);
    at += size;
  };
  for (const auto &[arrayName, array] : arrays) {
    std::string name = arrayName + ".npy", header = npyHeader(array);
    if (name.size() > 0xffff)
      throw Refusal("the name of an array is longer than a .npz archive can hold");
    uint64_t size = header.size() + array.data.size(), offset = at;
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef *>(header.data()), header.size());
    if (!array.data.empty()) // a null pointer would start anew
      crc = crc32_z(crc, reinterpret_cast<const Bytef *>(array.data.data()), array.data.size());
    bool largeSize = size >= kMax32, largeOffset = offset >= kMax32;

    // What both kinds of record share, from "version needed" to the two sizes.
    std::string common;
    put(common, largeSize || largeOffset ? 45 : 20, 2);
    put(common, 0x0800, 2); // names are UTF-8
    put(common, kStored, 2);
    put(common, 0, 2);         // time and
    put(common, 0x21, 2);      // date: 1980-01-01, so that equal arrays give equal files
    put(common, crc, 4);
    put(common, largeSize ? kMax32 : size, 4);
    put(common, largeSize ? kMax32 : size, 4);

    std::string localExtra, centralExtra;
    if (largeSize) {
      put(localExtra, kZip64Extra, 2);
      put(localExtra, 16, 2);
      put(localExtra, size, 8);
      put(localExtra, size, 8);
    }
    if (largeSize || largeOffset) {
      put(centralExtra, kZip64Extra, 2);
      put(centralExtra, (largeSize ? 16 : 0) + (largeOffset ? 8 : 0), 2);
      if (largeSize) {
        put(centralExtra, size, 8);
        put(centralExtra, size, 8);
      }
      if (largeOffset)
        put(centralExtra, offset, 8);
    }

    std::string local;
    put(local, kLocalSignature, 4);
    local += common;
    put(local, name.size(), 2);
    put(local, localExtra.size(), 2);
    local += name + localExtra;
    write(local.data(), local.size());
    write(header.data(), header.size());
    write(array.data.data(), array.data.size());

    put(directory, kCentralSignature, 4);
    put(directory, 45, 2); // made by
    directory += common;
    put(directory, name.size(), 2);
    put(directory, centralExtra.size(), 2);
    put(directory, 0, 2); // comment
    put(directory, 0, 2); // disk
    put(directory, 0, 2); // attributes
    put(directory, 0, 4);
    put(directory, largeOffset ? kMax32 : offset, 4);
    directory += name + centralExtra;
  }

  uint64_t directoryAt = at, directorySize = directory.size(), count = arrays.size();
  write(directory.data(), directory.size());
  std::string end;
  if (count >= 0xffff || directoryAt >= kMax32 || directorySize >= kMax32) {
    uint64_t end64At = at;
    put(end, kEnd64Signature, 4);
    put(end, kEnd64Size - 12, 8);
    put(end, 45, 2);
    put(end, 45, 2);
    put(end, 0, 4);
    put(end, 0, 4);
    put(end, count, 8);
    put(end, count, 8);
    put(end, directorySize, 8);
    put(end, directoryAt, 8);
    put(end, kEnd64LocatorSignature, 4);
    put(end, 0, 4);
    put(end, end64At, 8);
    put(end, 1, 4);
  }
  put(end, kEndSignature, 4);
  put(end, 0, 2);
  put(end, 0, 2);
  put(end, std::min<uint64_t>(count, 0xffff), 2);
  put(end, std::min<uint64_t>(count, 0xffff), 2);
  put(end, std::min(directorySize, kMax32), 4);
  put(end, std::min(directoryAt, kMax32), 4);
  put(end, 0, 2);
  write(end.data(), end.size());
  file.commit();
}

} // namespace nxtool
