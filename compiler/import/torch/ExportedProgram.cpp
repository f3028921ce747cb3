//===- ExportedProgram.cpp - The schema's JSON into C++ -------------------===//

#include "compiler/import/torch/ExportedProgram.h"
#include "llvm/ADT/Twine.h"
#include <limits>
#include <nlohmann/json.hpp>

using namespace nx::torch;
using json = nlohmann::json;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {

/// Typed access to JSON. The first thing that is wrong is kept; what follows reads as empty.
class Reader {
public:
  /// Where the reader is, for messages: "node 'add_1'".
  std::string where;

  void fail(const Twine &what) {
    if (message.empty())
      message = ((where.empty() ? Twine("") : Twine(where) + ": ") + what).str();
  }
  bool failed() const { return !message.empty(); }
  Error takeError() const { return createStringError(message); }

  /// A member that must be there.
  const json &get(const json &object, const char *key) {
    if (const json *member = find(object, key))
      return *member;
    fail(Twine("'") + key + "' is missing");
    return nothing;
  }
  /// A member, or null when it is absent or null.
  const json *find(const json &object, const char *key) {
    if (!object.is_object()) {
      fail(Twine("an object with '") + key + "' is expected");
      return nullptr;
    }
    auto it = object.find(key);
    return it == object.end() || it->is_null() ? nullptr : &*it;
  }
  int64_t integer(const json &value) {
    if (value.is_number_integer() &&
        (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t(std::numeric_limits<int64_t>::max())))
      return value.get<int64_t>();
    fail("an integer of 64 bits is expected");
    return 0;
  }
  bool boolean(const json &value) {
    if (value.is_boolean())
      return value.get<bool>();
    fail("true or false is expected");
    return false;
  }
  std::string string(const json &value) {
    if (value.is_string())
      return value.get<std::string>();
    fail("a string is expected");
    return "";
  }
  /// Infinities and NaN are strings, JSON has no numbers for them.
  double number(const json &value) {
    if (value.is_number())
      return value.get<double>();
    if (value.is_string()) {
      const auto &text = value.get_ref<const std::string &>();
      if (text == "Infinity")
        return std::numeric_limits<double>::infinity();
      if (text == "-Infinity")
        return -std::numeric_limits<double>::infinity();
      if (text == "NaN")
        return std::numeric_limits<double>::quiet_NaN();
    }
    fail("a number is expected");
    return 0;
  }
  const json &list(const json &value) {
    if (value.is_array())
      return value;
    fail("a list is expected");
    return nothing;
  }
  const json &object(const json &value) {
    if (value.is_object())
      return value;
    fail("an object is expected");
    return nothing;
  }
  /// The only member of a union.
  std::pair<std::string, const json *> alternative(const json &value) {
    if (value.is_object() && value.size() == 1)
      return {value.begin().key(), &value.begin().value()};
    fail("a union with one member is expected");
    return {"", &nothing};
  }

private:
  std::string message;
  const json nothing = json::array();
};

class ProgramReader {
public:
  explicit ProgramReader(Reader &r) : r(r) {}

  Size size(const json &value) {
    auto [kind, body] = r.alternative(value);
    if (kind == "as_int")
      return {r.integer(*body), ""};
    if (kind == "as_expr")
      return {std::nullopt, r.string(r.get(*body, "expr_str"))};
    r.fail("size of kind '" + kind + "'");
    return {0, ""};
  }

  TensorMeta tensorMeta(const json &value) {
    TensorMeta meta;
    meta.dtype = ScalarType(r.integer(r.get(value, "dtype")));
    for (const json &entry : r.list(r.get(value, "sizes")))
      meta.sizes.push_back(size(entry));
    for (const json &entry : r.list(r.get(value, "strides")))
      meta.strides.push_back(size(entry));
    meta.offset = size(r.get(value, "storage_offset"));
    constexpr int64_t strided = 7;
    meta.isStrided = r.integer(r.get(value, "layout")) == strided;
    return meta;
  }

  Argument argument(const json &value) {
    using Kind = Argument::Kind;
    Argument arg;
    auto [kind, found] = r.alternative(value);
    const json &body = *found;
    auto named = [&](Kind as, const char *key = "name") {
      arg.kind = as;
      arg.s = r.string(r.get(body, key));
    };
    // A size or number that is either the name of a value or given.
    auto symbolic = [&](Kind as, const char *given, auto read) {
      arg.kind = as;
      auto [inner, content] = r.alternative(body);
      if (inner == "as_name")
        arg.s = r.string(*content);
      else if (inner == given)
        read(*content);
      else
        r.fail("argument of kind '" + inner + "'");
    };
    auto elements = [&](Kind as, auto read) {
      arg.kind = as;
      for (const json &entry : r.list(body)) {
        arg.list.emplace_back();
        read(entry, arg.list.back());
      }
    };
    if (kind == "as_none") {
    } else if (kind == "as_tensor") {
      named(Kind::Tensor);
    } else if (kind == "as_tensors") {
      elements(Kind::Tensors, [&](const json &e, Argument::Element &to) { to.name = r.string(r.get(e, "name")); });
    } else if (kind == "as_int") {
      arg.kind = Kind::Int;
      arg.i = r.integer(body);
    } else if (kind == "as_ints") {
      elements(Kind::Ints, [&](const json &e, Argument::Element &to) { to.i = r.integer(e); });
    } else if (kind == "as_float") {
      arg.kind = Kind::Float;
      arg.f = r.number(body);
    } else if (kind == "as_floats") {
      elements(Kind::Floats, [&](const json &e, Argument::Element &to) { to.f = r.number(e); });
    } else if (kind == "as_string") {
      arg.kind = Kind::String;
      arg.s = r.string(body);
    } else if (kind == "as_strings") {
      elements(Kind::Strings, [&](const json &e, Argument::Element &to) { to.name = r.string(e); });
    } else if (kind == "as_sym_int") {
      symbolic(Kind::SymInt, "as_int", [&](const json &e) { arg.i = r.integer(e); });
    } else if (kind == "as_sym_ints") {
      elements(Kind::SymInts, [&](const json &e, Argument::Element &to) {
        auto [inner, content] = r.alternative(e);
        if (inner == "as_name")
          to.name = r.string(*content);
        else if (inner == "as_int")
          to.i = r.integer(*content);
        else
          r.fail("size of kind '" + inner + "'");
      });
    } else if (kind == "as_sym_float") {
      symbolic(Kind::SymFloat, "as_float", [&](const json &e) { arg.f = r.number(e); });
    } else if (kind == "as_sym_bool") {
      symbolic(Kind::SymBool, "as_bool", [&](const json &e) { arg.i = r.boolean(e); });
    } else if (kind == "as_scalar_type" || kind == "as_memory_format" || kind == "as_layout") {
      arg.kind = kind == "as_scalar_type" ? Kind::ScalarType : kind == "as_layout" ? Kind::Layout : Kind::MemoryFormat;
      arg.i = r.integer(body);
    } else if (kind == "as_device") {
      named(Kind::Device, "type");
    } else if (kind == "as_bool") {
      arg.kind = Kind::Bool;
      arg.i = r.boolean(body);
    } else if (kind == "as_bools") {
      elements(Kind::Bools, [&](const json &e, Argument::Element &to) { to.i = r.boolean(e); });
    } else if (kind == "as_optional_tensors") {
      elements(Kind::OptionalTensors, [&](const json &e, Argument::Element &to) {
        auto [inner, content] = r.alternative(e);
        if (inner == "as_tensor")
          to.name = r.string(r.get(*content, "name"));
        else if (inner != "as_none")
          r.fail("optional tensor of kind '" + inner + "'");
      });
    } else if (kind == "as_optional_tensor") {
      auto [inner, content] = r.alternative(body);
      if (inner == "as_tensor") {
        arg.kind = Kind::Tensor;
        arg.s = r.string(r.get(*content, "name"));
      }
    } else if (kind == "as_graph") {
      named(Kind::Graph);
      // Graphs are nested as deep as the file likes; a reader that calls itself is not.
      if (++depth > 32)
        r.fail("graphs are nested more than 32 deep");
      if (!r.failed()) {
        std::string outside = r.where;
        arg.graph = std::make_shared<Graph>(graph(r.get(body, "graph")));
        r.where = outside;
      }
      --depth;
    } else if (kind == "as_custom_obj") {
      named(Kind::CustomObject);
    } else if (kind == "as_operator") {
      arg.kind = Kind::Operator;
      arg.s = r.string(body);
    } else {
      arg.kind = Kind::Other;
      arg.s = kind;
    }
    return arg;
  }

  std::vector<Argument> arguments(const json &values) {
    std::vector<Argument> list;
    for (const json &value : r.list(values))
      list.push_back(argument(value));
    return list;
  }

  Graph graph(const json &value) {
    Graph graph;
    graph.inputs = arguments(r.get(value, "inputs"));
    graph.outputs = arguments(r.get(value, "outputs"));
    for (const json &from : r.list(r.get(value, "nodes"))) {
      if (r.failed())
        return graph;
      Node &node = graph.nodes.emplace_back();
      node.target = r.string(r.get(from, "target"));
      if (const json *name = r.find(from, "name"))
        node.name = r.string(*name);
      r.where = "node '" + (node.name.empty() ? node.target : node.name) + "'";
      for (const json &input : r.list(r.get(from, "inputs")))
        node.inputs.push_back({r.string(r.get(input, "name")), argument(r.get(input, "arg"))});
      node.outputs = arguments(r.get(from, "outputs"));
      if (const json *metadata = r.find(from, "metadata"))
        if (const json *trace = r.find(*metadata, "stack_trace"))
          node.stackTrace = r.string(*trace);
    }
    for (auto &[name, meta] : r.object(r.get(value, "tensor_values")).items()) {
      r.where = "value '" + name + "'";
      graph.tensors[name] = tensorMeta(meta);
    }
    for (auto &[name, expr] : r.object(r.get(value, "sym_int_values")).items()) {
      r.where = "value '" + name + "'";
      graph.sizes[name] = size(expr);
    }
    r.where.clear();
    return graph;
  }

  InputSpec inputSpec(const json &value) {
    using Kind = InputSpec::Kind;
    auto [kind, found] = r.alternative(value);
    const json &body = *found;
    auto tensor = [&](Kind as, const char *key) {
      InputSpec spec{as, {}, r.string(r.get(body, key))};
      spec.arg.kind = Argument::Kind::Tensor;
      spec.arg.s = r.string(r.get(r.get(body, "arg"), "name"));
      return spec;
    };
    if (kind == "user_input")
      return {Kind::User, argument(r.get(body, "arg")), ""};
    if (kind == "parameter")
      return tensor(Kind::Parameter, "parameter_name");
    if (kind == "buffer")
      return tensor(Kind::Buffer, "buffer_name");
    if (kind == "tensor_constant")
      return tensor(Kind::Constant, "tensor_constant_name");
    if (kind == "custom_obj")
      return tensor(Kind::CustomObject, "custom_obj_name");
    if (kind == "constant_input") {
      InputSpec spec{Kind::ConstantInput, argument(r.get(body, "value")), r.string(r.get(body, "name"))};
      return spec;
    }
    if (kind == "token")
      return {Kind::Token, {}, ""};
    r.fail("input of kind '" + kind + "'");
    return {Kind::Token, {}, ""};
  }

  OutputSpec outputSpec(const json &value) {
    using Kind = OutputSpec::Kind;
    auto [kind, found] = r.alternative(value);
    const json &body = *found;
    auto tensor = [&](Kind as, const char *key) {
      OutputSpec spec{as, {}, key ? r.string(r.get(body, key)) : ""};
      spec.arg.kind = Argument::Kind::Tensor;
      spec.arg.s = r.string(r.get(r.get(body, "arg"), "name"));
      return spec;
    };
    if (kind == "user_output")
      return {Kind::User, argument(r.get(body, "arg")), ""};
    if (kind == "loss_output")
      return tensor(Kind::User, nullptr);
    if (kind == "buffer_mutation")
      return tensor(Kind::BufferMutation, "buffer_name");
    if (kind == "parameter_mutation")
      return tensor(Kind::ParameterMutation, "parameter_name");
    if (kind == "user_input_mutation")
      return tensor(Kind::InputMutation, "user_input_name");
    if (kind == "gradient_to_parameter")
      return tensor(Kind::Gradient, "parameter_name");
    if (kind == "gradient_to_user_input")
      return tensor(Kind::Gradient, "user_input_name");
    if (kind == "token")
      return {Kind::Token, {}, ""};
    r.fail("output of kind '" + kind + "'");
    return {Kind::Token, {}, ""};
  }

private:
  Reader &r;
  unsigned depth = 0;
};

//===----------------------------------------------------------------------===//
// Names of outputs
//===----------------------------------------------------------------------===//

/// Keys of a dictionary or fields of a class, as its pytree context lists them; empty when the
/// context is something else.
std::vector<std::string> keysOf(const json &spec, size_t count) {
  std::vector<std::string> keys;
  auto context = spec.find("context");
  if (context == spec.end() || !context->is_string())
    return keys;
  json list = json::parse(context->get_ref<const std::string &>(), nullptr, /*allow_exceptions=*/false);
  // A dataclass lists the fields that are there and those that are None.
  if (list.is_array() && !list.empty() && list[0].is_array())
    list = json(list[0]);
  if (!list.is_array() || list.size() != count)
    return keys;
  for (const json &key : list)
    if (key.is_string())
      keys.push_back(key.get<std::string>());
    else if (key.is_number_integer())
      keys.push_back(key.dump());
  if (keys.size() != count)
    keys.clear();
  return keys;
}

/// Appends the names of the leaves of a pytree.
void nameLeaves(const json &spec, const std::string &prefix, std::vector<std::string> &names, unsigned depth = 0) {
  if (depth > 64 || !spec.is_object())
    return;
  auto type = spec.find("type"), children = spec.find("children_spec");
  if (type == spec.end() || type->is_null() || children == spec.end() || !children->is_array()) {
    names.push_back(prefix.empty() ? "output" : prefix);
    return;
  }
  std::vector<std::string> keys = keysOf(spec, children->size());
  for (size_t i = 0; i < children->size(); ++i) {
    std::string key = keys.empty() ? std::to_string(i) : keys[i];
    // A tuple at the top has no name of its own.
    std::string start = prefix.empty() && keys.empty() ? "output" : prefix;
    nameLeaves((*children)[i], start.empty() ? key : start + "_" + key, names, depth + 1);
  }
}

std::vector<std::string> outputNames(const json &module, size_t count) {
  std::vector<std::string> names;
  auto calls = module.find("module_call_graph");
  if (calls != module.end() && calls->is_array())
    for (const json &call : *calls) {
      if (!call.is_object() || call.value("fqn", json()) != "" || !call.contains("signature") ||
          !call["signature"].is_object() || !call["signature"].contains("out_spec") ||
          !call["signature"]["out_spec"].is_string())
        continue;
      json spec = json::parse(call["signature"]["out_spec"].get_ref<const std::string &>(), nullptr,
                              /*allow_exceptions=*/false);
      if (spec.is_array() && spec.size() == 2)
        nameLeaves(spec[1], "", names);
      break;
    }
  if (names.size() != count) {
    names.clear();
    for (size_t i = 0; i < count; ++i)
      names.push_back(count == 1 ? "output" : "output_" + std::to_string(i));
  }
  // Keys that differ may still make one name.
  llvm::StringMap<unsigned> uses;
  for (std::string &name : names) {
    std::string plain = name;
    while (!uses.try_emplace(name).second)
      name = plain + "_" + std::to_string(++uses[plain]);
  }
  return names;
}

} // namespace

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Expected<ExportedProgram> nx::torch::readProgram(StringRef text) {
  json document = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return createStringError("the program is not JSON");
  Reader r;
  ProgramReader reader(r);
  // The version first: another major version may look different everywhere.
  int64_t major = r.integer(r.get(r.get(document, "schema_version"), "major"));
  if (r.failed())
    return r.takeError();
  if (major != kSchemaMajor)
    return createStringError("the program has schema version " + Twine(major) + "; nx reads version " +
                             Twine(kSchemaMajor) + ", which torch 2.7 to 2.13 write. Export the model again");
  ExportedProgram program;
  if (const json *aten = r.find(r.get(document, "opset_version"), "aten"))
    program.opset = r.integer(*aten);
  const json &module = r.get(document, "graph_module");
  program.graph = reader.graph(r.get(module, "graph"));
  const json &signature = r.get(module, "signature");
  for (const json &spec : r.list(r.get(signature, "input_specs")))
    program.inputs.push_back(reader.inputSpec(spec));
  size_t userOutputs = 0;
  for (const json &spec : r.list(r.get(signature, "output_specs"))) {
    program.outputs.push_back(reader.outputSpec(spec));
    userOutputs += program.outputs.back().kind == OutputSpec::Kind::User;
  }
  for (auto &[symbol, range] : r.object(r.get(document, "range_constraints")).items()) {
    SizeRange &to = program.ranges[symbol];
    if (const json *min = r.find(range, "min_val"))
      to.min = r.integer(*min);
    if (const json *max = r.find(range, "max_val"))
      to.max = r.integer(*max);
  }
  if (const json *guards = r.find(document, "guards_code"))
    for (const json &guard : r.list(*guards))
      program.guards.push_back(r.string(guard));
  if (r.failed())
    return r.takeError();
  program.outputNames = outputNames(module, userOutputs);
  if (program.inputs.size() != program.graph.inputs.size() || program.outputs.size() != program.graph.outputs.size())
    return createStringError("the program's signature does not fit its graph");
  return program;
}

