//===- Nn.cpp - ONNX operators of neural networks -------------------------===//

#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Matrix product where an operand of rank 1 is a row (left) or a column (right).
Value emitMatmul(GraphBuilder &b, Value x, Value y) {
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

void matmul(NodeImporter &n, GraphBuilder &b) { n.result(emitMatmul(b, n.input(0), n.input(1))); }

void matmulInteger(NodeImporter &n, GraphBuilder &b) {
  Type i32 = b.builder.getI32Type();
  Value x = b.cast(n.input(0), i32), y = b.cast(n.input(1), i32);
  // A zero point per row of the left or per column of the right operand, or one for all.
  if (Value zero = b.cast(n.optionalInput(2), i32)) {
    if (b.rankOf(zero) == 1 && constantOf(dimOf(b.typeOf(zero), 0)) != 1)
      zero = b.appendUnitDims(zero, 2);
    x = b.emit<SubOp>({x, zero});
  }
  if (Value zero = b.cast(n.optionalInput(3), i32))
    y = b.emit<SubOp>({y, zero});
  n.result(emitMatmul(b, x, y));
}

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

void einsum(NodeImporter &n, GraphBuilder &b) {
  std::string equation;
  for (char c : n.getString("equation", ""))
    if (c != ' ')
      equation += c;
  auto [inputs, output] = StringRef(equation).split("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (StringRef(equation).contains('.'))
    return n.unsupported("'...' in the equation '" + equation + "'");
  if (terms.size() != n.numInputs() || terms.size() > 2)
    return n.unsupported("equation '" + equation + "' of " + Twine(n.numInputs()) + " operands; nx has those of one or two");
  SmallVector<Labelled> operands;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Value value = n.input(i);
    if (!value)
      return;
    if (int64_t(term.size()) != b.rankOf(value)) {
      n.error() << "'" << term << "' does not label the dimensions of " << b.text(b.typeOf(value));
      return;
    }
    operands.push_back({value, term.str()});
    for (char label : term)
      if (term.count(label) > 1)
        return n.unsupported("a diagonal in the equation '" + equation + "'");
  }
  std::string kept = output.str();
  if (!StringRef(equation).contains("->")) {
    // Without an output: the labels that occur once, in alphabetical order.
    for (char label : inputs)
      if (label != ',' && inputs.count(label) == 1)
        kept += label;
    llvm::sort(kept);
  }
  for (char label : kept)
    if (!inputs.contains(label) || StringRef(kept).count(label) > 1) {
      n.error() << "the equation '" << equation << "' has a wrong output";
      return;
    }
  Labelled result = operands.size() == 1 ? summed(b, operands[0], kept) : contracted(b, operands[0], operands[1], kept);
  if (result.value)
    n.result(ordered(b, result, kept).value);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

struct Window {
  SmallVector<int64_t> kernel, strides, dilations, lo, hi;
};

/// Reads the attributes of convolutions and pools over an input [N, C, spatial..]. Null after an
/// error or a refusal.
std::optional<Window> readWindow(NodeImporter &n, GraphBuilder &b, Value x, ArrayRef<int64_t> weightKernel = {}) {
  if (!x)
    return std::nullopt;
  int64_t spatial = b.rankOf(x) - 2;
  if (spatial < 1) {
    n.error() << "needs an input [N, C, spatial..], got " << b.text(b.typeOf(x));
    return std::nullopt;
  }
  SmallVector<int64_t> ones(spatial, 1), zeros(2 * spatial, 0);
  Window w{n.getInts("kernel_shape", weightKernel), n.getInts("strides", ones), n.getInts("dilations", ones), {}, {}};
  SmallVector<int64_t> pads = n.getInts("pads", zeros);
  if (b.failed())
    return std::nullopt;
  if (int64_t(w.kernel.size()) != spatial || int64_t(w.strides.size()) != spatial ||
      int64_t(w.dilations.size()) != spatial || int64_t(pads.size()) != 2 * spatial) {
    n.error() << "kernel_shape, strides, dilations and pads do not fit " << spatial << " spatial dimensions";
    return std::nullopt;
  }
  if (!weightKernel.empty() && ArrayRef<int64_t>(w.kernel) != weightKernel) {
    n.error() << "kernel_shape is not that of the weights";
    return std::nullopt;
  }
  constexpr int64_t limit = 1 << 24;
  for (ArrayRef<int64_t> list : {ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides), ArrayRef<int64_t>(w.dilations)})
    for (int64_t value : list)
      if (value < 1 || value > limit) {
        n.error() << "kernel, stride and dilation must be positive and below " << limit << ", one is " << value;
        return std::nullopt;
      }
  for (int64_t value : pads)
    if (value < 0 || value > limit) {
      n.error() << "padding of " << value;
      return std::nullopt;
    }

  StringRef autoPad = n.getString("auto_pad", "NOTSET");
  if (autoPad == "NOTSET" || autoPad == "VALID") {
    if (autoPad == "VALID")
      pads = zeros;
    w.lo.assign(pads.begin(), pads.begin() + spatial);
    w.hi.assign(pads.begin() + spatial, pads.end());
    return w;
  }
  if (autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER") {
    n.error() << "auto_pad '" << autoPad << "' is not known";
    return std::nullopt;
  }
  for (int64_t i = 0; i < spatial; ++i) {
    // As much padding as makes ceil(size / stride) outputs.
    int64_t extent = w.dilations[i] * (w.kernel[i] - 1) + 1, total = extent - 1;
    std::optional<int64_t> size = constantOf(dimOf(b.typeOf(x), i + 2));
    if (size)
      total = std::max<int64_t>((llvm::divideCeil(*size, w.strides[i]) - 1) * w.strides[i] + extent - *size, 0);
    else if (w.strides[i] != 1)
      return n.unsupported("auto_pad with strides over a dimension of symbolic size"), std::nullopt;
    int64_t less = total / 2, more = total - less;
    w.lo.push_back(autoPad == "SAME_UPPER" ? less : more);
    w.hi.push_back(autoPad == "SAME_UPPER" ? more : less);
  }
  return w;
}

SmallVector<NamedAttribute> windowAttributes(GraphBuilder &b, const Window &w) {
  return {b.ints("strides", w.strides), b.ints("dilations", w.dilations), b.ints("pads_lo", w.lo), b.ints("pads_hi", w.hi)};
}

void conv(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1);
  if (!x || !weight)
    return;
  SmallVector<int64_t> kernel;
  for (int64_t i = 2; i < b.rankOf(weight); ++i) {
    std::optional<int64_t> size = constantOf(dimOf(b.typeOf(weight), i));
    if (!size)
      return n.unsupported("the kernel's size is symbolic");
    kernel.push_back(*size);
  }
  if (b.rankOf(weight) != b.rankOf(x) || kernel.empty()) {
    n.error() << "input " << b.text(b.typeOf(x)) << " and weights " << b.text(b.typeOf(weight))
              << " must have the same rank, 3 or more";
    return;
  }
  int64_t groups = n.getInt("group", 1);
  if (groups < 1 || groups > (1 << 24)) {
    n.error() << groups << " groups";
    return;
  }
  std::optional<Window> window = readWindow(n, b, x, kernel);
  if (!window)
    return;
  SmallVector<NamedAttribute> attributes = windowAttributes(b, *window);
  attributes.push_back(b.i64("groups", groups));
  n.result(b.emitOptional<ConvOp>({x, weight, n.optionalInput(2)}, attributes));
}

