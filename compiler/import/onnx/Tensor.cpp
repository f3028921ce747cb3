//===- Tensor.cpp - ONNX operators that move data -------------------------===//

#include "compiler/import/common/Slices.h"
#include "compiler/import/onnx/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

void transpose(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  auto reversed = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, b.rankOf(x))));
  n.result(b.transpose(x, n.getInts("perm", reversed)));
}

void concat(NodeImporter &n, GraphBuilder &b) {
  Value first = n.input(0);
  if (first)
    n.result(b.emit<ConcatOp>(n.allInputs(), b.i64("axis", n.axis(n.requireInt("axis"), b.rankOf(first)))));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

void slice(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  SmallVector<AffineExpr> starts, ends;
  SmallVector<int64_t> axes, steps;
  if (n.opset() < 10) {
    for (int64_t start : n.getInts("starts"))
      starts.push_back(b.size(start));
    for (int64_t end : n.getInts("ends"))
      ends.push_back(b.size(end));
    axes = n.getInts("axes");
  } else {
    auto first = n.sizes(1), last = n.sizes(2);
    if (!first || !last)
      return;
    starts = *first, ends = *last;
    if (n.hasInput(3)) {
      auto given = n.constantInts(3);
      if (!given)
        return;
      axes = *given;
    }
    if (n.hasInput(4)) {
      auto given = n.constantInts(4);
      if (!given)
        return;
      steps = *given;
    }
  }
  if (axes.empty())
    llvm::append_range(axes, llvm::seq<int64_t>(0, starts.size()));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    n.error() << "starts, ends, axes and steps differ in length";
    return;
  }
  SmallVector<std::pair<int64_t, SliceRange>> ranges;
  for (auto [i, given] : llvm::enumerate(axes)) {
    int64_t axis = n.axis(given, b.rankOf(x));
    if (b.failed())
      return;
    if (steps[i] == 0) {
      n.error() << "the step of axis " << axis << " is 0";
      return;
    }
    // No dimension is as long as that; beyond, negation would overflow.
    steps[i] = std::clamp(steps[i], -kEndless, kEndless);
    std::optional<SliceRange> range = sliceRange(b, starts[i], ends[i], steps[i], dimOf(b.typeOf(x), axis));
    if (!range)
      return n.unsupported("nx cannot cut backwards through a dimension of symbolic size");
    ranges.push_back({axis, *range});
  }
  if (n.axes(axes, b.rankOf(x)); !b.failed())
    n.result(emitSlice(b, x, ranges));
}

void split(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t axis = n.axis(n.getInt("axis", 0), b.rankOf(x));
  if (b.failed())
    return;
  AffineExpr total = dimOf(b.typeOf(x), axis);
  SmallVector<AffineExpr> parts;
  if (n.opset() < 13 ? n.hasAttr("split") : n.hasInput(1)) {
    if (n.opset() < 13) {
      for (int64_t part : n.getInts("split"))
        parts.push_back(b.size(part));
    } else if (auto given = n.sizes(1)) {
      parts = *given;
    } else {
      return;
    }
  } else {
    int64_t count = n.getInt("num_outputs", n.numOutputs());
    if (count < 1 || count > int64_t(n.numOutputs())) {
      n.error() << count << " parts for " << n.numOutputs() << " outputs";
      return;
    }
    AffineExpr equal = divideExactly(total, b.size(count));
    std::optional<int64_t> size = constantOf(total);
    if (!equal && !size)
      return n.unsupported("nx cannot show that size " + b.text(total) + " divides into " + Twine(count) + " parts");
    if (!equal && n.opset() < 18) {
      n.error() << "size " << *size << " does not divide into " << count << " equal parts";
      return;
    }
    // The last part may be smaller.
    AffineExpr part = equal ? equal : b.size(llvm::divideCeil(*size, count));
    parts.assign(count, part);
    parts.back() = normalize(total - part * (count - 1));
  }
  if (parts.size() != n.numOutputs()) {
    n.error() << parts.size() << " parts for " << n.numOutputs() << " outputs";
    return;
  }
  AffineExpr start = b.size(0);
  SmallVector<Value> results;
  for (AffineExpr part : parts) {
    if (lowerBound(part).value_or(-1) < 0) {
      n.error() << "a part has size " << b.text(part);
      return;
    }
    SliceRange range{start, part};
    start = normalize(start + part);
    b.requireAtMost(start, total, "the parts of a split");
    if (b.failed())
      return;
    results.push_back(emitSlice(b, x, {{axis, range}}));
  }
  b.requireEqual(start, total, "the parts of a split and their sum");
  n.results(results);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

void gather(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), indices = n.input(1);
  if (!x || !indices)
    return;
  int64_t axis = n.axis(n.getInt("axis", 0), b.rankOf(x));
  if (b.failed())
    return;
  // One constant index is a slice: no index to check when it runs.
  std::optional<SmallVector<int64_t>> constant = knownInts(indices);
  bool isEvaluated = knownElements(x).has_value();
  if (constant && constant->size() == 1 && !isEvaluated) {
    AffineExpr size = dimOf(b.typeOf(x), axis);
    int64_t index = std::clamp(constant->front(), -kEndless, kEndless);
    b.requireAtMost(b.size(index < 0 ? -index : index + 1), size, "the gathered index and 1");
    if (b.failed())
      return;
    Value cut = emitSlice(b, x, {{axis, {normalize(index < 0 ? size + index : b.size(index)), b.size(1)}}});
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x));
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, b.rankOf(indices), b.size(1));
    return n.result(b.reshape(cut, dims));
  }
  n.result(b.emit<GatherOp>({x, indices}, b.i64("axis", axis)));
}

