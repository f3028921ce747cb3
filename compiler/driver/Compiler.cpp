//===- Compiler.cpp - One compilation, phase by phase ---------------------===//

#include "compiler/driver/Compiler.h"
#include "compiler/codegen/EmitKernel.h"
#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "compiler/driver/Version.h"
#include "compiler/import/Import.h"
#include "compiler/lowering/Passes.h"
#include "dialects/nx/transforms/Passes.h"
#include "dialects/nxe/Passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;
using namespace nx;

ArrayRef<Phase> nx::allPhases() {
  static constexpr Phase phases[] = {Phase::Import,  Phase::Simplify, Phase::Partition,
                                     Phase::Outline, Phase::Program,  Phase::Codegen,
                                     Phase::Emit};
  return phases;
}

StringRef nx::phaseName(Phase phase) {
  switch (phase) {
  case Phase::Import:
    return "import";
  case Phase::Simplify:
    return "simplify";
  case Phase::Partition:
    return "partition";
  case Phase::Outline:
    return "outline";
  case Phase::Program:
    return "program";
  case Phase::Codegen:
    return "codegen";
  case Phase::Emit:
    return "emit";
  }
  llvm_unreachable("all phases are named");
}

std::optional<Phase> nx::phaseByName(StringRef name) {
  for (Phase phase : allPhases())
    if (phaseName(phase) == name)
      return phase;
  return std::nullopt;
}

/// The process's highest resident memory so far; 0 where the system does not say. Not getrusage's:
/// that starts with the peak of whatever program started this one.
static uint64_t peakResidentBytes() {
  auto status = llvm::MemoryBuffer::getFileAsStream("/proc/self/status");
  if (!status)
    return 0;
  uint64_t kibibytes = 0;
  StringRef rest = (*status)->getBuffer().split("VmHWM:").second.ltrim();
  rest.consumeInteger(10, kibibytes);
  return kibibytes << 10;
}

Compiler::Compiler(MLIRContext &context, CompileOptions options)
    : context(context), options(std::move(options)) {}

LogicalResult Compiler::run() {
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  auto start = Clock::now();
  // What can be refused is refused before any long work.
  if (failed(resolveTargets()))
    return failure();
  if (options.from != Phase::Import && failed(load()))
    return failure();
  for (Phase phase : allPhases()) {
    if (phase < options.from || phase > options.to)
      continue;
    if (options.progress)
      options.progress(phase);
    auto begin = Clock::now();
    if (failed(runPhase(phase)))
      return failure();
    if (failed(verify(*theModule)))
      return failure();
    uint64_t operations = 0;
    theModule->walk([&](Operation *) { ++operations; });
    theReport.phases.push_back(
        {phase, seconds(Clock::now() - begin), peakResidentBytes(), operations});
    if (llvm::is_contained(options.dump, phase)) {
      theModule->print(llvm::outs(), OpPrintingFlags().enableDebugInfo(true, false));
      llvm::outs() << "\n";
    }
  }
  if (options.progress)
    options.progress(std::nullopt);
  theReport.seconds = seconds(Clock::now() - start);
  theReport.peakBytes = peakResidentBytes();
  return success();
}

LogicalResult Compiler::resolveTargets() {
  if (options.targets.empty())
    options.targets.push_back("native");
  for (const std::string &name : options.targets) {
    auto target = lookupTarget(name);
    if (!target)
      return emitError(UnknownLoc::get(&context)) << llvm::toString(target.takeError());
    if (!llvm::is_contained(targets, *target))
      targets.push_back(*target);
  }
  return success();
}

LogicalResult Compiler::runPhase(Phase phase) {
  switch (phase) {
  case Phase::Import:
    return import();
  case Phase::Simplify:
    return runPasses([](OpPassManager &pm) {
      pm.addPass(createNxCanonicalize());
      pm.addPass(createCSEPass());
      pm.addPass(createNxFuseForms());
      pm.addPass(createNxCanonicalize());
      pm.addPass(createCSEPass());
    });
  case Phase::Partition:
    return partitionModule();
  case Phase::Outline:
    return runPasses([](OpPassManager &pm) {
      pm.addPass(createNxPrepareKernels());
      pm.addPass(createCSEPass());
      pm.addPass(createNxOutlineKernels());
    });
  case Phase::Program:
    return runPasses([&](OpPassManager &pm) {
      pm.addPass(createNxToNxe({options.tpDegree}));
      pm.nest<nxe::ExecutableOp>().addNestedPass<nxe::ProgramOp>(nxe::createNxePlanMemory());
    });
  case Phase::Codegen:
    return generateCode();
  case Phase::Emit:
    return emit();
  }
  llvm_unreachable("all phases are handled");
}

LogicalResult Compiler::runPasses(function_ref<void(OpPassManager &)> build) {
  PassManager pm(&context);
  pm.enableVerifier(false); // run() verifies once per phase
  build(pm);
  return pm.run(*theModule);
}

