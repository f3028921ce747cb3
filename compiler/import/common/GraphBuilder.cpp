//===- GraphBuilder.cpp - Building nx from a source graph -----------------===//

#include "compiler/import/common/GraphBuilder.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nx;

InFlightDiagnostic GraphBuilder::error() {
  hasFailed = true;
  return emitError(loc);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// What is wrong with the sizes; empty when they are sizes, and their product, as far as it is known, is
/// a number of elements.
static StringRef problemOf(RankedTensorType type) {
  int64_t bytes = 8;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size) &&
        (size < 0 || llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes)))
      return "an impossible size";
  if (!hasKnownDims(type))
    return "an unknown size";
  return llvm::any_of(dimsOf(type), isTooComplex) ? "a size whose expression is too long" : "";
}

bool GraphBuilder::haveLongExpressions(Attributes attributes) {
  for (const NamedAttribute &attribute : attributes)
    if (auto dims = dyn_cast<DimsAttr>(attribute.getValue()); dims && llvm::any_of(dims.getExprs(), isTooComplex))
      return error() << attribute.getName() << " is too long an expression", true;
  return false;
}

Operation *GraphBuilder::createInferred(StringRef name, unsigned numResults, ValueRange operands,
                                        Attributes attributes) {
  if (haveLongExpressions(attributes))
    return nullptr;
  OperationName opName(name, context());
  OperationState state(loc, opName);
  state.addOperands(operands);
  state.addAttributes(attributes);
  // Operations keep their attributes as properties: convert, so that inference sees them.
  DictionaryAttr dictionary = state.attributes.getDictionary(context());
  // Build with placeholder types first: the operation owns the properties that inference reads.
  state.types.append(numResults, RankedTensorType::get({}, builder.getF32Type()));
  Operation *op = Operation::create(state);
  SmallVector<Type> types;
  auto interface = opName.getInterface<InferTypeOpInterface>();
  if (!interface || mlir::failed(interface->inferReturnTypes(context(), loc, operands, dictionary,
                                                             op->getPropertiesStorage(), {}, types))) {
    op->destroy();
    hasFailed = true;
    return nullptr;
  }
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types)) {
    if (StringRef problem = problemOf(llvm::cast<RankedTensorType>(type)); !problem.empty()) {
      op->destroy();
      error() << "a result has " << problem;
      return nullptr;
    }
    result.setType(type);
  }
  return op;
}

Value GraphBuilder::create(StringRef name, ValueRange operands, RankedTensorType type, Attributes attributes) {
  if (hasFailed || llvm::is_contained(operands, Value()))
    return {};
  if (type)
    if (StringRef problem = problemOf(type); !problem.empty())
      return error() << "a result has " << problem, Value();
  Operation *op;
  if (type) {
    if (haveLongExpressions(attributes))
      return {};
    OperationState state(loc, OperationName(name, context()));
    state.addOperands(operands);
    state.addAttributes(attributes);
    state.addTypes(type);
    op = Operation::create(state);
  } else if (!(op = createInferred(name, 1, operands, attributes))) {
    return {};
  }
  if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/false))) {
    op->destroy();
    hasFailed = true;
    return {};
  }
  addSizeChecks(op);
  if (hasFailed) {
    op->destroy();
    return {};
  }
  SmallVector<OpFoldResult> folded;
  if (succeeded(op->fold(folded)) && folded.size() == 1)
    if (auto same = dyn_cast<Value>(folded.front()); same && same.getType() == op->getResult(0).getType()) {
      op->destroy();
      return same;
    }
  if (Value value = evaluateSmall(builder, op)) {
    op->destroy();
    return value;
  }
  builder.insert(op);
  return op->getResult(0);
}

/// The operands that are there; with their counts as an attribute where the operation has one.
static SmallVector<Value> presentOperands(Builder &builder, ArrayRef<Value> operands, bool countSegments,
                                          SmallVectorImpl<NamedAttribute> &attributes) {
  SmallVector<Value> present;
  SmallVector<int32_t> segments;
  for (Value operand : operands) {
    segments.push_back(bool(operand));
    if (operand)
      present.push_back(operand);
  }
  if (countSegments)
    attributes.push_back({"operandSegmentSizes", builder.getDenseI32ArrayAttr(segments)});
  return present;
}

