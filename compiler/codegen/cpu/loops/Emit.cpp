// Writes the loops of a plan.
#include "compiler/codegen/cpu/loops/Emit.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "runtime/include/nxrt/kernel_abi.h"

using namespace mlir;

namespace nx::loops {
namespace {

// Bytes of traffic that are worth handing to another thread.
constexpr int64_t kGrainBytes = 16384;

// A value at one point of the iteration space: one scalar, or `unroll` vectors.
struct Lanes {
  SmallVector<Value> v;
  bool vec = false;
  bool data = false; // depends on an element of a tensor
  AffineExpr affine; // over classes, when the value is an affine function of the loops
};

// Where in the iteration space code is being emitted.
struct Point {
  DenseMap<int, Value> index; // of each class whose loop is open
  int lane = -1;              // the class that lanes run along; -1: scalar code
  int step = -1;              // the class that the vectors of a Lanes step along
  int64_t stepSize = 0;       // by how much
  int unroll = 1;             // how many
  SmallVector<Value> mask;    // of each vector; empty: all lanes live
  // At the edge of a Turn tile: how many steps are left, the mask along `step`, and whether each
  // lane is live.
  Value stepsLeft, stepMask;
  SmallVector<Value> laneLive;
  // What has been loaded or computed here.
  SmallVector<std::pair<Access, Lanes>> known;
};

// The offset of an access: base + lane * laneStride, and for vector u another u steps.
struct Address {
  Value base;
  AffineExpr laneStride; // null: not linear, then `lanes` holds the whole offset of each vector
  AffineExpr stepStride;
  SmallVector<Value> lanes;
};

class Emitter {
public:
  Emitter(Model &model, Plan &plan)
      : model(model), plan(plan), kernel(model.host.kernel()), b(kernel.getContext()),
        prologue(kernel.getContext()), loc(kernel.getLoc()),
        ptr(LLVM::LLVMPointerType::get(b.getContext())) {}

  LogicalResult run();

private:
  using Values = SmallVector<Value>;

  // --- Functions around the loops (and the error that makes the emission void).
  func::FuncOp startFunction(StringRef suffix, TypeRange arguments, Type result);
  void emitRun();
  void emitSizes();
  void emitPart(Part &part, Value begin, Value end);
  void fail(Operation *op, const Twine &message) {
    if (!failed)
      (op ? op : kernel.getOperation())->emitError("loop emitter: ") << message;
    failed = true;
  }

  // --- Memory.
  Value memrefOf(Value pointer, Type element);
  Value loadOperand(Value base, int index, Type type);
  Value memory(int buffer);
  // Bools are bytes. 16-bit floats move as integers: moving them needs no float instructions then,
  // which a target may not have.
  Type memoryType(Type element) {
    if (element.isInteger(1))
      return b.getI8Type();
    return element.isF16() || element.isBF16() ? b.getI16Type() : element;
  }

  // --- Loops.
  void forLoop(Value lo, Value hi, int64_t step, llvm::function_ref<void(Value)> body);
  Values forLoop(Value lo, Value hi, Value step, ValueRange init,
                 llvm::function_ref<Values(Value, Values)> body);
  Values laneLoop(Value lo, Value hi, int lanes, int unroll, ArrayRef<Operation *> combiners,
                  Values accs, llvm::function_ref<Values(Value, int, Value, Values)> body);
  void emitGroups(Part &part, Point &point);
  void emitTurn(Part &part, Point point, Value lo, Value hi);
  void emitParallel(Part &part, Group &group, unsigned depth, Point &point);
  void emitReductions(Part &part, Group &group, Point &point);
  Values emitReduced(Part &part, Group &group, unsigned depth, Point &point, Values accs);
  Values emitBody(Part &part, Group &group, Point &point, ArrayRef<Value> accs);
  void preload(Group &group, Point &point);

  // --- One point.
  Lanes read(const Input &input, Point &point);
  Lanes load(const Access &access, Point &point);
  Lanes loadAt(int buffer, const Address &address, Point &point);
  void store(const Lanes &value, const Access &access, Point &point);
  SmallVector<Lanes> emitRegion(const Node &node, ArrayRef<Lanes> args, Point &point);
  Lanes emitOp(Operation *op, IRMapping &scalars, DenseMap<Value, Lanes> &values, Point &point);
  Lanes emitIndex(const Node &node, linalg::IndexOp op, Point &point);
  Lanes emitGather(const Node &node, tensor::ExtractOp op, SmallVector<Lanes> index, Point &point);
  void report(Value bad, int32_t status);

  // --- Addresses.
  Address addressOf(const Access &access, Point &point);
  Value offsetAt(const Address &address, const Access &access, Point &point, int u, bool inRange);
  Value scalarIndex(AffineExpr expr, Point &point, int localLane, Value stepOffset);
  Value laneIndex(AffineExpr expr, Point &point, int u);
  Value indexOf(int cls, Point &point, int u);

  // --- Values.
  Value index(int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value vectorOf(Value v, int lanes) {
    return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, v.getType()), v);
  }
  Value stepVector(int lanes) {
    return vector::StepOp::create(b, loc, VectorType::get({lanes}, b.getIndexType()));
  }
  Value zero(Type type) { return arith::ConstantOp::create(b, loc, b.getZeroAttr(type)); }
  Value laneOf(const Lanes &value, int u, Point &point) {
    return value.vec ? value.v[u] : vectorOf(value.v[0], lanes);
  }
  Value maskOf(Value count) {
    return vector::CreateMaskOp::create(b, loc, VectorType::get({lanes}, b.getI1Type()),
                                        ValueRange{count});
  }
  Value allLanes() {
    auto type = VectorType::get({lanes}, b.getI1Type());
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, true));
  }
  static std::optional<int64_t> constantIndex(Value v) {
    APInt value;
    return matchPattern(v, m_ConstantInt(&value)) ? std::optional(value.getSExtValue())
                                                  : std::nullopt;
  }
  static Type sameShape(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get(vector.getShape(), element) : element;
  }
  Value fromMemory(Value v, Type element);
  Value toMemory(Value v);
  Value combine(Operation *combiner, Value x, Value y);
  Values turn(Values rows);
  Value loadVector(Value mem, Value at, Value mask);
  Value gatherVector(Value mem, Value base, Value offsets, Value mask);
  void storeVector(Value v, Value mem, Value at, Value mask);

  Model &model;
  Plan &plan;
  func::FuncOp kernel;
  OpBuilder b;        // where the loops grow
  OpBuilder prologue; // before them all
  Location loc;
  Type ptr;
  HostEvaluator *eval = nullptr;
  Value scratch, operands;
  DenseMap<int, Value> memrefs;
  Value status;        // address of the kernel's result, when something is checked
  Value emptySource;   // whether a checked gather has no element to fall back to
  int lanes = 1;       // of the part that is being emitted
  int columnLane = -1; // its lane class, in Column mode
  bool failed = false;
};

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::loadOperand(Value base, int i, Type type) {
  Value at = LLVM::GEPOp::create(prologue, loc, ptr, type, base, ArrayRef<LLVM::GEPArg>{i});
  return LLVM::LoadOp::create(prologue, loc, type, at);
}

