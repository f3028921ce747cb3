#include "runtime/collectives/collectives.h"
#include "runtime/device/cpu_device.h"
#include "runtime/platform/wait.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace nxrt;
using nx::fb::CollectiveKind;
using nx::fb::ReduceKind;

namespace {

/// Cores for any number of ranks, whatever the machine has.
class Ranks {
public:
  explicit Ranks(uint32_t count, uint32_t threads = 1) : count(count), group(count) {
    CpuDeviceOptions options;
    options.coreCount = count;
    options.threadsPerCore = threads;
    options.share = true;
    options.runtimeDirectory = "/dev/shm/nxrt";
    Status status = CpuDevice::open(options, device);
    EXPECT_TRUE(status.ok()) << status.message();
    uint32_t first = 0;
    status = device->place(count, 0, first);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~Ranks() { device->leave(0, count); }

  /// Runs `body(rank)` on all ranks at once and returns how the execution ended.
  Status run(std::function<void(uint32_t)> body, uint64_t timeoutNs = 0) {
    group.begin(timeoutNs ? nowNs() + timeoutNs : 0, device->spinNs());
    EXPECT_TRUE(device->acquire(0, count, 0).ok());
    device->run(
        0, count,
        [](void *context, uint32_t rank) {
          (*static_cast<std::function<void(uint32_t)> *>(context))(rank);
        },
        &body);
    device->release(0, count);
    return group.takeStatus();
  }

  const uint32_t count;
  RankGroup group;
  std::unique_ptr<CpuDevice> device;
};

template <typename T> using PerRank = std::vector<std::vector<T>>;

/// Runs one collective on all ranks; `dst` may be `src`.
template <typename T>
void collect(Ranks &ranks, CollectiveCall call, PerRank<T> &src, PerRank<T> &dst) {
  uint64_t srcBytes = 0, dstBytes = 0;
  Status status = collectiveBytes(call, ranks.count, srcBytes, dstBytes);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(srcBytes, src[0].size() * sizeof(T));
  ASSERT_EQ(dstBytes, dst[0].size() * sizeof(T));
  status = ranks.run([&](uint32_t rank) {
    runCollective(call, ranks.group, ranks.device->core(rank), rank,
                  reinterpret_cast<std::byte *>(src[rank].data()),
                  reinterpret_cast<std::byte *>(dst[rank].data()), nullptr);
  });
  ASSERT_TRUE(status.ok()) << status.message();
}

CollectiveCall makeCall(CollectiveKind kind, int dtype, int64_t outer, int64_t count,
                        int64_t inner) {
  CollectiveCall call = {};
  call.kind = kind;
  call.dtype = dtype;
  call.outer = outer;
  call.count = count;
  call.inner = inner;
  return call;
}

template <typename T> PerRank<T> distinct(uint32_t ranks, int64_t count) {
  PerRank<T> values(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank)
    for (int64_t i = 0; i < count; ++i)
      values[rank].push_back(static_cast<T>(rank * 100000 + i));
  return values;
}

class AnyRanks : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(N, AnyRanks, testing::Values(1, 2, 3, 4, 7, 8, 16, 64));

TEST_P(AnyRanks, AllReduceInPlace) {
  Ranks ranks(GetParam(), /*threads=*/GetParam() < 8 ? 2 : 1);
  for (int64_t count : {1, 7, 1024, 5000}) {
    PerRank<float> values(ranks.count);
    std::vector<float> want(static_cast<size_t>(count));
    for (uint32_t rank = 0; rank < ranks.count; ++rank)
      for (int64_t i = 0; i < count; ++i) {
        values[rank].push_back(std::sin(static_cast<float>(rank * 31 + i)));
        want[static_cast<size_t>(i)] += values[rank].back(); // in the order of the ranks
      }
    collect(ranks, makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_F32, 1, count, 1), values,
            values);
    for (const auto &result : values)
      ASSERT_EQ(result, want); // bit for bit
  }
}

TEST_P(AnyRanks, ReduceScatter) {
  Ranks ranks(GetParam());
  const int64_t outer = 3, part = 5, inner = 7, n = ranks.count;
  PerRank<int64_t> src = distinct<int64_t>(ranks.count, outer * part * n * inner);
  PerRank<int64_t> dst(ranks.count, std::vector<int64_t>(outer * part * inner));
  collect(ranks, makeCall(CollectiveKind::ReduceScatter, NXRT_DTYPE_I64, outer, part * n, inner),
          src, dst);
  for (int64_t rank = 0; rank < n; ++rank)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < part * inner; ++i) {
        int64_t want = 0;
        for (int64_t q = 0; q < n; ++q)
          want += src[q][(o * n + rank) * part * inner + i];
        ASSERT_EQ(dst[rank][o * part * inner + i], want);
      }
}

