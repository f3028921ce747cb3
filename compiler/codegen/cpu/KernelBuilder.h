// A small layer over OpBuilder for kernels written by hand: index arithmetic that folds, loops,
// vectors, and the frame of a kernel (kernel_abi.h) with its operands and size slots.
//
// Memory is seen as one-dimensional memrefs over the operands' base pointers; every access is a
// base and an element index. Data is f32 in registers whatever its type in memory.
#ifndef NX_CODEGEN_CPU_KERNELBUILDER_H
#define NX_CODEGEN_CPU_KERNELBUILDER_H

#include "compiler/target/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <optional>

namespace nx {

// B of a packed contraction lies in panels of this many columns: [ceil(N/16)][K][16], zero padded.
inline constexpr int64_t kPanelWidth = 16;

// What the frame of a kernel must know: the element type in memory of each operand (inputs first,
// then outputs), and the number of size symbols, which are the slots of nxrt_kernel_call.dim.
struct KernelSignature {
  llvm::SmallVector<mlir::Type> operands;
  unsigned symbols = 0;
  bool canFail = false; // whether the body calls failIf
};

class KernelBuilder {
public:
  KernelBuilder(mlir::OpBuilder &builder, mlir::Location loc, const TargetDescription &target)
      : b(builder), loc(loc), target(target), lanes(target.vectorLanes) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  const TargetDescription &target;
  const int64_t lanes; // f32 lanes of a vector register: the width of all vectors here

  // --- Index arithmetic, for values >= 0. Constants fold.
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y) { return add(x, index(y)); }
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t y) { return mul(x, index(y)); }
  mlir::Value div(mlir::Value x, mlir::Value y);
  mlir::Value div(mlir::Value x, int64_t y) { return div(x, index(y)); }
  mlir::Value rem(mlir::Value x, mlir::Value y);
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y); // not folded when x + y overflows
  mlir::Value ceilDiv(mlir::Value x, int64_t y) { return ceilDiv(x, index(y)); }
  mlir::Value min(mlir::Value x, mlir::Value y); // signed
  mlir::Value max(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y); // i1, signed
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value logicalAnd(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  static std::optional<int64_t> constant(mlir::Value value);

  // --- Control flow. Bodies get the induction variable and the carried values.
  using LoopBody =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value> loop(mlir::Value from, mlir::Value to, int64_t step,
                                      mlir::ValueRange init, LoopBody body);
  void loop(mlir::Value from, mlir::Value to, int64_t step,
            llvm::function_ref<void(mlir::Value)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then);
  void ifElse(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  // A value that is computed only when it is wanted. Both sides return values of the same types.
  using Values = llvm::SmallVector<mlir::Value>;
  Values choose(mlir::Value condition, mlir::TypeRange types, llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);
  // Runs body(c) for the case c of `cases` that equals `value`; the last case when none does.
  void switchOver(mlir::Value value, llvm::ArrayRef<int64_t> cases,
                  llvm::function_ref<void(int64_t)> body);

  // --- Vectors of `lanes` f32.
  mlir::VectorType vectorType();
  mlir::VectorType maskType();
  mlir::Value splat(float value);
  mlir::Value scalar(float value);
  mlir::Value broadcast(mlir::Value value);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value maskOfFirst(mlir::Value count); // lanes 0 .. count-1, for any count
  mlir::Value laneIndices();                  // [0, 1, ..] as i32

  // Lane i of the result is lane source(i) of x, or source(i) - lanes of y.
  mlir::Value shuffle(mlir::Value x, mlir::Value y, llvm::function_ref<int64_t(int64_t)> source);
  // Transposes a square of `lanes` vectors in place.
  void transpose(llvm::MutableArrayRef<mlir::Value> rows);
  // The reduction of all lanes by `combine`, in every lane.
  using Combine = llvm::function_ref<mlir::Value(KernelBuilder &, mlir::Value, mlir::Value)>;
  mlir::Value reduceLanes(mlir::Value x, Combine combine);

  // --- Memory. 16-bit floats are converted to and from f32. A
  // null mask means all lanes; masked-off lanes read as 0.
  mlir::Value loadVector(mlir::Value memory, mlir::Value at, mlir::Value mask = {});
  void storeVector(mlir::Value vector, mlir::Value memory, mlir::Value at, mlir::Value mask = {});
  mlir::Value loadScalar(mlir::Value memory, mlir::Value at);
  void storeScalar(mlir::Value value, mlir::Value memory, mlir::Value at);
  mlir::Value loadBroadcast(mlir::Value memory, mlir::Value at) {
    return broadcast(loadScalar(memory, at));
  }
  // `lanes` elements from memory[at] on, `stride` apart.
  mlir::Value loadStrided(mlir::Value memory, mlir::Value at, mlir::Value stride,
                          mlir::Value mask = {});
  void storeStrided(mlir::Value vector, mlir::Value memory, mlir::Value at, mlir::Value stride,
                    mlir::Value mask = {});
  void prefetch(mlir::Value memory, mlir::Value at, unsigned locality, bool write = false);
  // A flat memref over a !llvm.ptr. i1 is stored as one byte.
  mlir::Value memoryAt(mlir::Value pointer, mlir::Type element);
  mlir::Value offsetPointer(mlir::Value pointer, mlir::Value bytes);
  // Read-only data of the image; `name` begins with the kernel's, so that the kernel's object takes it along.
  mlir::Value constantMemory(mlir::ModuleOp module, llvm::StringRef name, mlir::DenseElementsAttr data);

  // --- The kernel's frame (set by emitKernelFunctions).
  // Operand i as a flat memref, and as a pointer.
  mlir::Value operand(unsigned i) { return operands[i]; }
  mlir::Value operandPointer(unsigned i) { return operandPointers[i]; }
  // The calling thread's scratch from byte `offset` on (a multiple of 64).
  mlir::Value scratch(mlir::Type element, mlir::Value byteOffset);
  mlir::Value scratchPointer;
  // A size expression over the kernel's symbols.
  mlir::Value size(mlir::AffineExpr expr);
  // Makes the kernel return `status` (of kernel_abi.h) when the condition holds; it goes on nevertheless.
  void failIf(mlir::Value condition, int32_t status);
  static std::optional<int64_t> constant(mlir::AffineExpr expr);

private:
  friend struct KernelFrame;
  llvm::SmallVector<mlir::Value> operands, operandPointers, symbols;
  mlir::Value status; // memref<1xi32>, of kernels that can fail
};

// The bodies of a kernel's four functions. `run` is to compute tiles [begin, end), which are not
// empty and below tiles(). The other three return an index and may use size() only.
struct KernelBodies {
  std::function<void(KernelBuilder &, mlir::Value begin, mlir::Value end)> run;
  std::function<mlir::Value(KernelBuilder &)> tiles;
  std::function<mlir::Value(KernelBuilder &)> scratchBytes;
  std::function<mlir::Value(KernelBuilder &)> grain;
};

// Adds @name, @name.tiles, @name.scratch_bytes and @name.grain to the end of `module`.
void emitKernelFunctions(mlir::ModuleOp module, llvm::StringRef name, mlir::Location loc,
                         const KernelSignature &signature, const TargetDescription &target,
                         const KernelBodies &bodies);

// The fewest tiles worth a second thread, given one tile's cost in nanoseconds.
mlir::Value grainForTileCost(KernelBuilder &kb, mlir::Value nanoseconds);

} // namespace nx

#endif // NX_CODEGEN_CPU_KERNELBUILDER_H
