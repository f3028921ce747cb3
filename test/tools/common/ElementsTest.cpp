// Numbers in and out of every element type, and the comparison of arrays.
#include "tools/common/Elements.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

using namespace nxtool;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double roundTrip(nxrt_dtype dtype, double value) {
  std::byte storage[8] = {};
  setElement(dtype, storage, 0, value);
  return element(dtype, storage, 0);
}

uint16_t bits16(nxrt_dtype dtype, double value) {
  std::byte storage[8] = {};
  setElement(dtype, storage, 0, value);
  uint16_t bits;
  std::memcpy(&bits, storage, 2);
  return bits;
}

TEST(Elements, SmallFloatsRoundToNearestEven) {
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 1.0), 0x3c00);
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 1.0 + 0x1p-11), 0x3c00); // a tie goes to even
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 1.0 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 65519.0), 0x7bff);
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 65520.0), 0x7c00); // rounds to infinity
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 0x1p-24), 0x0001); // least subnormal
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, 0x1p-25), 0x0000);
  EXPECT_EQ(bits16(NXRT_DTYPE_F16, -0.0), 0x8000);
  EXPECT_EQ(bits16(NXRT_DTYPE_BF16, -1.5), 0xbfc0);
  EXPECT_EQ(bits16(NXRT_DTYPE_BF16, 3.4e38), 0x7f80);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_F8E4M3FN, 448), 448);
  EXPECT_TRUE(std::isnan(roundTrip(NXRT_DTYPE_F8E4M3FN, 1000)));
  EXPECT_EQ(roundTrip(NXRT_DTYPE_F8E5M2, 57344), 57344);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_F8E5M2, 1e6), kInfinity);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_F8E4M3FNUZ, 240), 240);
  EXPECT_TRUE(std::isnan(roundTrip(NXRT_DTYPE_F8E4M3FNUZ, 1000)));
  EXPECT_FALSE(std::signbit(roundTrip(NXRT_DTYPE_F8E4M3FNUZ, -0.0)));
  EXPECT_EQ(roundTrip(NXRT_DTYPE_F8E5M2FNUZ, -57344), -57344);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_F8E8M0, 0.25), 0.25);
  EXPECT_TRUE(std::isnan(roundTrip(NXRT_DTYPE_F8E8M0, kInfinity)));
  for (nxrt_dtype dtype : {NXRT_DTYPE_F32, NXRT_DTYPE_F64, NXRT_DTYPE_F16, NXRT_DTYPE_BF16,
                           NXRT_DTYPE_F8E4M3FN, NXRT_DTYPE_F8E5M2, NXRT_DTYPE_F8E4M3FNUZ,
                           NXRT_DTYPE_F8E5M2FNUZ}) {
    EXPECT_TRUE(isFloat(dtype));
    EXPECT_TRUE(std::isnan(roundTrip(dtype, kNaN)));
    EXPECT_EQ(roundTrip(dtype, -0.75), -0.75);
  }
  // Every f16 survives the way through a double.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    std::byte storage[2];
    std::memcpy(storage, &half, 2);
    double value = element(NXRT_DTYPE_F16, storage, 0);
    if (!std::isnan(value)) {
      EXPECT_EQ(bits16(NXRT_DTYPE_F16, value), half);
    }
  }
}

TEST(Elements, IntegersSaturate) {
  EXPECT_EQ(roundTrip(NXRT_DTYPE_I8, 300), 127);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_I8, -300), -128);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_U8, -1), 0);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_I64, 1e30), 0x1p63);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_I4, 9), 7);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_I4, -9), -8);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_U4, 15), 15);
  EXPECT_EQ(roundTrip(NXRT_DTYPE_BOOL, 5), 1);
}

template <typename T>
Difference compareAll(nxrt_dtype dtype, std::vector<T> got, std::vector<T> want, double rtol = 0,
                      double atol = 0) {
  return compare(dtype, got.size(), reinterpret_cast<const std::byte *>(got.data()),
                 reinterpret_cast<const std::byte *>(want.data()), rtol, atol);
}

TEST(Compare, FollowsAllclose) {
  float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(compareAll<float>(NXRT_DTYPE_F32, {1, nan, inf, -inf}, {1, nan, inf, -inf}).count, 0u);
  EXPECT_EQ(compareAll<float>(NXRT_DTYPE_F32, {nan, inf, 1}, {1, -inf, nan}, 1, 1).count, 3u);
  EXPECT_EQ(compareAll<float>(NXRT_DTYPE_F32, {inf}, {3e38f}, 1, 1).count, 1u);
  Difference d = compareAll<float>(NXRT_DTYPE_F32, {1, 2.5, 3}, {1, 2, 4}, 0.25);
  EXPECT_EQ(d.count, 0u); // |2.5 - 2| = 0.25 * 2 and |3 - 4| = 0.25 * 4 are just allowed
  EXPECT_EQ(d.maxAbsolute, 1);
  EXPECT_EQ(d.maxRelative, 0.25);
  d = compareAll<float>(NXRT_DTYPE_F32, {1, 2.5, 3}, {1, 2, 4}, 0, 0.4);
  EXPECT_EQ(d.count, 2u);
  EXPECT_EQ(d.first, 1u);
}

TEST(Compare, IntegersAreExact) {
  int64_t large = (int64_t{1} << 60) + 1; // equal to its neighbour as a double
  EXPECT_EQ(compareAll<int64_t>(NXRT_DTYPE_I64, {large}, {large - 1}, 1, 1).count, 1u);
  EXPECT_EQ(compareAll<int32_t>(NXRT_DTYPE_I32, {5}, {6}, 1, 10).count, 1u);
}

} // namespace
