#include "compiler/codegen/cpu/Contract.h"

#include "compiler/codegen/cpu/RegisterTile.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace nx {
namespace {

// A distance of rows, at least `elements`, that is an odd number of cache lines.
int64_t spreadStride(int64_t elements) { return (llvm::divideCeil(elements, 16) | 1) * 16; }

class ContractEmitter {
public:
  ContractEmitter(const ContractSpec &spec, const TargetDescription &target)
      : spec(spec), target(target),
        blocking(spec.blocking ? *spec.blocking : chooseContractBlocking(spec, target)),
        knownRows(KernelBuilder::constant(spec.m)), panels(llvm::divideCeil(spec.n, kPanelWidth)),
        widePanels(target.nr / kPanelWidth) {
    while (narrowPanels(fewRows + 1) > widePanels)
      ++fewRows;
  }

  KernelBodies bodies() {
    return {[this](KernelBuilder &kb, Value begin, Value end) { run(kb, begin, end); },
            [this](KernelBuilder &kb) { return tiles(kb); },
            [this](KernelBuilder &kb) { return kb.index(scratchBytes()); },
            [this](KernelBuilder &kb) { return grain(kb); }};
  }

private:
  int64_t narrowPanels(int64_t rows) const { return panelsForRows(target, rows); }
  bool hasFewRows() const { return !knownRows || *knownRows <= fewRows; }
  bool hasManyRows() const { return !knownRows || *knownRows > fewRows; }
  int64_t columnGroups() const { return llvm::divideCeil(panels, widePanels); }

  Value aRowStride(KernelBuilder &kb) {
    return spec.aRowStride ? kb.size(spec.aRowStride) : kb.index(spec.k);
  }
  Value cRowStride(KernelBuilder &kb) {
    return spec.cRowStride ? kb.size(spec.cRowStride) : kb.index(spec.n);
  }

  // --- The three small functions

  Value tiles(KernelBuilder &kb) {
    Value rows = kb.size(spec.m), result;
    if (hasManyRows())
      result = kb.mul(rowBlocks(kb, RowCut(kb, rows, target.mr)), columnGroups());
    for (int64_t few = fewRows; few > 0 && hasFewRows(); --few) {
      Value count = kb.index(llvm::divideCeil(panels, narrowPanels(few)));
      result = result ? kb.select(kb.less(kb.index(few), rows), result, count) : count;
    }
    return kb.select(kb.less(kb.index(0), rows), result, kb.index(0));
  }

  // A tile of sums, and behind it the copied rows of A.
  int64_t scratchBytes() const { return (sumElements() + copiedElements()) * 4; }

  int64_t sumElements() const {
    int64_t elements = hasManyRows() ? target.mr * target.nr : 0;
    for (int64_t few = 1; few <= fewRows && hasFewRows(); ++few)
      elements = std::max(elements, few * narrowPanels(few) * kPanelWidth);
    return elements;
  }

  int64_t copiedElements() const {
    // A group that N does not fill takes the whole depth, which the copy of a depth block lacks.
    bool complete = !blocking.depthOutside || spec.n % target.nr == 0;
    if (!blocking.copyRows || !hasManyRows() || !complete)
      return 0;
    int64_t depth = blocking.depthOutside ? blocking.depthBlock : spec.k;
    return std::max(blocking.rowTilesPerBlock * target.mr * spreadStride(depth),
                    target.mr * spreadStride(spec.k));
  }

  Value grain(KernelBuilder &kb) {
    // Multiply-adds at two vectors a cycle and 3 GHz, B at 16 bytes a nanosecond.
    int64_t block = blocking.rowTilesPerBlock * target.mr;
    Value rows = kb.min(kb.size(spec.m), kb.index(block));
    Value perRow = kb.index(target.nr * spec.k);
    Value compute = kb.div(kb.mul(rows, perRow), 6 * target.vectorLanes);
    return grainForTileCost(kb, kb.add(compute, target.nr * spec.k / 4));
  }

  // --- run

