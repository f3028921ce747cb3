#include "compiler/codegen/cpu/scalar/EmitScalar.h"

#include "compiler/codegen/cpu/scalar/ScalarKernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace nx {

void emitScalarKernel(func::FuncOp kernel, const TargetDescription &target) {
  Operation *op = nullptr;
  for (Operation &member : kernel.getBody().front().without_terminator())
    if (!isa<ConstantOp>(member))
      op = &member;
  ScalarBodies bodies = llvm::TypeSwitch<Operation *, ScalarBodies>(op)
                            .Case<ScatterElementsOp, ScatterNdOp, TopKOp, RecurrentOp, DetOp, RoiAlignOp>(
                                [](auto known) { return scalarBodies(known); });

  KernelSignature signature;
  signature.canFail = bodies.canFail;
  auto add = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    signature.operands.push_back(signlessElement(tensor.getElementType()));
    if (auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding()))
      signature.symbols = std::max(signature.symbols, dims.getMap().getNumSymbols());
  };
  for (Type type : kernel.getArgumentTypes())
    add(type);
  for (Type type : kernel.getResultTypes())
    add(type);

  auto tiles = [&](KernelBuilder &kb) {
    Value count = kb.index(1);
    for (AffineExpr size : bodies.tiles)
      count = kb.mul(count, kb.size(size));
    return count;
  };
  KernelBodies functions;
  functions.run = [&](KernelBuilder &kb, Value begin, Value end) {
    ScalarKernel body(kb, kernel, op);
    bodies.run(body, begin, end);
  };
  functions.tiles = tiles;
  functions.scratchBytes = [&](KernelBuilder &kb) {
    return bodies.scratchBytes ? kb.size(bodies.scratchBytes) : kb.index(0);
  };
  functions.grain = [&](KernelBuilder &kb) { return grainForTileCost(kb, kb.size(bodies.tileCost)); };
  emitKernelFunctions(kernel->getParentOfType<ModuleOp>(), kernel.getName(), kernel.getLoc(), signature, target,
                      functions);
}

} // namespace nx
