//===- NodeImporter.cpp - What an ATen operator's handler works with ------===//

#include "compiler/import/torch/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;
using Kind = Argument::Kind;

InFlightDiagnostic NodeImporter::error() { return b.error() << node.target << ": "; }

void NodeImporter::unsupported(const Twine &why) {
  if (!reason)
    reason = why.str();
}

void nx::torch::require(GraphBuilder &b, const Condition &condition, const Twine &what) {
  using Kind = Condition::Kind;
  if (!condition.lhs) {
    if (!condition.constant)
      b.error() << what.str() << " does not hold";
    return;
  }
  switch (condition.kind) {
  case Kind::Equal:
    return b.requireEqual(condition.lhs, condition.rhs, what);
  case Kind::NotEqual:
    return b.requireDifferent(condition.lhs, condition.rhs, what);
  case Kind::Less:
    return b.requireAtMost(condition.lhs + 1, condition.rhs, what);
  case Kind::AtMost:
    return b.requireAtMost(condition.lhs, condition.rhs, what);
  }
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

const Argument *NodeImporter::find(StringRef name) {
  readArguments.push_back(name);
  for (const NamedArgument &input : node.inputs)
    if (input.name == name)
      return input.arg.kind == Kind::None ? nullptr : &input.arg;
  return nullptr;
}

const Argument *NodeImporter::require(StringRef name) {
  const Argument *arg = find(name);
  if (!arg && !b.failed() && !reason)
    error() << "argument '" << name << "' is missing";
  return arg;
}

void NodeImporter::wrongKind(StringRef name, StringRef wanted) {
  if (!b.failed() && !reason)
    error() << "argument '" << name << "' is not " << wanted;
}

bool NodeImporter::has(StringRef name) { return find(name); }

Value NodeImporter::lookup(StringRef value) {
  if (replaced && !node.inputs.empty() && node.inputs.front().arg.kind == Kind::Tensor &&
      node.inputs.front().arg.s == value)
    return replaced;
  return scope.tensor(value);
}

Value NodeImporter::tensor(StringRef name) {
  const Argument *arg = require(name);
  if (!arg)
    return {};
  if (arg->kind == Kind::Tensor)
    return lookup(arg->s);
  wrongKind(name, "a tensor");
  return {};
}

SmallVector<Value> NodeImporter::tensors(StringRef name, bool mayBeNone) {
  SmallVector<Value> values;
  const Argument *arg = require(name);
  if (!arg)
    return values;
  if (arg->kind != Kind::Tensors && arg->kind != Kind::OptionalTensors) {
    if (!(arg->kind == Kind::Ints && arg->list.empty())) // how an empty list is stored
      wrongKind(name, "a list of tensors");
    return values;
  }
  for (const Argument::Element &element : arg->list) {
    if (element.name.empty() && !mayBeNone)
      wrongKind(name, "a list of tensors");
    values.push_back(element.name.empty() ? Value() : lookup(element.name));
  }
  return values;
}

Scalar NodeImporter::scalar(StringRef name) {
  const Argument *arg = require(name);
  if (!arg)
    return {};
  switch (arg->kind) {
  case Kind::Int:
    return {Scalar::Kind::Int, 0, arg->i, {}};
  case Kind::Bool:
    return {Scalar::Kind::Bool, 0, arg->i, {}};
  case Kind::Float:
    return {Scalar::Kind::Float, arg->f, 0, {}};
  case Kind::SymInt:
    if (AffineExpr size = sizeOf(arg->s, arg->i, name)) {
      std::optional<int64_t> constant = constantOf(size);
      return {Scalar::Kind::Int, 0, constant.value_or(0), constant ? AffineExpr() : size};
    }
    return {};
  case Kind::SymFloat:
    if (arg->s.empty())
      return {Scalar::Kind::Float, arg->f, 0, {}};
    unsupported("argument '" + name + "' is a float that is computed from sizes");
    return {};
  case Kind::SymBool:
    if (std::optional<Condition> known = condition(name))
      if (std::optional<bool> value = symbols.decide(*known))
        return {Scalar::Kind::Bool, 0, *value, {}};
    unsupported("argument '" + name + "' is a condition on sizes");
    return {};
  case Kind::Other:
    unsupported("argument '" + name + "' is a value of kind " + arg->s);
    return {};
  default:
    wrongKind(name, "a number");
    return {};
  }
}

Operand NodeImporter::operand(StringRef name) {
  const Argument *arg = require(name);
  if (!arg)
    return {};
  if (arg->kind == Kind::Tensor)
    return {lookup(arg->s), {}};
  return {Value(), scalar(name)};
}

double NodeImporter::number(StringRef name, double absent) {
  if (!has(name))
    return absent;
  Scalar value = scalar(name);
  if (!value.isConstant())
    unsupported("argument '" + name + "' must be constant");
  return value.number();
}

int64_t NodeImporter::integer(StringRef name, int64_t absent) {
  if (!has(name))
    return absent;
  Scalar value = scalar(name);
  if (!value.isConstant())
    unsupported("argument '" + name + "' must be constant");
  return value.kind == Scalar::Kind::Float ? int64_t(value.f) : value.i;
}

bool NodeImporter::boolean(StringRef name, bool absent) { return has(name) ? scalar(name).number() != 0 : absent; }

StringRef NodeImporter::string(StringRef name, StringRef absent) {
  const Argument *arg = find(name);
  if (!arg)
    return absent;
  if (arg->kind != Kind::String)
    wrongKind(name, "a string");
  return arg->s;
}

SmallVector<int64_t> NodeImporter::integers(StringRef name, ArrayRef<int64_t> absent, size_t repeat) {
  if (!has(name))
    return SmallVector<int64_t>(absent);
  SmallVector<int64_t> values;
  std::optional<SmallVector<AffineExpr>> given = sizes(name);
  for (AffineExpr size : given.value_or(SmallVector<AffineExpr>())) {
    std::optional<int64_t> constant = constantOf(size);
    if (!constant)
      unsupported("argument '" + name + "' must be constant");
    values.push_back(constant.value_or(0));
  }
  if (values.empty() && !absent.empty())
    values.assign(absent.begin(), absent.end());
  if (values.size() == 1 && repeat > 1)
    values.assign(repeat, values.front());
  return values;
}

SmallVector<double> NodeImporter::numbers(StringRef name) {
  SmallVector<double> values;
  const Argument *arg = require(name);
  if (!arg)
    return values;
  if (arg->kind != Kind::Floats && arg->kind != Kind::Ints)
    wrongKind(name, "a list of numbers");
  for (const Argument::Element &element : arg->list)
    values.push_back(arg->kind == Kind::Ints ? double(element.i) : element.f);
  return values;
}

AffineExpr NodeImporter::sizeOf(StringRef value, int64_t constant, StringRef argument) {
  if (value.empty())
    return b.size(constant);
  AffineExpr size = scope.size(value);
  if (!size)
    unsupported("argument '" + argument + "' is the size '" + value +
                "', which is computed from data; sizes must follow from the sizes of the model's inputs");
  return size;
}

std::optional<AffineExpr> NodeImporter::size(StringRef name) {
  const Argument *arg = require(name);
  if (!arg)
    return std::nullopt;
  if (arg->kind == Kind::Int)
    return b.size(arg->i);
  if (arg->kind == Kind::SymInt) {
    AffineExpr size = sizeOf(arg->s, arg->i, name);
    return size ? std::optional(size) : std::nullopt;
  }
  wrongKind(name, "a size");
  return std::nullopt;
}

std::optional<SmallVector<AffineExpr>> NodeImporter::sizes(StringRef name) {
  const Argument *arg = require(name);
  if (!arg)
    return std::nullopt;
  SmallVector<AffineExpr> values;
  if (arg->kind == Kind::Int || arg->kind == Kind::SymInt) {
    std::optional<AffineExpr> one = size(name);
    if (!one)
      return std::nullopt;
    values.push_back(*one);
    return values;
  }
  if (arg->kind != Kind::Ints && arg->kind != Kind::SymInts) {
    if (!((arg->kind == Kind::Tensors || arg->kind == Kind::Floats) && arg->list.empty()))
      return wrongKind(name, "a list of sizes"), std::nullopt;
  }
  for (const Argument::Element &element : arg->list) {
    AffineExpr size = sizeOf(element.name, element.i, name);
    if (!size)
      return std::nullopt;
    values.push_back(size);
  }
  return values;
}

Type NodeImporter::element(StringRef name) {
  const Argument *arg = find(name);
  if (!arg)
    return {};
  if (arg->kind != Kind::ScalarType)
    return wrongKind(name, "an element type"), Type();
  Type element = elementType(ScalarType(arg->i), b.context());
  if (!element)
    unsupported("nx does not have element type " + nameOf(ScalarType(arg->i)));
  return element;
}

std::optional<Condition> NodeImporter::condition(StringRef name) {
  const Argument *arg = require(name);
  if (!arg)
    return std::nullopt;
  if (arg->kind == Kind::Bool)
    return Condition::of(arg->i);
  if (arg->kind != Kind::SymBool)
    return wrongKind(name, "a condition"), std::nullopt;
  if (arg->s.empty())
    return Condition::of(arg->i);
  std::optional<Condition> condition = scope.condition(arg->s);
  if (!condition)
    unsupported("argument '" + name + "' is a condition that is computed from data");
  return condition;
}

const TensorMeta *NodeImporter::meta(StringRef name) {
  const Argument *arg = find(name);
  return arg && arg->kind == Kind::Tensor ? scope.meta(arg->s) : nullptr;
}

StringRef NodeImporter::unreadArgument() const {
  // Where tensors are kept and how they lie in memory is nx's own choice.
  static constexpr StringRef placement[] = {"layout", "device", "pin_memory", "memory_format", "non_blocking"};
  for (const NamedArgument &input : node.inputs)
    if (input.arg.kind != Kind::None && !llvm::is_contained(readArguments, input.name) &&
        !llvm::is_contained(placement, input.name))
      return input.name;
  return {};
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

StringRef NodeImporter::outputName(size_t i) const {
  for (const Argument &output : node.outputs) {
    size_t count = output.kind == Kind::Tensors ? output.list.size() : 1;
    if (i < count)
      return output.kind == Kind::Tensors ? StringRef(output.list[i].name) : StringRef(output.s);
    i -= count;
  }
  return {};
}

size_t NodeImporter::numOutputs() const {
  size_t count = 0;
  for (const Argument &output : node.outputs)
    count += output.kind == Kind::Tensors ? output.list.size() : 1;
  return count;
}

Type NodeImporter::outputElement(size_t i) {
  const TensorMeta *meta = scope.meta(outputName(i));
  if (!meta)
    return {};
  Type element = elementType(meta->dtype, b.context());
  if (!element)
    unsupported("nx does not have element type " + nameOf(meta->dtype));
  return element;
}

std::optional<SmallVector<AffineExpr>> NodeImporter::outputSizes(size_t i) {
  const TensorMeta *meta = scope.meta(outputName(i));
  if (!meta)
    return std::nullopt;
  SmallVector<AffineExpr> sizes;
  for (const Size &size : meta->sizes) {
    sizes.push_back(symbols.sizeOf(size));
    if (!sizes.back())
      return std::nullopt;
  }
  return sizes;
}

bool NodeImporter::isUsed(size_t i) const {
  StringRef name = outputName(i);
  return !name.empty() && scope.isUsed(name);
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

int64_t NodeImporter::axis(int64_t axis, int64_t rank) {
  rank = std::max<int64_t>(rank, 1);
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  if (!b.failed())
    error() << "axis " << axis << " is not in [" << -rank << ", " << rank << ")";
  return 0;
}

SmallVector<int64_t> NodeImporter::axes(ArrayRef<int64_t> list, int64_t rank) {
  SmallVector<int64_t> normal;
  for (int64_t value : list)
    normal.push_back(axis(value, rank));
  llvm::sort(normal);
  if (std::adjacent_find(normal.begin(), normal.end()) != normal.end() && !b.failed())
    error() << "an axis is given twice";
  if (rank == 0) // of a scalar there is nothing to choose from
    normal.clear();
  return normal;
}
