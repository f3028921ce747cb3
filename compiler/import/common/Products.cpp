//===- Products.cpp - Products of tensors of any rank ---------------------===//

#include "compiler/import/common/Products.h"

using namespace mlir;
using namespace nx;

Value nx::emitMatmul(GraphBuilder &b, Value x, Value y) {
  if (!x || !y)
    return {};
  if (b.rankOf(x) == 0 || b.rankOf(y) == 0)
    return b.error() << "matrix product of a scalar", Value();
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

//===----------------------------------------------------------------------===//
// Einstein's summation
//===----------------------------------------------------------------------===//

namespace {

/// An operand and the label of each of its dimensions.
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

/// The diagonal over each label that occurs twice.
Labelled diagonals(GraphBuilder &b, Labelled x) {
  for (size_t i = 0; i < x.labels.size() && x.value;) {
    size_t j = x.labels.find(x.labels[i], i + 1);
    if (j == std::string::npos) {
      ++i;
      continue;
    }
    // The two dimensions to the end; the diagonal is every (size + 1)-th element.
    SmallVector<int64_t> perm;
    std::string rest;
    for (size_t k = 0; k < x.labels.size(); ++k)
      if (k != i && k != j) {
        perm.push_back(k);
        rest += x.labels[k];
      }
    perm.append({int64_t(i), int64_t(j)});
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x.value));
    AffineExpr size = dims[i];
    b.requireEqual(dims[i], dims[j], "a diagonal");
    SmallVector<AffineExpr> flat;
    for (int64_t k : ArrayRef(perm).drop_back(2))
      flat.push_back(dims[k]);
    flat.push_back(normalize(dims[i] * dims[j]));
    Value at = b.emitAs<IotaOp>(tensorOf(size, b.builder.getI64Type()), {},
                                {b.i64("axis", 0), b.dims("start", b.size(0)), b.dims("step", normalize(size + 1))});
    x.value = b.emit<GatherOp>({b.reshape(b.transpose(x.value, perm), flat), at}, b.i64("axis", int64_t(flat.size()) - 1));
    x.labels = rest + x.labels[i];
    i = 0;
  }
  return x;
}

/// Leaves out dimensions of size 1 of `x` that are larger in `y`.
Labelled withoutUnits(GraphBuilder &b, Labelled x, const Labelled &y) {
  if (!x.value || !y.value)
    return x;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x.value)), others = dimsOf(b.typeOf(y.value)), kept;
  std::string labels;
  for (auto [dim, label] : llvm::zip(dims, x.labels)) {
    size_t other = y.labels.find(label);
    if (constantOf(dim) == 1 && other != std::string::npos && constantOf(others[other]) != 1)
      continue;
    kept.push_back(dim);
    labels += label;
  }
  return labels == x.labels ? x : Labelled{b.reshape(x.value, kept), labels};
}

Labelled contracted(GraphBuilder &b, Labelled x, Labelled y, StringRef kept) {
  Labelled narrow = withoutUnits(b, x, y);
  y = withoutUnits(b, y, x);
  x = narrow;
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

/// Labels of dimensions that "..." stands for: no letters.
constexpr char kFirstBroadcast = 1, kLastBroadcast = 30;

} // namespace

Value nx::emitEinsum(GraphBuilder &b, StringRef given, ArrayRef<Value> operands) {
  auto wrong = [&](const Twine &why) {
    if (!b.failed())
      b.error() << "the equation '" << given << "' " << why;
    return Value();
  };
  if (operands.empty() || llvm::is_contained(operands, Value()))
    return b.failed() ? Value() : wrong("has no operands");
  std::string equation;
  for (char c : given)
    if (c != ' ')
      equation += c;
  bool hasOutput = StringRef(equation).contains("->");
  auto [inputs, output] = StringRef(equation).split("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (terms.size() != operands.size())
    return wrong("has " + Twine(terms.size()) + " terms for " + Twine(operands.size()) + " operands");

  // As many dimensions as the widest "..." has; narrower ones have the last of them.
  int64_t widest = 0;
  for (auto [term, value] : llvm::zip(terms, operands))
    if (term.contains("..."))
      widest = std::max(widest, b.rankOf(value) - int64_t(term.size()) + 3);
  if (widest > kLastBroadcast)
    return wrong("has too many dimensions");
  auto spelledOut = [&](StringRef term, int64_t count) {
    std::string text;
    auto [before, after] = term.split("...");
    text = before.str();
    for (int64_t i = widest - count; i < widest; ++i)
      text += char(kFirstBroadcast + i);
    return text + after.str();
  };
  SmallVector<Labelled> labelled;
  std::string all;
  for (auto [term, value] : llvm::zip(terms, operands)) {
    int64_t hidden = b.rankOf(value) - int64_t(term.size()) + 3;
    bool hasDots = term.contains("...");
    if (hasDots ? hidden < 0 : int64_t(term.size()) != b.rankOf(value))
      return wrong("does not label the dimensions of " + b.text(b.typeOf(value)));
    std::string labels = hasDots ? spelledOut(term, hidden) : term.str();
    for (char label : labels)
      if (!llvm::isAlpha(label) && label > kLastBroadcast)
        return wrong("has a label that is no letter");
    all += labels;
    labelled.push_back(diagonals(b, {value, labels}));
  }
  std::string kept = hasOutput ? (output.contains("...") ? spelledOut(output, widest) : output.str()) : "";
  if (!hasOutput) {
    for (int64_t i = 0; i < widest; ++i)
      kept += char(kFirstBroadcast + i);
    std::string once;
    for (char label : all)
      if (llvm::isAlpha(label) && llvm::count(all, label) == 1)
        once += label;
    llvm::sort(once);
    kept += once;
  }
  for (char label : kept)
    if (!StringRef(all).contains(label) || llvm::count(kept, label) > 1)
      return wrong("has a wrong output");

  Labelled result = labelled[0];
  for (size_t i = 1; i < labelled.size(); ++i) {
    std::string needed = kept;
    for (size_t j = i + 1; j < labelled.size(); ++j)
      needed += labelled[j].labels;
    result = contracted(b, result, labelled[i], needed);
  }
  if (!result.value)
    return {};
  result = summed(b, result, kept);
  return result.value ? ordered(b, result, kept).value : Value();
}
