#include "compiler/codegen/cpu/loops/EmitLoops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {

struct EmitLoopsPass : PassWrapper<EmitLoopsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitLoopsPass)

  EmitLoopsPass() = default;
  EmitLoopsPass(const EmitLoopsPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "nx-emit-loops"; }
  StringRef getDescription() const override {
    return "Turn kernels of linalg ops on tensors into loops over the kernel call's operands";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                    memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    nx::LoopOptions options;
    options.vectorLength = vectorLength;
    options.fuse = fuse;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      auto isTensor = llvm::IsaPred<TensorType>;
      if (llvm::none_of(function.getArgumentTypes(), isTensor) &&
          llvm::none_of(function.getResultTypes(), isTensor))
        continue;
      if (failed(nx::emitLoops(function, options)))
        return signalPassFailure();
    }
  }

  Option<int> vectorLength{*this, "vector-length", llvm::cl::init(8),
                           llvm::cl::desc("f32 lanes of a vector; 1: scalar code")};
  Option<bool> fuse{*this, "fuse", llvm::cl::init(true),
                    llvm::cl::desc("fuse element-wise ops into their consumers first")};
};

} // namespace

void nx::registerLoopPasses() { PassRegistration<EmitLoopsPass>(); }
