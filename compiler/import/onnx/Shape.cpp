//===- Shape.cpp - ONNX operators that compute or use sizes ---------------===//

#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

void constant(NodeImporter &n, GraphBuilder &b) {
  using Kind = onnx::Attribute::Kind;
  auto vector = [&](auto values, Type element) {
    auto type = RankedTensorType::get({int64_t(values.size())}, element);
    if (!isSmall(type))
      return n.unsupported("a list attribute of more than 1 KiB; store it as a tensor");
    n.result(b.constant(DenseElementsAttr::get(type, values)));
  };
  if (n.hasAttr("value"))
    return n.result(n.getTensor("value"));
  if (n.hasAttr("value_int"))
    return n.result(b.sizeScalar(b.size(n.requireInt("value_int"))));
  if (n.hasAttr("value_float"))
    return n.result(b.scalar(b.builder.getF32Type(), n.getFloat("value_float", 0)));
  if (const onnx::Attribute *ints = n.getAttr("value_ints", Kind::Ints))
    return vector(ArrayRef<int64_t>(ints->ints), b.builder.getI64Type());
  if (const onnx::Attribute *floats = n.getAttr("value_floats", Kind::Floats))
    return vector(ArrayRef<float>(floats->floats), b.builder.getF32Type());
  if (n.hasAttr("value_string") || n.hasAttr("value_strings"))
    return n.unsupported("nx does not have strings");
  if (n.hasAttr("sparse_value"))
    return n.unsupported("nx does not have sparse tensors");
  if (!b.failed())
    n.error() << "it has no value";
}

void shape(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t rank = b.rankOf(x), start = n.getInt("start", 0), end = n.getInt("end", rank);
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, 0, rank);
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  n.result(b.sizes(ArrayRef(dims).slice(start, std::max<int64_t>(end - start, 0))));
}

void size(NodeImporter &n, GraphBuilder &b) {
  if (Value x = n.input(0))
    n.result(b.sizeScalar(productOf(dimsOf(b.typeOf(x)), b.context())));
}

/// The sizes that input `i` lists. Negative ones are an error unless they have a meaning.
std::optional<SmallVector<AffineExpr>> targetShape(NodeImporter &n, GraphBuilder &b, size_t i,
                                                   bool mayBeNegative = false) {
  Value list = n.input(i);
  if (!list)
    return std::nullopt;
  if (b.rankOf(list) != 1) {
    n.error() << "the list of sizes has rank " << b.rankOf(list) << ", it must be 1";
    return std::nullopt;
  }
  std::optional<SmallVector<AffineExpr>> sizes = n.sizes(i);
  for (AffineExpr size : sizes.value_or(SmallVector<AffineExpr>()))
    if (std::optional<int64_t> constant = constantOf(size); constant && *constant < 0 && !mayBeNegative) {
      n.error() << "size " << *constant << " is negative";
      return std::nullopt;
    }
  return sizes;
}

void constantOfShape(NodeImporter &n, GraphBuilder &b) {
  Value fill = n.hasAttr("value") ? n.getTensor("value") : b.scalar(b.builder.getF32Type(), 0);
  std::optional<SmallVector<AffineExpr>> dims = targetShape(n, b, 0);
  if (!fill || !dims)
    return;
  if (!b.typeOf(fill).hasStaticShape() || b.typeOf(fill).getNumElements() != 1) {
    n.error() << "the fill value must have one element";
    return;
  }
  n.result(b.broadcast(b.reshape(fill, {}), *dims));
}

