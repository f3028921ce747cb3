//===- Recurrent.cpp - ONNX operators over time ---------------------------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// The two numbers of each activation that ONNX assumes.
std::pair<double, double> defaultParameters(StringRef activation) {
  if (activation == "LeakyRelu")
    return {0.01, 0};
  if (activation == "HardSigmoid")
    return {0.2, 0.5};
  if (activation == "ThresholdedRelu" || activation == "Elu" || activation == "Affine" || activation == "ScaledTanh")
    return {1, activation == "ScaledTanh" ? 1 : 0};
  return {0, 0};
}

StringRef canonicalActivation(StringRef name) {
  for (StringRef known : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus", "Softsign",
                          "Tanh", "ThresholdedRelu"})
    if (name.equals_insensitive(known))
      return known;
  return name;
}

/// A layer [T, B, I] in one or two directions; results Y [T, D, B, H], Y_h and Y_c [D, B, H].
template <RecurrentKind kind> void recurrent(NodeImporter &n, GraphBuilder &b) {
  constexpr bool isLstm = kind == RecurrentKind::lstm, isGru = kind == RecurrentKind::gru;
  constexpr int64_t gates = isLstm ? 4 : isGru ? 3 : 1, functions = isLstm ? 3 : isGru ? 2 : 1;
  Value x = n.input(0), weights = n.input(1), recurrence = n.input(2), bias = n.optionalInput(3), lengths = n.optionalInput(4),
        state = n.optionalInput(5), cell = isLstm ? n.optionalInput(6) : Value(), peephole = isLstm ? n.optionalInput(7) : Value();
  StringRef direction = n.getString("direction", "forward");
  bool batchFirst = n.getInt("layout", 0), resetAfter = isGru && n.getInt("linear_before_reset", 0);
  bool coupled = isLstm && n.getInt("input_forget", 0);
  SmallVector<StringRef> names = n.getStrings("activations");
  SmallVector<double> alphas = n.getFloats("activation_alpha"), betas = n.getFloats("activation_beta");
  double clip = n.getFloat("clip", 0);
  n.ignoreAttrs({"hidden_size"}); // the weights say it
  if (!x || !weights || !recurrence)
    return;
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    n.error() << "direction '" << direction << "' is not forward, reverse or bidirectional";
    return;
  }
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (b.rankOf(x) != 3 || b.rankOf(weights) != 3 || b.rankOf(recurrence) != 3 ||
      constantOf(dimOf(b.typeOf(recurrence), 0)) != directions || constantOf(dimOf(b.typeOf(weights), 0)) != directions) {
    n.error() << "needs an input of rank 3 and weights [" << directions << ", ..], got " << b.text(b.typeOf(x)) << ", "
              << b.text(b.typeOf(weights)) << " and " << b.text(b.typeOf(recurrence));
    return;
  }
  for (auto [value, rank] : {std::pair(bias, 2), {peephole, 2}, {state, 3}, {cell, 3}, {lengths, 1}})
    if (value && b.rankOf(value) != rank) {
      n.error() << "bias and peephole weights are of rank 2, states of rank 3 and lengths of rank 1; one is "
                << b.text(b.typeOf(value));
      return;
    }
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d) {
      if (kind != RecurrentKind::rnn)
        names.push_back("Sigmoid");
      names.append(functions - (kind != RecurrentKind::rnn), "Tanh");
    }
  if (int64_t(names.size()) != directions * functions) {
    n.error() << names.size() << " activations for " << directions << " directions of " << functions;
    return;
  }

  AffineExpr hidden = dimOf(b.typeOf(recurrence), 2);
  if (batchFirst) {
    x = b.transpose(x, {1, 0, 2});
    if (state)
      state = b.transpose(state, {1, 0, 2});
    if (cell)
      cell = b.transpose(cell, {1, 0, 2});
  }
  AffineExpr batch = dimOf(b.typeOf(x), 1);
  Type element = b.elementOf(x);
  auto part = [&](Value value, int64_t d) -> Value {
    if (!value)
      return {};
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(value));
    dims.erase(dims.begin());
    return b.reshape(b.slice(value, 0, b.size(d), b.size(1)), dims);
  };
  /// `count` units of H from unit `first` on, of a vector.
  auto units = [&](Value vector, int64_t first, int64_t count) {
    return b.slice(vector, 0, hidden * first, hidden * count);
  };
  SmallVector<Value> outputs, lastStates, lastCells;
  size_t nextAlpha = 0, nextBeta = 0;
  for (int64_t d = 0; d < directions; ++d) {
    SmallVector<mlir::Attribute> activations;
    SmallVector<double> parameters;
    for (int64_t f = 0; f < functions; ++f) {
      StringRef name = canonicalActivation(names[d * functions + f]);
      auto [alpha, beta] = defaultParameters(name);
      // The lists hold values for the functions that have such a parameter only.
      bool hasAlpha = alpha != 0 || name == "Affine", hasBeta = name == "HardSigmoid" || name == "ScaledTanh" || name == "Affine";
      if (hasAlpha && nextAlpha < alphas.size())
        alpha = alphas[nextAlpha++];
      if (hasBeta && nextBeta < betas.size())
        beta = betas[nextBeta++];
      activations.push_back(b.builder.getStringAttr(name));
      parameters.append({alpha, beta});
    }
    Value w = part(weights, d), r = part(recurrence, d), h0 = part(state, d), c0 = part(cell, d), p = part(peephole, d);
    Value gated = b.emit<MatmulOp>({x, w}, b.flag("transpose_rhs")), recurrentBias;
    if (Value both = part(bias, d)) {
      Value own = units(both, 0, gates), other = units(both, gates, gates);
      if (resetAfter) {
        // The bias of the candidate's state is inside of the reset gate.
        recurrentBias = units(other, 2, 1);
        Value none = b.broadcast(b.scalar(element, 0), {hidden});
        other = b.concat({units(other, 0, 2), none}, 0);
      }
      gated = b.add(gated, b.add(own, other));
    }
    if (!h0)
      h0 = b.broadcast(b.scalar(element, 0), {batch, hidden});
    if (isLstm && !c0)
      c0 = b.broadcast(b.scalar(element, 0), {batch, hidden});
    bool reverse = direction == "reverse" || d == 1;
    SmallVector<NamedAttribute> attributes{
        b.attr("kind", RecurrentKindAttr::get(b.context(), kind)), b.attr("activations", b.builder.getArrayAttr(activations)),
        b.attr("parameters", b.builder.getDenseF64ArrayAttr(parameters)), b.f64("clip", clip)};
    if (reverse)
      attributes.push_back(b.flag("reverse"));
    if (resetAfter)
      attributes.push_back(b.flag("reset_after"));
    if (coupled)
      attributes.push_back(b.flag("coupled"));
    if (!gated || !r || !h0)
      return;
    SmallVector<Value> results =
        b.emitMany<RecurrentOp>(3, {gated, r, h0, c0, recurrentBias, p, lengths}, attributes, /*countSegments=*/true);
    outputs.push_back(b.insertUnitDim(results[0], 1));
    lastStates.push_back(b.insertUnitDim(results[1], 0));
    lastCells.push_back(b.insertUnitDim(results[2], 0));
  }
  Value y = b.concat(outputs, 1), h = b.concat(lastStates, 0), c = b.concat(lastCells, 0);
  if (batchFirst) {
    y = b.transpose(y, {2, 0, 1, 3});
    h = b.transpose(h, {1, 0, 2});
    c = b.transpose(c, {1, 0, 2});
  }
  if (isLstm)
    n.results({y, h, c});
  else
    n.results({y, h});
}

const OperatorRow kOperators[] = {
    {"GRU", 7, kLatest, recurrent<RecurrentKind::gru>},
    {"LSTM", 7, kLatest, recurrent<RecurrentKind::lstm>},
    {"RNN", 7, kLatest, recurrent<RecurrentKind::rnn>},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::recurrentOperators() { return kOperators; }
