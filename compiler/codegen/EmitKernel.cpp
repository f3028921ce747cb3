//===- EmitKernel.cpp - From a kernel function to loops -------------------===//

#include "compiler/codegen/EmitKernel.h"
#include "compiler/codegen/cpu/Attention.h"
#include "compiler/codegen/cpu/BatchMatmul.h"
#include "compiler/codegen/cpu/Contract.h"
#include "compiler/codegen/cpu/loops/EmitLoops.h"
#include "compiler/codegen/cpu/scalar/EmitScalar.h"
#include "compiler/lowering/NxToLinalg.h"
#include "compiler/lowering/Passes.h"
#include "compiler/lowering/StridedView.h"

using namespace mlir;
using namespace nx;

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// What the builders of hand-shaped kernels need of a kernel function.
class KernelReader {
public:
  explicit KernelReader(func::FuncOp kernel) : kernel(kernel), context(kernel.getContext()) {
    for (TypeRange types : {kernel.getArgumentTypes(), kernel.getResultTypes()})
      for (Type type : types)
        signature.operands.push_back(cast<RankedTensorType>(type).getElementType());
    // Symbols of the operands' sizes, which are part of the function's type, and of offsets.
    kernel.walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](DimsAttr dims) {
        signature.symbols = std::max(signature.symbols, dims.getMap().getNumSymbols());
      });
    });
  }

  unsigned operandOf(Value base) { return cast<BlockArgument>(base).getArgNumber(); }
  unsigned resultOperand() { return kernel.getNumArguments(); }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, context); }

  /// `value` read through views, as an operand with `rank` dims; missing leading ones broadcast.
  /// Dims of size 1 get stride 0, so that broadcasting is plain addressing.
  std::optional<StridedOperand> strided(Value value, size_t rank) {
    StridedView view = viewOf(value);
    if (!isa<BlockArgument>(view.base))
      return std::nullopt;
    return strided(operandOf(view.base), view, rank);
  }
  StridedOperand strided(unsigned operand, const StridedView &view, size_t rank) {
    StridedOperand result;
    result.operand = operand;
    result.offset = view.offset;
    result.strides.assign(rank, constant(0));
    for (auto [i, stride] : llvm::enumerate(view.strides))
      if (constantOf(view.dims[i]) != 1)
        result.strides[rank - view.strides.size() + i] = stride;
    return result;
  }

  /// The result as an operand with the dims of the root operation.
  std::optional<StridedOperand> resultOf(Operation *root) {
    SmallVector<Operation *> chain{root};
    for (Operation *op = root; !isReturned(op);) {
      op = *op->getResult(0).user_begin();
      chain.push_back(op);
    }
    StridedView view = storageThroughViews(chain);
    if (!view.base)
      return std::nullopt;
    return strided(resultOperand(), view, view.dims.size());
  }

  static bool isReturned(Operation *op) {
    return isa<func::ReturnOp>(*op->getResult(0).user_begin());
  }

  func::FuncOp kernel;
  MLIRContext *context;
  KernelSignature signature;
};

//===----------------------------------------------------------------------===//
// Chains of element-wise operations on register tiles
//===----------------------------------------------------------------------===//

/// The lanes of `operand`, stored row-major at `memory`, that meet the vector of results at
/// `point`. `dims` are the result's sizes; its rows are all leading dimensions, flattened.
Value loadAtPoint(KernelBuilder &kb, Value memory, RankedTensorType operand,
                  ArrayRef<AffineExpr> dims, const TilePoint &point) {
  SmallVector<AffineExpr> own = dimsOf(operand);
  size_t missing = dims.size() - own.size();
  SmallVector<AffineExpr> strides = rowMajorStrides(own, operand.getContext());
  Value at = kb.index(0);
  bool hasEveryRow = missing == 0 && ArrayRef(own).drop_back() == ArrayRef(dims).drop_back();
  if (hasEveryRow && dims.size() > 1) {
    at = kb.mul(point.row, kb.size(strides[dims.size() - 2]));
  } else {
    // Take the row apart into one index per leading dimension, innermost first.
    Value rest = point.row;
    for (size_t d = dims.size() - 1; d-- > 0;) {
      Value size = kb.size(dims[d]);
      Value index = d == 0 ? rest : kb.rem(rest, size);
      rest = kb.div(rest, size);
      if (d >= missing && constantOf(own[d - missing]) != 1)
        at = kb.add(at, kb.mul(index, kb.size(strides[d - missing])));
    }
  }
  bool alongColumns = !own.empty() && constantOf(own.back()) != 1;
  if (!alongColumns)
    return kb.loadBroadcast(memory, at);
  return kb.loadVector(memory, kb.add(at, point.column), point.mask);
}

