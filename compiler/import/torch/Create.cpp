//===- Create.cpp - ATen operators that make tensors ----------------------===//

#include "compiler/import/torch/NodeImporter.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

using Dims = SmallVector<AffineExpr>;

/// The type that is asked for, or the one that the file gives for the result.
Type createdElement(NodeImporter &n, GraphBuilder &b) {
  if (Type element = n.element("dtype"))
    return element;
  if (Type element = n.outputElement())
    return element;
  return b.builder.getF32Type();
}

Value filled(NodeImporter &n, GraphBuilder &b, Type element, const Scalar &value, Dims dims) {
  for (AffineExpr dim : dims)
    if (auto constant = constantOf(dim); constant && *constant < 0) {
      n.error() << "size " << *constant << " is negative";
      return {};
    }
  return b.broadcast(n.constant(element, value), dims);
}
Scalar intScalar(int64_t value) { return {Scalar::Kind::Int, 0, value, {}}; }

/// full, zeros, ones, empty: what an uninitialized tensor holds is up to nx.
template <int value> void create(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"names", "stride", "physical_layout"});
  if (std::optional<Dims> dims = n.sizes("size"))
    n.result(filled(n, b, createdElement(n, b), intScalar(value), *dims));
}
void full(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"names"});
  std::optional<Dims> dims = n.sizes("size");
  Scalar value = n.scalar("fill_value");
  if (dims)
    n.result(filled(n, b, createdElement(n, b), value, *dims));
}
template <int value> void createLike(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  Type element = n.element("dtype");
  if (x)
    n.result(filled(n, b, element ? element : b.elementOf(x), intScalar(value), dimsOf(b.typeOf(x))));
}
void fullLike(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  Type element = n.element("dtype");
  Scalar value = n.scalar("fill_value");
  if (x)
    n.result(filled(n, b, element ? element : b.elementOf(x), value, dimsOf(b.typeOf(x))));
}
template <int value> void createNew(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"stride"});
  Value x = n.tensor("self");
  Type element = n.element("dtype");
  std::optional<Dims> dims = n.sizes("size");
  if (x && dims)
    n.result(filled(n, b, element ? element : b.elementOf(x), intScalar(value), *dims));
}
void newFull(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  Type element = n.element("dtype");
  std::optional<Dims> dims = n.sizes("size");
  Scalar value = n.scalar("fill_value");
  if (x && dims)
    n.result(filled(n, b, element ? element : b.elementOf(x), value, *dims));
}
/// fill_: the argument's place with one value.
void fill(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (x)
    n.result(b.broadcast(n.as(n.operand("value"), b.elementOf(x)), dimsOf(b.typeOf(x))));
}
void scalarTensor(NodeImporter &n, GraphBuilder &b) {
  Scalar value = n.scalar("s");
  n.result(n.constant(createdElement(n, b), value));
}

void arange(NodeImporter &n, GraphBuilder &b) {
  Type element = createdElement(n, b);
  Scalar start = n.has("start") ? n.scalar("start") : intScalar(0), end = n.scalar("end");
  Scalar step = n.has("step") ? n.scalar("step") : intScalar(1);
  if (b.failed() || n.unsupportedReason())
    return;
  if (!step.isConstant())
    return n.unsupported("the step of the range is symbolic");
  if (step.number() == 0) {
    n.error() << "the step of the range is 0";
    return;
  }
  auto expr = [&](const Scalar &s) { return s.size ? s.size : b.size(s.i); };
  bool isWhole = start.kind != Scalar::Kind::Float && end.kind != Scalar::Kind::Float && step.kind != Scalar::Kind::Float;
  if (!isWhole) {
    if (!start.isConstant() || !end.isConstant())
      return n.unsupported("start and end of a range of floats must be constant");
    double count = std::ceil((end.number() - start.number()) / step.number());
    if (!(count < 1e9)) {
      n.error() << "the range has no end";
      return;
    }
    // Floats are computed as they are in a loop of torch's: start + step * i.
    Value index = b.cast(b.iota({b.size(std::max<int64_t>(int64_t(count), 0))}, 0, b.builder.getI64Type()),
                         isa<FloatType>(element) ? element : Type(b.builder.getF64Type()));
    Type wide = index ? b.elementOf(index) : Type();
    Value scaled = b.emit<MulOp>({index, n.constant(wide, {Scalar::Kind::Float, step.number(), 0, {}})});
    return n.result(b.cast(b.emit<AddOp>({scaled, n.constant(wide, {Scalar::Kind::Float, start.number(), 0, {}})}), element));
  }
  AffineExpr first = expr(start), last = expr(end);
  int64_t stride = std::abs(step.i);
  AffineExpr span = normalize(step.i > 0 ? last - first : first - last), count = normalize(span.ceilDiv(stride));
  if (std::optional<int64_t> constant = constantOf(count))
    count = b.size(std::max<int64_t>(*constant, 0));
  else
    b.requireAtMost(b.size(0), span, "the start of the range");
  bool isIndex = element.isInteger(64) || element.isInteger(32);
  Value range = b.emitAs<IotaOp>(tensorOf(count, isIndex ? element : Type(b.builder.getI64Type())), {},
                                 {b.i64("axis", 0), b.dims("start", first), b.dims("step", b.size(step.i))});
  n.result(b.cast(range, element));
}

