// Sizes, strides and offsets of a kernel as expressions over its symbols.
#ifndef NX_CODEGEN_LOOPS_HOSTVALUES_H
#define NX_CODEGEN_LOOPS_HOSTVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace nx::loops {

// Describes what a kernel computes outside of its loops. A size is a (semi-)affine expression over
// symbols: the kernel's own, which the runtime passes, then one for each top-level value that is
// not affine in those, as a clamped offset.
class HostValues {
public:
  explicit HostValues(mlir::func::FuncOp kernel);

  // Size of dim `d` of a tensor value of the kernel; null when nothing tells it.
  mlir::AffineExpr sizeOf(mlir::Value tensor, unsigned d);
  llvm::SmallVector<mlir::AffineExpr> sizesOf(mlir::Value tensor);
  // A top-level index or integer value.
  mlir::AffineExpr exprOf(mlir::Value value);
  mlir::AffineExpr exprOf(mlir::OpFoldResult value);

  unsigned kernelSymbols() const { return numKernelSymbols; }
  // The value that an added symbol stands for.
  mlir::Value opaque(unsigned symbol) const { return opaques[symbol - numKernelSymbols]; }
  mlir::func::FuncOp kernel() const { return func; }

private:
  mlir::AffineExpr addOpaque(mlir::Value value);

  mlir::func::FuncOp func;
  unsigned numKernelSymbols = 0;
  llvm::SmallVector<mlir::Value> opaques;
  llvm::DenseMap<mlir::Value, mlir::AffineExpr> exprs;
};

// The symbol that an index argument of a kernel is the value of: its attribute `nx.symbol`.
std::optional<unsigned> symbolOf(mlir::BlockArgument arg);

// Evaluates host expressions inside of one emitted function.
class HostEvaluator {
public:
  // New code goes where `builder` stands, which must dominate all uses. `dims`: the kernel call's
  // dim slots.
  HostEvaluator(HostValues &host, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value dims)
      : host(host), b(builder), loc(loc), dims(dims) {}

  // An index value.
  mlir::Value get(mlir::AffineExpr expr);
  // Any scalar of the kernel's top level.
  mlir::Value get(mlir::Value value);
  // Set when something could not be evaluated here.
  mlir::Operation *failed() const { return failure; }

private:
  HostValues &host;
  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Value dims;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> exprs;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  mlir::Operation *failure = nullptr;
};

// Index arithmetic with folding of constants. Division rounds down and its divisor is positive.
mlir::Value buildAffine(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExprKind kind,
                        mlir::Value lhs, mlir::Value rhs);

} // namespace nx::loops

#endif // NX_CODEGEN_LOOPS_HOSTVALUES_H
