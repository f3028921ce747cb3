//===- Windows.h - Convolutions and pools in terms of others --------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_WINDOWS_H
#define NX_COMPILER_IMPORT_COMMON_WINDOWS_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// One value per spatial dimension.
struct WindowSizes {
  llvm::SmallVector<int64_t> kernel, strides, dilations, lo, hi;
};

/// Convolution's adjoint: `x [N, C, S..]`, `weight [C, O / groups, kernel..]`, `bias [O]` or null. `extra` are elements
/// more at the end of each dimension. `window.kernel` is that of the weights.
mlir::Value convTranspose(GraphBuilder &b, mlir::Value x, mlir::Value weight, mlir::Value bias,
                          const WindowSizes &window, llvm::ArrayRef<int64_t> extra, int64_t groups);

/// Max, average or sum over windows of `x [N, C, S..]`.
mlir::Value pool(GraphBuilder &b, PoolKind kind, mlir::Value x, const WindowSizes &window, bool ceilMode,
                 bool countIncludePad);

/// x / (bias + alpha / size * sum of the squares of `size` neighbouring channels)^beta
mlir::Value localResponseNorm(GraphBuilder &b, mlir::Value x, int64_t size, double alpha, double beta, double bias);

/// Adds up blocks: `x [N, C * prod(kernel), L]`, whose columns are what windows over an image of `image` sizes
/// see, as [N, C, image..].
mlir::Value foldBlocks(GraphBuilder &b, mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> image,
                       const WindowSizes &window);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_WINDOWS_H