// A memref over raw memory: offset 0, stride 1, and no size that anybody looks at.
Value Emitter::memrefOf(Value pointer, Type element) {
  OpBuilder &b = prologue;
  auto type = MemRefType::get({ShapedType::kDynamic}, memoryType(element));
  Type i64 = b.getI64Type(), array = LLVM::LLVMArrayType::get(i64, 1);
  auto descriptor = LLVM::LLVMStructType::getLiteral(b.getContext(), {ptr, ptr, i64, array, array});
  Value zero = LLVM::ConstantOp::create(b, loc, i64, 0);
  Value one = LLVM::ConstantOp::create(b, loc, i64, 1);
  Value size = LLVM::ConstantOp::create(b, loc, i64, int64_t(1) << 40);
  Value d = LLVM::PoisonOp::create(b, loc, descriptor);
  auto set = [&](Value v, ArrayRef<int64_t> at) {
    d = LLVM::InsertValueOp::create(b, loc, d, v, at);
  };
  set(pointer, {0});
  set(pointer, {1});
  set(zero, {2});
  set(size, {3, 0});
  set(one, {4, 0});
  return UnrealizedConversionCastOp::create(b, loc, type, d).getResult(0);
}

Value Emitter::memory(int id) {
  if (Value known = memrefs.lookup(id))
    return known;
  const Storage &storage = plan.storage[id];
  Type element = model.buffers[id].element;
  Value pointer;
  switch (storage.kind) {
  case Storage::Operand:
    pointer = loadOperand(operands, storage.operand, ptr);
    break;
  case Storage::Scratch: {
    Value offset =
        arith::IndexCastOp::create(prologue, loc, b.getI64Type(), eval->get(storage.offset));
    pointer = LLVM::GEPOp::create(prologue, loc, ptr, b.getI8Type(), scratch,
                                  ArrayRef<LLVM::GEPArg>{offset});
    break;
  }
  case Storage::Constant: {
    DenseElementsAttr data = model.buffers[id].constant;
    if (element.isInteger(1))
      data = data.mapValues(b.getI8Type(), [](const APInt &v) { return v.zext(8); });
    else if (element.isIndex())
      data = data.mapValues(b.getI64Type(), [](const APInt &v) { return v.sextOrTrunc(64); });
    else if (memoryType(element) != element)
      data = data.bitcast(memoryType(element));
    Type stored = data.getElementType();
    data = data.reshape(RankedTensorType::get({data.getNumElements()}, stored));
    OpBuilder atModule = OpBuilder::atBlockBegin(kernel->getParentOfType<ModuleOp>().getBody());
    std::string name = (kernel.getName() + ".constant" + Twine(id)).str();
    auto global = LLVM::GlobalOp::create(
        atModule, loc, LLVM::LLVMArrayType::get(stored, data.getNumElements()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name, data, /*alignment=*/64);
    pointer = LLVM::AddressOfOp::create(prologue, loc, global);
    break;
  }
  case Storage::None:
    fail(nullptr, "a tensor has no storage");
    pointer = scratch;
  }
  return memrefs[id] = memrefOf(pointer, element);
}

// A loaded value in the tensor's type, and back.
Value Emitter::fromMemory(Value v, Type element) {
  Type stored = getElementTypeOrSelf(v.getType());
  if (stored == element)
    return v;
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero(v.getType()));
  return arith::BitcastOp::create(b, loc, sameShape(v.getType(), element), v);
}

Value Emitter::toMemory(Value v) {
  Type element = getElementTypeOrSelf(v.getType()), stored = memoryType(element);
  if (stored == element)
    return v;
  Type type = sameShape(v.getType(), stored);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, loc, type, v);
  return arith::BitcastOp::create(b, loc, type, v);
}

Value Emitter::loadVector(Value mem, Value at, Value mask) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(mem.getType()).getElementType());
  if (!mask)
    return vector::LoadOp::create(b, loc, type, mem, ValueRange{at});
  return vector::MaskedLoadOp::create(b, loc, type, mem, ValueRange{at}, mask, zero(type));
}

Value Emitter::gatherVector(Value mem, Value base, Value offsets, Value mask) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(mem.getType()).getElementType());
  return vector::GatherOp::create(b, loc, type, mem, ValueRange{base}, offsets,
                                  mask ? mask : allLanes(), zero(type));
}

