//===- TensorData.cpp - Contents of ONNX tensors --------------------------===//

#include "compiler/import/onnx/TensorData.h"
#include "compiler/import/onnx/WireReader.h"
#include "dialects/nx/Nx.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

Type nx::onnx::elementType(DataType type, MLIRContext *context) {
  auto integer = [&](unsigned width, bool isUnsigned = false) {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case DataType::Float: return Float32Type::get(context);
  case DataType::Double: return Float64Type::get(context);
  case DataType::Float16: return Float16Type::get(context);
  case DataType::Bfloat16: return BFloat16Type::get(context);
  case DataType::Bool: return integer(1);
  case DataType::Int8: return integer(8);
  case DataType::Int16: return integer(16);
  case DataType::Int32: return integer(32);
  case DataType::Int64: return integer(64);
  case DataType::Uint8: return integer(8, true);
  case DataType::Uint16: return integer(16, true);
  case DataType::Uint32: return integer(32, true);
  case DataType::Uint64: return integer(64, true);
  case DataType::Float8E4M3FN: return Float8E4M3FNType::get(context);
  case DataType::Float8E4M3FNUZ: return Float8E4M3FNUZType::get(context);
  case DataType::Float8E5M2: return Float8E5M2Type::get(context);
  case DataType::Float8E5M2FNUZ: return Float8E5M2FNUZType::get(context);
  case DataType::Float8E8M0: return Float8E8M0FNUType::get(context);
  case DataType::Float4E2M1: return Float4E2M1FNType::get(context);
  case DataType::Int4: return integer(4);
  case DataType::Uint4: return integer(4, true);
  case DataType::Int2: return integer(2);
  case DataType::Uint2: return integer(2, true);
  default: return {};
  }
}

Expected<RankedTensorType> nx::onnx::tensorType(const Tensor &tensor, MLIRContext *context) {
  Type element = elementType(tensor.type, context);
  if (!element)
    return createStringError("tensor '" + tensor.name + "' has element type " + nameOf(tensor.type) +
                             ", which nx does not have");
  int64_t bytes = elementBytes(element);
  for (int64_t size : tensor.dims)
    if (size < 0 || llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes))
      return createStringError("tensor '" + tensor.name + "' has an impossible size " + Twine(size));
  return RankedTensorType::get(tensor.dims, element);
}

static Error inTensor(const Tensor &tensor, const Twine &what) {
  return createStringError("tensor '" + tensor.name + "': " + what);
}

/// Decodes the typed field (`float_data`, `int32_data`, ...) of a tensor.
static Expected<TensorBytes> decodeTyped(const Tensor &tensor, Type element) {
  // Field of onnx.proto that holds each element type.
  bool isDouble = element.isF64(), isFloat = element.isF32();
  bool isUnsigned64 = element.isUnsignedInteger(64) || element.isUnsignedInteger(32);
  uint32_t expected = isFloat ? 4 : isDouble ? 10 : isUnsigned64 ? 11 : element.isInteger(64) ? 7 : 5;
  if (tensor.typedField != expected)
    return inTensor(tensor, "its values are not in the field for element type " + nameOf(tensor.type));

  TensorBytes result;
  if ((isFloat || isDouble) && tensor.typedRuns.size() == 1) {
    result.view = ArrayRef(tensor.typedRuns[0].data(), tensor.typedRuns[0].size());
    return result;
  }
  result.isDecoded = true;
  std::vector<char> &bytes = result.decoded;
  unsigned size = elementBytes(element);
  for (StringRef run : tensor.typedRuns) {
    if (isFloat || isDouble) {
      bytes.insert(bytes.end(), run.begin(), run.end());
      continue;
    }
    while (!run.empty()) {
      uint64_t value;
      if (!takeVarint(run, value))
        return inTensor(tensor, "bad variable-length integer");
      // Half floats are in int32_data as their bits; little endian keeps the low bytes first.
      const char *low = reinterpret_cast<const char *>(&value);
      bytes.insert(bytes.end(), low, low + size);
    }
  }
  return result;
}

