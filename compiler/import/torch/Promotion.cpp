//===- Promotion.cpp - Element types and torch's promotion of them --------===//
//
// Operands are of three ranks: tensors with dimensions, tensors without, and numbers. The type of a
// higher rank wins unless a lower one is of a higher category (booleans < integers < floats).
//
//===----------------------------------------------------------------------===//

#include "compiler/import/torch/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;

Type nx::torch::elementType(ScalarType type, MLIRContext *context) {
  auto integer = [&](unsigned width, bool isUnsigned = false) {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case ScalarType::Byte: return integer(8, true);
  case ScalarType::Char: return integer(8);
  case ScalarType::Short: return integer(16);
  case ScalarType::Int: return integer(32);
  case ScalarType::Long: return integer(64);
  case ScalarType::Half: return Float16Type::get(context);
  case ScalarType::Float: return Float32Type::get(context);
  case ScalarType::Double: return Float64Type::get(context);
  case ScalarType::Bool: return integer(1);
  case ScalarType::BFloat16: return BFloat16Type::get(context);
  case ScalarType::UInt16: return integer(16, true);
  case ScalarType::UInt32: return integer(32, true);
  case ScalarType::UInt64: return integer(64, true);
  default: return {};
  }
}

std::string nx::torch::nameOf(ScalarType type) {
  static constexpr StringRef low[] = {"unknown", "uint8", "int8", "int16", "int32", "int64", "float16", "float32",
                                      "float64", "complex32", "complex64", "complex128", "bool", "bfloat16"};
  static constexpr StringRef high[] = {"uint16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
                                       "float8_e5m2fnuz", "float8_e8m0fnu", "uint32", "uint64"};
  auto i = int64_t(type);
  if (i >= 0 && i < int64_t(std::size(low)))
    return low[i].str();
  if (i >= 28 && i < 28 + int64_t(std::size(high)))
    return high[i - 28].str();
  return ("dtype " + Twine(i)).str();
}

/// 0 for booleans, 1 for integers, 2 for floats.
static int categoryOf(Type type) { return isa<FloatType>(type) ? 2 : type.isInteger(1) ? 0 : 1; }

/// The common type of two tensors of the same rank; null where torch has none.
static Type commonType(Type a, Type b) {
  if (!a || !b || a == b)
    return a ? a : b;
  int categoryA = categoryOf(a), categoryB = categoryOf(b);
  if (categoryA != categoryB)
    return categoryA > categoryB ? a : b;
  unsigned widthA = a.getIntOrFloatBitWidth(), widthB = b.getIntOrFloatBitWidth();
  if (categoryA == 2) // float16 and bfloat16 have no order
    return widthA == widthB ? Float32Type::get(a.getContext()) : widthA > widthB ? a : b;
  bool unsignedA = a.isUnsignedInteger(), unsignedB = b.isUnsignedInteger();
  if (unsignedA == unsignedB)
    return unsignedA ? Type() : widthA > widthB ? a : b;
  Type isUnsigned = unsignedA ? a : b, isSigned = unsignedA ? b : a;
  if (!isUnsigned.isInteger(8)) // torch promotes no wider unsigned type
    return {};
  return isSigned.isInteger(8) ? IntegerType::get(a.getContext(), 16) : isSigned;
}

/// A type of a higher rank with one of a lower rank.
static Type combined(Type high, Type low) {
  if (!high || !low)
    return high ? high : low;
  return categoryOf(low) > categoryOf(high) ? low : high;
}

Type NodeImporter::floatOf(Type element) {
  return !element || isa<FloatType>(element) ? element : Type(b.builder.getF32Type());
}

Type NodeImporter::promoted(ArrayRef<Operand> operands) {
  Type byRank[3]; // with dimensions, without, numbers
  bool hasCommon = true;
  for (const Operand &operand : operands) {
    Type type;
    int rank = 2;
    if (operand.tensor) {
      type = b.elementOf(operand.tensor);
      rank = b.rankOf(operand.tensor) ? 0 : 1;
    } else if (operand.scalar.kind == Scalar::Kind::Float) {
      type = b.builder.getF32Type();
    } else {
      type = operand.scalar.kind == Scalar::Kind::Int ? b.builder.getI64Type() : b.builder.getI1Type();
    }
    Type common = commonType(byRank[rank], type);
    hasCommon &= bool(common);
    byRank[rank] = common;
  }
  if (!hasCommon)
    return unsupported("torch has no common type for its operands"), Type();
  return combined(byRank[0], combined(byRank[1], byRank[2]));
}

Type NodeImporter::promotedToFloat(ArrayRef<Operand> operands) { return floatOf(promoted(operands)); }

Value NodeImporter::constant(Type element, const Scalar &scalar) {
  if (!element)
    return {};
  if (scalar.size)
    return b.cast(b.sizeScalar(scalar.size), element);
  if (scalar.kind == Scalar::Kind::Float)
    return b.scalar(element, scalar.f);
  // Integers beyond 2^53 are no doubles.
  if (isa<IntegerType>(element) && !element.isInteger(1)) {
    auto type = RankedTensorType::get({}, element);
    APInt value(element.getIntOrFloatBitWidth(), scalar.i, /*isSigned=*/true, /*implicitTrunc=*/true);
    return b.constant(DenseElementsAttr::get(type, value));
  }
  return b.scalar(element, element.isInteger(1) ? scalar.i != 0 : double(scalar.i));
}

Value NodeImporter::as(const Operand &operand, Type element) {
  if (!element)
    return {};
  return operand.tensor ? b.cast(operand.tensor, element) : constant(element, operand.scalar);
}
