//===- GraphBuilder.h - Building nx from a source graph -------------------===//
//
// What every frontend needs: creating operations whose operands may be wrong (a model file is user
// input), shape arithmetic that disappears while it is built, run-time checks where different
// symbols must be equal, and constants.
//
// Errors are sticky: after one, every value is null, and creating something from a null value gives
// null. So a frontend's operator can be one expression, and only its end looks at the outcome.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_COMMON_GRAPHBUILDER_H
#define NX_COMPILER_IMPORT_COMMON_GRAPHBUILDER_H

#include "dialects/nx/transforms/EvaluateSmall.h"
#include "llvm/ADT/DenseSet.h"

namespace nx {

class GraphBuilder {
public:
  explicit GraphBuilder(mlir::OpBuilder builder) : builder(builder) {}

  mlir::OpBuilder builder;
  mlir::Location loc = mlir::UnknownLoc::get(builder.getContext()); ///< of what is created next
  llvm::SmallVector<std::string> symbols;                           ///< names of s0, s1, ...

  mlir::MLIRContext *context() const { return builder.getContext(); }

  //===--- Errors ---------------------------------------------------------===//

  /// Reports an error at `loc`; from then on the current source operation has failed.
  mlir::InFlightDiagnostic error();
  bool failed() const { return hasFailed; }
  /// Forgets the failure (before the next source operation).
  void clearFailure() { hasFailed = false; }

  //===--- Operations -----------------------------------------------------===//

  using Attributes = llvm::ArrayRef<mlir::NamedAttribute>;

  /// Creates an operation whose result type is inferred. Evaluates it when its operands are small
  /// and known; emits the checks that its sizes need. Null after an error.
  template <typename OpTy> mlir::Value emit(mlir::ValueRange operands, Attributes attributes = {}) {
    return create(OpTy::getOperationName(), operands, {}, attributes);
  }
  /// The same with the result type given.
  template <typename OpTy>
  mlir::Value emitAs(mlir::RankedTensorType type, mlir::ValueRange operands, Attributes attributes = {}) {
    return create(OpTy::getOperationName(), operands, type, attributes);
  }
  /// Layer and group norms, attention, convolution: operands may be null where the operation says
  /// that they are optional; `segments` tells how many there are of each, if the operation counts.
  template <typename OpTy>
  mlir::Value emitOptional(llvm::ArrayRef<mlir::Value> operands, Attributes attributes, bool countSegments = false) {
    return createOptional(OpTy::getOperationName(), operands, attributes, countSegments);
  }

  /// For operations with several results: that many values, all null after an error.
  template <typename OpTy>
  llvm::SmallVector<mlir::Value> emitMany(unsigned numResults, llvm::ArrayRef<mlir::Value> operands,
                                          Attributes attributes, bool countSegments = false) {
    return createMany(OpTy::getOperationName(), numResults, operands, attributes, countSegments);
  }

  //===--- Attributes -----------------------------------------------------===//

  mlir::NamedAttribute attr(llvm::StringRef name, mlir::Attribute value) { return {name, value}; }
  mlir::NamedAttribute i64(llvm::StringRef name, int64_t value) { return {name, builder.getI64IntegerAttr(value)}; }
  mlir::NamedAttribute f64(llvm::StringRef name, double value) { return {name, builder.getF64FloatAttr(value)}; }
  mlir::NamedAttribute flag(llvm::StringRef name) { return {name, builder.getUnitAttr()}; }
  mlir::NamedAttribute ints(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return {name, builder.getDenseI64ArrayAttr(values)};
  }
  mlir::NamedAttribute dims(llvm::StringRef name, llvm::ArrayRef<mlir::AffineExpr> values) {
    return {name, DimsAttr::get(context(), values)};
  }

  //===--- Types and sizes ------------------------------------------------===//

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  static mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
  static int64_t rankOf(mlir::Value value) { return typeOf(value).getRank(); }
  mlir::AffineExpr size(int64_t value) { return mlir::getAffineConstantExpr(value, context()); }
  std::string text(mlir::AffineExpr size) const;
  /// "[batch, 128]"
  std::string text(mlir::RankedTensorType type) const;

  /// The size a symbol of this name stands for; a new symbol at first use.
  mlir::AffineExpr symbol(llvm::StringRef name);

