//===- Nn.cpp - ATen operators of neural networks -------------------------===//

#include "compiler/import/common/Resample.h"
#include "compiler/import/common/Windows.h"
#include "compiler/import/torch/NodeImporter.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

using Dims = SmallVector<AffineExpr>;

Dims dims(GraphBuilder &b, Value x) { return x ? dimsOf(b.typeOf(x)) : Dims(); }

/// x [C, S..] as [1, C, S..]; rank `batched` is that already.
Value withBatch(GraphBuilder &b, Value x, int64_t batched) {
  Dims all = dims(b, x);
  if (x && b.rankOf(x) == batched - 1) {
    all.insert(all.begin(), b.size(1));
    return b.reshape(x, all);
  }
  return x;
}
/// The result without the batch dimension that `x` did not have.
Value withoutBatch(GraphBuilder &b, Value result, Value x) {
  if (!result || !x || b.rankOf(result) == b.rankOf(x))
    return result;
  Dims all = dims(b, result);
  all.erase(all.begin());
  return b.reshape(result, all);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

constexpr int64_t kWindowLimit = 1 << 24;

/// True when all numbers of a list make sense for a window.
bool checkWindow(NodeImporter &n, GraphBuilder &b, StringRef what, ArrayRef<int64_t> values, size_t spatial, int64_t least) {
  if (b.failed() || n.unsupportedReason())
    return false;
  if (values.size() != spatial) {
    n.error() << what << " has " << values.size() << " numbers for " << spatial << " spatial dimensions";
    return false;
  }
  for (int64_t value : values)
    if (value < least || value > kWindowLimit) {
      n.error() << what << " of " << value;
      return false;
    }
  return true;
}

void convTransposed(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("input"), weight = n.tensor("weight"), bias = n.optionalTensor("bias");
  if (!x || !weight)
    return;
  int64_t spatial = b.rankOf(weight) - 2;
  if (spatial < 1 || (b.rankOf(x) != spatial + 2 && b.rankOf(x) != spatial + 1)) {
    n.error() << "input " << b.text(b.typeOf(x)) << " does not fit weights " << b.text(b.typeOf(weight));
    return;
  }
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0);
  WindowSizes window;
  window.strides = n.integers("stride", ones, spatial);
  window.dilations = n.integers("dilation", ones, spatial);
  window.lo = window.hi = n.integers("padding", zeros, spatial);
  SmallVector<int64_t> extra = n.integers("output_padding", zeros, spatial);
  for (int64_t i = 0; i < spatial; ++i) {
    std::optional<int64_t> kernel = constantOf(dimOf(b.typeOf(weight), i + 2));
    if (!kernel)
      return n.unsupported("the kernel's size is symbolic");
    window.kernel.push_back(*kernel);
  }
  int64_t groups = n.integer("groups", 1);
  if (!checkWindow(n, b, "stride", window.strides, spatial, 1) || !checkWindow(n, b, "dilation", window.dilations, spatial, 1) ||
      !checkWindow(n, b, "padding", window.lo, spatial, 0) || !checkWindow(n, b, "output_padding", extra, spatial, 0) ||
      !checkWindow(n, b, "groups", groups, 1, 1))
    return;
  n.result(withoutBatch(b, convTranspose(b, withBatch(b, x, spatial + 2), weight, bias, window, extra, groups), x));
}

