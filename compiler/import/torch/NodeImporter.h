//===- NodeImporter.h - What an ATen operator's handler works with --------===//
//
// One handler turns one node into nx operations. To add an operator, write its function in the file
// of its kind and add a line to that file's table.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_TORCH_NODEIMPORTER_H
#define NX_COMPILER_IMPORT_TORCH_NODEIMPORTER_H

#include "compiler/import/common/GraphBuilder.h"
#include "compiler/import/torch/ExportedProgram.h"
#include "compiler/import/torch/Symbols.h"

namespace nx::torch {

/// The element type; null when nx does not have it.
mlir::Type elementType(ScalarType type, mlir::MLIRContext *context);
/// "float8_e4m3fn", as torch spells it.
std::string nameOf(ScalarType type);

/// A number that is not a tensor: a Python scalar, or a symbolic size.
struct Scalar {
  enum class Kind { Bool, Int, Float } kind = Kind::Int;
  double f = 0;
  int64_t i = 0;
  mlir::AffineExpr size; ///< of an Int that is symbolic

  bool isConstant() const { return !size; }
  double number() const { return kind == Kind::Float ? f : double(i); }
};

/// An operand that may be a tensor or a number.
struct Operand {
  mlir::Value tensor;
  Scalar scalar;
};

/// What the importer looks names up in.
class Scope {
public:
  virtual ~Scope() = default;
  /// The present value of a tensor; null after an error.
  virtual mlir::Value tensor(llvm::StringRef name) = 0;
  /// A size; null when it depends on data.
  virtual mlir::AffineExpr size(llvm::StringRef name) = 0;
  virtual std::optional<Condition> condition(llvm::StringRef name) = 0;
  /// What the file says about a tensor; null when it says nothing.
  virtual const TensorMeta *meta(llvm::StringRef name) = 0;
  /// True when a node or an output of the graph reads the value.
  virtual bool isUsed(llvm::StringRef name) = 0;
};

/// The node that is being imported: typed access to its arguments, by the names that the operator's
/// schema gives them; arguments with their default value may be left out. What is missing or of the
/// wrong kind is reported and makes the builder's state failed; the getters then return something
/// harmless.
class NodeImporter {
public:
  /// `replaced`, if there is one, is the value of the first tensor argument.
  NodeImporter(GraphBuilder &b, const Node &node, Scope &scope, const Symbols &symbols, mlir::Value replaced = {})
      : b(b), node(node), scope(scope), symbols(symbols), replaced(replaced) {}

  const Symbols &ranges() const { return symbols; }
  size_t numOutputs() const;
  /// The name of output `i`, lists counted by their elements; empty when there is none.
  llvm::StringRef outputName(size_t i) const;
  /// The element type and the sizes that the file gives for output `i`; null when nx does not have
  /// that type or cannot read the sizes.
  mlir::Type outputElement(size_t i = 0);
  std::optional<llvm::SmallVector<mlir::AffineExpr>> outputSizes(size_t i = 0);
  /// True when something in the program reads the output.
  bool isUsed(size_t i) const;

  //===--- Arguments ------------------------------------------------------===//

  /// True when the argument is there and not None.
  bool has(llvm::StringRef name);
  mlir::Value tensor(llvm::StringRef name);
  mlir::Value optionalTensor(llvm::StringRef name) { return has(name) ? tensor(name) : mlir::Value(); }
  /// A list of tensors; elements may be null only when `mayBeNone`.
  llvm::SmallVector<mlir::Value> tensors(llvm::StringRef name, bool mayBeNone = false);
  /// A tensor or a number.
  Operand operand(llvm::StringRef name);
  Scalar scalar(llvm::StringRef name);
  /// A number that must be constant.
  double number(llvm::StringRef name, double absent);
  int64_t integer(llvm::StringRef name, int64_t absent);
  bool boolean(llvm::StringRef name, bool absent);
  llvm::StringRef string(llvm::StringRef name, llvm::StringRef absent);
  /// Constant integers. A single one stands for a list of `repeat` equal ones.
  llvm::SmallVector<int64_t> integers(llvm::StringRef name, llvm::ArrayRef<int64_t> absent = {}, size_t repeat = 0);
  llvm::SmallVector<double> numbers(llvm::StringRef name);
  /// Sizes that may be symbolic; the node is unsupported when they depend on data.
  std::optional<mlir::AffineExpr> size(llvm::StringRef name);
  std::optional<llvm::SmallVector<mlir::AffineExpr>> sizes(llvm::StringRef name);
  /// The argument "dtype" or another of that kind; null when it is absent. A type that nx does not
  /// have makes the node unsupported.
  mlir::Type element(llvm::StringRef name);
  std::optional<Condition> condition(llvm::StringRef name);
  const Argument *argument(llvm::StringRef name) { return find(name); }
  /// What the file says about a tensor argument; null when it says nothing.
  const TensorMeta *meta(llvm::StringRef name);

