//===- Import.cpp - Model files to nx -------------------------------------===//

#include "compiler/import/Import.h"
#include "compiler/import/onnx/OnnxImporter.h"
#include "compiler/import/torch/TorchImporter.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

FailureOr<OwningOpRef<ModuleOp>> nx::importModel(StringRef path, MLIRContext &context, ParamCatalog &params,
                                                 const ImportOptions &options) {
  llvm::Expected<StringRef> bytes = params.mapFile(path);
  if (!bytes) {
    emitError(UnknownLoc::get(&context)) << toString(bytes.takeError());
    return failure();
  }
  if (torch::isTorchFile(*bytes))
    return torch::importTorchBytes(*bytes, context, params, options);
  return importOnnx(path, context, params, options);
}
