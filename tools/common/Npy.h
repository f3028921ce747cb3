// NumPy's array format (.npy): one array with its element type and shape.
//
// Element types: f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, bool; both byte orders and both memory orders are
// read. NumPy has no bfloat16 and no float8: ml_dtypes stores them as raw "V2", "V1" or "f1" records,
// which are read as raw elements of that size and take the element type of the model's input. 4-bit
// types are one element per byte in a file, as ml_dtypes has them.
#ifndef NX_TOOLS_COMMON_NPY_H
#define NX_TOOLS_COMMON_NPY_H

#include "nxrt/nxrt.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nxtool {

/// A dense row-major array in host byte order.
struct Array {
  char kind = 'f';       // 'f' float, 'i' signed, 'u' unsigned, 'b' bool, 'V' raw bits
  uint32_t itemSize = 4; // bytes of one element
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  uint64_t count() const;
  std::string typeName() const;  // "f4", "V2", ...
  std::string shapeText() const; // "[2, 128]"
};

std::string shapeText(std::span<const int64_t> dims);

/// Parses a whole .npy file; `name` is what errors call it. Throws Refusal on anything malformed.
Array parseNpy(std::span<const std::byte> bytes, const std::string &name);

/// The header that goes before the array's data in a .npy file.
std::string npyHeader(const Array &array);

/// The array as storage of a tensor of the model's type: raw records take the type, 4-bit elements are
/// packed two in a byte. False when the array's element type is another one.
bool toTensorBytes(const Array &array, nxrt_dtype dtype, std::vector<std::byte> &bytes);

/// The array that holds a tensor's storage, with the element type that NumPy has for it: bf16 and f8 as
/// raw records, 4-bit elements one in a byte.
Array fromTensorBytes(nxrt_dtype dtype, std::span<const int64_t> dims,
                      std::span<const std::byte> bytes);

} // namespace nxtool

#endif // NX_TOOLS_COMMON_NPY_H
