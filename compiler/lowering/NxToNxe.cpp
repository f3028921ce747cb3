//===- NxToNxe.cpp - The outlined program as an executable ----------------===//

#include "compiler/lowering/Passes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace nx;

namespace nx {
#define GEN_PASS_DEF_NXTONXE
#include "compiler/lowering/Passes.h.inc"
} // namespace nx

namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Bytes of one element in memory: booleans take one.
int64_t elementBytes(Type element) { return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8); }

class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp module, func::FuncOp func, int64_t tpDegree)
      : module(module), func(func), builder(module.getContext()), context(module.getContext()),
        tpDegree(tpDegree), bufferType(nxe::BufferType::get(context)) {}

  LogicalResult run() {
    builder.setInsertionPointToEnd(module.getBody());
    executable = nxe::ExecutableOp::create(builder, func.getLoc(), tpDegree);
    executableBlock = &executable.getBody().emplaceBlock();
    builder.setInsertionPointToEnd(executableBlock);
    FailureOr<ArrayAttr> symbols = bindSymbols();
    if (failed(symbols))
      return failure();
    for (func::FuncOp kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(kFamilyAttr))
        declareKernel(kernel);
    program =
        nxe::ProgramOp::create(builder, func.getLoc(), func.getName(), *symbols, IntegerAttr());
    builder.setInsertionPointToEnd(&program.getBody().emplaceBlock());
    if (failed(buildBody()))
      return failure();
    func.erase();
    return success();
  }

