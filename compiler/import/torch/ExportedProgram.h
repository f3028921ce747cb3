//===- ExportedProgram.h - What a .pt2 file says, as C++ ------------------===//
//
// The classes of torch's export schema (torch/_export/serde/schema.py) as far as nx reads them, and
// the archive around them. Reading is strict about what nx uses and silent about what it doesn't:
// minor versions of the schema add fields.
//
//===----------------------------------------------------------------------===//
#ifndef NX_COMPILER_IMPORT_TORCH_EXPORTEDPROGRAM_H
#define NX_COMPILER_IMPORT_TORCH_EXPORTEDPROGRAM_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nx::torch {

/// The schema version that nx reads: this major number, any minor one.
inline constexpr int64_t kSchemaMajor = 8;

/// Element types, numbered as in the schema.
enum class ScalarType : int64_t {
  Unknown = 0, Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool,
  BFloat16, UInt16 = 28, Float8E4M3FN, Float8E5M2, Float8E4M3FNUZ, Float8E5M2FNUZ, Float8E8M0FNU, UInt32, UInt64
};

/// A size: a number, or an expression as sympy's srepr prints it.
struct Size {
  std::optional<int64_t> value;
  std::string expr;
};

struct TensorMeta {
  ScalarType dtype = ScalarType::Unknown;
  std::vector<Size> sizes, strides;
  Size offset;
  bool isStrided = true; ///< not sparse
};

struct Graph;

/// An argument of a node, and any other value of the graph by name.
struct Argument {
  enum class Kind {
    None, Tensor, Tensors, Int, Ints, Float, Floats, String, Strings, SymInt, SymInts, SymFloat, SymBool,
    ScalarType, MemoryFormat, Layout, Device, Bool, Bools, OptionalTensors, Graph, CustomObject, Operator, Other
  };
  /// An element of a list: a name (of a tensor or size; empty for None) or a number.
  struct Element {
    std::string name;
    int64_t i = 0;
    double f = 0;
  };

  Kind kind = Kind::None;
  int64_t i = 0;               ///< Int, Bool, ScalarType, ..; SymInt without a name
  double f = 0;                ///< Float; SymFloat without a name
  std::string s;               ///< String, Operator; the name of a value; what Other is called
  std::vector<Element> list;
  std::shared_ptr<Graph> graph; ///< Graph
};

struct NamedArgument {
  std::string name; ///< of the operator's schema; may be empty for higher-order operators
  Argument arg;
};

struct Node {
  std::string name, target;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string stackTrace; ///< of the user's program, innermost frame last; may be empty
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<Node> nodes;
  llvm::StringMap<TensorMeta> tensors;
  llvm::StringMap<Size> sizes; ///< symbolic integers by name
};

struct InputSpec {
  enum class Kind { User, Parameter, Buffer, Constant, ConstantInput, CustomObject, Token };
  Kind kind;
  Argument arg;       ///< the graph's input
  std::string target; ///< the parameter's, buffer's or constant's name
};

struct OutputSpec {
  enum class Kind { User, BufferMutation, InputMutation, ParameterMutation, Gradient, Token };
  Kind kind;
  Argument arg;
  std::string target; ///< what is mutated
};

struct SizeRange {
  std::optional<int64_t> min, max;
};

struct ExportedProgram {
  int64_t opset = 0; ///< version of the operators
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  /// Names of the outputs by their place in the result: "output", "output_1", or by dictionary keys.
  std::vector<std::string> outputNames;
  std::map<std::string, SizeRange> ranges; ///< by symbol, or by an expression in Python's spelling
  std::vector<std::string> guards;     ///< conditions on the inputs, in Python
};

/// Where a weight or constant lies in the archive.
struct Payload {
  llvm::StringRef entry; ///< the archive's name for it
  llvm::StringRef bytes; ///< the whole storage
  TensorMeta meta;
};

/// A .pt2 archive. Its views point into the file.
struct Pt2Archive {
  ExportedProgram program;
  llvm::StringMap<Payload> payloads; ///< weights, buffers and constants by their names in the program

  static llvm::Expected<Pt2Archive> read(llvm::StringRef file);
};

/// The text of models/NAME.json.
llvm::Expected<ExportedProgram> readProgram(llvm::StringRef json);

} // namespace nx::torch
#endif // NX_COMPILER_IMPORT_TORCH_EXPORTEDPROGRAM_H
