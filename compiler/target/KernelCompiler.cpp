#include "compiler/target/KernelCompiler.h"

#include "compiler/target/ImageLinker.h"
#include "compiler/target/ObjectEmitter.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include <chrono>
#include <ctime>

using namespace mlir;

namespace nx {
namespace {

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

// Upstream's polynomial approximations and expansions, as one pass: upstream has them as patterns
// only.
struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  StringRef getArgument() const override { return "nx-expand-math-upstream"; }
  StringRef getDescription() const override {
    return "Expand math ops with upstream's polynomial approximations";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

// Whatever has no lowering must not reach the translation, which would crash or skip it. The casts
// around such an op are left as well: it is named rather than they.
LogicalResult checkFullyLowered(ModuleOp module) {
  Operation *left = nullptr;
  module.walk([&](Operation *op) {
    if (isa<ModuleOp>(op) || isa<LLVM::LLVMDialect>(op->getDialect()))
      return;
    if (!left || isa<UnrealizedConversionCastOp>(left))
      left = op;
  });
  if (!left)
    return success();
  return left->emitError("kernel lowering left '")
         << left->getName() << "' without a lowering to LLVM";
}

constexpr StringLiteral kFunctionSuffixes[] = {"", ".tiles", ".scratch_bytes", ".grain"};

// A module of its own for each kernel, so that passes and LLVM run on all of them at once.
FailureOr<OwningOpRef<ModuleOp>> splitKernels(ModuleOp module, ArrayRef<std::string> kernels) {
  SymbolTable symbols(module);
  OwningOpRef<ModuleOp> outer = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(outer->getBody());
  for (const std::string &kernel : kernels) {
    auto inner = ModuleOp::create(builder, module.getLoc());
    OpBuilder innerBuilder = OpBuilder::atBlockBegin(inner.getBody());
    for (StringRef suffix : kFunctionSuffixes) {
      Operation *function = symbols.lookup(kernel + suffix.str());
      if (!isa_and_nonnull<func::FuncOp>(function))
        return module.emitError("no function @") << kernel << suffix << " to compile";
      innerBuilder.clone(*function);
      // The constants that it reads.
      function->walk([&](LLVM::AddressOfOp use) {
        if (Operation *global = symbols.lookup(use.getGlobalName()))
          if (!inner.lookupSymbol(use.getGlobalName()))
            innerBuilder.clone(*global);
      });
    }
  }
  return outer;
}

FailureOr<ObjectBytes> compileKernelObject(ModuleOp module, StringRef name,
                                           const TargetDescription &target, unsigned optLevel) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context, name);
  if (!llvmModule)
    return module.emitError("cannot translate kernel ") << name << " to LLVM IR";
  llvmModule->setSourceFileName(name);
  llvm::Expected<ObjectBytes> object = emitObject(*llvmModule, target, optLevel);
  if (!object)
    return module.emitError("kernel ") << name << ": " << llvm::toString(object.takeError());
  return std::move(*object);
}

} // namespace

void registerKernelCompilerDialects(DialectRegistry &registry) {
  registry.insert<affine::AffineDialect, arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, index::IndexDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

void buildKernelLoweringPipeline(OpPassManager &pm, const TargetDescription &target,
                                 const KernelCompileOptions &options) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  if (options.addMathPasses)
    options.addMathPasses(pm);
  else
    pm.addPass(std::make_unique<ExpandMathPass>());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions arithOptions;
  arithOptions.includeBf16 = true; // without AVX512-BF16 the conversion is a library call otherwise
  pm.addPass(arith::createArithExpandOpsPass(arithOptions));
  ConvertVectorToLLVMPassOptions vectorOptions;
  vectorOptions.reassociateFPReductions = false;
  pm.addPass(createConvertVectorToLLVMPass(vectorOptions));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

FailureOr<std::vector<char>> compileKernelModule(ModuleOp module, ArrayRef<std::string> kernels,
                                                 const TargetDescription &target,
                                                 const KernelCompileOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerKernelCompilerDialects(registry);
  context->appendDialectRegistry(registry);
  for (StringRef name : registry.getDialectNames())
    context->getOrLoadDialect(name);

  FailureOr<OwningOpRef<ModuleOp>> split = splitKernels(module, kernels);
  if (failed(split))
    return failure();

  auto passStart = std::chrono::steady_clock::now();
  PassManager pm(context);
  pm.enableVerifier(options.verifyEach);
  buildKernelLoweringPipeline(pm.nest<ModuleOp>(), target, options);
  if (failed(pm.run(**split)))
    return module.emitError("lowering the kernels to the llvm dialect failed");
  double passSeconds = secondsSince(passStart);

  SmallVector<ModuleOp> modules = llvm::to_vector((*split)->getOps<ModuleOp>());
  for (ModuleOp inner : modules)
    if (failed(checkFullyLowered(inner)))
      return failure();

  std::vector<ObjectBytes> objects(kernels.size());
  std::vector<KernelCompileStats> stats(kernels.size());
  LogicalResult compiled =
      failableParallelForEachN(context, 0, kernels.size(), [&](size_t i) -> LogicalResult {
        double start = threadSeconds();
        FailureOr<ObjectBytes> object =
            compileKernelObject(modules[i], kernels[i], target, options.optLevel);
        if (failed(object))
          return failure();
        objects[i] = std::move(*object);
        stats[i] = {.name = kernels[i],
                    .mlirSeconds = passSeconds / static_cast<double>(kernels.size()),
                    .llvmSeconds = threadSeconds() - start,
                    .objectBytes = objects[i].size()};
        return success();
      });
  if (failed(compiled))
    return failure();
  if (options.stats)
    *options.stats = std::move(stats);

  llvm::Expected<ObjectBytes> table = emitModuleTable(kernels, target);
  if (!table)
    return module.emitError(llvm::toString(table.takeError()));
  objects.push_back(std::move(*table));
  llvm::Expected<ObjectBytes> memory = emitMemoryFunctions(target);
  if (!memory)
    return module.emitError(llvm::toString(memory.takeError()));
  llvm::Expected<std::vector<char>> image = linkImage(objects, *memory, target, options.linker);
  if (!image)
    return module.emitError(llvm::toString(image.takeError()));
  return std::move(*image);
}

} // namespace nx