static Expected<TensorBytes> readExternal(const Tensor &tensor, uint64_t expected, StringRef folder,
                                          ParamCatalog &params) {
  namespace path = llvm::sys::path;
  StringRef location;
  uint64_t offset = 0, length = expected;
  for (auto [key, value] : tensor.external) {
    if (key == "location")
      location = value;
    else if (key == "offset" ? value.getAsInteger(10, offset) : key == "length" && value.getAsInteger(10, length))
      return inTensor(tensor, "external data has a bad " + key + " '" + value + "'");
  }
  if (location.empty())
    return inTensor(tensor, "external data has no location");
  if (length != expected)
    return inTensor(tensor, "external data has " + Twine(length) + " bytes, its type needs " + Twine(expected));

  // The folder that a model may read from is its own: a model is data from somebody else.
  SmallString<256> joined(folder), root, real;
  path::append(joined, location);
  if (path::is_absolute(location) || llvm::is_contained(llvm::make_range(path::begin(location), path::end(location)), ".."))
    return inTensor(tensor, "external data '" + location + "' is outside of the model's folder");
  if (std::error_code code = llvm::sys::fs::real_path(folder.empty() ? "." : folder, root))
    return inTensor(tensor, "cannot read the model's folder '" + folder + "': " + code.message());
  if (std::error_code code = llvm::sys::fs::real_path(joined, real))
    return inTensor(tensor, "cannot read external data '" + joined + "': " + code.message() +
                                "; it belongs beside the model");
  if (!StringRef(root).ends_with("/"))
    root += "/";
  if (!StringRef(real).starts_with(root))
    return inTensor(tensor, "external data '" + location + "' leads outside of the model's folder, to '" + real + "'");
  if (llvm::sys::fs::file_status status; llvm::sys::fs::status(real, status) ||
                                         status.type() != llvm::sys::fs::file_type::regular_file)
    return inTensor(tensor, "external data '" + location + "' is not a regular file");
  Expected<StringRef> file = params.mapFile(real);
  if (!file)
    return file.takeError();
  if (offset > file->size() || length > file->size() - offset)
    return inTensor(tensor, "external data '" + location + "' has " + Twine(file->size()) + " bytes, bytes " +
                                Twine(offset) + " to " + Twine(offset + length) + " are needed (is it complete?)");
  TensorBytes result;
  result.view = ArrayRef(file->data() + offset, length);
  return result;
}

Expected<TensorBytes> nx::onnx::readTensor(const Tensor &tensor, RankedTensorType type, StringRef folder,
                                           ParamCatalog &params) {
  uint64_t count = type.getNumElements();
  unsigned bits = type.getElementTypeBitWidth();
  // Files hold several elements of less than a byte in one, the first in the low bits.
  bool isPacked = bits < 8 && !type.getElementType().isInteger(1);
  uint64_t expected = isPacked ? llvm::divideCeil(count * bits, 8) : count * elementBytes(type.getElementType());
  TensorBytes result;
  if (tensor.isExternal) {
    if (Error error = readExternal(tensor, expected, folder, params).moveInto(result))
      return error;
  } else if (tensor.raw) {
    result.view = ArrayRef(tensor.raw->data(), tensor.raw->size());
  } else if (tensor.typedField) {
    if (Error error = decodeTyped(tensor, type.getElementType()).moveInto(result))
      return error;
  }
  if (result.bytes().size() != expected)
    return inTensor(tensor, "it has " + Twine(result.bytes().size()) + " bytes of data, its type needs " +
                                Twine(expected));
  if (isPacked) {
    // One element in a byte, integers extended: what signlessElement means.
    bool isSigned = isa<IntegerType>(type.getElementType()) && !isUnsignedElement(type.getElementType());
    std::vector<char> unpacked(count);
    for (uint64_t i = 0; i < count; ++i) {
      auto byte = uint8_t(result.bytes()[i * bits / 8]);
      uint64_t value = (byte >> (i * bits % 8)) & ((1u << bits) - 1);
      unpacked[i] = char(isSigned ? llvm::SignExtend64(value, bits) : int64_t(value));
    }
    result.decoded = std::move(unpacked);
    result.isDecoded = true;
    return result;
  }
  // Kernels rely on booleans being 0 or 1.
  if (type.getElementType().isInteger(1) && llvm::any_of(result.bytes(), [](char c) { return c & ~1; })) {
    std::vector<char> normal(result.bytes().begin(), result.bytes().end());
    for (char &c : normal)
      c = c != 0;
    result.decoded = std::move(normal);
    result.isDecoded = true;
  }
  return result;
}
