//===- Nn.cpp - ONNX operators of neural networks -------------------------===//

#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

/// Matrix product where an operand of rank 1 is a row (left) or a column (right).
Value nx::onnx::emitMatmul(GraphBuilder &b, Value x, Value y) {
  if (!x || !y)
    return {};
  if (b.rankOf(x) == 0 || b.rankOf(y) == 0)
    return b.error() << "MatMul of a scalar", Value();
  bool row = b.rankOf(x) == 1, column = b.rankOf(y) == 1;
  if (row)
    x = b.reshape(x, {b.size(1), dimOf(b.typeOf(x), 0)});
  if (column)
    y = b.reshape(y, {dimOf(b.typeOf(y), 0), b.size(1)});
  Value product = b.emit<MatmulOp>({x, y});
  if (!product || (!row && !column))
    return product;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(product));
  if (column)
    dims.pop_back();
  if (row)
    dims.erase(dims.end() - (column ? 1 : 2));
  return b.reshape(product, dims);
}

std::pair<Value, Value> nx::onnx::emitStatistics(GraphBuilder &b, Value x, int64_t axis, double epsilon) {
  if (!x)
    return {};
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(axis, b.rankOf(x)));
  Value wide = b.elementOf(x).isF64() ? x : b.cast(x, b.builder.getF32Type());
  Value mean = b.reduce(ReduceKind::mean, wide, axes, true), centred = b.sub(wide, mean);
  Value variance = b.reduce(ReduceKind::mean, b.mul(centred, centred), axes, true);
  return {mean, b.emit<RsqrtOp>(b.add(variance, epsilon))};
}

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

void matmul(NodeImporter &n, GraphBuilder &b) { n.result(emitMatmul(b, n.input(0), n.input(1))); }

void gemm(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), y = n.input(1);
  if (!x || !y)
    return;
  if (b.rankOf(x) != 2 || b.rankOf(y) != 2) {
    n.error() << "needs matrices, got " << b.text(b.typeOf(x)) << " and " << b.text(b.typeOf(y));
    return;
  }
  SmallVector<NamedAttribute> attributes;
  if (n.getInt("transA", 0))
    attributes.push_back(b.flag("transpose_lhs"));
  if (n.getInt("transB", 0))
    attributes.push_back(b.flag("transpose_rhs"));
  Value product = b.emit<MatmulOp>({x, y}, attributes);
  auto scaled = [&](Value value, double factor) {
    return factor == 1 || !value ? value : b.emit<MulOp>({value, b.scalar(b.elementOf(value), factor)});
  };
  double alpha = n.getFloat("alpha", 1), beta = n.getFloat("beta", 1);
  product = scaled(product, alpha);
  if (Value bias = n.optionalInput(2))
    product = b.emit<AddOp>({product, scaled(bias, beta)});
  n.result(product);
}

/// One operand of an einsum and the label of each of its dimensions.
struct Labelled {
  Value value;
  std::string labels;
};

/// Brings the dimensions into the order of `labels`; all of them are there.
Labelled ordered(GraphBuilder &b, Labelled x, StringRef labels) {
  SmallVector<int64_t> perm;
  for (char label : labels)
    perm.push_back(x.labels.find(label));
  return {b.transpose(x.value, perm), labels.str()};
}

/// Sums over the dimensions whose labels are not in `kept`.
Labelled summed(GraphBuilder &b, Labelled x, StringRef kept) {
  SmallVector<int64_t> axes;
  std::string left;
  for (auto [i, label] : llvm::enumerate(x.labels))
    if (kept.contains(label))
      left += label;
    else
      axes.push_back(i);
  return axes.empty() ? x : Labelled{b.reduce(ReduceKind::sum, x.value, axes, false), left};
}

