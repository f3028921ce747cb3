//===- ElementConversion.h - Element type conversion of stored bytes ------===//
#ifndef NX_COMPILER_PARAMS_ELEMENTCONVERSION_H
#define NX_COMPILER_PARAMS_ELEMENTCONVERSION_H

#include "mlir/IR/Types.h"

namespace nx {

/// Converts `count` elements with the meaning of nx.cast (dialects/nx/NxOps.td): floats round to
/// nearest even; float to integer rounds to zero and saturates, NaN gives 0; integers wrap; to
/// boolean is `x != 0`.
using ElementConverter = void (*)(const char *from, char *to, size_t count);

/// The converter between two nx element types; null when one of them isn't one.
ElementConverter elementConverter(mlir::Type from, mlir::Type to);

} // namespace nx
#endif // NX_COMPILER_PARAMS_ELEMENTCONVERSION_H
