//===- Compiler.h - One compilation, phase by phase -----------------------===//
#ifndef NX_COMPILER_DRIVER_COMPILER_H
#define NX_COMPILER_DRIVER_COMPILER_H

#include "compiler/emit/Emit.h"
#include "compiler/params/ParamCatalog.h"
#include "compiler/partition/Partition.h"
#include "compiler/target/KernelCompiler.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <string>
#include <vector>

namespace nx {

/// The steps of a compilation, in order. Each ends with the verifier; docs/phases.md says what is
/// legal after each.
enum class Phase { Import, Simplify, Partition, Outline, Program, Codegen, Emit };
llvm::ArrayRef<Phase> allPhases();
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> phaseByName(llvm::StringRef name);

struct CompileOptions {
  std::string model;  // .onnx; with `from`, MLIR text as `dump` writes it
  std::string output; // .nxe
  int64_t tpDegree = 1;
  std::string planFile;             // pins of the partition plan
  std::string planText;             // the same as text, when there is no file
  std::vector<std::string> targets; // empty: native
  std::vector<std::string> shapes;  // NAME=DIMS
  unsigned optLevel = 2;
  unsigned jobs = 0; // 0: one per CPU
  Phase from = Phase::Import, to = Phase::Emit;
  std::string paramsModel; // with `from`: the model that holds the parameters' bytes
  std::vector<Phase> dump; // phases after which the IR is printed to standard output
  /// Called when a phase begins, and once more at the end (with no phase).
  std::function<void(std::optional<Phase>)> progress;
};

struct PhaseReport {
  Phase phase;
  double seconds;
  uint64_t peakBytes;  // resident memory of the process, its highest so far
  uint64_t operations; // in the module afterwards
};

struct CompileReport {
  std::vector<PhaseReport> phases;
  std::vector<KernelCompileStats> kernels; // of every target
  EmitStats emitted;
  double seconds = 0;
  uint64_t peakBytes = 0;
  uint64_t parameterBytes = 0;
};

/// A compilation. Errors go to the context's diagnostics, located at the model's nodes.
class Compiler {
public:
  Compiler(mlir::MLIRContext &context, CompileOptions options);
  llvm::LogicalResult run();

  const CompileReport &report() const { return theReport; }
  const PartitionPlan &plan() const { return thePlan; }
  const ParamCatalog &parameters() const { return catalog; }
  /// The module after the last phase that ran; null when none has made one.
  mlir::ModuleOp module() { return *theModule; }

private:
  llvm::LogicalResult runPhase(Phase phase);
  llvm::LogicalResult import();
  llvm::LogicalResult load();
  llvm::LogicalResult runPasses(llvm::function_ref<void(mlir::OpPassManager &)> build);
  llvm::LogicalResult partitionModule();
  llvm::LogicalResult generateCode();
  llvm::LogicalResult emit();
  llvm::LogicalResult resolveTargets();

  mlir::MLIRContext &context;
  CompileOptions options;
  std::vector<const TargetDescription *> targets;
  ParamCatalog catalog;
  mlir::OwningOpRef<mlir::ModuleOp> theModule;
  PartitionPlan thePlan;
  std::vector<CodeImage> images;
  CompileReport theReport;
};

} // namespace nx
#endif // NX_COMPILER_DRIVER_COMPILER_H