void conv(NodeImporter &n, GraphBuilder &b) {
  // How another library computes it.
  n.ignore({"benchmark", "deterministic", "cudnn_enabled", "allow_tf32"});
  if (n.boolean("transposed", false))
    return convTransposed(n, b);
  n.ignore({"output_padding"});
  Value x = n.tensor("input"), weight = n.tensor("weight"), bias = n.optionalTensor("bias");
  if (!x || !weight)
    return;
  int64_t spatial = b.rankOf(weight) - 2;
  if (spatial < 1 || (b.rankOf(x) != spatial + 2 && b.rankOf(x) != spatial + 1)) {
    n.error() << "input " << b.text(b.typeOf(x)) << " does not fit weights " << b.text(b.typeOf(weight));
    return;
  }
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0), lo, hi;
  SmallVector<int64_t> strides = n.integers("stride", ones, spatial), dilations = n.integers("dilation", ones, spatial);
  if (const Argument *padding = n.argument("padding"); padding && padding->kind == Argument::Kind::String) {
    for (int64_t i = 0; i < spatial; ++i) {
      std::optional<int64_t> kernel = constantOf(dimOf(b.typeOf(weight), i + 2));
      if (!kernel)
        return n.unsupported("the kernel's size is symbolic");
      // "same": an odd element goes behind.
      int64_t total = padding->s == "same" ? dilations[i] * (*kernel - 1) : 0;
      lo.push_back(total / 2);
      hi.push_back(total - total / 2);
    }
  } else {
    lo = hi = n.integers("padding", zeros, spatial);
  }
  int64_t groups = n.integer("groups", 1);
  if (!checkWindow(n, b, "stride", strides, spatial, 1) || !checkWindow(n, b, "dilation", dilations, spatial, 1) ||
      !checkWindow(n, b, "padding", lo, spatial, 0) || !checkWindow(n, b, "groups", groups, 1, 1))
    return;
  Value result = b.emitOptional<ConvOp>({withBatch(b, x, spatial + 2), weight, bias},
                                        {b.ints("strides", strides), b.ints("dilations", dilations), b.ints("pads_lo", lo),
                                         b.ints("pads_hi", hi), b.i64("groups", groups)});
  n.result(withoutBatch(b, result, x));
}

template <PoolKind kind, int spatial> void pool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  if (b.rankOf(x) != spatial + 2 && b.rankOf(x) != spatial + 1) {
    n.error() << "needs " << spatial << " spatial dimensions, got " << b.text(b.typeOf(x));
    return;
  }
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0), window = n.integers("kernel_size", {}, spatial);
  SmallVector<int64_t> strides = n.integers("stride", window, spatial), padding = n.integers("padding", zeros, spatial);
  SmallVector<int64_t> dilations = n.integers("dilation", ones, spatial);
  bool ceilMode = n.boolean("ceil_mode", false), countsPadding = kind == PoolKind::avg && n.boolean("count_include_pad", true);
  if (!checkWindow(n, b, "kernel_size", window, spatial, 1) || !checkWindow(n, b, "stride", strides, spatial, 1) ||
      !checkWindow(n, b, "padding", padding, spatial, 0) || !checkWindow(n, b, "dilation", dilations, spatial, 1))
    return;
  Value batched = withBatch(b, x, spatial + 2);
  Dims cut;
  if (ceilMode) {
    for (int64_t i = 0; i < spatial; ++i) {
      std::optional<int64_t> size = constantOf(dimOf(b.typeOf(batched), i + 2));
      if (!size)
        return n.unsupported("ceil_mode over a dimension of symbolic size");
      // A window must start inside, or in the padding before.
      int64_t extent = dilations[i] * (window[i] - 1) + 1;
      int64_t count = llvm::divideCeilSigned(*size + 2 * padding[i] - extent, strides[i]) + 1;
      if ((count - 1) * strides[i] >= *size + padding[i])
        --count;
      cut.push_back(b.size(count));
    }
  }
  if (ceilMode && countsPadding && llvm::any_of(padding, [](int64_t p) { return p != 0; })) {
    // What counts is inside the input and its padding: zeros that are there.
    SmallVector<AffineExpr> amounts(spatial + 2, b.size(0));
    for (int64_t i = 0; i < spatial; ++i)
      amounts[i + 2] = b.size(padding[i]);
    batched = b.emit<PadOp>(batched, {b.dims("lo", amounts), b.dims("hi", amounts),
                                      b.attr("mode", PadModeAttr::get(b.context(), PadMode::constant))});
    padding = zeros;
    countsPadding = false;
  } else if (ceilMode && countsPadding) {
    countsPadding = false; // there is no padding, and what lies beyond does not count
  }
  SmallVector<NamedAttribute> attributes{b.attr("kind", PoolKindAttr::get(b.context(), kind)), b.ints("window", window),
                                         b.ints("strides", strides), b.ints("dilations", dilations),
                                         b.ints("pads_lo", padding), b.ints("pads_hi", padding)};
  if (ceilMode)
    attributes.push_back(b.flag("ceil_mode"));
  bool overrides = kind == PoolKind::avg && n.has("divisor_override");
  if (countsPadding || overrides)
    attributes.push_back(b.flag("count_include_pad"));
  if (overrides && ceilMode)
    return n.unsupported("divisor_override with ceil_mode");
  Value result = b.emit<PoolOp>(batched, attributes);
  if (overrides && result) {
    int64_t size = 1;
    for (int64_t k : window)
      size *= k;
    int64_t divisor = n.integer("divisor_override", 1);
    result = b.emit<MulOp>({result, b.scalar(b.elementOf(result), double(size) / double(divisor))});
  }
  if (result && ceilMode) {
    Dims whole = dims(b, result);
    for (int64_t i = 0; i < spatial; ++i)
      whole[i + 2] = cut[i];
    if (whole != dims(b, result))
      result = b.emitAs<SliceOp>(withDims(b.typeOf(result), whole), result,
                                 {b.dims("starts", Dims(spatial + 2, b.size(0))), b.ints("steps", SmallVector<int64_t>(spatial + 2, 1))});
  }
  n.result(withoutBatch(b, result, x));
}

