// nx-kernelc IN.mlir -o IMAGE [--target NAME] [--vector-length N] [--math MODE]
//
// Compiles kernels into a code image, for tests: the lowering to linalg (of functions with
// `nx.family = "loops"`; others stand at the linalg level), the loop emitter, the expansion of math
// functions, and the way to LLVM. Prints the names of the kernels in the order of the image's table.
#include "compiler/codegen/cpu/loops/EmitLoops.h"
#include "compiler/codegen/cpu/scalar/EmitScalar.h"
#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "compiler/lowering/NxToLinalg.h"
#include "compiler/lowering/Passes.h"
#include "compiler/target/KernelCompiler.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("<kernels.mlir>"));
static cl::opt<std::string> output("o", cl::Required, cl::desc("The image"));
static cl::opt<std::string> targetName("target", cl::init("native"), cl::desc("Target name"));
static cl::opt<int> vectorLength("vector-length", cl::init(0),
                                 cl::desc("f32 lanes of a vector; 0: the target's"));
static cl::opt<bool> dump("dump", cl::desc("Print the emitted loops to standard error"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "kernels to a code image\n");
  DialectRegistry registry;
  nx::registerKernelCompilerDialects(registry);
  registry.insert<nx::NxDialect, affine::AffineDialect, linalg::LinalgDialect, tensor::TensorDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(input, sources, &context);
  if (!module)
    return 1;
  llvm::Expected<const nx::TargetDescription *> target = nx::lookupTarget(targetName);
  if (!target) {
    llvm::errs() << llvm::toString(target.takeError()) << "\n";
    return 1;
  }
  nx::LoopOptions options;
  options.vectorLength = vectorLength ? vectorLength : static_cast<int>((*target)->vectorLanes);
  std::vector<std::string> kernels;
  bool refused = false;
  for (auto kernel : llvm::to_vector(module->getOps<func::FuncOp>())) {
    kernels.push_back(kernel.getName().str());
    if (auto family = kernel->getAttrOfType<StringAttr>(nx::kFamilyAttr); family && family.getValue() == nx::kScalarFamily) {
      nx::emitScalarKernel(kernel, **target);
      kernel.erase();
      continue;
    }
    if (kernel->hasAttr(nx::kFamilyAttr) &&
        (failed(nx::lowerToLinalg(kernel)) || failed(verify(kernel)))) {
      refused = true;
      continue;
    }
    refused |= failed(nx::emitLoops(kernel, options));
  }
  if (refused)
    return 1;
  if (dump)
    module->print(llvm::errs());
  if (failed(verify(*module)))
    return 1;
  nx::KernelCompileOptions compile;
  compile.addMathPasses = nx::addMathPasses;
  FailureOr<std::vector<char>> image = nx::compileKernelModule(*module, kernels, **target, compile);
  if (failed(image))
    return 1;
  std::error_code error;
  llvm::ToolOutputFile file(output, error, llvm::sys::fs::OF_None);
  if (error) {
    llvm::errs() << output << ": " << error.message() << "\n";
    return 1;
  }
  file.os().write(image->data(), image->size());
  file.keep();
  for (const std::string &kernel : kernels)
    llvm::outs() << kernel << "\n";
  return 0;
}