private:
  DimsAttr dims(ArrayRef<AffineExpr> exprs) { return DimsAttr::get(context, exprs); }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, context); }

  DimsAttr bytesOf(RankedTensorType type) {
    return dims({productOf(dimsOf(type), context) * elementBytes(type.getElementType())});
  }

  /// A size as factor * symbol + offset; nothing when it is another expression.
  std::optional<std::pair<int64_t, int64_t>> lineOf(AffineExpr size, AffineExpr symbol) {
    auto at = [&](int64_t value) {
      return constantOf(normalize(size.replace(symbol, getAffineConstantExpr(value, context))));
    };
    std::optional<int64_t> offset = at(0), sum = at(1);
    constexpr int64_t limit = int64_t(1) << 40;
    if (!offset || !sum || *sum - *offset < 1 || *sum > limit || *offset < -limit)
      return std::nullopt;
    int64_t factor = *sum - *offset;
    if (!provablyEqual(size, symbol * factor + *offset))
      return std::nullopt;
    return std::pair(factor, *offset);
  }

  /// Each symbol's value comes from an input dimension: one that is exactly this symbol, or else the
  /// first that is a multiple of it plus a number.
  FailureOr<ArrayAttr> bindSymbols() {
    SmallVector<Attribute> symbols;
    for (auto [index, name] : llvm::enumerate(symbolNames(func))) {
      if (name == kRankSymbol) {
        symbols.push_back(nxe::SymbolAttr::get(context, name, nxe::SymbolSource::rank, 0, 0, 1, 0));
        continue;
      }
      AffineExpr symbol = getAffineSymbolExpr(index, context);
      nxe::SymbolAttr found;
      for (auto [input, type] : llvm::enumerate(func.getArgumentTypes()))
        for (auto [dim, expr] : llvm::enumerate(dimsOf(cast<RankedTensorType>(type))))
          if (auto line = lineOf(expr, symbol); line && (!found || (expr == symbol && found.getFactor() != 1)))
            found = nxe::SymbolAttr::get(context, name, nxe::SymbolSource::input_dim, input, dim,
                                         line->first, line->second);
      if (!found)
        return func.emitError() << "size '" << name
                                << "' is not the size of any input dimension, so it cannot be "
                                << "known when the program starts";
      symbols.push_back(found);
    }
    return builder.getArrayAttr(symbols);
  }

  void declareKernel(func::FuncOp kernel) {
    nxe::KernelOp::create(builder, kernel.getLoc(), kernel.getName(),
                          kernel->getAttrOfType<StringAttr>(kFamilyAttr).getValue(),
                          slotsOf(kernel), kernel.getNumArguments() + kernel.getNumResults());
  }

  int64_t slotsOf(func::FuncOp kernel) {
    int64_t slots = 0;
    for (Operation &op : func.getBody().front())
      if (auto dispatch = dyn_cast<DispatchOp>(op);
          dispatch && dispatch.getKernel() == kernel.getName())
        return dispatch.getSlots().getExprs().size();
    return slots;
  }

  StringAttr nameOf(DictionaryAttr attrs, StringRef fallback, size_t index) {
    if (attrs)
      if (auto name = attrs.getAs<StringAttr>(kNameAttr))
        return name;
    return builder.getStringAttr(fallback + Twine(index));
  }

  LogicalResult buildBody() {
    for (auto [i, argument] : llvm::enumerate(func.getArguments()))
      buffers[argument] = nxe::InputOp::create(
          builder, func.getLoc(), bufferType, builder.getI64IntegerAttr(i),
          nameOf(func.getArgAttrDict(i), "input", i), TypeAttr::get(argument.getType()));
    // Outputs: the storage of the value that a command computes for it, if there is one.
    auto terminator = cast<func::ReturnOp>(func.getBody().front().getTerminator());
    SmallVector<std::pair<Value, Value>> copies; // value, output
    for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
      Value output = nxe::OutputOp::create(
          builder, func.getLoc(), bufferType, builder.getI64IntegerAttr(i),
          nameOf(func.getResultAttrDict(i), "output", i), TypeAttr::get(value.getType()));
      Value root = value;
      while (auto reshape = root.getDefiningOp<ReshapeOp>())
        root = reshape.getX();
      Operation *producer = root.getDefiningOp();
      if (producer && !isa<ParamOp>(producer) && !buffers.count(root))
        buffers[root] = output;
      else
        copies.push_back({value, output});
    }
    if (failed(buildStates()))
      return failure();
    for (Operation &op : func.getBody().front().without_terminator())
      if (failed(build(&op)))
        return failure();
    for (auto [value, output] : copies)
      nxe::CopyOp::create(builder, terminator.getLoc(), buffers[value], output,
                          bytesOf(typeOf(value)));
    return success();
  }

  /// An argument and a result with the attribute `nx.state` are storage that the runtime keeps. They
  /// come last, since callers count the others only.
  LogicalResult buildStates() {
    llvm::StringMap<int64_t> results;
    int64_t firstState = func.getNumResults();
    for (auto i : llvm::seq(int64_t(func.getNumResults()))) {
      auto state = func.getResultAttrOfType<StringAttr>(i, kStateAttr);
      if (!state && firstState < i)
        return func.emitError("result ") << i << " follows a result that is a state";
      if (!state)
        continue;
      firstState = std::min(firstState, i);
      if (!results.try_emplace(state.getValue(), i).second)
        return func.emitError("two results are the state ") << state;
    }
    bool found = false;
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
      auto state = func.getArgAttrOfType<StringAttr>(i, kStateAttr);
      if (!state && found)
        return func.emitError("argument ") << i << " follows an argument that is a state";
      if (!state)
        continue;
      found = true;
      auto tensor = cast<RankedTensorType>(type);
      if (!tensor.hasStaticShape())
        return func.emitError("the shape of the state ") << state << " is not static: " << type;
      IntegerAttr output;
      if (auto it = results.find(state.getValue()); it != results.end()) {
        if (func.getResultTypes()[it->second] != type)
          return func.emitError("the state ") << state << " is of type " << type
                                              << " but becomes " << func.getResultTypes()[it->second];
        output = builder.getI64IntegerAttr(it->second);
        results.erase(it);
      }
      FlatSymbolRefAttr initial;
      if (auto name = func.getArgAttrOfType<StringAttr>(i, kInitialAttr))
        initial = FlatSymbolRefAttr::get(
            context, declareParam(func.getLoc(), name, type, builder.getArrayAttr({}), type));
      nxe::StateOp::create(builder, func.getLoc(), state, builder.getI64IntegerAttr(i), output,
                           initial);
    }
    if (!results.empty())
      return func.emitError("no argument is the state '") << results.begin()->first() << "'";
    return success();
  }

  /// The storage of `value`, a temporary unless it is an output.
  Value storageOf(Value value, Location loc) {
    Value &buffer = buffers[value];
    if (!buffer)
      buffer = nxe::TempOp::create(builder, loc, bufferType, bytesOf(typeOf(value)), IntegerAttr(),
                                   IntegerAttr(), IntegerAttr());
    return buffer;
  }

  LogicalResult build(Operation *op) {
    Location loc = op->getLoc();
    if (auto param = dyn_cast<ParamOp>(op)) {
      buffers[param.getResult()] =
          nxe::LoadOp::create(builder, loc, bufferType,
                              declareParam(loc, param.getNameAttr(), param.getSourceType(),
                                           param.getRecipe(), param.getType()));
      return success();
    }
    if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      Value source = buffers[reshape.getX()];
      buffers.try_emplace(reshape.getResult(), source);
      return success();
    }
    if (auto check = dyn_cast<CheckOp>(op)) {
      nxe::CheckOp::create(builder, loc, check.getLhs(), check.getRhs(), check.getMessage());
      return success();
    }
    if (auto dispatch = dyn_cast<DispatchOp>(op)) {
      SmallVector<Value> operands;
      for (Value input : dispatch.getInputs())
        operands.push_back(buffers[input]);
      for (Value result : dispatch.getResults())
        operands.push_back(storageOf(result, loc));
      nxe::DispatchOp::create(builder, loc, dispatch.getKernel(), operands, dispatch.getSlots());
      return success();
    }
    if (isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp>(op))
      return buildCollective(op);
    return op->emitOpError("cannot be a command; it was not outlined into a kernel");
  }

  LogicalResult buildCollective(Operation *op) {
    RankedTensorType type = typeOf(op->getOperand(0));
    SmallVector<AffineExpr> sizes = dimsOf(type);
    auto around = [&](ArrayRef<AffineExpr> all, int64_t dim) {
      return dims({productOf(all.take_front(dim), context), all[dim],
                   productOf(all.drop_front(dim + 1), context)});
    };
    nxe::CollectiveKind kind = nxe::CollectiveKind::all_reduce;
    ReduceKind reduce = ReduceKind::sum;
    DimsAttr layout = dims({constant(1), productOf(sizes, context), constant(1)}), resultLayout;
    if (auto all = dyn_cast<AllReduceOp>(op)) {
      reduce = all.getKind();
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      kind = nxe::CollectiveKind::all_gather;
      layout = around(sizes, gather.getDim());
    } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
      kind = nxe::CollectiveKind::reduce_scatter;
      reduce = scatter.getKind();
      layout = around(sizes, scatter.getDim());
    } else {
      auto toAll = cast<AllToAllOp>(op);
      kind = nxe::CollectiveKind::all_to_all;
      layout = around(sizes, toAll.getSplitDim());
      SmallVector<AffineExpr> part = sizes;
      part[toAll.getSplitDim()] =
          divideExactly(part[toAll.getSplitDim()], constant(toAll.getParts()));
      resultLayout = around(part, toAll.getConcatDim());
    }
    Value source = buffers[op->getOperand(0)];
    Value target = storageOf(op->getResult(0), op->getLoc());
    nxe::CollectiveOp::create(builder, op->getLoc(), kind, reduce, type.getElementType(), source,
                              target, layout, resultLayout);
    return success();
  }

  /// One table entry per parameter in one form, however often the program reads it.
  StringRef declareParam(Location loc, StringAttr source, Type sourceType, ArrayAttr recipe,
                         Type type) {
    auto key = std::make_tuple(source.getAsOpaquePointer(), recipe.getAsOpaquePointer(),
                               type.getAsOpaquePointer());
    auto [it, isNew] = params.try_emplace(key);
    if (isNew) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(program);
      std::string name = "p" + std::to_string(params.size() - 1);
      it->second =
          nxe::ParamOp::create(builder, loc, builder.getStringAttr(name), source,
                               TypeAttr::get(sourceType), recipe, TypeAttr::get(type));
    }
    return it->second.getSymName();
  }

  ModuleOp module;
  func::FuncOp func;
  OpBuilder builder;
  MLIRContext *context;
  int64_t tpDegree;
  Type bufferType;
  nxe::ExecutableOp executable;
  nxe::ProgramOp program;
  Block *executableBlock = nullptr;
  DenseMap<Value, Value> buffers;
  llvm::MapVector<std::tuple<const void *, const void *, const void *>, nxe::ParamOp> params;
};

struct ToNxe : public nx::impl::NxToNxeBase<ToNxe> {
  using NxToNxeBase::NxToNxeBase;
  void runOnOperation() override {
    for (func::FuncOp func : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!func->hasAttr(kFamilyAttr))
        if (failed(ProgramBuilder(getOperation(), func, tpDegree).run()))
          return signalPassFailure();
  }
};

} // namespace
