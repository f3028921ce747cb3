#include "tools/nx-inspect/Describe.h"

#include "runtime/executor/binding.h"
#include "runtime/executor/expressions.h"
#include "tools/common/TextTable.h"

namespace nxtool {
namespace {

using nlohmann::ordered_json;
namespace fb = nx::fb;

std::string text(const flatbuffers::String *string) { return string ? string->str() : ""; }

/// The elements of a table's vector; none when it is absent.
template <typename Vector> size_t sizeOf(const Vector *vector) { return vector ? vector->size() : 0; }

ordered_json keyValues(const flatbuffers::Vector<flatbuffers::Offset<fb::KeyValue>> *pairs) {
  ordered_json json = ordered_json::array();
  for (size_t i = 0; i < sizeOf(pairs); ++i)
    json.push_back({{"key", text(pairs->Get(i)->key())}, {"value", text(pairs->Get(i)->value())}});
  return json;
}

/// A size: a number when it is constant, else its expression over the symbols.
ordered_json sizeJson(const fb::Program &program, uint32_t expression) {
  const fb::Expr *expr = program.exprs()->Get(expression);
  if (expr->op() == fb::ExprOp::Const)
    return expr->value();
  return nxrt::expressionText(program, expression);
}

ordered_json signature(const fb::Program &program,
                       const flatbuffers::Vector<flatbuffers::Offset<fb::Signature>> *list,
                       uint32_t count) {
  ordered_json json = ordered_json::array();
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Signature &port = *list->Get(i);
    ordered_json shape = ordered_json::array();
    for (size_t d = 0; d < sizeOf(port.dims()); ++d)
      shape.push_back(sizeJson(program, port.dims()->Get(d)));
    json.push_back({{"name", text(port.name())},
                    {"dtype", nxrt_dtype_name(static_cast<nxrt_dtype>(port.dtype()))},
                    {"shape", shape}});
  }
  return json;
}

ordered_json symbols(const fb::Program &program) {
  ordered_json json = ordered_json::array();
  for (size_t i = 0; i < sizeOf(program.symbols()); ++i) {
    const fb::Symbol &symbol = *program.symbols()->Get(i);
    ordered_json entry = {{"name", text(symbol.name())}};
    if (symbol.source() == fb::SymbolSource::Rank) {
      entry["source"] = "rank";
    } else {
      entry["source"] = "input";
      entry["input"] = text(program.inputs()->Get(symbol.input())->name());
      entry["dim"] = symbol.dim();
      if (symbol.factor() != 1)
        entry["factor"] = symbol.factor();
      if (symbol.offset() != 0)
        entry["offset"] = symbol.offset();
      entry["min"] = symbol.min();
      if (symbol.max() != INT64_MAX)
        entry["max"] = symbol.max();
    }
    json.push_back(std::move(entry));
  }
  return json;
}

ordered_json checks(const fb::Program &program) {
  ordered_json json = ordered_json::array();
  for (size_t i = 0; i < sizeOf(program.checks()); ++i) {
    const fb::Check &check = *program.checks()->Get(i);
    const char *relation = check.kind() == fb::CheckKind::Equal       ? "=="
                           : check.kind() == fb::CheckKind::LessEqual ? "<="
                                                                      : "divides";
    json.push_back({{"lhs", sizeJson(program, check.lhs())},
                    {"relation", relation},
                    {"rhs", sizeJson(program, check.rhs())},
                    {"message", text(check.message())}});
  }
  return json;
}

/// What people call a buffer: the input's, output's or parameter's name, or "%12".
std::string bufferName(const fb::Executable &executable, const fb::Program &program,
                       uint32_t index) {
  const fb::Buffer &buffer = *program.buffers()->Get(index);
  switch (buffer.kind()) {
  case fb::BufferKind::Input:
    return "input '" + text(program.inputs()->Get(buffer.index())->name()) + "'";
  case fb::BufferKind::Output:
    return "output '" + text(program.outputs()->Get(buffer.index())->name()) + "'";
  case fb::BufferKind::Param:
    return "param '" + text(executable.params()->Get(buffer.index())->name()) + "'";
  case fb::BufferKind::Temp:
  case fb::BufferKind::View:
    break;
  }
  return "%" + std::to_string(index);
}

ordered_json buffers(const fb::Executable &executable, const fb::Program &program) {
  ordered_json json = ordered_json::array();
  for (uint32_t i = 0; i < sizeOf(program.buffers()); ++i) {
    const fb::Buffer &buffer = *program.buffers()->Get(i);
    ordered_json entry = {{"buffer", i}, {"kind", fb::EnumNameBufferKind(buffer.kind())}};
    entry["bytes"] = sizeJson(program, buffer.bytes());
    switch (buffer.kind()) {
    case fb::BufferKind::Temp:
      entry["live"] = {buffer.first(), buffer.last()};
      if (buffer.arena_offset() >= 0)
        entry["arena_offset"] = buffer.arena_offset();
      break;
    case fb::BufferKind::View:
      entry["of"] = bufferName(executable, program, buffer.index());
      entry["offset"] = sizeJson(program, buffer.offset());
      break;
    default:
      entry["name"] = bufferName(executable, program, i);
    }
    json.push_back(std::move(entry));
  }
  return json;
}

const char *collectiveName(fb::CollectiveKind kind) {
  switch (kind) {
  case fb::CollectiveKind::AllReduce: return "all_reduce";
  case fb::CollectiveKind::AllGather: return "all_gather";
  case fb::CollectiveKind::ReduceScatter: return "reduce_scatter";
  case fb::CollectiveKind::AllToAll: return "all_to_all";
  case fb::CollectiveKind::Broadcast: return "broadcast";
  case fb::CollectiveKind::Permute: return "permute";
  }
  return "collective";
}

const char *reduceName(fb::ReduceKind kind) {
  switch (kind) {
  case fb::ReduceKind::Sum: return "sum";
  case fb::ReduceKind::Max: return "max";
  case fb::ReduceKind::Min: return "min";
  case fb::ReduceKind::Prod: return "prod";
  }
  return "?";
}

ordered_json command(const fb::Executable &executable, const fb::Program &program,
                     const fb::Command &command, uint32_t index) {
  auto buffer = [&](uint32_t b) { return bufferName(executable, program, b); };
  ordered_json json = {{"command", index}};
  switch (command.body_type()) {
  case fb::CommandBody::Dispatch: {
    const fb::Dispatch &dispatch = *command.body_as_Dispatch();
    json["kind"] = "dispatch";
    json["kernel"] = text(executable.kernels()->Get(dispatch.kernel())->name());
    json["operands"] = ordered_json::array();
    for (size_t i = 0; i < sizeOf(dispatch.operands()); ++i)
      json["operands"].push_back(buffer(dispatch.operands()->Get(i)));
    json["dims"] = ordered_json::array();
    for (size_t i = 0; i < sizeOf(dispatch.dims()); ++i)
      json["dims"].push_back(sizeJson(program, dispatch.dims()->Get(i)));
    break;
  }
  case fb::CommandBody::Collective: {
    const fb::Collective &collective = *command.body_as_Collective();
    json["kind"] = collectiveName(collective.kind());
    if (collective.kind() == fb::CollectiveKind::AllReduce ||
        collective.kind() == fb::CollectiveKind::ReduceScatter)
      json["reduce"] = reduceName(collective.reduce());
    json["dtype"] = nxrt_dtype_name(static_cast<nxrt_dtype>(collective.dtype()));
    json["operands"] = {buffer(collective.src()), buffer(collective.dst())};
    json["dims"] = {sizeJson(program, collective.outer()), sizeJson(program, collective.count()),
                    sizeJson(program, collective.inner())};
    if (collective.kind() == fb::CollectiveKind::Broadcast)
      json["root"] = collective.root();
    break;
  }
  case fb::CommandBody::Copy: {
    const fb::Copy &copy = *command.body_as_Copy();
    json["kind"] = "copy";
    json["operands"] = {buffer(copy.src()), buffer(copy.dst())};
    json["dims"] = {sizeJson(program, copy.bytes())};
    break;
  }
  case fb::CommandBody::Fill:
    json["kind"] = "fill";
    json["operands"] = {buffer(command.body_as_Fill()->dst())};
    break;
  case fb::CommandBody::NONE:
    break;
  }
  json["sources"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(command.locations()); ++i)
    json["sources"].push_back(text(executable.locations()->Get(command.locations()->Get(i))));
  return json;
}

ordered_json entryPoint(const fb::Executable &executable, const fb::Program &program) {
  ordered_json json = {{"name", text(program.name())},
                       {"inputs", signature(program, program.inputs(), nxrt::callerInputs(program))},
                       {"outputs", signature(program, program.outputs(), nxrt::callerOutputs(program))},
                       {"symbols", symbols(program)},
                       {"checks", checks(program)}};
  uint64_t temporaries = 0, temporaryBytes = 0;
  for (uint32_t i = 0; i < sizeOf(program.buffers()); ++i) {
    const fb::Buffer &buffer = *program.buffers()->Get(i);
    if (buffer.kind() != fb::BufferKind::Temp)
      continue;
    ++temporaries;
    const fb::Expr *bytes = program.exprs()->Get(buffer.bytes());
    if (bytes->op() == fb::ExprOp::Const)
      temporaryBytes += static_cast<uint64_t>(bytes->value());
  }
  json["memory"] = {{"temporaries", temporaries}};
  if (program.arena_bytes() >= 0) {
    json["memory"]["arena_bytes"] = program.arena_bytes();
    json["memory"]["temporary_bytes"] = temporaryBytes; // what they would take without reuse
  } else {
    json["memory"]["planned"] = "at run time";
  }
  json["buffers"] = buffers(executable, program);
  json["commands"] = ordered_json::array();
  for (uint32_t i = 0; i < sizeOf(program.commands()); ++i)
    json["commands"].push_back(command(executable, program, *program.commands()->Get(i), i));
  return json;
}

ordered_json state(const fb::Executable &executable, const fb::State &state) {
  ordered_json json = {{"name", text(state.name())},
                       {"dtype", nxrt_dtype_name(static_cast<nxrt_dtype>(state.dtype()))},
                       {"shape", ordered_json::array()}};
  for (size_t i = 0; i < sizeOf(state.dims()); ++i)
    json["shape"].push_back(state.dims()->Get(i));
  if (state.param() >= 0)
    json["initial"] = text(executable.params()->Get(static_cast<uint32_t>(state.param()))->name());
  return json;
}

ordered_json parameter(const fb::Param &param) {
  ordered_json json = {{"name", text(param.name())},
                       {"dtype", nxrt_dtype_name(static_cast<nxrt_dtype>(param.dtype()))},
                       {"shape", ordered_json::array()},
                       {"layout", text(param.layout())},
                       {"partition", text(param.partition())},
                       {"parts", ordered_json::array()}};
  for (size_t i = 0; i < sizeOf(param.dims()); ++i)
    json["shape"].push_back(param.dims()->Get(i));
  for (size_t i = 0; i < sizeOf(param.parts()); ++i) {
    const fb::ParamPart &part = *param.parts()->Get(i);
    json["parts"].push_back(
        {{"segment", part.segment()}, {"offset", part.offset()}, {"bytes", part.bytes()}});
  }
  return json;
}

} // namespace

