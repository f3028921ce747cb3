#include "compiler/codegen/cpu/Attention.h"

#include "compiler/codegen/cpu/PanelPacking.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;

namespace nx {
namespace {

// Up to so many queries in a chunk, keys are not packed.
constexpr int64_t kFewQueries = 2;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

class AttentionEmitter {
public:
  AttentionEmitter(const AttentionSpec &spec, const TargetDescription &target)
      : spec(spec), target(target), group(spec.queryHeads / spec.keyHeads),
        tilePanels(target.nr / kPanelWidth), chunkRows(spec.tilesPerChunk * target.mr),
        keyBlock(llvm::alignTo(spec.keyBlock, target.nr)),
        valuePanels(llvm::divideCeil(spec.valueDepth, kPanelWidth)) {
    for (int64_t height : tileHeights())
      valueWidth = std::max<int64_t>(
          valueWidth, llvm::alignTo(valuePanels, valueTilePanels(height)) * kPanelWidth);
    keysInPlace = KernelBuilder::constant(spec.k.strides[3]) == 1;
    // Rows of v that lie as panels do need no copy.
    valuesInPlace = KernelBuilder::constant(spec.v.strides[3]) == 1 &&
                    spec.valueDepth % kPanelWidth == 0 &&
                    spec.signature.operands[spec.v.operand].isF32();
    auto take = [this](int64_t elements) {
      int64_t offset = scratchBytes;
      scratchBytes += llvm::alignTo(elements * 4, 64);
      return offset;
    };
    queryBytes = take(chunkRows * spec.depth);
    sumBytes = take(chunkRows * valueWidth);
    maximumBytes = take(chunkRows);
    totalBytes = take(chunkRows);
    keyBytes = take(keyBlock * spec.depth);
    valueBytes = take(valuesInPlace ? 0 : keyBlock * valuePanels * kPanelWidth);
    weightBytes = take(target.mr * keyBlock);
  }

  KernelBodies bodies() {
    return {[this](KernelBuilder &kb, Value begin, Value end) { run(kb, begin, end); },
            [this](KernelBuilder &kb) { return tiles(kb); },
            [this](KernelBuilder &kb) { return kb.index(scratchBytes); },
            [this](KernelBuilder &kb) { return grain(kb); }};
  }

private:
  // The queries of all heads that share a key head are the rows of one product: row = head * S + s.
  Value rows(KernelBuilder &kb) { return kb.mul(kb.size(spec.queries), group); }
  Value chunks(KernelBuilder &kb) { return kb.ceilDiv(rows(kb), chunkRows); }

  Value tiles(KernelBuilder &kb) {
    return kb.mul(kb.mul(kb.size(spec.batch), spec.keyHeads), chunks(kb));
  }

  Value grain(KernelBuilder &kb) {
    // Two products at two vectors a cycle and 3 GHz; packing and softmax at about an element a ns.
    Value keys = kb.size(spec.keys), height = kb.min(rows(kb), kb.index(chunkRows));
    Value products = kb.mul(kb.mul(height, keys), spec.depth + spec.valueDepth);
    Value other = kb.mul(keys, kb.add(height, spec.depth / 4));
    return grainForTileCost(kb, kb.add(kb.div(products, 6 * target.vectorLanes), other));
  }

  // --- run

