//===- Random.cpp - ONNX operators that draw random numbers ---------------===//
//
// Reproducible: the numbers depend on the seed, or on the node's name where there is none, and are the same in each
// execution.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/common/Random.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// f64 for f64, f32 for all others.
Type drawnType(GraphBuilder &b, Type element) { return element.isF64() ? element : Type(b.builder.getF32Type()); }

/// The element type that an attribute names; `absent` when it is not there. Null after a refusal.
Type namedType(NodeImporter &n, GraphBuilder &b, StringRef name, Type absent) {
  auto type = DataType(n.getInt(name, 0));
  if (type == DataType::Undefined)
    return absent;
  Type element = elementType(type, b.context());
  if (!element)
    n.unsupported("nx does not have element type " + nameOf(type));
  return element;
}

void drawUniform(NodeImporter &n, GraphBuilder &b, ArrayRef<AffineExpr> dims, Type element) {
  double low = n.getFloat("low", 0), high = n.getFloat("high", 1);
  Value u = randomUniform(b, dims, n.seed(), drawnType(b, element));
  n.result(b.cast(b.add(b.mul(u, high - low), low), element));
}

void drawNormal(NodeImporter &n, GraphBuilder &b, ArrayRef<AffineExpr> dims, Type element) {
  double mean = n.getFloat("mean", 0), scale = n.getFloat("scale", 1);
  Value z = randomNormal(b, dims, n.seed(), drawnType(b, element));
  n.result(b.cast(b.add(b.mul(z, scale), mean), element));
}

using Draw = void (*)(NodeImporter &, GraphBuilder &, ArrayRef<AffineExpr>, Type);

/// The shape is an attribute.
template <Draw draw> void random(NodeImporter &n, GraphBuilder &b) {
  Type element = namedType(n, b, "dtype", b.builder.getF32Type());
  SmallVector<AffineExpr> dims;
  for (int64_t size : n.getInts("shape")) {
    if (size < 0) {
      n.error() << "size " << size << " is negative";
      return;
    }
    dims.push_back(b.size(size));
  }
  if (element)
    draw(n, b, dims, element);
}

template <Draw draw> void randomLike(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  Type element = x ? namedType(n, b, "dtype", b.elementOf(x)) : Type();
  if (element && !isa<FloatType>(element))
    element = b.builder.getF32Type();
  if (element)
    draw(n, b, dimsOf(b.typeOf(x)), element);
}

void bernoulli(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  Type element = x ? namedType(n, b, "dtype", b.elementOf(x)) : Type();
  if (!element)
    return;
  Type drawn = drawnType(b, b.elementOf(x));
  Value u = randomUniform(b, dimsOf(b.typeOf(x)), n.seed(), drawn);
  n.result(b.cast(b.compare(ComparePredicate::lt, u, b.cast(x, drawn)), element));
}

/// Classes drawn by their logarithms of probabilities, [batch, classes].
void multinomial(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  int64_t samples = n.getInt("sample_size", 1);
  Type element = namedType(n, b, "dtype", b.builder.getI32Type());
  if (!x || !element)
    return;
  if (b.rankOf(x) != 2 || samples < 1 || samples > (1 << 24)) {
    n.error() << "needs an input of rank 2 and a positive number of samples";
    return;
  }
  Type drawn = drawnType(b, b.elementOf(x));
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  Value shares = b.emit<SoftmaxOp>(b.cast(x, drawn), b.i64("axis", 1));
  Value bounds = b.emit<CumulativeOp>(shares, b.i64("axis", 1));
  Value u = randomUniform(b, {dims[0], b.size(samples), b.size(1)}, n.seed(), drawn);
  // As many classes as end at or before u come before the one that is drawn; the last bound may be below 1.
  Value passed = b.compare(ComparePredicate::le, b.insertUnitDim(bounds, 1), u);
  Value count = b.reduce(ReduceKind::sum, b.cast(passed, b.builder.getI64Type()), {2}, false);
  n.result(b.cast(b.min(count, b.sizeScalar(dims[1] - 1)), element));
}

const OperatorRow kOperators[] = {
    {"Bernoulli", 15, kLatest, bernoulli},
    {"Multinomial", 7, kLatest, multinomial},
    {"RandomNormal", 1, kLatest, random<drawNormal>},
    {"RandomNormalLike", 1, kLatest, randomLike<drawNormal>},
    {"RandomUniform", 1, kLatest, random<drawUniform>},
    {"RandomUniformLike", 1, kLatest, randomLike<drawUniform>},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::randomOperators() { return kOperators; }