  void run(KernelBuilder &kb, Value begin, Value end) {
    Value rows = kb.size(spec.m);
    tile = kb.scratch(kb.b.getF32Type(), kb.index(0));
    if (copiedElements())
      copied = kb.scratch(kb.b.getF32Type(), kb.index(sumElements() * 4));
    if (!hasFewRows())
      return runManyRows(kb, rows, begin, end);
    auto few = [&] {
      SmallVector<int64_t> cases;
      for (int64_t number = 1; number <= fewRows; ++number)
        if (!knownRows || *knownRows == number)
          cases.push_back(number);
      kb.switchOver(rows, cases, [&](int64_t number) { runFewRows(kb, number, begin, end); });
    };
    if (!hasManyRows())
      return few();
    kb.ifElse(kb.less(kb.index(fewRows), rows), [&] { runManyRows(kb, rows, begin, end); }, few);
  }

  // The index of panel `panel` of B; past the last one it is the last one, whose results are
  // dropped.
  Value panelOffset(KernelBuilder &kb, Value panel) {
    return kb.mul(kb.min(panel, kb.index(panels - 1)), spec.k * kPanelWidth);
  }

  // The accumulators into the thread's scratch tile, from where the epilogue takes them.
  void storeTile(KernelBuilder &kb, ArrayRef<Value> sums) {
    for (auto [i, vector] : llvm::enumerate(sums))
      kb.storeVector(vector, tile, kb.index(i * kb.lanes));
  }

  // Takes `rows` rows of the scratch tile through the epilogue to C[row, column].
  void finishTile(KernelBuilder &kb, Value row, Value rows, Value column, int64_t tilePanels) {
    int64_t width = tilePanels * kPanelWidth;
    SumTile sums;
    sums.memory = tile;
    sums.offset = kb.index(0);
    sums.rowStride = kb.index(width);
    sums.rows = rows;
    sums.columns = kb.min(kb.index(width), kb.sub(kb.index(spec.n), column));
    sums.width = width;
    sums.alwaysFull = spec.n % width == 0;
    sums.firstRow = row;
    sums.firstColumn = column;
    StridedOperand output;
    output.operand = spec.c;
    MLIRContext *context = kb.b.getContext();
    output.strides = {spec.cRowStride ? spec.cRowStride : getAffineConstantExpr(spec.n, context),
                      getAffineConstantExpr(1, context)};
    storeSumTile(kb, sums, spec.epilogue, output);
  }

  void runFewRows(KernelBuilder &kb, int64_t rows, Value begin, Value end) {
    int64_t tilePanels = narrowPanels(rows);
    kb.loop(begin, end, 1, [&](Value group) {
      RegisterTileInputs in;
      in.a = kb.operand(spec.a);
      in.aOffset = kb.index(0);
      in.aRowStride = aRowStride(kb);
      in.aDepthStride = kb.index(1);
      in.b = kb.operand(spec.b);
      in.bDepthStride = kb.index(kPanelWidth);
      in.depth = kb.index(spec.k);
      for (int64_t p = 0; p < tilePanels; ++p)
        in.bOffsets.push_back(panelOffset(kb, kb.add(kb.mul(group, tilePanels), p)));
      RegisterTileHooks hooks;
      hooks.step = [&](Value depth) { prefetchAhead(kb, in, depth); };
      hooks.finish = [&](ArrayRef<Value> sums) { storeTile(kb, sums); };
      emitRegisterTile(kb, rows, in, hooks);
      finishTile(kb, kb.index(0), kb.index(rows), kb.mul(group, tilePanels * kPanelWidth),
                 tilePanels);
    });
  }

  void prefetchAhead(KernelBuilder &kb, const RegisterTileInputs &in, Value depth) {
    if (!blocking.prefetchAhead)
      return;
    Value ahead = kb.mul(kb.add(depth, blocking.prefetchAhead), kPanelWidth);
    for (Value panel : in.bOffsets)
      kb.prefetch(in.b, kb.add(panel, ahead), 3);
  }

  Value rowBlocks(KernelBuilder &kb, const RowCut &cut) {
    return kb.ceilDiv(cut.count, blocking.rowTilesPerBlock);
  }

