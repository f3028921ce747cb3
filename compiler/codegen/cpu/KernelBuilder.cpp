#include "compiler/codegen/cpu/KernelBuilder.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace nx {

// --- Index arithmetic

Value KernelBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value KernelBuilder::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
Value KernelBuilder::sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
Value KernelBuilder::mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
Value KernelBuilder::div(Value x, Value y) { return b.createOrFold<arith::DivUIOp>(loc, x, y); }
Value KernelBuilder::rem(Value x, Value y) { return b.createOrFold<arith::RemUIOp>(loc, x, y); }
Value KernelBuilder::ceilDiv(Value x, Value y) { return div(sub(add(x, y), index(1)), y); }
Value KernelBuilder::min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(loc, x, y); }
Value KernelBuilder::max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(loc, x, y); }
Value KernelBuilder::less(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}
Value KernelBuilder::equal(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}
Value KernelBuilder::logicalAnd(Value x, Value y) {
  return b.createOrFold<arith::AndIOp>(loc, x, y);
}
Value KernelBuilder::select(Value condition, Value x, Value y) {
  return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
}

std::optional<int64_t> KernelBuilder::constant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

// --- Control flow

SmallVector<Value> KernelBuilder::loop(Value from, Value to, int64_t step, ValueRange init,
                                       LoopBody body) {
  auto op = scf::ForOp::create(b, loc, from, to, index(step), init);
  OpBuilder::InsertionGuard guard(b);
  if (init.empty()) {
    b.setInsertionPoint(op.getBody()->getTerminator());
    body(op.getInductionVar(), {});
    return {};
  }
  b.setInsertionPointToStart(op.getBody());
  scf::YieldOp::create(b, loc, body(op.getInductionVar(), op.getRegionIterArgs()));
  return SmallVector<Value>(op.getResults());
}

void KernelBuilder::loop(Value from, Value to, int64_t step, function_ref<void(Value)> body) {
  loop(from, to, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

void KernelBuilder::ifThen(Value condition, function_ref<void()> then) {
  if (std::optional<int64_t> known = constant(condition)) {
    if (*known)
      then();
    return;
  }
  scf::IfOp::create(b, loc, condition, [&](OpBuilder &, Location) {
    then();
    scf::YieldOp::create(b, loc);
  });
}

void KernelBuilder::ifElse(Value condition, function_ref<void()> then,
                           function_ref<void()> otherwise) {
  if (std::optional<int64_t> known = constant(condition))
    return *known ? then() : otherwise();
  scf::IfOp::create(
      b, loc, condition,
      [&](OpBuilder &, Location) {
        then();
        scf::YieldOp::create(b, loc);
      },
      [&](OpBuilder &, Location) {
        otherwise();
        scf::YieldOp::create(b, loc);
      });
}

KernelBuilder::Values KernelBuilder::choose(Value condition, TypeRange types,
                                            function_ref<Values()> then,
                                            function_ref<Values()> otherwise) {
  if (std::optional<int64_t> known = constant(condition))
    return *known ? then() : otherwise();
  auto op = scf::IfOp::create(b, loc, types, condition, /*addThenBlock=*/true,
                              /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  scf::YieldOp::create(b, loc, then());
  b.setInsertionPointToStart(op.elseBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return Values(op.getResults());
}

void KernelBuilder::switchOver(Value value, ArrayRef<int64_t> cases,
                               function_ref<void(int64_t)> body) {
  if (cases.size() == 1)
    return body(cases.front());
  if (std::optional<int64_t> known = constant(value))
    return body(llvm::is_contained(cases, *known) ? *known : cases.back());
  auto op =
      scf::IndexSwitchOp::create(b, loc, TypeRange(), value, cases.drop_back(), cases.size() - 1);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Region &region, int64_t number) {
    b.createBlock(&region);
    body(number);
    scf::YieldOp::create(b, loc);
  };
  for (auto [region, number] : llvm::zip(op.getCaseRegions(), cases.drop_back()))
    fill(region, number);
  fill(op.getDefaultRegion(), cases.back());
}

// --- Vectors

VectorType KernelBuilder::vectorType() { return VectorType::get({lanes}, b.getF32Type()); }
VectorType KernelBuilder::maskType() { return VectorType::get({lanes}, b.getI1Type()); }
Value KernelBuilder::splat(float value) {
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(vectorType(), value));
}
Value KernelBuilder::scalar(float value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
}
Value KernelBuilder::broadcast(Value value) {
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, value.getType()), value);
}
Value KernelBuilder::fma(Value x, Value y, Value z) {
  return vector::FMAOp::create(b, loc, x, y, z);
}
Value KernelBuilder::laneIndices() {
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  auto type = VectorType::get({lanes}, b.getI32Type());
  return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
}
Value KernelBuilder::maskOfFirst(Value count) {
  Value bounded = min(count, index(lanes));
  Value wide = broadcast(b.createOrFold<arith::IndexCastOp>(loc, b.getI32Type(), bounded));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneIndices(), wide);
}