Value GraphBuilder::createOptional(StringRef name, ArrayRef<Value> operands, Attributes attributes,
                                   bool countSegments) {
  SmallVector<NamedAttribute> all(attributes);
  SmallVector<Value> present = presentOperands(builder, operands, countSegments, all);
  return create(name, present, {}, all);
}

SmallVector<Value> GraphBuilder::createMany(StringRef name, unsigned numResults, ArrayRef<Value> operands,
                                            Attributes attributes, bool countSegments) {
  SmallVector<NamedAttribute> all(attributes);
  SmallVector<Value> present = presentOperands(builder, operands, countSegments, all);
  SmallVector<Value> none(numResults);
  Operation *op = hasFailed ? nullptr : createInferred(name, numResults, present, all);
  if (!op)
    return none;
  if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/false)))
    hasFailed = true;
  else
    addSizeChecks(op);
  if (hasFailed) {
    op->destroy();
    return none;
  }
  builder.insert(op);
  return SmallVector<Value>(op->getResults());
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

std::string GraphBuilder::text(AffineExpr size) const {
  SmallVector<StringRef> names(symbols.begin(), symbols.end());
  return dimToString(size, names);
}

std::string GraphBuilder::text(RankedTensorType type) const {
  std::string result = "[";
  for (AffineExpr dim : dimsOf(type))
    result += (result.size() > 1 ? ", " : "") + text(dim);
  return result + "]";
}

AffineExpr GraphBuilder::symbol(StringRef name) {
  auto *known = llvm::find(symbols, name);
  if (known == symbols.end()) {
    symbols.push_back(name.str());
    known = std::prev(symbols.end());
  }
  return getAffineSymbolExpr(known - symbols.begin(), context());
}

/// "node 'Add_3'", as far as the location knows.
static std::string nameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return "node '" + name.getName().str() + "': ";
  return "";
}

bool GraphBuilder::isTooLong(AffineExpr size) {
  if (!isTooComplex(normalize(size)))
    return false;
  error() << "the expression of a size is too long";
  return true;
}

void GraphBuilder::requireEqual(AffineExpr a, AffineExpr b, const Twine &what) {
  a = normalize(a), b = normalize(b);
  if (hasFailed || isTooLong(a) || isTooLong(b) || a == b)
    return;
  if (constantOf(a - b)) {
    error() << "sizes of " << what << " differ: " << text(a) << " and " << text(b);
    return;
  }
  if (!checked.insert({a, b}).second)
    return;
  std::string message = (nameOf(loc) + "sizes of " + what + " differ: " + text(a) + " and " + text(b)).str();
  CheckOp::create(builder, loc, DimsAttr::get(context(), a), DimsAttr::get(context(), b), message);
}

void GraphBuilder::requireAtMost(AffineExpr a, AffineExpr b, const Twine &what) {
  AffineExpr slack = normalize(b - a);
  if (hasFailed || isTooLong(slack))
    return;
  std::optional<int64_t> low = lowerBound(slack);
  if (low && *low >= 0)
    return;
  if (constantOf(slack)) {
    error() << what << ": " << text(a) << " is more than " << text(b);
    return;
  }
  // 0 <= slack < 2^40 exactly when its quotient by 2^40 is 0; no size comes near.
  AffineExpr quotient = slack.floorDiv(int64_t(1) << 40), zero = size(0);
  if (!checked.insert({quotient, zero}).second)
    return;
  std::string message = (nameOf(loc) + what + ": " + text(a) + " is more than " + text(b)).str();
  CheckOp::create(builder, loc, DimsAttr::get(context(), quotient), DimsAttr::get(context(), zero), message);
}

