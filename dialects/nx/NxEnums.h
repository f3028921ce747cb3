//===- NxEnums.h - Enumerations of the nx dialect -------------------------===//
#ifndef NX_DIALECTS_NX_NXENUMS_H
#define NX_DIALECTS_NX_NXENUMS_H

#include "mlir/IR/BuiltinAttributes.h"
#include <optional>

#include "dialects/nx/NxEnums.h.inc"

#endif // NX_DIALECTS_NX_NXENUMS_H