/// Averages (or maxima) over `output_size` windows that cover each dimension as evenly as they can.
template <PoolKind kind, int spatial> void adaptivePool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Dims> sizes = n.sizes("output_size");
  if (!x || !sizes)
    return;
  if (sizes->size() == 1)
    sizes->assign(spatial, sizes->front());
  if (b.rankOf(x) < spatial + 1 || sizes->size() != spatial) {
    n.error() << "needs " << spatial << " spatial dimensions, got " << b.text(b.typeOf(x));
    return;
  }
  ReduceKind reduceKind = kind == PoolKind::avg ? ReduceKind::mean : ReduceKind::max;
  int64_t first = b.rankOf(x) - spatial;
  // All at once where every window is a whole dimension: the mean of an image.
  if (llvm::all_of(*sizes, [](AffineExpr size) { return constantOf(size) == 1; }))
    return n.result(b.reduce(reduceKind, x, llvm::to_vector(llvm::seq<int64_t>(first, b.rankOf(x))), true));
  for (auto [i, count] : llvm::enumerate(*sizes)) {
    int64_t axis = first + int64_t(i);
    AffineExpr size = x ? dimOf(b.typeOf(x), axis) : AffineExpr();
    if (!x || size == count)
      continue;
    if (AffineExpr each = constantOf(count) == 0 ? AffineExpr() : divideExactly(size, count)) {
      Dims split = dims(b, x);
      split[axis] = count;
      split.insert(split.begin() + axis + 1, each);
      x = b.reduce(reduceKind, b.reshape(x, split), axis + 1, false);
      continue;
    }
    if (kind == PoolKind::max)
      return n.unsupported("windows of different sizes");
    // Windows differ in length and may overlap: a product with the matrix of their weights. Window i
    // covers [floor(i * size / count), ceil((i + 1) * size / count)).
    Type i64 = b.builder.getI64Type(), element = b.elementOf(x);
    auto row = [&](AffineExpr start) {
      Value scaled = b.emitAs<IotaOp>(tensorOf({b.size(1), count}, i64), {},
                                      {b.i64("axis", 1), b.dims("start", start), b.dims("step", size)});
      return b.emit<FloorDivOp>({scaled, b.sizeScalar(count)});
    };
    Value begin = row(b.size(0)), end = row(normalize(size + count - 1));
    Value at = b.iota({size, b.size(1)}, 0, i64);
    Value inside = b.emit<AndOp>({b.compare(ComparePredicate::ge, at, begin), b.compare(ComparePredicate::lt, at, end)});
    Value weights = b.emit<DivOp>({b.cast(inside, element), b.cast(b.emit<SubOp>({end, begin}), element)});
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(x)));
    std::swap(perm[axis], perm.back());
    x = b.transpose(b.emit<MatmulOp>({b.transpose(x, perm), weights}), perm);
  }
  n.result(x);
}

