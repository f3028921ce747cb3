#include "compiler/codegen/cpu/loops/Model.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include <functional>

using namespace mlir;

namespace nx::loops {

int plainClass(AffineExpr expr) {
  auto dim = dyn_cast<AffineDimExpr>(expr);
  return dim ? static_cast<int>(dim.getPosition()) : -1;
}

bool dependsOn(AffineExpr expr, int cls) { return cls >= 0 && expr.isFunctionOfDim(cls); }

AffineExpr coefficient(AffineExpr expr, int cls) {
  MLIRContext *context = expr.getContext();
  if (!dependsOn(expr, cls))
    return getAffineConstantExpr(0, context);
  if (isa<AffineDimExpr>(expr))
    return getAffineConstantExpr(1, context);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  AffineExpr lhs = binary.getLHS(), rhs = binary.getRHS();
  if (expr.getKind() == AffineExprKind::Add) {
    AffineExpr l = coefficient(lhs, cls), r = coefficient(rhs, cls);
    return l && r ? l + r : AffineExpr();
  }
  if (expr.getKind() == AffineExprKind::Mul) {
    AffineExpr l = coefficient(lhs, cls);
    return l && rhs.isSymbolicOrConstant() ? l * rhs : AffineExpr();
  }
  return {};
}

std::optional<int64_t> constantOf(AffineExpr expr) {
  auto constant = dyn_cast_or_null<AffineConstantExpr>(expr);
  return constant ? std::optional(constant.getValue()) : std::nullopt;
}

void Node::forEachAccess(llvm::function_ref<void(const Access &, bool)> fn) const {
  for (const Input &input : inputs)
    if (input.access.buffer >= 0)
      fn(input.access, false);
  for (const Output &output : outputs) {
    if (output.init && output.init->access.buffer >= 0)
      fn(output.init->access, false);
    fn(output.access, true);
  }
}

void Node::forEachRead(llvm::function_ref<void(int)> fn) const {
  forEachAccess([&](const Access &access, bool isWrite) {
    if (!isWrite)
      fn(access.buffer);
  });
  for (const auto &[op, access] : gathers)
    fn(access.buffer);
}

SmallVector<AffineExpr> Model::strides(const Buffer &buffer) const {
  SmallVector<AffineExpr> strides(buffer.sizes.size());
  AffineExpr stride = getAffineConstantExpr(1, host.kernel().getContext());
  for (unsigned d = buffer.sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride = stride * buffer.sizes[d];
  }
  return strides;
}

namespace {

// Builds a Model. Works on expressions over each node's own loops until the classes are known.
class Builder {
public:
  explicit Builder(Model &model)
      : model(model), host(model.host), context(model.host.kernel().getContext()) {}

