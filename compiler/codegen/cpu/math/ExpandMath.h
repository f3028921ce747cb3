// Math functions as arithmetic: what `math` ops of kernels become before LLVM sees them.
//
// Code images are closed, so no call of a math library may be left. Each function is a polynomial
// or rational approximation on scalars and vectors of f32 and f64; f16 and bf16 compute in f32.
// NaN, infinities and signed zeros are treated as C's Annex F has it. docs/math-functions.md states
// the largest error of each.
#ifndef NX_CODEGEN_MATH_EXPANDMATH_H
#define NX_CODEGEN_MATH_EXPANDMATH_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"

namespace nx {

// Patterns for every op of the math dialect that is not an instruction everywhere.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns);

// The pass `nx-expand-math`, which applies them.
std::unique_ptr<mlir::Pass> createExpandMathPass();

// The passes between emitted loops and the llvm dialect that deal with math ops
// (KernelCompileOptions::addMathPasses).
void addMathPasses(mlir::OpPassManager &pm);

void registerMathPasses();

} // namespace nx

#endif // NX_CODEGEN_MATH_EXPANDMATH_H
