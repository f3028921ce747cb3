//===- Nxe.h - The nxe dialect --------------------------------------------===//
#ifndef NX_DIALECTS_NXE_NXE_H
#define NX_DIALECTS_NXE_NXE_H

#include "dialects/nx/Nx.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/nxe/NxeDialect.h.inc"
#include "dialects/nxe/NxeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nxe/NxeAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/nxe/NxeTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/nxe/NxeOps.h.inc"

namespace nxe {

/// The program's commands, in order: what command positions count.
llvm::SmallVector<mlir::Operation *> commandsOf(ProgramOp program);

/// The buffer that `buffer` lies in, through all views.
mlir::Value rootOf(mlir::Value buffer);

} // namespace nxe
#endif // NX_DIALECTS_NXE_NXE_H
