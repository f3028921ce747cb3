//===- Reduce.cpp - ATen operators that combine elements ------------------===//

#include "compiler/import/torch/NodeImporter.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

/// What a reduction works on.
struct Reduction {
  Value x;
  SmallVector<int64_t> axes;
  bool keepDims = false;
};

/// Reads self, dim (all dimensions when it is absent or empty) and keepdim.
Reduction readReduction(NodeImporter &n, GraphBuilder &b) {
  Reduction r;
  r.x = n.tensor("self");
  if (!r.x)
    return r;
  r.axes = n.axes(n.integers("dim"), b.rankOf(r.x));
  if (r.axes.empty())
    llvm::append_range(r.axes, llvm::seq<int64_t>(0, b.rankOf(r.x)));
  r.keepDims = n.boolean("keepdim", false);
  return r;
}

Value reduced(GraphBuilder &b, ReduceKind kind, const Reduction &r, Value x) {
  if (!x || r.axes.empty())
    return x;
  return b.reduce(kind, x, r.axes, r.keepDims);
}

bool isInteger(GraphBuilder &b, Value x) { return x && isa<IntegerType>(b.elementOf(x)); }

/// The number of elements that come together, as a scalar of float type.
Value countOf(GraphBuilder &b, const Reduction &r, Type element) {
  AffineExpr count = b.size(1);
  for (int64_t axis : r.axes)
    count = normalize(count * dimOf(b.typeOf(r.x), axis));
  if (std::optional<int64_t> constant = constantOf(count))
    return b.scalar(element, double(*constant));
  return b.cast(b.sizeScalar(count), element);
}

/// Sums and products: integers and booleans become int64 unless a type is asked for.
template <ReduceKind kind> void accumulate(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  Type element = n.element("dtype");
  if (!element && isInteger(b, r.x))
    element = b.builder.getI64Type();
  n.result(reduced(b, kind, r, element ? b.cast(r.x, element) : r.x));
}

void nansum(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  if (!r.x)
    return;
  Type element = n.element("dtype");
  Value x = r.x;
  if (!isInteger(b, x))
    x = b.emit<SelectOp>({b.emit<IsNanOp>(x), b.scalar(b.elementOf(x), 0), x});
  else if (!element)
    element = b.builder.getI64Type();
  n.result(reduced(b, ReduceKind::sum, r, element ? b.cast(x, element) : x));
}

void mean(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  Type element = n.element("dtype");
  n.result(reduced(b, ReduceKind::mean, r, element ? b.cast(r.x, element) : r.x));
}

/// Largest or smallest value, without its place.
template <ReduceKind kind> void extremum(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  n.result(reduced(b, kind, r, r.x));
}

/// The index of the first greatest or least element along an axis. Booleans are compared as numbers.
Value argReduce(GraphBuilder &b, ReduceKind kind, Value x, int64_t axis, bool keepDims) {
  if (x && b.elementOf(x).isInteger(1))
    x = b.cast(x, b.builder.getI8Type());
  SmallVector<NamedAttribute> attributes{b.attr("kind", ReduceKindAttr::get(b.context(), kind)), b.i64("axis", axis)};
  if (keepDims)
    attributes.push_back(b.flag("keep_dims"));
  return b.emit<ArgReduceOp>(x, attributes);
}

template <ReduceKind kind> void argument(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  bool keepDims = n.boolean("keepdim", false);
  int64_t rank = b.rankOf(x);
  if (rank == 0) {
    n.axis(n.integer("dim", 0), 0);
    return n.result(b.scalar(b.builder.getI64Type(), 0));
  }
  if (n.has("dim"))
    return n.result(argReduce(b, kind, x, n.axis(n.integer("dim", 0), rank), keepDims));
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  Value index = argReduce(b, kind, b.reshape(x, productOf(dims, b.context())), 0, false);
  n.result(keepDims ? b.reshape(index, SmallVector<AffineExpr>(rank, b.size(1))) : index);
}

/// Values and indices along one axis.
template <ReduceKind kind> void extremumWithIndex(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t rank = b.rankOf(x), axis = n.axis(n.integer("dim", 0), rank);
  bool keepDims = n.boolean("keepdim", false);
  if (rank == 0)
    return n.results({x, b.scalar(b.builder.getI64Type(), 0)});
  if (b.failed())
    return;
  Value index = n.isUsed(1) ? argReduce(b, kind, x, axis, keepDims) : Value();
  n.results({b.reduce(kind, x, axis, keepDims), index});
}

