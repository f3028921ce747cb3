//===- Resample.h - Values between the elements of a tensor ---------------===//
//
// Resizing and sampling, expressed with gathers and arithmetic. Shared by all frontends.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_RESAMPLE_H
#define NX_COMPILER_IMPORT_COMMON_RESAMPLE_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

enum class Interpolation { nearest, linear, cubic };

/// Where in the input an output element of a resized axis lies.
enum class ResizeCoordinates {
  halfPixel,          ///< (i + 0.5) / scale - 0.5
  halfPixelSymmetric, ///< the same, with the centres of both sides on each other
  pytorchHalfPixel,   ///< the same as half pixel; -0.5 for an output of one element
  alignCorners,       ///< i * (size - 1) / (result size - 1)
  asymmetric,         ///< i / scale
  cropAndResize       ///< like align corners, within the region [roiStart, roiEnd] of the input
};

enum class NearestRounding { preferFloor, preferCeil, floor, ceil };

struct ResizeSpec {
  Interpolation interpolation = Interpolation::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::halfPixel;
  NearestRounding rounding = NearestRounding::preferFloor;
  double cubicCoefficient = -0.75;
  bool excludeOutside = false; ///< taps outside of the input weigh nothing, and the others more
  bool antialias = false;      ///< widens the filter when the result is smaller; needs `scale`
  double extrapolation = 0;    ///< crop and resize: the value outside of the input
};

/// One axis of `x` resized to `count` elements. `scale` is count per input element where it is a number
/// of its own (then count need not be exactly size * scale).
mlir::Value resizeAxis(GraphBuilder &b, mlir::Value x, int64_t axis, mlir::AffineExpr count,
                       std::optional<double> scale, const ResizeSpec &spec, double roiStart = 0, double roiEnd = 1);

/// Each element of dimension i `factors[i]` times: nearest-neighbour enlargement by whole numbers.
mlir::Value repeatElements(GraphBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> factors);

/// Whether nearest-neighbour enlargement by whole numbers repeats elements.
bool repeatsElements(const ResizeSpec &spec);

/// What lies outside of a sampled tensor.
enum class SamplePadding { zeros, border, reflection };

/// `x [N, C, S..]` at `positions`, one tensor [N, O..] per spatial dimension, in elements from the first one:
/// [N, C, O..].
mlir::Value sampleAt(GraphBuilder &b, mlir::Value x, llvm::ArrayRef<mlir::Value> positions,
                     Interpolation interpolation, SamplePadding padding, bool alignCorners);

/// `x [N, C, S..]` at the points `grid [N, O.., k]`, whose last dimension holds coordinates in [-1, 1], the
/// innermost spatial dimension first: [N, C, O..].
mlir::Value gridSample(GraphBuilder &b, mlir::Value x, mlir::Value grid, Interpolation interpolation,
                       SamplePadding padding, bool alignCorners);

/// The points at which an affine image `theta [N, k, k + 1]` of a grid of these sizes lies: [N, O.., k].
mlir::Value affineGrid(GraphBuilder &b, mlir::Value theta, llvm::ArrayRef<mlir::AffineExpr> sizes, bool alignCorners);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_RESAMPLE_H