/// Resizing of the spatial dimensions to given sizes or by given factors.
template <Interpolation interpolation, int spatial> void upsample(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor(n.argument("self") ? "self" : "input");
  if (!x)
    return;
  bool alignCorners = interpolation != Interpolation::nearest && n.boolean("align_corners", false);
  std::optional<Dims> sizes;
  SmallVector<std::optional<double>> scales(spatial);
  if (n.has("output_size") && !(sizes = n.sizes("output_size")))
    return;
  // One factor per dimension, in one list or by names.
  if (n.has("scale_factors")) {
    SmallVector<double> given = n.numbers("scale_factors");
    if (given.size() == spatial)
      scales.assign(given.begin(), given.end());
  }
  SmallVector<StringRef> names = spatial == 1   ? SmallVector<StringRef>{"scales"}
                                 : spatial == 2 ? SmallVector<StringRef>{"scales_h", "scales_w"}
                                                : SmallVector<StringRef>{"scales_d", "scales_h", "scales_w"};
  for (auto [scale, name] : llvm::zip(scales, names))
    if (n.has(name))
      scale = n.number(name, 1);
  if (b.rankOf(x) != spatial + 2 || (sizes && sizes->size() != spatial)) {
    n.error() << "needs " << spatial << " spatial dimensions, got " << b.text(b.typeOf(x));
    return;
  }
  ResizeSpec spec;
  spec.interpolation = interpolation;
  spec.coordinates = interpolation == Interpolation::nearest ? ResizeCoordinates::asymmetric
                     : alignCorners                          ? ResizeCoordinates::alignCorners
                                                             : ResizeCoordinates::halfPixel;
  spec.rounding = NearestRounding::floor;
  for (int64_t i = 0; i < spatial; ++i) {
    AffineExpr size = dimOf(b.typeOf(x), i + 2), count = sizes ? (*sizes)[i] : AffineExpr();
    if (!count && !scales[i])
      return n.unsupported("neither sizes nor factors");
    if (!count) {
      double scale = *scales[i];
      std::optional<int64_t> known = constantOf(size);
      if (std::floor(scale) == scale && scale >= 1 && scale <= 4096)
        count = normalize(size * int64_t(scale));
      else if (known)
        count = b.size(int64_t(std::floor(double(*known) * scale)));
      else
        return n.unsupported("a factor that is no whole number, of a dimension of symbolic size");
    }
    if (size == count && !scales[i])
      continue;
    x = resizeAxis(b, x, i + 2, count, scales[i], spec);
    if (!x)
      return;
  }
  n.result(x);
}

/// Values of an image at given points.
template <int spatial> void gridSampler(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("input"), grid = n.tensor("grid");
  int64_t interpolation = n.integer("interpolation_mode", 0), padding = n.integer("padding_mode", 0);
  bool alignCorners = n.boolean("align_corners", false);
  if (!x || !grid)
    return;
  if (interpolation < 0 || interpolation > 2 || padding < 0 || padding > 2 || (spatial == 3 && interpolation == 2))
    return n.unsupported("its interpolation or padding mode");
  n.result(gridSample(b, x, grid,
                      interpolation == 0   ? Interpolation::linear
                      : interpolation == 1 ? Interpolation::nearest
                                           : Interpolation::cubic,
                      padding == 0   ? SamplePadding::zeros
                      : padding == 1 ? SamplePadding::border
                                     : SamplePadding::reflection,
                      alignCorners));
}

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

/// One value per channel, shaped for [N, C, S..].
Value perChannel(GraphBuilder &b, Value part, Value x) {
  return part && x ? b.appendUnitDims(b.cast(part, b.elementOf(x)), b.rankOf(x) - 1) : Value();
}

Value normalizedByStatistics(NodeImporter &n, GraphBuilder &b, Value x, Value mean, Value variance, double eps) {
  Value weight = n.optionalTensor("weight"), bias = n.optionalTensor("bias");
  if (!x || !mean || !variance)
    return {};
  // weight * (x - mean) / sqrt(variance + eps) + bias as one factor and one summand per channel.
  Value factor = b.emit<RsqrtOp>(b.emit<AddOp>({variance, b.scalar(b.elementOf(variance), eps)}));
  Type element = b.elementOf(factor);
  if (weight)
    factor = b.emit<MulOp>({b.cast(weight, element), factor});
  Value offset = b.emit<MulOp>({mean, factor});
  Value summand = bias ? b.emit<SubOp>({b.cast(bias, element), offset}) : b.emit<NegOp>(offset);
  return b.emit<AddOp>({b.emit<MulOp>({x, perChannel(b, factor, x)}), perChannel(b, summand, x)});
}

