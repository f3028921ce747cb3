// Writes executables for the runtime's tests, field by field. Every field of the schema can be
// given a wrong value; build() writes what it is told.
#ifndef NX_TEST_RUNTIME_EXECUTABLEBUILDER_H
#define NX_TEST_RUNTIME_EXECUTABLEBUILDER_H

#include "runtime/schema/executable_generated.h"
#include "runtime/schema/nxe_format.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace nxtest {

using Bytes = std::vector<std::byte>;
using nx::fb::BufferKind;
using nx::fb::CheckKind;
using nx::fb::CollectiveKind;
using nx::fb::DType;
using nx::fb::ExprOp;
using nx::fb::ReduceKind;
using nx::fb::SymbolSource;

/// The kernels of kernels.c, in their order.
enum TestKernel : uint32_t {
  Add,
  Matmul,
  Gather,
  Prefix,
  Nothing,
  Constant,
  Delay,
  Divide,
  KernelCount
};

struct SymbolSpec {
  std::string name;
  uint32_t input = 0, dim = 0;
  int64_t min = 0, max = INT64_MAX;
  SymbolSource source = SymbolSource::InputDim;
  int64_t factor = 1, offset = 0;
};
struct SignatureSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<uint32_t> dims;
};
struct CheckSpec {
  CheckKind kind;
  uint32_t lhs, rhs;
  std::string message;
};
struct BufferSpec {
  BufferKind kind;
  uint32_t index = 0, bytes = 0, offset = 0, first = 0, last = 0;
  int64_t arenaOffset = -1;
};
struct DispatchSpec {
  uint32_t kernel;
  std::vector<uint32_t> operands, dims;
};
struct CollectiveSpec {
  CollectiveKind kind;
  ReduceKind reduce = ReduceKind::Sum;
  DType dtype = DType::F32;
  uint32_t src = 0, dst = 0, outer = 0, count = 0, inner = 0;
  uint32_t dstOuter = 0, dstCount = 0, dstInner = 0, root = 0;
  std::vector<uint32_t> sources = {};
};
struct CopySpec {
  uint32_t src, dst, bytes;
};
struct FillSpec {
  uint32_t dst;
  std::vector<uint8_t> pattern;
};
struct CommandSpec {
  std::variant<std::monostate, DispatchSpec, CollectiveSpec, CopySpec, FillSpec> body;
  std::vector<uint32_t> locations;
};

struct StateUseSpec {
  uint32_t state, input;
  int32_t output = -1;
};

struct ProgramSpec {
  std::string name = "forward";
  std::vector<SymbolSpec> symbols;
  std::vector<nx::fb::Expr> exprs;
  std::vector<SignatureSpec> inputs, outputs;
  std::vector<CheckSpec> checks;
  std::vector<BufferSpec> buffers;
  std::vector<CommandSpec> commands;
  int64_t arenaBytes = -1;
  std::vector<StateUseSpec> states;

  // Expressions.
  uint32_t constant(int64_t value);
  uint32_t symbolValue(uint32_t symbol);
  uint32_t op(ExprOp op, uint32_t lhs, uint32_t rhs);
  uint32_t mul(uint32_t lhs, uint32_t rhs) { return op(ExprOp::Mul, lhs, rhs); }
  uint32_t add(uint32_t lhs, uint32_t rhs) { return op(ExprOp::Add, lhs, rhs); }
  /// A symbol for a dimension of an input, and the expression that is its value.
  uint32_t dimSymbol(const std::string &name, uint32_t input, uint32_t dim, int64_t min = 0,
                     int64_t max = INT64_MAX);
  uint32_t rankSymbol();

  // Signature with its buffer, both of the size that the shape needs. Return the buffer.
  uint32_t input(const std::string &name, DType dtype, std::vector<uint32_t> dims);
  uint32_t output(const std::string &name, DType dtype, std::vector<uint32_t> dims);
  uint32_t bytesOf(DType dtype, const std::vector<uint32_t> &dims); // an expression