  LogicalResult run();

private:
  AffineExpr zero() { return getAffineConstantExpr(0, context); }
  static unsigned rank(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

  FailureOr<int> bufferOf(Value value);
  int addBuffer(Value value);
  FailureOr<Access> resolve(Value tensor, ArrayRef<AffineExpr> index);
  LogicalResult addGeneric(linalg::GenericOp op);
  LogicalResult addInsert(tensor::InsertSliceOp op);
  LogicalResult addRegion(Node &node);
  FailureOr<Input> readOf(Value value, AffineMap map);
  LogicalResult bindResults(func::ReturnOp op);

  void findClasses();

  Model &model;
  HostValues &host;
  MLIRContext *context;
  DenseMap<Value, int> bufferIds;
  SmallVector<SmallVector<AffineExpr>> loopExtents; // per node
};

int Builder::addBuffer(Value value) {
  Buffer buffer;
  buffer.value = value;
  buffer.element = cast<RankedTensorType>(value.getType()).getElementType();
  buffer.sizes = host.sizesOf(value);
  model.buffers.push_back(std::move(buffer));
  return bufferIds[value] = model.buffers.size() - 1;
}

// The buffer of a value that is no view.
FailureOr<int> Builder::bufferOf(Value value) {
  if (auto it = bufferIds.find(value); it != bufferIds.end())
    return it->second;
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    int id = addBuffer(value);
    model.buffers[id].constant = constant;
    return id;
  }
  return failure();
}

// Follows the views up to the buffer.
FailureOr<Access> Builder::resolve(Value tensor, ArrayRef<AffineExpr> index) {
  SmallVector<Term> terms;
  for (auto [d, expr] : llvm::enumerate(index))
    terms.push_back({expr, static_cast<unsigned>(d), static_cast<unsigned>(d)});

  // A collapsed group becomes one term per dim of `value`.
  auto split = [&](const Term &term, Value value) {
    SmallVector<Term> parts;
    AffineExpr rest = term.index;
    for (unsigned d = term.last; d > term.first; --d) {
      AffineExpr size = host.sizeOf(value, d);
      parts.push_back({rest % size, d, d});
      rest = rest.floorDiv(size);
    }
    parts.push_back({rest, term.first, term.first});
    return parts;
  };
  // Terms on dims of size 1 are at index 0; groups shrink to the dims that count.
  auto clean = [&](Value value) -> LogicalResult {
    SmallVector<AffineExpr> sizes = host.sizesOf(value);
    if (llvm::is_contained(sizes, AffineExpr()))
      return failure();
    SmallVector<Term> kept;
    for (Term term : terms) {
      while (term.first < term.last && constantOf(sizes[term.first]) == 1)
        ++term.first;
      while (term.first < term.last && constantOf(sizes[term.last]) == 1)
        --term.last;
      bool one = term.first == term.last && constantOf(sizes[term.first]) == 1;
      if (!one && constantOf(term.index) != 0)
        kept.push_back(term);
    }
    terms = std::move(kept);
    return success();
  };

  for (;;) {
    if (failed(clean(tensor)))
      return failure();
    Operation *op = tensor.getDefiningOp();
    if (auto cast = dyn_cast_or_null<tensor::CastOp>(op)) {
      tensor = cast.getSource();
    } else if (auto slice = dyn_cast_or_null<tensor::ExtractSliceOp>(op)) {
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      SmallVector<unsigned> sourceDim;
      for (unsigned d = 0; d < dropped.size(); ++d)
        if (!dropped[d])
          sourceDim.push_back(d);
      SmallVector<AffineExpr> at(dropped.size(), zero());
      for (const Term &group : terms)
        for (const Term &term : split(group, tensor))
          at[sourceDim[term.first]] = term.index;
      terms.clear();
      for (unsigned d = 0; d < at.size(); ++d)
        terms.push_back({host.exprOf(slice.getMixedOffsets()[d]) +
                             at[d] * host.exprOf(slice.getMixedStrides()[d]),
                         d, d});
      tensor = slice.getSource();
    } else if (auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op)) {
      SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
      for (Term &term : terms) {
        term.first = groups[term.first].front();
        term.last = groups[term.last].back();
      }
      tensor = collapse.getSrc();
    } else if (auto expand = dyn_cast_or_null<tensor::ExpandShapeOp>(op)) {
      SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
      SmallVector<AffineExpr> at(groups.size(), zero());
      SmallVector<unsigned> groupOf(rank(tensor));
      for (auto [g, dims] : llvm::enumerate(groups))
        for (int64_t d : dims)
          groupOf[d] = g;
      for (const Term &group : terms)
        for (const Term &term : split(group, tensor)) {
          AffineExpr index = term.index;
          for (int64_t d = term.first + 1; d <= groups[groupOf[term.first]].back(); ++d)
            index = index * host.sizeOf(tensor, d);
          at[groupOf[term.first]] = at[groupOf[term.first]] + index;
        }
      terms.clear();
      for (unsigned d = 0; d < at.size(); ++d)
        terms.push_back({at[d], d, d});
      tensor = expand.getSrc();
    } else {
      break;
    }
  }
  FailureOr<int> buffer = bufferOf(tensor);
  if (failed(buffer))
    return failure();
  return Access{*buffer, std::move(terms)};
}

FailureOr<Input> Builder::readOf(Value value, AffineMap map) {
  Input input;
  if (!isa<RankedTensorType>(value.getType())) {
    input.scalar = value;
    return input;
  }
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat()) {
    input.splat = constant.getSplatValue<TypedAttr>();
    return input;
  }
  FailureOr<Access> access = resolve(value, map.getResults());
  if (failed(access))
    return failure();
  input.access = *access;
  return input;
}

