//===- ScalarBuilder.cpp - Arithmetic on single elements ------------------===//

#include "compiler/lowering/ScalarBuilder.h"

using namespace mlir;
using namespace nx;

Type nx::computeType(Type element) {
  return element.isF16() || element.isBF16() ? Type(Float32Type::get(element.getContext()))
                                             : element;
}

Value ScalarBuilder::widen(Value x) {
  Type type = computeType(x.getType());
  return type == x.getType() ? x : arith::ExtFOp::create(*this, type, x).getResult();
}

Value ScalarBuilder::narrow(Value x, Type element) {
  return x.getType() == element || !isa<FloatType>(element)
             ? x
             : arith::TruncFOp::create(*this, element, x).getResult();
}

Value ScalarBuilder::scalar(Type type, double value) {
  TypedAttr attr = isa<FloatType>(type) ? TypedAttr(getFloatAttr(type, value))
                                        : TypedAttr(getIntegerAttr(type, int64_t(value)));
  return arith::ConstantOp::create(*this, attr);
}

Value ScalarBuilder::add(Value x, Value y) {
  return isa<FloatType>(x.getType()) ? createOrFold<arith::AddFOp>(x, y)
                                     : createOrFold<arith::AddIOp>(x, y);
}

Value ScalarBuilder::sub(Value x, Value y) {
  return isa<FloatType>(x.getType()) ? createOrFold<arith::SubFOp>(x, y)
                                     : createOrFold<arith::SubIOp>(x, y);
}

Value ScalarBuilder::mul(Value x, Value y) {
  return isa<FloatType>(x.getType()) ? createOrFold<arith::MulFOp>(x, y)
                                     : createOrFold<arith::MulIOp>(x, y);
}

Value ScalarBuilder::div(Value x, Value y, bool isUnsigned) {
  if (isa<FloatType>(x.getType()))
    return createOrFold<arith::DivFOp>(x, y);
  return isUnsigned ? createOrFold<arith::DivUIOp>(x, y) : createOrFold<arith::DivSIOp>(x, y);
}

Value ScalarBuilder::combine(ReduceKind kind, bool isUnsigned, Value x, Value y) {
  bool isFloat = isa<FloatType>(x.getType());
  switch (kind) {
  case ReduceKind::sum:
  case ReduceKind::mean:
    return isFloat ? arith::AddFOp::create(*this, x, y).getResult()
                   : arith::AddIOp::create(*this, x, y).getResult();
  case ReduceKind::prod:
    return isFloat ? arith::MulFOp::create(*this, x, y).getResult()
                   : arith::MulIOp::create(*this, x, y).getResult();
  case ReduceKind::max:
    if (isFloat)
      return arith::MaximumFOp::create(*this, x, y);
    return isUnsigned ? arith::MaxUIOp::create(*this, x, y).getResult()
                      : arith::MaxSIOp::create(*this, x, y).getResult();
  case ReduceKind::min:
    if (isFloat)
      return arith::MinimumFOp::create(*this, x, y);
    return isUnsigned ? arith::MinUIOp::create(*this, x, y).getResult()
                      : arith::MinSIOp::create(*this, x, y).getResult();
  }
  llvm_unreachable("all kinds are handled");
}

TypedAttr ScalarBuilder::neutral(ReduceKind kind, bool isUnsigned, Type element) {
  bool isMax = kind == ReduceKind::max, isMin = kind == ReduceKind::min;
  if (auto type = dyn_cast<FloatType>(element)) {
    if (isMax || isMin)
      return FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/isMax));
    return getFloatAttr(type, kind == ReduceKind::prod ? 1.0 : 0.0);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  APInt value(width, kind == ReduceKind::prod);
  if (isMax)
    value = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
  else if (isMin)
    value = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  return getIntegerAttr(element, value);
}

Value ScalarBuilder::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return createOrFold<arith::CmpIOp>(predicate, x, y);
}

Value ScalarBuilder::select(Value condition, Value x, Value y) {
  return createOrFold<arith::SelectOp>(condition, x, y);
}