void gatherElements(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (x)
    n.result(b.emit<GatherElementsOp>({x, n.input(1)}, b.i64("axis", n.axis(n.getInt("axis", 0), b.rankOf(x)))));
}

void gatherNd(NodeImporter &n, GraphBuilder &b) {
  n.result(b.emit<GatherNdOp>({n.input(0), n.input(1)}, b.i64("batch_dims", n.getInt("batch_dims", 0))));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

void tile(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  auto repeats = n.sizes(1);
  if (!x || !repeats)
    return;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), split, spread, tiled;
  if (repeats->size() != dims.size()) {
    n.error() << repeats->size() << " repeats for an input of rank " << dims.size();
    return;
  }
  // [d] repeated r times is [1, d] broadcast to [r, d] and read as [r * d].
  for (auto [dim, repeat] : llvm::zip(dims, *repeats)) {
    if (lowerBound(repeat).value_or(-1) < 0) {
      n.error() << "a repeat is " << b.text(repeat);
      return;
    }
    if (constantOf(repeat) != 1) {
      split.push_back(b.size(1));
      spread.push_back(repeat);
    }
    split.push_back(dim);
    spread.push_back(dim);
    tiled.push_back(normalize(dim * repeat));
  }
  n.result(b.reshape(b.broadcast(b.reshape(x, split), spread), tiled));
}

void pad(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), value;
  if (!x)
    return;
  int64_t rank = b.rankOf(x);
  SmallVector<AffineExpr> amounts;
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (n.opset() < 11) {
    for (int64_t amount : n.getInts("pads"))
      amounts.push_back(b.size(amount));
    value = b.scalar(b.elementOf(x), n.getFloat("value", 0));
  } else {
    auto given = n.sizes(1);
    if (!given)
      return;
    amounts = *given;
    if ((value = n.optionalInput(2)))
      value = b.reshape(value, {});
    if (n.hasInput(3)) {
      auto list = n.constantInts(3);
      if (!list)
        return;
      axes.clear();
      for (int64_t axis : *list)
        axes.push_back(n.axis(axis, rank));
      if (b.failed())
        return;
    }
  }
  if (amounts.size() != 2 * axes.size()) {
    n.error() << amounts.size() << " amounts for " << axes.size() << " axes";
    return;
  }
  StringRef name = n.getString("mode", "constant");
  std::optional<PadMode> mode = symbolizePadMode(name);
  if (!mode) {
    n.error() << "mode '" << name << "' is not constant, reflect, edge or wrap";
    return;
  }
  SmallVector<AffineExpr> lo(rank, b.size(0)), hi(rank, b.size(0));
  for (AffineExpr amount : amounts)
    if (auto constant = constantOf(amount); constant && (*constant > kEndless || *constant < -kEndless)) {
      n.error() << "padding of " << *constant;
      return;
    }
  for (auto [i, axis] : llvm::enumerate(axes)) {
    lo[axis] = amounts[i];
    hi[axis] = amounts[i + axes.size()];
    AffineExpr size = dimOf(b.typeOf(x), axis);
    b.requireAtMost(b.size(0), size + lo[axis] + hi[axis], "padding");
    if (*mode == PadMode::reflect)
      for (AffineExpr amount : {lo[axis], hi[axis]})
        if (constantOf(amount) != 0)
          b.requireAtMost(amount + 1, size, "reflected padding and 1");
  }
  SmallVector<Value> operands{x};
  if (value && *mode == PadMode::constant)
    operands.push_back(value);
  n.result(b.emit<PadOp>(operands, {b.dims("lo", lo), b.dims("hi", hi),
                                    b.attr("mode", PadModeAttr::get(b.context(), *mode))}));
}

