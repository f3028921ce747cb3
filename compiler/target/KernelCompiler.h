// From emitted kernels to a code image: the MLIR lowering, LLVM, and the link.
//
// Input: a module that holds, for each kernel @k, four functions in terms of arith, math, scf, cf,
// vector, memref, index, affine, ub and llvm:
//   @k(call: !llvm.ptr, begin: i64, end: i64) -> i32
//   @k.tiles(dim: !llvm.ptr) -> i64
//   @k.scratch_bytes(dim: !llvm.ptr) -> i64
//   @k.grain(dim: !llvm.ptr) -> i64
// Output: the bytes of a closed ELF shared object (runtime/include/nxrt/kernel_abi.h): entry point
// `nx_module`, no imports, relative relocations only. The bytes depend on the input alone.
#ifndef NX_TARGET_KERNELCOMPILER_H
#define NX_TARGET_KERNELCOMPILER_H

#include "compiler/target/TargetDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <functional>
#include <string>
#include <vector>

namespace nx {

// What one kernel cost, for reports.
struct KernelCompileStats {
  std::string name;
  double mlirSeconds = 0; // share of the MLIR passes: all kernels' wall time over their number
  double llvmSeconds = 0; // CPU time of translation, optimization and code generation
  size_t objectBytes = 0;
};

struct KernelCompileOptions {
  // Adds the passes that expand math ops into arithmetic; what is left of them reaches LLVM
  // intrinsics, which fail at the link when they need a library. Default: upstream's expansions.
  std::function<void(mlir::OpPassManager &)> addMathPasses;
  // The ld.lld program. Empty: the environment's NX_LLD, else LLVM's own, else the one in PATH.
  std::string linker;
  unsigned optLevel = 2; // LLVM's, 0 to 3
  bool verifyEach = false;
  std::vector<KernelCompileStats> *stats = nullptr; // filled when not null
};

// Makes the dialects, translations and interfaces known that compileKernelModule needs.
void registerKernelCompilerDialects(mlir::DialectRegistry &registry);

// Adds the passes that take one kernel's module to the llvm dialect (an nx-opt pipeline uses it,
// too).
void buildKernelLoweringPipeline(mlir::OpPassManager &pm, const TargetDescription &target,
                                 const KernelCompileOptions &options);

// Compiles the named kernels of `module`, in parallel when the context allows it. The image's
// kernel table has the order of `kernels`. `module` is not changed. Errors go to diagnostics.
mlir::FailureOr<std::vector<char>> compileKernelModule(mlir::ModuleOp module,
                                                       llvm::ArrayRef<std::string> kernels,
                                                       const TargetDescription &target,
                                                       const KernelCompileOptions &options = {});

} // namespace nx

#endif // NX_TARGET_KERNELCOMPILER_H
