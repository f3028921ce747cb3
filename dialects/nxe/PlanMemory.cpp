//===- PlanMemory.cpp - Lifetimes and arena layout ------------------------===//

#include "dialects/nxe/Passes.h"

using namespace mlir;

namespace nxe {
#define GEN_PASS_DEF_NXEPLANMEMORY
#include "dialects/nxe/Passes.h.inc"
} // namespace nxe

using namespace nxe;

namespace {

constexpr int64_t kAlignment = 64; // what kernels may assume of a buffer

struct PlanMemory : public nxe::impl::NxePlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    Builder builder(&getContext());
    DenseMap<Value, std::pair<int64_t, int64_t>> lifetime;
    for (auto [position, command] : llvm::enumerate(commandsOf(program)))
      for (Value operand : command->getOperands()) {
        auto [it, isNew] = lifetime.try_emplace(rootOf(operand), position, position);
        it->second.second = position;
      }

    SmallVector<TempOp> temps;
    bool isStatic = true;
    for (TempOp temp : llvm::make_early_inc_range(program.getBody().front().getOps<TempOp>())) {
      auto it = lifetime.find(temp.getBuffer());
      if (it == lifetime.end()) {
        if (temp->use_empty())
          temp.erase();
        continue;
      }
      temp.setFirst(it->second.first);
      temp.setLast(it->second.second);
      temp.removeOffsetAttr();
      temps.push_back(temp);
      isStatic &= nx::constantOf(temp.getBytes().getExprs()[0]).has_value();
    }
    program.removeArenaBytesAttr();
    if (isStatic)
      program.setArenaBytes(layOut(temps));
  }

  /// Sets the offsets; returns the size of the arena.
  static int64_t layOut(ArrayRef<TempOp> temps) {
    struct Block {
      TempOp temp;
      int64_t bytes, first, last, offset = 0;
    };
    SmallVector<Block> blocks;
    for (TempOp temp : temps)
      blocks.push_back(
          {temp, int64_t(llvm::alignTo(*nx::constantOf(temp.getBytes().getExprs()[0]), kAlignment)),
           int64_t(*temp.getFirst()), int64_t(*temp.getLast())});
    llvm::sort(blocks, [](const Block &a, const Block &b) {
      return std::make_tuple(-a.bytes, a.first, a.last) <
             std::make_tuple(-b.bytes, b.first, b.last);
    });
    int64_t arena = 0;
    SmallVector<Block *> placed; // by offset
    for (Block &block : blocks) {
      int64_t offset = 0;
      for (Block *other : placed) {
        bool together = other->first <= block.last && block.first <= other->last;
        if (together && other->offset < offset + block.bytes)
          offset = std::max(offset, other->offset + other->bytes);
      }
      block.offset = offset;
      block.temp.setOffset(offset);
      arena = std::max(arena, offset + block.bytes);
      placed.insert(llvm::upper_bound(placed, &block,
                                      [](Block *a, Block *b) { return a->offset < b->offset; }),
                    &block);
    }
    return arena;
  }
};

} // namespace
