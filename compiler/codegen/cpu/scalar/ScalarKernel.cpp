#include "compiler/codegen/cpu/scalar/ScalarKernel.h"

#include "runtime/include/nxrt/kernel_abi.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace nx {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static ScalarTensor describe(KernelBuilder &kb, RankedTensorType type, Value memory, bool isSplat = false) {
  ScalarTensor tensor;
  tensor.memory = memory;
  tensor.element = signlessElement(type.getElementType());
  tensor.isUnsigned = isUnsignedElement(type.getElementType());
  Value stride = kb.index(isSplat ? 0 : 1);
  for (AffineExpr dim : dimsOf(type))
    tensor.sizes.push_back(kb.size(dim));
  tensor.strides.resize(tensor.rank());
  for (unsigned i = tensor.rank(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride = kb.mul(stride, tensor.sizes[i]);
  }
  return tensor;
}

ScalarTensor ScalarKernel::operand(Value value) {
  if (!value)
    return {};
  if (auto argument = dyn_cast<BlockArgument>(value))
    return describe(kb, typeOf(value), kb.operand(argument.getArgNumber()));
  auto constant = value.getDefiningOp<ConstantOp>();
  auto data = cast<DenseElementsAttr>(constant.getValue());
  unsigned number = 0;
  for (auto other : kernel.getOps<ConstantOp>()) {
    if (other == constant)
      break;
    ++number;
  }
  bool isSplat = data.isSplat();
  if (isSplat)
    data = data.resizeSplat(RankedTensorType::get({1}, data.getElementType()));
  std::string name = (kernel.getName() + ".constant" + Twine(number)).str();
  return describe(kb, typeOf(value), kb.constantMemory(kernel->getParentOfType<ModuleOp>(), name, data), isSplat);
}

ScalarTensor ScalarKernel::result(unsigned number) {
  Value value = op->getResult(number), memory;
  Operation *terminator = kernel.getBody().front().getTerminator();
  for (auto [i, returned] : llvm::enumerate(terminator->getOperands()))
    if (returned == value)
      memory = kb.operand(kernel.getNumArguments() + i);
  return describe(kb, typeOf(value), memory);
}

Value ScalarKernel::offset(const ScalarTensor &x, ArrayRef<Value> index) {
  Value sum = kb.index(0);
  for (auto [i, stride] : llvm::zip_equal(index, x.strides))
    sum = kb.add(sum, kb.mul(i, stride));
  return sum;
}

Value ScalarKernel::load(const ScalarTensor &x, Value place) {
  Value value = memref::LoadOp::create(kb.b, kb.loc, x.memory, ValueRange(place));
  if (x.element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(kb.b, kb.loc, kb.b.getI8IntegerAttr(0));
    return at().compare(arith::CmpIPredicate::ne, value, zero);
  }
  return at().widen(value);
}

void ScalarKernel::store(Value value, const ScalarTensor &x, Value place) {
  if (!x)
    return;
  value = x.element.isInteger(1) ? arith::ExtUIOp::create(kb.b, kb.loc, kb.b.getI8Type(), value).getResult()
                                 : at().narrow(value, x.element);
  memref::StoreOp::create(kb.b, kb.loc, value, x.memory, ValueRange(place));
}

ScalarTensor ScalarKernel::scratch(Type element, Value byte) {
  ScalarTensor tensor;
  tensor.element = computeType(element);
  tensor.memory = kb.scratch(tensor.element, byte);
  return tensor;
}

SmallVector<Value> ScalarKernel::indexOf(Value number, ArrayRef<Value> sizes) {
  SmallVector<Value> index(sizes.size());
  for (unsigned i = sizes.size(); i-- > 0;) {
    index[i] = i ? kb.rem(number, sizes[i]) : number;
    if (i)
      number = kb.div(number, sizes[i]);
  }
  return index;
}

Value ScalarKernel::checkedIndex(Value number, Value size) {
  Value zero = kb.index(0);
  Value index = arith::IndexCastOp::create(kb.b, kb.loc, kb.b.getIndexType(), number);
  index = kb.select(kb.less(index, zero), kb.add(index, size), index);
  Value outside = at().compare(arith::CmpIPredicate::uge, index, size);
  kb.failIf(outside, NXRT_KERNEL_INDEX_OUT_OF_RANGE);
  return kb.select(outside, zero, index);
}

Value ScalarKernel::fold(Value count, Value init, function_ref<Value(Value, Value)> body) {
  return kb.loop(kb.index(0), count, 1, ValueRange(init), [&](Value i, ValueRange carried) {
    return SmallVector<Value>{body(i, carried[0])};
  })[0];
}

Value ScalarKernel::both(Value x, Value y) { return kb.b.createOrFold<arith::AndIOp>(kb.loc, x, y); }
Value ScalarKernel::either(Value x, Value y) { return kb.b.createOrFold<arith::OrIOp>(kb.loc, x, y); }

} // namespace nx