  void run(KernelBuilder &kb, Value begin, Value end) {
    Type f32 = kb.b.getF32Type();
    queriesIn = kb.scratch(f32, kb.index(queryBytes));
    sums = kb.scratch(f32, kb.index(sumBytes));
    maxima = kb.scratch(f32, kb.index(maximumBytes));
    totals = kb.scratch(f32, kb.index(totalBytes));
    keysIn = kb.scratch(f32, kb.index(keyBytes));
    valuesIn = valuesInPlace ? kb.operand(spec.v.operand) : kb.scratch(f32, kb.index(valueBytes));
    weights = kb.scratch(f32, kb.index(weightBytes));
    Value allRows = rows(kb), allChunks = chunks(kb);
    queryCount = kb.size(spec.queries);
    keyCount = kb.size(spec.keys);

    kb.loop(begin, end, 1, [&](Value tile) {
      Value chunk = kb.rem(tile, allChunks), rest = kb.div(tile, allChunks);
      keyHead = kb.rem(rest, kb.index(spec.keyHeads));
      batch = kb.div(rest, spec.keyHeads);
      firstRow = kb.div(kb.mul(chunk, allRows), allChunks);
      Value endRow = kb.div(kb.mul(kb.add(chunk, 1), allRows), allChunks);
      runChunk(kb, kb.sub(endRow, firstRow));
    });
  }

  void runChunk(KernelBuilder &kb, Value height) {
    kb.loop(kb.index(0), height, 1, [&](Value row) { startRow(kb, row); });

    Value limit = keyLimit(kb, firstRow, kb.add(firstRow, height));
    Value few = keysInPlace ? kb.less(height, kb.index(kFewQueries + 1)) : kb.index(0);
    kb.loop(kb.index(0), limit, keyBlock, [&](Value firstKey) {
      Value keys = kb.min(kb.sub(limit, firstKey), kb.index(keyBlock));
      kb.ifElse(few, [] {}, [&] { packKeys(kb, firstKey, keys); });
      if (!valuesInPlace)
        packValues(kb, firstKey, keys);
      kb.loop(kb.index(0), height, target.mr, [&](Value row) {
        Value tileHeight = kb.min(kb.sub(height, row), kb.index(target.mr));
        Value tileRow = kb.add(firstRow, row);
        auto work = [&] { runTile(kb, row, tileHeight, few, firstKey, keys); };
        if (spec.causalOffset)
          kb.ifThen(kb.less(firstKey, keyLimit(kb, tileRow, kb.add(tileRow, tileHeight))), work);
        else
          work();
      });
    });

    kb.loop(kb.index(0), height, 1, [&](Value row) { finishRow(kb, row); });
  }

  // Where a row of the product lies.
  struct RowPlace {
    Value head, query;
  };
  RowPlace placeOf(KernelBuilder &kb, Value row) {
    Value head = kb.mul(keyHead, group);
    if (group == 1)
      return {head, row};
    return {kb.add(head, kb.div(row, queryCount)), kb.rem(row, queryCount)};
  }

  // One past the last key that any row in [from, to) may use.
  Value keyLimit(KernelBuilder &kb, Value from, Value to) {
    if (!spec.causalOffset)
      return keyCount;
    Value last = kb.sub(to, kb.index(1));
    Value query = placeOf(kb, last).query;
    if (group > 1) // rows of several heads: the last query of the first head is among them
      query = kb.select(kb.equal(kb.div(from, queryCount), kb.div(last, queryCount)), query,
                        kb.sub(queryCount, kb.index(1)));
    return causalLimit(kb, query);
  }
  Value causalLimit(KernelBuilder &kb, Value query) {
    Value limit = kb.add(kb.add(query, kb.size(spec.causalOffset)), 1);
    return kb.max(kb.min(limit, keyCount), kb.index(0));
  }

  // Copies a query, scaled, and sets its running maximum, total and sums to those of no keys.
  void startRow(KernelBuilder &kb, Value row) {
    RowPlace place = placeOf(kb, kb.add(firstRow, row));
    Value from = spec.q.at(kb, {batch, place.head, place.query});
    Value stride = spec.q.stride(kb, 3), scale = kb.splat(spec.scale);
    Value to = kb.mul(row, spec.depth);
    forEachVector(kb, spec.depth, [&](Value at, Value mask) {
      Value vector = kb.loadStrided(kb.operand(spec.q.operand), kb.add(from, kb.mul(at, stride)),
                                    stride, mask);
      vector = arith::MulFOp::create(kb.b, kb.loc, vector, scale);
      kb.storeVector(vector, queriesIn, kb.add(to, at), mask);
    });
    kb.storeScalar(kb.scalar(kMinusInfinity), maxima, row);
    kb.storeScalar(kb.scalar(0), totals, row);
    Value sumRow = kb.mul(row, valueWidth);
    kb.loop(kb.index(0), kb.index(usedWidth()), kb.lanes,
            [&](Value at) { kb.storeVector(kb.splat(0), sums, kb.add(sumRow, at)); });
  }