Labelled contracted(GraphBuilder &b, Labelled x, Labelled y, StringRef kept) {
  // What only one operand has and nobody wants is summed first; the rest is a batched product.
  x = summed(b, x, (kept + y.labels).str());
  y = summed(b, y, (kept + x.labels).str());
  if (!x.value || !y.value)
    return {};
  std::string batch, left, right, inner;
  for (char label : x.labels)
    (StringRef(y.labels).contains(label) ? (kept.contains(label) ? batch : inner) : left) += label;
  for (char label : y.labels)
    if (!StringRef(x.labels).contains(label))
      right += label;
  SmallVector<AffineExpr> xd = dimsOf(b.typeOf(x.value)), yd = dimsOf(b.typeOf(y.value));
  auto sizes = [&](StringRef labels, const Labelled &of, ArrayRef<AffineExpr> dims) {
    SmallVector<AffineExpr> list;
    for (char label : labels)
      list.push_back(dims[of.labels.find(label)]);
    return list;
  };
  SmallVector<AffineExpr> batchSizes = sizes(batch, x, xd), leftSizes = sizes(left, x, xd), rightSizes = sizes(right, y, yd);
  AffineExpr m = productOf(leftSizes, b.context()), k = productOf(sizes(inner, x, xd), b.context()),
             kOther = productOf(sizes(inner, y, yd), b.context()), columns = productOf(rightSizes, b.context());
  SmallVector<AffineExpr> xShape(batchSizes), yShape = sizes(batch, y, yd);
  xShape.append({m, k});
  yShape.append({kOther, columns});
  Value product = b.emit<MatmulOp>({b.reshape(ordered(b, x, batch + left + inner).value, xShape),
                                    b.reshape(ordered(b, y, batch + inner + right).value, yShape)});
  SmallVector<AffineExpr> shape(batchSizes);
  shape.append(leftSizes);
  shape.append(rightSizes);
  return {b.reshape(product, shape), batch + left + right};
}

/// Dimensions of one label become one: the diagonal, by a sum of what lies on it.
Labelled diagonal(GraphBuilder &b, Labelled x) {
  for (size_t i = 0; i < x.labels.size() && x.value; ++i) {
    size_t j = x.labels.find(x.labels[i], i + 1);
    if (j == std::string::npos)
      continue;
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x.value)), rows(dims.size(), b.size(1)), columns(rows);
    b.requireEqual(dims[i], dims[j], "a diagonal");
    rows[i] = dims[i], columns[j] = dims[j];
    Type i64 = b.builder.getI64Type();
    Value on = b.compare(ComparePredicate::eq, b.iota(rows, i, i64), b.iota(columns, j, i64));
    Value kept = b.select(on, x.value, b.like(x.value, 0));
    x.value = b.reduce(ReduceKind::sum, kept, {int64_t(j)}, false);
    x.labels.erase(j, 1);
    --i; // there may be a third one
  }
  return x;
}

void einsum(NodeImporter &n, GraphBuilder &b) {
  std::string equation;
  for (char c : n.getString("equation", ""))
    if (c != ' ')
      equation += c;
  auto [inputs, output] = StringRef(equation).split("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (terms.size() != n.numInputs()) {
    n.error() << "the equation '" << equation << "' has " << terms.size() << " terms for " << n.numInputs() << " operands";
    return;
  }
  // The dimensions of an ellipsis are labelled by bytes that no equation uses, counted from the right.
  size_t widest = 0;
  SmallVector<Labelled> operands;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value value = n.input(i);
    if (!value)
      return;
    auto [before, after] = term.split("...");
    bool hasEllipsis = term.contains("...");
    int64_t rest = b.rankOf(value) - int64_t(before.size() + after.size());
    if (rest < 0 || (rest > 0 && !hasEllipsis)) {
      n.error() << "'" << term << "' does not label the dimensions of " << b.text(b.typeOf(value));
      return;
    }
    std::string labels = before.str();
    for (int64_t d = rest; d-- > 0;)
      labels += char(1 + d);
    labels += after;
    widest = std::max<size_t>(widest, rest);
    // A dimension of size 1 in an ellipsis broadcasts: it need not be there.
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(value)), kept;
    std::string keptLabels;
    for (auto [dim, label] : llvm::zip(dims, labels))
      if (label >= 32 || constantOf(dim) != 1) {
        kept.push_back(dim);
        keptLabels += label;
      }
    operands.push_back(diagonal(b, {b.reshape(value, kept), keptLabels}));
  }
  std::string ellipsis;
  for (size_t d = widest; d-- > 0;)
    ellipsis += char(1 + d);
  std::string kept;
  if (StringRef(equation).contains("->")) {
    auto [before, after] = output.split("...");
    kept = before.str() + (output.contains("...") ? ellipsis : "") + after.str();
  } else {
    // Without an output: the ellipsis, then the labels that occur once, in alphabetical order.
    for (char label : inputs)
      if (label != ',' && label != '.' && inputs.count(label) == 1)
        kept += label;
    llvm::sort(kept);
    kept = ellipsis + kept;
  }
  for (char label : kept)
    if ((label >= 32 && !inputs.contains(label)) || StringRef(kept).count(label) > 1) {
      n.error() << "the equation '" << equation << "' has a wrong output";
      return;
    }
  // From left to right; what a later operand needs stays.
  Labelled result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string needed = kept;
    for (size_t j = i + 1; j < operands.size(); ++j)
      needed += operands[j].labels;
    if (!result.value || !operands[i].value)
      return;
    result = contracted(b, result, operands[i], needed);
  }
  result = summed(b, result, kept);
  if (!result.value)
    return;
  // Labels of an ellipsis that was all ones come back.
  SmallVector<AffineExpr> shape;
  std::string present;
  for (char label : kept)
    if (StringRef(result.labels).contains(label))
      present += label;
  Value sorted = ordered(b, result, present).value;
  if (!sorted)
    return;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(sorted));
  for (char label : kept) {
    size_t at = present.find(label);
    shape.push_back(at == std::string::npos ? b.size(1) : dims[at]);
  }
  n.result(b.reshape(sorted, shape));
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