Value KernelBuilder::shuffle(Value x, Value y, function_ref<int64_t(int64_t)> source) {
  SmallVector<int64_t> mask;
  for (int64_t lane = 0; lane < lanes; ++lane)
    mask.push_back(source(lane));
  return vector::ShuffleOp::create(b, loc, x, y, mask);
}

// Within groups of four lanes by interleaving, which is
// what x86 and Arm have instructions for; then the groups change places.
void KernelBuilder::transpose(MutableArrayRef<Value> rows) {
  SmallVector<Value> next(rows.begin(), rows.end());
  for (int64_t i = 0; i < lanes; i += 2)
    for (int64_t half : {0, 1})
      next[i + half] = shuffle(rows[i], rows[i + 1], [&](int64_t lane) {
        return lane / 4 * 4 + half * 2 + lane % 4 / 2 + (lane % 2 ? lanes : 0);
      });
  for (int64_t i = 0; i < lanes; i += 4)
    for (int64_t c = 0; c < 4; ++c)
      rows[i + c] = shuffle(next[i + c / 2], next[i + c / 2 + 2], [&](int64_t lane) {
        return lane / 4 * 4 + c % 2 * 2 + lane % 2 + (lane % 4 / 2 ? lanes : 0);
      });
  // Group g of rows[4 q + c] belongs into group q of rows[4 g + c].
  for (int64_t distance = 4; distance < lanes; distance *= 2)
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & distance)
        continue;
      Value x = rows[i], y = rows[i + distance];
      rows[i] = shuffle(
          x, y, [&](int64_t lane) { return lane & distance ? lanes + lane - distance : lane; });
      rows[i + distance] = shuffle(
          x, y, [&](int64_t lane) { return lane & distance ? lanes + lane : lane + distance; });
    }
}

Value KernelBuilder::reduceLanes(Value x, Combine combine) {
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
    x = combine(*this, x, shuffle(x, x, [&](int64_t lane) { return lane ^ distance; }));
  return x;
}

// --- Memory

static Type elementOf(Value memory) { return cast<MemRefType>(memory.getType()).getElementType(); }

// The one place that knows how values widen from memory and narrow to it. Integers stay as they
// are.
static Value widen(KernelBuilder &kb, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isF32() || !isa<FloatType>(element))
    return value;
  Type wide = kb.b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    wide = VectorType::get(vector.getShape(), wide);
  return arith::ExtFOp::create(kb.b, kb.loc, wide, value);
}
static Value narrow(KernelBuilder &kb, Value value, Type element) {
  if (getElementTypeOrSelf(value.getType()) == element)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    element = VectorType::get(vector.getShape(), element);
  return arith::TruncFOp::create(kb.b, kb.loc, element, value);
}

Value KernelBuilder::loadVector(Value memory, Value at, Value mask) {
  auto type = VectorType::get({lanes}, elementOf(memory));
  if (!mask)
    return widen(*this, vector::LoadOp::create(b, loc, type, memory, at));
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return widen(*this,
               vector::MaskedLoadOp::create(b, loc, type, memory, ValueRange(at), mask, zero));
}
void KernelBuilder::storeVector(Value vector, Value memory, Value at, Value mask) {
  vector = narrow(*this, vector, elementOf(memory));
  if (mask)
    vector::MaskedStoreOp::create(b, loc, memory, ValueRange(at), mask, vector);
  else
    vector::StoreOp::create(b, loc, vector, memory, at);
}
Value KernelBuilder::loadScalar(Value memory, Value at) {
  return widen(*this, memref::LoadOp::create(b, loc, memory, at));
}
void KernelBuilder::storeScalar(Value value, Value memory, Value at) {
  memref::StoreOp::create(b, loc, narrow(*this, value, elementOf(memory)), memory, at);
}