/// Statistics over all dimensions but the channels.
Value normalizedByBatch(NodeImporter &n, GraphBuilder &b, Value x, double eps) {
  if (!x || b.rankOf(x) < 2)
    return {};
  SmallVector<int64_t> axes{0};
  llvm::append_range(axes, llvm::seq<int64_t>(2, b.rankOf(x)));
  Type wide = b.elementOf(x).getIntOrFloatBitWidth() < 32 ? Type(b.builder.getF32Type()) : b.elementOf(x);
  Value centred = b.emit<SubOp>({b.cast(x, wide), b.reduce(ReduceKind::mean, b.cast(x, wide), axes, true)});
  Value variance = b.reduce(ReduceKind::mean, b.emit<MulOp>({centred, centred}), axes, true);
  Value result = b.emit<MulOp>({centred, b.emit<RsqrtOp>(b.emit<AddOp>({variance, b.scalar(wide, eps)}))});
  if (Value weight = n.optionalTensor("weight"))
    result = b.emit<MulOp>({result, perChannel(b, weight, result)});
  if (Value bias = n.optionalTensor("bias"))
    result = b.emit<AddOp>({result, perChannel(b, bias, result)});
  return b.cast(result, b.elementOf(x));
}

void batchNorm(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"momentum", "cudnn_enabled"});
  Value x = n.tensor("input");
  double eps = n.number("eps", 1e-5);
  if (n.boolean("training", false)) {
    if (n.has("running_mean") || n.has("running_var"))
      return n.unsupported("it is in training mode, where it changes its running statistics; export the model after eval()");
    return n.result(normalizedByBatch(n, b, x, eps));
  }
  n.result(normalizedByStatistics(n, b, x, n.tensor("running_mean"), n.tensor("running_var"), eps));
}
void instanceNorm(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"momentum", "cudnn_enabled"});
  Value x = n.tensor("input");
  if (!x)
    return;
  double eps = n.number("eps", 1e-5);
  if (!n.boolean("use_input_stats", true))
    return n.result(normalizedByStatistics(n, b, x, n.tensor("running_mean"), n.tensor("running_var"), eps));
  if (n.has("running_mean") || n.has("running_var"))
    return n.unsupported("it changes its running statistics; export the model after eval()");
  std::optional<int64_t> channels = b.rankOf(x) > 2 ? constantOf(dimOf(b.typeOf(x), 1)) : std::nullopt;
  if (!channels)
    return n.unsupported("the number of channels must be static");
  Value weight = n.optionalTensor("weight"), bias = n.optionalTensor("bias");
  auto filled = [&](double value) { return b.broadcast(b.scalar(b.elementOf(x), value), {b.size(*channels)}); };
  n.result(b.emit<GroupNormOp>({x, weight ? weight : filled(1), bias ? bias : filled(0)},
                               {b.i64("groups", *channels), b.f64("epsilon", eps)}));
}
void groupNorm(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"cudnn_enabled", "N", "C", "HxW"});
  Value x = n.tensor("input"), weight = n.optionalTensor("weight"), bias = n.optionalTensor("bias");
  int64_t groups = n.integer(n.argument("group") ? "group" : "num_groups", 1);
  if (!x)
    return;
  std::optional<int64_t> channels = b.rankOf(x) > 1 ? constantOf(dimOf(b.typeOf(x), 1)) : std::nullopt;
  if (!channels)
    return n.unsupported("the number of channels must be static");
  if (groups < 1 || *channels % groups) {
    n.error() << *channels << " channels do not divide into " << groups << " groups";
    return;
  }
  Value image = x;
  if (b.rankOf(x) == 2) // channels alone
    image = b.appendUnitDims(x, 3);
  auto filled = [&](double value) { return b.broadcast(b.scalar(b.elementOf(x), value), {b.size(*channels)}); };
  Value result = b.emit<GroupNormOp>({image, weight ? weight : filled(1), bias ? bias : filled(0)},
                                     {b.i64("groups", groups), b.f64("epsilon", n.number("eps", 1e-5))});
  n.results({result ? b.reshape(result, dims(b, x)) : Value(), Value(), Value()});
}

