//===- NodeImporter.cpp - What an operator's handler works with -----------===//

#include "compiler/import/onnx/NodeImporter.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

InFlightDiagnostic NodeImporter::error() { return b.error() << node.opType << ": "; }

void NodeImporter::unsupported(const Twine &why) {
  if (!reason)
    reason = why.str();
}

Value NodeImporter::input(size_t i) {
  if (hasInput(i))
    return inputs[i];
  if (!b.failed() && !reason)
    error() << "input " << i << " is missing";
  return {};
}

ArrayRef<Value> NodeImporter::allInputs() {
  for (size_t i = 0; i < inputs.size(); ++i)
    (void)input(i);
  return inputs;
}

const onnx::Attribute *NodeImporter::getAttr(StringRef name, onnx::Attribute::Kind kind) {
  const onnx::Attribute *attribute = find(name);
  if (!attribute || attribute->kind == kind)
    return attribute;
  if (!b.failed())
    error() << "attribute '" << name << "' is of the wrong type";
  return nullptr;
}

StringRef NodeImporter::unreadAttribute() const {
  for (const onnx::Attribute &attribute : node.attributes)
    if (!llvm::is_contained(readAttributes, attribute.name))
      return attribute.name;
  return {};
}

int64_t NodeImporter::getInt(StringRef name, int64_t absent) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::Int);
  return attribute ? attribute->i : absent;
}

double NodeImporter::getFloat(StringRef name, double absent) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::Float);
  return attribute ? attribute->f : absent;
}

StringRef NodeImporter::getString(StringRef name, StringRef absent) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::String);
  return attribute ? attribute->s : absent;
}

SmallVector<int64_t> NodeImporter::getInts(StringRef name, ArrayRef<int64_t> absent) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::Ints);
  return SmallVector<int64_t>(attribute ? ArrayRef<int64_t>(attribute->ints) : absent);
}

SmallVector<double> NodeImporter::getFloats(StringRef name) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::Floats);
  return attribute ? SmallVector<double>(attribute->floats.begin(), attribute->floats.end()) : SmallVector<double>();
}

SmallVector<StringRef> NodeImporter::getStrings(StringRef name) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::Strings);
  return attribute ? SmallVector<StringRef>(ArrayRef(attribute->strings)) : SmallVector<StringRef>();
}

int64_t NodeImporter::requireInt(StringRef name) {
  if (!hasAttr(name) && !b.failed())
    error() << "attribute '" << name << "' is missing";
  return getInt(name, 0);
}

uint64_t NodeImporter::seed() {
  const onnx::Attribute *given = find("seed");
  if (given && given->kind == onnx::Attribute::Kind::Int)
    return uint64_t(given->i);
  if (given)
    return llvm::bit_cast<uint64_t>(double(given->f));
  auto name = dyn_cast<NameLoc>(b.loc);
  return llvm::xxh3_64bits(name ? name.getName().getValue() : StringRef());
}

Value NodeImporter::getTensor(StringRef name) {
  const onnx::Attribute *attribute = getAttr(name, onnx::Attribute::Kind::Tensor);
  return attribute && attribute->tensor ? makeConstant(*attribute->tensor) : Value();
}

template <typename T, typename From> static std::vector<char> bytesOf(ArrayRef<From> values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  for (auto [i, value] : llvm::enumerate(values)) {
    T element = T(value);
    std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
  }
  return bytes;
}

Value NodeImporter::table(ArrayRef<int64_t> values, Type element) {
  assert(element.isInteger(64) && "integers are i64");
  return makeTable(RankedTensorType::get({int64_t(values.size())}, element), bytesOf<int64_t>(values));
}

Value NodeImporter::table(ArrayRef<double> values, Type element) {
  auto type = RankedTensorType::get({int64_t(values.size())}, element);
  return element.isF64() ? makeTable(type, bytesOf<double>(values)) : makeTable(type, bytesOf<float>(values));
}

int64_t NodeImporter::axis(int64_t axis, int64_t rank) {
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
  return normal;
}

std::optional<SmallVector<AffineExpr>> NodeImporter::sizes(size_t i) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  std::optional<SmallVector<AffineExpr>> elements = knownElements(value);
  if (!elements)
    unsupported("input " + Twine(i) + " ('" + node.inputs[i] +
                "') decides sizes and is computed from data; sizes must follow from the sizes of the model's inputs");
  return elements;
}

std::optional<SmallVector<int64_t>> NodeImporter::constantInts(size_t i) {
  Value value = input(i);
  if (!value)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> ints = knownInts(value);
  if (!ints)
    unsupported("input " + Twine(i) + " ('" + node.inputs[i] + "') must be constant");
  return ints;
}

std::optional<SmallVector<int64_t>> NodeImporter::intsOrInput(StringRef name, size_t i, int64_t sinceOpset) {
  if (opset() < sinceOpset)
    return hasAttr(name) ? std::optional(getInts(name)) : std::nullopt;
  return hasInput(i) ? constantInts(i) : std::nullopt;
}