TEST_P(AnyRanks, AllGather) {
  Ranks ranks(GetParam());
  const int64_t outer = 4, count = 3, inner = 5, n = ranks.count;
  PerRank<float> src = distinct<float>(ranks.count, outer * count * inner);
  PerRank<float> dst(ranks.count, std::vector<float>(outer * count * inner * n));
  collect(ranks, makeCall(CollectiveKind::AllGather, NXRT_DTYPE_F32, outer, count, inner), src,
          dst);
  for (const auto &result : dst)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t q = 0; q < n; ++q)
        for (int64_t i = 0; i < count * inner; ++i)
          ASSERT_EQ(result[(o * n + q) * count * inner + i], src[q][o * count * inner + i]);
}

TEST_P(AnyRanks, AllToAllBothWays) {
  // Heads to sequence and back: [2, 3*N heads, 5] <-> [3 heads, 2*N, 5] as parts [3, 2, 5].
  Ranks ranks(GetParam());
  const int64_t n = ranks.count;
  const int64_t shapes[][6] = {{2, 3, 5, 3, 2, 5},
                               {6, 5, 1, 2, 3, 5},
                               {1, 4, 6, 4, 6, 1},
                               {3, 2, 4, 1, 8, 3},
                               {5, 4, 3, 2, 10, 3}};
  for (const auto &shape : shapes) {
    const int64_t part = shape[0] * shape[1] * shape[2];
    PerRank<int64_t> src = distinct<int64_t>(ranks.count, part * n);
    PerRank<int64_t> dst(ranks.count, std::vector<int64_t>(part * n));
    CollectiveCall call =
        makeCall(CollectiveKind::AllToAll, NXRT_DTYPE_I64, shape[0], shape[1] * n, shape[2]);
    call.dstOuter = shape[3];
    call.dstCount = shape[4];
    call.dstInner = shape[5];
    collect(ranks, call, src, dst);
    const int64_t from = shape[1] * shape[2], to = shape[4] * shape[5];
    for (int64_t rank = 0; rank < n; ++rank)
      for (int64_t q = 0; q < n; ++q)
        for (int64_t e = 0; e < part; ++e)
          ASSERT_EQ(dst[rank][(e / to * n + q) * to + e % to],
                    src[q][(e / from * n + rank) * from + e % from]);
    // Back again.
    PerRank<int64_t> back(ranks.count, std::vector<int64_t>(part * n));
    CollectiveCall inverse =
        makeCall(CollectiveKind::AllToAll, NXRT_DTYPE_I64, shape[3], shape[4] * n, shape[5]);
    inverse.dstOuter = shape[0];
    inverse.dstCount = shape[1];
    inverse.dstInner = shape[2];
    collect(ranks, inverse, dst, back);
    ASSERT_EQ(back, src);
  }
}

