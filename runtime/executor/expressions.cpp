#include "runtime/executor/expressions.h"

#include <algorithm>

namespace nxrt {

using nx::fb::ExprOp;

bool evaluateOp(ExprOp op, int64_t lhs, int64_t rhs, int64_t &result) {
  switch (op) {
  case ExprOp::Add:
    return !__builtin_add_overflow(lhs, rhs, &result);
  case ExprOp::Mul:
    return !__builtin_mul_overflow(lhs, rhs, &result);
  case ExprOp::FloorDiv:
    if (rhs <= 0)
      return false;
    result = lhs / rhs - (lhs % rhs < 0);
    return true;
  case ExprOp::CeilDiv:
    if (rhs <= 0)
      return false;
    result = lhs / rhs + (lhs % rhs > 0);
    return true;
  case ExprOp::Mod:
    if (rhs <= 0)
      return false;
    result = lhs % rhs + (lhs % rhs < 0 ? rhs : 0);
    return true;
  case ExprOp::Max:
    result = std::max(lhs, rhs);
    return true;
  case ExprOp::Min:
    result = std::min(lhs, rhs);
    return true;
  case ExprOp::Const:
  case ExprOp::Symbol:
    break;
  }
  return false;
}

Status evaluate(const Exprs *exprs, std::span<const int64_t> symbols,
                std::vector<int64_t> &values) {
  uint32_t count = exprs ? exprs->size() : 0;
  values.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const nx::fb::Expr &expr = *exprs->Get(i);
    if (expr.op() == ExprOp::Const)
      values[i] = expr.value();
    else if (expr.op() == ExprOp::Symbol)
      values[i] = symbols[static_cast<size_t>(expr.value())];
    else if (!evaluateOp(expr.op(), values[expr.lhs()], values[expr.rhs()], values[i]))
      return makeError(
          NXRT_SHAPE_MISMATCH,
          "a size that is computed from the inputs' shapes overflows or divides by zero "
          "(%s of %lld and %lld). Give inputs of smaller, non-zero sizes.",
          nx::fb::EnumNameExprOp(expr.op()), static_cast<long long>(values[expr.lhs()]),
          static_cast<long long>(values[expr.rhs()]));
  }
  return {};
}

std::vector<uint8_t> dependences(const nx::fb::Program &program) {
  std::vector<uint8_t> result;
  if (!program.exprs())
    return result;
  for (const nx::fb::Expr *expr : *program.exprs()) {
    uint8_t bits = DependsOnNothing;
    if (expr->op() == ExprOp::Symbol) {
      const auto *symbol = program.symbols()->Get(static_cast<uint32_t>(expr->value()));
      bits = symbol->source() == nx::fb::SymbolSource::Rank ? DependsOnRank : DependsOnInputs;
    } else if (expr->op() != ExprOp::Const) {
      bits = result[expr->lhs()] | result[expr->rhs()];
    }
    result.push_back(bits);
  }
  return result;
}

Status evaluateConstants(const nx::fb::Program &program, std::vector<int64_t> &values) {
  std::vector<uint8_t> depends = dependences(program);
  values.assign(depends.size(), 0);
  for (uint32_t i = 0; i < depends.size(); ++i) {
    const nx::fb::Expr &expr = *program.exprs()->Get(i);
    if (depends[i] != DependsOnNothing)
      continue;
    if (expr.op() == ExprOp::Const)
      values[i] = expr.value();
    else if (!evaluateOp(expr.op(), values[expr.lhs()], values[expr.rhs()], values[i]))
      return makeError(
          NXRT_INVALID_FILE,
          "program \"%s\": the constant size %s overflows or divides by zero. The file "
          "does not follow the format: recompile the model.",
          program.name()->c_str(), expressionText(program, i).c_str());
  }
  return {};
}

namespace {
struct Text {
  std::string text;
  bool atom; // needs no parentheses as an operand of a product
};
} // namespace

static Text render(const nx::fb::Program &program, uint32_t index, int depth) {
  const nx::fb::Expr &expr = *program.exprs()->Get(index);
  if (expr.op() == ExprOp::Const)
    return {std::to_string(expr.value()), expr.value() >= 0};
  if (expr.op() == ExprOp::Symbol)
    return {program.symbols()->Get(static_cast<uint32_t>(expr.value()))->name()->str(), true};
  // Shared operands make the text of a long chain exponential: name it by its node instead.
  if (depth == 0)
    return {"e" + std::to_string(index), true};
  Text lhs = render(program, expr.lhs(), depth - 1);
  Text rhs = render(program, expr.rhs(), depth - 1);
  auto factor = [](const Text &operand) {
    return operand.atom ? operand.text : "(" + operand.text + ")";
  };
  switch (expr.op()) {
  case ExprOp::Add:
    return {lhs.text + (rhs.text.front() == '-' ? "" : "+") + rhs.text, false};
  case ExprOp::Mul:
    return {factor(lhs) + "*" + factor(rhs), true};
  case ExprOp::FloorDiv:
    return {"floordiv(" + lhs.text + ", " + rhs.text + ")", true};
  case ExprOp::CeilDiv:
    return {"ceildiv(" + lhs.text + ", " + rhs.text + ")", true};
  case ExprOp::Mod:
    return {"mod(" + lhs.text + ", " + rhs.text + ")", true};
  case ExprOp::Max:
    return {"max(" + lhs.text + ", " + rhs.text + ")", true};
  default:
    return {"min(" + lhs.text + ", " + rhs.text + ")", true};
  }
}

std::string expressionText(const nx::fb::Program &program, uint32_t expression) {
  return render(program, expression, 6).text;
}

} // namespace nxrt
