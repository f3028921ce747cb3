//===- Nn.cpp - ONNX operators of neural networks -------------------------===//

#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

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

void einsum(NodeImporter &n, GraphBuilder &b) {
  StringRef equation = n.getString("equation", "");
  n.result(emitEinsum(b, equation, n.allInputs()));
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
