// Any bytes as a model: an error, never a crash.
#include "compiler/import/onnx/OnnxImporter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  nx::ParamCatalog params;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // External data is looked for where there is none.
  (void)nx::importOnnxBytes(bytes, "/nonexistent", context, params);
  return 0;
}