void aminmax(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  n.results({reduced(b, ReduceKind::min, r, r.x), reduced(b, ReduceKind::max, r, r.x)});
}

/// any is the maximum of booleans, all the minimum.
template <ReduceKind kind> void quantifier(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  if (!r.x)
    return;
  Value result = reduced(b, kind, r, b.cast(r.x, b.builder.getI1Type()));
  // torch keeps uint8 here.
  if (b.elementOf(r.x).isUnsignedInteger(8))
    result = b.cast(result, b.elementOf(r.x));
  n.result(result);
}

void countNonzero(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  n.result(reduced(b, ReduceKind::sum, r, b.cast(b.cast(r.x, b.builder.getI1Type()), b.builder.getI64Type())));
}

//===----------------------------------------------------------------------===//
// Variance and norms
//===----------------------------------------------------------------------===//

struct Moments {
  Value variance, mean;
};

/// The divisor is the count minus `correction`, at least 0.
Moments moments(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  if (!r.x)
    return {};
  double correction = n.has("correction") ? n.number("correction", 1) : n.boolean("unbiased", true) ? 1 : 0;
  Type element = b.elementOf(r.x);
  // Squares of differences of short floats need more digits.
  Type wide = element.getIntOrFloatBitWidth() < 32 ? Type(b.builder.getF32Type()) : element;
  Value x = b.cast(r.x, wide);
  Value mean = r.axes.empty() ? x : b.reduce(ReduceKind::mean, x, r.axes, true);
  Value centred = b.emit<SubOp>({x, mean}), squares = b.emit<MulOp>({centred, centred});
  Value variance;
  if (correction == 0) {
    variance = reduced(b, ReduceKind::mean, r, squares);
  } else {
    Value count = b.emit<SubOp>({countOf(b, r, wide), b.scalar(wide, correction)});
    count = b.emit<MaxOp>({count, b.scalar(wide, 0)});
    variance = b.emit<DivOp>({reduced(b, ReduceKind::sum, r, squares), count});
  }
  if (!r.keepDims && variance)
    mean = b.reshape(mean, dimsOf(b.typeOf(variance)));
  return {b.cast(variance, element), b.cast(mean, element)};
}
void variance(NodeImporter &n, GraphBuilder &b) { n.result(moments(n, b).variance); }
void deviation(NodeImporter &n, GraphBuilder &b) { n.result(b.emit<SqrtOp>(moments(n, b).variance)); }
void varianceAndMean(NodeImporter &n, GraphBuilder &b) {
  Moments m = moments(n, b);
  n.results({m.variance, m.mean});
}
void deviationAndMean(NodeImporter &n, GraphBuilder &b) {
  Moments m = moments(n, b);
  n.results({b.emit<SqrtOp>(m.variance), m.mean});
}

/// (sum |x|^p)^(1/p), and its limits for p = 0 and infinite p.
Value normOf(GraphBuilder &b, const Reduction &r, Value x, double p) {
  if (!x)
    return {};
  auto constant = [&](double value) { return b.scalar(b.elementOf(x), value); };
  Value magnitude = b.emit<AbsOp>(x);
  if (std::isinf(p))
    return reduced(b, p > 0 ? ReduceKind::max : ReduceKind::min, r, magnitude);
  if (p == 0)
    return reduced(b, ReduceKind::sum, r, b.cast(b.compare(ComparePredicate::ne, x, constant(0)), b.elementOf(x)));
  if (p == 1)
    return reduced(b, ReduceKind::sum, r, magnitude);
  if (p == 2)
    return b.emit<SqrtOp>(reduced(b, ReduceKind::sum, r, b.emit<MulOp>({x, x})));
  Value sum = reduced(b, ReduceKind::sum, r, b.emit<PowOp>({magnitude, constant(p)}));
  return b.emit<PowOp>({sum, constant(1 / p)});
}

template <bool isLinalg> void norm(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  double p = isLinalg ? n.number("ord", 2) : n.number("p", 2);
  if (Type element = n.element("dtype"))
    r.x = b.cast(r.x, element);
  if (isInteger(b, r.x))
    return n.unsupported("a norm of integers");
  n.result(normOf(b, r, r.x, p));
}

/// torch.linalg.norm of vectors, or of all elements.
void linalgNorm(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  bool isVector = n.integers("dim").size() == 1 || (!n.has("dim") && (!n.has("ord") || b.rankOf(x) == 1));
  if (!isVector && n.has("ord"))
    return n.unsupported("a norm of matrices");
  norm<true>(n, b);
}

