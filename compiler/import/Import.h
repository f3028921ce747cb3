//===- Import.h - Model files to nx ---------------------------------------===//
#ifndef NX_COMPILER_IMPORT_IMPORT_H
#define NX_COMPILER_IMPORT_IMPORT_H

#include "compiler/import/common/ImportOptions.h"
#include "compiler/params/ParamCatalog.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace nx {

/// Imports a model of any kind that nx reads; its first bytes tell which. The module has one function
/// `@forward` whose arguments and results carry their names as `nx.name`, whose attribute
/// `nx.symbols` names the symbolic sizes, and whose operations have a NameLoc of their node. Weights
/// stay in the mapped file; `params` knows them. Nodes that nx cannot compile become nx.unsupported:
/// run `nx-check-supported` next. Failure means that the model is wrong; the diagnostics say where
/// and why.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importModel(llvm::StringRef path, mlir::MLIRContext &context,
                                                               ParamCatalog &params,
                                                               const ImportOptions &options = {});

} // namespace nx
#endif // NX_COMPILER_IMPORT_IMPORT_H
