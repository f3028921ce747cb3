#include "compiler/codegen/cpu/loops/EmitLoops.h"
#include "compiler/codegen/cpu/loops/Emit.h"
#include "compiler/codegen/cpu/loops/Prepare.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace nx {

static LogicalResult emitAt(func::FuncOp kernel, int vectorLength) {
  loops::Model model(kernel);
  if (failed(model.build()))
    return failure();
  model.mergeClasses();
  loops::Plan plan = loops::makePlan(model, vectorLength);
  return loops::emit(model, plan);
}

LogicalResult emitLoops(func::FuncOp kernel, const LoopOptions &options) {
  if (failed(loops::prepare(kernel, options.fuse)))
    return failure();
  if (options.vectorLength > 1) {
    // What the vector form refuses, the scalar form may take: then nobody needs to know.
    ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
    if (succeeded(emitAt(kernel, options.vectorLength)))
      return success();
  }
  return emitAt(kernel, 1);
}

} // namespace nx
