//===- Resample.cpp - ONNX operators that resize and sample ---------------===//

#include "compiler/import/common/Resample.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

std::optional<Interpolation> interpolationOf(StringRef mode) {
  return llvm::StringSwitch<std::optional<Interpolation>>(mode)
      .Case("nearest", Interpolation::nearest)
      .Cases({"linear", "bilinear"}, Interpolation::linear)
      .Cases({"cubic", "bicubic"}, Interpolation::cubic)
      .Default(std::nullopt);
}

/// Constants of an input of floats; null after a refusal.
std::optional<SmallVector<double>> constantFloats(NodeImporter &n, size_t i, StringRef what) {
  DenseElementsAttr known = knownConstant(n.input(i));
  if (!known || !isa<FloatType>(known.getElementType()))
    return n.unsupported(what + " must be constant"), std::nullopt;
  SmallVector<double> values;
  for (APFloat value : known.getValues<APFloat>()) {
    bool losesInfo;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    values.push_back(value.convertToDouble());
  }
  return values;
}

bool isEmptyInput(NodeImporter &n, GraphBuilder &b, size_t i) {
  return !n.hasInput(i) || (b.rankOf(n.input(i)) == 1 && constantOf(dimOf(b.typeOf(n.input(i)), 0)) == 0);
}

std::optional<ResizeSpec> readResize(NodeImporter &n) {
  ResizeSpec spec;
  StringRef mode = n.getString("mode", "nearest");
  std::optional<Interpolation> interpolation = interpolationOf(mode);
  // Upsample and the first Resize stretch without an offset and round down.
  bool isOld = n.opset() < 11;
  StringRef coordinates = n.getString("coordinate_transformation_mode", isOld ? "asymmetric" : "half_pixel");
  auto transform = llvm::StringSwitch<std::optional<ResizeCoordinates>>(coordinates)
                       .Case("half_pixel", ResizeCoordinates::halfPixel)
                       .Case("half_pixel_symmetric", ResizeCoordinates::halfPixelSymmetric)
                       .Case("pytorch_half_pixel", ResizeCoordinates::pytorchHalfPixel)
                       .Case("align_corners", ResizeCoordinates::alignCorners)
                       .Case("asymmetric", ResizeCoordinates::asymmetric)
                       .Case("tf_crop_and_resize", ResizeCoordinates::cropAndResize)
                       .Default(std::nullopt);
  StringRef nearest = n.getString("nearest_mode", isOld ? "floor" : "round_prefer_floor");
  auto rounding = llvm::StringSwitch<std::optional<NearestRounding>>(nearest)
                      .Case("round_prefer_floor", NearestRounding::preferFloor)
                      .Case("round_prefer_ceil", NearestRounding::preferCeil)
                      .Case("floor", NearestRounding::floor)
                      .Case("ceil", NearestRounding::ceil)
                      .Default(std::nullopt);
  if (coordinates == "tf_half_pixel_for_nn")
    return n.unsupported("coordinates 'tf_half_pixel_for_nn'"), std::nullopt;
  if (!interpolation || !transform || !rounding) {
    n.error() << "mode '" << mode << "', coordinates '" << coordinates << "' or rounding '" << nearest << "' is not known";
    return std::nullopt;
  }
  spec.interpolation = *interpolation;
  spec.coordinates = *transform;
  spec.rounding = *rounding;
  spec.cubicCoefficient = n.getFloat("cubic_coeff_a", -0.75);
  spec.excludeOutside = n.getInt("exclude_outside", 0);
  spec.antialias = n.getInt("antialias", 0) && *interpolation != Interpolation::nearest;
  spec.extrapolation = n.getFloat("extrapolation_value", 0);
  return spec;
}

