//===- ScalarBuilder.h - Arithmetic on single elements --------------------===//
#ifndef NX_COMPILER_LOWERING_SCALARBUILDER_H
#define NX_COMPILER_LOWERING_SCALARBUILDER_H

#include "dialects/nx/Nx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace nx {

/// f32 for f16 and bf16, which only memory holds; other types compute as they are.
mlir::Type computeType(mlir::Type element);

/// Scalars of any numeric type, signless; where it matters the caller says whether they are unsigned.
class ScalarBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  mlir::Value widen(mlir::Value x);
  mlir::Value narrow(mlir::Value x, mlir::Type element);
  mlir::Value scalar(mlir::Type type, double value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  /// Integers round to zero; the divisor is not 0.
  mlir::Value div(mlir::Value x, mlir::Value y, bool isUnsigned);
  mlir::Value combine(ReduceKind kind, bool isUnsigned, mlir::Value x, mlir::Value y);
  mlir::TypedAttr neutral(ReduceKind kind, bool isUnsigned, mlir::Type element);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
};

} // namespace nx
#endif // NX_COMPILER_LOWERING_SCALARBUILDER_H