void Emitter::storeVector(Value v, Value mem, Value at, Value mask) {
  if (mask)
    vector::MaskedStoreOp::create(b, loc, mem, ValueRange{at}, mask, v);
  else
    vector::StoreOp::create(b, loc, v, mem, ValueRange{at});
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

// The class's index at vector `u`, lane 0.
Value Emitter::indexOf(int cls, Point &point, int u) {
  Value i = point.index.lookup(cls);
  if (!i) {
    fail(nullptr, "an index is used outside of its loop");
    return index(0);
  }
  return cls == point.step && u ? add(i, index(u * point.stepSize)) : i;
}

// `expr` at lane 0. The lane class counts from 0 when it is `localLane`; `stepOffset` is added to
// the index of the step class.
Value Emitter::scalarIndex(AffineExpr expr, Point &point, int localLane, Value stepOffset) {
  if (expr.isSymbolicOrConstant())
    return eval->get(expr);
  if (int cls = plainClass(expr); cls >= 0) {
    Value i = cls == localLane ? index(0) : indexOf(cls, point, 0);
    return cls == point.step && stepOffset ? add(i, stepOffset) : i;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  return buildAffine(b, loc, expr.getKind(),
                     scalarIndex(binary.getLHS(), point, localLane, stepOffset),
                     scalarIndex(binary.getRHS(), point, localLane, stepOffset));
}

// `expr` at every lane of vector `u`.
Value Emitter::laneIndex(AffineExpr expr, Point &point, int u) {
  if (expr.isSymbolicOrConstant())
    return vectorOf(eval->get(expr), lanes);
  if (int cls = plainClass(expr); cls >= 0) {
    Value i = vectorOf(indexOf(cls, point, u), lanes);
    return cls == point.lane ? add(i, stepVector(lanes)) : i;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = laneIndex(binary.getLHS(), point, u), rhs = laneIndex(binary.getRHS(), point, u);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(lhs, rhs);
  case AffineExprKind::Mul:
    return mul(lhs, rhs);
  default:
    break;
  }
  // Division rounds down. The divisor is positive; indices that lanes divide are not negative,
  // as they come from a reshape.
  return expr.getKind() == AffineExprKind::Mod ? b.createOrFold<arith::RemUIOp>(loc, lhs, rhs)
                                               : b.createOrFold<arith::DivUIOp>(loc, lhs, rhs);
}

Address Emitter::addressOf(const Access &access, Point &point) {
  const Storage &storage = plan.storage[access.buffer];
  Address address;
  MLIRContext *context = b.getContext();
  address.laneStride = strideAlong(access, storage.strides, point.lane, context);
  address.stepStride = strideAlong(access, storage.strides, point.step, context);
  int localLane = storage.local ? columnLane : -1;
  Value base = index(0);
  for (const Term &term : access.terms)
    if (constantOf(storage.strides[term.last]) != 0)
      base = add(base, mul(scalarIndex(term.index, point, localLane, {}),
                           eval->get(storage.strides[term.last])));
  address.base = base;
  if (point.lane >= 0 && !address.laneStride)
    for (int u = 0; u < point.unroll; ++u) {
      Value offset = zero(VectorType::get({lanes}, b.getIndexType()));
      for (const Term &term : access.terms)
        offset = add(offset, mul(laneIndex(term.index, point, u),
                                 vectorOf(eval->get(storage.strides[term.last]), lanes)));
      address.lanes.push_back(offset);
    }
  return address;
}

// The offset of vector `u`, lane 0. `inRange`: at an edge, stay on a step that exists.
Value Emitter::offsetAt(const Address &address, const Access &access, Point &point, int u,
                        bool inRange) {
  if (u == 0 || constantOf(address.stepStride) == 0)
    return address.base;
  Value steps = index(u * point.stepSize);
  if (inRange && point.stepsLeft)
    steps = arith::MinUIOp::create(b, loc, steps, sub(point.stepsLeft, index(1)));
  if (address.stepStride)
    return add(address.base, mul(steps, eval->get(address.stepStride)));
  const Storage &storage = plan.storage[access.buffer];
  Value base = index(0);
  for (const Term &term : access.terms)
    base = add(base, mul(scalarIndex(term.index, point, -1, steps),
                         eval->get(storage.strides[term.last])));
  return base;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

// Transposes a square of vectors with shuffles: log2(lanes) rounds. Not vector.transpose, which
// canonicalization takes apart into scalars when it stands between inserts and extracts.
SmallVector<Value> Emitter::turn(SmallVector<Value> rows) {
  auto shuffle = [&](Value x, Value y, llvm::function_ref<int64_t(int)> from) -> Value {
    SmallVector<int64_t> mask;
    for (int i = 0; i < lanes; ++i)
      mask.push_back(from(i));
    return vector::ShuffleOp::create(b, loc, x, y, mask);
  };
  for (int s = 1; s < lanes; s *= 2)
    for (int i = 0; i < lanes; ++i)
      if (!(i & s)) {
        Value x = rows[i], y = rows[i + s];
        rows[i] = shuffle(x, y, [&](int j) { return j & s ? lanes + j - s : j; });
        rows[i + s] = shuffle(x, y, [&](int j) { return j & s ? lanes + j : j + s; });
      }
  return rows;
}

Lanes Emitter::loadAt(int buffer, const Address &address, Point &point) {
  Access access; // only nonlinear step strides need it, and those come through load()
  access.buffer = buffer;
  Lanes result;
  result.data = true;
  Value mem = memory(buffer);
  Type element = model.buffers[buffer].element;
  bool uniform = point.lane < 0 || (address.laneStride && constantOf(address.laneStride) == 0);
  bool steps = point.step >= 0 && constantOf(address.stepStride) != 0;
  if (uniform && !steps) {
    result.v.push_back(
        fromMemory(memref::LoadOp::create(b, loc, mem, ValueRange{address.base}), element));
    return result;
  }
  result.vec = true;
  std::optional<int64_t> stride =
      address.laneStride ? constantOf(address.laneStride) : std::nullopt;
  if (point.step != point.lane && constantOf(address.stepStride) == 1 && !uniform && stride != 1 &&
      address.laneStride) {
    // Rows along the step class, turned in registers.
    SmallVector<Value> rows;
    for (int k = 0; k < lanes; ++k) {
      Value mask;
      if (point.stepMask)
        mask = arith::AndIOp::create(b, loc, point.stepMask, vectorOf(point.laneLive[k], lanes));
      Value at = add(address.base, mul(index(k), eval->get(address.laneStride)));
      rows.push_back(loadVector(mem, at, mask));
    }
    result.v = turn(rows);
  } else {
    for (int u = 0; u < point.unroll; ++u) {
      Value mask = point.mask.empty() ? Value() : point.mask[u];
      if (!address.lanes.empty()) {
        result.v.push_back(gatherVector(mem, index(0), address.lanes[u], mask));
        continue;
      }
      Value at = offsetAt(address, access, point, u, /*inRange=*/uniform);
      if (uniform) {
        result.v.push_back(vectorOf(memref::LoadOp::create(b, loc, mem, ValueRange{at}), lanes));
      } else if (stride == 1) {
        result.v.push_back(loadVector(mem, at, mask));
      } else if (stride == -1 && !mask) {
        SmallVector<int64_t> reversed;
        for (int i = lanes; i-- > 0;)
          reversed.push_back(i);
        Value v = loadVector(mem, sub(at, index(lanes - 1)), {});
        result.v.push_back(vector::ShuffleOp::create(b, loc, v, v, reversed));
      } else if (stride == 2 && !mask) {
        // Two loads that end at the last element wanted, so that nothing past it is touched.
        SmallVector<int64_t> even;
        for (int i = 0; i < lanes; ++i)
          even.push_back(2 * i < lanes ? 2 * i : 2 * i + 1);
        Value low = loadVector(mem, at, {});
        Value high = loadVector(mem, add(at, index(lanes - 1)), {});
        result.v.push_back(vector::ShuffleOp::create(b, loc, low, high, even));
      } else {
        Value offsets = mul(stepVector(lanes), vectorOf(eval->get(address.laneStride), lanes));
        result.v.push_back(gatherVector(mem, at, offsets, mask));
      }
    }
  }
  for (Value &v : result.v)
    v = fromMemory(v, element);
  return result;
}

Lanes Emitter::load(const Access &access, Point &point) {
  for (auto &[known, value] : point.known)
    if (known == access)
      return value;
  Lanes value = loadAt(access.buffer, addressOf(access, point), point);
  // What several nodes write changes between two loads.
  if (model.buffers[access.buffer].writers.size() <= 1)
    point.known.push_back({access, value});
  return value;
}

void Emitter::store(const Lanes &value, const Access &access, Point &point) {
  Value mem = memory(access.buffer);
  Address address = addressOf(access, point);
  if (point.lane < 0) {
    memref::StoreOp::create(b, loc, toMemory(value.v[0]), mem, ValueRange{address.base});
    return;
  }
  std::optional<int64_t> stride =
      address.laneStride ? constantOf(address.laneStride) : std::nullopt;
  if (stride == 0 && constantOf(address.stepStride) == 0) {
    memref::StoreOp::create(b, loc, toMemory(value.v[0]), mem, ValueRange{address.base});
    return;
  }
  if (point.step != point.lane && constantOf(address.stepStride) == 1 && stride != 1 &&
      address.laneStride) {
    SmallVector<Value> rows;
    for (int u = 0; u < point.unroll; ++u)
      rows.push_back(toMemory(laneOf(value, u, point)));
    rows = turn(rows);
    for (int k = 0; k < lanes; ++k) {
      Value mask;
      if (point.stepMask)
        mask = arith::AndIOp::create(b, loc, point.stepMask, vectorOf(point.laneLive[k], lanes));
      storeVector(rows[k], mem, add(address.base, mul(index(k), eval->get(address.laneStride))),
                  mask);
    }
    return;
  }
  for (int u = 0; u < point.unroll; ++u) {
    Value v = toMemory(laneOf(value, u, point));
    Value mask = point.mask.empty() ? Value() : point.mask[u];
    if (!address.lanes.empty() || stride != 1) {
      Value at = index(0), offsets;
      if (!address.lanes.empty()) {
        offsets = address.lanes[u];
      } else {
        at = offsetAt(address, access, point, u, false);
        offsets = mul(stepVector(lanes), vectorOf(eval->get(address.laneStride), lanes));
      }
      vector::ScatterOp::create(b, loc, Type(), mem, ValueRange{at}, offsets,
                                mask ? mask : allLanes(), v);
      continue;
    }
    storeVector(v, mem, offsetAt(address, access, point, u, false), mask);
  }
}

Lanes Emitter::read(const Input &input, Point &point) {
  if (input.access.buffer >= 0)
    return load(input.access, point);
  Lanes value;
  if (input.splat) {
    value.v.push_back(arith::ConstantOp::create(b, loc, input.splat));
  } else if (input.scalar) {
    value.v.push_back(eval->get(input.scalar));
    value.data = !matchPattern(input.scalar, m_Constant());
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void Emitter::report(Value bad, int32_t code) {
  OpBuilder &p = prologue;
  if (!status) {
    Value one = LLVM::ConstantOp::create(p, loc, p.getI64Type(), 1);
    status = LLVM::AllocaOp::create(p, loc, ptr, p.getI32Type(), one);
    Value none = LLVM::ConstantOp::create(p, loc, p.getI32Type(), NXRT_KERNEL_OK);
    LLVM::StoreOp::create(p, loc, none, status);
  }
  Value was = LLVM::LoadOp::create(b, loc, b.getI32Type(), status);
  Value now = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(code));
  LLVM::StoreOp::create(b, loc, arith::SelectOp::create(b, loc, bad, now, was), status);
}

Lanes Emitter::emitIndex(const Node &node, linalg::IndexOp op, Point &point) {
  int cls = node.loopClass[op.getDim()];
  Lanes result;
  if (cls < 0) {
    result.affine = getAffineConstantExpr(0, b.getContext());
    result.v.push_back(index(0));
    return result;
  }
  result.affine = getAffineDimExpr(cls, b.getContext());
  result.vec = cls == point.lane || (cls == point.step && point.unroll > 1);
  if (result.vec)
    for (int u = 0; u < point.unroll; ++u)
      result.v.push_back(laneIndex(result.affine, point, u));
  else
    result.v.push_back(indexOf(cls, point, 0));
  return result;
}

Lanes Emitter::emitGather(const Node &node, tensor::ExtractOp op, SmallVector<Lanes> at,
                          Point &point) {
  const Access &access = node.gathers.find(op)->second;
  // Indices from data, and fixed ones into a size that is not: keep them inside, and report what
  // was not.
  for (auto [d, value] : llvm::enumerate(at)) {
    AffineExpr sizeExpr = model.host.sizeOf(op.getTensor(), d);
    bool isFixed = value.affine && value.affine.isSymbolicOrConstant();
    if (isFixed && constantOf(sizeExpr) && constantOf(value.affine))
      isFixed = *constantOf(value.affine) < 0 || *constantOf(value.affine) >= *constantOf(sizeExpr);
    if (!value.data && !isFixed)
      continue;
    Value size = eval->get(sizeExpr);
    for (auto [u, v] : llvm::enumerate(value.v)) {
      Value limit = value.vec ? vectorOf(size, lanes) : size;
      Value good = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, v, limit);
      Value bad = arith::XOrIOp::create(
          b, loc, good,
          arith::ConstantOp::create(
              b, loc,
              value.vec ? (TypedAttr)DenseElementsAttr::get(cast<VectorType>(good.getType()), true)
                        : (TypedAttr)b.getBoolAttr(true)));
      if (value.vec) {
        if (!point.mask.empty())
          bad = arith::AndIOp::create(b, loc, bad, point.mask[u]);
        bad = vector::ReductionOp::create(b, loc, vector::CombiningKind::OR, bad);
      }
      report(bad, NXRT_KERNEL_INDEX_OUT_OF_RANGE);
      v = arith::SelectOp::create(b, loc, good, v, zero(v.getType()));
    }
    value.affine = {};
    if (constantOf(sizeExpr).value_or(0) == 0) {
      // Element 0 need not exist; then no tile may run.
      Value none = arith::CmpIOp::create(prologue, loc, arith::CmpIPredicate::eq, size,
                                         arith::ConstantIndexOp::create(prologue, loc, 0));
      emptySource = emptySource ? arith::OrIOp::create(prologue, loc, emptySource, none) : none;
    }
  }
  // Terms that are affine in the loops make an ordinary access; the others are added to it.
  const Storage &storage = plan.storage[access.buffer];
  Access affine;
  affine.buffer = access.buffer;
  Value uniform;
  SmallVector<Value> perVector;
  for (const Term &term : access.terms) {
    bool isAffine = true, isVector = false;
    SmallVector<AffineExpr> exprs;
    for (auto [d, value] : llvm::enumerate(at)) {
      exprs.push_back(value.affine ? value.affine : getAffineConstantExpr(0, b.getContext()));
      if (dependsOn(term.index, d)) {
        isAffine = isAffine && value.affine;
        isVector = isVector || value.vec;
      }
    }
    if (isAffine) {
      affine.terms.push_back({term.index.replaceDims(exprs), term.first, term.last});
      continue;
    }
    // The index expression over the extract's operands.
    std::function<Value(AffineExpr, int)> evaluate = [&](AffineExpr expr, int u) -> Value {
      auto spread = [&](Value v) { return isVector ? vectorOf(v, lanes) : v; };
      if (expr.isSymbolicOrConstant())
        return spread(eval->get(expr));
      if (int d = plainClass(expr); d >= 0)
        return at[d].vec ? at[d].v[u] : spread(at[d].v[0]);
      auto binary = cast<AffineBinaryOpExpr>(expr);
      Value lhs = evaluate(binary.getLHS(), u), rhs = evaluate(binary.getRHS(), u);
      switch (expr.getKind()) {
      case AffineExprKind::Add:
        return add(lhs, rhs);
      case AffineExprKind::Mul:
        return mul(lhs, rhs);
      case AffineExprKind::Mod:
        return b.createOrFold<arith::RemUIOp>(loc, lhs, rhs);
      default:
        return b.createOrFold<arith::DivUIOp>(loc, lhs, rhs);
      }
    };
    Value stride = eval->get(storage.strides[term.last]);
    if (!isVector) {
      Value offset = mul(evaluate(term.index, 0), stride);
      uniform = uniform ? add(uniform, offset) : offset;
      continue;
    }
    for (int u = 0; u < point.unroll; ++u) {
      Value offset = mul(evaluate(term.index, u), vectorOf(stride, lanes));
      if (static_cast<int>(perVector.size()) <= u)
        perVector.push_back(offset);
      else
        perVector[u] = add(perVector[u], offset);
    }
  }
  Address address = addressOf(affine, point);
  if (uniform) {
    address.base = add(address.base, uniform);
    for (Value &v : address.lanes)
      v = add(v, vectorOf(uniform, lanes));
  }
  if (!perVector.empty()) {
    if (address.lanes.empty())
      for (int u = 0; u < point.unroll; ++u) {
        Value offset = vectorOf(offsetAt(address, affine, point, u, true), lanes);
        if (address.laneStride && constantOf(address.laneStride) != 0)
          offset =
              add(offset, mul(stepVector(lanes), vectorOf(eval->get(address.laneStride), lanes)));
        address.lanes.push_back(offset);
      }
    for (auto [v, extra] : llvm::zip(address.lanes, perVector))
      v = add(v, extra);
    address.laneStride = {};
  }
  return loadAt(access.buffer, address, point);
}

// One op of a region, in vector form when an operand is a vector: so what is uniform stays scalar.
Lanes Emitter::emitOp(Operation *op, IRMapping &scalars, DenseMap<Value, Lanes> &values,
                      Point &point) {
  Lanes result;
  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(values.lookup(operand));
    result.vec |= operands.back().vec;
    result.data |= operands.back().data;
  }
  // Index arithmetic stays known as such.
  if (op->getNumOperands() == 2 && operands[0].affine && operands[1].affine) {
    AffineExpr x = operands[0].affine, y = operands[1].affine;
    if (isa<arith::AddIOp>(op))
      result.affine = x + y;
    else if (isa<arith::SubIOp>(op))
      result.affine = x - y;
    else if (isa<arith::MulIOp>(op) && (x.isSymbolicOrConstant() || y.isSymbolicOrConstant()))
      result.affine = x * y;
  } else if (isa<arith::IndexCastOp>(op)) {
    result.affine = operands[0].affine;
  }
  auto setOperand = [&](unsigned i, Value v) { scalars.map(op->getOperand(i), v); };
  if (!result.vec) {
    for (auto [i, operand] : llvm::enumerate(operands))
      setOperand(i, operand.v[0]);
    result.v.push_back(b.clone(*op, scalars)->getResult(0));
    return result;
  }
  bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                     arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op);
  for (int u = 0; u < point.unroll; ++u) {
    for (auto [i, operand] : llvm::enumerate(operands)) {
      Value v = laneOf(operand, u, point);
      // A lane that is not live holds 0, and integer division by 0 traps.
      if (divides && i == 1 && !point.mask.empty()) {
        auto type = cast<VectorType>(v.getType());
        Value one = arith::ConstantOp::create(
            b, loc, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), 1)));
        v = arith::SelectOp::create(b, loc, point.mask[u], v, one);
      }
      setOperand(i, v);
    }
    Operation *copy = b.clone(*op, scalars);
    Value v = copy->getResult(0);
    v.setType(VectorType::get({lanes}, v.getType()));
    result.v.push_back(v);
  }
  return result;
}