  // Other buffers. A temporary lives where the commands that name it are: see finish().
  uint32_t param(uint32_t index, uint32_t bytes);
  uint32_t temp(uint32_t bytes);
  uint32_t view(uint32_t parent, uint32_t bytes, uint32_t offset);

  CommandSpec &dispatch(uint32_t kernel, std::vector<uint32_t> operands,
                        std::vector<uint32_t> dims);
  CommandSpec &collective(CollectiveSpec collective);
  CommandSpec &copy(uint32_t src, uint32_t dst, uint32_t bytes);
  CommandSpec &fill(uint32_t dst, std::vector<uint8_t> pattern);

  /// Sets the lifetimes of temporaries from the commands.
  void finish();
};

struct SegmentSpec {
  std::string name;
  Bytes bytes;
  bool wrongChecksum = false;
  int64_t offset = -1; // -1: where it belongs
  int64_t size = -1;   // -1: that of bytes
};
struct CodeSpec {
  nx::fb::Arch arch;
  std::string cpu;
  std::vector<std::string> features;
  uint32_t abi, segment, priority;
};
struct PartSpec {
  uint32_t segment;
  uint64_t offset, bytes;
};
struct ParamSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::vector<PartSpec> parts;
};
struct KernelSpec {
  std::string name;
  uint32_t dimSlots, operands;
};

struct StateSpec {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  int32_t param = -1;
};

struct ExecutableSpec {
  std::string producer = "nxcc test";
  std::string modelName = "test", modelHash = "0123";
  uint32_t tp = 1;
  std::vector<std::string> requiredFeatures;
  std::vector<SegmentSpec> segments;
  std::vector<CodeSpec> code;
  std::vector<KernelSpec> kernels;
  std::vector<ParamSpec> params;
  std::vector<ProgramSpec> programs;
  std::vector<StateSpec> states;
  std::vector<std::string> locations;
  std::string fileIdentifier = "NXE1";
  bool pairWithoutValue = false; // in `options`

  /// Adds the test kernels with their code for this machine.
  void addTestKernels();
  /// Adds a parameter; part i holds the bytes of element i. Returns its index.
  uint32_t addParam(const std::string &name, std::vector<int64_t> dims,
                    const std::vector<std::vector<float>> &parts);
  ProgramSpec &addProgram(const std::string &name = "forward");

  Bytes build() const;
};

/// The image that kernels.c was compiled to.
Bytes testKernelImage();

/// Makes header and FlatBuffer checksums right again after a change of the bytes. Does nothing to a
/// file without a usable header.
void repairChecksums(Bytes &file);

/// Two states of four floats: "total" begins with 10, 20, 30, 40, "last" with zeros. Entry point
/// "add": out = x + total becomes total, x becomes last. "peek": out = total + last.
ExecutableSpec stateSpec(uint32_t tp = 1);

/// Writes bytes to a new temporary file and removes it when it goes out of scope.
class TemporaryFile {
public:
  explicit TemporaryFile(const Bytes &bytes);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  const std::string &path() const { return name; }

private:
  std::string name;
};

//===-- Executables that several tests use
//--------------------------------------------------------===

/// out[batch, N] = (x[batch, K] * w1[K, H]) * w2[H, N], H split over tp ranks, then all_reduce. The
/// weights are w1[k][h] = weight(k, h), w2[h][n] = weight(h + 7, n).
ExecutableSpec twoLayerSpec(uint32_t tp, int64_t K, int64_t H, int64_t N);
float weight(int64_t row, int64_t column);

/// out[n] = a[n] + b[n] for the run-time size n.
ExecutableSpec addSpec();

/// One of everything: all command kinds, a check, views, static and symbolic sizes, two programs.
ExecutableSpec richSpec();

} // namespace nxtest

#endif // NX_TEST_RUNTIME_EXECUTABLEBUILDER_H
