//===- Ml.cpp - Operators of the domain ai.onnx.ml ------------------------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

void arrayFeatureExtractor(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), indices = n.input(1);
  if (!x || !indices)
    return;
  if (b.rankOf(x) < 1) {
    n.error() << "needs an input of rank 1 or more";
    return;
  }
  if (b.rankOf(x) == 1)
    x = b.insertUnitDim(x, 0);
  n.result(b.gather(x, b.reshape(indices, {productOf(dimsOf(b.typeOf(indices)), b.context())}), b.rankOf(x) - 1));
}

void binarizer(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  double threshold = n.getFloat("threshold", 0);
  if (x)
    n.result(b.cast(b.compare(ComparePredicate::gt, x, threshold), b.elementOf(x)));
}

void scaler(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  SmallVector<double> offset = n.getFloats("offset"), scale = n.getFloats("scale");
  if (!x)
    return;
  Type f32 = b.builder.getF32Type();
  Value y = b.cast(x, f32);
  if (!offset.empty())
    y = b.sub(y, n.table(offset, f32));
  if (!scale.empty())
    y = b.mul(y, n.table(scale, f32));
  n.result(y);
}

void normalizer(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  StringRef norm = n.getString("norm", "MAX");
  if (!x)
    return;
  Value y = b.cast(x, b.builder.getF32Type());
  if (b.rankOf(x) < 1 || (norm != "MAX" && norm != "L1" && norm != "L2")) {
    n.error() << "needs an input of rank 1 or more, and a norm MAX, L1 or L2, not '" << norm << "'";
    return;
  }
  int64_t last = b.rankOf(x) - 1;
  Value size;
  if (norm == "MAX")
    size = b.reduce(ReduceKind::max, y, {last}, true);
  else if (norm == "L1")
    size = b.reduce(ReduceKind::sum, b.emit<AbsOp>(y), {last}, true);
  else
    size = b.emit<SqrtOp>(b.reduce(ReduceKind::sum, b.mul(y, y), {last}, true));
  Value isZero = b.compare(ComparePredicate::eq, size, 0.0);
  n.result(b.div(y, b.select(isZero, b.like(size, 1), size)));
}

} // namespace

Value nx::onnx::postTransformed(NodeImporter &n, GraphBuilder &b, Value scores) {
  StringRef name = n.getString("post_transform", "NONE");
  if (!scores || name == "NONE")
    return scores;
  int64_t last = b.rankOf(scores) - 1;
  if (name == "LOGISTIC")
    return b.emit<SigmoidOp>(scores);
  if (name == "SOFTMAX")
    return b.emit<SoftmaxOp>(scores, b.i64("axis", last));
  if (name == "SOFTMAX_ZERO") {
    // Classes of score 0 stay out.
    Value isZero = b.compare(ComparePredicate::eq, scores, 0.0);
    Value most = b.reduce(ReduceKind::max, scores, {last}, true);
    Value power = b.select(isZero, b.like(scores, 0), b.emit<ExpOp>(b.sub(scores, most)));
    Value sum = b.reduce(ReduceKind::sum, power, {last}, true);
    return b.div(power, b.select(b.compare(ComparePredicate::eq, sum, 0.0), b.like(sum, 1), sum));
  }
  return n.unsupported("post_transform " + name), Value();
}