LogicalResult Builder::addGeneric(linalg::GenericOp op) {
  Node node;
  node.op = op;
  unsigned numLoops = op.getNumLoops();
  SmallVector<AffineExpr> extents(numLoops);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    for (auto [d, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      int loop = plainClass(expr);
      if (loop < 0)
        continue;
      AffineExpr size = host.sizeOf(operand.get(), d);
      // A constant says most.
      if (size && (!extents[loop] || isa<AffineConstantExpr>(size)))
        extents[loop] = size;
    }
  }
  if (llvm::is_contained(extents, AffineExpr()))
    return op.emitError("loop emitter: the size of a loop is not known");

  for (unsigned i = 0; i < numLoops; ++i) {
    if (constantOf(extents[i]) == 1)
      continue;
    node.loops.push_back(i);
    node.reduced.push_back(op.getIteratorTypesArray()[i] == utils::IteratorType::reduction);
  }
  for (OpOperand *operand : op.getDpsInputOperands()) {
    // An operand that is there for its shape only, as a pooling window is.
    if (op.getMatchingBlockArgument(operand).use_empty()) {
      node.inputs.emplace_back();
      continue;
    }
    FailureOr<Input> input = readOf(operand->get(), op.getMatchingIndexingMap(operand));
    if (failed(input))
      return op.emitError("loop emitter: operand ")
             << operand->getOperandNumber() << " has no storage";
    node.inputs.push_back(*input);
  }
  Block &body = *op.getBody();
  int id = model.nodes.size();
  for (OpOperand &operand : op.getDpsInitsMutable()) {
    Output output;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    OpResult result = op.getTiedOpResult(&operand);
    int buffer = addBuffer(result);
    FailureOr<Access> access = resolve(result, map.getResults());
    if (failed(access))
      return op.emitError("loop emitter: the size of a result is not known");
    output.access = *access;
    model.buffers[buffer].writers.push_back(id);

    unsigned reducedHere = 0, reducedAll = 0;
    for (auto [loop, reduced] : llvm::zip(node.loops, node.reduced)) {
      reducedAll += reduced;
      reducedHere += reduced && !map.isFunctionOfDim(loop);
    }
    if (reducedHere != 0 && reducedHere != reducedAll)
      return op.emitError("loop emitter: a result keeps some of several reduced loops");
    output.accumulates = reducedHere != 0;

    BlockArgument arg = op.getMatchingBlockArgument(&operand);
    if (!arg.use_empty() || output.accumulates) {
      Value init = operand.get();
      if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
        output.init.emplace().scalar = fill.getInputs()[0];
      } else if (!init.getDefiningOp<tensor::EmptyOp>()) {
        FailureOr<Input> input = readOf(init, map);
        if (failed(input))
          return op.emitError("loop emitter: an init has no storage");
        output.init = *input;
      } else if (!arg.use_empty()) {
        return op.emitError("loop emitter: the region reads an init that has no value");
      }
    }
    if (output.accumulates) {
      Operation *merge = body.getTerminator()->getOperand(result.getResultNumber()).getDefiningOp();
      if (merge && merge->getBlock() == &body && arg.hasOneUse() &&
          *arg.getUsers().begin() == merge && merge->getNumOperands() == 2 &&
          merge->getOperand(0) != merge->getOperand(1) && arith::getNeutralElement(merge))
        if ((output.kind = linalg::getCombinerOpKind(merge)))
          output.combiner = merge;
    }
    node.outputs.push_back(std::move(output));
  }
  if (failed(addRegion(node)))
    return failure();
  model.nodes.push_back(std::move(node));
  loopExtents.push_back(std::move(extents));
  return success();
}

