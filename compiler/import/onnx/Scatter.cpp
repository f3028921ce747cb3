//===- Scatter.cpp - ONNX operators that write by index, and order --------===//

#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

std::optional<ScatterKind> readReduction(NodeImporter &n) {
  StringRef name = n.getString("reduction", "none");
  std::optional<ScatterKind> kind = name == "none" ? ScatterKind::set : symbolizeScatterKind(name);
  if (!kind || name == "set") {
    n.error() << "reduction '" << name << "' is not none, add, mul, max or min";
    return std::nullopt;
  }
  return kind;
}

NamedAttribute reductionAttr(GraphBuilder &b, ScatterKind kind) {
  return b.attr("reduction", ScatterKindAttr::get(b.context(), kind));
}

void scatterElements(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  std::optional<ScatterKind> kind = readReduction(n);
  if (x && kind)
    n.result(b.emit<ScatterElementsOp>({x, n.input(1), n.input(2)},
                                       {b.i64("axis", n.axis(n.getInt("axis", 0), b.rankOf(x))), reductionAttr(b, *kind)}));
}

void scatterNd(NodeImporter &n, GraphBuilder &b) {
  if (std::optional<ScatterKind> kind = readReduction(n))
    n.result(b.emit<ScatterNdOp>({n.input(0), n.input(1), n.input(2)}, reductionAttr(b, *kind)));
}

void topK(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  n.ignoreAttrs({"sorted"}); // the result is sorted in any case
  if (!x)
    return;
  int64_t axis = n.axis(n.getInt("axis", -1), b.rankOf(x));
  AffineExpr k = b.size(n.getInt("k", 0));
  if (n.opset() >= 10) {
    auto given = n.sizes(1);
    if (!given)
      return;
    if (given->size() != 1) {
      n.error() << "k must be one number";
      return;
    }
    k = given->front();
  }
  if (b.failed())
    return;
  SmallVector<NamedAttribute> attributes{b.i64("axis", axis), b.dims("k", k)};
  if (!n.getInt("largest", 1))
    attributes.push_back(b.flag("smallest"));
  n.results(b.emitMany<TopKOp>(2, x, attributes));
}

void det(NodeImporter &n, GraphBuilder &b) { n.result(b.emit<DetOp>(n.input(0))); }

const OperatorRow kOperators[] = {
    {"Det", 11, kLatest, det},
    {"Scatter", 9, 10, scatterElements},
    {"ScatterElements", 11, kLatest, scatterElements},
    {"ScatterND", 11, kLatest, scatterNd},
    {"TopK", 1, kLatest, topK},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::scatterOperators() { return kOperators; }
