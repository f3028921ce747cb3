#include "compiler/codegen/cpu/loops/HostValues.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace nx::loops {

// The map of argument or result `i` that tells its sizes, if there is one.
static AffineMap shapeOf(ArrayAttr attrs, unsigned i) {
  if (!attrs)
    return {};
  auto map = cast<DictionaryAttr>(attrs[i]).getAs<AffineMapAttr>("nx.shape");
  return map ? map.getValue() : AffineMap();
}

std::optional<unsigned> symbolOf(BlockArgument arg) {
  auto kernel = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
  auto attr = kernel ? kernel.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), "nx.symbol")
                     : IntegerAttr();
  return attr && arg.getType().isIndex() ? std::optional<unsigned>(attr.getInt()) : std::nullopt;
}

HostValues::HostValues(func::FuncOp kernel) : func(kernel) {
  for (BlockArgument arg : kernel.getArguments())
    if (std::optional<unsigned> symbol = symbolOf(arg))
      numKernelSymbols = std::max(numKernelSymbols, *symbol + 1);
  for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
    if (AffineMap map = shapeOf(kernel.getArgAttrsAttr(), i))
      numKernelSymbols = std::max(numKernelSymbols, map.getNumSymbols());
  for (unsigned i = 0; i < kernel.getNumResults(); ++i)
    if (AffineMap map = shapeOf(kernel.getResAttrsAttr(), i))
      numKernelSymbols = std::max(numKernelSymbols, map.getNumSymbols());
}

AffineExpr HostValues::addOpaque(Value value) {
  opaques.push_back(value);
  return getAffineSymbolExpr(numKernelSymbols + opaques.size() - 1, func.getContext());
}

AffineExpr HostValues::sizeOf(Value tensor, unsigned d) {
  auto type = cast<RankedTensorType>(tensor.getType());
  MLIRContext *context = func.getContext();
  if (!type.isDynamicDim(d))
    return getAffineConstantExpr(type.getDimSize(d), context);
  if (auto arg = dyn_cast<BlockArgument>(tensor)) {
    AffineMap map = arg.getOwner() == &func.getBody().front()
                        ? shapeOf(func.getArgAttrsAttr(), arg.getArgNumber())
                        : AffineMap();
    return map && map.getNumDims() == 0 && map.getNumResults() == (unsigned)type.getRank()
               ? map.getResult(d)
               : AffineExpr();
  }
  Operation *op = tensor.getDefiningOp();
  auto sizeFrom = [&](Value other, unsigned dim) { return sizeOf(other, dim); };
  return TypeSwitch<Operation *, AffineExpr>(op)
      .Case([&](tensor::EmptyOp empty) { return exprOf(empty.getMixedSizes()[d]); })
      .Case([&](tensor::ExtractSliceOp slice) {
        // A rank-reducing slice drops dims of size 1.
        llvm::SmallBitVector dropped = slice.getDroppedDims();
        unsigned at = 0;
        for (unsigned i = 0; i < dropped.size(); ++i)
          if (!dropped[i] && at++ == d)
            return exprOf(slice.getMixedSizes()[i]);
        return AffineExpr();
      })
      .Case([&](tensor::InsertSliceOp insert) { return sizeFrom(insert.getDest(), d); })
      .Case([&](tensor::CastOp cast) { return sizeFrom(cast.getSource(), d); })
      .Case([&](tensor::ExpandShapeOp expand) { return exprOf(expand.getMixedOutputShape()[d]); })
      .Case([&](tensor::CollapseShapeOp collapse) {
        AffineExpr size = getAffineConstantExpr(1, context);
        SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
        for (int64_t i : groups[d]) {
          AffineExpr part = sizeFrom(collapse.getSrc(), i);
          if (!part)
            return AffineExpr();
          size = size * part;
        }
        return size;
      })
      .Case([&](DestinationStyleOpInterface dps) {
        return sizeFrom(dps.getDpsInitOperand(cast<OpResult>(tensor).getResultNumber())->get(), d);
      })
      .Default(AffineExpr());
}

SmallVector<AffineExpr> HostValues::sizesOf(Value tensor) {
  SmallVector<AffineExpr> sizes;
  for (unsigned d = 0; d < cast<RankedTensorType>(tensor.getType()).getRank(); ++d)
    sizes.push_back(sizeOf(tensor, d));
  return sizes;
}

AffineExpr HostValues::exprOf(OpFoldResult value) {
  if (auto attr = dyn_cast<Attribute>(value))
    return getAffineConstantExpr(cast<IntegerAttr>(attr).getInt(), func.getContext());
  return exprOf(cast<Value>(value));
}

