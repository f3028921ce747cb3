//===- EvaluateSmall.cpp - Operations on small known values ---------------===//

#include "dialects/nx/transforms/EvaluateSmall.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nx;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

bool nx::isSmall(RankedTensorType type) {
  if (!type.hasStaticShape())
    return false;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(bytes, size, bytes))
      return false;
  return bytes <= kMaxConstantBytes;
}

DenseElementsAttr nx::knownConstant(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && isSmall(constant.getType()) ? dyn_cast<DenseElementsAttr>(constant.getValue())
                                                 : DenseElementsAttr();
}

std::optional<SmallVector<AffineExpr>> nx::knownElements(Value value) {
  if (auto sizes = value.getDefiningOp<ShapeValueOp>())
    return SmallVector<AffineExpr>(sizes.getDims().getExprs());
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return isSmall(reshape.getType()) ? knownElements(reshape.getX()) : std::nullopt;
  DenseElementsAttr constant = knownConstant(value);
  if (!constant || !isa<IntegerType>(constant.getElementType()))
    return std::nullopt;
  bool isUnsigned = isUnsignedElement(constant.getElementType());
  SmallVector<AffineExpr> elements;
  for (const APInt &element : constant.getValues<APInt>())
    elements.push_back(getAffineConstantExpr(
        isUnsigned ? int64_t(element.getZExtValue()) : element.getSExtValue(), value.getContext()));
  return elements;
}

std::optional<SmallVector<int64_t>> nx::knownInts(Value value) {
  std::optional<SmallVector<AffineExpr>> elements = knownElements(value);
  if (!elements)
    return std::nullopt;
  SmallVector<int64_t> ints;
  for (AffineExpr element : *elements) {
    std::optional<int64_t> constant = constantOf(element);
    if (!constant)
      return std::nullopt;
    ints.push_back(*constant);
  }
  return ints;
}

Value nx::createElements(OpBuilder &builder, Location loc, ArrayRef<AffineExpr> elements,
                         RankedTensorType type) {
  auto element = cast<IntegerType>(type.getElementType());
  SmallVector<APInt> values;
  for (AffineExpr expr : elements)
    if (std::optional<int64_t> constant = constantOf(expr))
      values.push_back(APInt(element.getWidth(), *constant, /*isSigned=*/true, /*implicitTrunc=*/true));
  if (values.size() == elements.size())
    return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, values));
  auto flat = type.getRank() <= 1 ? type : RankedTensorType::get({int64_t(elements.size())}, element);
  Value sizes = ShapeValueOp::create(builder, loc, flat, DimsAttr::get(builder.getContext(), elements));
  return flat == type ? sizes : ReshapeOp::create(builder, loc, type, sizes);
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

namespace {

/// Where an element of a result comes from: an operand and the row-major index in it.
struct ElementSource {
  unsigned operand;
  int64_t index;
};

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

/// Calls `visit` for each index of `shape`, in row-major order.
void forEachIndex(ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(index);
    size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1])
      index[--i] = 0;
    if (i == 0)
      return;
  }
}

/// The row-major index in an operand of shape `shape` that broadcasting reads for `index`.
int64_t broadcastIndex(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [i, size] : llvm::enumerate(shape))
    linear = linear * size + (size == 1 ? 0 : index[index.size() - shape.size() + i]);
  return linear;
}

