#include "runtime/memory/arena_plan.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace nxrt;

namespace {

/// Fails when two ranges that live at once overlap, or one is unaligned or outside.
void check(const std::vector<LiveRange> &ranges, const std::vector<uint64_t> &offsets,
           uint64_t total) {
  ASSERT_EQ(ranges.size(), offsets.size());
  for (size_t i = 0; i < ranges.size(); ++i) {
    EXPECT_EQ(offsets[i] % kArenaAlign, 0u);
    EXPECT_LE(offsets[i] + ranges[i].bytes, total);
    for (size_t j = 0; j < i; ++j) {
      bool together = ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last;
      bool apart = offsets[i] + ranges[i].bytes <= offsets[j] ||
                   offsets[j] + ranges[j].bytes <= offsets[i] || !ranges[i].bytes ||
                   !ranges[j].bytes;
      EXPECT_TRUE(!together || apart) << i << " and " << j;
    }
  }
}

/// The most bytes that live at one command: no plan can need less.
uint64_t lowerBound(const std::vector<LiveRange> &ranges) {
  uint64_t most = 0;
  for (const LiveRange &at : ranges) {
    uint64_t sum = 0;
    for (const LiveRange &range : ranges)
      if (range.first <= at.first && at.first <= range.last)
        sum += (range.bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
    most = std::max(most, sum);
  }
  return most;
}

uint64_t plan(const std::vector<LiveRange> &ranges) {
  std::vector<uint64_t> offsets;
  uint64_t total = 0;
  EXPECT_TRUE(planArena(ranges, offsets, total));
  check(ranges, offsets, total);
  return total;
}

TEST(ArenaPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan({}), 0u);
  EXPECT_EQ(plan({{0, 5, 0}}), 0u);
}

TEST(ArenaPlan, AChainNeedsItsTwoLargestNeighbours) {
  // Each buffer is read by the command that writes the next one.
  EXPECT_EQ(plan({{0, 1, 640}, {1, 2, 640}, {2, 3, 640}, {3, 4, 640}}), 1280u);
}

TEST(ArenaPlan, AGapIsFilledByTheBestFit) {
  // Two gaps open up, of 256 and of 128 bytes; the one that fits exactly is taken.
  std::vector<LiveRange> ranges = {{0, 9, 1024}, {0, 1, 256}, {0, 9, 512},
                                   {0, 1, 128},  {0, 9, 320}, {2, 9, 128}};
  EXPECT_EQ(plan(ranges), lowerBound(ranges));
}

TEST(ArenaPlan, SizesAreRoundedUp) { EXPECT_EQ(plan({{0, 0, 1}, {0, 0, 65}}), 192u); }

TEST(ArenaPlan, OverflowIsRefused) {
  std::vector<uint64_t> offsets;
  uint64_t total = 0;
  std::vector<LiveRange> one = {{0, 0, UINT64_MAX}};
  EXPECT_FALSE(planArena(one, offsets, total));
  std::vector<LiveRange> two = {{0, 0, uint64_t{1} << 62}, {0, 0, uint64_t{1} << 62}};
  EXPECT_FALSE(planArena(two, offsets, total));
}

TEST(ArenaPlan, RandomProgramsAreSoundAndCloseToTheBound) {
  std::mt19937 random(1);
  double worst = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<LiveRange> ranges;
    const uint32_t count = 1 + random() % 120;
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t first = random() % 100;
      ranges.push_back({first, first + static_cast<uint32_t>(random() % 6), random() % 10000});
    }
    uint64_t bound = lowerBound(ranges);
    if (bound > 0)
      worst = std::max(worst, static_cast<double>(plan(ranges)) / static_cast<double>(bound));
  }
  EXPECT_LT(worst, 1.5);
}

} // namespace