/// Channels and space of `x [N, C, H, W]` for the block operators; false after an error.
bool readBlocks(NodeImporter &n, GraphBuilder &b, Value x, int64_t &block) {
  block = n.requireInt("blocksize");
  if (!x || b.failed())
    return false;
  if (b.rankOf(x) != 4 || block < 1 || block > 4096) {
    n.error() << "needs an input of rank 4 and a positive block size, got " << b.text(b.typeOf(x)) << " and " << block;
    return false;
  }
  return true;
}

void depthToSpace(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  int64_t block;
  if (!readBlocks(n, b, x, block))
    return;
  SmallVector<AffineExpr> d = dimsOf(b.typeOf(x));
  AffineExpr depth = divideExactly(d[1], b.size(block * block)), k = b.size(block);
  if (!depth) {
    n.error() << "channels " << b.text(d[1]) << " do not divide into blocks of " << block << " x " << block;
    return;
  }
  StringRef mode = n.getString("mode", "DCR");
  Value blocks, ordered;
  if (mode == "DCR") {
    blocks = b.reshape(x, {d[0], k, k, depth, d[2], d[3]});
    ordered = b.transpose(blocks, {0, 3, 4, 1, 5, 2});
  } else {
    blocks = b.reshape(x, {d[0], depth, k, k, d[2], d[3]});
    ordered = b.transpose(blocks, {0, 1, 4, 2, 5, 3});
  }
  n.result(b.reshape(ordered, {d[0], depth, d[2] * block, d[3] * block}));
}

void spaceToDepth(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  int64_t block;
  if (!readBlocks(n, b, x, block))
    return;
  SmallVector<AffineExpr> d = dimsOf(b.typeOf(x));
  AffineExpr h = divideExactly(d[2], b.size(block)), w = divideExactly(d[3], b.size(block)), k = b.size(block);
  if (!h || !w)
    return n.unsupported("nx cannot show that " + b.text(b.typeOf(x)) + " divides into blocks of " + Twine(block));
  StringRef mode = n.getString("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    n.error() << "mode '" << mode << "' is neither DCR nor CRD";
    return;
  }
  Value blocks = b.reshape(x, {d[0], d[1], h, k, w, k});
  Value ordered = b.transpose(blocks, mode == "DCR" ? ArrayRef<int64_t>{0, 3, 5, 1, 2, 4} : ArrayRef<int64_t>{0, 1, 3, 5, 2, 4});
  n.result(b.reshape(ordered, {d[0], d[1] * (block * block), h, w}));
}

void trilu(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  int64_t rank = b.rankOf(x);
  if (rank < 2) {
    n.error() << "needs an input of rank 2 or more, got " << b.text(b.typeOf(x));
    return;
  }
  Type i64 = b.builder.getI64Type();
  Value given = n.optionalInput(1);
  std::optional<SmallVector<AffineExpr>> known = SmallVector<AffineExpr>{b.size(0)};
  if (given)
    known = knownElements(given);
  if (given && (!b.typeOf(given).hasStaticShape() || b.typeOf(given).getNumElements() != 1)) {
    n.error() << "k must be one number";
    return;
  }
  Value row = b.emitAs<IotaOp>(tensorOf({dimOf(b.typeOf(x), rank - 2), b.size(1)}, i64), {},
                               {b.i64("axis", 0), b.dims("start", known ? known->front() : b.size(0)), b.dims("step", b.size(1))});
  if (!known)
    row = b.add(row, b.cast(b.reshape(given, {}), i64));
  Value column = b.iota({b.size(1), dimOf(b.typeOf(x), rank - 1)}, 1, i64);
  bool upper = n.getInt("upper", 1);
  Value keep = b.compare(upper ? ComparePredicate::ge : ComparePredicate::le, column, row);
  n.result(b.emit<SelectOp>({keep, x, b.scalar(b.elementOf(x), 0)}));
}

void oneHot(NodeImporter &n, GraphBuilder &b) {
  Value indices = n.input(0), values = n.input(2);
  auto depth = n.sizes(1);
  if (!indices || !values || !depth)
    return;
  if (depth->size() != 1 || b.rankOf(values) != 1 || constantOf(dimOf(b.typeOf(values), 0)) != 2) {
    n.error() << "needs one depth and two values";
    return;
  }
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(indices));
  int64_t axis = n.axis(n.getInt("axis", -1), dims.size() + 1);
  if (b.failed())
    return;
  Type i64 = b.builder.getI64Type();
  dims.insert(dims.begin() + axis, b.size(1));
  Value index = b.reshape(b.cast(indices, i64), dims);
  // Negative indices count from the end; others out of range give a row of "off".
  Value wrapped = b.emit<AddOp>({index, b.sizeScalar(depth->front())});
  index = b.emit<SelectOp>({b.compare(ComparePredicate::lt, index, b.scalar(i64, 0)), wrapped, index});
  SmallVector<AffineExpr> line(dims.size(), b.size(1));
  line[axis] = depth->front();
  Value hot = b.compare(ComparePredicate::eq, index, b.iota(line, axis, i64));
  auto pick = [&](int64_t i) {
    return b.reshape(emitSlice(b, values, {{0, {b.size(i), b.size(1)}}}), {});
  };
  n.result(b.emit<SelectOp>({hot, pick(1), pick(0)}));
}

