// Arrays of Python frameworks as tensors of the runtime and back, without copies where memory allows.
#ifndef NX_PYTHON_NXRT_ARRAYS_H
#define NX_PYTHON_NXRT_ARRAYS_H

#include "python/nxrt/src/Runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nxpy {

/// What arrays a call returns.
enum class Framework { Numpy, Torch };

using Array = nanobind::ndarray<nanobind::c_contig, nanobind::device::cpu>;
using ConstArray = nanobind::ndarray<nanobind::ro, nanobind::c_contig, nanobind::device::cpu>;

/// Elements that the array's own protocol cannot name (NumPy has no bfloat16) as integers of their
/// bits, with the type that they stand for.
struct Raw {
  nanobind::object array;
  nxrt_dtype dtype;
};

/// A tensor over an array's own memory, and what keeps that memory alive.
struct Borrowed {
  TensorHandle tensor;
  ConstArray array;
};

/// Borrows `source`, an array of any framework or a Raw; one that is not contiguous is copied first.
/// Throws TypeError, with `name` in the message, for what is no array in host memory.
Borrowed borrow(nanobind::handle source, const char *name);
/// The same for memory that an execution is to write: nothing is copied, read-only arrays are refused.
Borrowed borrowWritable(nanobind::handle source, const char *name);

/// The tensor as an array that owns one reference to it. Types that NumPy has no name for become
/// unsigned integers of their bits.
nanobind::object toArray(nxrt_tensor *tensor, Framework framework);

} // namespace nxpy

#endif // NX_PYTHON_NXRT_ARRAYS_H