/// The source of each result element of an operation that only moves elements.
std::optional<SmallVector<ElementSource>> elementSources(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<ElementSource> sources;
  auto shapeOf = [&](unsigned operand) { return typeOf(op->getOperand(operand)).getShape(); };
  auto visit = [&](function_ref<ElementSource(ArrayRef<int64_t>)> source) {
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) { sources.push_back(source(index)); });
    return true;
  };

  bool known = llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ReshapeOp>([&](ReshapeOp) {
        int64_t next = 0;
        return visit([&](ArrayRef<int64_t>) { return ElementSource{0, next++}; });
      })
      .Case<TransposeOp>([&](TransposeOp transpose) {
        SmallVector<int64_t> strides = stridesOf(shapeOf(0));
        return visit([&](ArrayRef<int64_t> index) {
          int64_t linear = 0;
          for (auto [i, p] : llvm::enumerate(transpose.getPerm()))
            linear += index[i] * strides[p];
          return ElementSource{0, linear};
        });
      })
      .Case<BroadcastOp>([&](BroadcastOp) {
        return visit([&](ArrayRef<int64_t> index) {
          return ElementSource{0, broadcastIndex(index, shapeOf(0))};
        });
      })
      .Case<SliceOp>([&](SliceOp slice) {
        SmallVector<int64_t> starts, strides = stridesOf(shapeOf(0));
        for (AffineExpr start : slice.getStarts().getExprs())
          starts.push_back(constantOf(start).value_or(-1));
        if (llvm::is_contained(starts, -1))
          return false;
        return visit([&](ArrayRef<int64_t> index) {
          int64_t linear = 0;
          for (size_t i = 0; i < index.size(); ++i)
            linear += (starts[i] + index[i] * slice.getSteps()[i]) * strides[i];
          return ElementSource{0, linear};
        });
      })
      .Case<ConcatOp>([&](ConcatOp concat) {
        return visit([&](ArrayRef<int64_t> index) {
          SmallVector<int64_t> inner(index);
          unsigned operand = 0;
          int64_t axis = concat.getAxis();
          while (inner[axis] >= shapeOf(operand)[axis])
            inner[axis] -= shapeOf(operand++)[axis];
          return ElementSource{operand, broadcastIndex(inner, shapeOf(operand))};
        });
      })
      .Case<GatherOp>([&](GatherOp gather) {
        std::optional<SmallVector<int64_t>> indices = knownInts(gather.getIndices());
        int64_t axis = gather.getAxis(), indexRank = typeOf(gather.getIndices()).getRank();
        ArrayRef<int64_t> shape = shapeOf(0), indexShape = shapeOf(1);
        if (!indices)
          return false;
        for (int64_t &i : *indices) {
          i += i < 0 ? shape[axis] : 0;
          if (i < 0 || i >= shape[axis])
            return false; // the execution reports it
        }
        SmallVector<int64_t> strides = stridesOf(shape);
        return visit([&](ArrayRef<int64_t> index) {
          int64_t linear = (*indices)[broadcastIndex(index.slice(axis, indexRank), indexShape)] * strides[axis];
          for (int64_t i = 0; i < axis; ++i)
            linear += index[i] * strides[i];
          for (int64_t i = axis + 1; i < int64_t(shape.size()); ++i)
            linear += index[i + indexRank - 1] * strides[i];
          return ElementSource{0, linear};
        });
      })
      .Default([](Operation *) { return false; });
  if (!known)
    return std::nullopt;
  return sources;
}

/// Operands that carry data that is moved; the others (a gather's indices) are looked at directly.
ValueRange movedOperands(Operation *op) {
  return isa<GatherOp>(op) ? op->getOperands().take_front(1) : ValueRange(op->getOperands());
}

Value evaluateMovement(OpBuilder &builder, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isSmall(type) || op->getNumOperands() == 0)
    return {};
  // Reshaped sizes are a leaf: that is how sizes of rank 2 or more are written.
  if (isa<ReshapeOp>(op) && type.getRank() > 1 && op->getOperand(0).getDefiningOp<ShapeValueOp>())
    return {};

  SmallVector<DenseElementsAttr> constants;
  SmallVector<SmallVector<AffineExpr>> expressions;
  for (Value operand : movedOperands(op)) {
    if (!typeOf(operand).hasStaticShape())
      return {};
    if (DenseElementsAttr constant = knownConstant(operand))
      constants.push_back(constant);
    if (std::optional<SmallVector<AffineExpr>> known = knownElements(operand))
      expressions.push_back(std::move(*known));
  }
  size_t count = movedOperands(op).size();
  if (constants.size() != count && expressions.size() != count)
    return {};
  std::optional<SmallVector<ElementSource>> sources = elementSources(op);
  if (!sources)
    return {};
  if (constants.size() == count) {
    SmallVector<SmallVector<Attribute>> values;
    for (DenseElementsAttr constant : constants)
      values.emplace_back(constant.getValues<Attribute>());
    SmallVector<Attribute> moved;
    for (ElementSource source : *sources)
      moved.push_back(values[source.operand][source.index]);
    return ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(type, moved));
  }
  SmallVector<AffineExpr> moved;
  for (ElementSource source : *sources)
    moved.push_back(expressions[source.operand][source.index]);
  return createElements(builder, op->getLoc(), moved, type);
}

//===----------------------------------------------------------------------===//
// Element-wise operations on constants
//===----------------------------------------------------------------------===//

/// Runs upstream's folders over the operations of `block`; the constant of `result`, or null.
Attribute interpret(Block &block, Value result) {
  DenseMap<Value, Attribute> values;
  for (Operation &op : block) {
    // A fold may rewrite the operation in place (constants move right); then it is asked again.
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
      SmallVector<Attribute> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values.lookup(operand));
      SmallVector<OpFoldResult> folded;
      if (failed(op.fold(operands, folded)))
        return {};
      if (folded.empty())
        continue;
      auto attribute = dyn_cast<Attribute>(folded[0]);
      values[op.getResult(0)] = attribute ? attribute : values.lookup(cast<Value>(folded[0]));
      break;
    }
    if (op.getNumResults() != 1 || !values.lookup(op.getResult(0)))
      return {};
  }
  return values.lookup(result);
}

