//===- Signal.cpp - ONNX operators on signals -----------------------------===//

#include "compiler/import/common/Signal.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// `x [.., 1 or 2]`, whose last dimension holds real and imaginary part, without that dimension.
ComplexValue complexOf(GraphBuilder &b, Value x) {
  int64_t last = b.rankOf(x) - 1;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  bool isReal = constantOf(dims[last]) == 1;
  dims.pop_back();
  if (isReal)
    return {b.reshape(x, dims), {}};
  return {b.reshape(b.slice(x, last, b.size(0), b.size(1)), dims), b.reshape(b.slice(x, last, b.size(1), b.size(1)), dims)};
}

Value withParts(GraphBuilder &b, ComplexValue x) {
  if (!x.re || !x.im)
    return {};
  int64_t last = b.rankOf(x.re);
  return b.concat({b.insertUnitDim(x.re, last), b.insertUnitDim(x.im, last)}, last);
}

/// `x` with `axis` and the last axis exchanged.
Value exchanged(GraphBuilder &b, Value x, int64_t axis) {
  if (!x || axis == b.rankOf(x) - 1)
    return x;
  SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
  std::swap(perm[axis], perm.back());
  return b.transpose(x, perm);
}

void dft(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t rank = b.rankOf(x), axis = n.opset() < 20 ? n.getInt("axis", 1) : -2;
  if (n.opset() >= 20 && n.hasInput(2)) {
    auto given = n.constantInts(2);
    if (!given)
      return;
    axis = given->size() == 1 ? given->front() : rank;
  }
  axis = n.axis(axis, rank);
  bool inverse = n.getInt("inverse", 0), onesided = n.getInt("onesided", 0);
  if (b.failed())
    return;
  std::optional<int64_t> parts = constantOf(dimOf(b.typeOf(x), rank - 1));
  if (rank < 2 || axis == rank - 1 || (parts != 1 && parts != 2)) {
    n.error() << "needs an input [.., 1 or 2] and an axis before the last one, got " << b.text(b.typeOf(x));
    return;
  }
  AffineExpr size = dimOf(b.typeOf(x), axis), length = inverse && onesided ? (size - 1) * 2 : size;
  if (n.hasInput(1)) {
    auto given = n.sizes(1);
    if (!given)
      return;
    if (given->size() != 1) {
      n.error() << "dft_length must be one number";
      return;
    }
    length = given->front();
  }
  length = normalize(length);
  if (lowerBound(length).value_or(1) < 1 && constantOf(length)) {
    n.error() << "a transform of length " << b.text(length);
    return;
  }
  ComplexValue parted = complexOf(b, x);
  ComplexValue signal{exchanged(b, parted.re, axis), exchanged(b, parted.im, axis)};
  if (inverse && onesided) {
    Value real = exchanged(b, realInverseFourier(b, signal, length), axis);
    return n.result(b.insertUnitDim(real, rank - 1));
  }
  ComplexValue result = fourier(b, signal, length, onesided ? length.floorDiv(2) + 1 : length, inverse);
  n.result(withParts(b, {exchanged(b, result.re, axis), exchanged(b, result.im, axis)}));
}

void stft(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), window = n.optionalInput(2);
  auto step = n.constantInts(1);
  bool onesided = n.getInt("onesided", 1);
  if (!x || !step)
    return;
  if (step->size() != 1 || step->front() < 1 || step->front() > (int64_t(1) << 40)) {
    n.error() << "frame_step must be one positive number";
    return;
  }
  // [B, T] is a real signal too.
  if (b.rankOf(x) == 2)
    x = b.insertUnitDim(x, 2);
  std::optional<int64_t> parts = x && b.rankOf(x) == 3 ? constantOf(dimOf(b.typeOf(x), 2)) : std::nullopt;
  if (parts != 1 && parts != 2) {
    n.error() << "needs a signal [B, T, 1 or 2]";
    return;
  }
  AffineExpr length;
  if (n.hasInput(3)) {
    auto given = n.sizes(3);
    if (!given)
      return;
    if (given->size() == 1)
      length = given->front();
  } else if (window) {
    length = dimOf(b.typeOf(window), 0);
  } else {
    length = dimOf(b.typeOf(x), 1);
  }
  if (!length) {
    n.error() << "frame_length must be one number";
    return;
  }
  ComplexValue signal = complexOf(b, x);
  auto framed = [&](Value part) {
    if (!part)
      return Value();
    Value pieces = frames(b, part, length, step->front()); // [B, frames, length]
    return window ? b.mul(pieces, window) : pieces;
  };
  ComplexValue pieces{framed(signal.re), framed(signal.im)};
  n.result(withParts(b, fourier(b, pieces, length, onesided ? length.floorDiv(2) + 1 : length, false)));
}

enum class WindowKind { hann, hamming, blackman };

