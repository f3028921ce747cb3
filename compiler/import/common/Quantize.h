//===- Quantize.h - Between numbers and quantized integers ----------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_QUANTIZE_H
#define NX_COMPILER_IMPORT_COMMON_QUANTIZE_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// (x - zeroPoint) * scale in the type `element`. The difference is exact. `zeroPoint` may be null; it and the scale
/// broadcast to x.
mlir::Value dequantize(GraphBuilder &b, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type element);

/// round(x / scale) + zeroPoint as `element`, saturated. Floats of 8 and fewer bits are not rounded to integers first,
/// and without `saturates` what is too large for them becomes infinity or NaN.
mlir::Value quantize(GraphBuilder &b, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type element,
                     bool saturates = true);

/// One value per index of dimension `axis` of x, or per block of `block` indices (then `part` has the rank of x), shaped to
/// broadcast with x. Scalars stay. Null after an error.
mlir::Value alongAxis(GraphBuilder &b, mlir::Value part, mlir::Value x, int64_t axis, int64_t block = 0);

/// A scale and a zero point (ui8) for which [min(x, 0), max(x, 0)] becomes [0, 255].
struct DynamicScale {
  mlir::Value scale, zeroPoint;
};
DynamicScale emitDynamicScale(GraphBuilder &b, mlir::Value x);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_QUANTIZE_H
