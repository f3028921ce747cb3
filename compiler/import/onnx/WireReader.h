//===- WireReader.h - Protobuf's wire format, read in place ---------------===//
//
// A message is read field by field, as views into the mapped file: nothing is copied, so weights
// stay where they are, fields newer than any installed schema are visible, and an error can name
// the byte at which the file is wrong.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_ONNX_WIREREADER_H
#define NX_COMPILER_IMPORT_ONNX_WIREREADER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace nx::onnx {

enum class WireType : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message.
struct WireField {
  uint32_t number;
  WireType type;
  uint64_t scalar;        ///< of Varint, Fixed64 and Fixed32
  llvm::StringRef bytes;  ///< payload of Bytes; the encoded value of the others
  size_t position;        ///< of the field in the file

  /// The payload as this kind of value, or an error that names the position.
  llvm::Expected<llvm::StringRef> asBytes() const;
  llvm::Expected<int64_t> asInt() const;
  llvm::Expected<float> asFloat() const;
  /// Appends the values of a repeated scalar field, packed or not.
  llvm::Error appendInts(llvm::SmallVectorImpl<int64_t> &values) const;
  llvm::Error appendFloats(llvm::SmallVectorImpl<float> &values) const;
};

/// Calls `onField` for each field of `message`, which lies `position` bytes into the file. Ends at
/// the first error.
llvm::Error readMessage(llvm::StringRef message, size_t position,
                        llvm::function_ref<llvm::Error(const WireField &)> onField);

/// Reads a varint at the front of `bytes` and drops it; false when it is cut off or too long.
bool takeVarint(llvm::StringRef &bytes, uint64_t &value);

} // namespace nx::onnx
#endif // NX_COMPILER_IMPORT_ONNX_WIREREADER_H