TEST_P(AnyRanks, BroadcastAndPermute) {
  Ranks ranks(GetParam());
  const int64_t count = 20000;
  PerRank<float> src = distinct<float>(ranks.count, count);
  PerRank<float> dst(ranks.count, std::vector<float>(count));
  CollectiveCall call = makeCall(CollectiveKind::Broadcast, NXRT_DTYPE_F32, 1, count, 1);
  call.root = ranks.count - 1;
  collect(ranks, call, src, dst);
  for (const auto &result : dst)
    ASSERT_EQ(result, src.back());

  std::vector<uint32_t> sources;
  for (uint32_t rank = 0; rank < ranks.count; ++rank)
    sources.push_back((rank * 5 + 1) % ranks.count);
  call = makeCall(CollectiveKind::Permute, NXRT_DTYPE_F32, 2, count / 2, 1);
  call.sources = sources.data();
  collect(ranks, call, src, dst);
  for (uint32_t rank = 0; rank < ranks.count; ++rank)
    ASSERT_EQ(dst[rank], src[sources[rank]]);
}

//===-- Element types
//-----------------------------------------------------------------------------===

template <typename T> void checkIntegers(int dtype) {
  Ranks ranks(3);
  const int64_t count = 3000;
  std::mt19937_64 random(1);
  PerRank<T> src(3);
  for (auto &values : src)
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<T>(random()));
  for (ReduceKind reduce : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod}) {
    PerRank<T> dst(3, std::vector<T>(count));
    CollectiveCall call = makeCall(CollectiveKind::AllReduce, dtype, 1, count, 1);
    call.reduce = reduce;
    collect(ranks, call, src, dst);
    for (int64_t i = 0; i < count; ++i) {
      uint64_t sum = 0, product = 1;
      T most = src[0][i], least = src[0][i];
      for (const auto &values : src) {
        sum += static_cast<uint64_t>(values[i]);
        product *= static_cast<uint64_t>(values[i]);
        most = std::max(most, values[i]);
        least = std::min(least, values[i]);
      }
      T want = reduce == ReduceKind::Sum   ? static_cast<T>(sum)
               : reduce == ReduceKind::Max ? most
               : reduce == ReduceKind::Min ? least
                                           : static_cast<T>(product);
      for (const auto &values : dst)
        ASSERT_EQ(values[i], want);
    }
  }
}

TEST(Reduce, Integers) {
  checkIntegers<int64_t>(NXRT_DTYPE_I64);
  checkIntegers<int32_t>(NXRT_DTYPE_I32);
  checkIntegers<int16_t>(NXRT_DTYPE_I16);
  checkIntegers<int8_t>(NXRT_DTYPE_I8);
  checkIntegers<uint64_t>(NXRT_DTYPE_U64);
  checkIntegers<uint32_t>(NXRT_DTYPE_U32);
  checkIntegers<uint16_t>(NXRT_DTYPE_U16);
  checkIntegers<uint8_t>(NXRT_DTYPE_U8);
}

TEST(Reduce, Doubles) {
  Ranks ranks(3);
  PerRank<double> values = {{0.1, 1e300, -2}, {0.2, 1e300, 3}, {0.3, -1e300, 0.5}};
  PerRank<double> dst(3, std::vector<double>(3));
  CollectiveCall call = makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_F64, 1, 3, 1);
  collect(ranks, call, values, dst);
  EXPECT_EQ(dst[2], (std::vector<double>{0.1 + 0.2 + 0.3, 1e300 + 1e300 - 1e300, 1.5}));
  call.reduce = ReduceKind::Prod;
  collect(ranks, call, values, dst);
  EXPECT_EQ(dst[1][2], -3.0);
}

