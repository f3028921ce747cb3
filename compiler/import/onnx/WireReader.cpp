//===- WireReader.cpp - Protobuf's wire format, read in place -------------===//

#include "compiler/import/onnx/WireReader.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace nx::onnx;

static Error malformed(size_t position, const Twine &what) {
  return createStringError("not a valid ONNX file: " + what + " at byte " + Twine(position));
}

bool nx::onnx::takeVarint(StringRef &bytes, uint64_t &value) {
  value = 0;
  for (unsigned i = 0; i < 10 && i < bytes.size(); ++i) {
    uint8_t byte = bytes[i];
    if (i == 9 && byte > 1)
      return false; // more than 64 bits
    value |= uint64_t(byte & 0x7f) << (7 * i);
    if (!(byte & 0x80)) {
      bytes = bytes.drop_front(i + 1);
      return true;
    }
  }
  return false;
}

Error nx::onnx::readMessage(StringRef message, size_t position,
                            function_ref<Error(const WireField &)> onField) {
  StringRef rest = message;
  auto here = [&] { return position + (message.size() - rest.size()); };
  while (!rest.empty()) {
    WireField field{};
    field.position = here();
    uint64_t tag;
    if (!takeVarint(rest, tag) || tag >> 3 == 0 || tag >> 32)
      return malformed(field.position, "bad field tag");
    field.number = uint32_t(tag >> 3);
    field.type = WireType(tag & 7);
    StringRef start = rest;
    switch (field.type) {
    case WireType::Varint:
      if (!takeVarint(rest, field.scalar))
        return malformed(here(), "bad variable-length integer");
      field.bytes = start.drop_back(rest.size());
      break;
    case WireType::Fixed64:
    case WireType::Fixed32: {
      size_t size = field.type == WireType::Fixed64 ? 8 : 4;
      if (rest.size() < size)
        return malformed(here(), "the file ends inside a field");
      field.bytes = rest.take_front(size);
      field.scalar = size == 8 ? support::endian::read64le(rest.data())
                               : support::endian::read32le(rest.data());
      rest = rest.drop_front(size);
      break;
    }
    case WireType::Bytes: {
      uint64_t size;
      if (!takeVarint(rest, size))
        return malformed(here(), "bad field length");
      if (size > rest.size())
        return malformed(here(), "a field of " + Twine(size) + " bytes does not fit into the " +
                                     Twine(rest.size()) + " bytes that are left (is the file truncated?)");
      field.bytes = rest.take_front(size);
      rest = rest.drop_front(size);
      break;
    }
    default:
      return malformed(field.position, "unknown wire type " + Twine(unsigned(field.type)));
    }
    if (Error error = onField(field))
      return error;
  }
  return Error::success();
}

Expected<StringRef> WireField::asBytes() const {
  if (type != WireType::Bytes)
    return malformed(position, "field " + Twine(number) + " should hold bytes");
  return bytes;
}

Expected<int64_t> WireField::asInt() const {
  if (type != WireType::Varint)
    return malformed(position, "field " + Twine(number) + " should hold an integer");
  return int64_t(scalar);
}

Expected<float> WireField::asFloat() const {
  if (type != WireType::Fixed32)
    return malformed(position, "field " + Twine(number) + " should hold a float");
  return bit_cast<float>(uint32_t(scalar));
}

Error WireField::appendInts(SmallVectorImpl<int64_t> &values) const {
  if (type == WireType::Varint) {
    values.push_back(int64_t(scalar));
    return Error::success();
  }
  if (type != WireType::Bytes)
    return malformed(position, "field " + Twine(number) + " should hold integers");
  for (StringRef rest = bytes; !rest.empty();) {
    uint64_t value;
    if (!takeVarint(rest, value))
      return malformed(position, "bad list of integers");
    values.push_back(int64_t(value));
  }
  return Error::success();
}

Error WireField::appendFloats(SmallVectorImpl<float> &values) const {
  if (type == WireType::Fixed32) {
    values.push_back(bit_cast<float>(uint32_t(scalar)));
    return Error::success();
  }
  if (type != WireType::Bytes || bytes.size() % 4)
    return malformed(position, "field " + Twine(number) + " should hold floats");
  for (size_t i = 0; i < bytes.size(); i += 4)
    values.push_back(bit_cast<float>(support::endian::read32le(bytes.data() + i)));
  return Error::success();
}
