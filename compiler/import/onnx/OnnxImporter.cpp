//===- OnnxImporter.cpp - ONNX files to nx --------------------------------===//

#include "compiler/import/onnx/OnnxImporter.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// The table of operators
//===----------------------------------------------------------------------===//

namespace {
struct DomainTable {
  StringRef domain;
  ArrayRef<OperatorRow> rows;
};
} // namespace

static std::vector<DomainTable> allTables() {
  return {{"", attentionOperators()},
          {"", elementwiseOperators()},
          {"", lossOperators()},
          {"", nnOperators()},
          {"", quantizedOperators()},
          {"", randomOperators()},
          {"", recurrentOperators()},
          {"", reduceOperators()},
          {"", refusedOperators()},
          {"", resampleOperators()},
          {"", scatterOperators()},
          {"", shapeOperators()},
          {"", signalOperators()},
          {"", tensorOperators()},
          {"", windowOperators()},
          {"ai.onnx.ml", mlOperators()},
          {"ai.onnx.ml", treeOperators()},
          {"ai.onnx.preview.training", trainingOperators()},
          {"com.microsoft", microsoftOperators()}};
}

/// All rows by domain and operator.
static const llvm::StringMap<SmallVector<const OperatorRow *, 2>> &operatorTable() {
  static const auto table = [] {
    llvm::StringMap<SmallVector<const OperatorRow *, 2>> rows;
    for (const DomainTable &kind : allTables())
      for (const OperatorRow &row : kind.rows)
        rows[(kind.domain + ":" + row.name).str()].push_back(&row);
    return rows;
  }();
  return table;
}

const OperatorRow *nx::onnx::findOperator(StringRef domain, StringRef name, int64_t opset, bool &known) {
  auto it = operatorTable().find((domain + ":" + name).str());
  known = it != operatorTable().end();
  if (known)
    for (const OperatorRow *row : it->second)
      if (opset >= row->minOpset && opset <= row->maxOpset)
        return row;
  return nullptr;
}