/// The first of the dimensions that are normalized.
std::optional<int64_t> normAxis(NodeImporter &n, GraphBuilder &b, Value x) {
  std::optional<Dims> shape = n.sizes("normalized_shape");
  if (!x || !shape)
    return std::nullopt;
  int64_t axis = b.rankOf(x) - int64_t(shape->size());
  if (axis < 0) {
    n.error() << "normalizes " << shape->size() << " dimensions of " << b.text(b.typeOf(x));
    return std::nullopt;
  }
  for (auto [i, size] : llvm::enumerate(*shape))
    b.requireEqual(dimOf(b.typeOf(x), axis + i), size, "the normalized dimensions");
  return axis;
}
void layerNorm(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"cudnn_enable"});
  Value x = n.tensor("input"), weight = n.optionalTensor("weight"), bias = n.optionalTensor("bias");
  double eps = n.number("eps", 1e-5);
  std::optional<int64_t> axis = normAxis(n, b, x);
  if (!axis)
    return;
  Value result = b.emitOptional<LayerNormOp>({x, weight, bias}, {b.i64("axis", *axis), b.f64("epsilon", eps)},
                                             /*countSegments=*/true);
  n.results({result, Value(), Value()});
}
void rmsNorm(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("input"), weight = n.optionalTensor("weight");
  std::optional<int64_t> axis = normAxis(n, b, x);
  if (!axis)
    return;
  // Without an epsilon torch takes the type's own.
  APFloat own(cast<FloatType>(b.elementOf(x)).getFloatSemantics(), 1);
  double machine = std::ldexp(1.0, -int(APFloat::semanticsPrecision(own.getSemantics())) + 1);
  n.result(b.emitOptional<RmsNormOp>({x, weight}, {b.i64("axis", *axis), b.f64("epsilon", n.number("eps", machine))}));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// x as [B, H, S, D]: dimensions in front of the last three are one.
Value asHeads(GraphBuilder &b, Value x) {
  Dims all = dims(b, x);
  if (!x || all.size() == 4)
    return x;
  if (all.size() < 4) {
    all.insert(all.begin(), 4 - all.size(), b.size(1));
    return b.reshape(x, all);
  }
  Dims merged{productOf(ArrayRef(all).drop_back(3), b.context())};
  merged.append(all.end() - 3, all.end());
  return b.reshape(x, merged);
}

void attention(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"enable_gqa", "return_debug_mask"}); // equal heads are shared ones, one by one
  Value q = n.tensor("query"), k = n.tensor("key"), v = n.tensor("value"), mask = n.optionalTensor("attn_mask");
  if (!q || !k || !v)
    return;
  if (n.number("dropout_p", 0) != 0)
    return n.unsupported("dropout_p is not 0; export the model after eval()");
  bool isCausal = n.boolean("is_causal", false);
  int64_t rank = b.rankOf(q);
  if (rank < 2 || b.rankOf(k) != rank || b.rankOf(v) != rank)
    return n.unsupported("query, key and value of different ranks");
  std::optional<int64_t> size = constantOf(dimOf(b.typeOf(q), rank - 1));
  if (!size && !n.has("scale"))
    return n.unsupported("the size of a head is symbolic");
  double scale = n.number("scale", 1 / std::sqrt(double(std::max<int64_t>(size.value_or(1), 1))));
  // Batches of size 1 are shared.
  for (int64_t i = 0; i + 3 < rank; ++i) {
    AffineExpr common = b.size(1);
    for (Value x : {q, k, v})
      if (AffineExpr merged = broadcastDim(common, dimOf(b.typeOf(x), i)))
        common = merged;
    for (Value *x : {&q, &k, &v}) {
      Dims all = dims(b, *x);
      if (constantOf(all[i]) == 1) {
        all[i] = common;
        *x = b.broadcast(*x, all);
      }
    }
  }
  Dims result = dims(b, q);
  result.back() = dimOf(b.typeOf(v), rank - 1);
  AffineExpr keys = dimOf(b.typeOf(k), rank - 2);
  if (mask && rank > 4) {
    Dims whole = dims(b, q);
    whole.back() = keys;
    mask = asHeads(b, b.broadcast(mask, whole));
  }
  q = asHeads(b, q), k = asHeads(b, k), v = asHeads(b, v);
  // A row whose keys are all excluded gives zeros.
  SmallVector<NamedAttribute> attributes{b.f64("scale", scale), b.flag("zero_without_keys")};
  if (isCausal)
    attributes.push_back(b.dims("causal", b.size(0)));
  if (mask && isa<FloatType>(b.elementOf(mask)))
    mask = b.cast(mask, b.elementOf(q));
  Value output = b.emitOptional<AttentionOp>({q, k, v, mask}, attributes);
  n.result(output ? b.reshape(output, result) : Value());
}