/// The epilogue that applies `chain`, element-wise operations after `root`, in order.
Epilogue chainEpilogue(Operation *root, ArrayRef<Operation *> chain) {
  if (chain.empty())
    return nullptr;
  SmallVector<Operation *> ops(chain);
  SmallVector<AffineExpr> dims = dimsOf(typeOf(root->getResult(0)));
  std::string kernel = root->getParentOfType<func::FuncOp>().getName().str();
  // The code around the epilogue may not be part of the module yet while it is built.
  auto module = root->getParentOfType<ModuleOp>();
  DenseMap<Operation *, unsigned> constantNumber;
  for (auto constant : root->getParentOfType<func::FuncOp>().getOps<ConstantOp>())
    constantNumber[constant] = constantNumber.size();
  return [root, ops, dims, kernel, module, constantNumber](KernelBuilder &kb, Value sums,
                                                           const TilePoint &point) {
    DenseMap<Value, Value> values;
    values[root->getResult(0)] = sums;
    auto vectorOf = [&](Value operand) -> Value {
      if (Value value = values.lookup(operand))
        return value;
      Value value;
      if (auto constant = operand.getDefiningOp<ConstantOp>()) {
        if (constant.getValue().isSplat())
          value = kb.splat(constant.getValue().getSplatValue<APFloat>().convertToFloat());
        else
          value = loadAtPoint(
              kb,
              kb.constantMemory(module, (kernel + ".constant" + Twine(constantNumber.lookup(constant))).str(),
                                cast<DenseElementsAttr>(constant.getValue())),
              typeOf(operand), dims, point);
      } else {
        value = loadAtPoint(kb, kb.operand(cast<BlockArgument>(operand).getArgNumber()),
                            typeOf(operand), dims, point);
      }
      return values[operand] = value;
    };
    Value last = sums;
    for (Operation *op : ops) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(vectorOf(operand));
      last = cast<ElementwiseOpInterface>(op).emitScalar(kb.b, kb.loc, operands);
      values[op->getResult(0)] = last;
    }
    return last;
  };
}

LogicalResult emitContractKernel(KernelReader &reader, const TargetDescription &target) {
  MatmulOp matmul;
  SmallVector<Operation *> chain;
  for (Operation &op : reader.kernel.getBody().front().without_terminator()) {
    if (auto m = dyn_cast<MatmulOp>(op))
      matmul = m;
    else if (!isa<ConstantOp>(op))
      chain.push_back(&op);
  }
  SmallVector<AffineExpr> lhs = dimsOf(typeOf(matmul.getLhs()));
  auto rhs = typeOf(matmul.getRhs());
  ContractSpec spec;
  spec.signature = reader.signature;
  spec.a = reader.operandOf(matmul.getLhs());
  spec.b = reader.operandOf(matmul.getRhs());
  spec.c = reader.resultOperand();
  spec.m = productOf(ArrayRef(lhs).drop_back(), reader.context);
  spec.k = rhs.getDimSize(0);
  spec.n = rhs.getDimSize(1);
  spec.epilogue = chainEpilogue(matmul, chain);
  emitContract(reader.kernel->getParentOfType<ModuleOp>(), reader.kernel.getName(),
               reader.kernel.getLoc(), spec, target);
  return success();
}

