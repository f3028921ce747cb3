#include "tools/nx-inspect/Print.h"

#include "tools/common/TextTable.h"

#include <map>

namespace nxtool {
namespace {

using nlohmann::ordered_json;
using Align = TextTable::Align;

/// A size is a number or an expression's text.
std::string plain(const ordered_json &value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string join(const ordered_json &list, const char *separator) {
  std::string text;
  for (const auto &item : list)
    text += (text.empty() ? "" : separator) + plain(item);
  return text;
}

std::string typeText(const ordered_json &port) {
  return plain(port["dtype"]) + "[" + join(port["shape"], ", ") + "]";
}

void summary(const ordered_json &d, std::string &out) {
  out += plain(d["file"]) + ": executable, format " + plain(d["format"]) + ", " +
         sizeText(d["file_bytes"]) + ", made by " + plain(d["producer"]) + "\n";
  out += "model: " + plain(d["model"]["name"]) + " (hash " + plain(d["model"]["hash"]) + ")\n";
  for (const auto &option : d["options"])
    out += "option: " + plain(option["key"]) + " = " + plain(option["value"]) + "\n";
  out += "tensor-parallel degree: " + d["tp_degree"].dump() + "\n";
  if (!d["required_features"].empty())
    out += "requires: " + join(d["required_features"], ", ") + "\n";
  out += "code:\n";
  for (const auto &code : d["code"])
    out += "  " + plain(code["cpu"]) + " (" + plain(code["arch"]) + "), " + sizeText(code["bytes"]) +
           ", kernel ABI " + code["abi_version"].dump() + ", needs " +
           (code["features"].empty() ? "no special instructions" : join(code["features"], " ")) + "\n";
}

void entryPoint(const ordered_json &entry, std::string &out) {
  out += "entry point '" + plain(entry["name"]) + "':\n";
  for (const char *kind : {"inputs", "outputs"})
    for (const auto &port : entry[kind])
      out += std::string(kind == std::string("inputs") ? "  input   " : "  output  ") +
             plain(port["name"]) + ": " + typeText(port) + "\n";
  for (const auto &symbol : entry["symbols"]) {
    if (symbol["source"] != "input") {
      out += "  size    " + plain(symbol["name"]) + ": the executing rank\n";
      continue;
    }
    out += "  size    " + plain(symbol["name"]) + ": dimension " + symbol["dim"].dump() +
           " of input '" + plain(symbol["input"]) + "', from " + symbol["min"].dump() +
           (symbol.contains("max") ? " to " + symbol["max"].dump() : " up") + "\n";
  }
  for (const auto &check : entry["checks"])
    out += "  check   " + plain(check["lhs"]) + " " + plain(check["relation"]) + " " +
           plain(check["rhs"]) + ": " + plain(check["message"]) + "\n";
  const ordered_json &memory = entry["memory"];
  out += "  memory  " + memory["temporaries"].dump() + " temporaries, ";
  if (memory.contains("arena_bytes"))
    out += sizeText(memory["arena_bytes"]) + " arena for each rank (" +
           sizeText(memory["temporary_bytes"]) + " without reuse)\n";
  else
    out += "arena planned at run time for each set of sizes\n";

  std::map<std::string, int> kinds;
  for (const auto &command : entry["commands"])
    ++kinds[command["kind"]];
  out += "  program " + std::to_string(entry["commands"].size()) + " commands";
  const char *separator = ": ";
  for (const auto &[kind, count] : kinds) {
    out += separator + std::to_string(count) + " " + kind;
    separator = ", ";
  }
  out += "\n";
}

void weightSummary(const ordered_json &d, std::string &out) {
  // Bytes that one rank maps, and how many of its parameters are its own part of a split one.
  uint64_t split = 0;
  std::vector<uint64_t> rankBytes(d["tp_degree"].get<size_t>(), 0);
  for (const auto &param : d["params"]) {
    split += param["partition"].get<std::string>().starts_with("split");
    for (size_t rank = 0; rank < param["parts"].size() && rank < rankBytes.size(); ++rank)
      rankBytes[rank] += param["parts"][rank]["bytes"].get<uint64_t>();
  }
  uint64_t stored = 0;
  for (const auto &segment : d["segments"])
    if (segment["name"].get<std::string>().starts_with("weights"))
      stored += segment["bytes"].get<uint64_t>();
  out += "weights: " + std::to_string(d["params"].size()) + " parameters";
  if (rankBytes.size() > 1)
    out += " (" + std::to_string(split) + " split)";
  out += ", " + sizeText(stored) + " stored";
  for (size_t rank = 0; rankBytes.size() > 1 && rank < rankBytes.size(); ++rank)
    out += ", rank " + std::to_string(rank) + " " + sizeText(rankBytes[rank]);
  out += "\n";
}

void weightList(const ordered_json &d, std::string &out) {
  TextTable table({{"parameter"}, {"type"}, {"layout"}, {"partition"}, {"bytes/rank", Align::Right}});
  for (const auto &param : d["params"])
    table.row({plain(param["name"]), typeText(param), plain(param["layout"]),
               plain(param["partition"]),
               param["parts"].empty() ? "" : param["parts"][0]["bytes"].dump()});
  out += table.text(2);
}

void commandList(const ordered_json &entry, std::string &out) {
  TextTable table({{"#", Align::Right}, {"command"}, {"operands"}, {"sizes"}, {"sources"}});
  for (const auto &command : entry["commands"]) {
    std::string name = plain(command["kind"]);
    if (command.contains("kernel"))
      name = plain(command["kernel"]);
    if (command.contains("reduce"))
      name += " " + plain(command["reduce"]) + " " + plain(command["dtype"]);
    table.row({command["command"].dump(), name, join(command["operands"], ", "),
               command.contains("dims") ? join(command["dims"], ", ") : "",
               join(command["sources"], "; ")});
  }
  out += table.text(2);
}

void bufferList(const ordered_json &entry, std::string &out) {
  TextTable table({{"buffer", Align::Right}, {"kind"}, {"bytes", Align::Right}, {"live"}, {"place"}});
  for (const auto &buffer : entry["buffers"]) {
    std::string live, place;
    if (buffer.contains("live"))
      live = buffer["live"][0].dump() + ".." + buffer["live"][1].dump();
    if (buffer.contains("arena_offset"))
      place = "arena + " + buffer["arena_offset"].dump();
    else if (buffer.contains("of"))
      place = plain(buffer["of"]) + " + " + plain(buffer["offset"]);
    else if (buffer.contains("name"))
      place = plain(buffer["name"]);
    table.row({"%" + buffer["buffer"].dump(), plain(buffer["kind"]), plain(buffer["bytes"]), live,
               place});
  }
  out += table.text(2);
}

void kernelList(const ordered_json &d, std::string &out) {
  TextTable table({{"kernel"}, {"family"}, {"operands", Align::Right}, {"sizes", Align::Right}});
  for (const auto &kernel : d["kernels"])
    table.row({plain(kernel["name"]), plain(kernel["family"]), kernel["operands"].dump(),
               kernel["dim_slots"].dump()});
  out += table.text(2);
}

} // namespace

std::string printDescription(const ordered_json &d, const Sections &sections) {
  std::string out;
  summary(d, out);
  weightSummary(d, out);
  if (sections.weights)
    weightList(d, out);
  out += "kernels: " + std::to_string(d["kernels"].size()) + "\n";
  if (sections.kernels)
    kernelList(d, out);
  if (!d["states"].empty())
    out += "states: " + std::to_string(d["states"].size()) + "\n";
  for (const auto &state : d["states"])
    out += "  " + plain(state["name"]) + ": " + typeText(state) + ", at first " +
           (state.contains("initial") ? "parameter " + plain(state["initial"]) : "zeros") + "\n";
  out += "plan: " + std::to_string(d["plan"].size()) + " entries\n";
  if (sections.plan)
    for (const auto &entry : d["plan"])
      out += "  " + plain(entry["key"]) + ": " + plain(entry["value"]) + "\n";
  for (const auto &entry : d["entries"]) {
    entryPoint(entry, out);
    if (sections.buffers)
      bufferList(entry, out);
    if (sections.commands)
      commandList(entry, out);
  }
  return out;
}

} // namespace nxtool
