#include "runtime/collectives/collectives.h"

#include "runtime/collectives/reduce.h"
#include "runtime/platform/dtype.h"
#include "runtime/platform/pages.h"
#include "runtime/platform/wait.h"
#include "runtime/schema/nxe_format.h"

#include <algorithm>
#include <cstring>

namespace nxrt {

using nx::fb::CollectiveKind;

// Copies are cut into pieces of this size for the threads of a core.
static constexpr int64_t kCopyBlock = 64 << 10;
// Below this much traffic one thread is faster than two.
static constexpr int64_t kShareBytes = 32 << 10;

const char *collectiveName(CollectiveKind kind) {
  static constexpr const char *names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                          "all_to_all", "broadcast",  "permute"};
  return names[static_cast<size_t>(kind)];
}

static bool elements(int64_t outer, int64_t count, int64_t inner, uint64_t factor,
                     uint64_t &product) {
  if (outer < 0 || count < 0 || inner < 0)
    return false;
  product = factor;
  return multiplyChecked(product, static_cast<uint64_t>(outer), product) &&
         multiplyChecked(product, static_cast<uint64_t>(count), product) &&
         multiplyChecked(product, static_cast<uint64_t>(inner), product) &&
         product <= static_cast<uint64_t>(INT64_MAX) / 16;
}

Status collectiveBytes(const CollectiveCall &call, uint32_t ranks, uint64_t &srcBytes,
                       uint64_t &dstBytes) {
  const char *name = collectiveName(call.kind);
  uint64_t src = 0, dst = 0;
  if (!elements(call.outer, call.count, call.inner, 1, src))
    return makeError(NXRT_OUT_OF_RANGE, "%s has the size [%lld, %lld, %lld]: negative or too large",
                     name, static_cast<long long>(call.outer), static_cast<long long>(call.count),
                     static_cast<long long>(call.inner));
  dst = src;
  uint64_t run = src; // elements that are moved as one; a byte must not be cut between two runs
  const bool splits =
      call.kind == CollectiveKind::ReduceScatter || call.kind == CollectiveKind::AllToAll;
  if (splits && call.count % ranks != 0)
    return makeError(NXRT_SHAPE_MISMATCH,
                     "%s splits a dimension of %lld over %u ranks, which leaves a remainder", name,
                     static_cast<long long>(call.count), ranks);
  if (call.kind == CollectiveKind::ReduceScatter) {
    dst = src / ranks;
  } else if (call.kind == CollectiveKind::AllGather) {
    run = static_cast<uint64_t>(call.count) * static_cast<uint64_t>(call.inner);
    if (!elements(call.outer, call.count, call.inner, ranks, dst))
      return makeError(NXRT_OUT_OF_RANGE, "%s has a result that is too large", name);
  } else if (call.kind == CollectiveKind::AllToAll) {
    if (!elements(call.dstOuter, call.dstCount, call.dstInner, ranks, dst) || dst != src)
      return makeError(NXRT_SHAPE_MISMATCH, "%s has parts that differ in size at its two ends",
                       name);
    if (src > 0) {
      uint64_t from = static_cast<uint64_t>(call.count) / ranks * static_cast<uint64_t>(call.inner);
      uint64_t to = static_cast<uint64_t>(call.dstCount) * static_cast<uint64_t>(call.dstInner);
      run = from % 2 ? from : to;
    }
  }
  if (dtypeBits(call.dtype) < 8 && run % 2 != 0 && (run != src || ranks > 1) &&
      (call.kind == CollectiveKind::AllGather || call.kind == CollectiveKind::AllToAll))
    return makeError(NXRT_SHAPE_MISMATCH, "%s would cut a byte that holds two %s elements", name,
                     dtypeName(call.dtype));
  if (!dtypeBytes(call.dtype, src, srcBytes) || !dtypeBytes(call.dtype, dst, dstBytes))
    return makeError(NXRT_OUT_OF_RANGE, "%s is too large", name);
  return {};
}

namespace {

/// Runs a lambda over [0, count) on the core's threads.
template <typename Body> void forEach(Core &core, int64_t count, int64_t grain, Body body) {
  core.parallelFor(
      count, grain,
      [](void *context, uint32_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          (*static_cast<Body *>(context))(i);
        return 0;
      },
      &body);
}

/// Copies `rows` rows of `bytes`, cut into blocks; `at(row)` gives {from, to}.
template <typename At> void copyRows(Core &core, int64_t rows, int64_t bytes, At at) {
  if (rows == 0 || bytes == 0)
    return;
  const int64_t blocks = (bytes + kCopyBlock - 1) / kCopyBlock;
  const int64_t grain = std::max<int64_t>(1, kShareBytes / std::min(bytes, kCopyBlock));
  forEach(core, rows * blocks, grain, [&](int64_t item) {
    auto [from, to] = at(item / blocks);
    const int64_t begin = item % blocks * kCopyBlock;
    const size_t size = static_cast<size_t>(std::min(bytes - begin, kCopyBlock));
    std::memcpy(to + begin, from + begin, size);
  });
}

struct Ends {
  const std::byte *from;
  std::byte *to;
};

/// What one rank does between the barrier at which all sources are ready and the one at which all
/// results are.
class RankPart {
public:
  RankPart(const CollectiveCall &call, RankGroup &group, Core &core, uint32_t rank)
      : call(call), core(core), ranks(group.size()), rank(rank), bits(dtypeBits(call.dtype)) {
    for (uint32_t r = 0; r < ranks; ++r) {
      src[r] = static_cast<std::byte *>(group.published(r));
      dst[r] = static_cast<std::byte *>(group.publishedSecond(r));
    }
  }