// `stride` times the lane numbers, as i64: strides of large tensors do not fit 32 bits.
static Value stridedOffsets(KernelBuilder &kb, Value stride) {
  auto type = VectorType::get({kb.lanes}, kb.b.getIndexType());
  Value step = vector::StepOp::create(kb.b, kb.loc, type);
  return arith::MulIOp::create(kb.b, kb.loc, step, kb.broadcast(stride));
}
static Value allLanes(KernelBuilder &kb) {
  return arith::ConstantOp::create(kb.b, kb.loc, DenseElementsAttr::get(kb.maskType(), true));
}

Value KernelBuilder::loadStrided(Value memory, Value at, Value stride, Value mask) {
  std::optional<int64_t> known = constant(stride);
  if (known == 1)
    return loadVector(memory, at, mask);
  if (known == 0)
    return loadBroadcast(memory, at);
  auto type = VectorType::get({lanes}, elementOf(memory));
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return widen(*this, vector::GatherOp::create(b, loc, type, memory, ValueRange(at),
                                               stridedOffsets(*this, stride),
                                               mask ? mask : allLanes(*this), zero));
}
void KernelBuilder::storeStrided(Value vector, Value memory, Value at, Value stride, Value mask) {
  if (constant(stride) == 1)
    return storeVector(vector, memory, at, mask);
  vector::ScatterOp::create(b, loc, /*resultType=*/Type(), memory, ValueRange(at),
                            stridedOffsets(*this, stride), mask ? mask : allLanes(*this),
                            narrow(*this, vector, elementOf(memory)));
}

void KernelBuilder::prefetch(Value memory, Value at, unsigned locality, bool write) {
  memref::PrefetchOp::create(b, loc, memory, at, write, locality, /*isDataCache=*/true);
}

Value KernelBuilder::memoryAt(Value pointer, Type element) {
  if (element.isInteger(1))
    element = b.getI8Type();
  // The descriptor that a memref<?xT> is lowered to; the cast disappears with the memref. The size
  // is not looked at by loads and stores.
  auto type = MemRefType::get({ShapedType::kDynamic}, element);
  Type i64 = b.getI64Type();
  auto one = LLVM::LLVMArrayType::get(i64, 1);
  auto descriptorType = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {pointer.getType(), pointer.getType(), i64, one, one});
  Value descriptor = LLVM::UndefOp::create(b, loc, descriptorType);
  auto insert = [&](Value value, ArrayRef<int64_t> at) {
    descriptor = LLVM::InsertValueOp::create(b, loc, descriptor, value, at);
  };
  auto number = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(value));
  };
  insert(pointer, {0});
  insert(pointer, {1});
  insert(number(0), {2});
  insert(number(int64_t(1) << 40), {3, 0});
  insert(number(1), {4, 0});
  return UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0);
}

Value KernelBuilder::offsetPointer(Value pointer, Value bytes) {
  if (constant(bytes) == 0)
    return pointer;
  Value offset = b.createOrFold<arith::IndexCastOp>(loc, b.getI64Type(), bytes);
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value KernelBuilder::constantMemory(ModuleOp module, StringRef name, DenseElementsAttr data) {
  auto type = RankedTensorType::get({data.getNumElements()}, data.getElementType());
  if (type.getElementType().isInteger(1)) {
    // A bool is a byte in memory.
    SmallVector<int8_t> bytes;
    for (bool value : data.getValues<bool>())
      bytes.push_back(value);
    data = DenseElementsAttr::get(type.clone(b.getI8Type()), ArrayRef(bytes));
  } else if (auto integer = dyn_cast<IntegerType>(type.getElementType()); integer && !integer.isSignless()) {
    data = data.bitcast(b.getIntegerType(integer.getWidth()));
  }
  data = data.reshape(type.clone(data.getElementType()));
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder atModule = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(
        atModule, loc, LLVM::LLVMArrayType::get(data.getElementType(), data.getNumElements()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, data, /*alignment=*/64);
  }
  return memoryAt(LLVM::AddressOfOp::create(b, loc, global), data.getElementType());
}

void KernelBuilder::failIf(Value condition, int32_t code) {
  assert(status && "the signature does not say that the kernel can fail");
  ifThen(condition, [&] {
    Value number = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(code));
    memref::StoreOp::create(b, loc, number, status, ValueRange(index(0)));
  });
}

Value KernelBuilder::scratch(Type element, Value byteOffset) {
  return memoryAt(offsetPointer(scratchPointer, byteOffset), element);
}

// --- Sizes

