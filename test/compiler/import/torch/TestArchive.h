//===- TestArchive.h - Writes .pt2 archives for tests ---------------------===//
#ifndef NX_TEST_COMPILER_IMPORT_TORCH_TESTARCHIVE_H
#define NX_TEST_COMPILER_IMPORT_TORCH_TESTARCHIVE_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CRC.h"
#include <string>
#include <vector>

namespace nx::test {

/// A zip archive of stored entries.
class ArchiveWriter {
public:
  void add(llvm::StringRef name, llvm::StringRef content) {
    Entry entry{name.str(), uint32_t(bytes.size()), uint32_t(content.size()),
                llvm::crc32(llvm::arrayRefFromStringRef(content))};
    u32(0x04034b50);
    common(entry);
    bytes += name;
    bytes += content;
    entries.push_back(entry);
  }

  std::string finish() {
    size_t begin = bytes.size();
    for (const Entry &entry : entries) {
      u32(0x02014b50);
      u16(0); // made by
      common(entry);
      for (int i = 0; i < 3; ++i) // comment, disk, attributes
        u16(0);
      u32(0);
      u32(entry.offset);
      bytes += entry.name;
    }
    size_t size = bytes.size() - begin;
    u32(0x06054b50);
    u32(0);
    u16(entries.size());
    u16(entries.size());
    u32(size);
    u32(begin);
    u16(0);
    return bytes;
  }

private:
  struct Entry {
    std::string name;
    uint32_t offset, size, checksum;
  };

  void u16(uint32_t value) {
    bytes.push_back(char(value));
    bytes.push_back(char(value >> 8));
  }
  void u32(uint32_t value) {
    u16(value);
    u16(value >> 16);
  }
  /// From the version to the length of the extra field.
  void common(const Entry &entry) {
    for (uint32_t value : {0u, 0u, 0u, 0u, 0u}) // version, flags, method, time, date
      u16(value);
    u32(entry.checksum);
    u32(entry.size);
    u32(entry.size);
    u16(entry.name.size());
    u16(0);
  }

  std::string bytes;
  std::vector<Entry> entries;
};

/// y = relu(x + w) for x [s0, 4] and a buffer w [4], as torch.export writes it.
inline constexpr llvm::StringLiteral kProgram = R"json({
"graph_module": {
  "graph": {
    "inputs": [{"as_tensor": {"name": "b_w"}}, {"as_tensor": {"name": "x"}}],
    "outputs": [{"as_tensor": {"name": "relu"}}],
    "nodes": [
      {"target": "torch.ops.aten.add.Tensor", "name": "add", "metadata": {"stack_trace": "  File \"model.py\", line 7, in forward\n    return x"},
       "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                  {"name": "other", "arg": {"as_tensor": {"name": "b_w"}}, "kind": 1}],
       "outputs": [{"as_tensor": {"name": "add"}}]},
      {"target": "torch.ops.aten.relu.default", "name": "relu", "metadata": {},
       "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "add"}}, "kind": 1}],
       "outputs": [{"as_tensor": {"name": "relu"}}]}],
    "tensor_values": {
      "x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "Symbol('s0', positive=True, integer=True)"}}, {"as_int": 4}],
            "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 4}, {"as_int": 1}],
            "storage_offset": {"as_int": 0}, "layout": 7}},
    "sym_int_values": {}, "sym_bool_values": {}, "sym_float_values": {}, "custom_obj_values": {}, "is_single_tensor_return": false},
  "signature": {
    "input_specs": [{"buffer": {"arg": {"name": "b_w"}, "buffer_name": "w", "persistent": true}},
                    {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
    "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "relu"}}}}]},
  "module_call_graph": [], "metadata": {}},
"opset_version": {"aten": 10}, "range_constraints": {"s0": {"min_val": 0, "max_val": 100}},
"schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.13.0",
"guards_code": ["L['x'].size()[0] != 7"]})json";

/// The archive of a program with one weight w.
inline std::string archiveOf(llvm::StringRef program) {
  ArchiveWriter writer;
  writer.add("m/archive_format", "pt2");
  writer.add("m/archive_version", "0");
  writer.add("m/byteorder", "little");
  writer.add("m/data/weights/weight_0", llvm::StringRef("\0\0\200?\0\0\0@\0\0@@\0\0\200@", 16));
  writer.add("m/data/weights/model_weights_config.json", R"({"config": {"w": {"path_name": "weight_0", "is_param": false,
"use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 4}], "requires_grad": false,
"device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}}})");
  writer.add("m/models/model.json", program);
  return writer.finish();
}

} // namespace nx::test
#endif // NX_TEST_COMPILER_IMPORT_TORCH_TESTARCHIVE_H