/// f16 by hand, for comparison: the value of a bit pattern.
double halfValue(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31  ? (mantissa ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(mantissa, -24)
                                 : std::ldexp(1024 + mantissa, exponent - 25);
  return bits >> 15 ? -value : value;
}

/// The f16 next to a value, ties to even, by search.
uint16_t halfNext(double value) {
  if (std::isnan(value))
    return 0x7e00;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  value = std::fabs(value);
  uint16_t low = 0, high = 0x7c00; // by magnitude, patterns are ordered like values
  while (high - low > 1) {
    uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (halfValue(middle) <= value ? low : high) = middle;
  }
  const double upper = high == 0x7c00 ? 65536.0 : halfValue(high);
  const double toLow = value - halfValue(low), toHigh = upper - value;
  bool up = toHigh < toLow || (toHigh == toLow && low % 2 == 1);
  return static_cast<uint16_t>(sign | (up ? high : low));
}

TEST(Reduce, HalvesRoundOnceFromF32) {
  Ranks ranks(2);
  // All finite patterns plus each of a few others.
  PerRank<uint16_t> src(2), dst(2);
  for (uint16_t other : {0x0000, 0x8000, 0x0001, 0x83ff, 0x3c00, 0xbc01, 0x7bff, 0xfbff, 0x0400,
                         0x1234, 0xd678, 0x7c00})
    for (uint32_t pattern = 0; pattern < 65536; pattern += 1 + (pattern & 3)) {
      src[0].push_back(static_cast<uint16_t>(pattern));
      src[1].push_back(other);
    }
  dst[0].resize(src[0].size());
  dst[1].resize(src[0].size());
  collect(ranks,
          makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_F16, 1,
                   static_cast<int64_t>(src[0].size()), 1),
          src, dst);
  EXPECT_EQ(dst[0], dst[1]);
  for (size_t i = 0; i < src[0].size(); ++i) {
    const double want = halfValue(src[0][i]) + halfValue(src[1][i]); // exact in f32, too
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(halfValue(dst[0][i]))) << std::hex << src[0][i] << " " << src[1][i];
    else if (want == 0)
      ASSERT_EQ(halfValue(dst[0][i]), 0);
    else
      ASSERT_EQ(dst[0][i], halfNext(static_cast<float>(want)))
          << std::hex << src[0][i] << " " << src[1][i];
  }
}

TEST(Reduce, BFloatsAreSummedInF32) {
  // 256 ones: a sum in bf16 would stop at 256 + 1 = 256.
  Ranks ranks(3);
  auto bf16 = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return static_cast<uint16_t>(bits >> 16);
  };
  PerRank<uint16_t> src = {{bf16(256), bf16(NAN), bf16(INFINITY)},
                           {bf16(1), bf16(1), bf16(1)},
                           {bf16(1), bf16(1), bf16(-INFINITY)}};
  PerRank<uint16_t> dst(3, std::vector<uint16_t>(3));
  collect(ranks, makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_BF16, 1, 3, 1), src, dst);
  EXPECT_EQ(dst[0][0], bf16(258));
  EXPECT_GT(dst[0][1] & 0x7fff, 0x7f80); // NaN
  EXPECT_GT(dst[0][2] & 0x7fff, 0x7f80);
}

TEST(Reduce, BoolIsOrAndAnd) {
  Ranks ranks(2);
  PerRank<uint8_t> src = {{0, 0, 1, 1}, {0, 1, 0, 1}}, dst(2, std::vector<uint8_t>(4));
  CollectiveCall call = makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_BOOL, 1, 4, 1);
  call.reduce = ReduceKind::Max;
  collect(ranks, call, src, dst);
  EXPECT_EQ(dst[0], (std::vector<uint8_t>{0, 1, 1, 1}));
  call.reduce = ReduceKind::Min;
  collect(ranks, call, src, dst);
  EXPECT_EQ(dst[1], (std::vector<uint8_t>{0, 0, 0, 1}));
}

TEST(Reduce, MaximumOfNanIsNan) {
  Ranks ranks(2);
  PerRank<float> src = {{NAN, 1, -0.5f}, {1, NAN, 2}}, dst(2, std::vector<float>(3));
  CollectiveCall call = makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_F32, 1, 3, 1);
  for (ReduceKind reduce : {ReduceKind::Max, ReduceKind::Min}) {
    call.reduce = reduce;
    collect(ranks, call, src, dst);
    EXPECT_TRUE(std::isnan(dst[0][0]) && std::isnan(dst[0][1]));
    EXPECT_EQ(dst[0][2], reduce == ReduceKind::Max ? 2 : -0.5f);
  }
}