SmallVector<Lanes> Emitter::emitRegion(const Node &node, ArrayRef<Lanes> args, Point &point) {
  if (!node.generic())
    return {args[0]};
  Block &body = *node.generic().getBody();
  DenseMap<Value, Lanes> values;
  for (auto [arg, value] : llvm::zip(body.getArguments(), args))
    values[arg] = value;
  // Values of the kernel's top level.
  node.op->getRegion(0).walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!values.count(operand) && operand.getParentBlock() == &kernel.getBody().front() &&
          !isa<ShapedType>(operand.getType())) {
        Lanes value;
        value.v.push_back(eval->get(operand));
        if (operand.getType().isIntOrIndex())
          value.affine = model.host.exprOf(operand);
        value.data = !operand.getType().isIntOrIndex();
        values[operand] = value;
      }
  });
  IRMapping scalars;
  for (Operation &op : body) {
    if (auto yield = dyn_cast<linalg::YieldOp>(op)) {
      SmallVector<Lanes> results;
      for (Value v : yield.getOperands())
        results.push_back(values.lookup(v));
      return results;
    }
    Lanes result;
    if (auto linalgIndex = dyn_cast<linalg::IndexOp>(op)) {
      result = emitIndex(node, linalgIndex, point);
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<Lanes> at;
      for (Value i : extract.getIndices())
        at.push_back(values.lookup(i));
      result = emitGather(node, extract, std::move(at), point);
    } else if (op.getNumResults() != 1) {
      fail(&op, "an op of a region has one result");
      return SmallVector<Lanes>(node.outputs.size(), args[0]);
    } else if (op.getNumRegions() != 0) {
      // A branch or a loop: scalar code only, copied with all that it uses.
      for (auto &[value, known] : values)
        if (!known.vec && known.v.size() == 1)
          scalars.map(value, known.v[0]);
      op.walk([&](tensor::ExtractOp extract) {
        fail(extract, "an element of a tensor is read inside of a branch");
      });
      result.v.push_back(b.clone(op, scalars)->getResult(0));
      result.data = true;
    } else {
      result = emitOp(&op, scalars, values, point);
      APInt constant;
      if (op.getResult(0).getType().isIntOrIndex() &&
          matchPattern(op.getResult(0), m_ConstantInt(&constant)))
        result.affine = getAffineConstantExpr(constant.getSExtValue(), b.getContext());
    }
    values[op.getResult(0)] = result;
  }
  llvm_unreachable("a region ends with a yield");
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::forLoop(Value lo, Value hi, Value step, ValueRange init,
                                    llvm::function_ref<Values(Value, Values)> body) {
  std::optional<int64_t> from = constantIndex(lo), to = constantIndex(hi);
  if (from && to && *from >= *to)
    return Values(init);
  auto loop = scf::ForOp::create(b, loc, lo, hi, step, init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Values results = body(loop.getInductionVar(), Values(loop.getRegionIterArgs()));
  if (!init.empty())
    scf::YieldOp::create(b, loc, results);
  return Values(loop.getResults());
}

void Emitter::forLoop(Value lo, Value hi, int64_t step, llvm::function_ref<void(Value)> body) {
  forLoop(lo, hi, index(step), {}, [&](Value i, Values) {
    body(i);
    return Values();
  });
}

// [lo, hi) by vectors: `unroll` of them a step, then one, then a masked rest. `accs` are one vector
// per combiner; the body gets `unroll` of each.
SmallVector<Value> Emitter::laneLoop(Value lo, Value hi, int lanes, int unroll,
                                     ArrayRef<Operation *> combiners, Values accs,
                                     llvm::function_ref<Values(Value, int, Value, Values)> body) {
  if (lanes == 1)
    return forLoop(lo, hi, index(1), accs,
                   [&](Value i, Values a) { return body(i, 1, Value(), a); });
  Value count = sub(hi, lo), from = lo;
  auto roundDown = [&](int64_t multiple) {
    Value m = index(multiple);
    return add(lo, mul(b.createOrFold<arith::DivUIOp>(loc, count, m), m));
  };
  if (unroll > 1) {
    Value to = roundDown(unroll * lanes);
    Values wide;
    for (auto [acc, combiner] : llvm::zip(accs, combiners)) {
      wide.push_back(acc);
      Value neutral =
          vectorOf(arith::ConstantOp::create(b, loc, *arith::getNeutralElement(combiner)), lanes);
      wide.append(unroll - 1, neutral);
    }
    wide = forLoop(from, to, index(unroll * lanes), wide,
                   [&](Value i, Values a) { return body(i, unroll, Value(), a); });
    for (unsigned k = 0; k < accs.size(); ++k) {
      Values parts(wide.begin() + k * unroll, wide.begin() + (k + 1) * unroll);
      for (; parts.size() > 1; parts.truncate((parts.size() + 1) / 2))
        for (unsigned i = 0, half = (parts.size() + 1) / 2; i + half < parts.size(); ++i)
          parts[i] = combine(combiners[k], parts[i], parts[i + half]);
      accs[k] = parts[0];
    }
    from = to;
  }
  Value to = roundDown(lanes);
  accs = forLoop(from, to, index(lanes), accs,
                 [&](Value i, Values a) { return body(i, 1, Value(), a); });
  Value left = sub(hi, to);
  std::optional<int64_t> known = constantIndex(left);
  if (known == 0)
    return accs;
  if (known)
    return body(to, 1, maskOf(left), accs);
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, left, index(0));
  auto branch = scf::IfOp::create(b, loc, TypeRange(ValueRange(accs)), any, !accs.empty());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Values results = body(to, 1, maskOf(left), accs);
  if (!accs.empty()) {
    scf::YieldOp::create(b, loc, results);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, accs);
  }
  return Values(branch.getResults());
}

