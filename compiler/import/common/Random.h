//===- Random.h - Reproducible random numbers -----------------------------===//
//
// Numbers are a function of a seed and of the element's place: the same for every execution, number of
// threads and rank. (A counter run through the finalizer of splitmix64, twice.)
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_RANDOM_H
#define NX_COMPILER_IMPORT_COMMON_RANDOM_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// Independent 64-bit integers, ui64 of these sizes.
mlir::Value randomBits(GraphBuilder &b, llvm::ArrayRef<mlir::AffineExpr> dims, uint64_t seed);

/// Uniform in [0, 1): f32 or f64.
mlir::Value randomUniform(GraphBuilder &b, llvm::ArrayRef<mlir::AffineExpr> dims, uint64_t seed, mlir::Type element);

/// Normal with mean 0 and deviation 1: f32 or f64.
mlir::Value randomNormal(GraphBuilder &b, llvm::ArrayRef<mlir::AffineExpr> dims, uint64_t seed, mlir::Type element);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_RANDOM_H
