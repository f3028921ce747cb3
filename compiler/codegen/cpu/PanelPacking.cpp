#include "compiler/codegen/cpu/PanelPacking.h"

using namespace mlir;

namespace nx {

// Rows of B are contiguous.
static void packRows(KernelBuilder &kb, const PanelSource &source, Value memory, Value offset) {
  auto copy = [&](bool whole) {
    SmallVector<Value> masks;
    for (int64_t v = 0; v < kPanelWidth; v += kb.lanes)
      masks.push_back(whole ? Value() : kb.maskOfFirst(kb.sub(source.columns, kb.index(v))));
    kb.loop(kb.index(0), source.depth, 1, [&](Value d) {
      Value from = kb.add(source.offset, kb.mul(d, source.depthStride));
      Value to = kb.add(offset, kb.mul(d, kPanelWidth));
      for (auto [v, mask] : llvm::enumerate(masks)) {
        Value at = kb.index(v * kb.lanes);
        kb.storeVector(kb.loadVector(source.memory, kb.add(from, at), mask), memory,
                       kb.add(to, at));
      }
    });
  };
  kb.ifElse(
      kb.less(source.columns, kb.index(kPanelWidth)), [&] { copy(false); }, [&] { copy(true); });
}

static void packElements(KernelBuilder &kb, const PanelSource &source, Value memory, Value offset) {
  kb.loop(kb.index(0), source.depth, 1, [&](Value d) {
    Value from = kb.add(source.offset, kb.mul(d, source.depthStride));
    Value to = kb.add(offset, kb.mul(d, kPanelWidth));
    kb.loop(kb.index(0), kb.min(source.columns, kb.index(kPanelWidth)), 1, [&](Value column) {
      Value at = kb.add(from, kb.mul(column, source.columnStride));
      kb.storeScalar(kb.loadScalar(source.memory, at), memory, kb.add(to, column));
    });
  });
}

// Columns of B are contiguous: squares of them are turned in registers. The last square overlaps
// the one before when the depth is no multiple.
static void packColumns(KernelBuilder &kb, const PanelSource &source, Value memory, Value offset) {
  auto squares = [&] {
    Value lastColumn = kb.sub(kb.min(source.columns, kb.index(kPanelWidth)), kb.index(1));
    SmallVector<Value> columns;
    for (int64_t column = 0; column < kPanelWidth; ++column)
      columns.push_back(
          kb.add(source.offset, kb.mul(kb.min(kb.index(column), lastColumn), source.columnStride)));
    Value lastStart = kb.sub(source.depth, kb.index(kb.lanes));
    kb.loop(kb.index(0), source.depth, kb.lanes, [&](Value step) {
      Value d = kb.min(step, lastStart);
      Value to = kb.add(offset, kb.mul(d, kPanelWidth));
      for (int64_t first = 0; first < kPanelWidth; first += kb.lanes) {
        SmallVector<Value> rows;
        for (int64_t i = 0; i < kb.lanes; ++i)
          rows.push_back(kb.loadVector(source.memory, kb.add(columns[first + i], d)));
        kb.transpose(rows);
        for (int64_t i = 0; i < kb.lanes; ++i)
          kb.storeVector(rows[i], memory, kb.add(to, i * kPanelWidth + first));
      }
    });
  };
  kb.ifElse(
      kb.less(source.depth, kb.index(kb.lanes)), [&] { packElements(kb, source, memory, offset); },
      squares);
}

void packPanel(KernelBuilder &kb, const PanelSource &source, Value memory, Value offset) {
  if (KernelBuilder::constant(source.columnStride) == 1)
    packRows(kb, source, memory, offset);
  else if (KernelBuilder::constant(source.depthStride) == 1)
    packColumns(kb, source, memory, offset);
  else
    packElements(kb, source, memory, offset);
}

} // namespace nx