  void finishRow(KernelBuilder &kb, Value row) {
    RowPlace place = placeOf(kb, kb.add(firstRow, row));
    Value total = kb.loadScalar(totals, row);
    Value factor = arith::DivFOp::create(kb.b, kb.loc, kb.scalar(1), total);
    // A query that used no key: 0 * 0, or 0 * (1 / 0), which is NaN. With no keys at all it is 0.
    Value isZero = spec.zeroWithoutKeys ? Value(arith::CmpFOp::create(
                                              kb.b, kb.loc, arith::CmpFPredicate::OEQ, total,
                                              kb.scalar(0)))
                                        : kb.equal(keyCount, kb.index(0));
    factor = kb.select(isZero, kb.scalar(0), factor);
    factor = kb.broadcast(factor);
    Value to = spec.out.at(kb, {batch, place.head, place.query}), stride = spec.out.stride(kb, 3);
    Value sumRow = kb.mul(row, valueWidth);
    forEachVector(kb, spec.valueDepth, [&](Value at, Value mask) {
      Value vector = kb.loadVector(sums, kb.add(sumRow, at));
      vector = arith::MulFOp::create(kb.b, kb.loc, vector, factor);
      kb.storeStrided(vector, kb.operand(spec.out.operand), kb.add(to, kb.mul(at, stride)), stride,
                      mask);
    });
  }

  // body(first element, mask) over `count` elements; only the last vector may have a mask.
  void forEachVector(KernelBuilder &kb, int64_t count, function_ref<void(Value, Value)> body) {
    int64_t whole = count / kb.lanes * kb.lanes;
    if (whole)
      kb.loop(kb.index(0), kb.index(whole), kb.lanes, [&](Value at) { body(at, {}); });
    if (whole < count)
      body(kb.index(whole), kb.maskOfFirst(kb.index(count - whole)));
  }

  void packKeys(KernelBuilder &kb, Value firstKey, Value keys) {
    PanelSource source;
    source.memory = kb.operand(spec.k.operand);
    source.depthStride = spec.k.stride(kb, 3);
    source.columnStride = spec.k.stride(kb, 2);
    source.depth = kb.index(spec.depth);
    Value from = spec.k.at(kb, {batch, keyHead, firstKey});
    kb.loop(kb.index(0), keys, kPanelWidth, [&](Value key) {
      source.offset = kb.add(from, kb.mul(key, source.columnStride));
      source.columns = kb.sub(keys, key);
      packPanel(kb, source, keysIn, kb.mul(key, spec.depth));
    });
  }

  void packValues(KernelBuilder &kb, Value firstKey, Value keys) {
    PanelSource source;
    source.memory = kb.operand(spec.v.operand);
    source.depthStride = spec.v.stride(kb, 2);
    source.columnStride = spec.v.stride(kb, 3);
    source.depth = keys;
    Value from = spec.v.at(kb, {batch, keyHead, firstKey});
    kb.loop(kb.index(0), kb.index(spec.valueDepth), kPanelWidth, [&](Value column) {
      source.offset = kb.add(from, kb.mul(column, source.columnStride));
      source.columns = kb.sub(kb.index(spec.valueDepth), column);
      packPanel(kb, source, valuesIn, kb.mul(column, keyBlock));
    });
  }