ordered_json describe(const nxrt::ExecutableFile &file) {
  const fb::Executable &executable = file.root();
  ordered_json json;
  json["file"] = file.path();
  json["file_bytes"] = file.size();
  json["format"] = format("%u.%u", file.header().major, file.header().minor);
  json["producer"] = text(executable.producer());
  json["options"] = keyValues(executable.options());
  json["model"] = {{"name", text(executable.model_name())}, {"hash", text(executable.model_hash())}};
  json["tp_degree"] = executable.tp_degree();
  json["required_features"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.required_features()); ++i)
    json["required_features"].push_back(text(executable.required_features()->Get(i)));

  json["segments"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.segments()); ++i) {
    const fb::Segment &segment = *executable.segments()->Get(i);
    json["segments"].push_back(
        {{"name", text(segment.name())},
         {"offset", segment.offset()},
         {"bytes", segment.size()},
         {"checksum", format("%016llx", static_cast<unsigned long long>(segment.checksum()))}});
  }
  json["code"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.code()); ++i) {
    const fb::CodeObject &code = *executable.code()->Get(i);
    ordered_json features = ordered_json::array();
    for (size_t f = 0; f < sizeOf(code.features()); ++f)
      features.push_back(text(code.features()->Get(f)));
    json["code"].push_back({{"arch", fb::EnumNameArch(code.arch())},
                            {"cpu", text(code.cpu())},
                            {"features", features},
                            {"abi_version", code.abi_version()},
                            {"bytes", executable.segments()->Get(code.segment())->size()},
                            {"priority", code.priority()}});
  }
  json["kernels"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.kernels()); ++i) {
    const fb::Kernel &kernel = *executable.kernels()->Get(i);
    json["kernels"].push_back({{"name", text(kernel.name())},
                               {"family", text(kernel.family())},
                               {"operands", kernel.operands()},
                               {"dim_slots", kernel.dim_slots()}});
  }
  json["params"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.params()); ++i)
    json["params"].push_back(parameter(*executable.params()->Get(i)));
  json["states"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.states()); ++i)
    json["states"].push_back(state(executable, *executable.states()->Get(i)));
  json["plan"] = keyValues(executable.plan());
  json["entries"] = ordered_json::array();
  for (size_t i = 0; i < sizeOf(executable.programs()); ++i)
    json["entries"].push_back(entryPoint(executable, *executable.programs()->Get(i)));
  return json;
}

} // namespace nxtool
