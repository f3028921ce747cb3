//===- Windows.cpp - ONNX operators that slide windows --------------------===//

#include "compiler/import/common/Windows.h"
#include "compiler/import/common/Resample.h"
#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// Reads the attributes of convolutions and pools over an input [N, C, spatial..]. Null after an
/// error or a refusal.
std::optional<WindowSizes> readWindow(NodeImporter &n, GraphBuilder &b, Value x, ArrayRef<int64_t> weightKernel = {}) {
  if (!x)
    return std::nullopt;
  int64_t spatial = b.rankOf(x) - 2;
  if (spatial < 1) {
    n.error() << "needs an input [N, C, spatial..], got " << b.text(b.typeOf(x));
    return std::nullopt;
  }
  SmallVector<int64_t> ones(spatial, 1), zeros(2 * spatial, 0);
  WindowSizes w{n.getInts("kernel_shape", weightKernel), n.getInts("strides", ones), n.getInts("dilations", ones), {}, {}};
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

SmallVector<NamedAttribute> windowAttributes(GraphBuilder &b, const WindowSizes &w) {
  return {b.ints("strides", w.strides), b.ints("dilations", w.dilations), b.ints("pads_lo", w.lo), b.ints("pads_hi", w.hi)};
}

/// The sizes of a kernel [.., .., kernel..]; null after a refusal.
std::optional<SmallVector<int64_t>> kernelOf(NodeImporter &n, GraphBuilder &b, Value weight) {
  SmallVector<int64_t> kernel;
  for (int64_t i = 2; i < b.rankOf(weight); ++i) {
    std::optional<int64_t> size = constantOf(dimOf(b.typeOf(weight), i));
    if (!size)
      return n.unsupported("the kernel's size is symbolic"), std::nullopt;
    kernel.push_back(*size);
  }
  return kernel;
}

std::optional<int64_t> readGroups(NodeImporter &n) {
  int64_t groups = n.getInt("group", 1);
  if (groups >= 1 && groups <= (1 << 24))
    return groups;
  n.error() << groups << " groups";
  return std::nullopt;
}

} // namespace

Value nx::onnx::emitConv(NodeImporter &n, GraphBuilder &b, Value x, Value weight, Value bias) {
  if (!x || !weight) // an error is reported already
    return {};
  std::optional<SmallVector<int64_t>> kernel = kernelOf(n, b, weight);
  if (!kernel)
    return {};
  if (b.rankOf(weight) != b.rankOf(x) || kernel->empty())
    return n.error() << "input " << b.text(b.typeOf(x)) << " and weights " << b.text(b.typeOf(weight))
                     << " must have the same rank, 3 or more", Value();
  std::optional<int64_t> groups = readGroups(n);
  std::optional<WindowSizes> window = groups ? readWindow(n, b, x, *kernel) : std::nullopt;
  if (!window)
    return {};
  SmallVector<NamedAttribute> attributes = windowAttributes(b, *window);
  attributes.push_back(b.i64("groups", *groups));
  return b.emitOptional<ConvOp>({x, weight, bias}, attributes);
}

namespace {

void conv(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1);
  if (x && weight)
    n.result(emitConv(n, b, x, weight, n.optionalInput(2)));
}

