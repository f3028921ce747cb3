//===- Slices.h - Parts of a dimension ------------------------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_SLICES_H
#define NX_COMPILER_IMPORT_COMMON_SLICES_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// Elements start, start + step, ... of a dimension, `count` of them.
struct SliceRange {
  mlir::AffineExpr start, count;
  int64_t step = 1;
};

/// Bounds from here on mean "to the end": exporters write the greatest integer of either width, or a
/// thousand millions.
inline constexpr int64_t kEndless = 1'000'000'000;

/// The range that Python's start, end and step mean for a dimension of that size, bounds outside
/// clamped; null when nx cannot say. Where a symbol leaves open whether a bound is inside, it is
/// taken to be, and the execution checks it.
std::optional<SliceRange> sliceRange(GraphBuilder &b, mlir::AffineExpr start, mlir::AffineExpr end, int64_t step,
                                     mlir::AffineExpr size);

/// x with the dimensions of `ranges` cut and the others whole.
mlir::Value emitSlice(GraphBuilder &b, mlir::Value x, llvm::ArrayRef<std::pair<int64_t, SliceRange>> ranges);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_SLICES_H
