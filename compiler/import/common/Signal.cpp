//===- Signal.cpp - Fourier transforms and windows ------------------------===//
//
// Transforms are products with matrices of cosines and sines. The angles are reduced as integers, and the
// functions are computed in f64: an entry is exact to the last place whatever the length.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/common/Signal.h"
#include <cmath>

using namespace mlir;
using namespace nx;

namespace {
constexpr double kTwoPi = 6.283185307179586476925286766559;

/// cos and sin of 2 pi i k / length, [rows, columns].
ComplexValue rotations(GraphBuilder &b, AffineExpr rows, AffineExpr columns, AffineExpr length, Type element) {
  Type i64 = b.builder.getI64Type(), f64 = b.builder.getF64Type();
  Value steps = b.mul(b.iota({rows, b.size(1)}, 0, i64), b.iota({b.size(1), columns}, 1, i64));
  Value turns = b.emit<RemOp>({steps, b.sizeScalar(length)});
  Value angle = b.div(b.mul(b.cast(turns, f64), kTwoPi), b.cast(b.sizeScalar(length), f64));
  return {b.cast(b.emit<CosOp>(angle), element), b.cast(b.emit<SinOp>(angle), element)};
}

/// The last axis cut or padded with zeros to `length`.
Value fitted(GraphBuilder &b, Value x, AffineExpr length) {
  if (!x)
    return {};
  int64_t axis = b.rankOf(x) - 1;
  AffineExpr size = dimOf(b.typeOf(x), axis);
  if (provablyEqual(size, length))
    return x;
  std::optional<int64_t> more = constantOf(normalize(length - size));
  if (more && *more < 0)
    return b.slice(x, axis, b.size(0), length);
  b.requireAtMost(size, length, "the signal and the length of its transform");
  return b.padAxis(x, axis, b.size(0), length - size);
}
} // namespace

ComplexValue nx::fourier(GraphBuilder &b, ComplexValue x, AffineExpr length, AffineExpr count, bool inverse) {
  if (!x.re)
    return {};
  Value re = fitted(b, x.re, length), im = fitted(b, x.im, length);
  ComplexValue r = rotations(b, length, count, length, b.elementOf(x.re));
  // (re + i im) (cos - i sin), or + for the inverse.
  Value sine = inverse ? b.emit<NegOp>(r.im) : r.im;
  Value real = b.matmul(re, r.re), imaginary = b.emit<NegOp>(b.matmul(re, sine));
  if (im) {
    real = b.add(real, b.matmul(im, sine));
    imaginary = b.add(imaginary, b.matmul(im, r.re));
  }
  if (inverse) {
    Value factor = b.cast(b.sizeScalar(length), b.elementOf(x.re));
    real = b.div(real, factor);
    imaginary = b.div(imaginary, factor);
  }
  return {real, imaginary};
}

Value nx::realInverseFourier(GraphBuilder &b, ComplexValue x, AffineExpr length) {
  if (!x.re)
    return {};
  Type element = b.elementOf(x.re), i64 = b.builder.getI64Type();
  AffineExpr half = normalize(length.floorDiv(2) + 1);
  Value re = fitted(b, x.re, half), im = fitted(b, x.im, half);
  ComplexValue r = rotations(b, half, length, length, element);
  // All but the first frequency, and the last one of an even length, stand for their mirror image too.
  Value k = b.iota({half, b.size(1)}, 0, i64);
  Value alone = b.emit<OrOp>({b.compare(ComparePredicate::eq, k, 0.0),
                              b.compare(ComparePredicate::eq, b.mul(k, 2.0), b.sizeScalar(length))});
  Value weight = b.select(alone, b.scalar(element, 1), b.scalar(element, 2));
  Value sum = b.matmul(re, b.mul(r.re, weight));
  if (im)
    sum = b.sub(sum, b.matmul(im, b.mul(r.im, weight)));
  return b.div(sum, b.cast(b.sizeScalar(length), element));
}

Value nx::cosineWindow(GraphBuilder &b, AffineExpr size, ArrayRef<double> coefficients, bool periodic, Type element) {
  Type f64 = b.builder.getF64Type();
  Value i = b.cast(b.iota({size}, 0, b.builder.getI64Type()), f64);
  Value period = b.cast(b.sizeScalar(periodic ? size : size - 1), f64);
  // A window of one element is its value in the middle of nothing: the angle is 0.
  period = b.select(b.compare(ComparePredicate::le, period, 0.0), b.like(period, 1), period);
  Value angle = b.div(b.mul(i, kTwoPi), period), sum;
  for (auto [k, coefficient] : llvm::enumerate(coefficients)) {
    Value term = k == 0 ? b.like(angle, coefficient)
                        : b.mul(b.emit<CosOp>(b.mul(angle, double(k))), coefficient);
    sum = sum ? b.add(sum, term) : term;
  }
  return b.cast(sum, element);
}

Value nx::frames(GraphBuilder &b, Value x, AffineExpr length, int64_t step) {
  if (!x)
    return {};
  Type i64 = b.builder.getI64Type();
  int64_t axis = b.rankOf(x) - 1;
  AffineExpr size = dimOf(b.typeOf(x), axis);
  b.requireAtMost(length, size, "the length of a frame");
  AffineExpr count = normalize((size - length).floorDiv(step) + 1);
  Value start = b.mul(b.iota({count, b.size(1)}, 0, i64), double(step));
  return b.gather(x, b.add(start, b.iota({b.size(1), length}, 1, i64)), axis);
}
