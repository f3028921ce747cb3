//===- Loss.cpp - ONNX losses and training steps --------------------------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// Minus the log-probability `x [N, C, d..]` of each target class `[N, d..]`, weighted by class and reduced.
void classLoss(NodeImporter &n, GraphBuilder &b, Value x, Value target, Value weight, ArrayRef<Value> more) {
  StringRef reduction = n.getString("reduction", "mean");
  bool ignores = n.hasAttr("ignore_index");
  int64_t ignored = n.getInt("ignore_index", 0);
  if (!x || !target)
    return;
  int64_t rank = b.rankOf(x);
  if (rank < 2 || b.rankOf(target) != rank - 1) {
    n.error() << "scores " << b.text(b.typeOf(x)) << " do not fit targets " << b.text(b.typeOf(target));
    return;
  }
  Type element = b.elementOf(x);
  Value isIgnored = ignores ? b.compare(ComparePredicate::eq, target, double(ignored)) : Value();
  Value index = ignores ? b.select(isIgnored, b.like(target, 0), target) : target;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(target));
  Value picked = b.reshape(b.emit<GatherElementsOp>({x, b.insertUnitDim(index, 1)}, b.i64("axis", 1)), dims);
  Value loss = b.emit<NegOp>(picked), share;
  if (weight)
    share = b.gather(weight, index, 0);
  if (ignores) {
    Value one = share ? share : b.broadcast(b.scalar(element, 1), dims);
    share = b.select(isIgnored, b.scalar(element, 0), one);
    loss = b.select(isIgnored, b.scalar(element, 0), loss);
  }
  if (share)
    loss = b.mul(loss, share);
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  Value result;
  if (reduction == "none") {
    result = loss;
  } else if (reduction == "sum") {
    result = b.reduce(ReduceKind::sum, loss, all, false);
  } else if (reduction == "mean") {
    result = share ? b.div(b.reduce(ReduceKind::sum, loss, all, false), b.reduce(ReduceKind::sum, share, all, false))
                   : b.reduce(ReduceKind::mean, loss, all, false);
  } else {
    n.error() << "reduction '" << reduction << "' is not none, sum or mean";
    return;
  }
  SmallVector<Value> results{result};
  llvm::append_range(results, more);
  n.results(results);
}

void negativeLogLikelihoodLoss(NodeImporter &n, GraphBuilder &b) {
  classLoss(n, b, n.input(0), n.input(1), n.optionalInput(2), {});
}

void softmaxCrossEntropyLoss(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  if (b.rankOf(x) < 2) {
    n.error() << "needs scores [N, C, ..]";
    return;
  }
  Value logProbabilities = b.emit<SoftmaxOp>(x, {b.i64("axis", 1), b.flag("log")});
  classLoss(n, b, logProbabilities, n.input(1), n.optionalInput(2), logProbabilities);
}

const OperatorRow kLosses[] = {
    {"NegativeLogLikelihoodLoss", 12, kLatest, negativeLogLikelihoodLoss},
    {"SoftmaxCrossEntropyLoss", 12, kLatest, softmaxCrossEntropyLoss},
};

//===----------------------------------------------------------------------===//
// Training steps
//===----------------------------------------------------------------------===//

/// The tensors of a step: inputs are the rate, the number of steps so far, then `kinds` lists of tensors one
/// after the other.
struct Step {
  Value rate, count;
  size_t tensors = 0;

  bool read(NodeImporter &n, GraphBuilder &b, size_t kinds) {
    rate = n.input(0), count = n.input(1);
    if (!rate || !count)
      return false;
    rate = b.reshape(rate, {});
    count = b.reshape(count, {});
    if (!rate || !count)
      return false;
    count = b.cast(count, b.elementOf(rate));
    if (n.numInputs() < 2 + kinds || (n.numInputs() - 2) % kinds) {
      n.error() << n.numInputs() << " inputs do not divide into " << kinds << " lists";
      return false;
    }
    tensors = (n.numInputs() - 2) / kinds;
    return true;
  }
  Value input(NodeImporter &n, size_t kind, size_t tensor) const { return n.input(2 + kind * tensors + tensor); }
};

