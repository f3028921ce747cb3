//===- TorchImporter.cpp - Programs of torch.export to nx -----------------===//
//
// Tensors of a program may share storage, and some operators write to their argument. nx values are
// immutable, so each tensor is a view: a storage and the nodes that lead to the view. A write through
// a view gives its storage a new value, and other views are computed again when they are read.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/torch/TorchImporter.h"
#include "compiler/import/torch/NodeImporter.h"
#include "compiler/import/torch/StoredZip.h"
#include "compiler/import/torch/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace mlir;
using namespace nx;
using namespace nx::torch;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// The table of operators
//===----------------------------------------------------------------------===//

/// All rows by operator.
static const llvm::StringMap<SmallVector<const OperatorRow *, 2>> &operatorTable() {
  static const auto table = [] {
    llvm::StringMap<SmallVector<const OperatorRow *, 2>> rows;
    for (ArrayRef<OperatorRow> kind :
         {elementwiseOperators(), reduceOperators(), viewOperators(), createOperators(), indexOperators(),
          productOperators(), nnOperators(), symbolicOperators(), refusedOperators()})
      for (const OperatorRow &row : kind)
        rows[row.name].push_back(&row);
    return rows;
  }();
  return table;
}

/// "torch.ops.aten.add.Tensor" as "aten.add" and "Tensor".
static std::pair<StringRef, StringRef> splitTarget(StringRef target) {
  if (!target.consume_front("torch.ops."))
    return {target, "default"};
  size_t dot = target.find('.', target.find('.') + 1);
  if (dot == StringRef::npos)
    return {target, "default"};
  return {target.take_front(dot), target.drop_front(dot + 1)};
}

static SmallVector<StringRef> overloadsOf(const OperatorRow &row) {
  SmallVector<StringRef> overloads;
  row.overloads.split(overloads, ' ');
  if (row.overloads.empty())
    overloads = {"default"};
  return overloads;
}

const OperatorRow *nx::torch::findOperator(StringRef target, bool &known) {
  auto [name, overload] = splitTarget(target);
  auto it = operatorTable().find(name);
  known = it != operatorTable().end();
  if (known)
    for (const OperatorRow *row : it->second)
      if (row->overloads == "*" || llvm::is_contained(overloadsOf(*row), overload))
        return row;
  return nullptr;
}

std::string nx::torch::functionalTarget(StringRef target) {
  auto [name, overload] = splitTarget(target);
  if (!target.starts_with("torch.ops.") || !name.ends_with("_") || name.ends_with("__"))
    return "";
  return ("torch.ops." + name.drop_back() + "." + overload).str();
}

