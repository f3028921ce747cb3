//===- ElementConversion.cpp - Element type conversion of stored bytes ----===//

#include "compiler/params/ElementConversion.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace {

/// A 16-bit float with `Fraction` explicit bits; the sign and the exponent take the rest.
template <unsigned Fraction> struct Float16Bits {
  static constexpr unsigned kExponentBits = 15 - Fraction;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  uint16_t bits;

  double widen() const {
    bool negative = bits >> 15;
    int exponent = (bits >> Fraction) & ((1 << kExponentBits) - 1);
    uint32_t fraction = bits & ((1u << Fraction) - 1);
    double magnitude;
    if (exponent == (1 << kExponentBits) - 1)
      magnitude = fraction ? std::numeric_limits<double>::quiet_NaN()
                           : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      magnitude = std::ldexp(double(fraction), 1 - kBias - int(Fraction));
    else
      magnitude = std::ldexp(double(fraction | (1u << Fraction)), exponent - kBias - int(Fraction));
    return negative ? -magnitude : magnitude;
  }

  /// Rounds to nearest, ties to even.
  static Float16Bits narrow(double value) {
    constexpr uint16_t infinity = ((1 << kExponentBits) - 1) << Fraction;
    uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value))
      return {uint16_t(sign | infinity | (1 << (Fraction - 1)))};
    double magnitude = std::fabs(value);
    if (magnitude == 0)
      return {sign};
    int exponent = std::ilogb(magnitude);
    if (exponent > kBias)
      return {uint16_t(sign | infinity)};
    // The unit in the last place; subnormals share the least exponent.
    int least = std::max(exponent, 1 - kBias);
    auto units = uint32_t(std::nearbyint(std::ldexp(magnitude, int(Fraction) - least)));
    // `units` has the implicit bit for normal numbers. A carry out of the fraction moves into the
    // exponent, up to infinity, as it should.
    uint32_t biased = uint32_t(least + kBias - 1) << Fraction;
    return {uint16_t(sign | (biased + units))};
  }
};
using Half = Float16Bits<10>;
using BFloat = Float16Bits<7>;
struct Boolean {
  uint8_t byte;
};

/// The value of an element in a type that holds it exactly: double, int64_t or uint64_t.
template <typename T> auto widen(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
    return value.widen();
  else if constexpr (std::is_same_v<T, Boolean>)
    return uint64_t(value.byte != 0);
  else if constexpr (std::is_floating_point_v<T>)
    return double(value);
  else if constexpr (std::is_signed_v<T>)
    return int64_t(value);
  else
    return uint64_t(value);
}

template <typename T, typename Wide> T narrow(Wide value) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return {uint8_t(value != Wide(0))};
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>) {
    // An integer of more than 53 bits is rounded twice on its way to bf16; f16 cannot hold it anyway.
    return T::narrow(double(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return T(value);
  } else if constexpr (std::is_same_v<Wide, double>) {
    constexpr int digits = std::numeric_limits<T>::digits;
    if (std::isnan(value))
      return 0;
    if (value >= std::ldexp(1.0, digits))
      return std::numeric_limits<T>::max();
    if (value < double(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    return T(value);
  } else {
    return T(value);
  }
}

template <typename From, typename To> void convert(const char *from, char *to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    From in;
    std::memcpy(&in, from + i * sizeof(From), sizeof(From));
    To out = narrow<To>(widen(in));
    std::memcpy(to + i * sizeof(To), &out, sizeof(To));
  }
}

/// Calls `visit` with a value of the C++ type that stores `element`; false for other types.
template <typename Visit> bool dispatch(Type element, Visit visit) {
  if (element.isF64()) return visit(double()), true;
  if (element.isF32()) return visit(float()), true;
  if (element.isF16()) return visit(Half()), true;
  if (element.isBF16()) return visit(BFloat()), true;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return false;
  if (integer.getWidth() == 1) return visit(Boolean()), true;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 8: isUnsigned ? visit(uint8_t()) : visit(int8_t()); return true;
  case 16: isUnsigned ? visit(uint16_t()) : visit(int16_t()); return true;
  case 32: isUnsigned ? visit(uint32_t()) : visit(int32_t()); return true;
  case 64: isUnsigned ? visit(uint64_t()) : visit(int64_t()); return true;
  }
  return false;
}

} // namespace

nx::ElementConverter nx::elementConverter(Type from, Type to) {
  ElementConverter converter = nullptr;
  dispatch(from, [&](auto source) {
    dispatch(to, [&](auto target) { converter = convert<decltype(source), decltype(target)>; });
  });
  return converter;
}