void linspace(NodeImporter &n, GraphBuilder &b) {
  Type element = createdElement(n, b);
  double start = n.number("start", 0), end = n.number("end", 0);
  int64_t steps = n.integer("steps", 0);
  if (steps < 0 || steps > 100'000'000) {
    n.error() << steps << " steps";
    return;
  }
  // Counted from whichever end is nearer, so that both ends are exact.
  Type wide = b.builder.getF64Type();
  double step = steps > 1 ? (end - start) / double(steps - 1) : 0;
  Value index = b.cast(b.iota({b.size(steps)}, 0, b.builder.getI64Type()), wide);
  auto f64 = [&](double value) { return b.scalar(wide, value); };
  Value fromStart = b.emit<AddOp>({b.emit<MulOp>({index, f64(step)}), f64(start)});
  Value fromEnd = b.emit<SubOp>({f64(end), b.emit<MulOp>({b.emit<SubOp>({f64(double(steps - 1)), index}), f64(step)})});
  Value isFirstHalf = b.compare(ComparePredicate::lt, index, f64(double((steps + 1) / 2)));
  n.result(b.cast(b.emit<SelectOp>({isFirstHalf, fromStart, fromEnd}), element));
}

void eye(NodeImporter &n, GraphBuilder &b) {
  Type element = createdElement(n, b), i64 = b.builder.getI64Type();
  std::optional<AffineExpr> rows = n.size("n"), columns = n.has("m") ? n.size("m") : rows;
  if (rows && columns)
    n.result(b.cast(b.compare(ComparePredicate::eq, b.iota({*rows, b.size(1)}, 0, i64), b.iota({b.size(1), *columns}, 1, i64)),
                    element));
}

/// Row and column of each element of a triangle, row by row.
template <bool isLower> void triangleIndices(NodeImporter &n, GraphBuilder &b) {
  int64_t rows = n.integer("row", 0), columns = n.integer("col", 0), offset = n.integer("offset", 0);
  Type element = createdElement(n, b);
  if (rows < 0 || columns < 0 || rows > 4096 || columns > 4096)
    return n.unsupported("indices of a triangle of " + Twine(rows) + " x " + Twine(columns));
  SmallVector<int64_t> pairs[2];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (isLower ? j <= i + offset : j >= i + offset) {
        pairs[0].push_back(i);
        pairs[1].push_back(j);
      }
  auto count = int64_t(pairs[0].size());
  if (count * 16 > kMaxConstantBytes)
    return n.unsupported("indices of a triangle of " + Twine(count) + " elements");
  pairs[0].append(pairs[1]);
  auto type = RankedTensorType::get({2, count}, b.builder.getI64Type());
  n.result(b.cast(b.constant(DenseElementsAttr::get(type, ArrayRef<int64_t>(pairs[0]))), element));
}

void oneHot(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  int64_t classes = n.integer("num_classes", -1);
  if (!x)
    return;
  if (classes < 0)
    return n.unsupported("the number of classes is computed from data; give num_classes");
  Dims column = dimsOf(b.typeOf(x)), line(column.size() + 1, b.size(1));
  column.push_back(b.size(1));
  line.back() = b.size(classes);
  Type i64 = b.builder.getI64Type();
  n.result(b.cast(b.compare(ComparePredicate::eq, b.reshape(x, column), b.iota(line, int64_t(line.size()) - 1, i64)), i64));
}

const OperatorRow kOperators[] = {
    {"aten.arange", "default start start_step", arange},
    {"aten.empty", "memory_format", create<0>},
    {"aten.empty_like", "", createLike<0>},
    {"aten.empty_permuted", "", create<0>},
    {"aten.empty_strided", "", create<0>},
    {"aten.eye", "default m", eye},
    {"aten.fill", "Scalar Tensor", fill},
    {"aten.full", "", full},
    {"aten.full_like", "", fullLike},
    {"aten.linspace", "", linspace},
    {"aten.new_empty", "", createNew<0>},
    {"aten.new_empty_strided", "", createNew<0>},
    {"aten.new_full", "", newFull},
    {"aten.new_ones", "", createNew<1>},
    {"aten.new_zeros", "", createNew<0>},
    {"aten.one_hot", "", oneHot},
    {"aten.ones", "", create<1>},
    {"aten.ones_like", "", createLike<1>},
    {"aten.scalar_tensor", "", scalarTensor},
    {"aten.tril_indices", "", triangleIndices<true>},
    {"aten.triu_indices", "", triangleIndices<false>},
    {"aten.zero", "", createLike<0>},
    {"aten.zeros", "", create<0>},
    {"aten.zeros_like", "", createLike<0>},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::createOperators() { return kOperators; }
