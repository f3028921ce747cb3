//===- Passes.h - Passes on the nx graph ----------------------------------===//
#ifndef NX_DIALECTS_NX_TRANSFORMS_PASSES_H
#define NX_DIALECTS_NX_TRANSFORMS_PASSES_H

#include "dialects/nx/Nx.h"
#include "mlir/Pass/Pass.h"

namespace nx {
#define GEN_PASS_DECL
#include "dialects/nx/transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dialects/nx/transforms/Passes.h.inc"
} // namespace nx
#endif // NX_DIALECTS_NX_TRANSFORMS_PASSES_H