  void runManyRows(KernelBuilder &kb, Value rows, Value begin, Value end) {
    RowCut cut(kb, rows, target.mr);
    Value blocks = rowBlocks(kb, cut), groups = kb.index(columnGroups());
    kb.loop(kb.div(begin, groups), kb.ceilDiv(end, groups), 1, [&](Value block) {
      Value before = kb.mul(block, groups);
      RowBlock range{cut, kb.div(kb.mul(block, cut.count), blocks),
                     kb.div(kb.mul(kb.add(block, 1), cut.count), blocks)};
      runRowBlock(kb, range, kb.max(kb.sub(begin, before), kb.index(0)),
                  kb.min(kb.sub(end, before), groups));
    });
  }

  struct RowBlock {
    RowCut cut;
    Value firstTile, endTile;
  };

  // The rows of a block of A as the register tiles read them: A itself, or their copy.
  struct BlockOfA {
    Value memory, rowStride;
    Value firstRow, firstDepth; // of A, at memory[0]
  };

  BlockOfA copyRows(KernelBuilder &kb, const RowBlock &rows, Value start, Value end, Value stride) {
    BlockOfA block{copied, stride, rows.cut.first(kb, rows.firstTile), start};
    Value a = kb.operand(spec.a), aStride = aRowStride(kb), depth = kb.sub(end, start);
    Value whole = kb.mul(kb.div(depth, kb.lanes), kb.lanes);
    kb.loop(block.firstRow, rows.cut.first(kb, rows.endTile), 1, [&](Value row) {
      Value from = kb.add(kb.mul(row, aStride), start);
      Value to = kb.mul(kb.sub(row, block.firstRow), stride);
      kb.loop(kb.index(0), whole, kb.lanes, [&](Value d) {
        kb.storeVector(kb.loadVector(a, kb.add(from, d)), copied, kb.add(to, d));
      });
      kb.ifThen(kb.less(whole, depth), [&] {
        Value mask = kb.maskOfFirst(kb.sub(depth, whole));
        kb.storeVector(kb.loadVector(a, kb.add(from, whole), mask), copied, kb.add(to, whole),
                       mask);
      });
    });
    return block;
  }

  // Column groups [firstGroup, endGroup) of one block of rows. A group that N does not fill has no
  // room for partial sums in C: all of its depth is done at once, at the last depth block's turn.
  void runRowBlock(KernelBuilder &kb, const RowBlock &rows, Value firstGroup, Value endGroup) {
    int64_t fullGroups = spec.n / target.nr;
    BlockOfA a{kb.operand(spec.a), aRowStride(kb), kb.index(0), kb.index(0)};
    if (copied && !blocking.depthOutside)
      a = copyRows(kb, rows, kb.index(0), kb.index(spec.k), kb.index(spreadStride(spec.k)));
    if (blocking.depthBlock >= spec.k) {
      kb.loop(firstGroup, endGroup, 1,
              [&](Value group) { runBlock(kb, rows, a, group, kb.index(0), kb.index(spec.k)); });
      return;
    }
    // One tile of rows uses each element of B once: there is nothing to keep in L1.
    Value single = kb.equal(rows.cut.count, kb.index(1));
    Value step = kb.select(single, kb.index(spec.k), kb.index(blocking.depthBlock));
    Value depthBlocks = kb.ceilDiv(kb.index(spec.k), step);
    Value last = kb.sub(depthBlocks, kb.index(1));
    auto block = [&](Value depthBlock, Value group) {
      Value start = kb.mul(depthBlock, step);
      if (fullGroups < columnGroups())
        start = kb.select(kb.less(group, kb.index(fullGroups)), start, kb.index(0));
      Value end = kb.select(kb.equal(depthBlock, last), kb.index(spec.k), kb.add(start, step));
      runBlock(kb, rows, a, group, start, end);
    };
    if (blocking.depthOutside) {
      kb.loop(kb.index(0), depthBlocks, 1, [&](Value depthBlock) {
        if (copied) {
          Value start = kb.mul(depthBlock, step);
          a = copyRows(kb, rows, start, kb.min(kb.add(start, step), kb.index(spec.k)),
                       kb.select(single, kb.index(spreadStride(spec.k)),
                                 kb.index(spreadStride(blocking.depthBlock))));
        }
        Value groupsEnd =
            kb.select(kb.equal(depthBlock, last), endGroup, kb.min(endGroup, kb.index(fullGroups)));
        kb.loop(firstGroup, groupsEnd, 1, [&](Value group) { block(depthBlock, group); });
      });
      return;
    }
    kb.loop(firstGroup, endGroup, 1, [&](Value group) {
      Value full = kb.less(group, kb.index(fullGroups));
      kb.loop(kb.select(full, kb.index(0), last), depthBlocks, 1,
              [&](Value depthBlock) { block(depthBlock, group); });
    });
  }