void batchNormalization(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), scale = n.input(1), bias = n.input(2), mean = n.input(3), variance = n.input(4);
  if (!x || !scale || !bias || !mean || !variance)
    return;
  double momentum = n.getFloat("momentum", 0.9);
  Value runningMean, runningVariance;
  if (n.getInt("training_mode", 0)) {
    // Of all elements of a channel; what was given moves towards them.
    SmallVector<int64_t> axes{0};
    for (int64_t i = 2; i < b.rankOf(x); ++i)
      axes.push_back(i);
    SmallVector<AffineExpr> channels{dimOf(b.typeOf(x), b.rankOf(x) > 1 ? 1 : 0)};
    Value wide = b.cast(x, b.elementOf(mean)), batchMean = b.reduce(ReduceKind::mean, wide, axes, true);
    Value centred = b.sub(wide, batchMean), batchVariance = b.reduce(ReduceKind::mean, b.mul(centred, centred), axes, true);
    auto moved = [&](Value before, Value now) { return b.add(b.mul(before, momentum), b.mul(now, 1 - momentum)); };
    batchMean = b.reshape(batchMean, channels), batchVariance = b.reshape(batchVariance, channels);
    runningMean = moved(mean, batchMean), runningVariance = moved(variance, batchVariance);
    mean = batchMean, variance = batchVariance;
    if (!mean || !variance)
      return;
  }
  if (!n.getInt("spatial", 1))
    return n.unsupported("attribute spatial = 0");
  // scale * (x - mean) / sqrt(variance + epsilon) + bias as one factor and one summand per channel.
  Value epsilon = b.scalar(b.elementOf(variance), n.getFloat("epsilon", 1e-5));
  Value inverse = b.emit<RsqrtOp>(b.emit<AddOp>({variance, epsilon}));
  Value factor = b.emit<MulOp>({scale, b.cast(inverse, b.elementOf(scale))});
  Value summand = b.emit<SubOp>({bias, b.emit<MulOp>({b.cast(mean, b.elementOf(scale)), factor})});
  auto perChannel = [&](Value value) {
    return b.appendUnitDims(b.cast(value, b.elementOf(x)), b.rankOf(x) - 1);
  };
  n.results({b.add(b.mul(x, perChannel(factor)), perChannel(summand)), runningMean, runningVariance});
}

void instanceNormalization(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  std::optional<int64_t> channels = b.rankOf(x) > 1 ? constantOf(dimOf(b.typeOf(x), 1)) : std::nullopt;
  if (!channels)
    return n.unsupported("the number of channels must be static");
  n.result(b.emit<GroupNormOp>({x, n.input(1), n.input(2)},
                               {b.i64("groups", *channels), b.f64("epsilon", n.getFloat("epsilon", 1e-5))}));
}