template <PoolKind kind> void pool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  n.ignoreAttrs({"storage_order"}); // of the output that nx does not compute
  if (!n.hasAttr("kernel_shape")) {
    n.error() << "kernel_shape is missing";
    return;
  }
  std::optional<Window> window = readWindow(n, b, x);
  if (!window)
    return;
  SmallVector<NamedAttribute> attributes = windowAttributes(b, *window);
  attributes.push_back(b.attr("kind", PoolKindAttr::get(b.context(), kind)));
  attributes.push_back(b.ints("window", window->kernel));
  if (n.getInt("ceil_mode", 0)) {
    for (int64_t i = 2; i < b.rankOf(x); ++i)
      if (!constantOf(dimOf(b.typeOf(x), i)))
        return n.unsupported("ceil_mode over a dimension of symbolic size");
    attributes.push_back(b.flag("ceil_mode"));
  }
  if (n.getInt("count_include_pad", 0))
    attributes.push_back(b.flag("count_include_pad"));
  n.result(b.emit<PoolOp>(x, attributes));
}

template <ReduceKind kind> void globalPool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  if (b.rankOf(x) < 3) {
    n.error() << "needs an input [N, C, spatial..], got " << b.text(b.typeOf(x));
    return;
  }
  n.result(b.reduce(kind, x, llvm::to_vector(llvm::seq<int64_t>(2, b.rankOf(x))), true));
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

