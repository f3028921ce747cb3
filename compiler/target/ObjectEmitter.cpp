#include "compiler/target/ObjectEmitter.h"

#include "runtime/include/nxrt/kernel_abi.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

namespace nx {

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const TargetDescription &target, unsigned optLevel) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return llvm::createStringError("this LLVM has no code generator for " + target.name.str() +
                                   ": " + error);
  llvm::CodeGenOptLevel level = optLevel == 0   ? llvm::CodeGenOptLevel::None
                                : optLevel == 1 ? llvm::CodeGenOptLevel::Less
                                : optLevel == 2 ? llvm::CodeGenOptLevel::Default
                                                : llvm::CodeGenOptLevel::Aggressive;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, target.cpu, target.features, llvm::TargetOptions(),
                                   llvm::Reloc::PIC_, llvm::CodeModel::Small, level));
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  llvm::OptimizationLevel level = optLevel == 0   ? llvm::OptimizationLevel::O0
                                  : optLevel == 1 ? llvm::OptimizationLevel::O1
                                  : optLevel == 2 ? llvm::OptimizationLevel::O2
                                                  : llvm::OptimizationLevel::O3;
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

/// Stores of a single lane become scalar stores. LLVM 22 merges a truncation into the masked store
/// behind it, and for AVX-512 then writes the one lane in the type from before: into the elements
/// that follow.
static void unmaskSingleLaneStores(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *store = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!store || store->getIntrinsicID() != llvm::Intrinsic::masked_store)
        continue;
      llvm::Value *vector = store->getArgOperand(0), *pointer = store->getArgOperand(1);
      auto *mask = llvm::dyn_cast<llvm::Constant>(store->getArgOperand(2));
      auto *type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
      if (!mask || !type)
        continue;
      llvm::SmallVector<unsigned> live;
      for (unsigned lane = 0; lane < type->getNumElements(); ++lane)
        if (llvm::Constant *bit = mask->getAggregateElement(lane); !bit || !bit->isNullValue())
          live.push_back(lane);
      if (live.size() != 1)
        continue;
      llvm::IRBuilder<> builder(store);
      llvm::Type *element = type->getElementType();
      llvm::Align align = commonAlignment(
          store->getParamAlign(1).valueOrOne(),
          live[0] * module.getDataLayout().getTypeStoreSize(element).getFixedValue());
      builder.CreateAlignedStore(builder.CreateExtractElement(vector, live[0]),
                                 builder.CreateConstInBoundsGEP1_64(element, pointer, live[0]),
                                 align);
      store->eraseFromParent();
    }
}

llvm::Expected<ObjectBytes> emitObject(llvm::Module &module, const TargetDescription &target,
                                       unsigned optLevel) {
  auto machine = createTargetMachine(target, optLevel);
  if (!machine)
    return machine.takeError();
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple(llvm::Triple(target.triple));
  std::string vectorBits = std::to_string(target.vectorLanes * 32);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    function.addFnAttr("no-builtins");
    function.addFnAttr("prefer-vector-width", vectorBits);
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (!function.hasLocalLinkage())
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  optimize(module, **machine, optLevel);
  unmaskSingleLaneStores(module);

  ObjectBytes object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("cannot emit object files for " + target.name.str());
  passes.run(module);
  return object;
}

