#include "runtime/executor/binding.h"

#include "runtime/executor/expressions.h"
#include "runtime/memory/tensor.h"

namespace nxrt {

using nx::fb::CheckKind;
using nx::fb::SymbolSource;

static uint32_t rankOf(const nx::fb::Signature &signature) {
  return signature.dims() ? signature.dims()->size() : 0;
}

uint32_t callerInputs(const nx::fb::Program &program) {
  uint32_t count = program.inputs() ? program.inputs()->size() : 0;
  return program.states() ? count - program.states()->size() : count;
}

uint32_t callerOutputs(const nx::fb::Program &program) {
  uint32_t count = program.outputs() ? program.outputs()->size() : 0;
  for (uint32_t i = 0; program.states() && i < program.states()->size(); ++i)
    count -= program.states()->Get(i)->output() >= 0;
  return count;
}

std::string signatureText(const nx::fb::Program &program, const nx::fb::Signature &signature) {
  std::string text = "[";
  for (uint32_t i = 0; i < rankOf(signature); ++i)
    text += (i ? ", " : "") + expressionText(program, signature.dims()->Get(i));
  return text + "]";
}

static Status wrongShape(const nx::fb::Program &program, uint32_t input, const nxrt_shape &given,
                         const std::string &why) {
  const nx::fb::Signature &signature = *program.inputs()->Get(input);
  return makeError(NXRT_SHAPE_MISMATCH, "input \"%s\" has the shape %s, the program wants %s: %s",
                   signature.name()->c_str(), shapeText({given.dims, given.rank}).c_str(),
                   signatureText(program, signature).c_str(), why.c_str());
}

static Status runCheck(const nx::fb::Check &check, std::span<const int64_t> values) {
  const int64_t lhs = values[check.lhs()], rhs = values[check.rhs()];
  bool holds = false;
  const char *relation = "";
  switch (check.kind()) {
  case CheckKind::Equal:
    holds = lhs == rhs;
    relation = "must equal";
    break;
  case CheckKind::LessEqual:
    holds = lhs <= rhs;
    relation = "must not exceed";
    break;
  case CheckKind::Divides:
    holds = lhs > 0 ? rhs % lhs == 0 : lhs == 0 && rhs == 0;
    relation = "must divide";
    break;
  }
  if (holds)
    return {};
  return makeError(NXRT_SHAPE_MISMATCH, "%s (%lld %s %lld). Give inputs of other sizes.",
                   check.message() ? check.message()->c_str() : "the inputs' shapes don't fit",
                   static_cast<long long>(lhs), relation, static_cast<long long>(rhs));
}

Status bindSymbols(const nx::fb::Program &program, std::span<const nxrt_shape> inputs,
                   std::vector<int64_t> &symbols) {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].rank != rankOf(*program.inputs()->Get(i)))
      return wrongShape(
          program, i, inputs[i],
          format("its rank is %u, not %u.", inputs[i].rank, rankOf(*program.inputs()->Get(i))));
  symbols.clear();
  if (program.symbols())
    for (const nx::fb::Symbol *symbol : *program.symbols()) {
      if (symbol->source() == SymbolSource::Rank) {
        symbols.push_back(0);
        continue;
      }
      const int64_t size = inputs[symbol->input()].dims[symbol->dim()] - symbol->offset();
      const int64_t value = size / symbol->factor();
      if (size < 0 || size % symbol->factor() != 0)
        return wrongShape(
            program, symbol->input(), inputs[symbol->input()],
            format("dimension %u is %lld, and no %s makes it so.", symbol->dim(),
                   static_cast<long long>(inputs[symbol->input()].dims[symbol->dim()]),
                   symbol->name()->c_str()));
      if (value < symbol->min() || value > symbol->max())
        return wrongShape(program, symbol->input(), inputs[symbol->input()],
                          format("%s is %lld and must be between %lld and %lld.",
                                 symbol->name()->c_str(), static_cast<long long>(value),
                                 static_cast<long long>(symbol->min()),
                                 static_cast<long long>(symbol->max())));
      symbols.push_back(value);
    }

  std::vector<int64_t> values;
  NXRT_TRY(evaluate(program.exprs(), symbols, values));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const nx::fb::Signature &signature = *program.inputs()->Get(i);
    for (uint32_t d = 0; d < inputs[i].rank; ++d) {
      const uint32_t expression = signature.dims()->Get(d);
      if (inputs[i].dims[d] == values[expression])
        continue;
      const nx::fb::ExprOp op = program.exprs()->Get(expression)->op();
      return wrongShape(
          program, i, inputs[i],
          op == nx::fb::ExprOp::Const
              ? format("dimension %u must be %lld.", d, static_cast<long long>(values[expression]))
              : format("dimension %u must be %lld, since %s is given by another input.", d,
                       static_cast<long long>(values[expression]),
                       expressionText(program, expression).c_str()));
    }
  }
  if (program.checks())
    for (const nx::fb::Check *check : *program.checks())
      NXRT_TRY(runCheck(*check, values));
  return {};
}

Status
signatureShapes(const flatbuffers::Vector<flatbuffers::Offset<nx::fb::Signature>> *signatures,
                std::span<const int64_t> values, std::vector<nxrt_shape> &shapes) {
  shapes.clear();
  if (!signatures)
    return {};
  for (const nx::fb::Signature *signature : *signatures) {
    nxrt_shape shape = {};
    shape.rank = rankOf(*signature);
    for (uint32_t d = 0; d < shape.rank; ++d)
      shape.dims[d] = values[signature->dims()->Get(d)];
    uint64_t bytes = 0;
    Status status =
        tensorBytes(static_cast<nxrt_dtype>(signature->dtype()), shape.rank, shape.dims, bytes);
    if (!status.ok())
      return makeError(NXRT_SHAPE_MISMATCH, "\"%s\" gets an impossible shape from these inputs: %s",
                       signature->name()->c_str(), status.message().c_str());
    shapes.push_back(shape);
  }
  return {};
}

} // namespace nxrt