void adagrad(NodeImporter &n, GraphBuilder &b) {
  Step step;
  double decay = n.getFloat("decay_factor", 0), epsilon = n.getFloat("epsilon", 0), norm = n.getFloat("norm_coefficient", 0);
  if (!step.read(n, b, 3))
    return;
  Value rate = b.div(step.rate, b.add(b.mul(step.count, decay), 1.0));
  SmallVector<Value> xs, squares;
  for (size_t i = 0; i < step.tensors; ++i) {
    Value x = step.input(n, 0, i), gradient = step.input(n, 1, i), sum = step.input(n, 2, i);
    Value regular = b.add(b.mul(x, norm), gradient), next = b.add(sum, b.mul(regular, regular));
    Value scale = b.add(b.emit<SqrtOp>(next), epsilon);
    xs.push_back(b.sub(x, b.div(b.mul(rate, regular), scale)));
    squares.push_back(next);
  }
  xs.append(squares);
  n.results(xs);
}

void adam(NodeImporter &n, GraphBuilder &b) {
  Step step;
  double alpha = n.getFloat("alpha", 0.9), beta = n.getFloat("beta", 0.999), epsilon = n.getFloat("epsilon", 0);
  double norm = n.getFloat("norm_coefficient", 0), normAfter = n.getFloat("norm_coefficient_post", 0);
  if (!step.read(n, b, 4))
    return;
  // Before the first step the averages are not corrected.
  auto power = [&](double base) { return b.emit<PowOp>({b.like(step.count, base), step.count}); };
  Value correction = b.div(b.emit<SqrtOp>(b.sub(b.like(step.count, 1), power(beta))), b.sub(b.like(step.count, 1), power(alpha)));
  Value isLater = b.compare(ComparePredicate::gt, step.count, 0.0);
  Value rate = b.select(isLater, b.mul(step.rate, correction), step.rate);
  SmallVector<Value> xs, firsts, seconds;
  for (size_t i = 0; i < step.tensors; ++i) {
    Value x = step.input(n, 0, i), gradient = step.input(n, 1, i), v = step.input(n, 2, i), h = step.input(n, 3, i);
    Value regular = b.add(b.mul(x, norm), gradient);
    Value first = b.add(b.mul(v, alpha), b.mul(regular, 1 - alpha));
    Value second = b.add(b.mul(h, beta), b.mul(b.mul(regular, regular), 1 - beta));
    Value next = b.sub(x, b.div(b.mul(rate, first), b.add(b.emit<SqrtOp>(second), epsilon)));
    xs.push_back(b.mul(next, 1 - normAfter));
    firsts.push_back(first);
    seconds.push_back(second);
  }
  xs.append(firsts);
  xs.append(seconds);
  n.results(xs);
}

void momentum(NodeImporter &n, GraphBuilder &b) {
  Step step;
  double alpha = n.getFloat("alpha", 0), beta = n.getFloat("beta", 0), norm = n.getFloat("norm_coefficient", 0);
  StringRef mode = n.getString("mode", "standard");
  if (!step.read(n, b, 3))
    return;
  if (mode != "standard" && mode != "nesterov") {
    n.error() << "mode '" << mode << "' is neither standard nor nesterov";
    return;
  }
  // The first step takes the whole gradient.
  Value share = b.select(b.compare(ComparePredicate::gt, step.count, 0.0), b.like(step.count, beta), b.like(step.count, 1));
  SmallVector<Value> xs, velocities;
  for (size_t i = 0; i < step.tensors; ++i) {
    Value x = step.input(n, 0, i), gradient = step.input(n, 1, i), v = step.input(n, 2, i);
    Value regular = b.add(b.mul(x, norm), gradient);
    Value next = b.add(b.mul(v, alpha), b.mul(share, regular));
    Value direction = mode == "standard" ? next : b.add(regular, b.mul(next, alpha));
    xs.push_back(b.sub(x, b.mul(step.rate, direction)));
    velocities.push_back(next);
  }
  xs.append(velocities);
  n.results(xs);
}

constexpr llvm::StringLiteral kGradient = "nx does not differentiate: export the model with its gradients as nodes";

const OperatorRow kTraining[] = {
    {"Adagrad", 1, kLatest, adagrad},
    {"Adam", 1, kLatest, adam},
    {"Gradient", 1, kLatest, nullptr, kGradient},
    {"Momentum", 1, kLatest, momentum},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::lossOperators() { return kLosses; }
ArrayRef<OperatorRow> nx::onnx::trainingOperators() { return kTraining; }