  void run() {
    switch (call.kind) {
    case CollectiveKind::AllReduce:
      return allReduce();
    case CollectiveKind::ReduceScatter:
      return reduceScatter();
    case CollectiveKind::AllGather:
      return allGather();
    case CollectiveKind::AllToAll:
      return allToAll();
    case CollectiveKind::Broadcast:
      return copyFrom(call.root);
    case CollectiveKind::Permute:
      return copyFrom(call.sources[rank]);
    }
  }

private:
  int64_t bytes(int64_t elements) const { return (elements * bits + 7) / 8; }

  /// Reduces `count` elements from `from` on in all sources into the destinations.
  void reduce(int64_t from, int64_t count, std::byte *const *to, uint32_t toCount,
              int64_t toElement) {
    const std::byte *sources[kMaxRanks];
    std::byte *targets[kMaxRanks];
    for (uint32_t r = 0; r < ranks; ++r)
      sources[r] = src[r] + bytes(from);
    for (uint32_t r = 0; r < toCount; ++r)
      targets[r] = to[r] + bytes(toElement);
    reduceFunction(call.reduce, call.dtype)(sources, ranks, targets, toCount, count);
  }

  /// How many blocks are worth a second thread.
  int64_t reduceGrain() const {
    return std::max<int64_t>(1, kShareBytes / (kReduceBlock * bits / 8 * ranks));
  }

  void allReduce() {
    // Rank r reduces the r-th share of the blocks and writes it to everybody. Nobody else touches
    // that share, so source and destination may be the same.
    const int64_t total = call.outer * call.count * call.inner;
    const int64_t blocks = (total + kReduceBlock - 1) / kReduceBlock;
    const int64_t first = blocks * rank / ranks, last = blocks * (rank + 1) / ranks;
    forEach(core, last - first, reduceGrain(), [&](int64_t item) {
      const int64_t begin = (first + item) * kReduceBlock;
      reduce(begin, std::min(kReduceBlock, total - begin), dst, ranks, begin);
    });
  }

  void reduceScatter() {
    const int64_t row = call.count / ranks * call.inner;
    const int64_t blocks = (row + kReduceBlock - 1) / kReduceBlock;
    forEach(core, call.outer * blocks, reduceGrain(), [&](int64_t item) {
      const int64_t outer = item / blocks, begin = item % blocks * kReduceBlock;
      reduce((outer * ranks + rank) * row + begin, std::min(kReduceBlock, row - begin), &dst[rank],
             1, outer * row + begin);
    });
  }

  void allGather() {
    const int64_t row = bytes(call.count * call.inner);
    copyRows(core, call.outer * ranks, row, [&](int64_t item) -> Ends {
      const int64_t outer = item / ranks, from = item % ranks;
      return {src[from] + outer * row, dst[rank] + item * row};
    });
  }

  void allToAll() {
    // A part is one sequence of elements, cut into rows of `from` bytes here and `to` bytes there;
    // every row of the larger kind is a whole number of pieces.
    const int64_t from = bytes(call.count / ranks * call.inner);
    const int64_t to = bytes(call.dstCount * call.dstInner);
    const int64_t part = from * call.outer;
    for (uint32_t peer = 0; peer < ranks; ++peer) {
      auto source = [&](int64_t at) {
        return src[peer] + (at / from * ranks + rank) * from + at % from;
      };
      auto target = [&](int64_t at) { return dst[rank] + (at / to * ranks + peer) * to + at % to; };
      if (from == 0 || to == 0)
        return;
      if (from % to == 0 || to % from == 0) {
        const int64_t piece = std::min(from, to);
        copyRows(core, part / piece, piece, [&](int64_t item) -> Ends {
          return {source(item * piece), target(item * piece)};
        });
        continue;
      }
      for (int64_t at = 0; at < part;) {
        const int64_t piece = std::min(from - at % from, to - at % to);
        std::memcpy(target(at), source(at), static_cast<size_t>(piece));
        at += piece;
      }
    }
  }

  void copyFrom(uint32_t peer) {
    copyRows(core, 1, bytes(call.outer * call.count * call.inner),
             [&](int64_t) -> Ends { return {src[peer], dst[rank]}; });
  }

  const CollectiveCall &call;
  Core &core;
  const uint32_t ranks;
  const uint32_t rank;
  const int64_t bits;
  std::byte *src[kMaxRanks];
  std::byte *dst[kMaxRanks];
};

} // namespace

bool runCollective(const CollectiveCall &call, RankGroup &group, Core &core, uint32_t rank,
                   std::byte *src, std::byte *dst, uint64_t *waitNs) {
  group.publish(rank, src);
  group.publishSecond(rank, dst);
  const char *name = collectiveName(call.kind);
  auto meet = [&] {
    if (!waitNs)
      return group.barrier(rank, name);
    uint64_t begin = nowNs();
    bool passed = group.barrier(rank, name);
    *waitNs += nowNs() - begin;
    return passed;
  };
  if (!meet())
    return false;
  RankPart(call, group, core, rank).run();
  return meet(); // nobody reuses its source before all have read it
}

} // namespace nxrt
