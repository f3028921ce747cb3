//===- NodeImporter.h - What an operator's handler works with -------------===//
//
// One handler turns one node into nx operations. To add an operator, write its function in the file
// of its kind and add a line to that file's table.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_ONNX_NODEIMPORTER_H
#define NX_COMPILER_IMPORT_ONNX_NODEIMPORTER_H

#include "compiler/import/common/GraphBuilder.h"
#include "compiler/import/common/Products.h"
#include "compiler/import/onnx/OnnxImporter.h"
#include "compiler/import/onnx/OnnxModel.h"

namespace nx::onnx {

/// The node that is being imported: typed access to its inputs and attributes. What is missing or
/// of the wrong kind is reported and makes the builder's state failed; the getters then return
/// something harmless.
class NodeImporter {
public:
  using FindAttribute = llvm::function_ref<const Attribute *(llvm::StringRef)>;
  using MakeConstant = llvm::function_ref<mlir::Value(const Tensor &)>;
  using MakeTable = llvm::function_ref<mlir::Value(mlir::RankedTensorType, std::vector<char>)>;

  NodeImporter(GraphBuilder &b, const Node &node, int64_t opset, llvm::ArrayRef<mlir::Value> inputs,
               FindAttribute findAttribute, MakeConstant makeConstant, MakeTable makeTable)
      : b(b), node(node), nodeOpset(opset), inputs(inputs), findAttribute(findAttribute),
        makeConstant(makeConstant), makeTable(makeTable) {}

  int64_t opset() const { return nodeOpset; }
  size_t numInputs() const { return inputs.size(); }
  size_t numOutputs() const { return node.outputs.size(); }
  /// True when something uses this output's name.
  bool hasOutput(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }

  bool hasInput(size_t i) const { return i < inputs.size() && inputs[i]; }
  mlir::Value input(size_t i);
  mlir::Value optionalInput(size_t i) const { return hasInput(i) ? inputs[i] : mlir::Value(); }
  llvm::ArrayRef<mlir::Value> allInputs();

  bool hasAttr(llvm::StringRef name) { return find(name); }
  int64_t getInt(llvm::StringRef name, int64_t absent);
  double getFloat(llvm::StringRef name, double absent);
  llvm::StringRef getString(llvm::StringRef name, llvm::StringRef absent);
  llvm::SmallVector<int64_t> getInts(llvm::StringRef name, llvm::ArrayRef<int64_t> absent = {});
  llvm::SmallVector<double> getFloats(llvm::StringRef name);
  llvm::SmallVector<llvm::StringRef> getStrings(llvm::StringRef name);
  /// The attribute if it is present and of that kind.
  const Attribute *getAttr(llvm::StringRef name, Attribute::Kind kind);
  int64_t requireInt(llvm::StringRef name);
  /// Attributes that change nothing for nx. All others must be read: a node with an attribute that
  /// its handler does not know is refused.
  void ignoreAttrs(std::initializer_list<llvm::StringRef> names) { readAttributes.append(names.begin(), names.end()); }
  /// The first attribute of the node that nobody has read; empty when there is none.
  llvm::StringRef unreadAttribute() const;
  /// A number for the node's random numbers: its seed, or one that follows from its name.
  uint64_t seed();
  /// An attribute that holds a tensor, as a constant.
  mlir::Value getTensor(llvm::StringRef name);
  /// A vector of numbers that the handler has computed, of any length.
  mlir::Value table(llvm::ArrayRef<int64_t> values, mlir::Type element);
  mlir::Value table(llvm::ArrayRef<double> values, mlir::Type element);

  /// `axis` counted from the front; an error when it is not in [-rank, rank).
  int64_t axis(int64_t axis, int64_t rank);
  /// The same for a list, which becomes ascending; an error when one is there twice.
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> list, int64_t rank);

  /// Elements of an input that the sizes of the model's inputs determine; when they don't, the node
  /// is unsupported.
  std::optional<llvm::SmallVector<mlir::AffineExpr>> sizes(size_t input);
  /// The same for constants.
  std::optional<llvm::SmallVector<int64_t>> constantInts(size_t input);
  /// A list that is an attribute in old opsets and the constant input `input` since `sinceOpset`;
  /// null when it is absent (or the node is unsupported).
  std::optional<llvm::SmallVector<int64_t>> intsOrInput(llvm::StringRef name, size_t input, int64_t sinceOpset);