LogicalResult Builder::addRegion(Node &node) {
  WalkResult walk = node.op->getRegion(0).walk([&](Operation *op) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      SmallVector<AffineExpr> index;
      for (unsigned d = 0; d < extract.getIndices().size(); ++d)
        index.push_back(getAffineDimExpr(d, context));
      FailureOr<Access> access = resolve(extract.getTensor(), index);
      if (failed(access)) {
        op->emitError("loop emitter: the tensor has no storage");
        return WalkResult::interrupt();
      }
      node.gathers[op] = *access;
    } else if (isa<linalg::IndexOp, linalg::YieldOp>(op) || op->hasTrait<OpTrait::ConstantLike>()) {
      // Known forms.
    } else if (!OpTrait::hasElementwiseMappableTraits(op)) {
      node.vectorizable = false;
    }
    if (op->getDialect() && isa<math::MathDialect>(op->getDialect()) &&
        !isa<math::AbsFOp, math::AbsIOp, math::SqrtOp, math::FmaOp, math::FloorOp, math::CeilOp,
             math::RoundEvenOp, math::TruncOp, math::CopySignOp>(op))
      node.costly = true;
    for (Type type : op->getResultTypes())
      if (!type.isIntOrIndexOrFloat()) {
        op->emitError("loop emitter: a region may compute scalars only");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Builder::addInsert(tensor::InsertSliceOp op) {
  Node node;
  node.op = op;
  Value source = op.getSource();
  SmallVector<AffineExpr> extents, index;
  for (unsigned d = 0; d < rank(source); ++d) {
    AffineExpr size = host.sizeOf(source, d);
    if (!size)
      return op.emitError("loop emitter: the size of the source is not known");
    extents.push_back(size);
    if (constantOf(size) != 1) {
      node.loops.push_back(d);
      node.reduced.push_back(false);
    }
    index.push_back(getAffineDimExpr(d, context));
  }
  FailureOr<Input> input = readOf(source, AffineMap::get(index.size(), 0, index, context));
  if (failed(input))
    return op.emitError("loop emitter: the source has no storage");
  node.inputs.push_back(*input);

  // The result lives in the buffer of the destination.
  Value dest = op.getDest();
  int buffer = bufferIds.count(dest) ? bufferIds[dest] : addBuffer(dest);
  bufferIds[op.getResult()] = buffer;
  model.buffers[buffer].writers.push_back(model.nodes.size());
  Output output;
  output.access.buffer = buffer;
  llvm::SmallBitVector dropped = op.getDroppedDims();
  unsigned at = 0;
  for (unsigned d = 0; d < dropped.size(); ++d) {
    AffineExpr loop = dropped[d] ? zero() : index[at++];
    AffineExpr to =
        host.exprOf(op.getMixedOffsets()[d]) + loop * host.exprOf(op.getMixedStrides()[d]);
    if (constantOf(to) != 0 && constantOf(host.sizeOf(dest, d)) != 1)
      output.access.terms.push_back({to, d, d});
  }
  node.outputs.push_back(std::move(output));
  model.nodes.push_back(std::move(node));
  loopExtents.push_back(std::move(extents));
  return success();
}

// The operand of the call that each returned value goes to.
LogicalResult Builder::bindResults(func::ReturnOp op) {
  unsigned numArguments =
      llvm::count_if(host.kernel().getArgumentTypes(), llvm::IsaPred<TensorType>);
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    Value root = value;
    while (isa_and_nonnull<tensor::CastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
        root.getDefiningOp()))
      root = root.getDefiningOp()->getOperand(0);
    auto it = bufferIds.find(root);
    if (it == bufferIds.end() || model.buffers[it->second].onlyRead() ||
        model.buffers[it->second].operand >= 0)
      return op.emitError("loop emitter: result ") << i << " has no storage of its own";
    model.buffers[it->second].operand = numArguments + i;
  }
  return success();
}