  // One register tile of rows against one block of keys: scores, softmax, weighted sums.
  void runTile(KernelBuilder &kb, Value row, Value height, Value few, Value firstKey, Value keys) {
    // The scratch has room for whole register tiles, so a few heights serve all: a tile is computed
    // at the next larger one, and nothing looks at the additional rows.
    SmallVector<int64_t> heights = tileHeights();
    Value paddedHeight = kb.index(heights.back());
    for (int64_t smaller : llvm::reverse(ArrayRef(heights).drop_back()))
      paddedHeight = kb.select(kb.less(kb.index(smaller), height), paddedHeight, kb.index(smaller));
    auto scores = [&] {
      kb.switchOver(paddedHeight, heights,
                    [&](int64_t number) { scoreTile(kb, number, row, keys); });
    };
    kb.ifElse(few, [&] { scoreFewRows(kb, row, height, firstKey, keys); }, scores);

    kb.loop(kb.index(0), height, 1,
            [&](Value i) { updateRow(kb, kb.add(row, i), kb.mul(i, keyBlock), firstKey, keys); });

    kb.switchOver(paddedHeight, heights,
                  [&](int64_t number) { sumTile(kb, number, row, firstKey, keys); });
  }

  // weights[i, key] = q[row + i] . k[key], from the packed keys.
  void scoreTile(KernelBuilder &kb, int64_t height, Value row, Value keys) {
    int64_t vectors = target.nr / kb.lanes;
    kb.loop(kb.index(0), keys, target.nr, [&](Value key) {
      RegisterTileInputs in;
      in.a = queriesIn;
      in.aOffset = kb.mul(row, spec.depth);
      in.aRowStride = kb.index(spec.depth);
      in.aDepthStride = kb.index(1);
      in.b = keysIn;
      in.bDepthStride = kb.index(kPanelWidth);
      in.depth = kb.index(spec.depth);
      for (int64_t p = 0; p < tilePanels; ++p)
        in.bOffsets.push_back(kb.mul(kb.add(key, p * kPanelWidth), spec.depth));
      RegisterTileHooks hooks;
      hooks.finish = [&](ArrayRef<Value> scores) {
        for (auto [i, vector] : llvm::enumerate(scores))
          kb.storeVector(vector, weights,
                         kb.add(key, i / vectors * keyBlock + i % vectors * kb.lanes));
      };
      emitRegisterTile(kb, height, in, hooks);
    });
  }

  // The same for so few queries that packing would cost more than it saves: dot products along the
  // depth, of `lanes` keys at a time.
  void scoreFewRows(KernelBuilder &kb, Value row, Value height, Value firstKey, Value keys) {
    Value from = spec.k.at(kb, {batch, keyHead, firstKey}), stride = spec.k.stride(kb, 2);
    Value lastKey = kb.sub(keys, kb.index(1));
    kb.loop(kb.index(0), height, 1, [&](Value i) {
      Value query = kb.mul(kb.add(row, i), spec.depth), to = kb.mul(i, keyBlock);
      auto dotProducts = [&](Value key, bool whole) {
        SmallVector<Value> offsets, dots(kb.lanes, kb.splat(0));
        for (int64_t lane = 0; lane < kb.lanes; ++lane) {
          Value number = whole ? kb.add(key, lane) : kb.min(kb.add(key, lane), lastKey);
          offsets.push_back(kb.add(from, kb.mul(number, stride)));
        }
        auto multiply = [&](ValueRange sums, Value depth, Value mask) {
          Value x = kb.loadVector(queriesIn, kb.add(query, depth), mask);
          SmallVector<Value> next;
          for (auto [offset, sum] : llvm::zip(offsets, sums)) {
            Value y = kb.loadVector(kb.operand(spec.k.operand), kb.add(offset, depth), mask);
            next.push_back(kb.fma(x, y, sum));
          }
          return next;
        };
        int64_t wholeDepth = spec.depth / kb.lanes * kb.lanes;
        dots = kb.loop(kb.index(0), kb.index(wholeDepth), kb.lanes, dots,
                       [&](Value depth, ValueRange sums) { return multiply(sums, depth, {}); });
        if (wholeDepth < spec.depth)
          dots = multiply(dots, kb.index(wholeDepth),
                          kb.maskOfFirst(kb.index(spec.depth - wholeDepth)));
        kb.transpose(dots);
        for (int64_t count = kb.lanes / 2; count > 0; count /= 2)
          for (int64_t lane = 0; lane < count; ++lane)
            dots[lane] = arith::AddFOp::create(kb.b, kb.loc, dots[lane], dots[lane + count]);
        kb.storeVector(dots[0], weights, kb.add(to, key));
      };
      Value wholeKeys = kb.mul(kb.div(keys, kb.lanes), kb.lanes);
      kb.loop(kb.index(0), wholeKeys, kb.lanes, [&](Value key) { dotProducts(key, true); });
      kb.loop(wholeKeys, keys, kb.lanes, [&](Value key) { dotProducts(key, false); });
    });
  }