void GraphBuilder::requireDifferent(AffineExpr a, AffineExpr b, const Twine &what) {
  AffineExpr difference = normalize(a - b);
  if (hasFailed)
    return;
  if (std::optional<int64_t> constant = constantOf(difference)) {
    if (*constant == 0)
      error() << what << ": both sizes are " << text(a);
    return;
  }
  // The square of a difference rounds up to 1 unless it is 0; no size comes near the divisor.
  AffineExpr quotient = normalize(difference * difference).ceilDiv(int64_t(1) << 61), one = size(1);
  if (!checked.insert({quotient, one}).second)
    return;
  std::string message = (nameOf(loc) + what + ": " + text(a) + " and " + text(b) + " are equal").str();
  CheckOp::create(builder, loc, DimsAttr::get(context(), quotient), DimsAttr::get(context(), one), message);
}

void GraphBuilder::addSizeChecks(Operation *op) {
  auto dim = [](Value value, int64_t i) { return dimOf(typeOf(value), i < 0 ? rankOf(value) + i : i); };
  // A dimension that isn't evidently 1 has the size of the result.
  auto broadcasts = [&](Value operand, RankedTensorType result, int64_t skipLast = 0) {
    for (int64_t i = 1 + skipLast; i <= rankOf(operand); ++i)
      if (constantOf(dim(operand, -i)) != 1)
        requireEqual(dim(operand, -i), dimOf(result, result.getRank() - i),
                     "dimension " + Twine(result.getRank() - i));
  };
  RankedTensorType type = typeOf(op->getResult(0));
  llvm::TypeSwitch<Operation *>(op)
      .Case<ElementwiseOpInterface>([&](auto) {
        for (Value operand : op->getOperands())
          broadcasts(operand, type);
      })
      .Case<BroadcastOp>([&](BroadcastOp broadcast) { broadcasts(broadcast.getX(), type); })
      .Case<MatmulOp>([&](MatmulOp matmul) {
        requireEqual(dim(matmul.getLhs(), matmul.getTransposeLhs() ? -2 : -1),
                     dim(matmul.getRhs(), matmul.getTransposeRhs() ? -1 : -2), "the contracted dimension");
        broadcasts(matmul.getLhs(), type, 2);
        broadcasts(matmul.getRhs(), type, 2);
      })
      .Case<ConvOp>([&](ConvOp conv) {
        requireEqual(dim(conv.getInput(), 1), dim(conv.getWeight(), 1) * int64_t(conv.getGroups()), "channels");
        if (conv.getBias())
          requireEqual(dim(conv.getBias(), 0), dim(conv.getWeight(), 0), "bias and weights");
      })
      .Case<AttentionOp>([&](AttentionOp attention) {
        requireEqual(dim(attention.getQuery(), 0), dim(attention.getKey(), 0), "query and key batch");
        requireEqual(dim(attention.getQuery(), 0), dim(attention.getValue(), 0), "query and value batch");
        requireEqual(dim(attention.getQuery(), 3), dim(attention.getKey(), 3), "query and key heads");
        requireEqual(dim(attention.getKey(), 2), dim(attention.getValue(), 2), "key and value sequence");
        if (attention.getMask())
          broadcasts(attention.getMask(), tensorOf({dim(attention.getQuery(), 0), dim(attention.getQuery(), 1),
                                                    dim(attention.getQuery(), 2), dim(attention.getKey(), 2)},
                                                   elementOf(attention.getMask())));
      })
      .Case<LayerNormOp, RmsNormOp>([&](auto) {
        for (Value parameter : op->getOperands().drop_front())
          broadcasts(parameter, type);
      })
      .Case<GroupNormOp>([&](GroupNormOp norm) {
        requireEqual(dim(norm.getScale(), 0), dim(norm.getX(), 1), "channels");
        requireEqual(dim(norm.getBias(), 0), dim(norm.getX(), 1), "channels");
      })
      .Case<ConcatOp>([&](ConcatOp concat) {
        for (Value input : concat.getInputs())
          for (int64_t i = 0; i < type.getRank(); ++i)
            if (i != int64_t(concat.getAxis()))
              requireEqual(dim(input, i), dimOf(type, i), "dimension " + Twine(i));
      })
      .Case<GatherElementsOp>([&](GatherElementsOp gather) {
        for (int64_t i = 0; i < type.getRank(); ++i)
          if (i != int64_t(gather.getAxis()))
            requireAtMost(dimOf(type, i), dim(gather.getX(), i), "indices of dimension " + Twine(i));
      })
      .Case<ScatterElementsOp>([&](ScatterElementsOp scatter) {
        for (int64_t i = 0; i < type.getRank(); ++i) {
          requireEqual(dim(scatter.getIndices(), i), dim(scatter.getUpdates(), i), "indices and updates");
          if (i != int64_t(scatter.getAxis()))
            requireAtMost(dim(scatter.getIndices(), i), dimOf(type, i), "indices of dimension " + Twine(i));
        }
      })
      .Case<ScatterNdOp>([&](ScatterNdOp scatter) {
        int64_t outer = rankOf(scatter.getIndices()) - 1, tuple = *constantOf(dim(scatter.getIndices(), outer));
        for (int64_t i = 0; i < rankOf(scatter.getUpdates()); ++i)
          requireEqual(dim(scatter.getUpdates(), i),
                       i < outer ? dim(scatter.getIndices(), i) : dimOf(type, tuple + i - outer), "updates");
      })
      .Case<TopKOp>([&](TopKOp topK) {
        requireAtMost(topK.getK().getExprs()[0], dim(topK.getX(), topK.getAxis()), "the number of elements that are wanted");
      })
      .Case<RecurrentOp>([&](RecurrentOp layer) {
        AffineExpr batch = dim(layer.getInput(), 1), hidden = dim(layer.getState(), 1);
        int64_t gates = layer.getKind() == RecurrentKind::rnn ? 1 : layer.getKind() == RecurrentKind::gru ? 3 : 4;
        requireEqual(dim(layer.getInput(), 2), hidden * gates, "the gates");
        requireEqual(dim(layer.getRecurrence(), 0), hidden * gates, "the gates' weights");
        requireEqual(dim(layer.getRecurrence(), 1), hidden, "weights and state");
        requireEqual(dim(layer.getState(), 0), batch, "batch and state");
        if (layer.getCell()) {
          requireEqual(dim(layer.getCell(), 0), batch, "batch and cell");
          requireEqual(dim(layer.getCell(), 1), hidden, "state and cell");
        }
        if (layer.getRecurrentBias())
          requireEqual(dim(layer.getRecurrentBias(), 0), hidden, "state and bias");
        if (layer.getPeephole())
          requireEqual(dim(layer.getPeephole(), 0), hidden * 3, "state and peepholes");
        if (layer.getLengths())
          requireEqual(dim(layer.getLengths(), 0), batch, "batch and lengths");
      })
      .Case<DetOp>([&](DetOp det) {
        int64_t rank = rankOf(det.getX());
        requireEqual(dim(det.getX(), rank - 2), dim(det.getX(), rank - 1), "rows and columns");
      })
      .Case<RoiAlignOp>([&](RoiAlignOp align) {
        requireEqual(dim(align.getRois(), 0), dim(align.getImages(), 0), "regions and their images");
      })
      .Case<GatherNdOp>([&](GatherNdOp gather) {
        for (int64_t i = 0; i < int64_t(gather.getBatchDims()); ++i)
          requireEqual(dim(gather.getX(), i), dim(gather.getIndices(), i), "batch dimension " + Twine(i));
      });
}

