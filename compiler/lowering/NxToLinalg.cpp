//===- NxToLinalg.cpp - Kernel bodies for the loop emitter ----------------===//

#include "compiler/lowering/NxToLinalg.h"
#include "compiler/lowering/LowerOps.h"
#include "compiler/lowering/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nx;

namespace nx {
#define GEN_PASS_DEF_NXTOLINALG
#include "compiler/lowering/Passes.h.inc"
} // namespace nx

//===----------------------------------------------------------------------===//
// Element-wise operations and values made of nothing
//===----------------------------------------------------------------------===//

Lowered nx::lower(LinalgBuilder &b, ElementwiseOpInterface op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Dims dims = dimsOf(type);
  SmallVector<Access> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(b.broadcast(b[operand], dims));
  return b.map(dims, type.getElementType(), inputs,
               [&](ValueRange args) { return op.emitScalar(b, b.getLoc(), args); });
}

Lowered nx::lower(LinalgBuilder &b, ConstantOp op) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return op.emitOpError("has a value of an unknown form");
  return SizedTensor{arith::ConstantOp::create(b, signlessConstant(value)), dimsOf(op.getType())};
}

Lowered nx::lower(LinalgBuilder &b, ShapeValueOp op) {
  RankedTensorType type = op.getType();
  Type element = signlessElement(type.getElementType());
  ArrayRef<AffineExpr> sizes = op.getDims().getExprs();
  return b.map(dimsOf(type), element, {}, [&](ValueRange) {
    Type wide = computeType(element);
    Value chosen = b.number(sizes.back(), wide);
    if (type.getRank() == 0)
      return chosen;
    Value position = b.loopIndex(0);
    for (size_t i = sizes.size() - 1; i-- > 0;) {
      Value here = b.compare(arith::CmpIPredicate::eq, position, b.index(int64_t(i)));
      chosen = b.select(here, b.number(sizes[i], wide), chosen);
    }
    return chosen;
  });
}

Lowered nx::lower(LinalgBuilder &b, IotaOp op) {
  RankedTensorType type = op.getType();
  return b.map(dimsOf(type), type.getElementType(), {}, [&](ValueRange) -> Value {
    // Exact in 64 bits, then one conversion.
    Value offset = b.mul(b.loopIndex(op.getAxis()), b.index(op.getStep().getExprs()[0]));
    Value value = b.add(offset, b.index(op.getStart().getExprs()[0]));
    Type element = computeType(signlessElement(type.getElementType()));
    if (isa<IntegerType>(element))
      return arith::IndexCastOp::create(b, element, value);
    return arith::SIToFPOp::create(b, element,
                                   arith::IndexCastOp::create(b, b.getI64Type(), value));
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Lowered lowerOp(LinalgBuilder &b, Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getNumResults() == 1 ? op->getResult(0).getType() : Type());
  if (!type)
    return op->emitOpError("is not an operation of a kernel");
  // A result without elements needs no computation, and its operands may have sizes that only make
  // sense then.
  if (llvm::is_contained(type.getShape(), 0))
    return b.full(dimsOf(type), b.getZeroAttr(signlessElement(type.getElementType())));
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op))
    return lower(b, elementwise);
  return TypeSwitch<Operation *, Lowered>(op)
      .Case<ConstantOp, ShapeValueOp, IotaOp, ReduceOp, ArgReduceOp, CumulativeOp, SoftmaxOp,
            LayerNormOp, RmsNormOp, GroupNormOp, MatmulOp, AttentionOp, ConvOp, PoolOp, ArgPoolOp,
            TransposeOp, ReshapeOp, BroadcastOp, SliceOp, ConcatOp, PadOp, GatherOp,
            GatherElementsOp, GatherNdOp>([&](auto known) { return lower(b, known); })
      .Default([](Operation *other) -> Lowered {
        return other->emitOpError("is not an operation of a kernel");
      });
}

