//===- Signal.h - Fourier transforms and windows --------------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_SIGNAL_H
#define NX_COMPILER_IMPORT_COMMON_SIGNAL_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// A tensor of complex numbers as two of their parts; `im` is null when all are real.
struct ComplexValue {
  mlir::Value re, im;
};

/// The discrete Fourier transform along the last axis, cut or padded with zeros to `length`; `count` results of it.
/// The inverse one divides by `length`.
ComplexValue fourier(GraphBuilder &b, ComplexValue x, mlir::AffineExpr length, mlir::AffineExpr count, bool inverse);

/// The real signal of `length` elements whose transform begins with `x` (the rest mirrors it), along the last axis.
mlir::Value realInverseFourier(GraphBuilder &b, ComplexValue x, mlir::AffineExpr length);

/// sum of coefficients[k] * cos(2 pi k i / period) for i in [0, size): the windows of Hann, Hamming and Blackman.
/// The period is `size`, or one less when the window is not periodic.
mlir::Value cosineWindow(GraphBuilder &b, mlir::AffineExpr size, llvm::ArrayRef<double> coefficients, bool periodic,
                         mlir::Type element);

/// Overlapping pieces of `x [.., T]`: [.., frames, length], each `step` behind the one before.
mlir::Value frames(GraphBuilder &b, mlir::Value x, mlir::AffineExpr length, int64_t step);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_SIGNAL_H
