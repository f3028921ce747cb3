//===- Reduce.cpp - ONNX operators that combine elements ------------------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// What a reduction works on: the input, its axes, and whether they stay.
struct Reduction {
  Value x;
  SmallVector<int64_t> axes;
  bool keepDims = true;
};

/// Reads the operands of Reduce*. ReduceSum takes its axes as an input since opset 13, the others
/// since 18. Null when there is nothing to reduce (then the result is set) or after an error.
std::optional<Reduction> readReduction(NodeImporter &n, GraphBuilder &b, int64_t axesInputSince = 18) {
  Reduction r;
  r.x = n.input(0);
  std::optional<SmallVector<int64_t>> given = n.intsOrInput("axes", 1, axesInputSince);
  if (!r.x || n.unsupportedReason())
    return std::nullopt;
  r.keepDims = n.getInt("keepdims", 1);
  bool isNoop = n.getInt("noop_with_empty_axes", 0);
  if (given)
    r.axes = n.axes(*given, b.rankOf(r.x));
  if (r.axes.empty() && !isNoop)
    llvm::append_range(r.axes, llvm::seq<int64_t>(0, b.rankOf(r.x)));
  return b.failed() ? std::nullopt : std::optional(r);
}

template <ReduceKind kind, int axesInputSince = 18> void reduce(NodeImporter &n, GraphBuilder &b) {
  if (auto r = readReduction(n, b, axesInputSince))
    n.result(r->axes.empty() ? r->x : b.reduce(kind, r->x, r->axes, r->keepDims));
}

void reduceL1(NodeImporter &n, GraphBuilder &b) {
  if (auto r = readReduction(n, b))
    n.result(b.reduce(ReduceKind::sum, b.emit<AbsOp>(r->x), r->axes, r->keepDims));
}

void reduceSumSquare(NodeImporter &n, GraphBuilder &b) {
  if (auto r = readReduction(n, b))
    n.result(b.reduce(ReduceKind::sum, b.emit<MulOp>({r->x, r->x}), r->axes, r->keepDims));
}

void reduceL2(NodeImporter &n, GraphBuilder &b) {
  reduceSumSquare(n, b);
  if (!n.takenResults().empty())
    n.result(b.emit<SqrtOp>(n.takenResults().front()));
}

void reduceLogSum(NodeImporter &n, GraphBuilder &b) {
  reduce<ReduceKind::sum>(n, b);
  if (!n.takenResults().empty())
    n.result(b.emit<LogOp>(n.takenResults().front()));
}

void reduceLogSumExp(NodeImporter &n, GraphBuilder &b) {
  auto r = readReduction(n, b);
  if (!r)
    return;
  // log(sum(exp(x - m))) + m does not overflow for the maximum m; an infinite m would make NaN of
  // inf - inf, so 0 takes its place.
  Value m = b.reduce(ReduceKind::max, r->x, r->axes, /*keepDims=*/true);
  Value isInfinite = b.emit<IsInfOp>(m);
  Value shift = m ? b.emit<SelectOp>({isInfinite, b.scalar(b.elementOf(m), 0), m}) : Value();
  Value sum = b.reduce(ReduceKind::sum, b.emit<ExpOp>(b.emit<SubOp>({r->x, shift})), r->axes, /*keepDims=*/true);
  Value result = b.emit<AddOp>({b.emit<LogOp>(sum), shift});
  if (result && !r->keepDims)
    result = b.reshape(result, [&] {
      SmallVector<AffineExpr> dims;
      for (auto [i, dim] : llvm::enumerate(dimsOf(b.typeOf(result))))
        if (!llvm::is_contained(r->axes, int64_t(i)))
          dims.push_back(dim);
      return dims;
    }());
  n.result(result);
}

template <ReduceKind kind> void argReduce(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  SmallVector<NamedAttribute> attributes{b.attr("kind", ReduceKindAttr::get(b.context(), kind)),
                                         b.i64("axis", n.axis(n.getInt("axis", 0), b.rankOf(x)))};
  if (n.getInt("keepdims", 1))
    attributes.push_back(b.flag("keep_dims"));
  if (n.getInt("select_last_index", 0))
    attributes.push_back(b.flag("select_last"));
  n.result(b.emit<ArgReduceOp>(x, attributes));
}