/// Evaluates the operation's scalar meaning on vectors that hold all elements.
Value evaluateElementwise(OpBuilder &builder, ElementwiseOpInterface op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isSmall(type) || type.getNumElements() == 0)
    return {};
  int64_t count = type.getNumElements();
  Block block;
  OpBuilder scalars(op->getContext()); // the block is in no region
  scalars.setInsertionPointToStart(&block);
  SmallVector<Value> args;
  for (Value operand : op->getOperands()) {
    DenseElementsAttr constant = knownConstant(operand);
    if (!constant)
      return {};
    // arith knows signless integers only; narrow types are bytes.
    SmallVector<Attribute> values(signlessConstant(constant).getValues<Attribute>()), spread;
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
      spread.push_back(values[broadcastIndex(index, typeOf(operand).getShape())]);
    });
    Type element = constant.getElementType();
    auto vector = VectorType::get({count}, signlessElement(element));
    args.push_back(arith::ConstantOp::create(scalars, op->getLoc(), DenseElementsAttr::get(vector, spread)));
  }
  Value result = op.emitScalar(scalars, op->getLoc(), args);
  auto folded = dyn_cast_or_null<DenseElementsAttr>(interpret(block, result));
  if (!folded)
    return {};
  DenseElementsAttr value;
  Type element = type.getElementType();
  if (isNarrowElement(element)) {
    unsigned width = element.getIntOrFloatBitWidth();
    SmallVector<Attribute> numbers;
    for (const APInt &byte : folded.getValues<APInt>()) {
      APInt bits = byte.trunc(width);
      if (auto floatType = dyn_cast<FloatType>(element))
        numbers.push_back(FloatAttr::get(element, APFloat(floatType.getFloatSemantics(), bits)));
      else
        numbers.push_back(IntegerAttr::get(element, bits));
    }
    value = DenseElementsAttr::get(type, numbers);
  } else if (isa<FloatType>(element))
    value = DenseElementsAttr::get(type, SmallVector<APFloat>(folded.getValues<APFloat>()));
  else
    value = DenseElementsAttr::get(type, SmallVector<APInt>(folded.getValues<APInt>()));
  return ConstantOp::create(builder, op->getLoc(), value);
}

//===----------------------------------------------------------------------===//
// Arithmetic on sizes
//===----------------------------------------------------------------------===//

/// True or false when that holds for all symbol values.
std::optional<bool> decide(ComparePredicate predicate, AffineExpr a, AffineExpr b) {
  std::optional<int64_t> difference = constantOf(a - b);
  // a - b >= low, b - a >= highNegated, where evident.
  std::optional<int64_t> low = lowerBound(normalize(a - b)), negatedHigh = lowerBound(normalize(b - a));
  if (difference)
    low = *difference, negatedHigh = -*difference;
  bool less = negatedHigh && *negatedHigh > 0, lessEqual = negatedHigh && *negatedHigh >= 0;
  bool greater = low && *low > 0, greaterEqual = low && *low >= 0;
  auto answer = [](bool yes, bool no) { return yes ? std::optional(true) : no ? std::optional(false) : std::nullopt; };
  switch (predicate) {
  case ComparePredicate::eq: return answer(difference == 0, less || greater);
  case ComparePredicate::ne: return answer(less || greater, difference == 0);
  case ComparePredicate::lt: return answer(less, greaterEqual);
  case ComparePredicate::le: return answer(lessEqual, greater);
  case ComparePredicate::gt: return answer(greater, lessEqual);
  case ComparePredicate::ge: return answer(greaterEqual, less);
  }
  return std::nullopt;
}

