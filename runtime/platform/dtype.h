// Element types: names and sizes. The numbers are the schema's and the API's alike.
#ifndef NXRT_PLATFORM_DTYPE_H
#define NXRT_PLATFORM_DTYPE_H

#include "nxrt/nxrt.h"

namespace nxrt {

inline constexpr int kDTypeCount = NXRT_DTYPE_F8E8M0 + 1;

inline constexpr const char *kDTypeNames[kDTypeCount] = {
    "invalid", "f32", "f64", "f16", "bf16", "i64", "i32", "i16",      "i8",
    "u64",     "u32", "u16", "u8",  "bool", "i4",  "u4",  "f8e4m3fn", "f8e5m2",
    "f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0"};
inline constexpr uint8_t kDTypeBits[kDTypeCount] = {0,  32, 64, 16, 16, 64, 32, 16, 8,
                                                    64, 32, 16, 8,  8,  4,  4,  8,  8,
                                                    8,  8,  8};

/// A number that names an element type.
constexpr bool isDType(int dtype) { return dtype > NXRT_DTYPE_INVALID && dtype < kDTypeCount; }
constexpr uint32_t dtypeBits(int dtype) { return isDType(dtype) ? kDTypeBits[dtype] : 0; }
constexpr const char *dtypeName(int dtype) { return kDTypeNames[isDType(dtype) ? dtype : 0]; }

/// Bytes of `count` elements; 4-bit elements lie two in a byte. False when that overflows.
inline bool dtypeBytes(int dtype, uint64_t count, uint64_t &bytes) {
  uint64_t bits = 0;
  if (__builtin_mul_overflow(count, uint64_t{dtypeBits(dtype)}, &bits) || bits > UINT64_MAX - 7)
    return false;
  bytes = (bits + 7) / 8;
  return true;
}

} // namespace nxrt

#endif // NXRT_PLATFORM_DTYPE_H