//===----------------------------------------------------------------------===//
// Common values
//===----------------------------------------------------------------------===//

Value GraphBuilder::constant(DenseElementsAttr value) {
  return hasFailed ? Value() : ConstantOp::create(builder, loc, value);
}

Value GraphBuilder::scalar(Type element, double value) {
  Attribute attribute;
  if (isa<FloatType>(element))
    attribute = FloatAttr::get(element, value);
  else
    attribute = IntegerAttr::get(element, APInt(llvm::cast<IntegerType>(element).getWidth(), int64_t(value),
                                                /*isSigned=*/true, /*implicitTrunc=*/true));
  return constant(DenseElementsAttr::get(RankedTensorType::get({}, element), attribute));
}

Value GraphBuilder::intVector(ArrayRef<int64_t> values) {
  return constant(DenseElementsAttr::get(
      RankedTensorType::get({int64_t(values.size())}, builder.getI64Type()), values));
}

Value GraphBuilder::sizes(ArrayRef<AffineExpr> values) {
  auto type = RankedTensorType::get({int64_t(values.size())}, builder.getI64Type());
  if (hasFailed || llvm::any_of(values, [&](AffineExpr value) { return isTooLong(value); }))
    return {};
  return createElements(builder, loc, values, type);
}

Value GraphBuilder::sizeScalar(AffineExpr value) {
  return hasFailed || isTooLong(value) ? Value() : createElements(builder, loc, value, RankedTensorType::get({}, builder.getI64Type()));
}

