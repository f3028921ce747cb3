//===- OnnxModel.cpp - An ONNX file as views into its bytes ---------------===//

#include "compiler/import/onnx/OnnxModel.h"
#include "compiler/import/onnx/WireReader.h"

using namespace llvm;
using namespace nx::onnx;

std::string nx::onnx::nameOf(DataType type) {
  static constexpr StringLiteral names[] = {
      "undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
      "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1",
      "float8e8m0", "uint2", "int2"};
  auto index = uint32_t(type);
  return index < std::size(names) ? names[index].str() : "data type " + std::to_string(int32_t(type));
}

namespace {

/// Graphs nest in attributes; a file may nest them without end.
constexpr unsigned kMaxNesting = 64;

/// Reads messages, each by the field numbers of onnx.proto.
class Reader {
public:
  explicit Reader(StringRef file) : file(file) {}

  Error model(Model &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return integer(f, out.irVersion);
      case 2: return text(f, out.producer);
      case 7: return nested(f, out.graph.emplace(), &Reader::graph);
      case 8: return nested(f, out.opsets.emplace_back(), &Reader::opset);
      case 25: return nested(f, out.functions.emplace_back(), &Reader::function);
      }
      return Error::success();
    });
  }

private:
  StringRef file;
  unsigned nesting = 0;

  using OnField = function_ref<Error(const WireField &)>;
  Error message(StringRef bytes, OnField onField) {
    return readMessage(bytes, bytes.data() - file.data(), onField);
  }

  /// Assigns the field's payload to `out`.
  static Error text(const WireField &f, StringRef &out) { return f.asBytes().moveInto(out); }
  template <typename T> static Error integer(const WireField &f, T &out) {
    Expected<int64_t> value = f.asInt();
    if (value)
      out = static_cast<T>(*value);
    return value.takeError();
  }
  template <typename T>
  Error nested(const WireField &f, T &out, Error (Reader::*read)(T &, StringRef)) {
    Expected<StringRef> bytes = f.asBytes();
    return bytes ? (this->*read)(out, *bytes) : bytes.takeError();
  }

  Error opset(OpsetImport &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return text(f, out.domain);
      case 2: return integer(f, out.version);
      }
      return Error::success();
    });
  }

  Error graph(Graph &out, StringRef bytes) {
    if (++nesting > kMaxNesting)
      return createStringError("not a valid ONNX file: graphs are nested more than " +
                               Twine(kMaxNesting) + " deep");
    Error result = message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return nested(f, out.nodes.emplace_back(), &Reader::node);
      case 2: return text(f, out.name);
      case 5: return nested(f, out.initializers.emplace_back(), &Reader::tensor);
      case 11: return nested(f, out.inputs.emplace_back(), &Reader::valueInfo);
      case 12: return nested(f, out.outputs.emplace_back(), &Reader::valueInfo);
      case 15: out.hasSparseInitializers = true; break;
      }
      return Error::success();
    });
    --nesting;
    return result;
  }

  Error function(Function &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return text(f, out.name);
      case 4: return text(f, out.inputs.emplace_back());
      case 5: return text(f, out.outputs.emplace_back());
      case 6: return text(f, out.attributes.emplace_back());
      case 7: return nested(f, out.nodes.emplace_back(), &Reader::node);
      case 9: return nested(f, out.opsets.emplace_back(), &Reader::opset);
      case 10: return text(f, out.domain);
      case 11: return nested(f, out.attributeDefaults.emplace_back(), &Reader::attribute);
      case 13: return text(f, out.overload);
      }
      return Error::success();
    });
  }

  Error node(Node &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return text(f, out.inputs.emplace_back());
      case 2: return text(f, out.outputs.emplace_back());
      case 3: return text(f, out.name);
      case 4: return text(f, out.opType);
      case 5: return nested(f, out.attributes.emplace_back(), &Reader::attribute);
      case 7: return text(f, out.domain);
      case 8: return text(f, out.overload);
      }
      return Error::success();
    });
  }

  Error attribute(Attribute &out, StringRef bytes) {
    Attribute::Kind implied = Attribute::Kind::Undefined;
    Error error = message(bytes, [&](const WireField &f) -> Error {
      using Kind = Attribute::Kind;
      switch (f.number) {
      case 1: return text(f, out.name);
      case 2:
        implied = Kind::Float;
        return f.asFloat().moveInto(out.f);
      case 3: implied = Kind::Int; return integer(f, out.i);
      case 4: implied = Kind::String; return text(f, out.s);
      case 5:
        implied = Kind::Tensor;
        out.tensor = std::make_shared<Tensor>();
        return nested(f, *out.tensor, &Reader::tensor);
      case 6:
        implied = Kind::Graph;
        out.graph = std::make_shared<Graph>();
        return nested(f, *out.graph, &Reader::graph);
      case 7: implied = Kind::Floats; return f.appendFloats(out.floats);
      case 8: implied = Kind::Ints; return f.appendInts(out.ints);
      case 9: implied = Kind::Strings; return text(f, out.strings.emplace_back());
      case 20: return integer(f, out.kind);
      case 21: return text(f, out.reference);
      }
      return Error::success();
    });
    // Files of IR version 1 may leave the type to the field that is present.
    if (out.kind == Attribute::Kind::Undefined)
      out.kind = implied;
    // The kind promises the pointer that handlers follow.
    if ((out.kind == Attribute::Kind::Tensor && !out.tensor) ||
        (out.kind == Attribute::Kind::Graph && !out.graph))
      if (out.reference.empty() && !error)
        return createStringError("not a valid ONNX file: attribute '" + out.name +
                                 "' does not hold the value that its type promises");
    return error;
  }

  Error tensor(Tensor &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return f.appendInts(out.dims);
      case 2: return integer(f, out.type);
      case 4: case 5: case 6: case 7: case 10: case 11:
        if (out.typedField && out.typedField != f.number)
          return createStringError("not a valid ONNX file: tensor '" + out.name +
                                   "' has values of two types");
        out.typedField = f.number;
        out.typedRuns.push_back(f.bytes);
        return Error::success();
      case 8: return text(f, out.name);
      case 9: return text(f, out.raw.emplace());
      case 13: return nested(f, out.external.emplace_back(), &Reader::entry);
      case 14: return integer(f, out.isExternal);
      }
      return Error::success();
    });
  }

  Error entry(std::pair<StringRef, StringRef> &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return text(f, out.first);
      case 2: return text(f, out.second);
      }
      return Error::success();
    });
  }

  Error valueInfo(ValueInfo &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return text(f, out.name);
      case 2: return nested(f, out, &Reader::type);
      }
      return Error::success();
    });
  }

  Error type(ValueInfo &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      using Kind = ValueInfo::Kind;
      switch (f.number) {
      case 1: out.kind = Kind::Tensor; return nested(f, out, &Reader::tensorType);
      case 4: out.kind = Kind::Sequence; break;
      case 5: out.kind = Kind::Map; break;
      case 8: out.kind = Kind::SparseTensor; break;
      case 9: out.kind = Kind::Optional; break;
      }
      return Error::success();
    });
  }

  Error tensorType(ValueInfo &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return integer(f, out.elementType);
      case 2: return nested(f, out.dims.emplace(), &Reader::shape);
      }
      return Error::success();
    });
  }

  Error shape(SmallVector<Dim> &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      return f.number == 1 ? nested(f, out.emplace_back(), &Reader::dim) : Error::success();
    });
  }

  Error dim(Dim &out, StringRef bytes) {
    return message(bytes, [&](const WireField &f) -> Error {
      switch (f.number) {
      case 1: return integer(f, out.value.emplace());
      case 2: return text(f, out.symbol);
      }
      return Error::success();
    });
  }
};

} // namespace

Expected<Model> nx::onnx::readModel(StringRef bytes) {
  Model model;
  if (Error error = Reader(bytes).model(model, bytes))
    return error;
  if (!model.graph)
    return createStringError("not an ONNX model: the file holds no graph");
  return model;
}