  int64_t valueTilePanels(int64_t height) const {
    return std::max(tilePanels, std::min(panelsForRows(target, height), valuePanels));
  }
  int64_t usedWidth() const { return llvm::alignTo(spec.valueDepth, target.vectorLanes); }

  // sums[row + i] += weights[i] x v
  void sumTile(KernelBuilder &kb, int64_t height, Value row, Value firstKey, Value keys) {
    int64_t panels = valueTilePanels(height), vectors = panels * kPanelWidth / kb.lanes;
    Value values = valuesInPlace ? spec.v.at(kb, {batch, keyHead, firstKey}) : kb.index(0);
    kb.loop(kb.index(0), kb.index(spec.valueDepth), panels * kPanelWidth, [&](Value column) {
      RegisterTileInputs in;
      in.a = weights;
      in.aOffset = kb.index(0);
      in.aRowStride = kb.index(keyBlock);
      in.aDepthStride = kb.index(1);
      in.b = valuesIn;
      in.bDepthStride = valuesInPlace ? spec.v.stride(kb, 2) : kb.index(kPanelWidth);
      in.depth = keys;
      for (int64_t p = 0; p < panels; ++p) {
        // Past the last panel it is the last one again; the sums have room for the copy.
        Value panel =
            kb.min(kb.add(column, p * kPanelWidth), kb.index((valuePanels - 1) * kPanelWidth));
        in.bOffsets.push_back(valuesInPlace ? kb.add(values, panel) : kb.mul(panel, keyBlock));
      }
      Value to = kb.add(kb.mul(row, valueWidth), column);
      auto at = [&](int64_t i) {
        return kb.add(to, i / vectors * valueWidth + i % vectors * kb.lanes);
      };
      RegisterTileHooks hooks;
      hooks.init = [&] {
        SmallVector<Value> partial;
        for (int64_t i = 0; i < height * vectors; ++i)
          partial.push_back(kb.loadVector(sums, at(i)));
        return partial;
      };
      hooks.finish = [&](ArrayRef<Value> results) {
        for (auto [i, vector] : llvm::enumerate(results))
          kb.storeVector(vector, sums, at(i));
      };
      emitRegisterTile(kb, height, in, hooks);
    });
  }

  SmallVector<int64_t> tileHeights() const {
    SmallVector<int64_t> all;
    for (int64_t height = 1; height < target.mr; height *= 2)
      all.push_back(height);
    all.push_back(target.mr);
    // A single chunk of known height has tiles of mr rows and a known rest.
    std::optional<int64_t> queries = KernelBuilder::constant(spec.queries);
    if (!queries || *queries * group > chunkRows)
      return all;
    int64_t whole = *queries * group / target.mr, rest = *queries * group % target.mr;
    SmallVector<int64_t> used;
    if (rest)
      used.push_back(*llvm::lower_bound(all, rest));
    if (whole && (used.empty() || used.back() != target.mr))
      used.push_back(target.mr);
    return used;
  }

