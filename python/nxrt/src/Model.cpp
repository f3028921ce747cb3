#include "python/nxrt/src/Model.h"

namespace nb = nanobind;

namespace nxpy {
namespace {

Port toPort(const nxrt_io_info &info) {
  Port port{info.name, info.dtype, {}};
  for (uint32_t d = 0; d < info.rank; ++d) {
    if (info.dim_symbols[d])
      port.shape.emplace_back(std::string(info.dim_symbols[d]));
    else
      port.shape.emplace_back(info.dims[d]);
  }
  return port;
}

using PortQuery = nxrt_status (*)(const nxrt_model *, const char *, uint32_t, nxrt_io_info *);

std::vector<Port> ports(const nxrt_model *model, const std::string &entry, uint32_t count, PortQuery query) {
  std::vector<Port> result;
  for (uint32_t i = 0; i < count; ++i) {
    NXRT_STRUCT(nxrt_io_info, info);
    check(query(model, entry.c_str(), i, &info));
    result.push_back(toPort(info));
  }
  return result;
}

nxrt_load_options loadOptions(std::optional<uint32_t> firstCore, bool verify) {
  NXRT_STRUCT(nxrt_load_options, options);
  options.flags = verify ? NXRT_LOAD_VERIFY_WEIGHTS : 0;
  options.place = firstCore.has_value();
  options.first_core = firstCore.value_or(0);
  return options;
}

TensorSetHandle makeSet() {
  nxrt_tensor_set *set = nullptr;
  check(nxrt_tensor_set_create(&set));
  return TensorSetHandle(set);
}

} // namespace

Model::Model(nxrt_model *model) : handle(model, Deleter()) {
  NXRT_STRUCT(nxrt_model_info, info);
  check(nxrt_get_model_info(model, &info));
  for (uint32_t i = 0; i < info.entry_count; ++i) {
    NXRT_STRUCT(nxrt_entry_info, entry);
    check(nxrt_get_entry_info(model, i, &entry));
    Entry result{entry.name, {}, {}, {}};
    result.inputs = ports(model, result.name, entry.input_count, nxrt_get_input_info);
    result.outputs = ports(model, result.name, entry.output_count, nxrt_get_output_info);
    for (uint32_t s = 0; s < entry.symbol_count; ++s) {
      NXRT_STRUCT(nxrt_symbol_info, symbol);
      check(nxrt_get_symbol_info(model, entry.name, s, &symbol));
      result.symbols.push_back({symbol.name, symbol.min, symbol.max});
    }
    theEntries.push_back(std::move(result));
  }
  uint32_t stateCount = 0;
  check(nxrt_get_state_count(model, &stateCount));
  for (uint32_t i = 0; i < stateCount; ++i) {
    NXRT_STRUCT(nxrt_io_info, info);
    check(nxrt_get_state_info(model, i, &info));
    theStates.push_back(toPort(info));
  }
}

Model Model::load(const std::string &path, std::optional<uint32_t> firstCore, bool verify) {
  nxrt_load_options options = loadOptions(firstCore, verify);
  nb::gil_scoped_release release;
  nxrt_model *model = nullptr;
  check(nxrt_load(path.c_str(), &options, &model));
  return Model(model);
}

Model Model::loadBytes(nb::bytes bytes, std::optional<uint32_t> firstCore, bool verify) {
  nxrt_load_options options = loadOptions(firstCore, verify);
  const void *data = bytes.data();
  size_t size = bytes.size();
  nb::gil_scoped_release release;
  nxrt_model *model = nullptr;
  check(nxrt_load_memory(data, size, &options, &model));
  return Model(model);
}

std::shared_ptr<nxrt_model> Model::open() const {
  if (!handle)
    throw nb::value_error("the model is closed");
  return handle;
}

nb::dict Model::info() const {
  auto model = open();
  NXRT_STRUCT(nxrt_model_info, info);
  check(nxrt_get_model_info(model.get(), &info));
  nb::dict result;
  result["path"] = info.path;
  result["tp"] = info.tp_degree;
  result["first_core"] = info.first_core;
  result["producer"] = info.producer;
  result["model_name"] = info.model_name;
  result["model_hash"] = info.model_hash;
  result["target_cpu"] = info.target_cpu;
  result["format"] = nb::make_tuple(info.format_major, info.format_minor);
  result["kernels"] = info.kernel_count;
  result["params"] = info.param_count;
  result["param_bytes"] = info.param_bytes;
  result["file_bytes"] = info.file_bytes;
  result["load_seconds"] = double(info.load_ns) / 1e9;
  return result;
}

nb::list Model::run(uint32_t index, nb::sequence inputs, Framework framework,
                    std::optional<nb::sequence> outputs) const {
  auto model = open();
  const Entry &entry = theEntries.at(index);
  TensorSetHandle given = makeSet(), made = makeSet();
  // The arrays stay alive until the execution has ended.
  std::vector<Borrowed> borrowed;
  borrowed.reserve(entry.inputs.size() + entry.outputs.size());
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    const char *name = entry.inputs[i].name.c_str();
    borrowed.push_back(borrow(inputs[i], name));
    check(nxrt_tensor_set_add(given.get(), name, borrowed.back().tensor.get()));
  }
  std::vector<nb::object> places(entry.outputs.size());
  for (size_t i = 0; outputs && i < entry.outputs.size(); ++i) {
    nb::object place = (*outputs)[i];
    if (place.is_none())
      continue;
    const char *name = entry.outputs[i].name.c_str();
    borrowed.push_back(borrowWritable(place, name));
    check(nxrt_tensor_set_add(made.get(), name, borrowed.back().tensor.get()));
    places[i] = std::move(place);
  }
  {
    nb::gil_scoped_release release;
    check(nxrt_execute(model.get(), entry.name.c_str(), given.get(), made.get()));
  }
  nb::list results;
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    if (places[i].is_valid()) {
      results.append(places[i]);
      continue;
    }
    nxrt_tensor *tensor = nullptr;
    check(nxrt_tensor_set_get(made.get(), entry.outputs[i].name.c_str(), &tensor));
    results.append(toArray(tensor, framework));
  }
  return results;
}

nb::object Model::readState(const std::string &name, Framework framework) const {
  auto model = open();
  for (const Port &state : theStates) {
    if (state.name != name)
      continue;
    std::vector<int64_t> dims;
    for (const auto &size : state.shape)
      dims.push_back(std::get<int64_t>(size));
    nxrt_tensor *tensor = nullptr;
    check(nxrt_tensor_allocate(state.dtype, uint32_t(dims.size()), dims.data(), &tensor));
    TensorHandle value(tensor);
    {
      nb::gil_scoped_release release;
      check(nxrt_read_state(model.get(), name.c_str(), tensor));
    }
    return toArray(tensor, framework);
  }
  throw nb::key_error(name.c_str());
}

void Model::writeState(const std::string &name, nb::handle value) const {
  auto model = open();
  Borrowed borrowed = borrow(value, name.c_str());
  nb::gil_scoped_release release;
  check(nxrt_write_state(model.get(), name.c_str(), borrowed.tensor.get()));
}

void Model::resetStates() const {
  auto model = open();
  nb::gil_scoped_release release;
  check(nxrt_reset_states(model.get()));
}

} // namespace nxpy