Value Emitter::combine(Operation *combiner, Value x, Value y) {
  IRMapping map;
  map.map(combiner->getOperand(0), x);
  map.map(combiner->getOperand(1), y);
  Value result = b.clone(*combiner, map)->getResult(0);
  result.setType(x.getType());
  return result;
}

// Loads what is known before the next loop opens, so that it is not loaded inside.
void Emitter::preload(Group &group, Point &point) {
  auto visit = [&](const Access &access) {
    const Buffer &buffer = model.buffers[access.buffer];
    if (plan.storage[access.buffer].kind == Storage::None || buffer.writers.size() > 1)
      return;
    for (int n : group.nodes)
      if (llvm::is_contained(buffer.writers, n))
        return;
    for (const Term &term : access.terms)
      for (int c = 0; c < static_cast<int>(model.extents.size()); ++c)
        if (dependsOn(term.index, c) && !point.index.count(c))
          return;
    load(access, point);
  };
  for (int n : group.nodes)
    for (const Input &input : model.nodes[n].inputs)
      if (input.access.buffer >= 0)
        visit(input.access);
}

SmallVector<Value> Emitter::emitBody(Part &part, Group &group, Point &point, ArrayRef<Value> accs) {
  Values results;
  unsigned perAcc = point.lane >= 0 ? point.unroll : 1;
  auto nextAcc = accs.begin();
  for (int n : group.nodes) {
    const Node &node = model.nodes[n];
    SmallVector<Lanes> args;
    for (const Input &input : node.inputs)
      args.push_back(read(input, point));
    for (const Output &output : node.outputs) {
      Lanes value;
      if (output.accumulates) {
        value.vec = point.lane >= 0;
        value.v.assign(nextAcc, nextAcc + perAcc);
        value.data = true;
        nextAcc += perAcc;
      } else if (output.init) {
        value = read(*output.init, point);
      }
      args.push_back(value);
    }
    SmallVector<Lanes> values = emitRegion(node, args, point);
    for (auto [k, output] : llvm::enumerate(node.outputs)) {
      Lanes &value = values[k];
      if (output.accumulates) {
        const Lanes &old = args[node.inputs.size() + k];
        for (unsigned u = 0; u < perAcc; ++u) {
          Value v = point.lane >= 0 ? laneOf(value, u, point) : value.v[0];
          // Lanes past the end must not count; those that stay apart are never looked at.
          if (!point.mask.empty() && group.lanesReduced())
            v = arith::SelectOp::create(b, loc, point.mask[u], v, old.v[u]);
          results.push_back(v);
        }
        continue;
      }
      // What the nodes after this one see has been through data.
      value.data = true;
      value.affine = {};
      if (plan.storage[output.access.buffer].kind != Storage::None)
        store(value, output.access, point);
      if (model.buffers[output.access.buffer].writers.size() == 1)
        point.known.push_back({output.access, value});
    }
  }
  return results;
}