namespace {

/// x [N, F] (or [F]) times the rows of an attribute, plus intercepts.
Value linear(NodeImporter &n, GraphBuilder &b, int64_t outputs) {
  Value x = n.input(0);
  SmallVector<double> coefficients = n.getFloats("coefficients"), intercepts = n.getFloats("intercepts");
  if (!x)
    return {};
  Type f32 = b.builder.getF32Type();
  x = b.cast(x, f32);
  if (b.rankOf(x) == 1)
    x = b.insertUnitDim(x, 0);
  if (b.rankOf(x) != 2 || outputs < 1 || coefficients.empty() || coefficients.size() % outputs)
    return n.error() << coefficients.size() << " coefficients do not divide into " << outputs << " rows for "
                     << b.text(b.typeOf(x)), Value();
  Value rows = n.table(coefficients, f32);
  if (!rows)
    return {};
  rows = b.reshape(rows, {b.size(outputs), b.size(int64_t(coefficients.size()) / outputs)});
  Value y = b.emit<MatmulOp>({x, rows}, b.flag("transpose_rhs"));
  return intercepts.empty() ? y : b.add(y, n.table(intercepts, f32));
}

void linearRegressor(NodeImporter &n, GraphBuilder &b) {
  n.result(postTransformed(n, b, linear(n, b, n.getInt("targets", 1))));
}

void linearClassifier(NodeImporter &n, GraphBuilder &b) {
  if (n.hasAttr("classlabels_strings") && !n.getStrings("classlabels_strings").empty())
    return n.unsupported("nx does not have strings");
  n.ignoreAttrs({"multi_class"});
  SmallVector<int64_t> labels = n.getInts("classlabels_ints");
  if (labels.size() < 2)
    return n.unsupported("it has " + Twine(labels.size()) + " class labels");
  Value scores = linear(n, b, labels.size());
  if (!scores)
    return;
  Value best = b.emit<ArgReduceOp>(scores, {b.attr("kind", ReduceKindAttr::get(b.context(), ReduceKind::max)), b.i64("axis", 1)});
  n.results({b.gather(b.intVector(labels), best, 0), postTransformed(n, b, scores)});
}

/// Looks each number up in a list of keys.
void labelEncoder(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), keys, values, absent;
  if (!x)
    return;
  Type f32 = b.builder.getF32Type();
  for (StringRef name : {"keys_strings", "values_strings"})
    if (n.hasAttr(name))
      return n.unsupported("nx does not have strings");
  n.ignoreAttrs({"default_string"});
  if (n.hasAttr("keys_tensor"))
    keys = n.getTensor("keys_tensor");
  else if (n.hasAttr("keys_int64s"))
    keys = n.table(n.getInts("keys_int64s"), b.builder.getI64Type());
  else
    keys = n.table(n.getFloats("keys_floats"), f32);
  if (n.hasAttr("values_tensor"))
    values = n.getTensor("values_tensor");
  else if (n.hasAttr("values_int64s"))
    values = n.table(n.getInts("values_int64s"), b.builder.getI64Type());
  else
    values = n.table(n.getFloats("values_floats"), f32);
  if (!keys || !values)
    return;
  if (n.hasAttr("default_tensor"))
    absent = n.getTensor("default_tensor");
  else if (isa<FloatType>(b.elementOf(values)))
    absent = b.scalar(b.elementOf(values), n.getFloat("default_float", -0.0));
  else
    absent = b.scalar(b.elementOf(values), double(n.getInt("default_int64", -1)));
  n.ignoreAttrs({"default_float", "default_int64"});
  if (!absent)
    return;
  int64_t rank = b.rankOf(x);
  Value column = b.insertUnitDim(x, rank), equal = b.compare(ComparePredicate::eq, column, b.cast(keys, b.elementOf(x)));
  if (isa<FloatType>(b.elementOf(x)))
    equal = b.emit<OrOp>({equal, b.emit<AndOp>({b.emit<IsNanOp>(column), b.emit<IsNanOp>(b.cast(keys, b.elementOf(x)))})});
  Value which = b.emit<ArgReduceOp>(b.cast(equal, b.builder.getI32Type()),
                                    {b.attr("kind", ReduceKindAttr::get(b.context(), ReduceKind::max)), b.i64("axis", rank)});
  Value found = b.reduce(ReduceKind::max, equal, {rank}, false);
  n.result(b.select(found, b.gather(values, which, 0), b.reshape(absent, {})));
}

constexpr llvm::StringLiteral kMaps = "nx has tensors only, no maps and no strings";

const OperatorRow kOperators[] = {
    {"ArrayFeatureExtractor", 1, kLatest, arrayFeatureExtractor},
    {"Binarizer", 1, kLatest, binarizer},
    {"CastMap", 1, kLatest, nullptr, kMaps},
    {"CategoryMapper", 1, kLatest, nullptr, kMaps},
    {"DictVectorizer", 1, kLatest, nullptr, kMaps},
    {"LabelEncoder", 2, kLatest, labelEncoder},
    {"LinearClassifier", 1, kLatest, linearClassifier},
    {"LinearRegressor", 1, kLatest, linearRegressor},
    {"Normalizer", 1, kLatest, normalizer},
    {"Scaler", 1, kLatest, scaler},
    {"ZipMap", 1, kLatest, nullptr, kMaps},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::mlOperators() { return kOperators; }