TEST(Sizes, WhatDoesNotDivideIsRefused) {
  uint64_t src = 0, dst = 0;
  CollectiveCall call = makeCall(CollectiveKind::ReduceScatter, NXRT_DTYPE_F32, 1, 7, 1);
  EXPECT_EQ(collectiveBytes(call, 2, src, dst).code(), NXRT_SHAPE_MISMATCH);
  call = makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_F32, 1, -1, 1);
  EXPECT_EQ(collectiveBytes(call, 2, src, dst).code(), NXRT_OUT_OF_RANGE);
  call = makeCall(CollectiveKind::AllReduce, NXRT_DTYPE_F32, INT64_MAX, INT64_MAX, 1);
  EXPECT_EQ(collectiveBytes(call, 2, src, dst).code(), NXRT_OUT_OF_RANGE);
  call = makeCall(CollectiveKind::AllGather, NXRT_DTYPE_I4, 2, 3, 1);
  EXPECT_EQ(collectiveBytes(call, 2, src, dst).code(), NXRT_SHAPE_MISMATCH);
  call = makeCall(CollectiveKind::AllGather, NXRT_DTYPE_I4, 2, 4, 1);
  EXPECT_TRUE(collectiveBytes(call, 2, src, dst).ok());
  EXPECT_EQ(src, 4u);
  EXPECT_EQ(dst, 8u);
}

//===-- Barriers
//----------------------------------------------------------------------------------===

TEST(Barrier, ManyRounds) {
  for (uint32_t count : {2u, 5u}) {
    Ranks ranks(count);
    std::vector<uint64_t> rounds(count * 8); // apart from each other
    std::atomic<bool> wrong{false};
    Status status = ranks.run([&](uint32_t rank) {
      for (uint64_t i = 1; i <= 500; ++i) {
        rounds[rank * 8] = i;
        if (!ranks.group.barrier(rank, "test"))
          return;
        for (uint32_t other = 0; other < count; ++other)
          wrong = wrong || rounds[other * 8] != i;
        if (!ranks.group.barrier(rank, "test"))
          return;
      }
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_FALSE(wrong);
  }
}

const std::atomic<uint32_t> never{0};

TEST(Barrier, ATimeoutNamesTheMissingRanks) {
  Ranks ranks(4);
  Status status = ranks.run(
      [&](uint32_t rank) {
        if (rank == 1 || rank == 2)
          while (!ranks.group.failed()) // never arrives by itself
            sleepOn(never, 0, 1000000);
        ranks.group.barrier(rank, "all_gather");
      },
      /*timeoutNs=*/30000000);
  EXPECT_EQ(status.code(), NXRT_TIMEOUT);
  EXPECT_THAT(status.message(), testing::HasSubstr("waited for rank 1, 2 at all_gather"));
}

TEST(Barrier, OneFailureEndsAll) {
  Ranks ranks(3);
  for (int round = 0; round < 20; ++round) {
    Status status = ranks.run([&](uint32_t rank) {
      for (int i = 0; i < 5; ++i) {
        if (rank == 2 && i == 3)
          return ranks.group.fail(Status(NXRT_EXECUTION_FAILED, "on purpose"));
        if (!ranks.group.barrier(rank, "test"))
          return;
      }
    });
    EXPECT_EQ(status.code(), NXRT_EXECUTION_FAILED);
    EXPECT_EQ(status.message(), "on purpose");
    // The next execution starts afresh.
    status = ranks.run([&](uint32_t rank) { ranks.group.barrier(rank, "test"); });
    EXPECT_TRUE(status.ok());
  }
}

} // namespace