SmallVector<Value> Emitter::emitReduced(Part &part, Group &group, unsigned depth, Point &point,
                                        Values accs) {
  if (depth == group.reduced.size())
    return emitBody(part, group, point, accs);
  preload(group, point);
  int cls = group.reduced[depth];
  Value lo = index(0), hi = eval->get(model.extents[cls]);
  if (cls != group.lane)
    return forLoop(lo, hi, index(1), accs, [&](Value i, Values a) {
      Point inner = point;
      inner.index[cls] = i;
      return emitReduced(part, group, depth + 1, inner, a);
    });
  SmallVector<Operation *> combiners;
  for (int n : group.nodes)
    for (const Output &output : model.nodes[n].outputs)
      if (output.accumulates)
        combiners.push_back(output.combiner);
  return laneLoop(lo, hi, lanes, unrollOf(model, part, group.nodes), combiners, accs,
                  [&](Value i, int unroll, Value mask, Values a) {
                    Point inner = point;
                    inner.index[cls] = i;
                    inner.lane = inner.step = cls;
                    inner.stepSize = lanes;
                    inner.unroll = unroll;
                    if (mask)
                      inner.mask.assign(1, mask);
                    return emitReduced(part, group, depth + 1, inner, a);
                  });
}

// At a point of the parallel loops: the reduced loops, and what becomes of their results.
void Emitter::emitReductions(Part &part, Group &group, Point &point) {
  if (group.reduced.empty()) {
    emitBody(part, group, point, {});
    return;
  }
  bool horizontal = group.lanesReduced();
  bool vertical = point.lane >= 0;
  unsigned perAcc = vertical ? point.unroll : 1;
  struct Accumulator {
    const Output *output;
    Lanes init;
  };
  SmallVector<Accumulator> accumulators;
  Values accs;
  for (int n : group.nodes)
    for (const Output &output : model.nodes[n].outputs) {
      if (!output.accumulates)
        continue;
      Lanes init;
      if (output.init)
        init = read(*output.init, point);
      else
        init.v.push_back(zero(model.buffers[output.access.buffer].element));
      for (unsigned u = 0; u < perAcc; ++u) {
        if (horizontal)
          accs.push_back(vectorOf(
              arith::ConstantOp::create(b, loc, *arith::getNeutralElement(output.combiner)),
              lanes));
        else
          accs.push_back(vertical ? laneOf(init, u, point) : init.v[0]);
      }
      accumulators.push_back({&output, init});
    }
  Point inner = point;
  Values results = emitReduced(part, group, 0, inner, accs);
  for (auto [k, accumulator] : llvm::enumerate(accumulators)) {
    const Output &output = *accumulator.output;
    Lanes value;
    value.data = true;
    value.vec = vertical;
    if (horizontal) {
      // In any order: the lanes are partial sums already.
      Value sum = vector::ReductionOp::create(b, loc, *output.kind, results[k],
                                              arith::FastMathFlags::reassoc);
      Attribute init;
      if (!matchPattern(accumulator.init.v[0], m_Constant(&init)) ||
          init != *arith::getNeutralElement(output.combiner))
        sum = combine(output.combiner, sum, accumulator.init.v[0]);
      value.v.push_back(sum);
    } else {
      value.v.assign(results.begin() + k * perAcc, results.begin() + (k + 1) * perAcc);
    }
    if (plan.storage[output.access.buffer].kind != Storage::None)
      store(value, output.access, point);
    point.known.push_back({output.access, value});
  }
}