void expand(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<SmallVector<AffineExpr>> target = targetShape(n, b, 1);
  if (!x || !target)
    return;
  // The shapes broadcast together: either may have the larger rank or size.
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  size_t rank = std::max(dims.size(), target->size());
  dims.insert(dims.begin(), rank - dims.size(), b.size(1));
  target->insert(target->begin(), rank - target->size(), b.size(1));
  for (size_t i = 0; i < rank; ++i) {
    AffineExpr merged = broadcastDim(dims[i], (*target)[i]);
    if (!merged) {
      n.error() << b.text(b.typeOf(x)) << " does not expand to size " << b.text((*target)[i]) << " of dimension " << i;
      return;
    }
    if (constantOf((*target)[i]) != 1)
      b.requireEqual(merged, (*target)[i], "dimension " + Twine(i));
    dims[i] = merged;
  }
  n.result(b.broadcast(x, dims));
}

void reshape(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<SmallVector<AffineExpr>> target = targetShape(n, b, 1, /*mayBeNegative=*/true);
  if (!x || !target)
    return;
  bool allowZero = n.getInt("allowzero", 0);
  SmallVector<AffineExpr> from = dimsOf(b.typeOf(x));
  int64_t inferred = -1;
  for (auto [i, dim] : llvm::enumerate(*target)) {
    std::optional<int64_t> constant = constantOf(dim);
    if (constant == 0 && !allowZero) {
      if (i >= from.size()) {
        n.error() << "size 0 copies dimension " << i << ", which the input of shape " << b.text(b.typeOf(x))
                  << " does not have";
        return;
      }
      dim = from[i];
    } else if (constant && *constant < 0) {
      if (*constant != -1 || inferred >= 0) {
        n.error() << "the target shape may have one -1 and no other negative size";
        return;
      }
      inferred = i;
    }
  }
  AffineExpr total = productOf(from, b.context());
  if (inferred >= 0) {
    (*target)[inferred] = b.size(1);
    AffineExpr known = productOf(*target, b.context());
    AffineExpr rest = divideExactly(total, known);
    if (!rest) {
      if (constantOf(total) && constantOf(known)) {
        n.error() << b.text(total) << " elements of " << b.text(b.typeOf(x)) << " do not divide into rows of "
                  << b.text(known);
        return;
      }
      return n.unsupported("nx cannot show that " + b.text(total) + " elements divide into rows of " + b.text(known));
    }
    (*target)[inferred] = rest;
  }
  AffineExpr have = productOf(*target, b.context());
  if (have != total && constantOf(have - total) == std::nullopt)
    return n.unsupported("nx cannot show that " + b.text(have) + " elements are the " + b.text(total) + " of the input");
  n.result(b.reshape(x, *target));
}

void flatten(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t rank = b.rankOf(x), axis = n.getInt("axis", 1);
  if (axis != rank)
    axis = n.axis(axis, rank);
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  n.result(b.reshape(x, {productOf(ArrayRef(dims).take_front(axis), b.context()),
                         productOf(ArrayRef(dims).drop_front(axis), b.context())}));
}

void squeeze(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<SmallVector<int64_t>> given = n.intsOrInput("axes", 1, 13);
  if (!x || n.unsupportedReason())
    return;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), kept;
  SmallVector<int64_t> dropped;
  if (given)
    dropped = n.axes(*given, dims.size());
  for (auto [i, dim] : llvm::enumerate(dims)) {
    bool isOne = constantOf(dim) == 1;
    bool drop = given ? llvm::is_contained(dropped, int64_t(i)) : isOne;
    if (!drop) {
      kept.push_back(dim);
    } else if (!isOne) {
      if (!b.failed())
        n.error() << "dimension " << i << " of " << b.text(b.typeOf(x)) << " is not 1";
      return;
    }
  }
  n.result(b.reshape(x, kept));
}

void unsqueeze(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<SmallVector<int64_t>> given = n.intsOrInput("axes", 1, 13);
  if (!x || n.unsupportedReason())
    return;
  if (!given) {
    n.error() << "axes are missing";
    return;
  }
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
  for (int64_t axis : n.axes(*given, dims.size() + given->size()))
    dims.insert(dims.begin() + std::min<size_t>(axis, dims.size()), b.size(1));
  n.result(b.reshape(x, dims));
}

