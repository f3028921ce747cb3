// Any bytes as an archive, or as the program in one: an error, never a crash.
#include "TestArchive.h"
#include "compiler/import/torch/TorchImporter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // A program begins with a brace, an archive does not.
  std::string archive = bytes.starts_with("{") ? nx::test::archiveOf(bytes) : bytes.str();
  nx::ParamCatalog params;
  (void)nx::torch::importTorchBytes(archive, context, params);
  return 0;
}
