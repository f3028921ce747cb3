//===- Symbols.h - Symbolic sizes of an exported program ------------------===//
//
// torch writes sizes as sympy expressions over symbols such as s77, each with a range. Here they
// become nx sizes, and comparisons of sizes are decided where the ranges allow.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_TORCH_SYMBOLS_H
#define NX_COMPILER_IMPORT_TORCH_SYMBOLS_H

#include "compiler/import/torch/ExportedProgram.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace nx::torch {

/// A comparison of sizes, or a constant when `lhs` is null.
struct Condition {
  enum class Kind { Equal, NotEqual, Less, AtMost };
  Kind kind = Kind::Equal;
  mlir::AffineExpr lhs, rhs;
  bool constant = false;

  static Condition of(bool value) { return {Kind::Equal, {}, {}, value}; }
  Condition negated() const;
};

class Symbols {
public:
  explicit Symbols(mlir::MLIRContext *context) : context(context) {}

  /// Says what a symbol of the program stands for.
  void bind(llvm::StringRef name, mlir::AffineExpr size, SizeRange range);
  bool isBound(llvm::StringRef name) const { return bound.contains(name); }

  /// The size that `size` describes; null when it has an unbound symbol or a function that sizes
  /// do not have.
  mlir::AffineExpr sizeOf(const Size &size) const;
  /// The unbound symbols of an expression, in order.
  std::vector<std::string> unboundIn(llvm::StringRef expr) const;

  /// A condition in Python's spelling, such as "L['x'].size()[0] % 4 == 0"; `source` gives the size
  /// of dimension `dim` of an input, or the input's own value when `dim` is negative. Null when the
  /// condition is not one of sizes.
  using Source = llvm::function_ref<mlir::AffineExpr(llvm::StringRef path, int64_t dim)>;
  std::optional<Condition> parseGuard(llvm::StringRef guard, Source source) const;

  /// The outcome where the ranges decide it.
  std::optional<bool> decide(const Condition &condition) const;
  /// The greater or lesser of two sizes where the ranges decide; null elsewhere.
  mlir::AffineExpr maximum(mlir::AffineExpr a, mlir::AffineExpr b) const;
  mlir::AffineExpr minimum(mlir::AffineExpr a, mlir::AffineExpr b) const;
  /// Between what an expression lies.
  SizeRange rangeOf(mlir::AffineExpr expr) const;

private:
  mlir::MLIRContext *context;
  llvm::StringMap<mlir::AffineExpr> bound;
  llvm::DenseMap<mlir::AffineExpr, SizeRange> ranges; ///< of nx symbols
};

} // namespace nx::torch
#endif // NX_COMPILER_IMPORT_TORCH_SYMBOLS_H
