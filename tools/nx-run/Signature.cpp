#include "tools/nx-run/Signature.h"
#include "tools/common/Runtime.h"

namespace nxtool {
namespace {

Port toPort(const nxrt_io_info &info) {
  Port port = {info.name, info.dtype, {}, {}};
  for (uint32_t d = 0; d < info.rank; ++d) {
    port.dims.push_back(info.dims[d]);
    port.dimSymbols.push_back(info.dim_symbols[d] ? info.dim_symbols[d] : "");
  }
  return port;
}

} // namespace

std::string Port::typeText() const {
  std::string text = std::string(nxrt_dtype_name(dtype)) + "[";
  for (size_t d = 0; d < dims.size(); ++d)
    text += (d ? ", " : "") + (dims[d] < 0 ? dimSymbols[d] : std::to_string(dims[d]));
  return text + "]";
}

int Signature::findInput(const std::string &name) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == name)
      return static_cast<int>(i);
  return -1;
}

Signature readSignature(const nxrt_model *model, const std::string &entry) {
  NXRT_STRUCT(nxrt_model_info, modelInfo);
  check(nxrt_get_model_info(model, &modelInfo));
  std::string known;
  for (uint32_t e = 0; e < modelInfo.entry_count; ++e) {
    NXRT_STRUCT(nxrt_entry_info, info);
    check(nxrt_get_entry_info(model, e, &info));
    known += (e ? ", '" : "'") + std::string(info.name) + "'";
    if (!entry.empty() && entry != info.name)
      continue;
    Signature signature;
    signature.entry = info.name;
    for (uint32_t i = 0; i < info.input_count; ++i) {
      NXRT_STRUCT(nxrt_io_info, io);
      check(nxrt_get_input_info(model, info.name, i, &io));
      signature.inputs.push_back(toPort(io));
    }
    for (uint32_t i = 0; i < info.output_count; ++i) {
      NXRT_STRUCT(nxrt_io_info, io);
      check(nxrt_get_output_info(model, info.name, i, &io));
      signature.outputs.push_back(toPort(io));
    }
    for (uint32_t i = 0; i < info.symbol_count; ++i) {
      NXRT_STRUCT(nxrt_symbol_info, symbol);
      check(nxrt_get_symbol_info(model, info.name, i, &symbol));
      signature.sizes.push_back({symbol.name, symbol.input, symbol.dim, symbol.min, symbol.max});
    }
    return signature;
  }
  throw Refusal("the model has no entry point '" + entry + "'; it has " + known);
}

} // namespace nxtool