  // Depth [start, end) of one column group, for all row tiles of the block.
  void runBlock(KernelBuilder &kb, const RowBlock &rows, const BlockOfA &a, Value group,
                Value start, Value end) {
    bool whole = blocking.depthBlock >= spec.k;
    Value first = whole ? kb.index(1) : kb.equal(start, kb.index(0));
    Value last = whole ? kb.index(1) : kb.equal(end, kb.index(spec.k));
    Value depth = kb.sub(end, start);

    RegisterTileInputs in;
    in.a = a.memory;
    in.aRowStride = a.rowStride;
    in.aDepthStride = kb.index(1);
    in.b = kb.operand(spec.b);
    in.bDepthStride = kb.index(kPanelWidth);
    in.depth = depth;
    Value startOffset = kb.mul(start, kPanelWidth), firstPanel = kb.mul(group, widePanels);
    for (int64_t p = 0; p < widePanels; ++p)
      in.bOffsets.push_back(kb.add(panelOffset(kb, kb.add(firstPanel, p)), startOffset));

    // The row tiles together touch each line of the next block of B once, evenly over the time.
    Value rowTiles = kb.sub(rows.endTile, rows.firstTile);
    Value share = kb.ceilDiv(kb.index(kPanelWidth), rowTiles);
    SmallVector<Value> next;
    if (blocking.prefetchNextBlock) {
      bool nextIsColumn = whole || blocking.depthOutside;
      for (int64_t p = 0; p < widePanels; ++p)
        next.push_back(nextIsColumn ? kb.add(in.bOffsets[p], widePanels * spec.k * kPanelWidth)
                                    : kb.add(in.bOffsets[p], kb.mul(depth, kPanelWidth)));
    }

    Value column = kb.mul(group, target.nr), cStride = cRowStride(kb);
    SmallVector<int64_t> heights =
        RowCut::heights(knownRows ? *knownRows : fewRows + 1, knownRows, target.mr);
    int64_t vectors = target.nr / kb.lanes;
    kb.loop(rows.firstTile, rows.endTile, 1, [&](Value rowTile) {
      Value row = rows.cut.first(kb, rowTile), height = rows.cut.height(kb, rowTile);
      in.aOffset = kb.add(kb.mul(kb.sub(row, a.firstRow), in.aRowStride),
                          kb.sub(start, a.firstDepth));
      Value cOffset = kb.add(kb.mul(row, cStride), column);
      Value turn = kb.mul(kb.sub(rowTile, rows.firstTile), depth);
      // The next tile's place in C, for its partial sums or its stores.
      if (blocking.prefetchResults)
        for (int64_t r = 0; r < target.mr; ++r)
          for (int64_t p = 0; p < widePanels; ++p) {
            Value at = kb.add(cOffset, kb.mul(cStride, kb.add(height, r)));
            kb.prefetch(kb.operand(spec.c), kb.add(at, p * kPanelWidth), 3, /*write=*/true);
          }

      kb.switchOver(height, heights, [&](int64_t number) {
        auto inC = [&](int64_t i) {
          return kb.add(kb.add(cOffset, kb.mul(cStride, i / vectors)), i % vectors * kb.lanes);
        };
        RegisterTileHooks hooks;
        hooks.init = [&] {
          SmallVector<Type> types(number * vectors, kb.vectorType());
          return kb.choose(
              first, types, [&] { return SmallVector<Value>(types.size(), kb.splat(0)); },
              [&] {
                SmallVector<Value> partial;
                for (int64_t i = 0; i < number * vectors; ++i)
                  partial.push_back(kb.loadVector(kb.operand(spec.c), inC(i)));
                return partial;
              });
        };
        hooks.step = [&](Value step) {
          prefetchAhead(kb, in, step);
          for (Value panel : next)
            kb.prefetch(in.b, kb.add(panel, kb.mul(kb.add(turn, step), share)), 2);
        };
        hooks.finish = [&](ArrayRef<Value> sums) {
          kb.ifElse(
              last, [&] { storeTile(kb, sums); },
              [&] {
                for (auto [i, vector] : llvm::enumerate(sums))
                  kb.storeVector(vector, kb.operand(spec.c), inC(i));
              });
        };
        emitRegisterTile(kb, number, in, hooks);
      });
      kb.ifThen(last, [&] { finishTile(kb, row, height, column, widePanels); });
    });
  }