void batchNormalization(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), scale = n.input(1), bias = n.input(2), mean = n.input(3), variance = n.input(4);
  if (!x || !scale || !bias || !mean || !variance)
    return;
  n.ignoreAttrs({"momentum"}); // of training
  if (n.getInt("training_mode", 0))
    return n.unsupported("it is in training mode; export the model for inference");
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
  n.result(b.emit<AddOp>({b.emit<MulOp>({x, perChannel(factor)}), perChannel(summand)}));
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
  Value x = n.input(0), scale = n.input(1);
  if (x)
    n.result(b.emitOptional<LayerNormOp>({x, scale, n.optionalInput(2)},
                                         {b.i64("axis", n.axis(n.getInt("axis", -1), b.rankOf(x))),
                                          b.f64("epsilon", n.getFloat("epsilon", 1e-5))},
                                         /*countSegments=*/true));
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

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// [B, S, heads * D] as [B, heads, S, D]; rank 4 is that already.
Value splitHeads(NodeImporter &n, GraphBuilder &b, Value x, StringRef headsAttr) {
  if (!x || b.rankOf(x) == 4)
    return x;
  int64_t heads = n.requireInt(headsAttr);
  if (b.failed())
    return {};
  SmallVector<AffineExpr> d = dimsOf(b.typeOf(x));
  AffineExpr size = d.size() == 3 && heads > 0 ? divideExactly(d[2], b.size(heads)) : AffineExpr();
  if (!size) {
    n.error() << b.text(b.typeOf(x)) << " does not divide into " << heads << " heads";
    return {};
  }
  return b.transpose(b.reshape(x, {d[0], d[1], b.size(heads), size}), {0, 2, 1, 3});
}

void attention(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"qk_matmul_output_mode", "softmax_precision", "q_num_heads", "kv_num_heads"});
  Value q = n.input(0), k = n.input(1), v = n.input(2), mask = n.optionalInput(3);
  if (!q || !k || !v)
    return;
  if (n.getFloat("softcap", 0) != 0)
    return n.unsupported("attribute softcap");
  if (n.hasOutput(3))
    return n.unsupported("the output qk_matmul_output");
  if (n.hasInput(6))
    return n.unsupported("the input nonpad_kv_seqlen");
  if (n.hasInput(4) != n.hasInput(5)) {
    n.error() << "past_key and past_value come together";
    return;
  }
  bool isFlat = b.rankOf(q) == 3;
  q = splitHeads(n, b, q, "q_num_heads");
  k = splitHeads(n, b, k, "kv_num_heads");
  v = splitHeads(n, b, v, "kv_num_heads");
  // Query 0 may use the past keys and the first new one.
  AffineExpr causalOffset = b.size(0);
  if (Value past = n.optionalInput(4)) {
    if (b.rankOf(past) != 4) {
      n.error() << "past_key must have rank 4, got " << b.text(b.typeOf(past));
      return;
    }
    causalOffset = dimOf(b.typeOf(past), 2);
    k = b.emit<ConcatOp>({past, k}, b.i64("axis", 2));
  }
  if (Value past = n.optionalInput(5))
    v = b.emit<ConcatOp>({past, v}, b.i64("axis", 2));
  if (!q || !k || !v)
    return;
  if (b.rankOf(q) != 4 || b.rankOf(k) != 4) {
    n.error() << "query and key must have rank 3 or 4";
    return;
  }
  std::optional<int64_t> size = constantOf(dimOf(b.typeOf(q), 3));
  if (!size && !n.hasAttr("scale"))
    return n.unsupported("the size of a head is symbolic");
  double scale = n.getFloat("scale", 1 / std::sqrt(double(std::max<int64_t>(size.value_or(1), 1))));
  SmallVector<NamedAttribute> attributes{b.f64("scale", scale), b.flag("zero_without_keys")};
  if (n.getInt("is_causal", 0))
    attributes.push_back(b.dims("causal", causalOffset));
  if (mask && isa<FloatType>(b.elementOf(mask)))
    mask = b.cast(mask, b.elementOf(q));
  Value result = b.emitOptional<AttentionOp>({q, k, v, mask}, attributes);
  if (result && isFlat) {
    SmallVector<AffineExpr> d = dimsOf(b.typeOf(result));
    result = b.reshape(b.transpose(result, {0, 2, 1, 3}), {d[0], d[2], d[1] * d[3]});
  }
  n.results({result, k, v});
}

const OperatorRow kOperators[] = {
    {"Attention", 23, kLatest, attention},
    {"AveragePool", 7, kLatest, pool<PoolKind::avg>},
    {"BatchNormalization", 7, kLatest, batchNormalization},
    {"Conv", 1, kLatest, conv},
    {"Einsum", 12, kLatest, einsum},
    {"Gemm", 7, kLatest, gemm},
    {"GlobalAveragePool", 1, kLatest, globalPool<ReduceKind::mean>},
    {"GlobalMaxPool", 1, kLatest, globalPool<ReduceKind::max>},
    {"GroupNormalization", 18, kLatest, groupNormalization},
    {"InstanceNormalization", 6, kLatest, instanceNormalization},
    {"LayerNormalization", 17, kLatest, layerNormalization},
    {"LpNormalization", 1, kLatest, lpNormalization},
    {"MatMul", 1, kLatest, matmul},
    {"MatMulInteger", 10, kLatest, matmulInteger},
    {"MaxPool", 1, kLatest, pool<PoolKind::max>},
    {"MeanVarianceNormalization", 9, kLatest, meanVarianceNormalization},
    {"RMSNormalization", 23, kLatest, rmsNormalization},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::nnOperators() { return kOperators; }