/// Each of the first `lengths[b]` steps of element b of the batch changes places with the one as far from the end.
void reverseSequence(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), lengths = n.input(1);
  if (!x || !lengths)
    return;
  int64_t rank = b.rankOf(x), time = n.axis(n.getInt("time_axis", 0), rank), batch = n.axis(n.getInt("batch_axis", 1), rank);
  if (b.failed())
    return;
  if (rank < 2 || time == batch || b.rankOf(lengths) != 1) {
    n.error() << "needs an input of rank 2 or more, different axes and one length per element of the batch";
    return;
  }
  Type i64 = b.builder.getI64Type();
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(x)), timeLine(rank, b.size(1)), batchLine(timeLine);
  timeLine[time] = dims[time];
  batchLine[batch] = dims[batch];
  Value step = b.iota(timeLine, time, i64), length = b.reshape(b.cast(lengths, i64), batchLine);
  Value mirrored = b.sub(b.sub(length, step), 1.0);
  Value source = b.select(b.compare(ComparePredicate::lt, step, length), mirrored, step);
  n.result(b.emit<GatherElementsOp>({x, b.broadcast(source, dims)}, b.i64("axis", time)));
}

/// Cuts or pads with zeros around the middle.
void centerCropPad(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  auto wanted = n.sizes(1);
  if (!x || !wanted)
    return;
  int64_t rank = b.rankOf(x);
  SmallVector<int64_t> axes = n.getInts("axes", llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  if (axes.size() != wanted->size()) {
    n.error() << wanted->size() << " sizes for " << axes.size() << " axes";
    return;
  }
  for (auto [given, size] : llvm::zip(axes, *wanted)) {
    int64_t axis = n.axis(given, rank);
    if (b.failed())
      return;
    AffineExpr have = dimOf(b.typeOf(x), axis), more = normalize(size - have);
    std::optional<int64_t> constant = constantOf(more);
    bool grows = lowerBound(more).value_or(-1) >= 0, shrinks = lowerBound(normalize(-more)).value_or(-1) >= 0;
    if (constant == 0)
      continue;
    if (grows) {
      AffineExpr before = normalize(more.floorDiv(2));
      x = b.padAxis(x, axis, before, more - before);
    } else if (shrinks) {
      x = b.slice(x, axis, normalize((-more).floorDiv(2)), size);
    } else {
      return n.unsupported("nx cannot tell whether size " + b.text(have) + " is cut or padded to " + b.text(size));
    }
    if (!x)
      return;
  }
  n.result(x);
}

/// Where the condition, a constant, holds.
void compress(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x || !n.input(1))
    return;
  std::optional<SmallVector<int64_t>> condition = n.constantInts(1);
  if (!condition)
    return;
  bool isFlat = !n.hasAttr("axis");
  int64_t axis = isFlat ? 0 : n.axis(n.getInt("axis", 0), b.rankOf(x));
  if (b.failed())
    return;
  if (isFlat)
    x = b.reshape(x, {productOf(dimsOf(b.typeOf(x)), b.context())});
  SmallVector<int64_t> chosen;
  for (auto [i, holds] : llvm::enumerate(*condition))
    if (holds)
      chosen.push_back(i);
  n.result(b.gather(x, b.intVector(chosen), axis));
}

const OperatorRow kOperators[] = {
    {"CenterCropPad", 18, kLatest, centerCropPad},
    {"Compress", 9, kLatest, compress},
    {"Concat", 4, kLatest, concat},
    {"DepthToSpace", 1, kLatest, depthToSpace},
    {"Gather", 1, kLatest, gather},
    {"GatherElements", 11, kLatest, gatherElements},
    {"GatherND", 11, kLatest, gatherNd},
    {"OneHot", 9, kLatest, oneHot},
    {"Pad", 2, kLatest, pad},
    {"ReverseSequence", 10, kLatest, reverseSequence},
    {"Slice", 1, kLatest, slice},
    {"SpaceToDepth", 1, kLatest, spaceToDepth},
    {"Split", 2, kLatest, split},
    {"Tile", 6, kLatest, tile},
    {"Transpose", 1, kLatest, transpose},
    {"Trilu", 14, kLatest, trilu},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::tensorOperators() { return kOperators; }
