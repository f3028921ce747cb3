// Size expressions of a program: a list of nodes, evaluated front to back.
#ifndef NXRT_EXECUTOR_EXPRESSIONS_H
#define NXRT_EXECUTOR_EXPRESSIONS_H

#include "runtime/platform/status.h"
#include "runtime/schema/program_generated.h"

#include <cstdint>
#include <span>
#include <vector>

namespace nxrt {

using Exprs = flatbuffers::Vector<const nx::fb::Expr *>;

/// One binary operation. False when the result does not fit 64 bits or the divisor is not positive.
bool evaluateOp(nx::fb::ExprOp op, int64_t lhs, int64_t rhs, int64_t &result);

/// Values of all expressions (null: none) for the given symbols. `values` gets one for each.
Status evaluate(const Exprs *exprs, std::span<const int64_t> symbols, std::vector<int64_t> &values);

/// What an expression's value depends on, as a set of bits.
enum Dependence : uint8_t { DependsOnNothing = 0, DependsOnInputs = 1, DependsOnRank = 2 };
std::vector<uint8_t> dependences(const nx::fb::Program &program);

/// Values of the expressions that depend on nothing; 0 for the others. An error when one of them
/// overflows or divides by zero: then no execution could succeed.
Status evaluateConstants(const nx::fb::Program &program, std::vector<int64_t> &values);

/// The expression as text over the symbols' names: "2*seq+1".
std::string expressionText(const nx::fb::Program &program, uint32_t expression);

} // namespace nxrt

#endif // NXRT_EXECUTOR_EXPRESSIONS_H
