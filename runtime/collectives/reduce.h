// Element-wise reductions over the same range of several arrays.
#ifndef NXRT_COLLECTIVES_REDUCE_H
#define NXRT_COLLECTIVES_REDUCE_H

#include "runtime/schema/program_generated.h"

#include <cstddef>
#include <cstdint>

namespace nxrt {

/// Most elements that one call takes.
inline constexpr int64_t kReduceBlock = 1024;

/// dst[d][i] = src[0][i] op src[1][i] op ..., for i in [0, count), into each of the destinations. A
/// destination may be the same memory as a source. Sums and products of integers wrap around;
/// maxima and minima of floats are NaN when an operand is.
using ReduceFunction = void (*)(const std::byte *const *src, uint32_t srcCount,
                                std::byte *const *dst, uint32_t dstCount, int64_t count);

/// The function for a type, or null when the reduction is not defined for it.
ReduceFunction reduceFunction(nx::fb::ReduceKind kind, int dtype);

} // namespace nxrt

#endif // NXRT_COLLECTIVES_REDUCE_H