void resize(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<ResizeSpec> spec = readResize(n);
  if (!x || !spec)
    return;
  int64_t rank = b.rankOf(x);
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  SmallVector<int64_t> axes;
  for (int64_t axis : n.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, rank))))
    axes.push_back(n.axis(axis, rank));
  StringRef policy = n.getString("keep_aspect_ratio_policy", "stretch");
  if (b.failed())
    return;

  // Upsample-7 has the scales as an attribute; Upsample-9 and Resize-10 have them at 1; later ones have a region before
  // them and sizes behind.
  size_t scalesAt = n.opset() >= 11 ? 2 : 1;
  SmallVector<double> scales;
  SmallVector<AffineExpr> counts;
  if (n.opset() < 9) {
    scales = n.getFloats("scales");
  } else if (!isEmptyInput(n, b, scalesAt)) {
    auto given = constantFloats(n, scalesAt, "the scales");
    if (!given)
      return;
    scales = *given;
  } else if (n.opset() >= 11 && n.hasInput(3)) {
    auto sizes = n.sizes(3);
    if (!sizes)
      return;
    counts = *sizes;
  }
  if (scales.size() != axes.size() && counts.size() != axes.size()) {
    n.error() << std::max(scales.size(), counts.size()) << " scales or sizes for " << axes.size() << " axes";
    return;
  }
  SmallVector<double> regions(2 * axes.size(), 0);
  if (spec->coordinates == ResizeCoordinates::cropAndResize) {
    if (isEmptyInput(n, b, 1)) {
      n.error() << "the region is missing";
      return;
    }
    auto given = constantFloats(n, 1, "the region");
    if (!given)
      return;
    if (given->size() != regions.size()) {
      n.error() << given->size() << " bounds of a region for " << axes.size() << " axes";
      return;
    }
    regions = *given;
  }

  SmallVector<std::optional<double>> factors(axes.size());
  for (auto [i, scale] : llvm::enumerate(scales)) {
    if (!(scale > 0) || scale > 1e6) {
      n.error() << "a scale is " << scale;
      return;
    }
    factors[i] = scale;
  }
  if (counts.empty()) {
    for (auto [i, axis] : llvm::enumerate(axes)) {
      double part = spec->coordinates == ResizeCoordinates::cropAndResize ? regions[i + axes.size()] - regions[i] : 1;
      double whole = scales[i] * part;
      if (std::optional<int64_t> size = constantOf(dims[axis])) {
        double count = std::floor(double(*size) * part * scales[i]);
        if (!(count >= 0 && count < double(int64_t(1) << 53))) {
          n.error() << "the scale " << scales[i] << " makes " << *size << " elements " << count;
          return;
        }
        counts.push_back(b.size(int64_t(count)));
      } else if (whole >= 1 && whole <= 1e6 && whole == std::floor(whole)) {
        counts.push_back(dims[axis] * int64_t(whole));
      } else if (double inverse = 1 / whole; inverse >= 1 && inverse <= 1e6 && inverse == std::floor(inverse)) {
        counts.push_back(dims[axis].floorDiv(int64_t(inverse)));
      } else {
        return n.unsupported("scale " + Twine(std::to_string(whole)) + " of a dimension of symbolic size");
      }
    }
  } else {
    // Scales that follow from sizes; with a policy they are one for all axes.
    std::optional<double> common;
    for (auto [i, axis] : llvm::enumerate(axes)) {
      std::optional<int64_t> size = constantOf(dims[axis]), count = constantOf(counts[i]);
      if (size && count && *size > 0) {
        factors[i] = double(*count) / double(*size);
        common = !common ? *factors[i] : policy == "not_larger" ? std::min(*common, *factors[i]) : std::max(*common, *factors[i]);
      } else if (policy != "stretch") {
        return n.unsupported("keep_aspect_ratio_policy for symbolic sizes");
      }
    }
    if (policy == "not_larger" || policy == "not_smaller") {
      for (auto [i, axis] : llvm::enumerate(axes)) {
        factors[i] = *common;
        counts[i] = b.size(int64_t(std::floor(*common * double(*constantOf(dims[axis])) + 0.5)));
      }
    } else if (policy != "stretch") {
      n.error() << "keep_aspect_ratio_policy '" << policy << "' is not known";
      return;
    }
  }

  // Whole factors repeat elements.
  SmallVector<int64_t> repeats(rank, 1);
  bool isWhole = repeatsElements(*spec);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    AffineExpr factor = constantOf(dims[axis]) == 0 ? AffineExpr() : divideExactly(counts[i], dims[axis]);
    std::optional<int64_t> constant = factor ? constantOf(factor) : std::nullopt;
    isWhole &= constant && *constant >= 1 && factors[i].value_or(double(*constant)) == double(*constant);
    repeats[axis] = constant.value_or(1);
  }
  if (isWhole)
    return n.result(repeatElements(b, x, repeats));

  for (auto [i, axis] : llvm::enumerate(axes)) {
    bool crops = spec->coordinates == ResizeCoordinates::cropAndResize;
    if (!crops && provablyEqual(counts[i], dims[axis]) && factors[i].value_or(1) == 1)
      continue;
    if (crops && regions[i] == 0 && regions[i + axes.size()] == 1 && provablyEqual(counts[i], dims[axis]))
      continue;
    if (spec->antialias && !factors[i])
      return n.unsupported("antialias for symbolic sizes");
    if (spec->antialias && *factors[i] < 1.0 / 64)
      return n.unsupported("antialias for a result of less than a 64th of the size");
    x = resizeAxis(b, x, axis, counts[i], factors[i], *spec, regions[i], regions[i + axes.size()]);
    if (!x)
      return;
  }
  n.result(x);
}