Value GraphBuilder::reshape(Value x, ArrayRef<AffineExpr> dims) {
  return x ? emitAs<ReshapeOp>(withDims(typeOf(x), dims), x) : Value();
}

Value GraphBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  return emit<TransposeOp>(x, ints("perm", perm));
}

Value GraphBuilder::broadcast(Value x, ArrayRef<AffineExpr> dims) {
  return x ? emitAs<BroadcastOp>(withDims(typeOf(x), dims), x) : Value();
}

Value GraphBuilder::cast(Value x, Type element) {
  return x ? emitAs<CastOp>(withElement(typeOf(x), element), x) : Value();
}

Value GraphBuilder::compare(ComparePredicate predicate, Value a, Value b) {
  return emit<CompareOp>({a, b}, attr("predicate", ComparePredicateAttr::get(context(), predicate)));
}

Value GraphBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes, bool keepDims) {
  SmallVector<NamedAttribute> attributes{attr("kind", ReduceKindAttr::get(context(), kind)), ints("axes", axes)};
  if (keepDims)
    attributes.push_back(flag("keep_dims"));
  return emit<ReduceOp>(x, attributes);
}

Value GraphBuilder::iota(ArrayRef<AffineExpr> dims, int64_t axis, Type element) {
  return emitAs<IotaOp>(tensorOf(dims, element), {},
                        {i64("axis", axis), this->dims("start", size(0)), this->dims("step", size(1))});
}

Value GraphBuilder::appendUnitDims(Value x, int64_t rank) {
  if (!x)
    return {};
  SmallVector<AffineExpr> dims = dimsOf(typeOf(x));
  dims.resize(std::max<int64_t>(rank, dims.size()), size(1));
  return reshape(x, dims);
}

Value GraphBuilder::insertUnitDim(Value x, int64_t axis) {
  if (!x)
    return {};
  SmallVector<AffineExpr> dims = dimsOf(typeOf(x));
  dims.insert(dims.begin() + axis, size(1));
  return reshape(x, dims);
}

Value GraphBuilder::concat(ArrayRef<Value> parts, int64_t axis) { return emit<ConcatOp>(parts, i64("axis", axis)); }

Value GraphBuilder::slice(Value x, int64_t axis, AffineExpr start, AffineExpr count, int64_t step) {
  if (!x)
    return {};
  SmallVector<AffineExpr> dims = dimsOf(typeOf(x)), starts(dims.size(), size(0));
  SmallVector<int64_t> steps(dims.size(), 1);
  dims[axis] = normalize(count);
  starts[axis] = normalize(start);
  steps[axis] = step;
  return emitAs<SliceOp>(withDims(typeOf(x), dims), x, {this->dims("starts", starts), ints("steps", steps)});
}

Value GraphBuilder::padAxis(Value x, int64_t axis, AffineExpr lo, AffineExpr hi) {
  if (!x)
    return {};
  SmallVector<AffineExpr> before(rankOf(x), size(0)), after(rankOf(x), size(0));
  before[axis] = normalize(lo);
  after[axis] = normalize(hi);
  return emit<PadOp>(x, {dims("lo", before), dims("hi", after),
                         attr("mode", PadModeAttr::get(context(), PadMode::constant))});
}
