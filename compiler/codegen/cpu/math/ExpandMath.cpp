#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)
  StringRef getArgument() const override { return "nx-expand-math"; }
  StringRef getDescription() const override { return "Expand math ops into arithmetic"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    nx::populateExpandMathPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void nx::populateExpandMathPatterns(RewritePatternSet &patterns) {
  populateMathPolynomialApproximationPatterns(patterns);
}

std::unique_ptr<Pass> nx::createExpandMathPass() { return std::make_unique<ExpandMathPass>(); }

void nx::addMathPasses(OpPassManager &pm) { pm.addPass(createExpandMathPass()); }

void nx::registerMathPasses() { PassRegistration<ExpandMathPass>(); }