void convTransposed(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1);
  if (!x || !weight)
    return;
  std::optional<SmallVector<int64_t>> kernel = kernelOf(n, b, weight);
  if (!kernel)
    return;
  if (b.rankOf(weight) != b.rankOf(x) || kernel->empty()) {
    n.error() << "input " << b.text(b.typeOf(x)) << " and weights " << b.text(b.typeOf(weight))
              << " must have the same rank, 3 or more";
    return;
  }
  std::optional<int64_t> groups = readGroups(n);
  if (!groups)
    return;
  int64_t spatial = kernel->size();
  SmallVector<int64_t> ones(spatial, 1), zeros(spatial, 0);
  SmallVector<int64_t> extra = n.getInts("output_padding", zeros), wanted = n.getInts("output_shape");
  StringRef autoPad = n.getString("auto_pad", "NOTSET");
  WindowSizes w;
  if (autoPad == "NOTSET" && wanted.empty()) {
    std::optional<WindowSizes> read = readWindow(n, b, x, *kernel);
    if (!read)
      return;
    w = *read;
  } else {
    n.ignoreAttrs({"pads"}); // they follow from the sizes
    n.getInts("kernel_shape");
    w = {*kernel, n.getInts("strides", ones), n.getInts("dilations", ones), zeros, zeros};
  }
  if (extra.size() != size_t(spatial) || w.strides.size() != size_t(spatial) || w.dilations.size() != size_t(spatial)) {
    n.error() << "strides, dilations and output_padding do not fit " << spatial << " spatial dimensions";
    return;
  }
  constexpr int64_t limit = 1 << 24;
  for (ArrayRef<int64_t> list : {ArrayRef<int64_t>(w.strides), ArrayRef<int64_t>(w.dilations)})
    for (int64_t value : list)
      if (value < 1 || value > limit) {
        n.error() << "stride and dilation must be positive and below " << limit << ", one is " << value;
        return;
      }
  for (int64_t value : extra)
    if (value < 0 || value > limit) {
      n.error() << "output_padding of " << value;
      return;
    }
  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!isSame && autoPad != "NOTSET" && autoPad != "VALID") {
    n.error() << "auto_pad '" << autoPad << "' is not known";
    return;
  }
  // Some exporters give the whole shape.
  if (int64_t(wanted.size()) == spatial + 2)
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && int64_t(wanted.size()) != spatial) {
    n.error() << "output_shape does not fit " << spatial << " spatial dimensions";
    return;
  }
  for (int64_t i = 0; i < spatial && (isSame || !wanted.empty()); ++i) {
    if (w.kernel[i] > limit || (!wanted.empty() && (wanted[i] < 0 || wanted[i] > limit * limit))) {
      n.error() << "kernel or output_shape is out of range in spatial dimension " << i;
      return;
    }
    int64_t extent = w.dilations[i] * (w.kernel[i] - 1) + 1, total;
    if (wanted.empty()) {
      // The result is to be size * stride.
      total = extent - w.strides[i] + extra[i];
    } else {
      std::optional<int64_t> size = constantOf(dimOf(b.typeOf(x), i + 2));
      if (!size)
        return n.unsupported("output_shape for an input of symbolic size");
      if (*size > limit)
        return n.unsupported("output_shape for an input of size " + Twine(*size));
      total = w.strides[i] * (*size - 1) + extra[i] + extent - wanted[i];
    }
    if (total < 0) {
      // Elements that no input reaches are zeros (and the bias).
      extra[i] -= total;
      total = 0;
    }
    int64_t less = total / 2, more = total - less;
    w.lo[i] = autoPad == "SAME_UPPER" ? less : more;
    w.hi[i] = autoPad == "SAME_UPPER" ? more : less;
  }
  n.result(convTranspose(b, x, weight, n.optionalInput(2), w, extra, *groups));
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

std::optional<WindowSizes> readPool(NodeImporter &n, GraphBuilder &b, Value x) {
  if (!n.hasAttr("kernel_shape")) {
    n.error() << "kernel_shape is missing";
    return std::nullopt;
  }
  return readWindow(n, b, x);
}

void averagePool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<WindowSizes> window = readPool(n, b, x);
  if (window)
    n.result(pool(b, PoolKind::avg, x, *window, n.getInt("ceil_mode", 0), n.getInt("count_include_pad", 0)));
}

