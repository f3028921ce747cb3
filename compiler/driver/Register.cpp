//===- Register.cpp - Every dialect and pass of the compiler --------------===//

#include "compiler/driver/Register.h"
#include "compiler/codegen/cpu/loops/EmitLoops.h"
#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "compiler/lowering/Passes.h"
#include "compiler/partition/Passes.h"
#include "compiler/target/KernelCompiler.h"
#include "dialects/nx/Nx.h"
#include "dialects/nx/transforms/Passes.h"
#include "dialects/nxe/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void nx::registerDialects(DialectRegistry &registry) {
  registry.insert<NxDialect, nxe::NxeDialect, arith::ArithDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect, tensor::TensorDialect>();
  registerKernelCompilerDialects(registry);
}

void nx::registerAll(DialectRegistry &registry) {
  registerDialects(registry);
  registerTransformsPasses();
  registerNxTransformsPasses();
  registerNxLoweringPasses();
  registerPartitionPasses();
  nxe::registerNxePasses();
  registerLoopPasses();
  registerMathPasses();
}