  void result(mlir::Value value) { nodeResults = {value}; }
  void results(llvm::ArrayRef<mlir::Value> values) { nodeResults.assign(values.begin(), values.end()); }

  /// The model is wrong here.
  mlir::InFlightDiagnostic error();
  /// The model is right but nx cannot compile this node. The first reason is kept.
  void unsupported(const llvm::Twine &reason);

  llvm::ArrayRef<mlir::Value> takenResults() const { return nodeResults; }
  const std::optional<std::string> &unsupportedReason() const { return reason; }

private:
  const Attribute *find(llvm::StringRef name) {
    readAttributes.push_back(name);
    return findAttribute(name);
  }

  GraphBuilder &b;
  const Node &node;
  int64_t nodeOpset;
  llvm::ArrayRef<mlir::Value> inputs;
  FindAttribute findAttribute;
  MakeConstant makeConstant;
  MakeTable makeTable;
  llvm::SmallVector<mlir::Value> nodeResults;
  std::optional<std::string> reason;
  llvm::SmallVector<llvm::StringRef> readAttributes;
};

/// Mean and 1 / sqrt(variance + epsilon) over the dimensions from `axis` on, which stay with size 1; in f32 or wider.
std::pair<mlir::Value, mlir::Value> emitStatistics(GraphBuilder &b, mlir::Value x, int64_t axis, double epsilon);

/// Convolution by the node's attributes; null after an error or a refusal.
mlir::Value emitConv(NodeImporter &n, GraphBuilder &b, mlir::Value x, mlir::Value weight, mlir::Value bias);

/// The scores of a linear model or a tree ensemble [N, classes], as its attribute post_transform wants them.
mlir::Value postTransformed(NodeImporter &n, GraphBuilder &b, mlir::Value scores);

using Handler = void (*)(NodeImporter &, GraphBuilder &);

/// A row of the table of operators. A row without a handler says why nx refuses the operator.
struct OperatorRow {
  llvm::StringRef name;
  int minOpset, maxOpset;
  Handler handler;
  llvm::StringRef refusal = "";
};
/// maxOpset of operators that have kept their meaning so far.
inline constexpr int kLatest = kMaxOnnxOpset;

// Of the ONNX domain, by kind.
llvm::ArrayRef<OperatorRow> attentionOperators();
llvm::ArrayRef<OperatorRow> elementwiseOperators();
llvm::ArrayRef<OperatorRow> lossOperators();
llvm::ArrayRef<OperatorRow> nnOperators();
llvm::ArrayRef<OperatorRow> quantizedOperators();
llvm::ArrayRef<OperatorRow> randomOperators();
llvm::ArrayRef<OperatorRow> recurrentOperators();
llvm::ArrayRef<OperatorRow> reduceOperators();
llvm::ArrayRef<OperatorRow> refusedOperators();
llvm::ArrayRef<OperatorRow> resampleOperators();
llvm::ArrayRef<OperatorRow> scatterOperators();
llvm::ArrayRef<OperatorRow> shapeOperators();
llvm::ArrayRef<OperatorRow> signalOperators();
llvm::ArrayRef<OperatorRow> tensorOperators();
llvm::ArrayRef<OperatorRow> windowOperators();
// Of other domains.
llvm::ArrayRef<OperatorRow> microsoftOperators();
llvm::ArrayRef<OperatorRow> mlOperators();
llvm::ArrayRef<OperatorRow> trainingOperators();
llvm::ArrayRef<OperatorRow> treeOperators();

/// The row for an operator of a domain ("" is ONNX's own); `known` tells whether other opsets have one.
const OperatorRow *findOperator(llvm::StringRef domain, llvm::StringRef name, int64_t opset, bool &known);

} // namespace nx::onnx
#endif // NX_COMPILER_IMPORT_ONNX_NODEIMPORTER_H