  // Scores of one row become weights exp(score - maximum), and what was summed up so far is scaled
  // to the new maximum.
  void updateRow(KernelBuilder &kb, Value row, Value weightRow, Value firstKey, Value keys) {
    RowPlace place = placeOf(kb, kb.add(firstRow, row));
    Value bound = keys; // of the block's keys that the row may use
    if (spec.causalOffset)
      bound = kb.max(kb.min(keys, kb.sub(causalLimit(kb, place.query), firstKey)), kb.index(0));
    // Panels that the row may use in whole, in part, and not at all.
    Value wholeEnd = kb.mul(kb.div(bound, kPanelWidth), kPanelWidth);
    Value usedEnd = kb.mul(kb.ceilDiv(bound, kPanelWidth), kPanelWidth);
    Value panelsEnd = kb.mul(kb.ceilDiv(keys, kPanelWidth), kPanelWidth);

    auto maskedMaximum = [&](Value from, Value to, bool whole, SmallVector<Value> maximum) {
      return kb.loop(from, to, kPanelWidth, maximum, [&](Value key, ValueRange carried) {
        SmallVector<Value> next;
        for (auto [v, soFar] : llvm::enumerate(carried)) {
          Value at = kb.add(key, v * kb.lanes), slot = kb.add(weightRow, at);
          Value score = kb.loadVector(weights, slot);
          if (spec.mask)
            score = applyMask(kb, score, place, kb.add(firstKey, at),
                              whole ? Value() : kb.sub(keys, at));
          if (!whole)
            score = arith::SelectOp::create(kb.b, kb.loc, kb.maskOfFirst(kb.sub(bound, at)), score,
                                            kb.splat(kMinusInfinity));
          if (spec.mask || !whole)
            kb.storeVector(score, weights, slot);
          next.push_back(larger(kb, soFar, score));
        }
        return next;
      });
    };
    SmallVector<Value> maximum(kPanelWidth / kb.lanes, kb.splat(kMinusInfinity));
    maximum = maskedMaximum(kb.index(0), wholeEnd, true, maximum);
    maximum = maskedMaximum(wholeEnd, usedEnd, false, maximum);
    Value blockMaximum = maximum[0];
    for (Value part : ArrayRef(maximum).drop_front())
      blockMaximum = larger(kb, blockMaximum, part);
    blockMaximum = kb.reduceLanes(blockMaximum, larger);

    Value oldMaximum = kb.loadBroadcast(maxima, row);
    Value newMaximum = larger(kb, oldMaximum, blockMaximum);
    storeLane(kb, newMaximum, maxima, row);
    // With no usable key yet: exp(-inf - 0) = 0 where exp(-inf + inf) would be NaN.
    Value none = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::OEQ, newMaximum,
                                       kb.splat(kMinusInfinity));
    Value shift = arith::SelectOp::create(kb.b, kb.loc, none, kb.splat(0), newMaximum);
    auto exponential = [&](Value x) -> Value {
      return math::ExpOp::create(kb.b, kb.loc, arith::SubFOp::create(kb.b, kb.loc, x, shift));
    };
    Value decay = exponential(oldMaximum);

    Value total =
        kb.loop(kb.index(0), usedEnd, kb.lanes, kb.splat(0), [&](Value key, ValueRange carried) {
          Value slot = kb.add(weightRow, key);
          Value weight = exponential(kb.loadVector(weights, slot));
          kb.storeVector(weight, weights, slot);
          Value next = arith::AddFOp::create(kb.b, kb.loc, carried[0], weight);
          return SmallVector<Value>{next};
        })[0];
    kb.loop(usedEnd, panelsEnd, kb.lanes,
            [&](Value key) { kb.storeVector(kb.splat(0), weights, kb.add(weightRow, key)); });
    auto sum = [](KernelBuilder &kb, Value x, Value y) -> Value {
      return arith::AddFOp::create(kb.b, kb.loc, x, y);
    };
    Value blockTotal = kb.reduceLanes(total, sum);
    storeLane(kb, kb.fma(kb.loadBroadcast(totals, row), decay, blockTotal), totals, row);

