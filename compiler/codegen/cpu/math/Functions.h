// The elementary functions as formulas. Arguments and results have one type, f32 or f64.
#ifndef NX_CODEGEN_MATH_FUNCTIONS_H
#define NX_CODEGEN_MATH_FUNCTIONS_H

#include "compiler/codegen/cpu/math/FloatBuilder.h"

namespace nx::math_functions {

// In both precisions.
Num exp(Num x); // f32: results below 2^-126 become 0; f64: gradual underflow
Num exp2(Num x);
Num expm1(Num x);
Num log(Num x);
Num log1p(Num x);
Num log2(Num x);
Num log10(Num x);
Num asin(Num x);
Num acos(Num x);
Num atan(Num x);
Num rsqrt(Num x);
Num round(Num x);              // half away from zero
Num remainder(Num x, Num y); // of the quotient rounded to zero, as C's fmod; exact

// In f64. f32 goes through them (`forSingle`: only as exact as that needs).
Num sin(Num x, bool forSingle);
Num cos(Num x, bool forSingle);
Num tan(Num x, bool forSingle);
Num atan2(Num y, Num x);
Num sinh(Num x);
Num cosh(Num x);
Num tanh(Num x);
Num asinh(Num x);
Num acosh(Num x);
Num atanh(Num x);
Num erf(Num x);
Num erfSingle(Num x); // f32
Num erfc(Num x);
Num cbrt(Num x);
Num pow(Num x, Num y, bool forSingle);

} // namespace nx::math_functions

#endif // NX_CODEGEN_MATH_FUNCTIONS_H