void groupNormalization(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"stash_type"});
  Value x = n.input(0), scale = n.input(1), bias = n.input(2);
  int64_t groups = n.requireInt("num_groups");
  if (!x || !scale || !bias || b.failed())
    return;
  std::optional<int64_t> channels = b.rankOf(x) > 1 ? constantOf(dimOf(b.typeOf(x), 1)) : std::nullopt;
  if (!channels)
    return n.unsupported("the number of channels must be static");
  if (groups < 1 || *channels % groups) {
    n.error() << *channels << " channels do not divide into " << groups << " groups";
    return;
  }
  if (n.opset() < 21) {
    // Scale and bias are given per group: repeat them for its channels.
    auto perChannel = [&](Value part) {
      Value column = b.reshape(part, {b.size(groups), b.size(1)});
      return b.reshape(b.broadcast(column, {b.size(groups), b.size(*channels / groups)}), {b.size(*channels)});
    };
    for (Value part : {scale, bias})
      if (b.rankOf(part) != 1 || constantOf(dimOf(b.typeOf(part), 0)) != groups) {
        n.error() << "scale and bias need one value per group";
        return;
      }
    scale = perChannel(scale), bias = perChannel(bias);
  }
  n.result(b.emit<GroupNormOp>({x, scale, bias}, {b.i64("groups", groups), b.f64("epsilon", n.getFloat("epsilon", 1e-5))}));
}

void layerNormalization(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"stash_type"}); // nx computes statistics in f32 or wider
  Value x = n.input(0), scale = n.input(1), mean, inverse;
  if (!x)
    return;
  int64_t axis = n.axis(n.getInt("axis", -1), b.rankOf(x));
  double epsilon = n.getFloat("epsilon", 1e-5);
  Value y = b.emitOptional<LayerNormOp>({x, scale, n.optionalInput(2)}, {b.i64("axis", axis), b.f64("epsilon", epsilon)},
                                        /*countSegments=*/true);
  if (n.hasOutput(1) || n.hasOutput(2))
    std::tie(mean, inverse) = emitStatistics(b, x, axis, epsilon);
  n.results({y, mean, inverse});
}

void rmsNormalization(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"stash_type"}); // nx computes statistics in f32 or wider
  Value x = n.input(0), scale = n.input(1);
  if (x)
    n.result(b.emit<RmsNormOp>({x, scale}, {b.i64("axis", n.axis(n.getInt("axis", -1), b.rankOf(x))),
                                            b.f64("epsilon", n.getFloat("epsilon", 1e-5))}));
}

void meanVarianceNormalization(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  SmallVector<int64_t> axes = n.axes(n.getInts("axes", {0, 2, 3}), b.rankOf(x));
  Value centred = b.emit<SubOp>({x, b.reduce(ReduceKind::mean, x, axes, true)});
  Value variance = b.reduce(ReduceKind::mean, b.emit<MulOp>({centred, centred}), axes, true);
  Value deviation = b.emit<SqrtOp>(variance);
  n.result(b.emit<DivOp>({centred, b.emit<AddOp>({deviation, b.scalar(b.elementOf(x), 1e-9)})}));
}

void lpNormalization(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t p = n.getInt("p", 2), axis = n.axis(n.getInt("axis", -1), b.rankOf(x));
  if (p != 1 && p != 2) {
    n.error() << "p is " << p << ", it must be 1 or 2";
    return;
  }
  Value terms = p == 1 ? b.emit<AbsOp>(x) : b.emit<MulOp>({x, x});
  Value norm = b.reduce(ReduceKind::sum, terms, axis, true);
  if (p == 2)
    norm = b.emit<SqrtOp>(norm);
  // A line of zeros stays zero.
  Value isZero = b.compare(ComparePredicate::eq, norm, b.scalar(b.elementOf(x), 0));
  n.result(b.emit<DivOp>({x, b.emit<SelectOp>({isZero, b.scalar(b.elementOf(x), 1), norm})}));
}

const OperatorRow kOperators[] = {
    {"BatchNormalization", 7, kLatest, batchNormalization},
    {"Einsum", 12, kLatest, einsum},
    {"Gemm", 7, kLatest, gemm},
    {"GroupNormalization", 18, kLatest, groupNormalization},
    {"InstanceNormalization", 6, kLatest, instanceNormalization},
    {"LayerNormalization", 17, kLatest, layerNormalization},
    {"LpNormalization", 1, kLatest, lpNormalization},
    {"MatMul", 1, kLatest, matmul},
    {"MeanVarianceNormalization", 9, kLatest, meanVarianceNormalization},
    {"RMSNormalization", 23, kLatest, rmsNormalization},
    {"SimplifiedLayerNormalization", 1, kLatest, rmsNormalization},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::nnOperators() { return kOperators; }