Value KernelBuilder::size(AffineExpr expr) {
  expr = simplifyAffineExpr(expr, 0, symbols.size());
  if (auto known = dyn_cast<AffineConstantExpr>(expr))
    return index(known.getValue());
  return affine::expandAffineExpr(b, loc, expr, {}, symbols);
}
std::optional<int64_t> KernelBuilder::constant(AffineExpr expr) {
  if (auto known = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(expr, 0, 64)))
    return known.getValue();
  return std::nullopt;
}

// --- The frame

struct KernelFrame {
  static Value loadSlot(KernelBuilder &kb, Value base, Type type, int64_t slot) {
    Value at = base;
    if (slot)
      at = LLVM::GEPOp::create(kb.b, kb.loc, base.getType(), type, base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(slot)});
    return LLVM::LoadOp::create(kb.b, kb.loc, type, at);
  }
  static void loadSymbols(KernelBuilder &kb, Value dims, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      kb.symbols.push_back(arith::IndexCastOp::create(kb.b, kb.loc, kb.b.getIndexType(),
                                                      loadSlot(kb, dims, kb.b.getI64Type(), i)));
  }
  static void loadCall(KernelBuilder &kb, Value call, const KernelSignature &signature) {
    Type pointer = call.getType();
    Value operands = loadSlot(kb, call, pointer, 0);
    Value dims = loadSlot(kb, call, pointer, 1);
    kb.scratchPointer = loadSlot(kb, call, pointer, 2);
    for (auto [i, type] : llvm::enumerate(signature.operands)) {
      kb.operandPointers.push_back(loadSlot(kb, operands, pointer, i));
      kb.operands.push_back(kb.memoryAt(kb.operandPointers.back(), type));
    }
    loadSymbols(kb, dims, signature.symbols);
  }
  static void addStatus(KernelBuilder &kb, Value initial) {
    kb.status = memref::AllocaOp::create(kb.b, kb.loc, MemRefType::get({1}, kb.b.getI32Type()));
    memref::StoreOp::create(kb.b, kb.loc, initial, kb.status, ValueRange(kb.index(0)));
  }
  static Value loadStatus(KernelBuilder &kb) {
    return memref::LoadOp::create(kb.b, kb.loc, kb.status, ValueRange(kb.index(0)));
  }
};

void emitKernelFunctions(ModuleOp module, StringRef name, Location loc,
                         const KernelSignature &signature, const TargetDescription &target,
                         const KernelBodies &bodies) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());

  auto addFunction = [&](StringRef suffix, TypeRange inputs, Type result) {
    builder.setInsertionPointToEnd(module.getBody());
    auto function = func::FuncOp::create(builder, loc, (name + suffix).str(),
                                         builder.getFunctionType(inputs, result));
    builder.setInsertionPointToStart(function.addEntryBlock());
    return function;
  };

  {
    auto function = addFunction("", {pointer, i64, i64}, i32);
    KernelBuilder kb(builder, loc, target);
    KernelFrame::loadCall(kb, function.getArgument(0), signature);
    Type indexType = builder.getIndexType();
    Value begin = arith::IndexCastOp::create(builder, loc, indexType, function.getArgument(1));
    Value end = arith::IndexCastOp::create(builder, loc, indexType, function.getArgument(2));
    Value status = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
    if (signature.canFail)
      KernelFrame::addStatus(kb, status);
    bodies.run(kb, begin, end);
    if (signature.canFail)
      status = KernelFrame::loadStatus(kb);
    func::ReturnOp::create(builder, loc, status);
  }
  auto addSizeFunction = [&](StringRef suffix, const std::function<Value(KernelBuilder &)> &body) {
    auto function = addFunction(suffix, {pointer}, i64);
    KernelBuilder kb(builder, loc, target);
    KernelFrame::loadSymbols(kb, function.getArgument(0), signature.symbols);
    Value result = arith::IndexCastOp::create(builder, loc, i64, body(kb));
    func::ReturnOp::create(builder, loc, result);
  };
  addSizeFunction(".tiles", bodies.tiles);
  addSizeFunction(".scratch_bytes", bodies.scratchBytes);
  addSizeFunction(".grain", bodies.grain);
}

// A dispatch on more threads costs some microseconds of waking and waiting.
static constexpr int64_t kNanosecondsWorthAThread = 5000;

Value grainForTileCost(KernelBuilder &kb, Value nanoseconds) {
  return kb.ceilDiv(kb.index(kNanosecondsWorthAThread), kb.max(nanoseconds, kb.index(1)));
}

} // namespace nx
