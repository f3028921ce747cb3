#include "compiler/codegen/cpu/BatchMatmul.h"

#include "compiler/codegen/cpu/PanelPacking.h"
#include "compiler/codegen/cpu/RegisterTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace nx {
namespace {

class BatchMatmulEmitter {
public:
  BatchMatmulEmitter(const BatchMatmulSpec &spec, const TargetDescription &target)
      : spec(spec), target(target), panels(target.nr / kPanelWidth) {
    rowTiles = spec.rowTilesPerBlock ? spec.rowTilesPerBlock : 144 / target.mr;
    depthBlock = spec.depthBlock;
    if (std::optional<int64_t> depth = KernelBuilder::constant(spec.k))
      depthBlock = std::max<int64_t>(1, std::min(depthBlock, *depth));
  }

  KernelBodies bodies() {
    return {[this](KernelBuilder &kb, Value begin, Value end) { run(kb, begin, end); },
            [this](KernelBuilder &kb) { return tiles(kb); },
            [this](KernelBuilder &kb) { return kb.index(panelBytes() + sumBytes()); },
            [this](KernelBuilder &kb) { return grain(kb); }};
  }

private:
  // Scratch: the packed panels of one depth block, then the sums of a block of rows.
  int64_t panelBytes() const { return panels * panelElements() * 4; }
  int64_t panelElements() const { return depthBlock * kPanelWidth; }
  int64_t sumBytes() const { return rowTiles * target.mr * target.nr * 4; }

  Value batchItems(KernelBuilder &kb) {
    Value items = kb.index(1);
    for (AffineExpr dim : spec.batch)
      items = kb.mul(items, kb.size(dim));
    return items;
  }
  Value rowBlocks(KernelBuilder &kb, const RowCut &cut) { return kb.ceilDiv(cut.count, rowTiles); }
  Value columnGroups(KernelBuilder &kb) { return kb.ceilDiv(kb.size(spec.n), target.nr); }

  Value tiles(KernelBuilder &kb) {
    Value rows = kb.size(spec.m);
    Value count = kb.mul(kb.mul(batchItems(kb), rowBlocks(kb, RowCut(kb, rows, target.mr))),
                         columnGroups(kb));
    return kb.select(kb.less(kb.index(0), rows), count, kb.index(0));
  }

  Value grain(KernelBuilder &kb) {
    // Multiply-adds at two vectors a cycle and 3 GHz; packing at about 8 elements a nanosecond.
    Value rows = kb.min(kb.size(spec.m), kb.index(rowTiles * target.mr));
    Value depth = kb.mul(kb.size(spec.k), target.nr);
    return grainForTileCost(
        kb, kb.add(kb.div(kb.mul(rows, depth), 6 * target.vectorLanes), kb.div(depth, 8)));
  }

  // --- run

  void run(KernelBuilder &kb, Value begin, Value end) {
    Type f32 = kb.b.getF32Type();
    sums = kb.scratch(f32, kb.index(panelBytes()));
    RowCut cut(kb, kb.size(spec.m), target.mr);
    Value groups = columnGroups(kb), blocks = rowBlocks(kb, cut);
    kb.loop(begin, end, 1, [&](Value tile) {
      Value group = kb.rem(tile, groups), rest = kb.div(tile, groups);
      Value block = kb.rem(rest, blocks), item = kb.div(rest, blocks);
      SmallVector<Value> batch(spec.batch.size());
      for (unsigned dim = batch.size(); dim-- > 0;) {
        Value size = kb.size(spec.batch[dim]);
        batch[dim] = dim ? kb.rem(item, size) : item;
        item = kb.div(item, size);
      }
      Value firstTile = kb.div(kb.mul(block, cut.count), blocks);
      Value endTile = kb.div(kb.mul(kb.add(block, 1), cut.count), blocks);
      runTile(kb, batch, cut, firstTile, endTile, kb.mul(group, target.nr));
    });
  }

