#include "compiler/codegen/cpu/loops/EmitLoops.h"
#include "compiler/codegen/cpu/loops/Emit.h"
#include "compiler/codegen/cpu/loops/Prepare.h"

using namespace mlir;

namespace nx {

LogicalResult emitLoops(func::FuncOp kernel, const LoopOptions &options) {
  if (failed(loops::prepare(kernel, options.fuse)))
    return failure();
  loops::Model model(kernel);
  if (failed(model.build()))
    return failure();
  model.mergeClasses();
  loops::Plan plan = loops::makePlan(model, options.vectorLength);
  return loops::emit(model, plan);
}

} // namespace nx