/// One element of `op` on the elements `args`; null when it is no expression.
AffineExpr evaluateScalar(Operation *op, ArrayRef<AffineExpr> args) {
  MLIRContext *context = op->getContext();
  // Numbers that no size comes near are no sizes: arithmetic on them might overflow.
  constexpr int64_t limit = int64_t(1) << 31;
  bool arithmetic = isa<AddOp, SubOp, MulOp, NegOp>(op), isLarge = false;
  for (AffineExpr arg : args)
    arg.walk([&](AffineExpr e) {
      if (auto constant = dyn_cast<AffineConstantExpr>(e))
        isLarge |= constant.getValue() >= limit || constant.getValue() <= -limit;
    });
  if (arithmetic && isLarge)
    return {};
  auto nonNegative = [](AffineExpr e) { return lowerBound(e).value_or(-1) >= 0; };
  auto positive = [](AffineExpr e) { return lowerBound(e).value_or(0) > 0; };
  // Integer division rounds to zero: floordiv says the same where nothing is negative.
  auto divides = [&] { return nonNegative(args[0]) && positive(args[1]); };
  auto quotient = [&]() -> AffineExpr {
    if (!positive(args[1]))
      return {};
    if (AffineExpr exact = divideExactly(args[0], args[1]))
      return exact;
    return divides() ? args[0].floorDiv(args[1]) : AffineExpr();
  };
  auto choose = [&](ComparePredicate predicate) -> AffineExpr {
    std::optional<bool> first = decide(predicate, args[0], args[1]);
    return !first ? AffineExpr() : *first ? args[0] : args[1];
  };
  return llvm::TypeSwitch<Operation *, AffineExpr>(op)
      .Case<AddOp>([&](auto) { return args[0] + args[1]; })
      .Case<SubOp>([&](auto) { return args[0] - args[1]; })
      .Case<MulOp>([&](auto) { return args[0] * args[1]; })
      .Case<NegOp>([&](auto) { return -args[0]; })
      .Case<DivOp, FloorDivOp>([&](auto) { return quotient(); })
      .Case<RemOp, ModOp>([&](auto) { return divides() ? args[0] % args[1] : AffineExpr(); })
      .Case<MaxOp>([&](auto) { return choose(ComparePredicate::ge); })
      .Case<MinOp>([&](auto) { return choose(ComparePredicate::le); })
      .Case<AbsOp>([&](auto) { return nonNegative(args[0]) ? args[0] : AffineExpr(); })
      .Case<CastOp>([&](CastOp castOp) {
        // Sizes fit into 32 bits and more; a narrower type would wrap.
        auto to = dyn_cast<IntegerType>(castOp.getType().getElementType());
        return to && to.getWidth() >= 32 ? args[0] : AffineExpr();
      })
      .Case<SelectOp>([&](auto) -> AffineExpr {
        std::optional<int64_t> condition = constantOf(args[0]);
        return !condition ? AffineExpr() : *condition ? args[1] : args[2];
      })
      .Case<CompareOp>([&](CompareOp compare) -> AffineExpr {
        std::optional<bool> holds = decide(compare.getPredicate(), args[0], args[1]);
        return holds ? getAffineConstantExpr(*holds, context) : AffineExpr();
      })
      .Default([](Operation *) { return AffineExpr(); });
}

Value evaluateSizes(OpBuilder &builder, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (!isSmall(type) || !isa<IntegerType>(type.getElementType()))
    return {};
  SmallVector<SmallVector<AffineExpr>> operands;
  for (Value operand : op->getOperands()) {
    std::optional<SmallVector<AffineExpr>> known = knownElements(operand);
    if (!known)
      return {};
    operands.push_back(std::move(*known));
  }
  SmallVector<AffineExpr> results;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    ArrayRef<int64_t> shape = typeOf(reduce.getX()).getShape();
    SmallVector<int64_t> kept(shape);
    for (int64_t axis : reduce.getAxes())
      kept[axis] = 1;
    if (reduce.getKind() != ReduceKind::sum && reduce.getKind() != ReduceKind::prod)
      return {};
    bool isSum = reduce.getKind() == ReduceKind::sum;
    results.assign(type.getNumElements(), getAffineConstantExpr(isSum ? 0 : 1, op->getContext()));
    int64_t next = 0;
    forEachIndex(shape, [&](ArrayRef<int64_t> index) {
      AffineExpr &result = results[broadcastIndex(index, kept)], element = operands[0][next++];
      result = isSum ? result + element : result * element;
    });
  } else if (auto iota = dyn_cast<IotaOp>(op)) {
    AffineExpr start = iota.getStart().getExprs()[0], step = iota.getStep().getExprs()[0];
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
      results.push_back(start + step * index[iota.getAxis()]);
    });
  } else if (isa<ElementwiseOpInterface>(op)) {
    bool known = true;
    forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
      SmallVector<AffineExpr> args;
      for (auto [i, elements] : llvm::enumerate(operands))
        args.push_back(elements[broadcastIndex(index, typeOf(op->getOperand(i)).getShape())]);
      results.push_back(known ? evaluateScalar(op, args) : AffineExpr());
      known &= bool(results.back());
    });
    if (!known)
      return {};
  } else {
    return {};
  }
  for (AffineExpr &result : results)
    if (isTooComplex(result = normalize(result)))
      return {};
  return createElements(builder, op->getLoc(), results, type);
}

} // namespace

Value nx::evaluateSmall(OpBuilder &builder, Operation *op) {
  if (op->getNumResults() != 1 || isa<ConstantOp, ShapeValueOp>(op) ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return {};
  if (Value moved = evaluateMovement(builder, op))
    return moved;
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op))
    if (Value folded = evaluateElementwise(builder, elementwise))
      return folded;
  return evaluateSizes(builder, op);
}
