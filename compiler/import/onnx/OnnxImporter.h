//===- OnnxImporter.h - ONNX files to nx ----------------------------------===//
#ifndef NX_COMPILER_IMPORT_ONNX_ONNXIMPORTER_H
#define NX_COMPILER_IMPORT_ONNX_ONNXIMPORTER_H

#include "compiler/import/common/ImportOptions.h"
#include "compiler/params/ParamCatalog.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace nx {

/// Imports the model at `path`: a module with one function `@forward` whose arguments and results
/// carry their names as `nx.name`, whose attribute `nx.symbols` names the symbolic sizes, and whose
/// operations have a NameLoc of their node. Weights stay in the mapped file; `params` knows them.
/// Nodes that nx cannot compile become nx.unsupported: run `nx-check-supported` next. Failure means
/// that the model is wrong; the diagnostics say where and why.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> importOnnx(llvm::StringRef path, mlir::MLIRContext &context,
                                                              ParamCatalog &params,
                                                              const ImportOptions &options = {});

/// The same for a model in memory that outlives `params`. External data is looked for in `folder`.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnxBytes(llvm::StringRef bytes, llvm::StringRef folder, mlir::MLIRContext &context, ParamCatalog &params,
                const ImportOptions &options = {});

/// An operator that the importer knows, for the documentation.
struct SupportedOperator {
  llvm::StringRef domain; ///< "" is ONNX's own
  llvm::StringRef name;
  int minOpset, maxOpset;
};
std::vector<SupportedOperator> supportedOnnxOperators();

/// Opsets of the ONNX domain that the importer reads.
inline constexpr int kMinOnnxOpset = 7, kMaxOnnxOpset = 28;

} // namespace nx
#endif // NX_COMPILER_IMPORT_ONNX_ONNXIMPORTER_H
