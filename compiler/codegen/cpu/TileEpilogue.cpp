#include "compiler/codegen/cpu/TileEpilogue.h"

using namespace mlir;

namespace nx {

Value StridedOperand::at(KernelBuilder &kb, ArrayRef<Value> indices) const {
  Value result = offset ? kb.size(offset) : kb.index(0);
  for (auto [dim, index] : llvm::enumerate(indices))
    result = kb.add(result, kb.mul(index, stride(kb, dim)));
  return result;
}

void storeSumTile(KernelBuilder &kb, const SumTile &tile, const Epilogue &epilogue,
                  const StridedOperand &output) {
  Value memory = kb.operand(output.operand);
  Value columnStride = output.stride(kb, output.strides.size() - 1);
  auto storeRow = [&](Value i, bool full) {
    TilePoint point;
    point.row = kb.add(tile.firstRow, i);
    point.batch = tile.batch;
    SmallVector<Value> indices = tile.batch;
    indices.push_back(point.row);
    Value outRow = output.at(kb, indices);
    Value tileRow = kb.add(tile.offset, kb.mul(i, tile.rowStride));
    auto finish = [&](Value column, Value mask) {
      point.column = kb.add(tile.firstColumn, column);
      point.mask = mask;
      Value value = kb.loadVector(tile.memory, kb.add(tileRow, column));
      if (epilogue)
        value = epilogue(kb, value, point);
      kb.storeStrided(value, memory, kb.add(outRow, kb.mul(point.column, columnStride)),
                      columnStride, mask);
    };
    if (full)
      kb.loop(kb.index(0), kb.index(tile.width), kPanelWidth, [&](Value column) {
        for (int64_t v = 0; v < kPanelWidth; v += kb.lanes)
          finish(kb.add(column, v), {});
      });
    else
      kb.loop(kb.index(0), tile.columns, kb.lanes,
              [&](Value column) { finish(column, kb.maskOfFirst(kb.sub(tile.columns, column))); });
  };
  auto storeRows = [&](bool full) {
    kb.loop(kb.index(0), tile.rows, 1, [&](Value i) { storeRow(i, full); });
  };
  // Masks are slower than plain stores on some targets: only a tile at the edge has them.
  if (tile.alwaysFull)
    return storeRows(true);
  kb.ifElse(
      kb.less(tile.columns, kb.index(tile.width)), [&] { storeRows(false); },
      [&] { storeRows(true); });
}

} // namespace nx