AffineExpr HostValues::exprOf(Value value) {
  if (auto it = exprs.find(value); it != exprs.end())
    return it->second;
  APInt constant;
  AffineExpr expr;
  Operation *op = value.getDefiningOp();
  if (matchPattern(value, m_ConstantInt(&constant))) {
    expr = getAffineConstantExpr(constant.getSExtValue(), func.getContext());
  } else if (auto arg = dyn_cast<BlockArgument>(value)) {
    if (std::optional<unsigned> symbol = symbolOf(arg))
      expr = getAffineSymbolExpr(*symbol, func.getContext());
  } else if (auto dim = dyn_cast_or_null<tensor::DimOp>(op)) {
    if (std::optional<int64_t> index = dim.getConstantIndex())
      expr = sizeOf(dim.getSource(), *index);
  } else if (isa_and_nonnull<arith::AddIOp>(op)) {
    expr = exprOf(op->getOperand(0)) + exprOf(op->getOperand(1));
  } else if (isa_and_nonnull<arith::SubIOp>(op)) {
    expr = exprOf(op->getOperand(0)) - exprOf(op->getOperand(1));
  } else if (isa_and_nonnull<arith::MulIOp>(op)) {
    expr = exprOf(op->getOperand(0)) * exprOf(op->getOperand(1));
  } else if (isa_and_nonnull<arith::FloorDivSIOp, arith::DivUIOp>(op)) {
    AffineExpr divisor = exprOf(op->getOperand(1));
    if (auto c = dyn_cast<AffineConstantExpr>(divisor); c && c.getValue() > 0)
      expr = exprOf(op->getOperand(0)).floorDiv(divisor);
  } else if (isa_and_nonnull<arith::IndexCastOp>(op)) {
    expr = exprOf(op->getOperand(0));
  } else if (auto apply = dyn_cast_or_null<affine::AffineApplyOp>(op)) {
    SmallVector<AffineExpr> operands;
    for (Value operand : apply.getMapOperands())
      operands.push_back(exprOf(operand));
    ArrayRef<AffineExpr> all = operands;
    unsigned dims = apply.getAffineMap().getNumDims();
    expr = apply.getAffineMap().getResult(0).replaceDimsAndSymbols(all.take_front(dims),
                                                                   all.drop_front(dims));
  }
  if (!expr)
    expr = addOpaque(value);
  return exprs[value] = expr;
}

Value buildAffine(OpBuilder &b, Location loc, AffineExprKind kind, Value lhs, Value rhs) {
  Type type = lhs.getType();
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, v));
  };
  switch (kind) {
  case AffineExprKind::Add:
    return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
  case AffineExprKind::Mul:
    return b.createOrFold<arith::MulIOp>(loc, lhs, rhs);
  case AffineExprKind::CeilDiv: {
    // ceil(a / b) = floor((a + b - 1) / b) for b > 0.
    Value less = b.createOrFold<arith::SubIOp>(loc, rhs, constant(1));
    return buildAffine(b, loc, AffineExprKind::FloorDiv,
                       b.createOrFold<arith::AddIOp>(loc, lhs, less), rhs);
  }
  default:
    break;
  }
  // Division that rounds to zero is one too high when the remainder is negative. Spelled out, so
  // that no expansion pass is needed.
  Value rem = b.createOrFold<arith::RemSIOp>(loc, lhs, rhs);
  Value negative = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, rem, constant(0));
  if (kind == AffineExprKind::Mod)
    return b.createOrFold<arith::SelectOp>(loc, negative,
                                           b.createOrFold<arith::AddIOp>(loc, rem, rhs), rem);
  Value quotient = b.createOrFold<arith::DivSIOp>(loc, lhs, rhs);
  return b.createOrFold<arith::SelectOp>(
      loc, negative, b.createOrFold<arith::SubIOp>(loc, quotient, constant(1)), quotient);
}

Value HostEvaluator::get(AffineExpr expr) {
  if (auto it = exprs.find(expr); it != exprs.end())
    return it->second;
  Value value;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    value = arith::ConstantIndexOp::create(b, loc, constant.getValue());
  } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    unsigned i = symbol.getPosition();
    if (i < host.kernelSymbols()) {
      auto ptr = LLVM::LLVMPointerType::get(b.getContext());
      Value slot = LLVM::GEPOp::create(b, loc, ptr, b.getI64Type(), dims,
                                       ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      value = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                         LLVM::LoadOp::create(b, loc, b.getI64Type(), slot));
    } else {
      value = get(host.opaque(i));
      if (!value.getType().isIndex())
        value = arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
    }
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = get(binary.getLHS()), rhs = get(binary.getRHS());
    value = buildAffine(b, loc, expr.getKind(), lhs, rhs);
  }
  return exprs[expr] = value;
}

Value HostEvaluator::get(Value value) {
  if (auto it = values.find(value); it != values.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  Value result;
  if (auto arg = dyn_cast<BlockArgument>(value); arg && symbolOf(arg)) {
    result = get(host.exprOf(value));
  } else if (auto dim = dyn_cast_or_null<tensor::DimOp>(op); dim && dim.getConstantIndex()) {
    if (AffineExpr size = host.sizeOf(dim.getSource(), *dim.getConstantIndex()))
      result = get(size);
  } else if (op && op->getNumRegions() == 0 && isPure(op) &&
             llvm::none_of(op->getOperandTypes(), llvm::IsaPred<ShapedType>)) {
    IRMapping map;
    for (Value operand : op->getOperands())
      map.map(operand, get(operand));
    result = b.clone(*op, map)->getResult(cast<OpResult>(value).getResultNumber());
  }
  if (!result) {
    if (!failure)
      failure = op ? op : host.kernel().getOperation();
    result = arith::ConstantOp::create(b, loc, b.getZeroAttr(value.getType()));
  }
  return values[value] = result;
}

} // namespace nx::loops