LogicalResult Compiler::import() {
  ImportOptions importOptions;
  for (const std::string &shape : options.shapes)
    if (llvm::Error error = importOptions.addShape(shape))
      return emitError(UnknownLoc::get(&context))
             << "--shape " << shape << ": " << llvm::toString(std::move(error));
  auto module = importModel(options.model, context, catalog, importOptions);
  if (failed(module))
    return failure();
  theModule = std::move(*module);
  theModule->walk([&](ParamOp param) {
    if (const Param *bytes = catalog.lookup(param.getName()))
      theReport.parameterBytes += bytes->bytes.size();
  });
  return runPasses([](OpPassManager &pm) { pm.addPass(createNxCheckSupported()); });
}

/// Reads what `dump` wrote; the parameters' bytes come from the model named beside it.
LogicalResult Compiler::load() {
  theModule = parseSourceFile<ModuleOp>(options.model, &context);
  if (!theModule)
    return failure();
  if (!options.paramsModel.empty() &&
      failed(importModel(options.paramsModel, context, catalog, ImportOptions())))
    return failure();
  if (options.to != Phase::Emit)
    return success();
  // Now rather than when the code has been generated.
  auto check = [&](Location loc, StringRef param) -> LogicalResult {
    if (catalog.lookup(param))
      return success();
    return emitError(loc) << "the bytes of parameter '" << param << "' are not in this text; "
                          << "name the model that holds them with --params MODEL";
  };
  WalkResult walk = theModule->walk([&](Operation *op) -> WalkResult {
    if (auto param = dyn_cast<ParamOp>(op))
      return check(op->getLoc(), param.getName());
    if (auto param = dyn_cast<nxe::ParamOp>(op))
      return check(op->getLoc(), param.getSource());
    if (auto func = dyn_cast<func::FuncOp>(op))
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        if (auto initial = func.getArgAttrOfType<StringAttr>(i, kInitialAttr))
          if (failed(check(op->getLoc(), initial.getValue())))
            return failure();
    return success();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Compiler::partitionModule() {
  if (options.tpDegree == 1)
    return success();
  PartitionOptions partitionOptions;
  partitionOptions.degree = options.tpDegree;
  partitionOptions.planText = options.planText;
  if (!options.planFile.empty()) {
    auto file = llvm::MemoryBuffer::getFile(options.planFile, /*IsText=*/true);
    if (!file)
      return emitError(UnknownLoc::get(&context))
             << "cannot read the plan file '" << options.planFile
             << "': " << file.getError().message();
    partitionOptions.planText = (*file)->getBuffer().str();
    partitionOptions.planName = options.planFile;
  }
  return partition(*theModule, partitionOptions, thePlan);
}

LogicalResult Compiler::generateCode() {
  nxe::ExecutableOp executable = *theModule->getOps<nxe::ExecutableOp>().begin();
  SmallVector<std::string> names;
  for (nxe::KernelOp kernel : executable.getBody().front().getOps<nxe::KernelOp>())
    names.push_back(kernel.getSymName().str());
  SymbolTable symbols(*theModule);
  for (const TargetDescription *target : targets) {
    OwningOpRef<ModuleOp> kernels = ModuleOp::create(theModule->getLoc());
    SmallVector<func::FuncOp> functions;
    for (const std::string &name : names) {
      auto copy = cast<func::FuncOp>(symbols.lookup(name)->clone());
      kernels->getBody()->push_back(copy);
      functions.push_back(copy);
    }
    for (func::FuncOp function : functions)
      if (failed(emitKernel(function, *target)))
        return failure();
    KernelCompileOptions compileOptions;
    compileOptions.addMathPasses = addMathPasses;
    compileOptions.optLevel = options.optLevel;
    compileOptions.stats = &theReport.kernels;
    auto image = compileKernelModule(*kernels, names, *target, compileOptions);
    if (failed(image))
      return failure();
    images.push_back({target, std::move(*image)});
  }
  return success();
}

LogicalResult Compiler::emit() {
  EmitInfo info;
  info.producer = std::string("nxcc ") + kVersion;
  info.modelName = llvm::sys::path::filename(options.model).str();
  info.modelHash = catalog.contentHash();
  std::string targetNames;
  for (const TargetDescription *target : targets)
    targetNames += (targetNames.empty() ? "" : ",") + target->name.str();
  info.options = {{"tp", std::to_string(options.tpDegree)},
                  {"target-cpu", targetNames},
                  {"opt-level", std::to_string(options.optLevel)}};
  for (const std::string &shape : options.shapes)
    info.options.push_back({"shape", shape});
  for (auto &[name, split] : thePlan.table())
    info.plan.push_back({name, split});
  nxe::ExecutableOp executable = *theModule->getOps<nxe::ExecutableOp>().begin();
  auto stats = emitExecutable(executable, images, catalog, info, options.output);
  if (!stats)
    return emitError(UnknownLoc::get(&context)) << llvm::toString(stats.takeError());
  theReport.emitted = *stats;
  return success();
}