    Value sumRow = kb.mul(row, valueWidth);
    kb.loop(kb.index(0), kb.index(usedWidth()), kb.lanes, [&](Value column) {
      Value at = kb.add(sumRow, column);
      kb.storeVector(arith::MulFOp::create(kb.b, kb.loc, kb.loadVector(sums, at), decay), sums, at);
    });
  }

  // `count` keys from `key` on exist, perhaps fewer than lanes, perhaps none; null: at least lanes.
  Value applyMask(KernelBuilder &kb, Value score, const RowPlace &place, Value key, Value count) {
    Value memory = kb.operand(spec.mask->operand);
    Value at = spec.mask->at(kb, {batch, place.head, place.query, key});
    Value stride = spec.mask->stride(kb, 3);
    Value mask =
        kb.loadStrided(memory, at, stride, count ? kb.maskOfFirst(count) : Value());
    Type element = cast<VectorType>(mask.getType()).getElementType();
    if (isa<FloatType>(element))
      return arith::AddFOp::create(kb.b, kb.loc, score, mask);
    Value zero = arith::ConstantOp::create(kb.b, kb.loc, kb.b.getZeroAttr(mask.getType()));
    Value use = arith::CmpIOp::create(kb.b, kb.loc, arith::CmpIPredicate::ne, mask, zero);
    return arith::SelectOp::create(kb.b, kb.loc, use, score, kb.splat(kMinusInfinity));
  }

  // One instruction; a NaN is dropped here and comes back through exp(NaN - maximum).
  static Value larger(KernelBuilder &kb, Value x, Value y) {
    Value greater = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::OGT, x, y);
    return arith::SelectOp::create(kb.b, kb.loc, greater, x, y);
  }

  static void storeLane(KernelBuilder &kb, Value vector, Value memory, Value at) {
    kb.storeScalar(vector::ExtractOp::create(kb.b, kb.loc, vector, int64_t(0)), memory, at);
  }

  const AttentionSpec &spec;
  const TargetDescription &target;
  const int64_t group;      // query heads per key head
  const int64_t tilePanels; // of a register tile
  const int64_t chunkRows;  // at most
  const int64_t keyBlock;
  const int64_t valuePanels;
  int64_t valueWidth = 0; // a row of sums: valueDepth with room for a whole register tile
  bool valuesInPlace;     // v is read where it is
  bool keysInPlace;       // so is k, when there are few queries
  // Scratch: offsets in bytes, and what lies there.
  int64_t scratchBytes = 0;
  int64_t queryBytes, sumBytes, maximumBytes, totalBytes, keyBytes, valueBytes, weightBytes;
  Value queriesIn; // [chunkRows][depth], scaled
  Value sums;      // [chunkRows][valueWidth], of weights times values
  Value maxima;    // [chunkRows]
  Value totals;    // [chunkRows], of weights
  Value keysIn;    // panels [keyBlock / 16][depth][16]
  Value valuesIn;  // panels [valueDepth / 16][keyBlock][16], or v itself
  Value weights;   // [mr][keyBlock], scores first
  // Of the current tile.
  Value batch, keyHead, firstRow, queryCount, keyCount;
};

} // namespace

void emitAttention(ModuleOp module, StringRef name, Location loc, const AttentionSpec &spec,
                   const TargetDescription &target) {
  AttentionEmitter emitter(spec, target);
  emitKernelFunctions(module, name, loc, spec.signature, target, emitter.bodies());
}

} // namespace nx