  const ContractSpec &spec;
  const TargetDescription &target;
  const ContractBlocking blocking;
  const std::optional<int64_t> knownRows;
  const int64_t panels;     // of B
  const int64_t widePanels; // of a register tile
  int64_t fewRows = 0;      // up to so many rows are done as matrix-vector products
  Value tile;               // the thread's scratch tile
  Value copied;             // its copied rows of A; null: none
};

} // namespace

// Whether the rows of a register tile meet in so few sets of L1 that little is left for the lines of
// B that pass through. A set is chosen by the address within a page of 4 KiB and has at least 8 ways.
// Six rows in one set were measured to do no harm, fourteen to cost 15 % of the speed.
static bool rowsShareSets(int64_t stride, const TargetDescription &target) {
  constexpr int64_t kPage = 4096, kLine = 64, kHarmless = 6;
  int64_t sets = kPage / std::max(kLine, std::gcd(stride * 4, kPage));
  return llvm::divideCeil(target.mr, sets) > kHarmless;
}

ContractBlocking chooseContractBlocking(const ContractSpec &spec, const TargetDescription &target) {
  ContractBlocking blocking;
  // Partial sums lie in C between depth blocks: only f32 can hold them.
  bool holdsSums = spec.signature.operands[spec.c].isF32();
  // A block of B is read again by every row tile, from L2 and ahead of time: it may be larger than
  // L1, and the fewer blocks there are the less partial sums go to and fro.
  int64_t depth = target.l2Bytes / 8 / (target.nr * 4);
  int64_t blocks = holdsSums ? llvm::divideCeil(spec.k, depth) : 1;
  blocking.depthBlock = blocks <= 1 ? spec.k : llvm::alignTo(llvm::divideCeil(spec.k, blocks), 8);

  // Blocks of about 144 rows, fewer when there are so few columns that threads would lack tiles.
  int64_t rows = 144, groups = llvm::divideCeil(spec.n, target.nr);
  if (groups < 16)
    rows = std::max<int64_t>(24, rows * groups / 16);
  blocking.rowTilesPerBlock = std::max<int64_t>(1, rows / target.mr);
  blocking.depthOutside =
      blocks > 1 && blocking.rowTilesPerBlock * target.mr * spec.k * 4 > target.l2Bytes * 3 / 4;

  std::optional<int64_t> stride =
      spec.aRowStride ? KernelBuilder::constant(spec.aRowStride) : spec.k;
  blocking.copyRows = stride && rowsShareSets(*stride, target);
  return blocking;
}

void emitContract(ModuleOp module, StringRef name, Location loc, const ContractSpec &spec,
                  const TargetDescription &target) {
  ContractEmitter emitter(spec, target);
  emitKernelFunctions(module, name, loc, spec.signature, target, emitter.bodies());
}

} // namespace nx
