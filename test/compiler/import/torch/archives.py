"""Writes .pt2 archives, right and wrong ones, without torch.

usage: archives.py FOLDER
"""
import copy
import json
import pathlib
import struct
import sys
import zipfile
import zlib

FLOAT = 7


def meta(sizes, strides=None, offset=0, dtype=FLOAT, layout=7):
    if strides is None:
        strides = [1] * len(sizes)
        for axis in range(len(sizes) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * max(sizes[axis + 1], 1)
    return {"dtype": dtype, "sizes": [{"as_int": n} for n in sizes], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [{"as_int": n} for n in strides],
            "storage_offset": {"as_int": offset}, "layout": layout}


def tensor(name):
    return {"as_tensor": {"name": name}}


def program(weight):
    """y = x + w"""
    shape = [size["as_int"] for size in weight["sizes"]]
    return {
        "graph_module": {
            "graph": {
                "inputs": [tensor("b_w"), tensor("x")], "outputs": [tensor("add")],
                "nodes": [{"target": "torch.ops.aten.add.Tensor", "name": "add", "metadata": {},
                           "inputs": [{"name": "self", "arg": tensor("x"), "kind": 1},
                                      {"name": "other", "arg": tensor("b_w"), "kind": 1}],
                           "outputs": [tensor("add")]}],
                "tensor_values": {"x": meta(shape), "b_w": weight}, "sym_int_values": {}, "sym_bool_values": {}},
            "signature": {"input_specs": [{"buffer": {"arg": {"name": "b_w"}, "buffer_name": "w", "persistent": True}},
                                          {"user_input": {"arg": tensor("x")}}],
                          "output_specs": [{"user_output": {"arg": tensor("add")}}]},
            "module_call_graph": []},
        "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
        "guards_code": []}


def entries(weight=None, content=struct.pack("<6f", 1, 2, 3, 4, 5, 6), edit=None, use_pickle=False, path="weight_0"):
    weight = weight or meta([2, 3])
    model = program(weight)
    if edit:
        edit(model)
    config = {"config": {"w": {"path_name": path, "is_param": False, "use_pickle": use_pickle, "tensor_meta": weight}}}
    return {"m/archive_format": b"pt2", "m/archive_version": b"0", "m/byteorder": b"little",
            "m/data/weights/weight_0": content,
            "m/data/weights/model_weights_config.json": json.dumps(config).encode(),
            "m/models/model.json": json.dumps(model).encode()}


def write(path, files, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=compression)


class Raw:
    """An archive whose every field can be wrong."""

    def __init__(self, files):
        self.bytes, self.directory, self.offsets = bytearray(), bytearray(), {}
        for name, content in files.items():
            self.add(name, content)

    def add(self, name, content, offset=None, size=None, flags=0, local=None, extra=b"", checksum=None):
        at = len(self.bytes) if offset is None else offset
        checksum = zlib.crc32(content) if checksum is None else checksum
        size = len(content) if size is None else size
        title, inside = name.encode(), (name if local is None else local).encode()
        if offset is None:
            self.offsets[name] = at
            self.bytes += struct.pack("<IHHHHHIIIHH", 0x04034B50, 0, flags, 0, 0, 0, checksum, len(content), len(content),
                                      len(inside), 0) + inside + content
        self.directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 0, 0, flags, 0, 0, 0, checksum, size, size, len(title),
                                      len(extra), 0, 0, 0, 0, at) + title + extra
        self.count = getattr(self, "count", 0) + 1

    def finish(self, count=None, zip64=False):
        count = self.count if count is None else count
        begin, size = len(self.bytes), len(self.directory)
        data = bytes(self.bytes + self.directory)
        if zip64:
            end = len(data)
            data += struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, begin)
            data += struct.pack("<IIQI", 0x07064B50, 0, end, 1)
            count, size, begin = 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF
        return data + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, size, begin, 0)


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    right = entries()
    write(folder / "right.pt2", right)
    (folder / "zip64.pt2").write_bytes(Raw(right).finish(zip64=True))
    comment = bytearray((folder / "right.pt2").read_bytes() + b"a comment")
    comment[-11:-9] = struct.pack("<H", 9)
    (folder / "comment.pt2").write_bytes(comment)

    # Places of weights.
    six = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    write(folder / "transposed.pt2", entries(meta([2, 3], [1, 2]), six))
    write(folder / "offset.pt2", entries(meta([2, 2], [3, 1], offset=1), six))
    write(folder / "repeated.pt2", entries(meta([4, 2], [0, 1], offset=2), six))
    write(folder / "outside.pt2", entries(meta([2, 3], offset=1), six))
    write(folder / "negative.pt2", entries(meta([2, 3], [-3, 1], offset=3), six))
    write(folder / "bomb.pt2", entries(meta([1 << 20, 1 << 20], [0, 0]), six))
    write(folder / "overlap_tensor.pt2", entries(meta([4, 3], [1, 1]), six))
    write(folder / "sparse.pt2", entries(meta([2, 3], layout=1), six))
    write(folder / "complex.pt2", entries(meta([1, 3], dtype=10), six))

    # The container.
    write(folder / "compressed.pt2", right, zipfile.ZIP_DEFLATED)
    (folder / "cut.pt2").write_bytes((folder / "right.pt2").read_bytes()[:-30])
    for name, title in {"parent": "m/../../etc/passwd", "absolute": "/etc/passwd", "backslash": "m\\evil"}.items():
        write(folder / f"{name}.pt2", {**right, title: b"x"})
    twice = Raw(right)
    twice.add("m/byteorder", b"little")
    (folder / "twice.pt2").write_bytes(twice.finish())
    overlap = Raw(right)
    overlap.add("m/byteordes", b"little", offset=overlap.offsets["m/byteorder"], local="m/byteorder")
    (folder / "renamed.pt2").write_bytes(overlap.finish())
    overlap = Raw(right)
    overlap.add("m/inner", right["m/data/weights/weight_0"], offset=overlap.offsets["m/byteorder"])
    (folder / "other_header.pt2").write_bytes(overlap.finish())
    nested = Raw({})
    inner = Raw({"m/inner": b"content"}).bytes
    nested.add("m/outer", bytes(inner))
    nested.add("m/inner", b"content", offset=nested.offsets["m/outer"] + 30 + len("m/outer"))
    (folder / "overlap.pt2").write_bytes(nested.finish())
    beyond = Raw(right)
    beyond.add("m/beyond", b"content", size=1 << 30)
    (folder / "beyond.pt2").write_bytes(beyond.finish())
    encrypted = Raw(right)
    encrypted.add("m/secret", b"content", flags=1)
    (folder / "encrypted.pt2").write_bytes(encrypted.finish())
    (folder / "many.pt2").write_bytes(Raw(right).finish(count=60000))
    damaged = bytearray((folder / "right.pt2").read_bytes())
    damaged[damaged.find(six)] ^= 1
    (folder / "damaged.pt2").write_bytes(damaged)

    # The archive.
    write(folder / "other_version.pt2", {**right, "m/archive_version": b"1"})
    write(folder / "big_endian.pt2", {**right, "m/byteorder": b"big"})
    write(folder / "no_format.pt2", {name: content for name, content in right.items() if "format" not in name})
    write(folder / "old.pt2", {"serialized_exported_program.json": b"{}", "version": b"5"})
    write(folder / "pickled_model.pt2", {"m/data.pkl": b"x", "m/version": b"3"})
    write(folder / "two_models.pt2", {**right, "m/models/other.json": right["m/models/model.json"]})
    write(folder / "no_weight.pt2", {name: content for name, content in right.items() if "weight_0" not in name})
    write(folder / "no_entry.pt2", {name: content for name, content in right.items() if "config" not in name})
    write(folder / "pickled.pt2", entries(use_pickle=True))
    write(folder / "escape.pt2", entries(path="../../../../etc/passwd"))

    # The program.
    def schema(model):
        model["schema_version"]["major"] = 9
    write(folder / "schema.pt2", entries(edit=schema))
    write(folder / "not_json.pt2", {**right, "m/models/model.json": b"{"})

    def missing(model):
        del model["graph_module"]["graph"]["nodes"][0]["inputs"][1]
    write(folder / "missing_argument.pt2", entries(edit=missing))

    def unknown(model):
        model["graph_module"]["graph"]["nodes"][0]["inputs"][1]["arg"] = tensor("nowhere")
    write(folder / "unknown_value.pt2", entries(edit=unknown))

    def kind(model):
        model["graph_module"]["graph"]["nodes"][0]["inputs"][1]["arg"] = {"as_int": "three"}
    write(folder / "kind.pt2", entries(edit=kind))

    def signature(model):
        model["graph_module"]["signature"]["output_specs"] = []
    write(folder / "signature.pt2", entries(edit=signature))

    def twice_computed(model):
        nodes = model["graph_module"]["graph"]["nodes"]
        nodes.append(copy.deepcopy(nodes[0]))
    write(folder / "computed_twice.pt2", entries(edit=twice_computed))

    def wrong_type(model):
        model["graph_module"]["graph"]["tensor_values"]["add"] = meta([2, 3], dtype=5)
    write(folder / "wrong_type.pt2", entries(edit=wrong_type))


main(pathlib.Path(sys.argv[1]))
