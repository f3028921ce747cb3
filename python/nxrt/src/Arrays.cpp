#include "python/nxrt/src/Arrays.h"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <string>

namespace nb = nanobind;
using nb::dlpack::dtype_code;

namespace nxpy {
namespace {

struct TypePair {
  nxrt_dtype dtype;
  dtype_code code;
  uint8_t bits;
};

constexpr TypePair kTypes[] = {
    {NXRT_DTYPE_F32, dtype_code::Float, 32},
    {NXRT_DTYPE_F64, dtype_code::Float, 64},
    {NXRT_DTYPE_F16, dtype_code::Float, 16},
    {NXRT_DTYPE_BF16, dtype_code::Bfloat, 16},
    {NXRT_DTYPE_I64, dtype_code::Int, 64},
    {NXRT_DTYPE_I32, dtype_code::Int, 32},
    {NXRT_DTYPE_I16, dtype_code::Int, 16},
    {NXRT_DTYPE_I8, dtype_code::Int, 8},
    {NXRT_DTYPE_U64, dtype_code::UInt, 64},
    {NXRT_DTYPE_U32, dtype_code::UInt, 32},
    {NXRT_DTYPE_U16, dtype_code::UInt, 16},
    {NXRT_DTYPE_U8, dtype_code::UInt, 8},
    {NXRT_DTYPE_BOOL, dtype_code::Bool, 8},
    {NXRT_DTYPE_F8E4M3FN, dtype_code::Float8_E4M3FN, 8},
    {NXRT_DTYPE_F8E5M2, dtype_code::Float8_E5M2, 8},
};

nxrt_dtype dtypeOf(const nb::dlpack::dtype &type) {
  if (type.lanes == 1)
    for (const TypePair &pair : kTypes)
      if (uint8_t(pair.code) == type.code && pair.bits == type.bits)
        return pair.dtype;
  return NXRT_DTYPE_INVALID;
}

[[noreturn]] void refuse(const char *name, nb::handle source, const std::string &why) {
  std::string type = nb::cast<std::string>(nb::str(source.type().attr("__name__")));
  throw nb::type_error(("'" + std::string(name) + "': " + why + " (a " + type + ")").c_str());
}

/// Memory for tensors without elements: the runtime wants an address.
alignas(64) char emptyStorage[64];

Borrowed attach(ConstArray array, nxrt_dtype dtype) {
  nxrt_tensor *tensor = nullptr;
  check(nxrt_tensor_create_empty(dtype, uint32_t(array.ndim()), array.shape_ptr(), &tensor));
  Borrowed borrowed{TensorHandle(tensor), std::move(array)};
  size_t bytes = borrowed.array.nbytes();
  void *memory = bytes ? const_cast<void *>(static_cast<const void *>(borrowed.array.data())) : emptyStorage;
  check(nxrt_tensor_attach(tensor, memory, bytes ? bytes : sizeof emptyStorage));
  return borrowed;
}

/// The type that the array's elements have or, as a Raw, stand for.
nxrt_dtype elementType(const Raw *raw, const ConstArray &array, nb::handle source, const char *name) {
  nxrt_dtype dtype = raw ? raw->dtype : dtypeOf(array.dtype());
  if (dtype == NXRT_DTYPE_INVALID)
    refuse(name, source, "nx has no such element type");
  if (array.ndim() > NXRT_MAX_RANK)
    refuse(name, source, "rank " + std::to_string(array.ndim()) + " is above " + std::to_string(NXRT_MAX_RANK));
  return dtype;
}

} // namespace

Borrowed borrow(nb::handle source, const char *name) {
  const Raw *raw = nb::isinstance<Raw>(source) ? nb::inst_ptr<Raw>(source) : nullptr;
  nb::handle memory = raw ? nb::handle(raw->array) : source;
  ConstArray array;
  if (!nb::try_cast(memory, array, /*convert=*/true)) {
    if (!nb::ndarray_check(memory))
      refuse(name, source, "this is no array: give a NumPy array, a torch tensor or one that speaks DLPack");
    refuse(name, source, "the array is not in host memory, or its elements cannot be read as they are");
  }
  nxrt_dtype dtype = elementType(raw, array, source, name);
  return attach(std::move(array), dtype);
}

Borrowed borrowWritable(nb::handle source, const char *name) {
  const Raw *raw = nb::isinstance<Raw>(source) ? nb::inst_ptr<Raw>(source) : nullptr;
  Array array;
  if (!nb::try_cast(raw ? nb::handle(raw->array) : source, array, /*convert=*/false))
    refuse(name, source, "results can be written only to a writable, contiguous array in host memory");
  ConstArray readable(array);
  nxrt_dtype dtype = elementType(raw, readable, source, name);
  return attach(std::move(readable), dtype);
}

nb::object toArray(nxrt_tensor *tensor, Framework framework) {
  NXRT_STRUCT(nxrt_tensor_info, info);
  check(nxrt_tensor_get_info(tensor, &info));
  nb::dlpack::dtype type{};
  for (const TypePair &pair : kTypes)
    if (pair.dtype == info.dtype)
      type = {uint8_t(pair.code), pair.bits, 1};
  if (type.bits == 0)
    throw nb::type_error((std::string("no array has elements of ") + nxrt_dtype_name(info.dtype)).c_str());
  bool inNumpy = type.code <= uint8_t(dtype_code::Float) || type.code == uint8_t(dtype_code::Bool);
  if (framework == Framework::Numpy && !inNumpy)
    type.code = uint8_t(dtype_code::UInt);
  size_t shape[NXRT_MAX_RANK];
  std::copy(info.dims, info.dims + info.rank, shape);
  check(nxrt_tensor_retain(tensor));
  nb::capsule owner(tensor, [](void *held) noexcept { nxrt_tensor_free(static_cast<nxrt_tensor *>(held)); });
  void *data = info.data ? info.data : emptyStorage;
  if (framework == Framework::Torch)
    return nb::cast(nb::ndarray<nb::pytorch, nb::device::cpu>(data, info.rank, shape, owner, nullptr, type));
  return nb::cast(nb::ndarray<nb::numpy, nb::device::cpu>(data, info.rank, shape, owner, nullptr, type));
}

} // namespace nxpy
