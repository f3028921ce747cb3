//===- Products.h - Products of tensors of any rank -----------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_PRODUCTS_H
#define NX_COMPILER_IMPORT_COMMON_PRODUCTS_H

#include "compiler/import/common/GraphBuilder.h"

namespace nx {

/// Matrix product where an operand of rank 1 is a row (left) or a column (right).
mlir::Value emitMatmul(GraphBuilder &b, mlir::Value x, mlir::Value y);

/// Einstein's summation. The equation may have "..." (dimensions that broadcast), labels that an
/// operand has twice (its diagonal), and no output (the labels that occur once, in alphabetical
/// order). Any number of operands, multiplied from left to right.
mlir::Value emitEinsum(GraphBuilder &b, llvm::StringRef equation, llvm::ArrayRef<mlir::Value> operands);

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_PRODUCTS_H
