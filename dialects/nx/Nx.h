//===- Nx.h - The nx dialect ----------------------------------------------===//
#ifndef NX_DIALECTS_NX_NX_H
#define NX_DIALECTS_NX_NX_H

#include "dialects/nx/Dims.h"
#include "dialects/nx/ShardingRule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/nx/NxDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nx/NxAttrs.h.inc"
#include "dialects/nx/NxInterfaces.h.inc"

namespace nx {

/// Result type of an element-wise operation: the operands' shapes broadcast together, with
/// `element` as element type.
llvm::LogicalResult inferElementwise(std::optional<mlir::Location> location,
                                     mlir::ValueRange operands, mlir::Type element,
                                     llvm::SmallVectorImpl<mlir::Type> &types);

/// The type that `recipe` makes of `source`, or an error on `emitError`.
mlir::FailureOr<mlir::RankedTensorType>
applyRecipe(mlir::RankedTensorType source, mlir::ArrayAttr recipe,
            llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// What arith, vector and memory operations use for an element type: its signless form; for a narrow
/// type a byte with its bits (integers are extended).
mlir::Type signlessElement(mlir::Type element);

/// True for types that are stored, moved and cast only: floats of 8 bits and less, integers of 2 and 4 bits.
bool isNarrowElement(mlir::Type element);

/// The constant as signlessElement has it in memory.
mlir::DenseElementsAttr signlessConstant(mlir::DenseElementsAttr value);

/// True when integers of this element type are unsigned (booleans are).
bool isUnsignedElement(mlir::Type element);

/// The tensor type with `values[i]` in the place of symbol i.
mlir::Type substituteSymbols(mlir::Type type, llvm::ArrayRef<mlir::AffineExpr> values);

/// Names of the program's symbols: the attribute `nx.symbols` of the function around `op`.
llvm::SmallVector<llvm::StringRef> symbolNames(mlir::Operation *op);
inline constexpr llvm::StringLiteral kSymbolsAttr = "nx.symbols";

} // namespace nx

#define GET_OP_CLASSES
#include "dialects/nx/NxOps.h.inc"

#endif // NX_DIALECTS_NX_NX_H