template <WindowKind kind> void window(NodeImporter &n, GraphBuilder &b) {
  auto size = n.sizes(0);
  auto type = DataType(n.getInt("output_datatype", int64_t(DataType::Float)));
  bool periodic = n.getInt("periodic", 1);
  Type element = elementType(type, b.context());
  if (!size)
    return;
  if (!element)
    return n.unsupported("nx does not have element type " + nameOf(type));
  if (size->size() != 1) {
    n.error() << "the size must be one number";
    return;
  }
  SmallVector<double> coefficients;
  switch (kind) {
  case WindowKind::hann: coefficients = {0.5, -0.5}; break;
  case WindowKind::hamming: coefficients = {25.0 / 46, -21.0 / 46}; break;
  case WindowKind::blackman: coefficients = {0.42, -0.5, 0.08}; break;
  }
  n.result(cosineWindow(b, size->front(), coefficients, periodic, element));
}

/// Triangles whose corners are equally far apart on the mel scale.
void melWeightMatrix(NodeImporter &n, GraphBuilder &b) {
  SmallVector<double> numbers;
  auto type = DataType(n.getInt("output_datatype", int64_t(DataType::Float)));
  Type element = elementType(type, b.context());
  if (!element)
    return n.unsupported("nx does not have element type " + nameOf(type));
  for (size_t i = 0; i < 5; ++i) {
    DenseElementsAttr known = n.input(i) ? knownConstant(n.input(i)) : DenseElementsAttr();
    if (b.failed())
      return;
    if (!known || known.getNumElements() != 1)
      return n.unsupported("its inputs must be constant scalars");
    if (isa<FloatType>(known.getElementType())) {
      APFloat value = known.getValues<APFloat>()[0];
      bool losesInfo;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      numbers.push_back(value.convertToDouble());
    } else {
      numbers.push_back(double(known.getValues<APInt>()[0].getSExtValue()));
    }
  }
  auto bands = int64_t(numbers[0]), rows = int64_t(numbers[1]) / 2 + 1;
  if (bands < 1 || rows < 1 || bands > (1 << 16) || rows > (1 << 24) || numbers[2] <= 0) {
    n.error() << "num_mel_bins, dft_length and sample_rate must be positive";
    return;
  }
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = toMel(numbers[3]), step = (toMel(numbers[4]) - low) / double(bands + 2);
  SmallVector<int64_t> corners;
  for (int64_t i = 0; i < bands + 2; ++i) {
    double hertz = 700 * (std::pow(10, (low + double(i) * step) / 2595) - 1);
    corners.push_back(int64_t(std::floor((numbers[1] + 1) * hertz / numbers[2])));
  }
  auto line = [&](int64_t shift) {
    return b.constant(DenseElementsAttr::get(RankedTensorType::get({1, bands}, b.builder.getI64Type()),
                                             ArrayRef(corners).slice(shift, bands)));
  };
  if (bands * 8 > 1024)
    return n.unsupported("more than 128 bands");
  Type f64 = b.builder.getF64Type();
  Value left = line(0), centre = line(1), right = line(2), row = b.iota({b.size(rows), b.size(1)}, 0, b.builder.getI64Type());
  auto real = [&](Value x) { return b.cast(x, f64); };
  Value rise = b.sub(centre, left), fall = b.sub(right, centre), one = b.scalar(b.builder.getI64Type(), 1);
  Value up = b.div(real(b.sub(row, left)), real(b.max(rise, one))), down = b.div(real(b.sub(right, row)), real(b.max(fall, one)));
  auto between = [&](Value x, Value from, Value to, ComparePredicate last) {
    return b.emit<AndOp>({b.compare(ComparePredicate::ge, x, from), b.compare(last, x, to)});
  };
  Value zero = b.scalar(f64, 0), isCentre = b.compare(ComparePredicate::eq, row, centre);
  // The falling side begins at the centre; without one, the centre is 1.
  Value result = b.select(between(row, left, centre, ComparePredicate::le), up, zero);
  result = b.select(between(row, centre, right, ComparePredicate::lt), down, result);
  Value isPeak = b.emit<AndOp>({isCentre, b.compare(ComparePredicate::eq, fall, 0.0)});
  n.result(b.cast(b.select(isPeak, b.scalar(f64, 1), result), element));
}

const OperatorRow kOperators[] = {
    {"BlackmanWindow", 17, kLatest, window<WindowKind::blackman>},
    {"DFT", 17, kLatest, dft},
    {"HammingWindow", 17, kLatest, window<WindowKind::hamming>},
    {"HannWindow", 17, kLatest, window<WindowKind::hann>},
    {"MelWeightMatrix", 17, kLatest, melWeightMatrix},
    {"STFT", 17, kLatest, stft},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::signalOperators() { return kOperators; }