/// How many symbols the kernel's sizes use: one more than the last one mentioned.
static unsigned countSymbols(func::FuncOp kernel) {
  unsigned count = 0;
  AttrTypeWalker walker;
  walker.addWalk([&](DimsAttr dims) {
    for (AffineExpr expr : dims.getExprs())
      expr.walk([&](AffineExpr e) {
        if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
          count = std::max(count, symbol.getPosition() + 1);
      });
  });
  walker.walk(kernel.getFunctionType());
  for (Operation &op : kernel.getBody().front()) {
    walker.walk(op.getAttrDictionary());
    for (Type type : op.getResultTypes())
      walker.walk(type);
  }
  return count;
}

LogicalResult nx::lowerToLinalg(func::FuncOp kernel) {
  MLIRContext *context = kernel.getContext();
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitError("a kernel has one block");
  auto ranked = llvm::IsaPred<RankedTensorType>;
  if (!llvm::all_of(kernel.getArgumentTypes(), ranked) ||
      !llvm::all_of(kernel.getResultTypes(), ranked))
    return kernel.emitError("the arguments and results of a kernel are ranked tensors");
  Block *before = &kernel.getBody().front();
  unsigned numSymbols = countSymbols(kernel);
  Builder attributes(context);
  auto shapeAttr = [&](RankedTensorType type) {
    auto map = AffineMap::get(0, numSymbols, dimsOf(type), context);
    return attributes.getNamedAttr(kShapeAttr, AffineMapAttr::get(map));
  };
  auto withAttr = [&](DictionaryAttr known, NamedAttribute attr) {
    NamedAttrList list(known);
    list.set(attr.getName(), attr.getValue());
    return list.getDictionary(context);
  };
  auto plain = [&](RankedTensorType type) {
    return RankedTensorType::get(type.getShape(), signlessElement(type.getElementType()));
  };

  // The new body grows beside the old one, so that a failure leaves the kernel as it was.
  Block *after = kernel.addBlock();
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (BlockArgument arg : before->getArguments()) {
    auto type = cast<RankedTensorType>(arg.getType());
    argumentTypes.push_back(plain(type));
    argumentAttrs.push_back(withAttr(kernel.getArgAttrDict(arg.getArgNumber()), shapeAttr(type)));
    after->addArgument(plain(type), arg.getLoc());
  }
  for (unsigned i = 0; i < numSymbols; ++i) {
    argumentTypes.push_back(attributes.getIndexType());
    argumentAttrs.push_back(
        attributes.getDictionaryAttr(attributes.getNamedAttr(kSymbolAttr, attributes.getI64IntegerAttr(i))));
    after->addArgument(attributes.getIndexType(), kernel.getLoc());
  }
  for (auto [i, result] : llvm::enumerate(kernel.getResultTypes())) {
    auto type = cast<RankedTensorType>(result);
    resultTypes.push_back(plain(type));
    resultAttrs.push_back(withAttr(kernel.getResultAttrDict(i), shapeAttr(type)));
  }

  unsigned numTensors = before->getNumArguments();
  LinalgBuilder b(kernel.getLoc(), after, after->getArguments().drop_front(numTensors));
  for (auto [from, to] : llvm::zip(before->getArguments(), after->getArguments()))
    b.set(from, {to, dimsOf(cast<RankedTensorType>(from.getType()))});
  for (Operation &op : before->without_terminator()) {
    b.setLoc(op.getLoc());
    Lowered result = lowerOp(b, &op);
    if (failed(result)) {
      after->dropAllReferences();
      after->erase();
      return failure();
    }
    b.set(op.getResult(0), *result);
  }
  SmallVector<Value> returned;
  for (Value value : before->getTerminator()->getOperands())
    returned.push_back(b[value].value);
  b.setLoc(before->getTerminator()->getLoc());
  func::ReturnOp::create(b, returned);

  before->dropAllReferences();
  before->erase();
  kernel.setFunctionType(attributes.getFunctionType(argumentTypes, resultTypes));
  kernel.setAllArgAttrs(argumentAttrs);
  kernel.setAllResultAttrs(resultAttrs);
  return success();
}

namespace {
struct NxToLinalg : public nx::impl::NxToLinalgBase<NxToLinalg> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      auto family = func->getAttrOfType<StringAttr>(kFamilyAttr);
      if (family && family.getValue() == kLoopsFamily && failed(lowerToLinalg(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
