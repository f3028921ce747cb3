//===- Passes.h - Passes over nxe programs --------------------------------===//
#ifndef NX_DIALECTS_NXE_PASSES_H
#define NX_DIALECTS_NXE_PASSES_H

#include "dialects/nxe/Nxe.h"
#include "mlir/Pass/Pass.h"

namespace nxe {
#define GEN_PASS_DECL
#include "dialects/nxe/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dialects/nxe/Passes.h.inc"
} // namespace nxe
#endif // NX_DIALECTS_NXE_PASSES_H