void maxPool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  bool columnMajor = n.getInt("storage_order", 0), ceilMode = n.getInt("ceil_mode", 0);
  std::optional<WindowSizes> window = readPool(n, b, x);
  if (!window)
    return;
  Value result = pool(b, PoolKind::max, x, *window, ceilMode, false), indices;
  if (n.hasOutput(1)) {
    SmallVector<NamedAttribute> attributes = windowAttributes(b, *window);
    attributes.push_back(b.ints("window", window->kernel));
    if (ceilMode)
      attributes.push_back(b.flag("ceil_mode"));
    Value place = b.emit<ArgPoolOp>(x, attributes);
    if (!place)
      return;
    // The operator counts through the whole tensor, and in column-major order from the outermost
    // spatial dimension on.
    Type i64 = b.builder.getI64Type();
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
    if (columnMajor) {
      Value rest = place, stride = b.scalar(i64, 1);
      SmallVector<Value> index(dims.size());
      for (size_t d = dims.size(); d-- > 2;) {
        Value size = b.sizeScalar(dims[d]);
        index[d] = b.emit<RemOp>({rest, size});
        rest = b.div(rest, size);
      }
      place = {};
      for (size_t d = 2; d < dims.size(); ++d) {
        Value term = b.mul(index[d], stride);
        place = place ? b.add(place, term) : term;
        stride = b.mul(stride, b.sizeScalar(dims[d]));
      }
    }
    SmallVector<AffineExpr> line(dims.size(), b.size(1)), channelLine(line);
    line[0] = dims[0];
    channelLine[1] = dims[1];
    Value image = b.add(b.mul(b.iota(line, 0, i64), b.sizeScalar(dims[1])), b.iota(channelLine, 1, i64));
    Value area = b.sizeScalar(productOf(ArrayRef(dims).drop_front(2), b.context()));
    indices = b.add(b.mul(image, area), place);
  }
  n.results({result, indices});
}

/// The p-norm of what `combine` sums up.
Value norm(GraphBuilder &b, Value x, int64_t p, llvm::function_ref<Value(Value)> sum) {
  Value magnitude = b.emit<AbsOp>(x);
  if (p == 1)
    return sum(magnitude);
  if (p == 2)
    return b.emit<SqrtOp>(sum(b.mul(x, x)));
  Value power = b.emit<PowOp>({magnitude, b.like(x, double(p))});
  return b.emit<PowOp>({sum(power), b.like(x, 1.0 / double(p))});
}

bool readNorm(NodeImporter &n, int64_t &p) {
  p = n.getInt("p", 2);
  if (p < 1)
    n.error() << "p is " << p << ", it must be positive";
  return p >= 1;
}

void lpPool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  int64_t p;
  bool ceilMode = n.getInt("ceil_mode", 0);
  if (!readNorm(n, p))
    return;
  std::optional<WindowSizes> window = readPool(n, b, x);
  if (window)
    n.result(norm(b, x, p, [&](Value y) { return pool(b, PoolKind::sum, y, *window, ceilMode, false); }));
}

/// The spatial axes of an input [N, C, spatial..]; empty after an error.
SmallVector<int64_t> spatialAxes(NodeImporter &n, GraphBuilder &b, Value x) {
  if (!x)
    return {};
  if (b.rankOf(x) < 3) {
    n.error() << "needs an input [N, C, spatial..], got " << b.text(b.typeOf(x));
    return {};
  }
  return llvm::to_vector(llvm::seq<int64_t>(2, b.rankOf(x)));
}

template <ReduceKind kind> void globalPool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  SmallVector<int64_t> axes = spatialAxes(n, b, x);
  if (!axes.empty())
    n.result(b.reduce(kind, x, axes, true));
}

void globalLpPool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  int64_t p;
  SmallVector<int64_t> axes = spatialAxes(n, b, x);
  if (!axes.empty() && readNorm(n, p))
    n.result(norm(b, x, p, [&](Value y) { return b.reduce(ReduceKind::sum, y, axes, true); }));
}

/// Values go back to where MaxPool took them from; the rest is 0.
void maxUnpool(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), indices = n.input(1);
  std::optional<WindowSizes> window = readPool(n, b, x);
  if (!window || !indices)
    return;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), unpooled{dims[0], dims[1]};
  for (size_t i = 2; i < dims.size(); ++i)
    unpooled.push_back(normalize((dims[i] - 1) * window->strides[i - 2] + window->kernel[i - 2] - window->lo[i - 2] -
                                 window->hi[i - 2]));
  AffineExpr total = productOf(unpooled, b.context()), count = productOf(dims, b.context());
  Value zeros = b.broadcast(b.like(x, 0), {total});
  Value flat = b.emit<ScatterElementsOp>(
      {zeros, b.reshape(indices, {count}), b.reshape(x, {count})},
      {b.i64("axis", 0), b.attr("reduction", ScatterKindAttr::get(b.context(), ScatterKind::set))});
  Value result = b.reshape(flat, unpooled);
  if (n.hasInput(2)) {
    auto wanted = n.sizes(2);
    if (!wanted)
      return;
    if (wanted->size() != dims.size()) {
      n.error() << wanted->size() << " output sizes for an input of rank " << dims.size();
      return;
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      b.requireAtMost(unpooled[i], (*wanted)[i], "the unpooled size");
      if (!b.failed() && !provablyEqual(unpooled[i], (*wanted)[i]))
        result = b.padAxis(result, i, b.size(0), (*wanted)[i] - unpooled[i]);
    }
  }
  n.result(result);
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