void gridSampleNode(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), grid = n.input(1);
  StringRef mode = n.getString("mode", n.opset() < 20 ? "bilinear" : "linear");
  StringRef padding = n.getString("padding_mode", "zeros");
  bool alignCorners = n.getInt("align_corners", 0);
  std::optional<Interpolation> interpolation = interpolationOf(mode);
  auto outside = llvm::StringSwitch<std::optional<SamplePadding>>(padding)
                     .Case("zeros", SamplePadding::zeros)
                     .Case("border", SamplePadding::border)
                     .Case("reflection", SamplePadding::reflection)
                     .Default(std::nullopt);
  if (!x || !grid)
    return;
  if (!interpolation || !outside || b.rankOf(x) < 3 || b.rankOf(x) != b.rankOf(grid) ||
      constantOf(dimOf(b.typeOf(grid), b.rankOf(grid) - 1)) != b.rankOf(x) - 2) {
    n.error() << "of " << b.text(b.typeOf(x)) << " at " << b.text(b.typeOf(grid)) << ", mode '" << mode
              << "', padding_mode '" << padding << "'";
    return;
  }
  n.result(gridSample(b, x, grid, *interpolation, *outside, alignCorners));
}

void affineGridNode(NodeImporter &n, GraphBuilder &b) {
  Value theta = n.input(0);
  auto sizes = n.sizes(1);
  bool alignCorners = n.getInt("align_corners", 0);
  if (!theta || !sizes)
    return;
  if (b.rankOf(theta) != 3 || sizes->size() < 4 || sizes->size() > 5 ||
      constantOf(dimOf(b.typeOf(theta), 1)) != int64_t(sizes->size()) - 2) {
    n.error() << "theta " << b.text(b.typeOf(theta)) << " does not fit " << sizes->size() << " sizes";
    return;
  }
  b.requireEqual(dimOf(b.typeOf(theta), 0), (*sizes)[0], "the batch");
  n.result(affineGrid(b, theta, ArrayRef(*sizes).drop_front(2), alignCorners));
}

void roiAlign(NodeImporter &n, GraphBuilder &b) {
  StringRef coordinates = n.getString("coordinate_transformation_mode", n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  StringRef mode = n.getString("mode", "avg");
  if ((coordinates != "half_pixel" && coordinates != "output_half_pixel") || (mode != "avg" && mode != "max")) {
    n.error() << "coordinates '" << coordinates << "' or mode '" << mode << "' is not known";
    return;
  }
  SmallVector<NamedAttribute> attributes{b.i64("height", n.getInt("output_height", 1)), b.i64("width", n.getInt("output_width", 1)),
                                         b.i64("sampling", n.getInt("sampling_ratio", 0)),
                                         b.f64("scale", n.getFloat("spatial_scale", 1))};
  if (coordinates == "half_pixel")
    attributes.push_back(b.flag("half_pixel"));
  if (mode == "max")
    attributes.push_back(b.flag("maximum"));
  Value x = n.input(0), rois = n.input(1);
  if (x && rois)
    n.result(b.emit<RoiAlignOp>({x, b.cast(rois, b.elementOf(x)), n.input(2)}, attributes));
}

const OperatorRow kOperators[] = {
    {"AffineGrid", 20, kLatest, affineGridNode},
    {"GridSample", 16, kLatest, gridSampleNode},
    {"Resize", 10, kLatest, resize},
    {"RoiAlign", 10, kLatest, roiAlign},
    {"Upsample", 7, 9, resize},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::resampleOperators() { return kOperators; }