#include "compiler/import/torch/StoredZip.h"

/// Reads the configuration of a folder of tensors.
static Error readPayloads(const StoredZip &zip, StringRef folder, StringRef config, llvm::StringMap<Payload> &payloads) {
  if (!zip.find(config))
    return Error::success();
  Expected<StringRef> text = zip.read(config);
  if (!text)
    return text.takeError();
  json document = json::parse(text->begin(), text->end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return createStringError("'" + config + "' is not JSON");
  Reader r;
  ProgramReader reader(r);
  for (auto &[name, entry] : r.object(r.get(document, "config")).items()) {
    r.where = "'" + name + "'";
    std::string file = r.string(r.get(entry, "path_name"));
    if (r.boolean(r.get(entry, "use_pickle")))
      return createStringError("'" + name + "' is stored as a pickled Python object, which nx never reads: it could run "
                               "any code. Only plain tensors can be parts of a model");
    Payload payload;
    payload.meta = reader.tensorMeta(r.get(entry, "tensor_meta"));
    if (r.failed())
      return r.takeError();
    const StoredZip::Entry *found = zip.find((folder + file).str());
    if (!found)
      return createStringError("the tensor of '" + name + "' is missing: the archive has no entry '" + folder + file + "'");
    payload.entry = found->name;
    payload.bytes = found->bytes;
    if (!payloads.try_emplace(name, payload).second)
      return createStringError("the archive has two tensors for '" + name + "'");
  }
  return r.failed() ? r.takeError() : Error::success();
}

Expected<Pt2Archive> Pt2Archive::read(StringRef file) {
  Expected<StoredZip> zip = StoredZip::open(file);
  if (!zip)
    return zip.takeError();
  // All entries lie in one folder, named after the file that was saved.
  std::string root;
  for (const StoredZip::Entry &entry : zip->entries())
    if (entry.name.ends_with("/archive_format") && entry.name.count('/') == 1)
      root = entry.name.drop_back(StringRef("archive_format").size()).str();
  if (root.empty()) {
    for (const StoredZip::Entry &entry : zip->entries()) {
      StringRef base = entry.name.rsplit('/').second.empty() ? entry.name : entry.name.rsplit('/').second;
      if (base == "serialized_exported_program.json")
        return createStringError("the file was saved by torch.export of torch 2.6 or older, with pickled weights; save "
                                 "it again with torch 2.7 to 2.13");
      if (base == "data.pkl")
        return createStringError("the file was written by torch.save or torch.jit.save, not by torch.export.save");
    }
    return createStringError("the zip archive is not one of torch.export.save: it has no archive_format");
  }
  auto expect = [&](const char *name, StringRef wanted, const Twine &why) -> Error {
    Expected<StringRef> text = zip->read(root + name);
    if (!text)
      return text.takeError();
    if (text->trim() == wanted)
      return Error::success();
    return createStringError(Twine(name) + " of the archive is '" + text->take_front(40) + "', nx reads '" + wanted + "'" + why);
  };
  if (Error error = expect("archive_format", "pt2", ""))
    return error;
  if (Error error = expect("archive_version", "0", "; export the model with torch 2.7 to 2.13"))
    return error;
  if (zip->find(root + "byteorder"))
    if (Error error = expect("byteorder", "little", ": export the model on a little-endian machine"))
      return error;

  std::vector<StringRef> models;
  std::string folder = root + "models/";
  for (const StoredZip::Entry &entry : zip->entries())
    if (entry.name.starts_with(folder) && entry.name.ends_with(".json"))
      models.push_back(entry.name.drop_front(folder.size()).drop_back(StringRef(".json").size()));
  if (models.size() != 1)
    return createStringError("the archive holds " + Twine(models.size()) + " programs, nx reads archives of one" +
                             (models.empty() ? "; save the result of torch.export.export with torch.export.save" : ""));
  Pt2Archive archive;
  Expected<StringRef> text = zip->read((folder + models[0] + ".json").str());
  if (!text)
    return text.takeError();
  Expected<ExportedProgram> program = readProgram(*text);
  if (!program)
    return program.takeError();
  archive.program = std::move(*program);
  for (auto [kind, config] : {std::pair("weights", "_weights_config.json"), {"constants", "_constants_config.json"}}) {
    std::string data = root + "data/" + kind + "/";
    if (Error error = readPayloads(*zip, data, (data + models[0] + config).str(), archive.payloads))
      return error;
  }
  // Damaged weights would go unnoticed until the results are wrong.
  for (auto &payload : archive.payloads)
    if (Expected<StringRef> bytes = zip->read(payload.second.entry); !bytes)
      return bytes.takeError();
  return archive;
}