void lrn(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  int64_t size = n.requireInt("size");
  double alpha = n.getFloat("alpha", 1e-4), beta = n.getFloat("beta", 0.75), bias = n.getFloat("bias", 1);
  if (!x || b.failed())
    return;
  if (b.rankOf(x) < 2 || size < 1 || size > (1 << 24)) {
    n.error() << "needs an input [N, C, ..] and a positive size, got " << b.text(b.typeOf(x)) << " and " << size;
    return;
  }
  n.result(localResponseNorm(b, x, size, alpha, beta, bias));
}

void col2Im(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  auto image = n.sizes(1);
  auto block = n.constantInts(2);
  if (!x || !image || !block)
    return;
  size_t spatial = image->size();
  SmallVector<int64_t> ones(spatial, 1), zeros(2 * spatial, 0);
  SmallVector<int64_t> pads = n.getInts("pads", zeros);
  WindowSizes w{*block, n.getInts("strides", ones), n.getInts("dilations", ones), {}, {}};
  if (b.rankOf(x) != 3 || block->size() != spatial || w.strides.size() != spatial || w.dilations.size() != spatial ||
      pads.size() != 2 * spatial) {
    n.error() << "the input needs rank 3; image_shape, block_shape, strides, dilations and pads fit together";
    return;
  }
  for (ArrayRef<int64_t> list : {ArrayRef<int64_t>(w.kernel), ArrayRef<int64_t>(w.strides), ArrayRef<int64_t>(w.dilations)})
    for (int64_t value : list)
      if (value < 1 || value > (1 << 24)) {
        n.error() << "block, stride and dilation must be positive, one is " << value;
        return;
      }
  w.lo.assign(pads.begin(), pads.begin() + spatial);
  w.hi.assign(pads.begin() + spatial, pads.end());
  n.result(foldBlocks(b, x, *image, w));
}

/// Convolution whose taps are moved by data: the columns are sampled, then multiplied.
void deformConv(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1), offset = n.input(2), mask = n.optionalInput(4);
  if (!x || !weight || !offset)
    return;
  std::optional<SmallVector<int64_t>> kernel = kernelOf(n, b, weight);
  std::optional<int64_t> groups = readGroups(n);
  int64_t parts = n.getInt("offset_group", 1);
  if (!kernel || !groups)
    return;
  if (b.rankOf(x) != 4 || b.rankOf(weight) != 4 || b.rankOf(offset) != 4 || parts < 1) {
    n.error() << "needs an input, weights and offsets of rank 4";
    return;
  }
  std::optional<WindowSizes> window = readWindow(n, b, x, *kernel);
  if (!window)
    return;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), weightDims = dimsOf(b.typeOf(weight)), out = dimsOf(b.typeOf(offset));
  int64_t taps = (*kernel)[0] * (*kernel)[1];
  AffineExpr perPart = divideExactly(dims[1], b.size(parts)), perGroup = divideExactly(dims[1], b.size(*groups)),
             outputs = divideExactly(weightDims[0], b.size(*groups));
  if (!perPart || !perGroup || !outputs) {
    n.error() << b.text(dims[1]) << " channels do not divide into " << parts << " offset groups and " << *groups << " groups";
    return;
  }
  b.requireEqual(out[1], b.size(parts * taps * 2), "the offsets' channels");
  // Parts become images of their own: [N * parts, C / parts, H, W] at [N * parts, taps, OH, OW].
  AffineExpr images = normalize(dims[0] * parts), n0 = dims[0], oh = out[2], ow = out[3];
  Type element = b.elementOf(x), i64 = b.builder.getI64Type();
  Value moved = b.reshape(offset, {images, b.size(taps), b.size(2), oh, ow});
  SmallVector<Value> positions;
  for (int64_t d = 0; d < 2; ++d) {
    Value own = b.reshape(b.slice(moved, 2, b.size(d), b.size(1)), {images, b.size(taps), oh, ow});
    SmallVector<AffineExpr> placeLine(4, b.size(1)), tapLine(4, b.size(1));
    placeLine[2 + d] = d == 0 ? oh : ow;
    tapLine[1] = b.size(taps);
    Value tap = b.iota(tapLine, 1, i64), width = b.scalar(i64, double((*kernel)[1]));
    tap = d == 0 ? b.div(tap, width) : b.emit<RemOp>({tap, width});
    Value place = b.sub(b.mul(b.iota(placeLine, 2 + d, i64), double(window->strides[d])), double(window->lo[d]));
    Value regular = b.add(place, b.mul(tap, double(window->dilations[d])));
    positions.push_back(b.add(own, b.cast(regular, element)));
  }
  Value columns = sampleAt(b, b.reshape(x, {images, perPart, dims[2], dims[3]}), positions, Interpolation::linear,
                           SamplePadding::zeros, true); // [N * parts, C / parts, taps, OH, OW]
  if (mask)
    columns = b.mul(columns, b.reshape(mask, {images, b.size(1), b.size(taps), oh, ow}));
  AffineExpr depth = normalize(perGroup * taps), area = normalize(oh * ow);
  Value product = b.matmul(b.reshape(weight, {b.size(*groups), outputs, depth}),
                           b.reshape(columns, {n0, b.size(*groups), depth, area}));
  Value result = b.reshape(product, {n0, weightDims[0], oh, ow});
  if (Value bias = n.optionalInput(3))
    result = b.add(result, b.appendUnitDims(bias, 3));
  n.result(result);
}