  /// Arguments that change nothing for nx. All others must be read: a node with an argument that its
  /// handler does not know is refused.
  void ignore(std::initializer_list<llvm::StringRef> names) { readArguments.append(names.begin(), names.end()); }
  /// The first argument that nobody has read; empty when there is none.
  llvm::StringRef unreadArgument() const;

  //===--- Axes and types -------------------------------------------------===//

  /// `axis` counted from the front; an error when it is not in [-rank, rank). A scalar counts as a
  /// vector here.
  int64_t axis(int64_t axis, int64_t rank);
  /// The same for a list, ascending.
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> list, int64_t rank);

  /// The element type that torch computes with for these operands (its rule of type promotion);
  /// null, and the node is unsupported, when torch has none.
  mlir::Type promoted(llvm::ArrayRef<Operand> operands);
  /// The same, integers and booleans becoming the default float type.
  mlir::Type promotedToFloat(llvm::ArrayRef<Operand> operands);
  /// The default float type: what torch gives for integers.
  mlir::Type floatOf(mlir::Type element);
  /// An operand as a tensor of that element type; numbers become rank 0.
  mlir::Value as(const Operand &operand, mlir::Type element);
  mlir::Value constant(mlir::Type element, const Scalar &scalar);

  //===--- Results --------------------------------------------------------===//

  void result(mlir::Value value) { nodeResults = {value}; }
  void results(llvm::ArrayRef<mlir::Value> values) { nodeResults.assign(values.begin(), values.end()); }
  void sizeResult(mlir::AffineExpr size) { nodeSize = size; }
  void conditionResult(Condition condition) { nodeCondition = condition; }
  /// The result is a copy although it looks like the argument.
  void markCopy() { isCopy = true; }

  /// The model is wrong here.
  mlir::InFlightDiagnostic error();
  /// The model is right but nx cannot compile this node. The first reason is kept.
  void unsupported(const llvm::Twine &reason);

  llvm::ArrayRef<mlir::Value> takenResults() const { return nodeResults; }
  mlir::AffineExpr takenSize() const { return nodeSize; }
  const std::optional<Condition> &takenCondition() const { return nodeCondition; }
  bool markedCopy() const { return isCopy; }
  const std::optional<std::string> &unsupportedReason() const { return reason; }

private:
  const Argument *find(llvm::StringRef name);
  const Argument *require(llvm::StringRef name);
  void wrongKind(llvm::StringRef name, llvm::StringRef wanted);
  mlir::Value lookup(llvm::StringRef value);
  mlir::AffineExpr sizeOf(llvm::StringRef value, int64_t constant, llvm::StringRef argument);

  GraphBuilder &b;
  const Node &node;
  Scope &scope;
  const Symbols &symbols;
  mlir::Value replaced;
  llvm::SmallVector<mlir::Value> nodeResults;
  mlir::AffineExpr nodeSize;
  std::optional<Condition> nodeCondition;
  bool isCopy = false;
  std::optional<std::string> reason;
  llvm::SmallVector<llvm::StringRef> readArguments;
};

/// Requires a condition: an error when it cannot hold, a run-time check when it may not.
void require(GraphBuilder &b, const Condition &condition, const llvm::Twine &what);

using Handler = void (*)(NodeImporter &, GraphBuilder &);

/// The content of `base` after its view `output` of the node has become `view`: how a write through
/// a view reaches what it is a view of.
using Inverse = mlir::Value (*)(NodeImporter &, GraphBuilder &, mlir::Value base, mlir::Value view, size_t output);

/// A row of the table of operators. A row without a handler says why nx refuses the operator.
struct OperatorRow {
  llvm::StringRef name;      ///< "aten.add"
  llvm::StringRef overloads; ///< separated by spaces; empty is "default"
  Handler handler;
  Inverse inverse = nullptr; ///< of operators whose results share their first argument's storage
  bool mayCopy = false;      ///< ... unless they have to make a copy
  llvm::StringRef refusal = "";
};

llvm::ArrayRef<OperatorRow> elementwiseOperators();
llvm::ArrayRef<OperatorRow> reduceOperators();
llvm::ArrayRef<OperatorRow> viewOperators();
llvm::ArrayRef<OperatorRow> createOperators();
llvm::ArrayRef<OperatorRow> indexOperators();
llvm::ArrayRef<OperatorRow> productOperators();
llvm::ArrayRef<OperatorRow> nnOperators();
llvm::ArrayRef<OperatorRow> symbolicOperators();
llvm::ArrayRef<OperatorRow> refusedOperators();

/// The row for a target such as "torch.ops.aten.add.Tensor" or "_operator.mul". `known` tells
/// whether the operator has other overloads.
const OperatorRow *findOperator(llvm::StringRef target, bool &known);
/// The target that computes what an operator like "torch.ops.aten.add_.Tensor" writes to its first
/// argument; empty when the target does not end in an underscore.
std::string functionalTarget(llvm::StringRef target);

} // namespace nx::torch
#endif // NX_COMPILER_IMPORT_TORCH_NODEIMPORTER_H