LogicalResult emitMatmulKernel(KernelReader &reader, const TargetDescription &target) {
  MatmulOp matmul;
  reader.kernel.walk([&](MatmulOp m) { matmul = m; });
  size_t rank = typeOf(matmul.getResult()).getRank();
  auto a = reader.strided(matmul.getLhs(), rank), b = reader.strided(matmul.getRhs(), rank);
  auto c = reader.resultOf(matmul);
  if (!a || !b || !c)
    return failure();
  if (matmul.getTransposeLhs())
    std::swap(a->strides[rank - 1], a->strides[rank - 2]);
  if (matmul.getTransposeRhs())
    std::swap(b->strides[rank - 1], b->strides[rank - 2]);
  SmallVector<AffineExpr> dims = dimsOf(typeOf(matmul.getResult()));
  BatchMatmulSpec spec;
  spec.signature = reader.signature;
  spec.batch.assign(dims.begin(), dims.end() - 2);
  spec.m = dims[rank - 2];
  spec.n = dims[rank - 1];
  auto lhs = typeOf(matmul.getLhs());
  spec.k = dimOf(lhs, lhs.getRank() - (matmul.getTransposeLhs() ? 2 : 1));
  spec.a = *a;
  spec.b = *b;
  spec.c = *c;
  emitBatchMatmul(reader.kernel->getParentOfType<ModuleOp>(), reader.kernel.getName(),
                  reader.kernel.getLoc(), spec, target);
  return success();
}

LogicalResult emitAttentionKernel(KernelReader &reader, const TargetDescription &target) {
  AttentionOp attention;
  reader.kernel.walk([&](AttentionOp op) { attention = op; });
  RankedTensorType q = typeOf(attention.getQuery()), k = typeOf(attention.getKey()),
                   v = typeOf(attention.getValue());
  auto depth = constantOf(dimOf(q, 3)), valueDepth = constantOf(dimOf(v, 3));
  bool isF32 = llvm::all_of(ArrayRef<RankedTensorType>{q, k, v},
                            [](RankedTensorType t) { return t.getElementType().isF32(); });
  if (!isF32 || !depth || !valueDepth)
    return failure();
  auto query = reader.strided(attention.getQuery(), 4), key = reader.strided(attention.getKey(), 4);
  auto value = reader.strided(attention.getValue(), 4), result = reader.resultOf(attention);
  if (!query || !key || !value || !result)
    return failure();
  AttentionSpec spec;
  spec.signature = reader.signature;
  spec.batch = dimOf(q, 0);
  spec.queries = dimOf(q, 2);
  spec.keys = dimOf(k, 2);
  spec.queryHeads = *constantOf(dimOf(q, 1));
  spec.keyHeads = *constantOf(dimOf(k, 1));
  spec.depth = *depth;
  spec.valueDepth = *valueDepth;
  spec.q = *query;
  spec.k = *key;
  spec.v = *value;
  spec.out = *result;
  spec.scale = attention.getScale().convertToDouble();
  if (attention.getCausal())
    spec.causalOffset = attention.getCausal()->getExprs()[0];
  spec.zeroWithoutKeys = attention.getZeroWithoutKeys();
  if (attention.getMask()) {
    Type element = typeOf(attention.getMask()).getElementType();
    spec.mask = reader.strided(attention.getMask(), 4);
    if (!spec.mask || !(element.isF32() || element.isInteger(1)))
      return failure();
  }
  emitAttention(reader.kernel->getParentOfType<ModuleOp>(), reader.kernel.getName(),
                reader.kernel.getLoc(), spec, target);
  return success();
}

/// Runs the family's builder; failure means that the kernel is not of its form.
LogicalResult emitByFamily(func::FuncOp kernel, const TargetDescription &target) {
  StringRef family = kernel->getAttrOfType<StringAttr>(kFamilyAttr).getValue();
  KernelReader reader(kernel);
  if (family == kContractFamily)
    return emitContractKernel(reader, target);
  if (family == kMatmulFamily)
    return emitMatmulKernel(reader, target);
  if (family == kAttentionFamily)
    return emitAttentionKernel(reader, target);
  if (family == kScalarFamily) {
    emitScalarKernel(reader.kernel, target);
    return success();
  }
  return failure();
}

} // namespace

LogicalResult nx::emitKernel(func::FuncOp kernel, const TargetDescription &target) {
  // The emitted entry has the kernel's name: move the function out of its way.
  std::string name = kernel.getName().str();
  if (succeeded(emitByFamily(kernel, target))) {
    kernel.erase();
    return success();
  }
  if (failed(lowerToLinalg(kernel)))
    return failure();
  LoopOptions options;
  options.vectorLength = target.vectorLanes;
  return emitLoops(kernel, options);
}
