// The fixed header at offset 0 of every executable (.nxe). Little-endian.
#ifndef NXRT_NXE_FORMAT_H
#define NXRT_NXE_FORMAT_H

#include <cstdint>

namespace nxrt {

inline constexpr uint8_t kNxeMagic[8] = {'\x7f', 'N', 'X', 'E', '\r', '\n', '\x1a', '\n'};
inline constexpr uint16_t kNxeMajor = 1; // a loader refuses another major
inline constexpr uint16_t kNxeMinor = 0; // additive changes only
inline constexpr uint64_t kNxeSegmentAlign = 4096;
inline constexpr uint64_t kNxeParamAlign = 64;
inline constexpr uint32_t kMaxRanks = 64; // greatest tensor-parallel degree

struct NxeHeader {
  uint8_t magic[8];
  uint16_t major;
  uint16_t minor;
  uint32_t headerSize;       // sizeof(NxeHeader) of the writer; later minors may append
  uint64_t totalSize;        // of the whole file
  uint64_t flatbufferOffset; // multiple of 8
  uint64_t flatbufferSize;
  uint64_t flatbufferChecksum; // XXH3-64 of the FlatBuffer's bytes
  uint64_t headerChecksum;     // XXH3-64 of the bytes before this field
};
static_assert(sizeof(NxeHeader) == 56);

} // namespace nxrt
#endif // NXRT_NXE_FORMAT_H
