#include "tools/common/Elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace nxtool {
namespace {

template <typename T> T load(const std::byte *data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> void store(std::byte *data, uint64_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

/// A small binary float: sign, `exponentBits`, `mantissaBits`, with subnormals. `finiteOnly` is the
/// e4m3fn family: no infinities, NaN is all ones. `oneZero` is the fnuz family: no infinities, NaN is the code of
/// -0, and the exponents are one lower.
struct SmallFloat {
  int exponentBits, mantissaBits;
  bool finiteOnly, oneZero = false;

  int bias() const { return (1 << (exponentBits - 1)) - 1 + oneZero; }

  double decode(uint32_t bits) const {
    if (oneZero) {
      uint32_t nan = 1u << (exponentBits + mantissaBits);
      if (bits == nan)
        return std::numeric_limits<double>::quiet_NaN();
      double sign = bits & nan ? -1 : 1;
      uint32_t fraction = bits & ((1u << mantissaBits) - 1);
      int power = static_cast<int>(bits >> mantissaBits & ((1u << exponentBits) - 1));
      return power ? sign * std::ldexp(fraction + (1u << mantissaBits), power - bias() - mantissaBits)
                   : sign * std::ldexp(fraction, 1 - bias() - mantissaBits);
    }
    uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
    int exponent = static_cast<int>(bits >> mantissaBits & ((1u << exponentBits) - 1));
    double sign = bits >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
    int highest = (1 << exponentBits) - 1;
    if (exponent == highest && !finiteOnly)
      return mantissa ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (exponent == highest && mantissa == (1u << mantissaBits) - 1)
      return std::numeric_limits<double>::quiet_NaN();
    if (exponent == 0)
      return sign * std::ldexp(mantissa, 1 - bias() - mantissaBits);
    return sign * std::ldexp(mantissa + (1u << mantissaBits), exponent - bias() - mantissaBits);
  }

  /// Rounds to nearest, ties to even; overflow gives infinity (NaN where there is none).
  uint32_t encode(double value) const {
    uint32_t sign = std::signbit(value) ? 1u << (exponentBits + mantissaBits) : 0;
    uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;
    uint32_t nan = infinity | ((1u << mantissaBits) - 1);
    double magnitude = std::fabs(value);
    if (std::isnan(value))
      return oneZero ? 1u << (exponentBits + mantissaBits) : sign | nan;
    if (magnitude == 0)
      return oneZero ? 0 : sign;
    // The unit in the last place is that of the value's exponent, or of the least normal one.
    int exponent = std::max(std::ilogb(std::min(magnitude, 1e300)), 1 - bias());
    double units = std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent));
    // A carry out of the mantissa falls into the exponent field, where it belongs.
    double bits = units + std::ldexp(exponent + bias() - 1, mantissaBits);
    if (oneZero) {
      uint32_t negative = 1u << (exponentBits + mantissaBits);
      return bits >= negative ? negative : bits == 0 ? 0 : sign | static_cast<uint32_t>(bits);
    }
    double limit = finiteOnly ? nan : infinity;
    return sign | (bits >= limit ? (finiteOnly ? nan : infinity) : static_cast<uint32_t>(bits));
  }
};

constexpr SmallFloat kF16 = {5, 10, false}, kBF16 = {8, 7, false}, kE4M3 = {4, 3, true},
                     kE5M2 = {5, 2, false}, kE4M3UZ = {4, 3, true, true}, kE5M2UZ = {5, 2, true, true};

/// Powers of two from 2^-127 on; 255 is NaN.
double decodePower(uint8_t code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
}
uint8_t encodePower(double value) {
  if (!(value < std::ldexp(1.5, 127)))
    return 255;
  double power = value > 0 ? std::nearbyint(std::log2(value)) : -127;
  return static_cast<uint8_t>(std::clamp(power, -127.0, 127.0) + 127);
}

template <typename T> T toInteger(double value) {
  if (std::isnan(value))
    return 0;
  // The upper bound may round up to 2^63 as a double: clamp before the conversion can overflow.
  if (value >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  return static_cast<T>(std::nearbyint(value));
}

} // namespace

bool isFloat(nxrt_dtype dtype) {
  switch (dtype) {
  case NXRT_DTYPE_F32:
  case NXRT_DTYPE_F64:
  case NXRT_DTYPE_F16:
  case NXRT_DTYPE_BF16:
  case NXRT_DTYPE_F8E4M3FN:
  case NXRT_DTYPE_F8E5M2:
  case NXRT_DTYPE_F8E4M3FNUZ:
  case NXRT_DTYPE_F8E5M2FNUZ:
  case NXRT_DTYPE_F8E8M0:
    return true;
  default:
    return false;
  }
}

double element(nxrt_dtype dtype, const std::byte *data, uint64_t index) {
  switch (dtype) {
  case NXRT_DTYPE_F32: return load<float>(data, index);
  case NXRT_DTYPE_F64: return load<double>(data, index);
  case NXRT_DTYPE_F16: return kF16.decode(load<uint16_t>(data, index));
  case NXRT_DTYPE_BF16: return kBF16.decode(load<uint16_t>(data, index));
  case NXRT_DTYPE_I64: return static_cast<double>(load<int64_t>(data, index));
  case NXRT_DTYPE_I32: return load<int32_t>(data, index);
  case NXRT_DTYPE_I16: return load<int16_t>(data, index);
  case NXRT_DTYPE_I8: return load<int8_t>(data, index);
  case NXRT_DTYPE_U64: return static_cast<double>(load<uint64_t>(data, index));
  case NXRT_DTYPE_U32: return load<uint32_t>(data, index);
  case NXRT_DTYPE_U16: return load<uint16_t>(data, index);
  case NXRT_DTYPE_U8: return load<uint8_t>(data, index);
  case NXRT_DTYPE_BOOL: return load<uint8_t>(data, index) != 0;
  case NXRT_DTYPE_F8E4M3FN: return kE4M3.decode(load<uint8_t>(data, index));
  case NXRT_DTYPE_F8E5M2: return kE5M2.decode(load<uint8_t>(data, index));
  case NXRT_DTYPE_F8E4M3FNUZ: return kE4M3UZ.decode(load<uint8_t>(data, index));
  case NXRT_DTYPE_F8E5M2FNUZ: return kE5M2UZ.decode(load<uint8_t>(data, index));
  case NXRT_DTYPE_F8E8M0: return decodePower(load<uint8_t>(data, index));
  case NXRT_DTYPE_I4:
  case NXRT_DTYPE_U4: {
    int nibble = load<uint8_t>(data, index / 2) >> (index % 2 * 4) & 0xf;
    return dtype == NXRT_DTYPE_I4 && nibble >= 8 ? nibble - 16 : nibble;
  }
  case NXRT_DTYPE_INVALID:
  case NXRT_DTYPE_ANY_INT: break;
  }
  return 0;
}

void setElement(nxrt_dtype dtype, std::byte *data, uint64_t index, double value) {
  switch (dtype) {
  case NXRT_DTYPE_F32: return store(data, index, static_cast<float>(value));
  case NXRT_DTYPE_F64: return store(data, index, value);
  case NXRT_DTYPE_F16: return store(data, index, static_cast<uint16_t>(kF16.encode(value)));
  case NXRT_DTYPE_BF16: return store(data, index, static_cast<uint16_t>(kBF16.encode(value)));
  case NXRT_DTYPE_I64: return store(data, index, toInteger<int64_t>(value));
  case NXRT_DTYPE_I32: return store(data, index, toInteger<int32_t>(value));
  case NXRT_DTYPE_I16: return store(data, index, toInteger<int16_t>(value));
  case NXRT_DTYPE_I8: return store(data, index, toInteger<int8_t>(value));
  case NXRT_DTYPE_U64: return store(data, index, toInteger<uint64_t>(value));
  case NXRT_DTYPE_U32: return store(data, index, toInteger<uint32_t>(value));
  case NXRT_DTYPE_U16: return store(data, index, toInteger<uint16_t>(value));
  case NXRT_DTYPE_U8: return store(data, index, toInteger<uint8_t>(value));
  case NXRT_DTYPE_BOOL: return store(data, index, static_cast<uint8_t>(value != 0));
  case NXRT_DTYPE_F8E4M3FN: return store(data, index, static_cast<uint8_t>(kE4M3.encode(value)));
  case NXRT_DTYPE_F8E5M2: return store(data, index, static_cast<uint8_t>(kE5M2.encode(value)));
  case NXRT_DTYPE_F8E4M3FNUZ: return store(data, index, static_cast<uint8_t>(kE4M3UZ.encode(value)));
  case NXRT_DTYPE_F8E5M2FNUZ: return store(data, index, static_cast<uint8_t>(kE5M2UZ.encode(value)));
  case NXRT_DTYPE_F8E8M0: return store(data, index, encodePower(value));
  case NXRT_DTYPE_I4:
  case NXRT_DTYPE_U4: {
    double low = dtype == NXRT_DTYPE_I4 ? -8 : 0;
    int nibble = toInteger<int>(std::clamp(value, low, low + 15)) & 0xf;
    auto old = load<uint8_t>(data, index / 2);
    unsigned shift = index % 2 * 4;
    return store(data, index / 2, static_cast<uint8_t>((old & ~(0xf << shift)) | nibble << shift));
  }
  case NXRT_DTYPE_INVALID:
  case NXRT_DTYPE_ANY_INT: break;
  }
}

Difference compare(nxrt_dtype dtype, uint64_t count, const std::byte *got, const std::byte *want,
                   double rtol, double atol) {
  Difference result;
  bool inexact = isFloat(dtype);
  // Doubles cannot tell all 64-bit integers apart.
  bool wide = dtype == NXRT_DTYPE_I64 || dtype == NXRT_DTYPE_U64;
  for (uint64_t i = 0; i < count; ++i) {
    double a = element(dtype, got, i), b = element(dtype, want, i);
    double distance = std::fabs(a - b);
    bool equal = wide ? load<uint64_t>(got, i) == load<uint64_t>(want, i)
                      : a == b || (std::isnan(a) && std::isnan(b));
    if (inexact && std::isfinite(distance))
      equal |= distance <= atol + rtol * std::fabs(b);
    if (std::isfinite(distance)) {
      result.maxAbsolute = std::max(result.maxAbsolute, distance);
      if (b != 0)
        result.maxRelative = std::max(result.maxRelative, distance / std::fabs(b));
    }
    if (!equal && result.count++ == 0)
      result.first = i;
  }
  return result;
}

} // namespace nxtool
