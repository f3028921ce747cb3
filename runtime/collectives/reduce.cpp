#include "runtime/collectives/reduce.h"

#include "nxrt/nxrt.h"

#include <bit>
#include <cstring>
#include <type_traits>

namespace nxrt {

using nx::fb::ReduceKind;

namespace {

// Element types: how one is stored, and the type that it is summed in.
template <typename T> struct Plain {
  using Stored = T;
  using Sum = T;
  static Sum load(Stored value) { return value; }
  static Stored store(Sum value) { return value; }
};

struct BFloat16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored value) { return std::bit_cast<float>(uint32_t{value} << 16); }
  static Stored store(Sum value) {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16; // to nearest, ties to even
    uint32_t nan = bits >> 16 | 0x40;
    return static_cast<Stored>((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
  }
};

struct Float16 {
  using Stored = uint16_t;
  using Sum = float;
  static Sum load(Stored value) {
    const uint32_t sign = (value & 0x8000u) << 16;
    const uint32_t magnitude = value & 0x7fffu;
    // Shifted into place the exponent is 112 too small; a product by 2^112 repairs it and
    // normalizes subnormal numbers. Infinity and NaN keep their mark by hand.
    float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    uint32_t bits = std::bit_cast<uint32_t>(scaled);
    if (magnitude >= 0x7c00)
      bits = magnitude << 13 | 0x7f800000;
    return std::bit_cast<float>(bits | sign);
  }
  static Stored store(Sum value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7fffffff;
    uint32_t result;
    if (magnitude > 0x7f800000) {
      result = 0x7e00 | (magnitude >> 13 & 0x3ff);
    } else if (magnitude >= 0x477ff000) {
      result = 0x7c00; // rounds to infinity
    } else if (magnitude < 0x38800000) {
      // Subnormal: adding 0.5 places the last bit at 2^-24, and the addition rounds.
      float aligned = std::bit_cast<float>(magnitude) + 0.5f;
      result = std::bit_cast<uint32_t>(aligned) - 0x3f000000;
    } else {
      result = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    }
    return static_cast<Stored>(result | sign);
  }
};

template <ReduceKind kind, typename T> T combine(T a, T b) {
  if constexpr (kind == ReduceKind::Max) {
    if constexpr (std::is_floating_point_v<T>)
      return a > b || a != a ? a : b;
    return a > b ? a : b;
  } else if constexpr (kind == ReduceKind::Min) {
    if constexpr (std::is_floating_point_v<T>)
      return a < b || a != a ? a : b;
    return a < b ? a : b;
  } else if constexpr (std::is_floating_point_v<T>) {
    return kind == ReduceKind::Sum ? a + b : a * b;
  } else {
    using Wide = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>; // wraps, by definition
    Wide x = static_cast<Wide>(a), y = static_cast<Wide>(b);
    return static_cast<T>(kind == ReduceKind::Sum ? x + y : x * y);
  }
}

template <ReduceKind kind, typename Element>
void reduceBlock(const std::byte *const *src, uint32_t srcCount, std::byte *const *dst,
                 uint32_t dstCount, int64_t count) {
  using Stored = typename Element::Stored;
  typename Element::Sum sum[kReduceBlock];
  // Stored values may lie at any address that a view gives them: hence memcpy.
  auto get = [](const std::byte *array, int64_t index) {
    Stored value;
    std::memcpy(&value, array + index * static_cast<int64_t>(sizeof value), sizeof value);
    return Element::load(value);
  };
  for (int64_t i = 0; i < count; ++i)
    sum[i] = get(src[0], i);
  for (uint32_t s = 1; s < srcCount; ++s)
    for (int64_t i = 0; i < count; ++i)
      sum[i] = combine<kind>(sum[i], get(src[s], i));
  if constexpr (std::is_same_v<Stored, typename Element::Sum>) {
    for (uint32_t d = 0; d < dstCount; ++d)
      std::memcpy(dst[d], sum, static_cast<size_t>(count) * sizeof(Stored));
  } else {
    Stored rounded[kReduceBlock];
    for (int64_t i = 0; i < count; ++i)
      rounded[i] = Element::store(sum[i]);
    for (uint32_t d = 0; d < dstCount; ++d)
      std::memcpy(dst[d], rounded, static_cast<size_t>(count) * sizeof(Stored));
  }
}

template <ReduceKind kind> ReduceFunction forType(int dtype) {
  switch (dtype) {
  case NXRT_DTYPE_F32:
    return reduceBlock<kind, Plain<float>>;
  case NXRT_DTYPE_F64:
    return reduceBlock<kind, Plain<double>>;
  case NXRT_DTYPE_F16:
    return reduceBlock<kind, Float16>;
  case NXRT_DTYPE_BF16:
    return reduceBlock<kind, BFloat16>;
  case NXRT_DTYPE_I64:
    return reduceBlock<kind, Plain<int64_t>>;
  case NXRT_DTYPE_I32:
    return reduceBlock<kind, Plain<int32_t>>;
  case NXRT_DTYPE_I16:
    return reduceBlock<kind, Plain<int16_t>>;
  case NXRT_DTYPE_I8:
    return reduceBlock<kind, Plain<int8_t>>;
  case NXRT_DTYPE_U64:
    return reduceBlock<kind, Plain<uint64_t>>;
  case NXRT_DTYPE_U32:
    return reduceBlock<kind, Plain<uint32_t>>;
  case NXRT_DTYPE_U16:
    return reduceBlock<kind, Plain<uint16_t>>;
  case NXRT_DTYPE_U8:
    return reduceBlock<kind, Plain<uint8_t>>;
  case NXRT_DTYPE_BOOL: // maximum is or, minimum is and
    if (kind == ReduceKind::Max || kind == ReduceKind::Min)
      return reduceBlock<kind, Plain<uint8_t>>;
    return nullptr;
  default:
    return nullptr;
  }
}

} // namespace

ReduceFunction reduceFunction(ReduceKind kind, int dtype) {
  switch (kind) {
  case ReduceKind::Sum:
    return forType<ReduceKind::Sum>(dtype);
  case ReduceKind::Max:
    return forType<ReduceKind::Max>(dtype);
  case ReduceKind::Min:
    return forType<ReduceKind::Min>(dtype);
  case ReduceKind::Prod:
    return forType<ReduceKind::Prod>(dtype);
  }
  return nullptr;
}

} // namespace nxrt