llvm::Expected<ObjectBytes> emitModuleTable(llvm::ArrayRef<std::string> kernels,
                                            const TargetDescription &target) {
  llvm::LLVMContext context;
  llvm::Module module("table", context);
  llvm::Type *i32 = llvm::Type::getInt32Ty(context);
  llvm::PointerType *ptr = llvm::PointerType::get(context, 0);

  // The functions' types do not matter here: only their addresses are taken.
  auto *anyFunction = llvm::FunctionType::get(i32, false);
  auto addressOf = [&](const std::string &name) -> llvm::Constant * {
    llvm::FunctionCallee callee = module.getOrInsertFunction(name, anyFunction);
    auto *function = llvm::cast<llvm::Function>(callee.getCallee());
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function;
  };
  // Laid out as nxrt_kernel and nxrt_kernel_module.
  static_assert(sizeof(nxrt_kernel) == 4 * sizeof(void *));
  static_assert(offsetof(nxrt_kernel_module, kernels) == 8);
  auto *kernelType = llvm::StructType::get(context, {ptr, ptr, ptr, ptr});
  llvm::SmallVector<llvm::Constant *> rows;
  for (const std::string &kernel : kernels)
    rows.push_back(llvm::ConstantStruct::get(
        kernelType, {addressOf(kernel), addressOf(kernel + ".tiles"),
                     addressOf(kernel + ".scratch_bytes"), addressOf(kernel + ".grain")}));
  auto constantGlobal = [&](llvm::Constant *value, llvm::StringRef name) {
    return new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::InternalLinkage, value, name);
  };
  auto *table = constantGlobal(
      llvm::ConstantArray::get(llvm::ArrayType::get(kernelType, rows.size()), rows), "nx_kernels");
  auto *moduleType = llvm::StructType::get(context, {i32, i32, ptr});
  auto *descriptor = constantGlobal(
      llvm::ConstantStruct::get(moduleType, {llvm::ConstantInt::get(i32, NXRT_KERNEL_ABI_VERSION),
                                             llvm::ConstantInt::get(i32, kernels.size()), table}),
      "nx_descriptor");

  auto *entry = llvm::Function::Create(llvm::FunctionType::get(ptr, false),
                                       llvm::GlobalValue::ExternalLinkage, "nx_module", module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", entry));
  builder.CreateRet(descriptor);
  return emitObject(module, target, 1);
}

// Byte loops: the vectorizer widens them. They are called for small or rare copies only; kernels
// move their data with vectors.
static constexpr const char *kMemoryFunctions = R"(
define ptr @memcpy(ptr noalias %to, ptr noalias %from, i64 %n) {
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %src = getelementptr i8, ptr %from, i64 %i
  %dst = getelementptr i8, ptr %to, i64 %i
  %byte = load i8, ptr %src
  store i8 %byte, ptr %dst
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr %to
}
define ptr @memset(ptr %to, i32 %value, i64 %n) {
  %byte = trunc i32 %value to i8
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %dst = getelementptr i8, ptr %to, i64 %i
  store i8 %byte, ptr %dst
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret ptr %to
}
define ptr @memmove(ptr %to, ptr %from, i64 %n) {
  %t = ptrtoint ptr %to to i64
  %f = ptrtoint ptr %from to i64
  %distance = sub i64 %t, %f
  %ahead = icmp ult i64 %distance, %n
  br i1 %ahead, label %backward, label %start
start:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %done, label %forward
forward:
  %i = phi i64 [ 0, %start ], [ %inext, %forward ]
  %isrc = getelementptr i8, ptr %from, i64 %i
  %idst = getelementptr i8, ptr %to, i64 %i
  %ibyte = load i8, ptr %isrc
  store i8 %ibyte, ptr %idst
  %inext = add i64 %i, 1
  %imore = icmp ult i64 %inext, %n
  br i1 %imore, label %forward, label %done
backward:
  %j = phi i64 [ %n, %0 ], [ %jnext, %backward ]
  %jnext = sub i64 %j, 1
  %jsrc = getelementptr i8, ptr %from, i64 %jnext
  %jdst = getelementptr i8, ptr %to, i64 %jnext
  %jbyte = load i8, ptr %jsrc
  store i8 %jbyte, ptr %jdst
  %jmore = icmp ne i64 %jnext, 0
  br i1 %jmore, label %backward, label %done
done:
  ret ptr %to
}
)";

llvm::Expected<ObjectBytes> emitMemoryFunctions(const TargetDescription &target) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(kMemoryFunctions, diagnostic, context);
  if (!module)
    return llvm::createStringError("memory functions: " + diagnostic.getMessage());
  module->setSourceFileName("memory");
  return emitObject(*module, target, 2);
}

} // namespace nx
