//===- TorchImporter.h - Programs of torch.export to nx -------------------===//
#ifndef NX_COMPILER_IMPORT_TORCH_TORCHIMPORTER_H
#define NX_COMPILER_IMPORT_TORCH_TORCHIMPORTER_H

#include "compiler/import/common/ImportOptions.h"
#include "compiler/params/ParamCatalog.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace nx::torch {

/// True when a file begins as a .pt2 archive does.
bool isTorchFile(llvm::StringRef bytes);

/// Imports a .pt2 archive that torch.export.save has written and that outlives `params`; see
/// importModel.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importTorchBytes(llvm::StringRef bytes, mlir::MLIRContext &context,
                                                                    ParamCatalog &params,
                                                                    const ImportOptions &options = {});

/// The operators that the importer knows, "aten.add.Tensor", in alphabetical order.
std::vector<std::string> supportedTorchOperators();

} // namespace nx::torch
#endif // NX_COMPILER_IMPORT_TORCH_TORCHIMPORTER_H