template <ReduceKind kind> void cumulative(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), given = n.input(1);
  bool exclusive = n.getInt("exclusive", 0), reverse = n.getInt("reverse", 0);
  if (!x || !given)
    return;
  int64_t rank = b.rankOf(x);
  auto along = [&](int64_t axis) {
    SmallVector<NamedAttribute> attributes{b.i64("axis", axis), b.attr("kind", ReduceKindAttr::get(b.context(), kind))};
    if (exclusive)
      attributes.push_back(b.flag("exclusive"));
    if (reverse)
      attributes.push_back(b.flag("reverse"));
    return b.emit<CumulativeOp>(x, attributes);
  };
  if (std::optional<SmallVector<int64_t>> axis = knownInts(given)) {
    if (axis->size() != 1) {
      n.error() << "the axis must be one number";
      return;
    }
    return n.result(along(n.axis(axis->front(), rank)));
  }
  if (rank == 0 || rank > 8 || !b.typeOf(given).hasStaticShape() || b.typeOf(given).getNumElements() != 1)
    return n.unsupported("the axis is not known and the input has rank " + Twine(rank));
  // An axis that is known only when it runs chooses among all of them.
  Value axis = b.reshape(given, {}), result = along(0);
  axis = b.select(b.compare(ComparePredicate::lt, axis, 0.0), b.add(axis, double(rank)), axis);
  for (int64_t i = 1; i < rank; ++i)
    result = b.select(b.compare(ComparePredicate::eq, axis, double(i)), along(i), result);
  n.result(result);
}

/// Before opset 13 these look at the input as a matrix: [dims before axis, dims from axis on].
template <typename Emit> void flattened(NodeImporter &n, GraphBuilder &b, Emit emit) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t rank = b.rankOf(x), axis = n.getInt("axis", 1);
  axis = rank == 0 ? 0 : n.axis(axis, rank);
  if (axis == rank - 1)
    return n.result(emit(x, axis));
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  Value matrix = b.reshape(x, {productOf(ArrayRef(dims).take_front(axis), b.context()),
                               productOf(ArrayRef(dims).drop_front(axis), b.context())});
  n.result(b.reshape(emit(matrix, 1), dims));
}

template <bool isLog> Value emitSoftmax(GraphBuilder &b, Value x, int64_t axis) {
  SmallVector<NamedAttribute> attributes{b.i64("axis", axis)};
  if (isLog)
    attributes.push_back(b.flag("log"));
  return b.emit<SoftmaxOp>(x, attributes);
}

template <bool isLog> void softmaxFlattened(NodeImporter &n, GraphBuilder &b) {
  flattened(n, b, [&](Value x, int64_t axis) { return emitSoftmax<isLog>(b, x, axis); });
}
template <bool isLog> void softmax(NodeImporter &n, GraphBuilder &b) {
  if (Value x = n.input(0))
    n.result(emitSoftmax<isLog>(b, x, n.axis(n.getInt("axis", -1), b.rankOf(x))));
}

/// 1 at the first maximum along the axis, 0 elsewhere.
Value emitHardmax(GraphBuilder &b, Value x, int64_t axis) {
  Value first = b.emit<ArgReduceOp>(x, {b.attr("kind", ReduceKindAttr::get(b.context(), ReduceKind::max)),
                                        b.i64("axis", axis), b.flag("keep_dims")});
  if (!first)
    return {};
  SmallVector<AffineExpr> line(b.rankOf(x), b.size(1));
  line[axis] = dimOf(b.typeOf(x), axis);
  Value index = b.iota(line, axis, b.builder.getI64Type());
  return b.cast(b.compare(ComparePredicate::eq, index, first), b.elementOf(x));
}
void hardmaxFlattened(NodeImporter &n, GraphBuilder &b) {
  flattened(n, b, [&](Value x, int64_t axis) { return emitHardmax(b, x, axis); });
}
void hardmax(NodeImporter &n, GraphBuilder &b) {
  if (Value x = n.input(0))
    n.result(emitHardmax(b, x, n.axis(n.getInt("axis", -1), b.rankOf(x))));
}

const OperatorRow kOperators[] = {
    {"ArgMax", 1, kLatest, argReduce<ReduceKind::max>},
    {"ArgMin", 1, kLatest, argReduce<ReduceKind::min>},
    {"CumProd", 26, kLatest, cumulative<ReduceKind::prod>},
    {"CumSum", 11, kLatest, cumulative<ReduceKind::sum>},
    {"Hardmax", 1, 12, hardmaxFlattened},
    {"Hardmax", 13, kLatest, hardmax},
    {"LogSoftmax", 1, 12, softmaxFlattened<true>},
    {"LogSoftmax", 13, kLatest, softmax<true>},
    {"ReduceL1", 1, kLatest, reduceL1},
    {"ReduceL2", 1, kLatest, reduceL2},
    {"ReduceLogSum", 1, kLatest, reduceLogSum},
    {"ReduceLogSumExp", 1, kLatest, reduceLogSumExp},
    {"ReduceMax", 1, kLatest, reduce<ReduceKind::max>},
    {"ReduceMean", 1, kLatest, reduce<ReduceKind::mean>},
    {"ReduceMin", 1, kLatest, reduce<ReduceKind::min>},
    {"ReduceProd", 1, kLatest, reduce<ReduceKind::prod>},
    {"ReduceSum", 1, kLatest, reduce<ReduceKind::sum, 13>},
    {"ReduceSumSquare", 1, kLatest, reduceSumSquare},
    {"Softmax", 1, 12, softmaxFlattened<false>},
    {"Softmax", 13, kLatest, softmax<false>},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::reduceOperators() { return kOperators; }