  /// Requires two sizes to be equal: an error when they cannot be, a run-time check when they may.
  /// `what` completes "sizes of ...".
  void requireEqual(mlir::AffineExpr a, mlir::AffineExpr b, const llvm::Twine &what);
  /// Requires a <= b, likewise.
  void requireAtMost(mlir::AffineExpr a, mlir::AffineExpr b, const llvm::Twine &what);
  /// Requires two sizes to differ, likewise.
  void requireDifferent(mlir::AffineExpr a, mlir::AffineExpr b, const llvm::Twine &what);

  //===--- Common values --------------------------------------------------===//

  /// A scalar of element type `element`.
  mlir::Value scalar(mlir::Type element, double value);
  mlir::Value constant(mlir::DenseElementsAttr value);
  mlir::Value intVector(llvm::ArrayRef<int64_t> values);
  /// Sizes as an i64 tensor: a vector, or a scalar.
  mlir::Value sizes(llvm::ArrayRef<mlir::AffineExpr> values);
  mlir::Value sizeScalar(mlir::AffineExpr value);

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> dims);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value compare(ComparePredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims);
  /// 0, 1, 2, ... along `axis` of a tensor with these sizes.
  mlir::Value iota(llvm::ArrayRef<mlir::AffineExpr> dims, int64_t axis, mlir::Type element);
  /// `x` with dimensions of size 1 appended to its shape until it has `rank` dimensions.
  mlir::Value appendUnitDims(mlir::Value x, int64_t rank);
  /// `x` with a dimension of size 1 at `axis`.
  mlir::Value insertUnitDim(mlir::Value x, int64_t axis);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts, int64_t axis);
  /// `count` elements of `axis` from `start` on, `step` apart; the other dimensions whole.
  mlir::Value slice(mlir::Value x, int64_t axis, mlir::AffineExpr start, mlir::AffineExpr count, int64_t step = 1);
  /// Zeros before and after the elements of one axis; negative amounts remove.
  mlir::Value padAxis(mlir::Value x, int64_t axis, mlir::AffineExpr lo, mlir::AffineExpr hi);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis) {
    return emit<GatherOp>({x, indices}, i64("axis", axis));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) { return emit<SelectOp>({condition, x, y}); }
  mlir::Value matmul(mlir::Value x, mlir::Value y) { return emit<MatmulOp>({x, y}); }

  mlir::Value add(mlir::Value x, mlir::Value y) { return emit<AddOp>({x, y}); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return emit<SubOp>({x, y}); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return emit<MulOp>({x, y}); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return emit<DivOp>({x, y}); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return emit<MaxOp>({x, y}); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return emit<MinOp>({x, y}); }
  /// The same with a number of the operand's element type.
  mlir::Value like(mlir::Value x, double value) { return x ? scalar(elementOf(x), value) : mlir::Value(); }
  mlir::Value add(mlir::Value x, double y) { return add(x, like(x, y)); }
  mlir::Value sub(mlir::Value x, double y) { return sub(x, like(x, y)); }
  mlir::Value mul(mlir::Value x, double y) { return mul(x, like(x, y)); }
  mlir::Value div(mlir::Value x, double y) { return div(x, like(x, y)); }
  mlir::Value max(mlir::Value x, double y) { return max(x, like(x, y)); }
  mlir::Value min(mlir::Value x, double y) { return min(x, like(x, y)); }
  mlir::Value compare(ComparePredicate predicate, mlir::Value x, double y) { return compare(predicate, x, like(x, y)); }

private:
  mlir::Value create(llvm::StringRef name, mlir::ValueRange operands, mlir::RankedTensorType type,
                     Attributes attributes);
  mlir::Value createOptional(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                             Attributes attributes, bool countSegments);
  llvm::SmallVector<mlir::Value> createMany(llvm::StringRef name, unsigned numResults,
                                            llvm::ArrayRef<mlir::Value> operands, Attributes attributes,
                                            bool countSegments);
  /// An operation whose types are inferred, not inserted yet; null after an error.
  mlir::Operation *createInferred(llvm::StringRef name, unsigned numResults, mlir::ValueRange operands,
                                  Attributes attributes);
  void addSizeChecks(mlir::Operation *op);
  /// True after an error that says so.
  bool isTooLong(mlir::AffineExpr size);
  bool haveLongExpressions(Attributes attributes);

  bool hasFailed = false;
  /// Pairs of sizes that are checked already.
  llvm::DenseSet<std::pair<mlir::AffineExpr, mlir::AffineExpr>> checked;
};

} // namespace nx
#endif // NX_COMPILER_IMPORT_COMMON_GRAPHBUILDER_H
