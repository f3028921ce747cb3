//===- NarrowFloats.h - Floats of 8 and 4 bits as integer arithmetic ------===//
#ifndef NX_DIALECTS_NX_NARROWFLOATS_H
#define NX_DIALECTS_NX_NARROWFLOATS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace nx {

/// The f32 values of numbers of type `from` whose bits are the low bits of the i8 `bytes` (a scalar or a vector).
mlir::Value decodeNarrowFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bytes, mlir::FloatType from);

/// The i8 bytes of the numbers of type `to` that are nearest to the f32 `x`. What is too large becomes the greatest number, or
/// with `overflow` infinity or NaN. `round` is how powers of two (f8E8M0FNU) are rounded: up, down, nearest.
mlir::Value encodeNarrowFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::FloatType to,
                              bool overflow, llvm::StringRef round);

} // namespace nx
#endif // NX_DIALECTS_NX_NARROWFLOATS_H