// Joins loops through the tensors that nodes pass to each other, and where nothing speaks against
// it through the arguments that they share.
void Builder::findClasses() {
  struct Element {
    bool isLoop; // of a node; else a dim of a buffer
    int owner;
    unsigned position;
  };
  SmallVector<Element> elements;
  SmallVector<int> parent;
  SmallVector<SmallVector<int>> members; // of each root
  auto add = [&](Element element) {
    elements.push_back(element);
    parent.push_back(parent.size());
    members.push_back({static_cast<int>(elements.size()) - 1});
    return static_cast<int>(elements.size()) - 1;
  };
  std::function<int(int)> find = [&](int e) { return parent[e] == e ? e : find(parent[e]); };
  SmallVector<SmallVector<int>> loopElement, dimElement;
  for (auto [n, node] : llvm::enumerate(model.nodes)) {
    SmallVector<int> ids(loopExtents[n].size(), -1);
    for (int loop : node.loops)
      ids[loop] = add({true, static_cast<int>(n), static_cast<unsigned>(loop)});
    loopElement.push_back(std::move(ids));
  }
  for (auto [i, buffer] : llvm::enumerate(model.buffers)) {
    SmallVector<int> ids;
    for (unsigned d = 0; d < buffer.sizes.size(); ++d)
      ids.push_back(add({false, static_cast<int>(i), d}));
    dimElement.push_back(std::move(ids));
  }
  auto extentOf = [&](const Element &e) {
    return e.isLoop ? loopExtents[e.owner][e.position] : model.buffers[e.owner].sizes[e.position];
  };
  // A node's loops, and a tensor's dims, stay apart: x + transpose(x) must not become a diagonal.
  auto join = [&](int a, int b) {
    a = find(a), b = find(b);
    if (a == b || extentOf(elements[a]) != extentOf(elements[b]))
      return;
    for (int x : members[a])
      for (int y : members[b])
        if (elements[x].isLoop == elements[y].isLoop && elements[x].owner == elements[y].owner)
          return;
    parent[b] = a;
    members[a].append(members[b]);
  };
  auto joinAccesses = [&](bool writes, bool onlyRead) {
    for (auto [n, node] : llvm::enumerate(model.nodes))
      node.forEachAccess([&, n = n](const Access &access, bool isWrite) {
        if (isWrite != writes || model.buffers[access.buffer].onlyRead() != onlyRead)
          return;
        for (const Term &term : access.terms)
          if (int loop = plainClass(term.index); loop >= 0 && term.first == term.last)
            if (int element = loopElement[n][loop]; element >= 0)
              join(dimElement[access.buffer][term.first], element);
      });
  };
  joinAccesses(true, false);
  joinAccesses(false, false);
  joinAccesses(false, true);

  DenseMap<int, int> classOf;
  auto classId = [&](int element) {
    int root = find(element);
    auto [it, isNew] = classOf.insert({root, static_cast<int>(model.extents.size())});
    if (isNew)
      model.extents.push_back(extentOf(elements[root]));
    return it->second;
  };
  for (auto [n, node] : llvm::enumerate(model.nodes)) {
    SmallVector<AffineExpr> renamed(loopExtents[n].size(), zero());
    node.loopClass.assign(loopExtents[n].size(), -1);
    for (int &loop : node.loops) {
      int cls = classId(loopElement[n][loop]);
      renamed[loop] = getAffineDimExpr(cls, context);
      node.loopClass[loop] = cls;
      loop = cls;
    }
    auto rename = [&](Access &access) {
      SmallVector<Term> kept;
      for (Term &term : access.terms) {
        term.index = term.index.replaceDims(renamed);
        if (constantOf(term.index) != 0)
          kept.push_back(term);
      }
      access.terms = std::move(kept);
    };
    for (Input &input : node.inputs)
      rename(input.access);
    for (Output &output : node.outputs) {
      rename(output.access);
      if (output.init)
        rename(output.init->access);
    }
  }
  for (auto [i, buffer] : llvm::enumerate(model.buffers))
    for (int element : dimElement[i])
      buffer.dimClass.push_back(classOf.count(find(element)) ? classOf[find(element)] : -1);
}

