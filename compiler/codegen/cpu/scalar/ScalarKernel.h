// What the kernels of the scalar family share: operands as tensors with strides, single elements in the type
// that is computed in, and loops.
#ifndef NX_CODEGEN_CPU_SCALAR_SCALARKERNEL_H
#define NX_CODEGEN_CPU_SCALAR_SCALARKERNEL_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/lowering/ScalarBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nx {

// A tensor in memory.
struct ScalarTensor {
  mlir::Value memory; // null: a result that nobody reads
  mlir::Type element; // signless
  bool isUnsigned = false;
  llvm::SmallVector<mlir::Value> sizes, strides; // in elements

  explicit operator bool() const { return bool(memory); }
  unsigned rank() const { return sizes.size(); }
};

// One kernel function while its body is written.
class ScalarKernel {
public:
  ScalarKernel(KernelBuilder &kb, mlir::func::FuncOp kernel, mlir::Operation *op) : kb(kb), kernel(kernel), op(op) {}

  KernelBuilder &kb;
  // Arithmetic on elements, at the place where `kb` builds.
  ScalarBuilder at() { return ScalarBuilder(kb.loc, kb.b); }

  // An operand of the operation, which may be a constant of the kernel; or null where an optional one is missing.
  ScalarTensor operand(mlir::Value value);
  ScalarTensor result(unsigned number);

  // The place of an element.
  mlir::Value offset(const ScalarTensor &x, llvm::ArrayRef<mlir::Value> index);
  // An element as what is computed in: 16-bit floats as f32, booleans as i1.
  mlir::Value load(const ScalarTensor &x, mlir::Value at);
  mlir::Value load(const ScalarTensor &x, llvm::ArrayRef<mlir::Value> index) { return load(x, offset(x, index)); }
  // Stores into a tensor that nobody reads are left out.
  void store(mlir::Value value, const ScalarTensor &x, mlir::Value at);
  void store(mlir::Value value, const ScalarTensor &x, llvm::ArrayRef<mlir::Value> index) {
    if (x)
      store(value, x, offset(x, index));
  }
  // The calling thread's scratch from `byte` on, as elements of the type that is computed in.
  ScalarTensor scratch(mlir::Type element, mlir::Value byte);

  // `number` taken apart into one index per size, the last one fastest.
  llvm::SmallVector<mlir::Value> indexOf(mlir::Value number, llvm::ArrayRef<mlir::Value> sizes);
  // An index from data, negative ones counted from the end. Outside of [0, size) the kernel fails, and the index is 0.
  mlir::Value checkedIndex(mlir::Value number, mlir::Value size);

  void loop(mlir::Value count, llvm::function_ref<void(mlir::Value)> body) { kb.loop(kb.index(0), count, 1, body); }
  // Carries one value through `count` steps.
  mlir::Value fold(mlir::Value count, mlir::Value init, llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> body);
  mlir::Value both(mlir::Value x, mlir::Value y); // of i1
  mlir::Value either(mlir::Value x, mlir::Value y);

private:
  mlir::func::FuncOp kernel;
  mlir::Operation *op;
};

// The bodies of one operation's kernel. Sizes as expressions, for the three that have no operands.
struct ScalarBodies {
  std::function<void(ScalarKernel &, mlir::Value begin, mlir::Value end)> run;
  llvm::SmallVector<mlir::AffineExpr> tiles;     // the product is their number
  mlir::AffineExpr scratchBytes;                 // null: none
  mlir::AffineExpr tileCost;                     // in nanoseconds, roughly
  bool canFail = false;
};

ScalarBodies scalarBodies(ScatterElementsOp op);
ScalarBodies scalarBodies(ScatterNdOp op);
ScalarBodies scalarBodies(TopKOp op);
ScalarBodies scalarBodies(RecurrentOp op);
ScalarBodies scalarBodies(DetOp op);
ScalarBodies scalarBodies(RoiAlignOp op);

} // namespace nx

#endif // NX_CODEGEN_CPU_SCALAR_SCALARKERNEL_H