const OperatorRow kOperators[] = {
    {"aten._adaptive_avg_pool2d", "", adaptivePool<PoolKind::avg, 2>},
    {"aten._adaptive_avg_pool3d", "", adaptivePool<PoolKind::avg, 3>},
    {"aten.adaptive_avg_pool1d", "", adaptivePool<PoolKind::avg, 1>},
    {"aten.adaptive_avg_pool2d", "", adaptivePool<PoolKind::avg, 2>},
    {"aten.adaptive_avg_pool3d", "", adaptivePool<PoolKind::avg, 3>},
    {"aten.adaptive_max_pool1d", "", adaptivePool<PoolKind::max, 1>},
    {"aten.adaptive_max_pool2d", "", adaptivePool<PoolKind::max, 2>},
    {"aten.adaptive_max_pool3d", "", adaptivePool<PoolKind::max, 3>},
    {"aten.avg_pool1d", "", pool<PoolKind::avg, 1>},
    {"aten.avg_pool2d", "", pool<PoolKind::avg, 2>},
    {"aten.avg_pool3d", "", pool<PoolKind::avg, 3>},
    {"aten.batch_norm", "", batchNorm},
    {"aten.conv1d", "default padding", conv},
    {"aten.conv2d", "default padding", conv},
    {"aten.conv3d", "default padding", conv},
    {"aten.conv_transpose1d", "", convTransposed},
    {"aten.conv_transpose2d", "input", convTransposed},
    {"aten.conv_transpose3d", "input", convTransposed},
    {"aten.convolution", "", conv},
    {"aten._convolution", "default deprecated", conv},
    {"aten.grid_sampler", "", gridSampler<2>},
    {"aten.grid_sampler_2d", "", gridSampler<2>},
    {"aten.grid_sampler_3d", "", gridSampler<3>},
    {"aten.group_norm", "", groupNorm},
    {"aten.instance_norm", "", instanceNorm},
    {"aten.layer_norm", "", layerNorm},
    {"aten.max_pool1d", "", pool<PoolKind::max, 1>},
    {"aten.max_pool1d_with_indices", "", pool<PoolKind::max, 1>},
    {"aten.max_pool2d", "", pool<PoolKind::max, 2>},
    {"aten.max_pool2d_with_indices", "", pool<PoolKind::max, 2>},
    {"aten.max_pool3d", "", pool<PoolKind::max, 3>},
    {"aten.max_pool3d_with_indices", "", pool<PoolKind::max, 3>},
    {"aten.native_batch_norm", "", batchNorm},
    {"aten._native_batch_norm_legit", "default no_stats", batchNorm},
    {"aten._native_batch_norm_legit_no_training", "", batchNorm},
    {"aten.native_group_norm", "", groupNorm},
    {"aten.native_layer_norm", "", layerNorm},
    {"aten.rms_norm", "", rmsNorm},
    {"aten._fused_rms_norm", "", rmsNorm},
    {"aten.scaled_dot_product_attention", "", attention},
    {"aten._scaled_dot_product_attention_math", "", attention},
    {"aten._scaled_dot_product_flash_attention_for_cpu", "", attention},
    {"aten.upsample_bicubic2d", "default vec", upsample<Interpolation::cubic, 2>},
    {"aten.upsample_bilinear2d", "default vec", upsample<Interpolation::linear, 2>},
    {"aten.upsample_linear1d", "default vec", upsample<Interpolation::linear, 1>},
    {"aten.upsample_nearest1d", "default vec", upsample<Interpolation::nearest, 1>},
    {"aten.upsample_nearest2d", "default vec", upsample<Interpolation::nearest, 2>},
    {"aten.upsample_nearest3d", "default vec", upsample<Interpolation::nearest, 3>},
    {"aten.upsample_trilinear3d", "default vec", upsample<Interpolation::linear, 3>},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::nnOperators() { return kOperators; }