std::vector<std::string> nx::torch::supportedTorchOperators() {
  std::vector<std::string> operators;
  for (auto &entry : operatorTable())
    for (const OperatorRow *row : entry.second)
      if (row->handler)
        for (StringRef overload : overloadsOf(*row))
          operators.push_back((row->name + (overload == "default" || overload == "*" ? "" : "." + overload)).str());
  llvm::sort(operators);
  operators.erase(llvm::unique(operators), operators.end());
  return operators;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {

/// Results of refused nodes have this type; what uses them is left out.
bool isRefused(Value value) { return value && isa<NoneType>(value.getType()); }

/// What tensors that are views of each other share.
struct Storage {
  Value value;               ///< null before a weight's first use
  StringRef payload;         ///< the weight's or constant's name, or empty
  unsigned version = 0;      ///< counts writes
  std::string uncertainView; ///< a node that may or may not have made a copy
};

struct View {
  std::shared_ptr<Storage> storage;
  /// The tensor that this is a view of, and how; null when it is the whole storage.
  std::shared_ptr<View> base;
  const Node *node = nullptr;
  const OperatorRow *row = nullptr;
  size_t output = 0;
  const TensorMeta *meta = nullptr; ///< what the file says about it
  /// The value as of a version of the storage.
  Value value;
  unsigned version = 0;
};

/// Values of one graph by name.
struct Frame {
  const Graph *graph;
  llvm::StringMap<std::shared_ptr<View>> tensors;
  llvm::StringMap<AffineExpr> sizes; ///< null: computed from data
  llvm::StringMap<Condition> conditions;
  llvm::StringSet<> refused; ///< sizes and conditions that a refused node gives
  llvm::StringSet<> used;    ///< what nodes and outputs read

  explicit Frame(const Graph &graph);
};

constexpr unsigned kMaxDepth = 32;

class ProgramImporter : Scope {
public:
  ProgramImporter(const Pt2Archive &archive, MLIRContext &context, ParamCatalog &params, const ImportOptions &options)
      : archive(archive), program(archive.program), params(params), options(options), b(OpBuilder(&context)),
        symbols(&context) {}

  FailureOr<OwningOpRef<ModuleOp>> run();

private:
  const Pt2Archive &archive;
  const ExportedProgram &program;
  ParamCatalog &params;
  const ImportOptions &options;
  GraphBuilder b;
  Symbols symbols;
  Frame *frame = nullptr;
  unsigned depth = 0;
  llvm::StringMap<Value> importedPayloads; ///< by place and type: tied weights are one
  OpBuilder::InsertPoint weightsAt;

  // The signature.
  LogicalResult bindSymbols();
  void findDivisors(llvm::StringMap<int64_t> &divisors);
  LogicalResult fixSymbols(llvm::StringMap<int64_t> &fixed);
  RankedTensorType inputType(const InputSpec &input);
  LogicalResult addGuards(ValueRange arguments, ArrayRef<const InputSpec *> inputs);
  Value outputValue(const Argument &arg);
  LogicalResult addState(func::FuncOp forward, Storage &state);
  void refuseMutations(ArrayRef<const InputSpec *> inputs);

  // Scope
  Value tensor(StringRef name) override;
  AffineExpr size(StringRef name) override;
  std::optional<Condition> condition(StringRef name) override;
  const TensorMeta *meta(StringRef name) override;
  bool isUsed(StringRef name) override { return frame->used.contains(name); }

  // Values
  Value read(View &view);
  /// False when the node cannot be compiled; `reason` says why.
  bool write(View &view, Value value, std::string &reason);
  const Payload *findPayload(StringRef name);
  LogicalResult addParam(StringRef name, StoredTensor &tensor);
  Value importPayload(StringRef name);
  void findWritten(const Graph &graph, llvm::StringMap<std::string> &roots, llvm::StringSet<> &written, unsigned depth);
  llvm::StringSet<> changedBuffers();
  std::optional<bool> canBeViewed(const TensorMeta *meta, ArrayRef<AffineExpr> sizes);

  // Nodes
  LogicalResult importNodes(const Graph &graph);
  LogicalResult importNode(const Node &node);
  LogicalResult inlineGraph(const Node &node, bool &done);
  LogicalResult bind(const Node &node, ArrayRef<std::shared_ptr<View>> views, const NodeImporter *importer);
  LogicalResult refuse(const Node &node, StringRef reason);
  bool dependsOnRefused(const Node &node);
  Location locationOf(const Node &node);
  /// Why the results are not what the file says; empty when they are.
  std::string mismatch(const Node &node, ArrayRef<Value> results);
};

/// Calls `visit` with each value name that an argument holds, and whether it is a tensor's.
void forEachName(const Argument &arg, llvm::function_ref<void(StringRef, bool isTensor)> visit) {
  using Kind = Argument::Kind;
  switch (arg.kind) {
  case Kind::Tensor:
    return visit(arg.s, true);
  case Kind::SymInt:
  case Kind::SymFloat:
  case Kind::SymBool:
    if (!arg.s.empty())
      visit(arg.s, false);
    return;
  case Kind::Tensors:
  case Kind::OptionalTensors:
  case Kind::SymInts:
    for (const Argument::Element &element : arg.list)
      if (!element.name.empty())
        visit(element.name, arg.kind != Kind::SymInts);
    return;
  default:
    return;
  }
}

Frame::Frame(const Graph &graph) : graph(&graph) {
  auto use = [&](StringRef name, bool) { used.insert(name); };
  for (const Node &node : graph.nodes)
    for (const NamedArgument &input : node.inputs)
      forEachName(input.arg, use);
  for (const Argument &output : graph.outputs)
    forEachName(output, use);
}

} // namespace

Value ProgramImporter::tensor(StringRef name) {
  auto it = frame->tensors.find(name);
  if (it != frame->tensors.end())
    return read(*it->second);
  if (!b.failed())
    b.error() << "value '" << name << "' is neither an input nor computed by an earlier node";
  return {};
}

AffineExpr ProgramImporter::size(StringRef name) {
  auto it = frame->sizes.find(name);
  if (it != frame->sizes.end())
    return it->second;
  if (!b.failed())
    b.error() << "size '" << name << "' is neither an input nor computed by an earlier node";
  return {};
}

std::optional<Condition> ProgramImporter::condition(StringRef name) {
  auto it = frame->conditions.find(name);
  return it == frame->conditions.end() ? std::nullopt : std::optional(it->second);
}

const TensorMeta *ProgramImporter::meta(StringRef name) {
  auto it = frame->graph->tensors.find(name);
  return it == frame->graph->tensors.end() ? nullptr : &it->second;
}

Value ProgramImporter::read(View &view) {
  Storage &storage = *view.storage;
  if (view.value && view.version == storage.version)
    return view.value;
  if (!view.base) {
    if (!storage.value)
      storage.value = importPayload(storage.payload);
    view.value = storage.value;
  } else {
    Value base = read(*view.base);
    if (!base || isRefused(base)) {
      view.value = base;
    } else {
      NodeImporter again(b, *view.node, *this, symbols, base);
      view.row->handler(again, b);
      view.value = view.output < again.takenResults().size() ? again.takenResults()[view.output] : Value();
    }
  }
  view.version = storage.version;
  return view.value;
}

bool ProgramImporter::write(View &view, Value value, std::string &reason) {
  Storage &storage = *view.storage;
  if (!storage.uncertainView.empty()) {
    reason = "it writes to a tensor of which '" + storage.uncertainView + "' may or may not have made a copy";
    return false;
  }
  if (view.base) {
    Value base = read(*view.base);
    if (isRefused(value) || !base || isRefused(base)) {
      value = isRefused(value) ? value : base;
    } else {
      NodeImporter again(b, *view.node, *this, symbols, base);
      Value whole = view.row->inverse(again, b, base, value, view.output);
      if (again.unsupportedReason()) {
        reason = *again.unsupportedReason();
        return false;
      }
      value = whole;
    }
    return write(*view.base, value, reason);
  }
  storage.value = value;
  ++storage.version;
  return true;
}

/// Whether a tensor that lies in memory as `meta` says can be shown with other sizes without a copy;
/// nothing when symbolic sizes leave it open.
std::optional<bool> ProgramImporter::canBeViewed(const TensorMeta *meta, ArrayRef<AffineExpr> sizes) {
  if (!meta || meta->strides.size() != meta->sizes.size())
    return std::nullopt;
  SmallVector<std::pair<AffineExpr, AffineExpr>> dims; // size and stride, without those of size 1
  bool isStatic = llvm::all_of(sizes, [](AffineExpr size) { return constantOf(size).has_value(); });
  AffineExpr expected = b.size(1);
  bool isContiguous = true;
  for (size_t i = meta->sizes.size(); i-- > 0;) {
    AffineExpr size = symbols.sizeOf(meta->sizes[i]), stride = symbols.sizeOf(meta->strides[i]);
    if (!size || !stride)
      return std::nullopt;
    isStatic &= constantOf(size) && constantOf(stride);
    if (constantOf(size) == 1)
      continue;
    dims.push_back({size, stride});
    isContiguous &= provablyEqual(stride, expected);
    expected = normalize(expected * size);
  }
  if (isContiguous)
    return true;
  if (!isStatic)
    return std::nullopt;
  // From the end: each run of dimensions that lie densely must be a whole number of new ones.
  size_t next = sizes.size();
  for (size_t i = 0; i < dims.size();) {
    int64_t run = 1, dense = *constantOf(dims[i].second);
    for (; i < dims.size() && *constantOf(dims[i].second) == dense; ++i) {
      run *= *constantOf(dims[i].first);
      dense *= *constantOf(dims[i].first);
    }
    int64_t covered = 1;
    while (next > 0 && (covered < run || *constantOf(sizes[next - 1]) == 1))
      covered *= *constantOf(sizes[--next]);
    if (covered != run)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

const Payload *ProgramImporter::findPayload(StringRef name) {
  auto it = archive.payloads.find(name);
  if (it != archive.payloads.end())
    return &it->second;
  b.error() << "the archive has no tensor '" << name << "'";
  return nullptr;
}

LogicalResult ProgramImporter::addParam(StringRef name, StoredTensor &tensor) {
  Error error = tensor.copied.empty() ? params.add(name, tensor.type, tensor.mapped)
                                      : params.addOwned(name, tensor.type, std::move(tensor.copied));
  if (error)
    return b.error() << toString(std::move(error));
  return success();
}

Value ProgramImporter::importPayload(StringRef name) {
  const Payload *payload = findPayload(name);
  if (!payload)
    return {};
  std::string key = identityOf(*payload);
  if (auto known = importedPayloads.find(key); known != importedPayloads.end())
    return known->second;
  Expected<StoredTensor> tensor = readTensor(*payload, b.context());
  if (!tensor)
    return b.error() << "tensor '" << name << "' of the archive " << toString(tensor.takeError()), Value();

  // Weights come before everything else, under their own name.
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.restoreInsertionPoint(weightsAt);
  Location user = b.loc;
  b.loc = NameLoc::get(b.builder.getStringAttr(name));
  RankedTensorType type = tensor->type;
  Value value;
  if (!isSmall(type)) {
    if (failed(addParam(name, *tensor)))
      return {};
    value = ParamOp::create(b.builder, b.loc, type, name, type, b.builder.getArrayAttr({}));
  } else if (type.getNumElements() == 0) {
    value = b.constant(DenseElementsAttr::get(type, ArrayRef<mlir::Attribute>()));
  } else if (type.getElementType().isInteger(1)) {
    value = b.constant(DenseElementsAttr::get(type, SmallVector<bool>(tensor->bytes())));
  } else {
    value = b.constant(DenseElementsAttr::getFromRawBuffer(type, tensor->bytes()));
  }
  SmallVector<int64_t> inverse(tensor->order.size());
  for (auto [position, dim] : llvm::enumerate(tensor->order))
    inverse[dim] = position;
  SmallVector<AffineExpr> dims;
  for (int64_t size : tensor->sizes)
    dims.push_back(b.size(size));
  value = b.broadcast(b.transpose(value, inverse), dims);
  b.loc = user;
  weightsAt = b.builder.saveInsertionPoint();
  return importedPayloads[key] = value;
}

//===----------------------------------------------------------------------===//
// Buffers that change
//===----------------------------------------------------------------------===//

/// Names of the inputs of a graph that its nodes write to, directly or through views.
void ProgramImporter::findWritten(const Graph &graph, llvm::StringMap<std::string> &roots, llvm::StringSet<> &written,
                                  unsigned depth) {
  for (const Node &node : graph.nodes) {
    bool known;
    const OperatorRow *row = findOperator(node.target, known);
    bool isInPlace = !row && !functionalTarget(node.target).empty();
    if (isInPlace)
      row = findOperator(functionalTarget(node.target), known);
    std::string root;
    if (!node.inputs.empty() && node.inputs[0].arg.kind == Argument::Kind::Tensor)
      root = roots.lookup(node.inputs[0].arg.s);
    for (const NamedArgument &input : node.inputs)
      if (input.arg.graph && depth < kMaxDepth) {
        // Its inputs are the arguments behind it.
        ArrayRef<NamedArgument> rest(&input + 1, &*node.inputs.begin() + node.inputs.size());
        llvm::StringMap<std::string> inner;
        for (auto [to, from] : llvm::zip(input.arg.graph->inputs, rest))
          if (auto it = roots.find(from.arg.s); it != roots.end())
            inner[to.s] = it->second;
        findWritten(*input.arg.graph, inner, written, depth + 1);
      }
    if (root.empty())
      continue;
    if (isInPlace && !(row && row->inverse))
      written.insert(root);
    if (isInPlace || (row && row->inverse))
      for (const Argument &output : node.outputs)
        forEachName(output, [&](StringRef name, bool) { roots[name] = root; });
  }
}

/// The buffers, by the names of their inputs, that the program leaves with other contents.
llvm::StringSet<> ProgramImporter::changedBuffers() {
  llvm::StringMap<std::string> roots;
  llvm::StringSet<> written;
  for (const InputSpec &input : program.inputs)
    if (input.kind != InputSpec::Kind::User)
      roots[input.arg.s] = input.arg.s;
  findWritten(program.graph, roots, written, 0);
  for (const OutputSpec &output : program.outputs)
    if (output.kind == OutputSpec::Kind::BufferMutation || output.kind == OutputSpec::Kind::ParameterMutation)
      for (const InputSpec &input : program.inputs)
        if (input.kind != InputSpec::Kind::User && input.target == output.target)
          written.insert(input.arg.s);
  // A tensor that two buffers are changes as one.
  for (const InputSpec &changed : program.inputs)
    if (changed.kind != InputSpec::Kind::User && written.contains(changed.arg.s))
      if (auto one = archive.payloads.find(changed.target); one != archive.payloads.end())
        for (const InputSpec &input : program.inputs)
          if (auto other = archive.payloads.find(input.target);
              input.kind != InputSpec::Kind::User && other != archive.payloads.end() &&
              other->second.entry == one->second.entry)
            written.insert(input.arg.s);
  return written;
}

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

/// The symbol if the expression is one, else empty.
static StringRef plainSymbol(StringRef expr) {
  if (!expr.consume_front("Symbol('"))
    return {};
  auto [name, rest] = expr.split('\'');
  return rest.count('(') == 0 && rest.ends_with(")") ? name : StringRef();
}

/// Numbers by which the program's guards say that a symbol can be divided: sizes such as s77 // 4 are
/// then exact.
void ProgramImporter::findDivisors(llvm::StringMap<int64_t> &divisors) {
  constexpr int64_t limit = 1 << 20;
  auto note = [&](StringRef symbol, int64_t divisor) {
    int64_t &known = divisors.try_emplace(symbol, 1).first->second;
    if (!symbol.empty() && divisor > 1 && divisor < limit && known < limit)
      known = std::lcm(known, divisor);
  };
  // "(L['x'].size()[0] % 4) == 0"
  for (StringRef guard : program.guards) {
    auto [lhs, rhs] = guard.split(" == ");
    if (rhs != "0" || !lhs.consume_front("(") || !lhs.consume_back(")"))
      continue;
    auto [size, divisor] = lhs.split(" % ");
    int64_t number, dim;
    auto [path, index] = size.split(".size()[");
    if (divisor.getAsInteger(10, number) || !index.consume_back("]") || index.getAsInteger(10, dim) ||
        !path.consume_front("L['") || !path.consume_back("']"))
      continue;
    for (const InputSpec &input : program.inputs)
      if (input.kind == InputSpec::Kind::User && input.arg.s == path)
        if (auto meta = program.graph.tensors.find(path);
            meta != program.graph.tensors.end() && dim >= 0 && dim < int64_t(meta->second.sizes.size()))
          note(plainSymbol(meta->second.sizes[dim].expr), number);
  }
  // _assert_scalar(eq(mod(s77, 4), 0))
  llvm::StringMap<const Node *> producers;
  for (const Node &node : program.graph.nodes)
    for (const Argument &output : node.outputs)
      if (!output.s.empty())
        producers[output.s] = &node;
  for (const Node &node : program.graph.nodes) {
    if (node.target != "torch.ops.aten._assert_scalar.default" || node.inputs.empty())
      continue;
    const Node *equal = producers.lookup(node.inputs[0].arg.s);
    if (!equal || equal->target != "_operator.eq" || equal->inputs.size() != 2 || equal->inputs[1].arg.i != 0 ||
        equal->inputs[1].arg.kind != Argument::Kind::Int)
      continue;
    auto value = program.graph.sizes.find(equal->inputs[0].arg.s);
    if (value == program.graph.sizes.end())
      continue;
    StringRef expr = value->second.expr;
    int64_t number;
    if (!expr.consume_front("Mod(") || !expr.consume_back("))"))
      continue;
    auto [symbol, divisor] = expr.rsplit(", Integer(");
    if (!divisor.getAsInteger(10, number))
      note(plainSymbol(symbol), number);
  }
}

/// Finds the symbols whose sizes --shape gives.
LogicalResult ProgramImporter::fixSymbols(llvm::StringMap<int64_t> &fixed) {
  for (auto &entry : options.shapes) {
    StringRef name = entry.getKey();
    ArrayRef<int64_t> given = entry.getValue();
    auto input = llvm::find_if(program.inputs, [&](const InputSpec &spec) {
      return spec.kind == InputSpec::Kind::User && spec.arg.kind == Argument::Kind::Tensor && spec.arg.s == name;
    });
    auto meta = program.graph.tensors.find(name);
    if (input == program.inputs.end() || meta == program.graph.tensors.end())
      return b.error() << "--shape names '" << name << "', the model has no such input";
    const std::vector<Size> &sizes = meta->second.sizes;
    if (sizes.size() != given.size())
      return b.error() << "--shape gives " << given.size() << " sizes for input '" << name << "', the model has "
                       << sizes.size();
    for (auto [i, size, number] : llvm::enumerate(sizes, given)) {
      if (ShapedType::isDynamic(number))
        continue;
      if (size.value && *size.value != number)
        return b.error() << "--shape gives size " << number << " for dimension " << i << " of input '" << name
                         << "', the model fixes it to " << *size.value;
      if (size.value)
        continue;
      StringRef symbol = plainSymbol(size.expr);
      if (symbol.empty())
        return b.error() << "dimension " << i << " of input '" << name
                         << "' is computed from others; --shape can give those";
      auto [known, isNew] = fixed.try_emplace(symbol, number);
      if (!isNew && known->second != number)
        return b.error() << "--shape gives both " << known->second << " and " << number << " for '" << symbol << "'";
    }
  }
  return success();
}

/// Every symbol of an input's size becomes a symbol of the program.
LogicalResult ProgramImporter::bindSymbols() {
  llvm::StringMap<int64_t> fixed, divisors;
  if (failed(fixSymbols(fixed)))
    return failure();
  findDivisors(divisors);
  auto bindOne = [&](StringRef name) -> LogicalResult {
    if (symbols.isBound(name))
      return success();
    auto range = program.ranges.find(name.str());
    SizeRange bounds = range == program.ranges.end() ? SizeRange() : range->second;
    if (auto it = fixed.find(name); it != fixed.end()) {
      if ((bounds.max && it->second > *bounds.max) || (bounds.min && it->second < *bounds.min && *bounds.min > 2))
        return b.error() << "--shape gives " << it->second << " for '" << name << "', the model takes "
                         << bounds.min.value_or(0) << " to " << bounds.max.value_or(INT64_MAX);
      symbols.bind(name, b.size(it->second), bounds);
      return success();
    }
    int64_t divisor = 1;
    if (auto it = divisors.find(name); it != divisors.end())
      divisor = it->second;
    if (divisor == 1) {
      symbols.bind(name, b.symbol(name), bounds);
      return success();
    }
    AffineExpr quotient = b.symbol(("(" + name + "/" + Twine(divisor) + ")").str());
    SizeRange scaled;
    if (bounds.min)
      scaled.min = llvm::divideCeilSigned(*bounds.min, divisor);
    if (bounds.max)
      scaled.max = llvm::divideFloorSigned(*bounds.max, divisor);
    symbols.bind((name + "/" + Twine(divisor)).str(), quotient, scaled);
    symbols.bind(name, normalize(quotient * divisor), bounds);
    return success();
  };
  // Symbols that are a size as they are come first: they are known at once when the program starts.
  for (bool plain : {true, false})
    for (const InputSpec &input : program.inputs) {
      auto meta = program.graph.tensors.find(input.arg.s);
      if (input.kind != InputSpec::Kind::User || input.arg.kind != Argument::Kind::Tensor ||
          meta == program.graph.tensors.end())
        continue;
      for (const Size &size : meta->second.sizes) {
        if (size.value)
          continue;
        StringRef symbol = plainSymbol(size.expr);
        if (plain) {
          if (!symbol.empty() && failed(bindOne(symbol)))
            return failure();
          continue;
        }
        for (const std::string &name : symbols.unboundIn(size.expr))
          if (failed(bindOne(name)))
            return failure();
      }
    }
  return success();
}

RankedTensorType ProgramImporter::inputType(const InputSpec &input) {
  b.loc = NameLoc::get(b.builder.getStringAttr(input.arg.s));
  const TensorMeta *meta = this->meta(input.arg.s);
  if (!meta)
    return b.error() << "the file does not say what input '" << input.arg.s << "' is", RankedTensorType();
  Type element = elementType(meta->dtype, b.context());
  if (!element)
    return b.error() << "input '" << input.arg.s << "' has element type " << nameOf(meta->dtype)
                     << ", which nx does not have", RankedTensorType();
  if (!meta->isStrided)
    return b.error() << "input '" << input.arg.s << "' is sparse; nx takes dense tensors", RankedTensorType();
  SmallVector<AffineExpr> dims;
  int64_t bytes = elementBytes(element);
  for (const Size &size : meta->sizes) {
    AffineExpr dim = symbols.sizeOf(size);
    if (!dim)
      return b.error() << "nx cannot read the size '" << size.expr << "' of input '" << input.arg.s << "'",
             RankedTensorType();
    if (auto constant = constantOf(dim);
        constant && (*constant < 0 || llvm::MulOverflow(bytes, std::max<int64_t>(*constant, 1), bytes)))
      return b.error() << "input '" << input.arg.s << "' has an impossible size " << *constant, RankedTensorType();
    dims.push_back(dim);
  }
  return tensorOf(dims, element);
}

/// The ranges and guards under which the program was exported, as checks before each execution.
LogicalResult ProgramImporter::addGuards(ValueRange arguments, ArrayRef<const InputSpec *> inputs) {
  b.loc = NameLoc::get(b.builder.getStringAttr("guards"));
  for (auto &[name, range] : program.ranges) {
    if (!symbols.isBound(name))
      continue;
    AffineExpr size = symbols.sizeOf({std::nullopt, "Symbol('" + name + "')"});
    // torch itself takes 0 and 1 where it says that a size is at least 2.
    if (range.min && *range.min > 2)
      b.requireAtMost(b.size(*range.min), size, "the model's range of '" + name + "'");
    if (range.max)
      b.requireAtMost(size, b.size(*range.max), "the model's range of '" + name + "'");
  }
  auto source = [&](StringRef path, int64_t dim) -> AffineExpr {
    for (auto [input, argument] : llvm::zip(inputs, arguments)) {
      // L['d']['a'] is the input d_a, L['list'][0] is list_0.
      std::string name;
      for (char c : path.drop_front(1))
        if (llvm::isAlnum(c) || c == '_')
          name += c;
        else if (c == '[' && !name.empty())
          name += '_';
      if (input->arg.s == name)
        return dim >= 0 && dim < b.rankOf(argument) ? dimOf(b.typeOf(argument), dim) : AffineExpr();
    }
    return {};
  };
  for (const std::string &guard : program.guards) {
    std::optional<Condition> condition = symbols.parseGuard(guard, source);
    // Guards on other things than sizes of tensors hold for every input that the signature takes.
    if (!condition || !condition->lhs)
      continue;
    require(b, *condition, "the model's guard " + guard);
  }
  return failure(b.failed());
}

FailureOr<OwningOpRef<ModuleOp>> ProgramImporter::run() {
  OwningOpRef<ModuleOp> module(ModuleOp::create(b.loc));
  Frame top(program.graph);
  frame = &top;
  if (failed(bindSymbols()))
    return failure();

  SmallVector<const InputSpec *> inputs;
  SmallVector<Type> inputTypes;
  llvm::StringSet<> names, changed = changedBuffers();
  llvm::StringMap<std::shared_ptr<Storage>> states; ///< by the tensor that a changed buffer is
  SmallVector<std::shared_ptr<Storage>> stateOrder;
  for (auto [spec, graphInput] : llvm::zip(program.inputs, program.graph.inputs)) {
    using Kind = InputSpec::Kind;
    if (spec.kind == Kind::CustomObject || spec.kind == Kind::Token)
      return b.error() << "the program has an input that is a custom object or a token; nx takes tensors", failure();
    if (spec.kind == Kind::ConstantInput)
      continue; // the value is part of the graph
    if (!names.insert(spec.arg.s).second)
      return b.error() << "two inputs are called '" << spec.arg.s << "'", failure();
    if (spec.kind != Kind::User) {
      auto storage = std::make_shared<Storage>();
      storage->payload = spec.target;
      if (changed.contains(spec.arg.s)) {
        const Payload *payload = findPayload(spec.target);
        if (!payload)
          return failure();
        std::shared_ptr<Storage> &shared = states[identityOf(*payload)];
        if (!shared)
          stateOrder.push_back(shared = storage);
        storage = shared;
      }
      top.tensors[spec.arg.s] = std::make_shared<View>(View{storage, {}, nullptr, nullptr, 0, nullptr, {}, 0});
      continue;
    }
    if (spec.arg.kind == Argument::Kind::SymInt)
      return b.error() << "input '" << spec.arg.s << "' is a number that the program takes at run time; nx takes "
                       << "tensors. Export it as a constant or as the size of a tensor", failure();
    if (spec.arg.kind != Argument::Kind::Tensor)
      continue; // None, or a number that the graph has as a constant
    RankedTensorType type = inputType(spec);
    if (!type)
      return failure();
    inputs.push_back(&spec);
    inputTypes.push_back(type);
  }

  b.builder.setInsertionPointToEnd(module->getBody());
  b.loc = NameLoc::get(b.builder.getStringAttr("forward"));
  auto forward = func::FuncOp::create(b.builder, b.loc, "forward", b.builder.getFunctionType(inputTypes, {}));
  Block *body = forward.addEntryBlock();
  b.builder.setInsertionPointToEnd(body);
  weightsAt = b.builder.saveInsertionPoint();
  for (auto [input, argument] : llvm::zip(inputs, body->getArguments())) {
    StringAttr name = b.builder.getStringAttr(input->arg.s);
    argument.setLoc(NameLoc::get(name));
    forward.setArgAttr(argument.getArgNumber(), "nx.name", name);
    auto storage = std::make_shared<Storage>();
    storage->value = argument;
    top.tensors[input->arg.s] = std::make_shared<View>(View{storage, {}, nullptr, nullptr, 0, meta(input->arg.s), argument, 0});
  }
  for (const std::shared_ptr<Storage> &state : stateOrder)
    if (failed(addState(forward, *state)))
      return failure();
  if (failed(addGuards(body->getArguments().take_front(inputs.size()), inputs)) || failed(importNodes(program.graph)))
    return failure();
  refuseMutations(inputs);

  SmallVector<Value> results;
  SmallVector<Type> resultTypes;
  SmallVector<std::string> resultNames;
  size_t user = 0;
  for (auto [spec, graphOutput] : llvm::zip(program.outputs, program.graph.outputs)) {
    if (spec.kind != OutputSpec::Kind::User)
      continue;
    const std::string &name = program.outputNames[user++];
    if (spec.arg.kind == Argument::Kind::None)
      continue;
    b.loc = NameLoc::get(b.builder.getStringAttr(name));
    b.clearFailure();
    Value value = outputValue(spec.arg);
    if (!value)
      return failure();
    results.push_back(value);
    resultTypes.push_back(value.getType());
    resultNames.push_back(name);
  }
  if (results.empty())
    return b.error() << "the program has no outputs", failure();
  // What a changed buffer is now: as the program's outputs say, or what has been written to it.
  for (const std::shared_ptr<Storage> &state : stateOrder) {
    Value value = state->value;
    for (const OutputSpec &spec : program.outputs)
      if ((spec.kind == OutputSpec::Kind::BufferMutation || spec.kind == OutputSpec::Kind::ParameterMutation) &&
          spec.target == state->payload && !(value = tensor(spec.arg.s)))
        return failure();
    results.push_back(value);
    resultTypes.push_back(value.getType());
    resultNames.push_back(state->payload.str());
  }
  b.loc = forward.getLoc();
  func::ReturnOp::create(b.builder, b.loc, results);
  forward.setFunctionType(b.builder.getFunctionType(body->getArgumentTypes(), resultTypes));
  for (auto [i, name] : llvm::enumerate(resultNames)) {
    forward.setResultAttr(i, "nx.name", b.builder.getStringAttr(name));
    if (i + stateOrder.size() >= resultNames.size())
      forward.setResultAttr(i, "nx.state", b.builder.getStringAttr(name));
  }
  SmallVector<StringRef> symbolNames(b.symbols.begin(), b.symbols.end());
  forward->setAttr(kSymbolsAttr, b.builder.getStrArrayAttr(symbolNames));

  // Shape arithmetic has left values behind that nothing uses.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  if (failed(verify(*module)))
    return failure();
  return module;
}

Value ProgramImporter::outputValue(const Argument &arg) {
  using Kind = Argument::Kind;
  switch (arg.kind) {
  case Kind::Tensor:
    return tensor(arg.s);
  case Kind::Int:
    return b.sizeScalar(b.size(arg.i));
  case Kind::Bool:
    return b.scalar(b.builder.getI1Type(), arg.i);
  case Kind::Float:
    return b.scalar(b.builder.getF64Type(), arg.f);
  case Kind::SymInt: {
    if (frame->refused.contains(arg.s)) // reported where it is computed
      return b.sizeScalar(b.size(0));
    AffineExpr size = arg.s.empty() ? b.size(arg.i) : this->size(arg.s);
    if (!size && !b.failed())
      b.error() << "the output is a number that is computed from data; return it as a tensor";
    return size ? b.sizeScalar(size) : Value();
  }
  default:
    return b.error() << "the output is neither a tensor nor a number", Value();
  }
}

/// A buffer that the program changes: an argument behind those of the caller, which the runtime keeps.
LogicalResult ProgramImporter::addState(func::FuncOp forward, Storage &state) {
  b.loc = NameLoc::get(b.builder.getStringAttr(state.payload));
  const Payload &payload = *findPayload(state.payload);
  for (auto &other : archive.payloads)
    if (other.second.entry == payload.entry && identityOf(other.second) != identityOf(payload))
      return b.error() << "the program changes '" << state.payload << "', which shares its storage with another view, '"
                       << other.first() << "'";
  Expected<StoredTensor> tensor = readTensor(payload, b.context(), /*rowMajor=*/true);
  if (!tensor)
    return b.error() << "tensor '" << state.payload << "' of the archive " << toString(tensor.takeError());
  if (failed(addParam(state.payload, *tensor)))
    return failure();
  StringAttr name = b.builder.getStringAttr(state.payload);
  BlockArgument argument = forward.getBody().front().addArgument(tensor->type, b.loc);
  forward.setType(b.builder.getFunctionType(forward.getBody().front().getArgumentTypes(), {}));
  for (StringRef attribute : {"nx.name", "nx.state", "nx.initial"})
    forward.setArgAttr(argument.getArgNumber(), attribute, name);
  state.value = argument;
  return success();
}

/// A write to an input, and what only training has.
void ProgramImporter::refuseMutations(ArrayRef<const InputSpec *> inputs) {
  auto refuse = [&](StringRef name, StringRef kind, StringRef reason) {
    b.loc = NameLoc::get(b.builder.getStringAttr(name));
    UnsupportedOp::create(b.builder, b.loc, TypeRange(), ValueRange(), name, kind, "torch.export", program.opset, reason);
  };
  llvm::StringSet<> written;
  for (const OutputSpec &spec : program.outputs) {
    if (spec.kind == OutputSpec::Kind::InputMutation)
      written.insert(spec.target);
    if (spec.kind == OutputSpec::Kind::Gradient)
      refuse(spec.target, "gradient", "the program computes gradients");
  }
  for (const InputSpec *input : inputs)
    if (written.contains(input->arg.s) || frame->tensors.lookup(input->arg.s)->storage->version)
      refuse(input->arg.s, "changed input",
             "the program writes to this input; nx never changes its inputs. Return the new value instead");
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The node's name, with the line of the user's program that it comes from.
Location ProgramImporter::locationOf(const Node &node) {
  StringRef name = node.name;
  if (name.empty())
    for (const Argument &output : node.outputs)
      forEachName(output, [&](StringRef output, bool) {
        if (name.empty())
          name = output;
      });
  StringAttr label = b.builder.getStringAttr(name.empty() ? StringRef(node.target) : name);
  // The innermost frame that is not torch's own.
  StringRef rest = node.stackTrace, file;
  unsigned line = 0;
  while (!rest.empty()) {
    StringRef text;
    std::tie(text, rest) = rest.split('\n');
    text = text.ltrim();
    if (!text.consume_front("File \""))
      continue;
    auto [path, after] = text.split('"');
    unsigned number;
    if (!after.consume_front(", line ") || after.take_while(llvm::isDigit).getAsInteger(10, number))
      continue;
    if (file.empty() || !path.contains("/torch/")) {
      file = path;
      line = number;
    }
  }
  if (file.empty())
    return NameLoc::get(label);
  return NameLoc::get(label, FileLineColLoc::get(b.context(), file, line, 0));
}

LogicalResult ProgramImporter::importNodes(const Graph &graph) {
  for (const Node &node : graph.nodes)
    if (failed(importNode(node)))
      return failure();
  return success();
}

bool ProgramImporter::dependsOnRefused(const Node &node) {
  bool found = false;
  for (const NamedArgument &input : node.inputs)
    forEachName(input.arg, [&](StringRef name, bool isTensor) {
      if (!isTensor) {
        found |= frame->refused.contains(name);
        return;
      }
      auto it = frame->tensors.find(name);
      found |= it != frame->tensors.end() && it->second->storage->value && isRefused(it->second->storage->value);
    });
  return found;
}

LogicalResult ProgramImporter::bind(const Node &node, ArrayRef<std::shared_ptr<View>> views,
                                    const NodeImporter *importer) {
  using Kind = Argument::Kind;
  size_t next = 0;
  for (const Argument &output : node.outputs) {
    bool isTensor = output.kind == Kind::Tensor || output.kind == Kind::Tensors || output.kind == Kind::OptionalTensors;
    bool clash = false;
    if (isTensor) {
      size_t count = output.kind == Kind::Tensor ? 1 : output.list.size();
      for (size_t i = 0; i < count; ++i, ++next) {
        StringRef name = output.kind == Kind::Tensor ? StringRef(output.s) : StringRef(output.list[i].name);
        if (!name.empty() && next < views.size() && views[next])
          clash |= !frame->tensors.try_emplace(name, views[next]).second;
      }
    } else if (output.kind == Kind::SymInt && !output.s.empty()) {
      clash = !frame->sizes.try_emplace(output.s, importer ? importer->takenSize() : AffineExpr()).second;
      if (!importer)
        frame->refused.insert(output.s);
    } else if (output.kind == Kind::SymBool && !output.s.empty()) {
      if (importer && importer->takenCondition())
        clash = !frame->conditions.try_emplace(output.s, *importer->takenCondition()).second;
      else
        frame->refused.insert(output.s);
    } else if (!output.s.empty()) {
      frame->refused.insert(output.s);
    }
    if (clash)
      return b.error() << "a value of the node is computed twice";
  }
  return success();
}

LogicalResult ProgramImporter::refuse(const Node &node, StringRef reason) {
  SmallVector<Value> operands;
  b.clearFailure();
  for (const NamedArgument &input : node.inputs)
    forEachName(input.arg, [&](StringRef name, bool isTensor) {
      if (isTensor && frame->tensors.contains(name))
        if (Value value = tensor(name))
          operands.push_back(value);
    });
  auto [name, overload] = splitTarget(node.target);
  auto [domain, op] = name.split('.');
  StringRef label = cast<NameLoc>(b.loc).getName().getValue();
  auto refused = UnsupportedOp::create(b.builder, b.loc, NoneType::get(b.context()), operands, label,
                                       op.empty() ? name.str() : (op + (overload == "default" ? "" : "." + overload)).str(),
                                       domain, program.opset, reason);
  auto storage = std::make_shared<Storage>();
  storage->value = refused.getResult(0);
  size_t count = 0;
  for (const Argument &output : node.outputs)
    count += std::max<size_t>(output.list.size(), 1);
  return bind(node, SmallVector<std::shared_ptr<View>>(
                        count, std::make_shared<View>(View{storage, {}, nullptr, nullptr, 0, nullptr, storage->value, 0})), nullptr);
}

std::string ProgramImporter::mismatch(const Node &node, ArrayRef<Value> results) {
  size_t next = 0;
  for (const Argument &output : node.outputs) {
    size_t count = output.kind == Argument::Kind::Tensor    ? 1
                   : output.kind == Argument::Kind::Tensors ? output.list.size()
                                                            : 0;
    for (size_t i = 0; i < count; ++i, ++next) {
      const TensorMeta *meta =
          this->meta(output.kind == Argument::Kind::Tensor ? StringRef(output.s) : StringRef(output.list[i].name));
      Value value = next < results.size() ? results[next] : Value();
      if (!meta || !value)
        continue;
      RankedTensorType type = b.typeOf(value);
      bool fits = type.getElementType() == elementType(meta->dtype, b.context()) &&
                  type.getRank() == int64_t(meta->sizes.size());
      std::string wanted;
      for (auto [i, size] : llvm::enumerate(meta->sizes)) {
        AffineExpr expr = symbols.sizeOf(size);
        wanted += (i ? ", " : "") + (expr ? b.text(expr) : size.expr);
        if (fits && expr)
          fits = constantOf(normalize(expr - dimOf(type, i))).value_or(0) == 0;
      }
      if (!fits) {
        std::string element;
        llvm::raw_string_ostream(element) << type.getElementType();
        return "nx computes " + element + " " + b.text(type) + " where the file says " + nameOf(meta->dtype) + " [" +
               wanted + "]";
      }
    }
  }
  return "";
}

LogicalResult ProgramImporter::importNode(const Node &node) {
  b.loc = locationOf(node);
  b.clearFailure();
  if (StringRef(node.target).starts_with("torch.ops.higher_order.")) {
    bool done = false;
    if (failed(inlineGraph(node, done)))
      return failure();
    if (done)
      return success();
  }
  bool known = false;
  const OperatorRow *row = findOperator(node.target, known);
  bool isInPlace = false;
  if (!row)
    if (std::string functional = functionalTarget(node.target); !functional.empty()) {
      bool knownFunctional = false;
      row = findOperator(functional, knownFunctional);
      known |= knownFunctional;
      isInPlace = row;
    }
  std::shared_ptr<View> self;
  if (!node.inputs.empty() && node.inputs[0].arg.kind == Argument::Kind::Tensor)
    if (auto it = frame->tensors.find(node.inputs[0].arg.s); it != frame->tensors.end())
      self = it->second;
  if (isInPlace && !self)
    return b.error() << node.target << ": its first argument is not a tensor";

  auto refuseNode = [&](StringRef reason) -> LogicalResult {
    if (failed(refuse(node, reason)))
      return failure();
    // What was to be written is not known now.
    if (isInPlace && !node.outputs.empty() && frame->tensors.contains(node.outputs[0].s)) {
      self->storage->value = frame->tensors[node.outputs[0].s]->storage->value;
      ++self->storage->version;
    }
    return success();
  };
  if (!row)
    return refuseNode(known ? "nx does not have this overload of the operator" : "nx does not have this operator");
  if (!row->handler)
    return refuseNode(row->refusal);
  // What depends on a refused node has no types: it is left out.
  if (dependsOnRefused(node)) {
    auto storage = std::make_shared<Storage>();
    for (const NamedArgument &input : node.inputs)
      forEachName(input.arg, [&](StringRef name, bool isTensor) {
        if (isTensor && frame->tensors.contains(name) && isRefused(frame->tensors[name]->storage->value))
          storage->value = frame->tensors[name]->storage->value;
      });
    if (!storage->value) // it depends on a refused size
      storage->value = UnsupportedOp::create(b.builder, b.loc, NoneType::get(b.context()), ValueRange(),
                                             cast<NameLoc>(b.loc).getName().getValue(), node.target, "torch.export",
                                             program.opset, "it needs a number that is computed from data")
                           .getResult(0);
    size_t count = 0;
    for (const Argument &output : node.outputs)
      count += std::max<size_t>(output.list.size(), 1);
    auto view = std::make_shared<View>(View{storage, {}, nullptr, nullptr, 0, nullptr, storage->value, 0});
    if (isInPlace) {
      self->storage->value = storage->value;
      ++self->storage->version;
    }
    return bind(node, SmallVector<std::shared_ptr<View>>(count, view), nullptr);
  }

  NodeImporter importer(b, node, *this, symbols);
  row->handler(importer, b);
  if (b.failed())
    return failure();
  if (importer.unsupportedReason())
    return refuseNode(*importer.unsupportedReason());
  if (StringRef unread = importer.unreadArgument(); !unread.empty())
    return refuseNode(("nx does not know the argument '" + unread + "'").str());
  SmallVector<Value> results(importer.takenResults());

  if (isInPlace && !row->inverse) {
    Value old = read(*self);
    if (results.empty() || !results[0] || !old)
      return refuseNode("nx does not compute its result");
    Value value = b.broadcast(b.cast(results[0], b.elementOf(old)), dimsOf(b.typeOf(old)));
    if (!value)
      return failure();
    std::string reason;
    if (!write(*self, value, reason))
      return b.failed() ? failure() : refuseNode(reason);
    if (b.failed())
      return failure();
    return bind(node, self, &importer);
  }
  size_t next = 0;
  for (const Argument &output : node.outputs) {
    using Kind = Argument::Kind;
    bool isTensor = output.kind == Kind::Tensor || output.kind == Kind::Tensors;
    for (size_t i = 0, count = output.kind == Kind::Tensors ? output.list.size() : 1; i < count; ++i, ++next)
      if (isTensor ? importer.isUsed(next) && (next >= results.size() || !results[next])
                   : output.kind == Kind::SymInt && !importer.takenSize())
        return refuseNode("nx does not compute output " + std::to_string(next));
  }
  if (std::string wrong = mismatch(node, results); !wrong.empty())
    return refuseNode(wrong);

  SmallVector<std::shared_ptr<View>> views;
  for (auto [i, value] : llvm::enumerate(results)) {
    if (!value) {
      views.push_back(nullptr);
      continue;
    }
    bool sharesStorage = row->inverse && self && !importer.markedCopy();
    const TensorMeta *meta = this->meta(importer.outputName(i));
    if (sharesStorage && row->mayCopy) {
      // Whether these copy depends on how their argument lies in memory, and on whether there is anything to do.
      RankedTensorType from = b.typeOf(read(*self));
      if (from.getElementType() != b.elementOf(value)) {
        sharesStorage = false;
      } else if (bool isContiguous = row->name == "aten.contiguous"; isContiguous || from != value.getType()) {
        // A tensor lies in row-major order when it is a view as one line.
        SmallVector<AffineExpr> sizes = dimsOf(b.typeOf(value));
        if (isContiguous)
          sizes = {productOf(sizes, b.context())};
        std::optional<bool> isView = canBeViewed(self->meta, sizes);
        sharesStorage = isView.value_or(true);
        if (!isView)
          self->storage->uncertainView = cast<NameLoc>(b.loc).getName().str();
      }
    }
    if (sharesStorage) {
      views.push_back(std::make_shared<View>(View{self->storage, self, &node, row, i, meta, value, self->storage->version}));
      continue;
    }
    auto storage = std::make_shared<Storage>();
    storage->value = value;
    views.push_back(std::make_shared<View>(View{storage, {}, nullptr, nullptr, 0, meta, value, 0}));
  }
  // squeeze_ and its like change how their argument looks, not what it holds.
  if (isInPlace && !views.empty())
    frame->tensors[node.inputs[0].arg.s] = views[0];
  return bind(node, views, &importer);
}

/// Operators that run a graph as it is. `done` stays false for others.
LogicalResult ProgramImporter::inlineGraph(const Node &node, bool &done) {
  StringRef name = StringRef(node.target).drop_front(StringRef("torch.ops.higher_order.").size());
  bool isAutocast = name == "wrap_with_autocast";
  if (name != "wrap_with_set_grad_enabled" && name != "wrap_activation_checkpoint" && name != "tag_activation_checkpoint" &&
      name != "invoke_subgraph" && name != "wrap" && !isAutocast)
    return success();
  // Arguments before the graph are options, those behind it its inputs.
  auto at = llvm::find_if(node.inputs, [](const NamedArgument &input) { return input.arg.kind == Argument::Kind::Graph; });
  if (at == node.inputs.end() || !at->arg.graph)
    return success();
  if (isAutocast && (node.inputs.size() < 3 || node.inputs[2].arg.kind != Argument::Kind::Bool || node.inputs[2].arg.i))
    return success(); // changes the types that operators compute with
  if (++depth > kMaxDepth)
    return b.error() << "graphs call each other more than " << kMaxDepth << " deep";
  if (dependsOnRefused(node))
    return --depth, success();
  done = true;
  const Graph &graph = *at->arg.graph;
  ArrayRef<NamedArgument> given(&*at + 1, &*node.inputs.begin() + node.inputs.size());
  if (name == "invoke_subgraph" && !given.empty() && given[0].arg.kind == Argument::Kind::String)
    given = given.drop_front(); // an identifier
  while (!given.empty() && given.size() > graph.inputs.size() && !given.back().name.empty())
    given = given.drop_back(); // keyword arguments are options of checkpoints
  if (given.size() != graph.inputs.size())
    return b.error() << node.target << ": " << given.size() << " arguments for a graph of " << graph.inputs.size();
  Frame inner(graph);
  for (auto [to, from] : llvm::zip(graph.inputs, given)) {
    using Kind = Argument::Kind;
    if (to.kind == Kind::Tensor && from.arg.kind == Kind::Tensor && frame->tensors.contains(from.arg.s))
      inner.tensors[to.s] = frame->tensors[from.arg.s];
    else if (to.kind == Kind::SymInt && from.arg.kind == Kind::SymInt && !from.arg.s.empty())
      inner.sizes[to.s] = size(from.arg.s);
    else if (to.kind == Kind::SymInt)
      inner.sizes[to.s] = b.size(from.arg.i);
    else if (to.kind == Kind::Tensor)
      return b.error() << node.target << ": a tensor argument is missing";
  }
  Frame *outer = std::exchange(frame, &inner);
  LogicalResult imported = importNodes(graph);
  SmallVector<std::shared_ptr<View>> views;
  SmallVector<AffineExpr> sizes;
  for (const Argument &output : graph.outputs) {
    auto it = inner.tensors.find(output.s);
    views.push_back(it == inner.tensors.end() ? nullptr : it->second);
    sizes.push_back(output.kind == Argument::Kind::SymInt ? (output.s.empty() ? b.size(output.i) : inner.sizes.lookup(output.s))
                                                          : AffineExpr());
  }
  frame = outer;
  --depth;
  if (failed(imported))
    return failure();
  b.loc = locationOf(node);
  SmallVector<std::pair<StringRef, bool>> outputs;
  for (const Argument &output : node.outputs)
    forEachName(output, [&](StringRef name, bool isTensor) { outputs.push_back({name, isTensor}); });
  if (outputs.size() > views.size())
    return b.error() << node.target << ": the graph has fewer outputs than the node";
  for (auto [i, output] : llvm::enumerate(outputs)) {
    bool isNew = output.second ? !views[i] || frame->tensors.try_emplace(output.first, views[i]).second
                               : frame->sizes.try_emplace(output.first, sizes[i]).second;
    if (!isNew)
      return b.error() << "value '" << output.first << "' is computed twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

bool nx::torch::isTorchFile(StringRef bytes) { return StoredZip::isZip(bytes); }

FailureOr<OwningOpRef<ModuleOp>> nx::torch::importTorchBytes(StringRef bytes, MLIRContext &context, ParamCatalog &params,
                                                             const ImportOptions &options) {
  context.loadDialect<NxDialect, func::FuncDialect>();
  Expected<Pt2Archive> archive = Pt2Archive::read(bytes);
  if (!archive) {
    emitError(UnknownLoc::get(&context)) << toString(archive.takeError());
    return failure();
  }
  return ProgramImporter(*archive, context, params, options).run();
}