LogicalResult Builder::run() {
  func::FuncOp kernel = host.kernel();
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitError("loop emitter: a kernel has one block");
  bool symbolsOnly = false; // behind the tensors
  for (BlockArgument arg : kernel.getArguments()) {
    if (symbolOf(arg)) {
      symbolsOnly = true;
      continue;
    }
    if (symbolsOnly)
      return kernel.emitError("loop emitter: argument ")
             << arg.getArgNumber() << " is a tensor behind a symbol's value";
    if (!isa<RankedTensorType>(arg.getType()))
      return kernel.emitError("loop emitter: argument ")
             << arg.getArgNumber() << " is not a ranked tensor";
    int id = addBuffer(arg);
    model.buffers[id].operand = arg.getArgNumber();
    model.buffers[id].isArgument = true;
    if (llvm::is_contained(model.buffers[id].sizes, AffineExpr()))
      return kernel.emitError("loop emitter: argument ")
             << arg.getArgNumber() << " has dynamic dims but no matching nx.shape";
  }
  for (Operation &op : kernel.getBody().front()) {
    LogicalResult result = success();
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      result = addGeneric(generic);
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      result = addInsert(insert);
    else if (auto ret = dyn_cast<func::ReturnOp>(op))
      result = bindResults(ret);
    else if (!isa<linalg::FillOp, tensor::EmptyOp, tensor::DimOp, tensor::ExtractSliceOp,
                  tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
                  affine::AffineApplyOp>(op) &&
             !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      result = op.emitError("loop emitter: not a kernel's op");
    if (failed(result))
      return failure();
  }
  for (Buffer &buffer : model.buffers) {
    if (!buffer.element.isIntOrIndexOrFloat() ||
        (!buffer.element.isIndex() && buffer.element.getIntOrFloatBitWidth() != 1 &&
         buffer.element.getIntOrFloatBitWidth() % 8 != 0))
      return kernel.emitError("loop emitter: element type ") << buffer.element;
    if (llvm::is_contained(buffer.sizes, AffineExpr()))
      return emitError(buffer.value.getLoc(), "loop emitter: the size of a tensor is not known");
  }
  findClasses();
  return success();
}

} // namespace

LogicalResult Model::build() { return Builder(*this).run(); }

bool Model::writesApart(const Node &a, const Node &b) const {
  const Access &x = a.outputs[0].access, &y = b.outputs[0].access;
  if (x.buffer != y.buffer)
    return true;
  // One of the two starts, in some dim, where the other one ends or later.
  auto bounds = [&](const Access &access, unsigned d) -> std::pair<AffineExpr, AffineExpr> {
    AffineExpr zero = getAffineConstantExpr(0, host.kernel().getContext());
    AffineExpr lo = zero, last = zero;
    for (const Term &term : access.terms)
      if (term.first == d) {
        SmallVector<AffineExpr> lows(extents.size(), zero), highs;
        for (AffineExpr extent : extents)
          highs.push_back(extent - 1);
        lo = term.index.replaceDims(lows);
        last = term.index.replaceDims(highs);
      }
    return {lo, last + 1};
  };
  // Sizes are not negative, so a sum of symbols with positive factors is not.
  std::function<bool(AffineExpr)> notNegative = [&](AffineExpr expr) {
    if (auto value = constantOf(expr))
      return *value >= 0;
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      return symbol.getPosition() < host.kernelSymbols();
    auto binary = cast<AffineBinaryOpExpr>(expr);
    return notNegative(binary.getLHS()) && notNegative(binary.getRHS());
  };
  auto after = [&](AffineExpr begin, AffineExpr end) {
    AffineExpr gap = simplifyAffineExpr(begin - end, extents.size(), host.kernelSymbols() + 64);
    return notNegative(gap);
  };
  for (unsigned d = 0; d < buffers[x.buffer].sizes.size(); ++d) {
    auto [xBegin, xEnd] = bounds(x, d);
    auto [yBegin, yEnd] = bounds(y, d);
    if (after(yBegin, xEnd) || after(xBegin, yEnd))
      return true;
  }
  return false;
}

