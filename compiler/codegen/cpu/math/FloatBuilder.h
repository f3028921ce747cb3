// Arithmetic on f32 or f64, scalar or vector, written as formulas.
#ifndef NX_CODEGEN_MATH_FLOATBUILDER_H
#define NX_CODEGEN_MATH_FLOATBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

namespace nx {

class FloatBuilder;

// A float value that the operators below work on.
struct Num {
  mlir::Value v;
  FloatBuilder *m;
};

// Makes constants and operations of one type. Comparisons give i1 of the same shape; integers are
// as wide as the floats.
class FloatBuilder {
public:
  FloatBuilder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type)
      : b(b), loc(loc), type(type), wide(mlir::getElementTypeOrSelf(type).isF64()) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Type type;
  bool wide; // f64

  using Value = mlir::Value;
  using Predicate = mlir::arith::CmpFPredicate;
  using IntPredicate = mlir::arith::CmpIPredicate;

  Num num(Value v) { return {v, this}; }
  Num operator()(double value) {
    auto element = llvm::cast<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
    return num(splat(type, b.getFloatAttr(element, value)));
  }
  Num infinity() { return (*this)(INFINITY); }
  Num nan() { return (*this)(NAN); }

  mlir::Type withElement(mlir::Type element) const {
    auto shaped = llvm::dyn_cast<mlir::ShapedType>(type);
    return shaped ? mlir::Type(shaped.clone(element)) : element;
  }
  mlir::Type intType() const { return withElement(b.getIntegerType(wide ? 64 : 32)); }
  Value integer(int64_t value) {
    return splat(intType(), b.getIntegerAttr(b.getIntegerType(wide ? 64 : 32), value));
  }

  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(b, loc, args...);
  }
  Num fma(Num x, Num y, Num z) { return num(make<mlir::math::FmaOp>(x.v, y.v, z.v)); }
  Num fma(Num x, double y, Num z) { return fma(x, (*this)(y), z); }
  Num abs(Num x) { return num(make<mlir::math::AbsFOp>(x.v)); }
  Num sqrt(Num x) { return num(make<mlir::math::SqrtOp>(x.v)); }
  Num floor(Num x) { return num(make<mlir::math::FloorOp>(x.v)); }
  Num copysign(Num x, Num sign) { return num(make<mlir::math::CopySignOp>(x.v, sign.v)); }
  // Lowest coefficient first.
  Num polynomial(Num x, llvm::ArrayRef<double> coefficients) {
    Num sum = (*this)(coefficients.back());
    for (double c : llvm::reverse(coefficients.drop_back()))
      sum = fma(sum, x, (*this)(c));
    return sum;
  }

  Value compare(Predicate p, Num x, Num y) { return make<mlir::arith::CmpFOp>(p, x.v, y.v); }
  Value less(Num x, Num y) { return compare(Predicate::OLT, x, y); }
  Value less(Num x, double y) { return less(x, (*this)(y)); }
  Value greater(Num x, double y) { return compare(Predicate::OGT, x, (*this)(y)); }
  Value equal(Num x, double y) { return compare(Predicate::OEQ, x, (*this)(y)); }
  Value equal(Num x, Num y) { return compare(Predicate::OEQ, x, y); }
  Value isNan(Num x) { return compare(Predicate::UNO, x, x); }
  Value both(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return make<mlir::arith::OrIOp>(x, y); }
  Value no(Value x) {
    return make<mlir::arith::XOrIOp>(x, splat(x.getType(), b.getBoolAttr(true)));
  }
  Num select(Value c, Num x, Num y) { return num(make<mlir::arith::SelectOp>(c, x.v, y.v)); }
  Num select(Value c, double x, Num y) { return select(c, (*this)(x), y); }
  // Kept within [lo, hi]; NaN stays.
  Num clamp(Num x, double lo, double hi) {
    return select(less(x, lo), lo, select(greater(x, hi), hi, x));
  }

  Value bits(Num x) { return make<mlir::arith::BitcastOp>(intType(), x.v); }
  Num fromBits(Value x) { return num(make<mlir::arith::BitcastOp>(type, x)); }
  Value addInt(Value x, Value y) { return make<mlir::arith::AddIOp>(x, y); }
  Value subInt(Value x, Value y) { return make<mlir::arith::SubIOp>(x, y); }
  Value andInt(Value x, Value y) { return make<mlir::arith::AndIOp>(x, y); }
  Value shiftLeft(Value x, int n) { return make<mlir::arith::ShLIOp>(x, integer(n)); }
  Value shiftRight(Value x, int n) { return make<mlir::arith::ShRUIOp>(x, integer(n)); }
  Value shiftRightSigned(Value x, int n) { return make<mlir::arith::ShRSIOp>(x, integer(n)); }
  Value compare(IntPredicate p, Value x, Value y) { return make<mlir::arith::CmpIOp>(p, x, y); }
  Value isZero(Value x) { return compare(IntPredicate::eq, x, integer(0)); }

  int mantissaBits() const { return wide ? 52 : 23; }
  int64_t exponentBias() const { return wide ? 1023 : 127; }
  // Added to a number of moderate size, it leaves the nearest integer in the lowest bits. No
  // conversion instruction, for which NaN would be undefined.
  double roundingShift() const { return wide ? 0x1.8p52 : 0x1.8p23; }
  int64_t roundingShiftBits() const { return wide ? 0x4338000000000000 : 0x4B400000; }
  // 2^n for an integer n of a normal result.
  Num powerOfTwo(Value n) {
    return fromBits(shiftLeft(addInt(n, integer(exponentBias())), mantissaBits()));
  }
  Num toFloat(Value n);
  Value splat(mlir::Type type, mlir::TypedAttr value) {
    if (auto shaped = llvm::dyn_cast<mlir::ShapedType>(type))
      return make<mlir::arith::ConstantOp>(
          mlir::DenseElementsAttr::get(shaped, mlir::Attribute(value)));
    return make<mlir::arith::ConstantOp>(value);
  }
};

inline Num operator+(Num x, Num y) { return x.m->num(x.m->make<mlir::arith::AddFOp>(x.v, y.v)); }
inline Num operator-(Num x, Num y) { return x.m->num(x.m->make<mlir::arith::SubFOp>(x.v, y.v)); }
inline Num operator*(Num x, Num y) { return x.m->num(x.m->make<mlir::arith::MulFOp>(x.v, y.v)); }
inline Num operator/(Num x, Num y) { return x.m->num(x.m->make<mlir::arith::DivFOp>(x.v, y.v)); }
inline Num operator-(Num x) { return x.m->num(x.m->make<mlir::arith::NegFOp>(x.v)); }
inline Num operator+(Num x, double y) { return x + (*x.m)(y); }
inline Num operator-(Num x, double y) { return x - (*x.m)(y); }
inline Num operator*(Num x, double y) { return x * (*x.m)(y); }
inline Num operator/(Num x, double y) { return x / (*x.m)(y); }
inline Num operator-(double x, Num y) { return (*y.m)(x)-y; }
inline Num operator/(double x, Num y) { return (*y.m)(x) / y; }

// A small integer as a float.
inline Num FloatBuilder::toFloat(Value n) {
  return fromBits(addInt(n, integer(roundingShiftBits()))) - roundingShift();
}

} // namespace nx

#endif // NX_CODEGEN_MATH_FLOATBUILDER_H