std::vector<SupportedOperator> nx::supportedOnnxOperators() {
  std::vector<SupportedOperator> operators;
  for (const DomainTable &kind : allTables())
    for (const OperatorRow &row : kind.rows)
      if (row.handler)
        operators.push_back({kind.domain, row.name, row.minOpset, row.maxOpset});
  llvm::sort(operators, [](const SupportedOperator &a, const SupportedOperator &b) {
    return std::tie(a.domain, a.name, a.minOpset) < std::tie(b.domain, b.name, b.minOpset);
  });
  return operators;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

namespace {

/// Functions and branches may call on without end in a wrong file.
constexpr unsigned kMaxDepth = 32;
constexpr unsigned kMaxNodes = 1 << 19;
/// Of a node inside of calls, the name of which holds the names of all of them.
constexpr size_t kMaxLabel = 1024;

/// Values by name in one graph or function body. Branches see the values around them.
struct Scope {
  const Scope *parent = nullptr;
  llvm::StringMap<Value> values;
  llvm::StringMap<const Tensor *> initializers; ///< not used so far
  /// Names that a node of this graph produces, to tell an unsorted graph from a missing value.
  llvm::StringSet<> produced;
  const llvm::StringMap<int64_t> *opsets = nullptr;
  /// Inside a function: what its attribute references stand for.
  const llvm::StringMap<const onnx::Attribute *> *attributes = nullptr;
  std::string path; ///< of the calling nodes, for locations
  unsigned depth = 0;
};

class ModelImporter {
public:
  ModelImporter(const Model &model, StringRef folder, MLIRContext &context, ParamCatalog &params,
                const ImportOptions &options)
      : model(model), folder(folder), params(params), options(options), b(OpBuilder(&context)) {}

  FailureOr<OwningOpRef<ModuleOp>> run();

private:
  const Model &model;
  std::string folder;
  ParamCatalog &params;
  const ImportOptions &options;
  GraphBuilder b;
  llvm::StringMap<const Function *> functions;
  llvm::StringMap<int64_t> fixedSymbols; ///< symbols that --shape made static
  llvm::StringMap<unsigned> paramNames; ///< taken, and how many were derived from each
  llvm::DenseMap<const Tensor *, std::string> paramOf; ///< tensors that are parameters already
  unsigned importedNodes = 0; ///< of the graph and of each call of a function

  LogicalResult readOpsets(const std::vector<OpsetImport> &imports, llvm::StringMap<int64_t> &opsets);
  LogicalResult fixSymbols(const Graph &graph);
  RankedTensorType inputType(const ValueInfo &input);
  LogicalResult checkOutput(const ValueInfo &output, Value value);

  LogicalResult importNodes(ArrayRef<Node> nodes, Scope &scope);
  LogicalResult importNode(const Node &node, Scope &scope);
  LogicalResult callFunction(const Node &node, const Function &function, ArrayRef<Value> inputs, Scope &scope,
                             StringRef label);
  LogicalResult importBranch(const Node &node, bool condition, Scope &scope, StringRef label);
  LogicalResult bind(const Node &node, ArrayRef<Value> results, Scope &scope);
  LogicalResult refuse(const Node &node, ArrayRef<Value> inputs, int64_t opset, StringRef reason, Scope &scope);

  /// The value called `name` in `scope`; null after an error.
  Value lookup(StringRef name, Scope &scope);
  /// A tensor's contents: a constant when small, else a parameter called `name`. Null after an error.
  Value importTensor(const Tensor &tensor, StringRef name);
  /// The same for contents of the importer's own.
  Value tableOf(RankedTensorType type, std::vector<char> bytes, StringRef name);
  std::string uniqueParamName(StringRef name);
  const onnx::Attribute *findAttribute(const Node &node, StringRef name, const Scope &scope);
};

/// Results of refused nodes have this type; what uses them is left out.
bool isRefused(Value value) { return value && isa<NoneType>(value.getType()); }

std::string functionKey(StringRef domain, StringRef name, StringRef overload) {
  return (domain + "::" + name + "::" + overload).str();
}

bool isOnnxDomain(StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

} // namespace

LogicalResult ModelImporter::readOpsets(const std::vector<OpsetImport> &imports, llvm::StringMap<int64_t> &opsets) {
  for (const OpsetImport &import : imports) {
    StringRef domain = isOnnxDomain(import.domain) ? "" : import.domain;
    if (domain.empty() && (import.version < kMinOnnxOpset || import.version > kMaxOnnxOpset))
      return b.error() << "the model uses ONNX opset " << import.version << "; nx reads " << kMinOnnxOpset << " to "
                       << kMaxOnnxOpset << ". Export it with an opset in that range, or convert it with "
                       << "onnx.version_converter";
    if (!opsets.try_emplace(domain, import.version).second)
      return b.error() << "the model imports domain '" << domain << "' twice";
  }
  return success();
}

/// Finds the symbols whose sizes --shape gives.
LogicalResult ModelImporter::fixSymbols(const Graph &graph) {
  for (auto &entry : options.shapes) {
    StringRef name = entry.getKey();
    ArrayRef<int64_t> sizes = entry.getValue();
    auto input = llvm::find_if(graph.inputs, [&](const ValueInfo &info) { return info.name == name; });
    if (input == graph.inputs.end())
      return b.error() << "--shape names '" << name << "', the model has no such input";
    if (!input->dims)
      continue;
    if (input->dims->size() != sizes.size())
      return b.error() << "--shape gives " << sizes.size() << " sizes for input '" << name << "', the model has "
                       << input->dims->size();
    for (auto [i, dim, size] : llvm::enumerate(*input->dims, sizes)) {
      if (ShapedType::isDynamic(size))
        continue;
      if (dim.value && *dim.value >= 0 && *dim.value != size)
        return b.error() << "--shape gives size " << size << " for dimension " << i << " of input '" << name
                         << "', the model fixes it to " << *dim.value;
      if (dim.value || dim.symbol.empty())
        continue;
      auto [known, isNew] = fixedSymbols.try_emplace(dim.symbol, size);
      if (!isNew && known->second != size)
        return b.error() << "--shape gives both " << known->second << " and " << size << " for '" << dim.symbol << "'";
    }
  }
  return success();
}

/// Elements of less than a byte share bytes outside of a model, but not inside.
static bool mayCrossBoundary(Type element) { return element.getIntOrFloatBitWidth() >= 8 || element.isInteger(1); }

RankedTensorType ModelImporter::inputType(const ValueInfo &input) {
  b.loc = NameLoc::get(b.builder.getStringAttr(input.name));
  if (input.kind != ValueInfo::Kind::Tensor)
    return b.error() << "input '" << input.name << "' is not a tensor; nx takes tensors only", RankedTensorType();
  Type element = elementType(input.elementType, b.context());
  if (!element)
    return b.error() << "input '" << input.name << "' has element type " << nameOf(input.elementType)
                     << ", which nx does not have", RankedTensorType();
  if (!mayCrossBoundary(element))
    return b.error() << "input '" << input.name << "' has element type " << nameOf(input.elementType)
                     << ", which nx has for weights and inside of a model only", RankedTensorType();
  auto given = options.shapes.find(input.name);
  if (!input.dims && given == options.shapes.end())
    return b.error() << "input '" << input.name << "' has no shape; give it with --shape " << input.name << "=DIMS",
           RankedTensorType();
  SmallVector<AffineExpr> dims;
  const Dim unknown;
  size_t rank = input.dims ? input.dims->size() : given->second.size();
  for (size_t i = 0; i < rank; ++i) {
    const Dim &dim = input.dims ? (*input.dims)[i] : unknown;
    int64_t fixed = given != options.shapes.end() ? given->second[i] : ShapedType::kDynamic;
    if (!ShapedType::isDynamic(fixed))
      dims.push_back(b.size(fixed));
    else if (dim.value && *dim.value >= 0) // some exporters write -1 for "unknown"
      dims.push_back(b.size(*dim.value));
    else if (dim.symbol.empty())
      dims.push_back(b.symbol((input.name + "_dim" + Twine(i)).str()));
    else if (auto it = fixedSymbols.find(dim.symbol); it != fixedSymbols.end())
      dims.push_back(b.size(it->second));
    else
      dims.push_back(b.symbol(dim.symbol));
  }
  int64_t bytes = elementBytes(element);
  for (AffineExpr dim : dims)
    if (auto size = constantOf(dim); size && llvm::MulOverflow(bytes, std::max<int64_t>(*size, 1), bytes))
      return b.error() << "input '" << input.name << "' has an impossible size " << *size, RankedTensorType();
  return tensorOf(dims, element);
}

LogicalResult ModelImporter::checkOutput(const ValueInfo &output, Value value) {
  if (output.kind != ValueInfo::Kind::Tensor || isRefused(value))
    return success();
  RankedTensorType type = GraphBuilder::typeOf(value);
  if (output.elementType != DataType::Undefined &&
      elementType(output.elementType, b.context()) != type.getElementType())
    return b.error() << "output '" << output.name << "' is declared as " << nameOf(output.elementType)
                     << ", the graph computes " << type.getElementType();
  if (!output.dims)
    return success();
  if (int64_t(output.dims->size()) != type.getRank())
    return b.error() << "output '" << output.name << "' is declared with rank " << output.dims->size()
                     << ", the graph computes " << b.text(type);
  // Sizes made static by --shape differ from what the model declares, and rightly so.
  if (options.shapes.empty())
    for (auto [i, dim] : llvm::enumerate(*output.dims))
      if (auto size = constantOf(dimOf(type, i)); dim.value && *dim.value >= 0 && size && *size != *dim.value)
        return b.error() << "dimension " << i << " of output '" << output.name << "' is declared as " << *dim.value
                         << ", the graph computes " << b.text(type);
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> ModelImporter::run() {
  const Graph &graph = *model.graph;
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.loc);
  Scope scope;
  llvm::StringMap<int64_t> opsets;
  scope.opsets = &opsets;
  if (failed(readOpsets(model.opsets, opsets)) || failed(fixSymbols(graph)))
    return failure();
  if (graph.hasSparseInitializers)
    return b.error() << "the model has sparse initializers, which nx does not read; store them densely", failure();
  for (const Function &function : model.functions)
    functions[functionKey(function.domain, function.name, function.overload)] = &function;

  for (const Tensor &tensor : graph.initializers)
    if (!scope.initializers.try_emplace(tensor.name, &tensor).second)
      return b.error() << "two initializers are called '" << tensor.name << "'", failure();

  // Before IR version 4 initializers are listed among the inputs too, as defaults: they are constants.
  SmallVector<const ValueInfo *> inputs;
  SmallVector<Type> inputTypes;
  for (const ValueInfo &input : graph.inputs) {
    if (scope.initializers.contains(input.name))
      continue;
    RankedTensorType type = inputType(input);
    if (!type)
      return failure();
    inputs.push_back(&input);
    inputTypes.push_back(type);
  }

  b.builder.setInsertionPointToEnd(module->getBody());
  b.loc = NameLoc::get(b.builder.getStringAttr(graph.name.empty() ? StringRef("forward") : graph.name));
  auto forward = func::FuncOp::create(b.builder, b.loc, "forward", b.builder.getFunctionType(inputTypes, {}));
  Block *body = forward.addEntryBlock();
  b.builder.setInsertionPointToEnd(body);
  for (auto [input, argument] : llvm::zip(inputs, body->getArguments())) {
    if (!scope.values.try_emplace(input->name, argument).second)
      return b.error() << "two inputs are called '" << input->name << "'", failure();
    argument.setLoc(NameLoc::get(b.builder.getStringAttr(input->name)));
    forward.setArgAttr(argument.getArgNumber(), "nx.name", b.builder.getStringAttr(input->name));
  }
  if (failed(importNodes(graph.nodes, scope)))
    return failure();

  SmallVector<Value> results;
  SmallVector<Type> resultTypes;
  if (graph.outputs.empty())
    return b.error() << "the model has no outputs", failure();
  llvm::StringSet<> outputNames;
  for (const ValueInfo &output : graph.outputs) {
    b.loc = NameLoc::get(b.builder.getStringAttr(output.name));
    if (!outputNames.insert(output.name).second)
      return b.error() << "two outputs are called '" << output.name << "'", failure();
    Value value = lookup(output.name, scope);
    if (!value || failed(checkOutput(output, value)))
      return failure();
    if (auto type = dyn_cast<RankedTensorType>(value.getType()); type && !mayCrossBoundary(type.getElementType()))
      return b.error() << "output '" << output.name << "' has element type " << nameOf(output.elementType)
                       << ", which nx has for weights and inside of a model only", failure();
    results.push_back(value);
    resultTypes.push_back(value.getType());
  }
  b.loc = forward.getLoc();
  func::ReturnOp::create(b.builder, b.loc, results);
  forward.setFunctionType(b.builder.getFunctionType(inputTypes, resultTypes));
  for (auto [i, output] : llvm::enumerate(graph.outputs))
    forward.setResultAttr(i, "nx.name", b.builder.getStringAttr(output.name));
  SmallVector<StringRef> names(b.symbols.begin(), b.symbols.end());
  forward->setAttr(kSymbolsAttr, b.builder.getStrArrayAttr(names));

  // Shape arithmetic has left values behind that nothing uses.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (failed(verify(*module)))
    return failure();
  return module;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value ModelImporter::importTensor(const Tensor &tensor, StringRef name) {
  Expected<RankedTensorType> type = tensorType(tensor, b.context());
  if (!type)
    return b.error() << toString(type.takeError()), Value();
  // A function's tensor is met in each of its calls.
  if (auto known = paramOf.find(&tensor); known != paramOf.end())
    return ParamOp::create(b.builder, b.loc, *type, known->second, *type, b.builder.getArrayAttr({}));
  Expected<TensorBytes> data = readTensor(tensor, *type, folder, params);
  if (!data)
    return b.error() << toString(data.takeError()), Value();
  ArrayRef<char> bytes = data->bytes();

  if (isSmall(*type)) {
    if (type->getNumElements() == 0)
      return b.constant(DenseElementsAttr::get(*type, ArrayRef<mlir::Attribute>()));
    if (type->getElementType().isInteger(1))
      return b.constant(DenseElementsAttr::get(*type, SmallVector<bool>(bytes)));
    if (type->getElementTypeBitWidth() < 8) {
      Type element = type->getElementType();
      SmallVector<mlir::Attribute> values;
      for (char byte : bytes) {
        APInt bits(type->getElementTypeBitWidth(), uint8_t(byte), false, /*implicitTrunc=*/true);
        if (auto floatType = dyn_cast<FloatType>(element))
          values.push_back(FloatAttr::get(element, APFloat(floatType.getFloatSemantics(), bits)));
        else
          values.push_back(IntegerAttr::get(element, bits));
      }
      return b.constant(DenseElementsAttr::get(*type, values));
    }
    return b.constant(DenseElementsAttr::getFromRawBuffer(*type, bytes));
  }

  std::string unique = uniqueParamName(name);
  Error error = data->isDecoded ? params.addOwned(unique, *type, std::move(data->decoded))
                                : params.add(unique, *type, bytes);
  if (error)
    return b.error() << toString(std::move(error)), Value();
  paramOf[&tensor] = unique;
  return ParamOp::create(b.builder, b.loc, *type, unique, *type, b.builder.getArrayAttr({}));
}

/// Graphs and functions have names of their own.
std::string ModelImporter::uniqueParamName(StringRef name) {
  std::string unique = name.str();
  while (!paramNames.try_emplace(unique, 1).second)
    unique = (name + "#" + Twine(++paramNames[name])).str();
  return unique;
}

Value ModelImporter::tableOf(RankedTensorType type, std::vector<char> bytes, StringRef name) {
  if (isSmall(type))
    return type.getNumElements() ? b.constant(DenseElementsAttr::getFromRawBuffer(type, bytes))
                                 : b.constant(DenseElementsAttr::get(type, ArrayRef<mlir::Attribute>()));
  std::string unique = uniqueParamName(name);
  if (Error error = params.addOwned(unique, type, std::move(bytes)))
    return b.error() << toString(std::move(error)), Value();
  return ParamOp::create(b.builder, b.loc, type, unique, type, b.builder.getArrayAttr({}));
}

Value ModelImporter::lookup(StringRef name, Scope &scope) {
  for (Scope *at = &scope; at; at = const_cast<Scope *>(at->parent)) {
    if (auto it = at->values.find(name); it != at->values.end())
      return it->second;
    if (auto it = at->initializers.find(name); it != at->initializers.end()) {
      // Created at its first use, under its own name.
      Location user = b.loc;
      b.loc = NameLoc::get(b.builder.getStringAttr(name));
      Value value = importTensor(*it->second, name);
      b.loc = user;
      if (value)
        at->values[name] = value;
      return value;
    }
  }
  if (scope.produced.contains(name))
    b.error() << "value '" << name << "' is used before the node that computes it: the graph's nodes are not sorted";
  else
    b.error() << "value '" << name << "' is neither an input nor an initializer, and no node computes it";
  return {};
}

const onnx::Attribute *ModelImporter::findAttribute(const Node &node, StringRef name, const Scope &scope) {
  for (const onnx::Attribute &attribute : node.attributes) {
    if (attribute.name != name)
      continue;
    if (attribute.reference.empty())
      return &attribute;
    return scope.attributes ? scope.attributes->lookup(attribute.reference) : nullptr;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult ModelImporter::importNodes(ArrayRef<Node> nodes, Scope &scope) {
  for (const Node &node : nodes)
    for (StringRef output : node.outputs)
      scope.produced.insert(output);
  for (const Node &node : nodes)
    if (failed(importNode(node, scope)))
      return failure();
  return success();
}

LogicalResult ModelImporter::bind(const Node &node, ArrayRef<Value> results, Scope &scope) {
  for (auto [i, name] : llvm::enumerate(node.outputs)) {
    if (name.empty())
      continue;
    bool taken = scope.initializers.contains(name) || !scope.values.try_emplace(name, results[i]).second;
    if (taken)
      return b.error() << "value '" << name << "' is computed or given twice";
  }
  return success();
}

LogicalResult ModelImporter::refuse(const Node &node, ArrayRef<Value> inputs, int64_t opset, StringRef reason,
                                    Scope &scope) {
  SmallVector<Value> present;
  for (Value input : inputs)
    if (input)
      present.push_back(input);
  SmallVector<Type> types(node.outputs.size(), NoneType::get(b.context()));
  StringRef label = cast<NameLoc>(b.loc).getName().getValue();
  auto op = UnsupportedOp::create(b.builder, b.loc, types, present, label, node.opType,
                                  isOnnxDomain(node.domain) ? "ai.onnx" : node.domain, opset, reason);
  return bind(node, SmallVector<Value>(op.getResults()), scope);
}

LogicalResult ModelImporter::importNode(const Node &node, Scope &scope) {
  std::string label = scope.path;
  if (!node.name.empty())
    label += node.name;
  else
    label += (node.opType + "_" + (node.outputs.empty() ? StringRef("") : node.outputs[0])).str();
  if (label.size() > kMaxLabel)
    label.replace(0, label.size() - kMaxLabel, "...");
  b.loc = NameLoc::get(b.builder.getStringAttr(label));
  b.clearFailure();
  if (++importedNodes > kMaxNodes)
    return b.error() << "the model has more than " << kMaxNodes << " nodes, those of called functions included";

  SmallVector<Value> inputs;
  bool afterRefused = false;
  for (StringRef name : node.inputs) {
    Value value;
    if (!name.empty() && !(value = lookup(name, scope)))
      return failure();
    afterRefused |= isRefused(value);
    inputs.push_back(value);
  }

  bool isOnnx = isOnnxDomain(node.domain);
  auto opset = scope.opsets->find(isOnnx ? "" : node.domain);
  if (opset == scope.opsets->end())
    return b.error() << node.opType << ": the model imports no opset for domain '" << node.domain << "'";
  auto function = functions.find(functionKey(node.domain, node.opType, node.overload));
  if (function != functions.end())
    return callFunction(node, *function->second, inputs, scope, label);

  bool known = false;
  const OperatorRow *row = findOperator(isOnnx ? StringRef() : node.domain, node.opType, opset->second, known);
  if (!row)
    return refuse(node, inputs, opset->second,
                  known ? "nx does not have this operator for this opset" : "nx does not have this operator", scope);
  // What depends on a refused node has no types: it is left out, refused operators excepted.
  if (afterRefused && row->handler) {
    SmallVector<Value> none(node.outputs.size(), *llvm::find_if(inputs, isRefused));
    return bind(node, none, scope);
  }
  if (node.opType == "If" && !inputs.empty() && !afterRefused && inputs[0])
    if (std::optional<SmallVector<int64_t>> condition = knownInts(inputs[0]); condition && condition->size() == 1)
      return importBranch(node, condition->front(), scope, label);
  if (!row->handler)
    return refuse(node, inputs, opset->second, row->refusal, scope);

  auto find = [&](StringRef name) { return findAttribute(node, name, scope); };
  auto makeConstant = [&](const Tensor &tensor) {
    // Named by the value that other nodes know it by, if the tensor has no name of its own.
    return importTensor(tensor, node.outputs.empty() ? StringRef(label) : node.outputs[0]);
  };
  auto makeTable = [&](RankedTensorType type, std::vector<char> bytes) { return tableOf(type, std::move(bytes), label); };
  NodeImporter importer(b, node, opset->second, inputs, find, makeConstant, makeTable);
  row->handler(importer, b);
  if (b.failed())
    return failure();
  if (importer.unsupportedReason())
    return refuse(node, inputs, opset->second, *importer.unsupportedReason(), scope);
  if (StringRef unread = importer.unreadAttribute(); !unread.empty())
    return refuse(node, inputs, opset->second, ("nx does not know the attribute '" + unread + "'").str(), scope);
  SmallVector<Value> results(importer.takenResults());
  results.resize(std::max(results.size(), node.outputs.size()));
  for (auto [i, name] : llvm::enumerate(node.outputs))
    if (!name.empty() && !results[i])
      return refuse(node, inputs, opset->second, "nx does not compute output " + std::to_string(i), scope);
  return bind(node, results, scope);
}

LogicalResult ModelImporter::callFunction(const Node &node, const Function &function, ArrayRef<Value> inputs,
                                          Scope &scope, StringRef label) {
  if (inputs.size() > function.inputs.size() || node.outputs.size() > function.outputs.size())
    return b.error() << node.opType << ": the call has more inputs or outputs than the function";
  if (scope.depth >= kMaxDepth)
    return b.error() << node.opType << ": functions call each other more than " << kMaxDepth << " deep";
  llvm::StringMap<int64_t> opsets;
  if (failed(readOpsets(function.opsets, opsets)))
    return failure();
  // Functions may leave out domains that the model imports.
  for (auto &entry : *scope.opsets)
    opsets.try_emplace(entry.getKey(), entry.getValue());

  llvm::StringMap<const onnx::Attribute *> attributes;
  for (const onnx::Attribute &attribute : function.attributeDefaults)
    attributes[attribute.name] = &attribute;
  for (const onnx::Attribute &attribute : node.attributes)
    if (const onnx::Attribute *given = findAttribute(node, attribute.name, scope))
      attributes[attribute.name] = given;

  Scope inner;
  inner.opsets = &opsets;
  inner.attributes = &attributes;
  inner.path = (label + "/").str();
  inner.depth = scope.depth + 1;
  // A parameter that the call leaves out is absent inside too: its uses read as empty names.
  for (auto [name, value] : llvm::zip(function.inputs, inputs))
    if (value)
      inner.values[name] = value;
  std::vector<Node> nodes = function.nodes;
  for (Node &inside : nodes)
    for (StringRef &name : inside.inputs)
      if (llvm::is_contained(function.inputs, name) && !inner.values.contains(name))
        name = "";
  if (failed(importNodes(nodes, inner)))
    return failure();

  SmallVector<Value> results;
  for (auto [i, name] : llvm::enumerate(node.outputs)) {
    Value value = name.empty() ? Value() : lookup(function.outputs[i], inner);
    if (!value && !name.empty())
      return failure();
    results.push_back(value);
  }
  return bind(node, results, scope);
}

LogicalResult ModelImporter::importBranch(const Node &node, bool condition, Scope &scope, StringRef label) {
  const onnx::Attribute *branch = findAttribute(node, condition ? "then_branch" : "else_branch", scope);
  if (!branch || !branch->graph || branch->graph->outputs.size() < node.outputs.size())
    return b.error() << "If: a branch is missing or has too few outputs";
  if (scope.depth >= kMaxDepth)
    return b.error() << "If: branches are nested more than " << kMaxDepth << " deep";
  Scope inner;
  inner.parent = &scope;
  inner.opsets = scope.opsets;
  inner.attributes = scope.attributes;
  inner.path = (label + "/").str();
  inner.depth = scope.depth + 1;
  for (const Tensor &tensor : branch->graph->initializers)
    inner.initializers.try_emplace(tensor.name, &tensor);
  if (failed(importNodes(branch->graph->nodes, inner)))
    return failure();
  SmallVector<Value> results;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (results.push_back(lookup(branch->graph->outputs[i].name, inner)); !results.back())
      return failure();
  return bind(node, results, scope);
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<OwningOpRef<ModuleOp>> nx::importOnnxBytes(StringRef bytes, StringRef folder, MLIRContext &context,
                                                     ParamCatalog &params, const ImportOptions &options) {
  context.loadDialect<NxDialect, func::FuncDialect>();
  Expected<Model> model = readModel(bytes);
  if (!model) {
    emitError(UnknownLoc::get(&context)) << toString(model.takeError());
    return failure();
  }
  return ModelImporter(*model, folder, context, params, options).run();
}

FailureOr<OwningOpRef<ModuleOp>> nx::importOnnx(StringRef path, MLIRContext &context, ParamCatalog &params,
                                                const ImportOptions &options) {
  Expected<StringRef> bytes = params.mapFile(path);
  if (!bytes) {
    emitError(UnknownLoc::get(&context)) << toString(bytes.takeError());
    return failure();
  }
  return importOnnxBytes(*bytes, llvm::sys::path::parent_path(path), context, params, options);
}
