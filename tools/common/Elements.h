// Single elements of tensors as numbers, and the comparison of whole arrays.
#ifndef NX_TOOLS_COMMON_ELEMENTS_H
#define NX_TOOLS_COMMON_ELEMENTS_H

#include "tools/common/Npy.h"

#include <string>

namespace nxtool {

/// Element `index` of a tensor's storage as a double. 64-bit integers are rounded.
double element(nxrt_dtype dtype, const std::byte *data, uint64_t index);

/// Sets element `index` to the value that is nearest to `value` in the type.
void setElement(nxrt_dtype dtype, std::byte *data, uint64_t index, double value);

/// True for types with a fraction and exponent.
bool isFloat(nxrt_dtype dtype);

struct Difference {
  uint64_t count = 0;     // elements that differ by more than the tolerances
  uint64_t first = 0;     // the first of them, row-major
  double maxAbsolute = 0; // greatest |got - want| over all finite elements
  double maxRelative = 0; // greatest |got - want| / |want| over elements with want != 0
};

/// Compares like numpy.allclose(got, want, rtol, atol, equal_nan=True): |got - want| <= atol +
/// rtol * |want|. Integers and bools compare exactly. Both hold `count` elements of the type.
Difference compare(nxrt_dtype dtype, uint64_t count, const std::byte *got, const std::byte *want,
                   double rtol, double atol);

} // namespace nxtool

#endif // NX_TOOLS_COMMON_ELEMENTS_H