void logSumExp(NodeImporter &n, GraphBuilder &b) {
  Reduction r = readReduction(n, b);
  if (!r.x)
    return;
  Value x = b.cast(r.x, n.floatOf(b.elementOf(r.x)));
  if (r.axes.empty())
    return n.result(x);
  // log(sum(exp(x - m))) + m does not overflow for the maximum m; an infinite m would make NaN of
  // inf - inf, so 0 takes its place.
  Value m = b.reduce(ReduceKind::max, x, r.axes, /*keepDims=*/true);
  Value shift = m ? b.emit<SelectOp>({b.emit<IsInfOp>(m), b.scalar(b.elementOf(m), 0), m}) : Value();
  Value sum = reduced(b, ReduceKind::sum, r, b.emit<ExpOp>(b.emit<SubOp>({x, shift})));
  if (sum && !r.keepDims)
    shift = b.reshape(shift, dimsOf(b.typeOf(sum)));
  n.result(b.emit<AddOp>({b.emit<LogOp>(sum), shift}));
}

//===----------------------------------------------------------------------===//
// Along one axis
//===----------------------------------------------------------------------===//

template <bool isLog> void softmax(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t rank = b.rankOf(x), axis = n.axis(n.integer("dim", -1), rank);
  if (Type element = n.element("dtype"))
    x = b.cast(x, element);
  else if (n.boolean("half_to_float", false))
    x = b.cast(x, b.builder.getF32Type());
  if (b.failed())
    return;
  SmallVector<NamedAttribute> attributes{b.i64("axis", axis)};
  if (isLog)
    attributes.push_back(b.flag("log"));
  if (rank)
    return n.result(b.emit<SoftmaxOp>(x, attributes));
  n.result(b.reshape(b.emit<SoftmaxOp>(b.reshape(x, b.size(1)), attributes), {}));
}

template <ReduceKind kind> void cumulative(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  Type element = n.element("dtype");
  if (!element && isInteger(b, x))
    element = b.builder.getI64Type();
  if (element)
    x = b.cast(x, element);
  if (b.failed())
    return;
  n.result(b.rankOf(x) ? b.emit<CumulativeOp>(x, {b.i64("axis", axis), b.attr("kind", ReduceKindAttr::get(b.context(), kind))}) : x);
}

const OperatorRow kOperators[] = {
    {"aten.all", "default dim dims", quantifier<ReduceKind::min>},
    {"aten.amax", "", extremum<ReduceKind::max>},
    {"aten.amin", "", extremum<ReduceKind::min>},
    {"aten.aminmax", "", aminmax},
    {"aten.any", "default dim dims", quantifier<ReduceKind::max>},
    {"aten.argmax", "", argument<ReduceKind::max>},
    {"aten.argmin", "", argument<ReduceKind::min>},
    {"aten.count_nonzero", "default dim_IntList", countNonzero},
    {"aten.cumprod", "", cumulative<ReduceKind::prod>},
    {"aten.cumsum", "", cumulative<ReduceKind::sum>},
    {"aten._log_softmax", "", softmax<true>},
    {"aten.linalg_norm", "", linalgNorm},
    {"aten.linalg_vector_norm", "", norm<true>},
    {"aten.log_softmax", "int", softmax<true>},
    {"aten.logsumexp", "", logSumExp},
    {"aten.max", "", extremum<ReduceKind::max>},
    {"aten.max", "dim", extremumWithIndex<ReduceKind::max>},
    {"aten.mean", "default dim", mean},
    {"aten.min", "", extremum<ReduceKind::min>},
    {"aten.min", "dim", extremumWithIndex<ReduceKind::min>},
    {"aten.nansum", "", nansum},
    {"aten.norm", "Scalar ScalarOpt_dim ScalarOpt_dim_dtype ScalarOpt_dtype", norm<false>},
    {"aten.prod", "default dim_int", accumulate<ReduceKind::prod>},
    {"aten._softmax", "", softmax<false>},
    {"aten.softmax", "int", softmax<false>},
    {"aten.special_log_softmax", "", softmax<true>},
    {"aten.special_logsumexp", "", logSumExp},
    {"aten.special_softmax", "", softmax<false>},
    {"aten.std", "default dim correction", deviation},
    {"aten.std_mean", "default dim correction", deviationAndMean},
    {"aten.sum", "default dim_IntList", accumulate<ReduceKind::sum>},
    {"aten.var", "default dim correction", variance},
    {"aten.var_mean", "default dim correction", varianceAndMean},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::reduceOperators() { return kOperators; }
