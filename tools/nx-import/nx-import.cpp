//===- nx-import.cpp - Prints what the importer makes of a model ----------===//
//
// For tests and for looking at the importer alone; nxcc is the compiler. Exit status: 0 done, 1 the
// model is refused, 2 wrong usage.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Import.h"
#include "compiler/import/onnx/OnnxImporter.h"
#include "compiler/import/torch/TorchImporter.h"
#include "dialects/nx/transforms/Passes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

namespace cl = llvm::cl;

int main(int argc, char **argv) {
  static cl::opt<std::string> path(cl::Positional, cl::desc("MODEL"));
  static cl::list<std::string> shapes("shape", cl::desc("Fix the sizes of an input"), cl::value_desc("NAME=DIMS"));
  static cl::opt<bool> list("list-operators", cl::desc("Print the operators that nx imports, and ONNX opsets"));
  static cl::opt<bool> quiet("quiet", cl::desc("Print no IR"));
  static cl::opt<bool> locations("locations", cl::desc("Print locations too"));
  mlir::registerMLIRContextCLOptions();
  mlir::registerAsmPrinterCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerTransformsPasses();
  nx::registerNxTransformsPasses();
  mlir::PassPipelineCLParser pipeline("", "Passes to run on the imported graph");
  cl::ParseCommandLineOptions(argc, argv, "Models to nx\n");

  if (list) {
    for (const nx::SupportedOperator &op : nx::supportedOnnxOperators())
      llvm::outs() << op.domain << (op.domain.empty() ? "" : ".") << op.name << " "
                   << (op.domain.empty() ? std::max(op.minOpset, nx::kMinOnnxOpset) : op.minOpset) << " " << op.maxOpset
                   << "\n";
    for (const std::string &op : nx::torch::supportedTorchOperators())
      llvm::outs() << op << "\n";
    return 0;
  }
  if (path.empty()) {
    llvm::errs() << "nx-import: no model is given\n";
    return 2;
  }
  nx::ImportOptions options;
  for (const std::string &shape : shapes)
    if (llvm::Error error = options.addShape(shape)) {
      llvm::errs() << "nx-import: " << toString(std::move(error)) << "\n";
      return 2;
    }
  mlir::MLIRContext context;
  nx::ParamCatalog params;
  auto module = nx::importModel(path, context, params, options);
  if (failed(module))
    return 1;
  if (pipeline.hasAnyOccurrences()) {
    mlir::PassManager passes(&context);
    auto onError = [&](const llvm::Twine &message) { return mlir::emitError(mlir::UnknownLoc::get(&context)) << message, mlir::failure(); };
    if (failed(mlir::applyPassManagerCLOptions(passes)) || failed(pipeline.addToPipeline(passes, onError)) ||
        failed(passes.run(**module)))
      return 1;
  }
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true);
  if (!quiet)
    (*module)->print(llvm::outs(), flags);
  return 0;
}