void causalConvWithState(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1), past = n.optionalInput(3);
  StringRef activation = n.getString("activation", "none");
  if (!x || !weight)
    return;
  std::optional<SmallVector<int64_t>> kernel = kernelOf(n, b, weight);
  if (!kernel)
    return;
  if (b.rankOf(x) != 3 || kernel->size() != 1 || (past && b.rankOf(past) != 3)) {
    n.error() << "input, weights and past state must be of rank 3, input and weights are " << b.text(b.typeOf(x))
              << " and " << b.text(b.typeOf(weight));
    return;
  }
  std::optional<int64_t> channels = constantOf(dimOf(b.typeOf(x), 1));
  if (!channels)
    return n.unsupported("the number of channels must be static");
  AffineExpr before = b.size((*kernel)[0] - 1), length = dimOf(b.typeOf(x), 2);
  Value whole = past ? b.concat({past, x}, 2) : b.padAxis(x, 2, before, b.size(0));
  SmallVector<int64_t> one{1}, zero{0};
  Value y = b.emitOptional<ConvOp>({whole, weight, n.optionalInput(2)},
                                   {b.ints("strides", one), b.ints("dilations", one), b.ints("pads_lo", zero),
                                    b.ints("pads_hi", zero), b.i64("groups", *channels)});
  if (activation == "silu" || activation == "swish")
    y = b.emit<SiluOp>(y);
  else if (activation != "none")
    n.error() << "activation '" << activation << "' is not known";
  n.results({y, b.slice(whole, 2, length, before)});
}

const OperatorRow kOperators[] = {
    {"AveragePool", 7, kLatest, averagePool},
    {"CausalConvWithState", 27, kLatest, causalConvWithState},
    {"Col2Im", 18, kLatest, col2Im},
    {"Conv", 1, kLatest, conv},
    {"ConvTranspose", 1, kLatest, convTransposed},
    {"DeformConv", 19, kLatest, deformConv},
    {"GlobalAveragePool", 1, kLatest, globalPool<ReduceKind::mean>},
    {"GlobalLpPool", 2, kLatest, globalLpPool},
    {"GlobalMaxPool", 1, kLatest, globalPool<ReduceKind::max>},
    {"LRN", 1, kLatest, lrn},
    {"LpPool", 2, kLatest, lpPool},
    {"MaxPool", 1, kLatest, maxPool},
    {"MaxUnpool", 9, kLatest, maxUnpool},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::windowOperators() { return kOperators; }
