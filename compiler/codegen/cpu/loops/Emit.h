// The last step of the loop emitter: writes a plan as functions.
#ifndef NX_CODEGEN_LOOPS_EMIT_H
#define NX_CODEGEN_LOOPS_EMIT_H

#include "compiler/codegen/cpu/loops/Plan.h"

namespace nx::loops {

// Replaces the kernel by its four functions; on failure reports, and leaves it in place.
mlir::LogicalResult emit(Model &model, Plan &plan);

} // namespace nx::loops

#endif // NX_CODEGEN_LOOPS_EMIT_H
