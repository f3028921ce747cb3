#include "compiler/codegen/cpu/RegisterTile.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;

namespace nx {

void emitRegisterTile(KernelBuilder &kb, int64_t rows, const RegisterTileInputs &in,
                      const RegisterTileHooks &hooks) {
  int64_t vectorsPerPanel = kPanelWidth / kb.lanes;
  int64_t panels = static_cast<int64_t>(in.bOffsets.size());
  int64_t vectors = panels * vectorsPerPanel;

  SmallVector<Value> init;
  if (hooks.init)
    init = hooks.init();
  else
    init.assign(rows * vectors, kb.splat(0));

  SmallVector<Value> aRows;
  for (int64_t r = 0; r < rows; ++r)
    aRows.push_back(kb.add(in.aOffset, kb.mul(in.aRowStride, r)));

  SmallVector<Value> result =
      kb.loop(kb.index(0), in.depth, 1, init, [&](Value depth, ValueRange carried) {
        SmallVector<Value> accumulators(carried);
        if (hooks.step)
          hooks.step(depth);
        Value bStep = kb.mul(depth, in.bDepthStride);
        SmallVector<Value> columns;
        for (Value panel : in.bOffsets)
          for (int64_t v = 0; v < vectorsPerPanel; ++v)
            columns.push_back(kb.loadVector(in.b, kb.add(kb.add(panel, bStep), v * kb.lanes)));
        Value aStep = kb.mul(depth, in.aDepthStride);
        for (int64_t r = 0; r < rows; ++r) {
          Value x = kb.loadBroadcast(in.a, kb.add(aRows[r], aStep));
          for (int64_t v = 0; v < vectors; ++v)
            accumulators[r * vectors + v] = kb.fma(x, columns[v], accumulators[r * vectors + v]);
        }
        return accumulators;
      });
  hooks.finish(result);
}

int64_t panelsForRows(const TargetDescription &target, int64_t rows) {
  constexpr int64_t kChains = 8; // latency 4, two a cycle
  int64_t vectors = rows * (kPanelWidth / target.vectorLanes);
  return std::max<int64_t>(target.nr / kPanelWidth,
                           llvm::bit_ceil(uint64_t(llvm::divideCeil(kChains, vectors))));
}

RowCut::RowCut(KernelBuilder &kb, Value rows, int64_t most) {
  count = kb.max(kb.ceilDiv(rows, most), kb.index(1)); // 1: no division by zero for no rows
  base = kb.div(rows, count);
  extra = kb.sub(rows, kb.mul(base, count));
}

Value RowCut::first(KernelBuilder &kb, Value tile) const {
  return kb.add(kb.mul(tile, base), kb.min(tile, extra));
}

Value RowCut::height(KernelBuilder &kb, Value tile) const {
  return kb.select(kb.less(tile, extra), kb.add(base, 1), base);
}

SmallVector<int64_t> RowCut::heights(int64_t fewest, std::optional<int64_t> largest, int64_t most) {
  // From most * most rows on, only the heights most and most - 1 occur.
  std::set<int64_t> found;
  int64_t bound = std::max(fewest, most * most);
  if (largest)
    bound = std::min(bound + most, *largest);
  for (int64_t rows = std::max<int64_t>(fewest, 1); rows <= bound + (largest ? 0 : most); ++rows) {
    int64_t count = (rows + most - 1) / most;
    found.insert(rows / count);
    if (rows % count)
      found.insert(rows / count + 1);
  }
  return SmallVector<int64_t>(found.begin(), found.end());
}

} // namespace nx