void Model::mergeClasses() {
  MLIRContext *context = host.kernel().getContext();
  // Classes whose own value is used.
  llvm::SmallDenseSet<int> indexed;
  for (Node &node : nodes)
    node.op->walk([&](linalg::IndexOp op) { indexed.insert(node.loopClass[op.getDim()]); });

  // In `access`, class `b` runs through the dims right inside of those of class `a`.
  auto adjacent = [&](const Access &access, int a, int b) {
    const Term *outer = nullptr, *inner = nullptr;
    for (const Term &term : access.terms) {
      if (plainClass(term.index) == a)
        outer = &term;
      else if (plainClass(term.index) == b)
        inner = &term;
      else if (dependsOn(term.index, a) || dependsOn(term.index, b))
        return false;
    }
    if (!outer && !inner)
      return true;
    if (!outer || !inner || outer->last >= inner->first)
      return false;
    const Buffer &buffer = buffers[access.buffer];
    AffineExpr size = getAffineConstantExpr(1, context);
    for (unsigned d = inner->first; d <= inner->last; ++d)
      size = size * buffer.sizes[d];
    for (unsigned d = outer->last + 1; d < inner->first; ++d)
      if (constantOf(buffer.sizes[d]) != 1)
        return false;
    return size == extents[b];
  };
  auto canMerge = [&](int a, int b) {
    if (indexed.contains(a) || indexed.contains(b))
      return false;
    for (const Node &node : nodes) {
      if (node.hasLoop(a) != node.hasLoop(b) || node.reduces(a) != node.reduces(b))
        return false;
      bool all = true;
      node.forEachAccess([&](const Access &access, bool) { all = all && adjacent(access, a, b); });
      if (!all)
        return false;
    }
    return true;
  };
  auto merge = [&](int a, int b) {
    extents[b] = extents[a] * extents[b];
    for (Buffer &buffer : buffers)
      llvm::replace(buffer.dimClass, a, b);
    auto mergeIn = [&](Access &access) {
      auto *outer = llvm::find_if(access.terms,
                                  [&](const Term &term) { return plainClass(term.index) == a; });
      if (outer == access.terms.end())
        return;
      auto *inner = llvm::find_if(access.terms,
                                  [&](const Term &term) { return plainClass(term.index) == b; });
      inner->first = outer->first;
      access.terms.erase(outer);
    };
    for (Node &node : nodes) {
      if (auto *it = llvm::find(node.loops, a); it != node.loops.end()) {
        node.reduced.erase(node.reduced.begin() + (it - node.loops.begin()));
        node.loops.erase(it);
      }
      for (Input &input : node.inputs)
        mergeIn(input.access);
      for (Output &output : node.outputs) {
        mergeIn(output.access);
        if (output.init)
          mergeIn(output.init->access);
      }
    }
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const Node &node : nodes) {
      const auto &terms = node.outputs[0].access.terms;
      for (unsigned i = 0; i + 1 < terms.size() && !changed; ++i) {
        int a = plainClass(terms[i].index), b = plainClass(terms[i + 1].index);
        if (a >= 0 && b >= 0 && a != b && canMerge(a, b)) {
          merge(a, b);
          changed = true;
        }
      }
      // Reduced classes show in inputs only.
      for (const Input &input : node.inputs)
        for (unsigned i = 0; i + 1 < input.access.terms.size() && !changed; ++i) {
          int a = plainClass(input.access.terms[i].index);
          int b = plainClass(input.access.terms[i + 1].index);
          if (a >= 0 && b >= 0 && a != b && canMerge(a, b)) {
            merge(a, b);
            changed = true;
          }
        }
      if (changed)
        break;
    }
  }
}

} // namespace nx::loops