void range(NodeImporter &n, GraphBuilder &b) {
  Value start = n.input(0), limit = n.input(1), delta = n.input(2);
  if (!start || !limit || !delta)
    return;
  for (Value value : {start, limit, delta})
    if (!b.typeOf(value).hasStaticShape() || b.typeOf(value).getNumElements() != 1) {
      n.error() << "start, limit and delta must be scalars";
      return;
    }
  Type element = b.elementOf(start);
  if (isa<FloatType>(element)) {
    SmallVector<double> values;
    for (Value value : {start, limit, delta}) {
      DenseElementsAttr known = knownConstant(value);
      if (!known || !isa<FloatType>(known.getElementType()))
        return n.unsupported("start, limit and delta of a range of floats must be constant");
      APFloat constant = known.getValues<APFloat>()[0];
      bool losesInfo;
      constant.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
      values.push_back(constant.convertToDouble());
    }
    double count = std::ceil((values[1] - values[0]) / values[2]);
    if (!(count < 1e9)) {
      n.error() << "the range has no end";
      return;
    }
    Value index = b.iota({b.size(std::max<int64_t>(int64_t(count), 0))}, 0, b.builder.getI64Type());
    Value scaled = b.emit<MulOp>({b.cast(index, element), b.scalar(element, values[2])});
    return n.result(b.emit<AddOp>({scaled, b.scalar(element, values[0])}));
  }
  auto first = n.sizes(0), last = n.sizes(1);
  auto step = n.constantInts(2);
  if (!first || !last || !step)
    return;
  constexpr int64_t greatestStep = int64_t(1) << 40;
  if (step->front() == 0 || step->front() > greatestStep || step->front() < -greatestStep) {
    n.error() << "delta is " << step->front();
    return;
  }
  AffineExpr span = normalize(step->front() > 0 ? last->front() - first->front() : first->front() - last->front());
  int64_t stride = std::abs(step->front());
  AffineExpr count = normalize(span.ceilDiv(stride));
  if (std::optional<int64_t> constant = constantOf(count))
    count = b.size(std::max<int64_t>(*constant, 0));
  else
    b.requireAtMost(b.size(0), span, "the start of the range");
  n.result(b.emitAs<IotaOp>(tensorOf(count, element), {},
                            {b.i64("axis", 0), b.dims("start", first->front()), b.dims("step", b.size(step->front()))}));
}

void eyeLike(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  auto dtype = DataType(n.getInt("dtype", 0));
  Type element = dtype == DataType::Undefined ? b.elementOf(x) : elementType(dtype, b.context());
  if (!element)
    return n.unsupported("nx does not have element type " + nameOf(dtype));
  if (b.rankOf(x) != 2) {
    n.error() << "the input must have rank 2";
    return;
  }
  Type i64 = b.builder.getI64Type();
  Value row = b.iota({dimOf(b.typeOf(x), 0), b.size(1)}, 0, i64), column = b.iota({b.size(1), dimOf(b.typeOf(x), 1)}, 1, i64);
  Value diagonal = b.emit<AddOp>({row, b.scalar(i64, double(n.getInt("k", 0)))});
  n.result(b.cast(b.compare(ComparePredicate::eq, diagonal, column), element));
}

const OperatorRow kOperators[] = {
    {"Constant", 1, kLatest, constant},
    {"ConstantOfShape", 9, kLatest, constantOfShape},
    {"Expand", 8, kLatest, expand},
    {"EyeLike", 9, kLatest, eyeLike},
    {"Flatten", 1, kLatest, flatten},
    {"Range", 11, kLatest, range},
    {"Reshape", 5, kLatest, reshape},
    {"Shape", 1, kLatest, shape},
    {"Size", 1, kLatest, size},
    {"Squeeze", 1, kLatest, squeeze},
    {"Unsqueeze", 1, kLatest, unsqueeze},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::shapeOperators() { return kOperators; }