void Emitter::emitParallel(Part &part, Group &group, unsigned depth, Point &point) {
  if (depth == group.parallel.size()) {
    emitReductions(part, group, point);
    return;
  }
  Point here = point;
  preload(group, here);
  int cls = group.parallel[depth];
  Value lo = index(0), hi = eval->get(model.extents[cls]);
  if (cls != group.lane) {
    forLoop(lo, hi, 1, [&](Value i) {
      Point inner = here;
      inner.index[cls] = i;
      emitParallel(part, group, depth + 1, inner);
    });
    return;
  }
  laneLoop(lo, hi, lanes, unrollOf(model, part, group.nodes), {}, {},
           [&](Value i, int unroll, Value mask, Values) {
             Point inner = here;
             inner.index[cls] = i;
             inner.lane = inner.step = cls;
             inner.stepSize = lanes;
             inner.unroll = unroll;
             if (mask)
               inner.mask.assign(1, mask);
             emitParallel(part, group, depth + 1, inner);
             return Values();
           });
}

void Emitter::emitGroups(Part &part, Point &point) {
  for (Group &group : part.groups)
    emitParallel(part, group, 0, point);
}

// A tile of two lane classes, in squares that are turned in registers.
void Emitter::emitTurn(Part &part, Point point, Value lo, Value hi) {
  Value size = eval->get(model.extents[part.lane]);
  forLoop(lo, hi, lanes, [&](Value w) {
    forLoop(index(0), size, lanes, [&](Value v) {
      Point square = point;
      square.index[part.turned] = w;
      square.index[part.lane] = v;
      square.lane = part.lane;
      square.step = part.turned;
      square.stepSize = 1;
      square.unroll = lanes;
      Value stepsLeft = sub(hi, w), lanesLeft = sub(size, v);
      Value full =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                arith::MinUIOp::create(b, loc, stepsLeft, lanesLeft), index(lanes));
      auto branch = scf::IfOp::create(b, loc, TypeRange(), full, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Point inner = square;
      emitGroups(part, inner);
      b.setInsertionPointToStart(branch.elseBlock());
      square.stepsLeft = stepsLeft;
      square.stepMask = maskOf(arith::MinUIOp::create(b, loc, stepsLeft, index(lanes)));
      Value laneMask = maskOf(arith::MinUIOp::create(b, loc, lanesLeft, index(lanes)));
      auto live = [&](Value left, int k) -> Value {
        return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, left, index(k));
      };
      for (int k = 0; k < lanes; ++k) {
        square.laneLive.push_back(live(lanesLeft, k));
        square.mask.push_back(
            arith::AndIOp::create(b, loc, laneMask, vectorOf(live(stepsLeft, k), lanes)));
      }
      emitGroups(part, square);
    });
  });
}