  void runTile(KernelBuilder &kb, ArrayRef<Value> batch, const RowCut &cut, Value firstTile,
               Value endTile, Value column) {
    Value depth = kb.size(spec.k), columns = kb.sub(kb.size(spec.n), column);
    unsigned dims = spec.batch.size();
    Value aItem = spec.a.at(kb, batch), bItem = spec.b.at(kb, batch);
    Value aRowStride = spec.a.stride(kb, dims), aDepthStride = spec.a.stride(kb, dims + 1);
    Value bDepthStride = spec.b.stride(kb, dims), bColumnStride = spec.b.stride(kb, dims + 1);
    bItem = kb.add(bItem, kb.mul(column, bColumnStride));

    // Columns that are read once, and lie as a panel does, need no copy.
    Value direct = kb.index(0);
    bool mayBeDirect = KernelBuilder::constant(bColumnStride) == 1 &&
                       spec.signature.operands[spec.b.operand].isF32();
    if (mayBeDirect)
      direct = kb.logicalAnd(kb.equal(cut.count, kb.index(1)),
                             kb.less(kb.index(target.nr - 1), columns));
    Value pointer = kb.scratchPointer;
    if (mayBeDirect)
      pointer = kb.select(direct, kb.operandPointer(spec.b.operand), pointer);

    RegisterTileInputs in;
    in.a = kb.operand(spec.a.operand);
    in.aRowStride = aRowStride;
    in.aDepthStride = aDepthStride;
    in.b = kb.memoryAt(pointer, kb.b.getF32Type());
    in.bDepthStride = kb.index(kPanelWidth);
    if (mayBeDirect)
      in.bDepthStride = kb.select(direct, bDepthStride, in.bDepthStride);

    // Without depth there is nothing to add, but the epilogue of zeros is still the result.
    Value depthBlocks = kb.max(kb.ceilDiv(depth, depthBlock), kb.index(1));
    kb.loop(kb.index(0), depthBlocks, 1, [&](Value depthIndex) {
      Value start = kb.mul(depthIndex, depthBlock);
      in.depth = kb.min(kb.sub(depth, start), kb.index(depthBlock));
      Value bStart = kb.add(bItem, kb.mul(start, bDepthStride));
      auto pack = [&] { packPanels(kb, bStart, bDepthStride, bColumnStride, in.depth, columns); };
      if (mayBeDirect)
        kb.ifElse(direct, [] {}, pack);
      else
        pack();
      in.bOffsets.clear();
      for (int64_t p = 0; p < panels; ++p) {
        Value packed = kb.index(p * panelElements());
        in.bOffsets.push_back(
            mayBeDirect ? kb.select(direct, kb.add(bStart, p * kPanelWidth), packed) : packed);
      }
      Value first = kb.equal(depthIndex, kb.index(0));
      Value last = kb.equal(depthIndex, kb.sub(depthBlocks, kb.index(1)));
      kb.loop(firstTile, endTile, 1, [&](Value rowTile) {
        Value row = cut.first(kb, rowTile), height = cut.height(kb, rowTile);
        in.aOffset = kb.add(aItem, kb.add(kb.mul(row, aRowStride), kb.mul(start, aDepthStride)));
        Value sumOffset = kb.mul(kb.sub(rowTile, firstTile), target.mr * target.nr);
        multiply(kb, in, height, first, sumOffset);
        kb.ifThen(last, [&] {
          SumTile result;
          result.memory = sums;
          result.offset = sumOffset;
          result.rowStride = kb.index(target.nr);
          result.rows = height;
          result.columns = kb.min(columns, kb.index(target.nr));
          result.width = target.nr;
          result.firstRow = row;
          result.firstColumn = column;
          result.batch.assign(batch.begin(), batch.end());
          storeSumTile(kb, result, spec.epilogue, spec.c);
        });
      });
    });
  }

  void packPanels(KernelBuilder &kb, Value offset, Value depthStride, Value columnStride,
                  Value depth, Value columns) {
    Value packed = kb.scratch(kb.b.getF32Type(), kb.index(0));
    for (int64_t p = 0; p < panels; ++p) {
      PanelSource source;
      source.memory = kb.operand(spec.b.operand);
      source.offset = kb.add(offset, kb.mul(columnStride, p * kPanelWidth));
      source.depthStride = depthStride;
      source.columnStride = columnStride;
      source.depth = depth;
      source.columns = kb.sub(columns, kb.index(p * kPanelWidth));
      auto pack = [&] { packPanel(kb, source, packed, kb.index(p * panelElements())); };
      if (p == 0)
        pack();
      else
        kb.ifThen(kb.less(kb.index(0), source.columns), pack);
    }
  }

  void multiply(KernelBuilder &kb, const RegisterTileInputs &in, Value height, Value first,
                Value sumOffset) {
    std::optional<int64_t> rows = KernelBuilder::constant(spec.m);
    int64_t vectors = target.nr / kb.lanes;
    kb.switchOver(height, RowCut::heights(rows.value_or(1), rows, target.mr), [&](int64_t number) {
      auto at = [&](int64_t i) { return kb.add(sumOffset, i * kb.lanes); };
      RegisterTileHooks hooks;
      hooks.init = [&] {
        SmallVector<Type> types(number * vectors, kb.vectorType());
        return kb.choose(
            first, types, [&] { return SmallVector<Value>(types.size(), kb.splat(0)); },
            [&] {
              SmallVector<Value> partial;
              for (int64_t i = 0; i < number * vectors; ++i)
                partial.push_back(kb.loadVector(sums, at(i)));
              return partial;
            });
      };
      hooks.finish = [&](ArrayRef<Value> results) {
        for (auto [i, vector] : llvm::enumerate(results))
          kb.storeVector(vector, sums, at(i));
      };
      emitRegisterTile(kb, number, in, hooks);
    });
  }

  const BatchMatmulSpec &spec;
  const TargetDescription &target;
  const int64_t panels; // of a register tile
  int64_t rowTiles, depthBlock;
  Value sums;
};

} // namespace

void emitBatchMatmul(ModuleOp module, StringRef name, Location loc, const BatchMatmulSpec &spec,
                     const TargetDescription &target) {
  BatchMatmulEmitter emitter(spec, target);
  emitKernelFunctions(module, name, loc, spec.signature, target, emitter.bodies());
}

} // namespace nx
