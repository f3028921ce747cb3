//===- OnnxModel.h - An ONNX file as views into its bytes -----------------===//
//
// The parts of onnx.proto (https://github.com/onnx/onnx, IR versions 3 to 13) that the importer
// uses. Strings and tensor contents are views: a Model lives no longer than the mapped file.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_ONNX_ONNXMODEL_H
#define NX_COMPILER_IMPORT_ONNX_ONNXMODEL_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <vector>

namespace nx::onnx {

/// TensorProto.DataType. Values that the file holds beyond these are kept as numbers.
enum class DataType : int32_t {
  Undefined = 0, Float = 1, Uint8 = 2, Int8 = 3, Uint16 = 4, Int16 = 5, Int32 = 6, Int64 = 7,
  String = 8, Bool = 9, Float16 = 10, Double = 11, Uint32 = 12, Uint64 = 13, Complex64 = 14,
  Complex128 = 15, Bfloat16 = 16, Float8E4M3FN = 17, Float8E4M3FNUZ = 18, Float8E5M2 = 19,
  Float8E5M2FNUZ = 20, Uint4 = 21, Int4 = 22, Float4E2M1 = 23, Float8E8M0 = 24, Uint2 = 25, Int2 = 26
};

/// The type's name in messages.
std::string nameOf(DataType type);

struct Tensor {
  llvm::StringRef name;
  llvm::SmallVector<int64_t> dims;
  DataType type = DataType::Undefined;
  /// `raw_data`; null when the field is absent.
  std::optional<llvm::StringRef> raw;
  /// Runs of encoded values of one of the typed fields (`float_data` is 4, ...); a packed field is
  /// one run, unpacked ones are many.
  uint32_t typedField = 0;
  llvm::SmallVector<llvm::StringRef, 1> typedRuns;
  bool isExternal = false;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>> external; ///< key, value
};

struct Dim {
  std::optional<int64_t> value;
  llvm::StringRef symbol; ///< `dim_param`; empty when absent
};

/// The declared type of a value. Only tensors have more than a kind.
struct ValueInfo {
  enum class Kind { Absent, Tensor, Sequence, Map, Optional, SparseTensor };
  llvm::StringRef name;
  Kind kind = Kind::Absent;
  DataType elementType = DataType::Undefined;
  std::optional<llvm::SmallVector<Dim>> dims; ///< null: the rank is unknown
};

struct Graph;

struct Attribute {
  /// AttributeProto.AttributeType
  enum class Kind : int32_t {
    Undefined = 0, Float = 1, Int = 2, String = 3, Tensor = 4, Graph = 5, Floats = 6, Ints = 7,
    Strings = 8, Tensors = 9, Graphs = 10, SparseTensor = 11, SparseTensors = 12, Type = 13, Types = 14
  };
  llvm::StringRef name;
  llvm::StringRef reference; ///< in a function: the attribute of the calling node to take
  Kind kind = Kind::Undefined;
  float f = 0;
  int64_t i = 0;
  llvm::StringRef s;
  std::shared_ptr<Tensor> tensor;
  std::shared_ptr<Graph> graph;
  llvm::SmallVector<float, 0> floats;
  llvm::SmallVector<int64_t, 0> ints;
  llvm::SmallVector<llvm::StringRef, 0> strings;
};

struct Node {
  llvm::StringRef name, opType, domain, overload;
  llvm::SmallVector<llvm::StringRef> inputs, outputs;
  std::vector<Attribute> attributes;
};

struct Graph {
  llvm::StringRef name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs;
  bool hasSparseInitializers = false;
};

struct OpsetImport {
  llvm::StringRef domain;
  int64_t version = 0;
};

/// A model-local function.
struct Function {
  llvm::StringRef name, domain, overload;
  llvm::SmallVector<llvm::StringRef> inputs, outputs;
  llvm::SmallVector<llvm::StringRef> attributes; ///< names without a default
  std::vector<Attribute> attributeDefaults;
  std::vector<Node> nodes;
  std::vector<OpsetImport> opsets;
};

struct Model {
  int64_t irVersion = 0;
  llvm::StringRef producer;
  std::vector<OpsetImport> opsets;
  std::optional<Graph> graph;
  std::vector<Function> functions;
};

/// Reads a serialized ModelProto. An error names what is wrong and the byte.
llvm::Expected<Model> readModel(llvm::StringRef bytes);

} // namespace nx::onnx
#endif // NX_COMPILER_IMPORT_ONNX_ONNXMODEL_H