void Emitter::emitPart(Part &part, Value begin, Value end) {
  lanes = part.lanes;
  columnLane = part.lane;
  int chunked = part.mode == LaneMode::Turn ? part.turned : part.lane;
  Value chunkedSize = chunked >= 0 ? eval->get(model.extents[chunked]) : Value();
  forLoop(begin, end, 1, [&](Value tile) {
    Point point;
    Value rest = tile, lo = index(0), hi = chunkedSize;
    if (part.chunk) {
      Value chunk = rest;
      if (!part.outer.empty()) {
        Value chunks = eval->get(model.extents[chunked].ceilDiv(part.chunk));
        chunk = b.createOrFold<arith::RemUIOp>(loc, rest, chunks);
        rest = b.createOrFold<arith::DivUIOp>(loc, rest, chunks);
      }
      lo = mul(chunk, index(part.chunk));
      hi = b.createOrFold<arith::MinUIOp>(loc, add(lo, index(part.chunk)), chunkedSize);
    }
    for (unsigned k = part.outer.size(); k-- > 0;) {
      int cls = part.outer[k];
      Value extent = eval->get(model.extents[cls]);
      point.index[cls] = k == 0 ? rest : b.createOrFold<arith::RemUIOp>(loc, rest, extent);
      if (k != 0)
        rest = b.createOrFold<arith::DivUIOp>(loc, rest, extent);
    }
    switch (part.mode) {
    case LaneMode::Row:
      emitGroups(part, point);
      break;
    case LaneMode::Turn:
      emitTurn(part, point, lo, hi);
      break;
    case LaneMode::Column:
      for (Group &group : part.groups)
        preload(group, point);
      laneLoop(lo, hi, lanes, unrollOf(model, part, part.nodes), {}, {},
               [&](Value i, int unroll, Value mask, Values) {
                 Point inner = point;
                 inner.index[part.lane] = i;
                 if (lanes > 1) {
                   inner.lane = inner.step = part.lane;
                   inner.stepSize = lanes;
                 }
                 inner.unroll = unroll;
                 if (mask)
                   inner.mask.assign(1, mask);
                 emitGroups(part, inner);
                 return Values();
               });
      break;
    }
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

func::FuncOp Emitter::startFunction(StringRef suffix, TypeRange arguments, Type result) {
  b.setInsertionPoint(kernel);
  auto type = b.getFunctionType(arguments, result);
  auto function = func::FuncOp::create(b, loc, (kernel.getName() + suffix).str(), type);
  b.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

void Emitter::emitRun() {
  Type i64 = b.getI64Type();
  func::FuncOp function = startFunction("", {ptr, i64, i64}, b.getI32Type());
  Block &entry = function.getBody().front();
  // Everything in the prologue dominates the loops: they grow behind this mark.
  Operation *mark = arith::ConstantIndexOp::create(b, loc, 0);
  prologue.setInsertionPoint(mark);
  Value call = entry.getArgument(0);
  operands = loadOperand(call, 0, ptr);
  Value dims = loadOperand(call, 1, ptr);
  scratch = loadOperand(call, 2, ptr);
  HostEvaluator evaluator(model.host, prologue, loc, dims);
  eval = &evaluator;

  auto toIndex = [&](Value v) -> Value {
    return arith::IndexCastOp::create(b, loc, b.getIndexType(), v);
  };
  Value begin = toIndex(entry.getArgument(1)), end = toIndex(entry.getArgument(2));
  // Parts come one after the other in the tile space.
  Value first = begin, last = end;
  for (Part &part : plan.parts) {
    Value lo = first, hi = last;
    if (plan.parts.size() > 1) {
      Value tiles = eval->get(part.tiles);
      lo = arith::MaxSIOp::create(b, loc, first, index(0));
      hi = arith::MinSIOp::create(b, loc, last, tiles);
      first = sub(first, tiles);
      last = sub(last, tiles);
    }
    emitPart(part, lo, hi);
  }
  Value result = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(NXRT_KERNEL_OK));
  if (status)
    result = LLVM::LoadOp::create(b, loc, b.getI32Type(), status);
  if (emptySource) {
    // Nothing may run; there is something to report when something would have.
    for (scf::ForOp loop : entry.getOps<scf::ForOp>()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop);
      loop.setUpperBound(
          arith::SelectOp::create(b, loc, emptySource, loop.getLowerBound(), loop.getUpperBound()));
    }
    Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, begin, end);
    Value bad = arith::AndIOp::create(b, loc, emptySource, some);
    Value code =
        arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(NXRT_KERNEL_INDEX_OUT_OF_RANGE));
    result = arith::SelectOp::create(b, loc, bad, code, result);
  }
  func::ReturnOp::create(b, loc, result);
  if (Operation *op = evaluator.failed())
    fail(op, "this value can't be computed before the loops");
}

void Emitter::emitSizes() {
  auto emit = [&](StringRef suffix, llvm::function_ref<Value(HostEvaluator &)> compute) {
    func::FuncOp function = startFunction(suffix, {ptr}, b.getI64Type());
    HostEvaluator evaluator(model.host, b, loc, function.getArgument(0));
    Value result = compute(evaluator);
    func::ReturnOp::create(b, loc,
                           ValueRange{arith::IndexCastOp::create(b, loc, b.getI64Type(), result)});
    if (Operation *op = evaluator.failed())
      fail(op, "a size depends on what a tensor holds");
  };
  auto tilesOf = [&](HostEvaluator &e) {
    Value sum = index(0);
    for (Part &part : plan.parts)
      sum = add(sum, e.get(part.tiles));
    return sum;
  };
  emit(".tiles", tilesOf);
  emit(".scratch_bytes", [&](HostEvaluator &e) {
    Value most = index(0);
    for (Part &part : plan.parts)
      if (constantOf(part.scratchBytes) != 0)
        most = b.createOrFold<arith::MaxSIOp>(loc, most, e.get(part.scratchBytes));
    return most;
  });
  emit(".grain", [&](HostEvaluator &e) {
    // Tiles times bytes over the mean cost of a tile.
    Value cost = index(0);
    for (Part &part : plan.parts) {
      Value perTile = e.get(part.tileCost);
      cost = add(cost, plan.parts.size() > 1 ? mul(perTile, e.get(part.tiles)) : perTile);
    }
    Value work = index(kGrainBytes);
    if (plan.parts.size() > 1)
      work = mul(work, tilesOf(e));
    auto atLeastOne = [&](Value v) { return b.createOrFold<arith::MaxSIOp>(loc, v, index(1)); };
    return atLeastOne(b.createOrFold<arith::DivUIOp>(loc, work, atLeastOne(cost)));
  });
}

LogicalResult Emitter::run() {
  emitRun();
  if (!failed)
    emitSizes();
  ModuleOp module = kernel->getParentOfType<ModuleOp>();
  if (!failed) {
    kernel.erase();
    return success();
  }
  // Take back what has been emitted.
  std::string name = kernel.getName().str();
  SmallVector<Operation *> emitted;
  for (Operation &op : *module.getBody()) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      if (function != kernel &&
          (function.getName() == name || function.getName() == name + ".tiles" ||
           function.getName() == name + ".scratch_bytes" || function.getName() == name + ".grain"))
        emitted.push_back(&op);
    if (auto global = dyn_cast<LLVM::GlobalOp>(op))
      if (global.getName().starts_with(name + ".constant"))
        emitted.push_back(&op);
  }
  for (Operation *op : llvm::reverse(emitted))
    op->erase();
  return failure();
}

} // namespace

LogicalResult emit(Model &model, Plan &plan) { return Emitter(model, plan).run(); }

} // namespace nx::loops
