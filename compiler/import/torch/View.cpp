//===- View.cpp - ATen operators that show or move elements ---------------===//
//
// Those whose results share storage with their argument have an inverse: what the argument becomes
// when the result is written to.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/common/Slices.h"
#include "compiler/import/torch/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

using Dims = SmallVector<AffineExpr>;

Dims dims(GraphBuilder &b, Value x) { return x ? dimsOf(b.typeOf(x)) : Dims(); }

//===----------------------------------------------------------------------===//
// The same elements
//===----------------------------------------------------------------------===//

void identity(NodeImporter &n, GraphBuilder &) { n.result(n.tensor("self")); }
Value sameValue(NodeImporter &, GraphBuilder &, Value, Value view, size_t) { return view; }

void copy(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), source = n.tensor("src");
  if (x)
    n.result(b.broadcast(b.cast(source, b.elementOf(x)), dims(b, x)));
}

/// to(...), which converts the element type; devices and layouts do not matter.
void convert(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  Type element = n.element("dtype");
  if (n.has("other"))
    if (Value other = n.tensor("other"))
      element = b.elementOf(other);
  if (n.boolean("copy", false))
    n.markCopy();
  n.result(element ? b.cast(x, element) : x);
}
void convertCopy(NodeImporter &n, GraphBuilder &b) {
  convert(n, b);
  n.markCopy();
}
void convertElement(NodeImporter &n, GraphBuilder &b) {
  Type element = n.element("dtype");
  if (element)
    n.result(b.cast(n.tensor("a"), element));
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// x with these sizes, of which one may be -1.
Value reshapeTo(NodeImporter &n, GraphBuilder &b, Value x, Dims target) {
  if (!x)
    return {};
  int64_t inferred = -1;
  for (auto [i, dim] : llvm::enumerate(target))
    if (std::optional<int64_t> constant = constantOf(dim); constant && *constant < 0) {
      if (*constant != -1 || inferred >= 0) {
        n.error() << "the target shape may have one -1 and no other negative size";
        return {};
      }
      inferred = i;
    }
  AffineExpr total = productOf(dims(b, x), b.context());
  if (inferred >= 0) {
    target[inferred] = b.size(1);
    AffineExpr known = productOf(target, b.context());
    AffineExpr rest = divideExactly(total, known);
    if (!rest && constantOf(total) && constantOf(known)) {
      // Nothing fits in any way: torch takes 0 where the other sizes are not 0.
      n.error() << b.text(total) << " elements of " << b.text(b.typeOf(x)) << " do not divide into rows of "
                << b.text(known);
      return {};
    }
    if (!rest)
      return n.unsupported("nx cannot show that " + b.text(total) + " elements divide into rows of " + b.text(known)), Value();
    target[inferred] = rest;
  }
  AffineExpr have = productOf(target, b.context());
  if (have != total && !constantOf(have - total))
    return n.unsupported("nx cannot show that " + b.text(have) + " elements are the " + b.text(total) + " of the input"),
           Value();
  return b.reshape(x, target);
}

void reshape(NodeImporter &n, GraphBuilder &b) {
  StringRef name = n.argument("size") ? "size" : "shape";
  Value x = n.tensor("self");
  if (std::optional<Dims> target = n.sizes(name))
    n.result(reshapeTo(n, b, x, *target));
}
void reshapeAlias(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"stride"});
  reshape(n, b);
}
void reshapeAs(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), other = n.tensor("other");
  if (other)
    n.result(reshapeTo(n, b, x, dims(b, other)));
}
Value reshapeBack(NodeImporter &, GraphBuilder &b, Value base, Value view, size_t) {
  return b.reshape(view, dims(b, base));
}

void flatten(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t rank = b.rankOf(x);
  int64_t first = n.axis(n.integer("start_dim", 0), rank), last = n.axis(n.integer("end_dim", -1), rank);
  Dims all = dims(b, x);
  if (rank == 0)
    return n.result(b.reshape(x, b.size(1)));
  if (first > last) {
    n.error() << "start_dim comes after end_dim";
    return;
  }
  Dims flat(all.begin(), all.begin() + first);
  flat.push_back(productOf(ArrayRef(all).slice(first, last - first + 1), b.context()));
  flat.append(all.begin() + last + 1, all.end());
  n.result(b.reshape(x, flat));
}
void ravel(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (x)
    n.result(b.reshape(x, productOf(dims(b, x), b.context())));
}
void unflatten(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Dims> sizes = n.sizes("sizes");
  if (!x || !sizes)
    return;
  Dims all = dims(b, x);
  int64_t axis = n.axis(n.integer("dim", 0), all.size());
  if (b.failed())
    return;
  all.erase(all.begin() + axis);
  all.insert(all.begin() + axis, sizes->begin(), sizes->end());
  n.result(reshapeTo(n, b, x, all));
}

void unsqueeze(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  Dims all = dims(b, x);
  int64_t axis = n.axis(n.integer("dim", 0), all.size() + 1);
  all.insert(all.begin() + std::min<size_t>(axis, all.size()), b.size(1));
  n.result(b.reshape(x, all));
}
/// Drops the dimensions of size 1, of all or of some.
void squeeze(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  Dims all = dims(b, x), kept;
  bool isChosen = n.has("dim");
  SmallVector<int64_t> chosen = n.axes(n.integers("dim"), all.size());
  for (auto [i, dim] : llvm::enumerate(all))
    if (constantOf(dim) != 1 || (isChosen && !llvm::is_contained(chosen, int64_t(i))))
      kept.push_back(dim);
  n.result(b.reshape(x, kept));
}
template <int rank> void atLeast(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  Dims all = dims(b, x);
  if (rank == 3 && all.size() == 2) // a matrix is one of a single channel
    all.push_back(b.size(1));
  while (int64_t(all.size()) < rank)
    all.insert(all.begin(), b.size(1));
  if (rank == 3 && b.rankOf(x) == 1)
    all = {b.size(1), all[2], b.size(1)};
  n.result(b.reshape(x, all));
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

/// The permutation of a node.
using Permutation = SmallVector<int64_t> (*)(NodeImporter &, int64_t rank);

SmallVector<int64_t> iotaPermutation(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(0, rank)); }
SmallVector<int64_t> permuteOf(NodeImporter &n, int64_t rank) {
  SmallVector<int64_t> perm = n.integers("dims");
  n.axes(perm, rank); // each once
  for (int64_t &axis : perm)
    axis = n.axis(axis, rank);
  return perm;
}
SmallVector<int64_t> swapOf(NodeImporter &n, int64_t rank) {
  SmallVector<int64_t> perm = iotaPermutation(rank);
  StringRef first = n.argument("axis0") ? "axis0" : "dim0", second = first == "axis0" ? "axis1" : "dim1";
  int64_t x = n.axis(n.integer(first, 0), rank), y = n.axis(n.integer(second, 1), rank);
  if (rank)
    std::swap(perm[x], perm[y]);
  return perm;
}
SmallVector<int64_t> matrixOf(NodeImporter &, int64_t rank) {
  SmallVector<int64_t> perm = iotaPermutation(rank);
  if (rank >= 2)
    std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}
SmallVector<int64_t> reversedOf(NodeImporter &, int64_t rank) {
  return llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
}
SmallVector<int64_t> moveOf(NodeImporter &n, int64_t rank) {
  SmallVector<int64_t> from = n.integers("source"), to = n.integers("destination"), perm(rank, -1), rest;
  if (from.size() != to.size()) {
    n.error() << "source and destination differ in length";
    return {};
  }
  n.axes(from, rank), n.axes(to, rank);
  for (auto [x, y] : llvm::zip(from, to))
    perm[n.axis(y, rank)] = n.axis(x, rank);
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(perm, i))
      rest.push_back(i);
  size_t next = 0;
  for (int64_t &axis : perm)
    if (axis < 0 && next < rest.size())
      axis = rest[next++];
  return perm;
}

template <Permutation perm> void permute(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  SmallVector<int64_t> order = perm(n, b.rankOf(x));
  if (b.failed())
    return;
  if (int64_t(order.size()) != b.rankOf(x)) {
    n.error() << order.size() << " dimensions are permuted, the tensor has " << b.rankOf(x);
    return;
  }
  n.result(b.transpose(x, order));
}
template <Permutation perm> Value permuteBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t) {
  SmallVector<int64_t> order = perm(n, b.rankOf(base)), inverse(order.size());
  for (auto [i, axis] : llvm::enumerate(order))
    inverse[axis] = i;
  return b.transpose(view, inverse);
}

//===----------------------------------------------------------------------===//
// Repetition
//===----------------------------------------------------------------------===//

Value expandTo(NodeImporter &n, GraphBuilder &b, Value x, Dims target) {
  if (!x)
    return {};
  Dims from = dims(b, x);
  if (target.size() < from.size()) {
    n.error() << b.text(b.typeOf(x)) << " is expanded to " << target.size() << " dimensions";
    return {};
  }
  size_t added = target.size() - from.size();
  for (auto [i, dim] : llvm::enumerate(target))
    if (constantOf(dim) == -1) {
      if (i < added) {
        n.error() << "a new dimension has no size to keep";
        return {};
      }
      dim = from[i - added];
    } else if (i >= added && constantOf(from[i - added]) != 1) {
      b.requireEqual(from[i - added], dim, "dimension " + Twine(i));
    }
  return b.broadcast(x, target);
}
void expand(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"implicit"});
  Value x = n.tensor("self");
  if (std::optional<Dims> target = n.sizes("size"))
    n.result(expandTo(n, b, x, *target));
}
void expandAs(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), other = n.tensor("other");
  if (other)
    n.result(expandTo(n, b, x, dims(b, other)));
}
Value expandBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t) {
  if (base.getType() == view.getType())
    return view;
  n.unsupported("it writes to a tensor that shows the same element more than once");
  return {};
}
void broadcastTensors(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = n.tensors("tensors");
  Dims common;
  for (Value x : xs) {
    Dims one = dims(b, x);
    common.insert(common.begin(), std::max(one.size(), common.size()) - common.size(), b.size(1));
    for (size_t i = 1; i <= one.size(); ++i) {
      AffineExpr &to = common[common.size() - i];
      AffineExpr merged = broadcastDim(to, one[one.size() - i]);
      if (!merged) {
        n.error() << "sizes " << b.text(to) << " and " << b.text(one[one.size() - i]) << " do not broadcast";
        return;
      }
      to = merged;
    }
  }
  for (Value &x : xs)
    x = b.broadcast(x, common);
  n.results(xs);
}
void meshgrid(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = n.tensors("tensors");
  bool isXy = n.string("indexing", "ij") == "xy" && xs.size() >= 2;
  if (isXy)
    std::swap(xs[0], xs[1]);
  Dims grid;
  for (Value x : xs)
    grid.push_back(x ? productOf(dims(b, x), b.context()) : b.size(1));
  for (auto [i, x] : llvm::enumerate(xs)) {
    Dims line(xs.size(), b.size(1));
    line[i] = grid[i];
    x = b.broadcast(b.reshape(x, line), grid);
  }
  if (isXy)
    std::swap(xs[0], xs[1]);
  n.results(xs);
}

/// [d] repeated r times is [1, d] broadcast to [r, d] and read as [r * d].
void repeat(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  bool isTile = n.argument("dims");
  std::optional<Dims> repeats = n.sizes(isTile ? "dims" : "repeats");
  if (!x || !repeats)
    return;
  Dims from = dims(b, x), split, spread, tiled;
  if (isTile) // leading repeats of 1 may be left out
    repeats->insert(repeats->begin(), std::max(from.size(), repeats->size()) - repeats->size(), b.size(1));
  if (repeats->size() < from.size()) {
    n.error() << repeats->size() << " repeats for a tensor of rank " << from.size();
    return;
  }
  from.insert(from.begin(), repeats->size() - from.size(), b.size(1));
  for (auto [dim, times] : llvm::zip(from, *repeats)) {
    if (auto constant = constantOf(times); constant && *constant < 0) {
      n.error() << "a repeat is " << *constant;
      return;
    }
    if (constantOf(times) != 1) {
      split.push_back(b.size(1));
      spread.push_back(times);
    }
    split.push_back(dim);
    spread.push_back(dim);
    tiled.push_back(normalize(dim * times));
  }
  n.result(b.reshape(b.broadcast(b.reshape(x, split), spread), tiled));
}
void repeatInterleave(NodeImporter &n, GraphBuilder &b) {
  n.ignore({"output_size"});
  Value x = n.tensor("self");
  std::optional<AffineExpr> times = n.size("repeats");
  if (!x || !times)
    return;
  if (!n.has("dim"))
    x = b.reshape(x, productOf(dims(b, x), b.context()));
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (b.failed())
    return;
  Dims split = dims(b, x), result = split;
  result[axis] = normalize(result[axis] * *times);
  split.insert(split.begin() + axis + 1, b.size(1));
  Dims spread = split;
  spread[axis + 1] = *times;
  n.result(b.reshape(b.broadcast(b.reshape(x, split), spread), result));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A part of one dimension that becomes a result.
struct Part {
  int64_t axis = 0;
  SliceRange range;
};

/// `base` with a part of one dimension replaced.
Value replacePart(GraphBuilder &b, Value base, const Part &part, Value view) {
  AffineExpr size = dimOf(b.typeOf(base), part.axis);
  const SliceRange &range = part.range;
  if (range.step == 1) {
    SmallVector<Value> pieces;
    auto keep = [&](AffineExpr start, AffineExpr count) {
      if (constantOf(count) != 0)
        pieces.push_back(emitSlice(b, base, {{part.axis, SliceRange{start, count, 1}}}));
    };
    keep(b.size(0), range.start);
    if (constantOf(range.count) != 0)
      pieces.push_back(view);
    AffineExpr end = normalize(range.start + range.count);
    keep(end, normalize(size - end));
    if (pieces.empty())
      return base;
    return pieces.size() == 1 ? pieces[0] : b.emit<ConcatOp>(pieces, b.i64("axis", part.axis));
  }
  if (constantOf(range.count) == 0)
    return base;
  // Position i holds element (i - start) / step of the new part where that is whole and inside.
  Type i64 = b.builder.getI64Type();
  Value at = b.emitAs<IotaOp>(tensorOf(size, i64), {},
                              {b.i64("axis", 0), b.dims("start", normalize(-range.start)), b.dims("step", b.size(1))});
  Value step = b.scalar(i64, double(range.step)), zero = b.scalar(i64, 0);
  Value index = b.emit<FloorDivOp>({at, step});
  Value isPart = b.emit<AndOp>({b.compare(ComparePredicate::eq, b.emit<ModOp>({at, step}), zero),
                                b.emit<AndOp>({b.compare(ComparePredicate::ge, at, zero),
                                               b.compare(ComparePredicate::lt, index, b.sizeScalar(range.count))})});
  Value inside = b.emit<MaxOp>({b.emit<MinOp>({index, b.sizeScalar(normalize(range.count - 1))}), zero});
  Value spread = b.emit<GatherOp>({view, inside}, b.i64("axis", part.axis));
  Dims line(b.rankOf(base), b.size(1));
  line[part.axis] = size;
  return b.emit<SelectOp>({b.reshape(isPart, line), spread, base});
}

/// A bound that Python's rules bring into [0, size] where sizes and their ranges tell.
AffineExpr boundOf(NodeImporter &n, AffineExpr bound, AffineExpr size) {
  AffineExpr zero = getAffineConstantExpr(0, size.getContext());
  if (std::optional<bool> negative = n.ranges().decide({Condition::Kind::Less, bound, zero, false}); negative == true) {
    bound = normalize(bound + size);
    if (AffineExpr clamped = n.ranges().maximum(bound, zero))
      bound = clamped;
    return bound;
  }
  if (constantOf(bound).value_or(0) >= kEndless)
    return size;
  if (AffineExpr clamped = n.ranges().minimum(bound, size))
    return clamped;
  return bound;
}

std::optional<Part> slicePart(NodeImporter &n, GraphBuilder &b, Value x) {
  if (!x)
    return std::nullopt;
  if (b.rankOf(x) == 0) {
    n.error() << "a scalar has no dimension to slice";
    return std::nullopt;
  }
  Part part;
  part.axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  AffineExpr size = dimOf(b.typeOf(x), part.axis);
  std::optional<AffineExpr> start = n.has("start") ? n.size("start") : b.size(0);
  std::optional<AffineExpr> end = n.has("end") ? n.size("end") : size;
  int64_t step = n.integer("step", 1);
  if (!start || !end || b.failed())
    return std::nullopt;
  if (step < 1 || step > kEndless) {
    n.error() << "the step is " << step << ", it must be positive";
    return std::nullopt;
  }
  std::optional<SliceRange> range = sliceRange(b, boundOf(n, *start, size), boundOf(n, *end, size), step, size);
  if (range)
    part.range = *range;
  return part;
}
void slice(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (std::optional<Part> part = slicePart(n, b, x))
    n.result(emitSlice(b, x, {{part->axis, part->range}}));
}
Value sliceBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t) {
  std::optional<Part> part = slicePart(n, b, base);
  return part ? replacePart(b, base, *part, view) : Value();
}
void sliceScatter(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), source = n.tensor("src");
  std::optional<Part> part = slicePart(n, b, x);
  if (!part || !source)
    return;
  Dims cut = dims(b, x);
  cut[part->axis] = part->range.count;
  n.result(replacePart(b, x, *part, b.broadcast(b.cast(source, b.elementOf(x)), cut)));
}

void narrow(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<AffineExpr> start = n.size("start"), length = n.size("length");
  if (!x || !start || !length)
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (b.failed())
    return;
  AffineExpr size = dimOf(b.typeOf(x), axis), first = boundOf(n, *start, size);
  b.requireAtMost(normalize(first + *length), size, "the end of the part");
  n.result(emitSlice(b, x, {{axis, SliceRange{first, *length, 1}}}));
}
Value narrowBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t) {
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(base));
  AffineExpr first = boundOf(n, n.size("start").value_or(b.size(0)), dimOf(b.typeOf(base), axis));
  return replacePart(b, base, {axis, {first, n.size("length").value_or(b.size(0)), 1}}, view);
}

std::optional<Part> selectPart(NodeImporter &n, GraphBuilder &b, Value x) {
  std::optional<AffineExpr> index = n.size("index");
  if (!x || !index)
    return std::nullopt;
  if (b.rankOf(x) == 0) {
    n.error() << "a scalar has no dimension to select from";
    return std::nullopt;
  }
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (b.failed())
    return std::nullopt;
  AffineExpr size = dimOf(b.typeOf(x), axis), at = *index;
  if (n.ranges().decide({Condition::Kind::Less, at, b.size(0), false}) == true)
    at = normalize(at + size);
  b.requireAtMost(b.size(0), at, "the selected index");
  b.requireAtMost(normalize(at + 1), size, "the selected index and 1");
  return b.failed() ? std::nullopt : std::optional(Part{axis, {at, b.size(1), 1}});
}
Value without(GraphBuilder &b, Value x, int64_t axis) {
  Dims rest = dims(b, x);
  if (x)
    rest.erase(rest.begin() + axis);
  return b.reshape(x, rest);
}
void select(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (std::optional<Part> part = selectPart(n, b, x))
    n.result(without(b, emitSlice(b, x, {{part->axis, part->range}}), part->axis));
}
Value replaceRow(GraphBuilder &b, Value base, const Part &part, Value row) {
  Dims cut = dims(b, base);
  cut[part.axis] = b.size(1);
  return replacePart(b, base, part, b.reshape(row, cut));
}
Value selectBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t) {
  std::optional<Part> part = selectPart(n, b, base);
  return part ? replaceRow(b, base, *part, view) : Value();
}
void selectScatter(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), source = n.tensor("src");
  std::optional<Part> part = selectPart(n, b, x);
  if (!part || !source)
    return;
  Dims row = dims(b, x);
  row.erase(row.begin() + part->axis);
  n.result(replaceRow(b, x, *part, b.broadcast(b.cast(source, b.elementOf(x)), row)));
}

//===----------------------------------------------------------------------===//
// Several parts
//===----------------------------------------------------------------------===//

/// How a node cuts a dimension into its outputs.
using Cut = std::optional<SmallVector<Part>> (*)(NodeImporter &, GraphBuilder &, Value x);

/// Parts of the given sizes, one behind the other.
std::optional<SmallVector<Part>> partsOf(NodeImporter &n, GraphBuilder &b, Value x, int64_t axis, ArrayRef<AffineExpr> sizes) {
  SmallVector<Part> parts;
  AffineExpr start = b.size(0);
  for (AffineExpr size : sizes) {
    parts.push_back({axis, {start, size, 1}});
    start = normalize(start + size);
  }
  b.requireEqual(start, dimOf(b.typeOf(x), axis), "the parts and their sum");
  return b.failed() ? std::nullopt : std::optional(parts);
}
std::optional<int64_t> cutAxis(NodeImporter &n, GraphBuilder &b, Value x) {
  if (!x)
    return std::nullopt;
  if (b.rankOf(x) == 0) {
    n.error() << "a scalar cannot be cut";
    return std::nullopt;
  }
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  return b.failed() ? std::nullopt : std::optional(axis);
}
/// As many equal parts as the node has outputs; the last one may be smaller.
std::optional<SmallVector<Part>> equalParts(NodeImporter &n, GraphBuilder &b, Value x, int64_t axis, AffineExpr each) {
  auto count = int64_t(n.numOutputs());
  SmallVector<AffineExpr> sizes(count, each);
  if (count)
    sizes.back() = normalize(dimOf(b.typeOf(x), axis) - each * (count - 1));
  return partsOf(n, b, x, axis, sizes);
}
std::optional<SmallVector<Part>> splitCut(NodeImporter &n, GraphBuilder &b, Value x) {
  std::optional<int64_t> axis = cutAxis(n, b, x);
  if (!axis)
    return std::nullopt;
  for (StringRef name : {"split_size", "split_sizes"})
    if (const Argument *arg = n.argument(name)) {
      if (arg->kind == Argument::Kind::Int || arg->kind == Argument::Kind::SymInt) {
        std::optional<AffineExpr> each = n.size(name);
        return each ? equalParts(n, b, x, *axis, *each) : std::nullopt;
      }
      std::optional<Dims> sizes = n.sizes(name);
      return sizes ? partsOf(n, b, x, *axis, *sizes) : std::nullopt;
    }
  n.error() << "the sizes of the parts are missing";
  return std::nullopt;
}
std::optional<SmallVector<Part>> chunkCut(NodeImporter &n, GraphBuilder &b, Value x) {
  std::optional<int64_t> axis = cutAxis(n, b, x);
  int64_t chunks = n.integer("chunks", 1);
  if (!axis || chunks < 1)
    return std::nullopt;
  AffineExpr size = dimOf(b.typeOf(x), *axis), each = divideExactly(size, b.size(chunks));
  return equalParts(n, b, x, *axis, each ? each : normalize(size.ceilDiv(chunks)));
}
std::optional<SmallVector<Part>> tensorSplitCut(NodeImporter &n, GraphBuilder &b, Value x) {
  std::optional<int64_t> axis = cutAxis(n, b, x);
  if (!axis)
    return std::nullopt;
  AffineExpr size = dimOf(b.typeOf(x), *axis);
  SmallVector<AffineExpr> sizes;
  if (n.has("indices")) {
    AffineExpr last = b.size(0);
    std::optional<Dims> indices = n.sizes("indices");
    if (!indices)
      return std::nullopt;
    for (AffineExpr index : *indices) {
      AffineExpr at = boundOf(n, index, size);
      sizes.push_back(normalize(at - last));
      last = at;
    }
    sizes.push_back(normalize(size - last));
    return partsOf(n, b, x, *axis, sizes);
  }
  // The first parts are one longer when the size does not divide.
  int64_t sections = n.integer("sections", 1);
  if (AffineExpr each = divideExactly(size, b.size(sections)))
    sizes.assign(sections, each);
  else if (std::optional<int64_t> constant = constantOf(size))
    for (int64_t i = 0; i < sections; ++i)
      sizes.push_back(b.size(*constant / sections + (i < *constant % sections)));
  else
    return n.unsupported("nx cannot show that size " + b.text(size) + " divides into " + Twine(sections) + " parts"),
           std::nullopt;
  return partsOf(n, b, x, *axis, sizes);
}

template <Cut cut> void cutUp(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  SmallVector<Value> results;
  if (std::optional<SmallVector<Part>> parts = cut(n, b, x))
    for (const Part &part : *parts)
      results.push_back(emitSlice(b, x, {{part.axis, part.range}}));
  n.results(results);
}
template <Cut cut> Value cutBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t output) {
  std::optional<SmallVector<Part>> parts = cut(n, b, base);
  return parts && output < parts->size() ? replacePart(b, base, (*parts)[output], view) : Value();
}

void unbind(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<int64_t> axis = cutAxis(n, b, x);
  if (!axis)
    return;
  SmallVector<Value> rows;
  auto count = int64_t(n.numOutputs());
  b.requireEqual(dimOf(b.typeOf(x), *axis), b.size(count), "the dimension that is taken apart");
  for (int64_t i = 0; i < count; ++i)
    rows.push_back(without(b, emitSlice(b, x, {{*axis, SliceRange{b.size(i), b.size(1), 1}}}), *axis));
  n.results(rows);
}
Value unbindBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t output) {
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(base));
  return replaceRow(b, base, {axis, {b.size(int64_t(output)), b.size(1), 1}}, view);
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// Operands of one element type, as torch promotes them.
SmallVector<Value> promotedTensors(NodeImporter &n, GraphBuilder &b, StringRef name = "tensors") {
  SmallVector<Value> xs = n.tensors(name);
  SmallVector<Operand> operands;
  for (Value x : xs)
    operands.push_back({x, {}});
  if (llvm::is_contained(xs, Value()))
    return {};
  Type element = n.promoted(operands);
  for (Value &x : xs)
    x = b.cast(x, element);
  return element ? xs : SmallVector<Value>();
}
Value joined(NodeImporter &n, GraphBuilder &b, SmallVector<Value> xs, int64_t axis) {
  // A vector without elements fits anything.
  SmallVector<Value> kept;
  for (Value x : xs)
    if (x && !(b.rankOf(x) == 1 && constantOf(dimOf(b.typeOf(x), 0)) == 0))
      kept.push_back(x);
  if (xs.empty())
    return {};
  if (kept.empty())
    return xs[0];
  axis = n.axis(axis, b.rankOf(kept[0]));
  if (b.failed())
    return {};
  return kept.size() == 1 ? kept[0] : b.emit<ConcatOp>(kept, b.i64("axis", axis));
}
void cat(NodeImporter &n, GraphBuilder &b) {
  StringRef axis = n.argument("axis") ? "axis" : "dim";
  n.result(joined(n, b, promotedTensors(n, b), n.integer(axis, 0)));
}
void stack(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedTensors(n, b);
  if (xs.empty())
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(xs[0]) + 1);
  for (Value &x : xs) {
    Dims one = dims(b, x);
    one.insert(one.begin() + std::min<size_t>(axis, one.size()), b.size(1));
    x = b.reshape(x, one);
  }
  n.result(joined(n, b, xs, axis));
}
/// Raised to rank `rank`, joined along `axis`; vectors along their only dimension if `flat`.
template <int rank, int axis, bool flat> void stackAlong(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedTensors(n, b);
  int64_t at = axis;
  for (Value &x : xs) {
    Dims one = dims(b, x);
    if (rank == 3 && one.size() == 2)
      one.push_back(b.size(1));
    else if (rank == 3 && one.size() == 1)
      one = {b.size(1), one[0], b.size(1)};
    while (one.size() < rank)
      one.insert(one.begin(), b.size(1));
    x = b.reshape(x, one);
    if (flat && one.size() == 1)
      at = 0;
  }
  n.result(joined(n, b, xs, at));
}
/// Vectors become columns.
void columnStack(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> xs = promotedTensors(n, b);
  for (Value &x : xs)
    if (b.rankOf(x) <= 1)
      x = b.reshape(x, {productOf(dims(b, x), b.context()), b.size(1)});
  n.result(joined(n, b, xs, 1));
}

/// Differences of neighbours, `n` times, with what is prepended and appended.
void difference(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x || b.rankOf(x) == 0)
    return;
  int64_t axis = n.axis(n.integer("dim", -1), b.rankOf(x)), times = n.integer("n", 1);
  SmallVector<Value> pieces;
  for (StringRef name : {"prepend", "self", "append"})
    if (n.has(name))
      pieces.push_back(n.tensor(name));
  x = joined(n, b, pieces, axis);
  if (times < 0 || times > 64)
    return n.unsupported("n = " + Twine(times));
  for (int64_t i = 0; i < times && x; ++i) {
    AffineExpr less = normalize(dimOf(b.typeOf(x), axis) - 1);
    b.requireAtMost(b.size(0), less, "the differences");
    Value later = emitSlice(b, x, {{axis, SliceRange{b.size(1), less, 1}}});
    Value earlier = emitSlice(b, x, {{axis, SliceRange{b.size(0), less, 1}}});
    bool isBool = b.elementOf(x).isInteger(1);
    x = isBool ? b.emit<XorOp>({later, earlier}) : b.emit<SubOp>({later, earlier});
  }
  n.result(x);
}

//===----------------------------------------------------------------------===//
// Other orders
//===----------------------------------------------------------------------===//

Value flipped(GraphBuilder &b, Value x, ArrayRef<int64_t> axes) {
  if (!x)
    return {};
  SmallVector<std::pair<int64_t, SliceRange>> ranges;
  for (int64_t axis : axes) {
    AffineExpr size = dimOf(b.typeOf(x), axis);
    AffineExpr last = constantOf(size) == 0 ? b.size(0) : normalize(size - 1);
    ranges.push_back({axis, {last, size, -1}});
  }
  return emitSlice(b, x, ranges);
}
void flip(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (x)
    n.result(flipped(b, x, n.axes(n.integers("dims"), b.rankOf(x))));
}
template <int axis> void flipAxis(NodeImporter &n, GraphBuilder &b) { n.result(flipped(b, n.tensor("self"), axis)); }

Value rolled(NodeImporter &n, GraphBuilder &b, Value x, int64_t axis, AffineExpr shift) {
  AffineExpr size = dimOf(b.typeOf(x), axis);
  std::optional<int64_t> limit = constantOf(size), constant = constantOf(shift);
  if (limit == 0)
    return x;
  AffineExpr first; // of the input, that comes first in the result
  if (limit && constant)
    first = b.size(((-*constant % *limit) + *limit) % *limit);
  else if (constant && *constant >= 0)
    first = normalize(size - shift);
  else
    first = normalize(-shift);
  b.requireAtMost(b.size(0), first, "the shift");
  b.requireAtMost(first, size, "the shift");
  if (constantOf(first) == 0)
    return x;
  return b.emit<ConcatOp>({emitSlice(b, x, {{axis, SliceRange{first, normalize(size - first), 1}}}),
                           emitSlice(b, x, {{axis, SliceRange{b.size(0), first, 1}}})},
                          b.i64("axis", axis));
}
void roll(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Dims> shifts = n.sizes("shifts");
  if (!x || !shifts)
    return;
  SmallVector<int64_t> axes = n.integers("dims");
  Dims all = dims(b, x);
  if (axes.empty()) {
    Value flat = b.reshape(x, productOf(all, b.context()));
    return n.result(b.reshape(rolled(n, b, flat, 0, (*shifts)[0]), all));
  }
  if (axes.size() != shifts->size()) {
    n.error() << "shifts and dims differ in length";
    return;
  }
  for (auto [axis, shift] : llvm::zip(axes, *shifts))
    if (x)
      x = rolled(n, b, x, n.axis(axis, all.size()), shift);
  n.result(x);
}
void rot90(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  SmallVector<int64_t> axes = n.integers("dims", {0, 1}), perm = iotaPermutation(b.rankOf(x));
  int64_t turns = ((n.integer("k", 1) % 4) + 4) % 4;
  n.axes(axes, b.rankOf(x));
  if (b.failed() || axes.size() != 2)
    return;
  int64_t first = n.axis(axes[0], b.rankOf(x)), second = n.axis(axes[1], b.rankOf(x));
  std::swap(perm[first], perm[second]);
  switch (turns) {
  case 0: return n.result(x);
  case 1: return n.result(b.transpose(flipped(b, x, second), perm));
  case 2: return n.result(flipped(b, x, {std::min(first, second), std::max(first, second)}));
  default: return n.result(flipped(b, b.transpose(x, perm), second));
  }
}

/// Index of each row minus that of each column, plus `offset`: a matrix of int64.
Value diagonalDistance(GraphBuilder &b, AffineExpr rows, AffineExpr columns, AffineExpr offset) {
  Type i64 = b.builder.getI64Type();
  Value row = b.emitAs<IotaOp>(tensorOf({rows, b.size(1)}, i64), {},
                               {b.i64("axis", 0), b.dims("start", offset), b.dims("step", b.size(1))});
  return b.emit<SubOp>({row, b.iota({b.size(1), columns}, 1, i64)});
}
template <ComparePredicate keep> void triangle(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<AffineExpr> offset = n.has("diagonal") ? n.size("diagonal") : b.size(0);
  if (!x || !offset)
    return;
  int64_t rank = b.rankOf(x);
  if (rank < 2) {
    n.error() << "needs a matrix, got " << b.text(b.typeOf(x));
    return;
  }
  // Column <= row + diagonal for the lower triangle.
  Value distance = diagonalDistance(b, dimOf(b.typeOf(x), rank - 2), dimOf(b.typeOf(x), rank - 1), *offset);
  Value kept = b.compare(keep, distance, b.scalar(b.builder.getI64Type(), 0));
  n.result(b.emit<SelectOp>({kept, x, b.scalar(b.elementOf(x), 0)}));
}

/// Two dimensions as the last ones.
Value withLast(GraphBuilder &b, Value x, int64_t first, int64_t second, SmallVector<int64_t> &perm) {
  perm.clear();
  for (int64_t i = 0; i < b.rankOf(x); ++i)
    if (i != first && i != second)
      perm.push_back(i);
  perm.append({first, second});
  return b.transpose(x, perm);
}
struct Diagonal {
  SmallVector<int64_t> perm; ///< brings the two dimensions to the end
  Value matrices;
  AffineExpr length, start;
};
std::optional<Diagonal> readDiagonal(NodeImporter &n, GraphBuilder &b, Value x, int64_t firstDefault, int64_t secondDefault) {
  if (!x)
    return std::nullopt;
  int64_t rank = b.rankOf(x), offset = n.integer("offset", 0);
  StringRef one = n.argument("axis1") ? "axis1" : "dim1", two = one == "axis1" ? "axis2" : "dim2";
  int64_t first = n.axis(n.integer(one, firstDefault), rank), second = n.axis(n.integer(two, secondDefault), rank);
  if (b.failed())
    return std::nullopt;
  if (rank < 2 || first == second) {
    n.error() << "a diagonal needs two dimensions";
    return std::nullopt;
  }
  Diagonal d;
  d.matrices = withLast(b, x, first, second, d.perm);
  AffineExpr rows = dimOf(b.typeOf(x), first), columns = dimOf(b.typeOf(x), second);
  if (offset >= 0)
    columns = normalize(columns - offset);
  else
    rows = normalize(rows + offset);
  d.length = n.ranges().minimum(rows, columns);
  if (d.length)
    d.length = n.ranges().maximum(d.length, b.size(0));
  if (!d.length)
    return n.unsupported("nx cannot tell how long the diagonal of " + b.text(b.typeOf(x)) + " is"), std::nullopt;
  AffineExpr width = dimOf(b.typeOf(x), second);
  d.start = normalize(offset >= 0 ? b.size(offset) : width * -offset);
  return d;
}
void diagonal(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Diagonal> d = readDiagonal(n, b, x, 0, 1);
  if (!d)
    return;
  Dims all = dims(b, d->matrices);
  AffineExpr width = all.back();
  Dims flat(all.begin(), all.end() - 2);
  flat.push_back(normalize(all[all.size() - 2] * width));
  Value at = b.emitAs<IotaOp>(tensorOf(d->length, b.builder.getI64Type()), {},
                              {b.i64("axis", 0), b.dims("start", d->start), b.dims("step", normalize(width + 1))});
  n.result(b.emit<GatherOp>({b.reshape(d->matrices, flat), at}, b.i64("axis", int64_t(flat.size()) - 1)));
}
Value replaceDiagonal(NodeImporter &n, GraphBuilder &b, Value base, Value view) {
  std::optional<Diagonal> d = readDiagonal(n, b, base, 0, 1);
  if (!d || !view)
    return {};
  int64_t offset = n.integer("offset", 0);
  Dims all = dims(b, d->matrices), line = dims(b, view);
  AffineExpr rows = all[all.size() - 2];
  // Row i holds element i (offset >= 0) or i + offset of the diagonal.
  AffineExpr before = b.size(offset < 0 ? -offset : 0);
  SmallVector<AffineExpr> lo(line.size(), b.size(0)), hi(line.size(), b.size(0));
  lo.back() = before;
  hi.back() = normalize(rows - before - d->length);
  Value padded = b.emit<PadOp>(view, {b.dims("lo", lo), b.dims("hi", hi),
                                      b.attr("mode", PadModeAttr::get(b.context(), PadMode::constant))});
  Dims column = dims(b, padded);
  column.push_back(b.size(1));
  Value isDiagonal = b.compare(ComparePredicate::eq, diagonalDistance(b, rows, all.back(), b.size(offset)),
                               b.scalar(b.builder.getI64Type(), 0));
  Value result = b.emit<SelectOp>({isDiagonal, b.reshape(padded, column), d->matrices});
  SmallVector<int64_t> inverse(d->perm.size());
  for (auto [i, axis] : llvm::enumerate(d->perm))
    inverse[axis] = i;
  return b.transpose(result, inverse);
}
Value diagonalBack(NodeImporter &n, GraphBuilder &b, Value base, Value view, size_t) {
  return replaceDiagonal(n, b, base, view);
}
void diagonalScatter(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self"), source = n.tensor("src");
  if (x && source)
    n.result(replaceDiagonal(n, b, x, b.cast(source, b.elementOf(x))));
}
/// Vectors as diagonals of matrices of zeros.
Value embedded(GraphBuilder &b, Value x, int64_t offset) {
  if (!x)
    return {};
  Dims all = dims(b, x);
  AffineExpr side = normalize(all.back() + std::abs(offset));
  SmallVector<AffineExpr> lo(all.size(), b.size(0)), hi(all.size(), b.size(0));
  (offset < 0 ? lo : hi).back() = b.size(std::abs(offset));
  Value padded = b.emit<PadOp>(x, {b.dims("lo", lo), b.dims("hi", hi),
                                   b.attr("mode", PadModeAttr::get(b.context(), PadMode::constant))});
  Dims column = dims(b, padded);
  column.push_back(b.size(1));
  Value isDiagonal = b.compare(ComparePredicate::eq, diagonalDistance(b, side, side, b.size(offset)),
                               b.scalar(b.builder.getI64Type(), 0));
  return b.emit<SelectOp>({isDiagonal, b.reshape(padded, column), b.scalar(b.elementOf(x), 0)});
}
void diagEmbed(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t rank = b.rankOf(x) + 1;
  Value result = embedded(b, x, n.integer("offset", 0));
  int64_t first = n.axis(n.integer("dim1", -2), rank), second = n.axis(n.integer("dim2", -1), rank);
  if (!result || first == second)
    return;
  // The matrix dimensions go where they are wanted.
  SmallVector<int64_t> perm;
  int64_t next = 0;
  for (int64_t i = 0; i < rank; ++i)
    perm.push_back(i == first ? rank - 2 : i == second ? rank - 1 : next++);
  n.result(b.transpose(result, perm));
}
void diag(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t offset = n.integer("diagonal", 0);
  if (b.rankOf(x) == 1)
    return n.result(embedded(b, x, offset));
  n.unsupported("a diagonal as a copy; use torch.diagonal");
}

/// Windows along one dimension, as a new last dimension.
void unfold(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t rank = b.rankOf(x), axis = n.axis(n.integer("dimension", 0), rank);
  int64_t size = n.integer("size", 1), step = n.integer("step", 1);
  if (b.failed() || rank == 0)
    return;
  if (size < 0 || step < 1) {
    n.error() << "windows of " << size << " with step " << step;
    return;
  }
  AffineExpr whole = dimOf(b.typeOf(x), axis);
  b.requireAtMost(b.size(size), whole, "the window");
  AffineExpr count = normalize((whole - size).floorDiv(step) + 1);
  Type i64 = b.builder.getI64Type();
  Value first = b.emitAs<IotaOp>(tensorOf({count, b.size(1)}, i64), {},
                                 {b.i64("axis", 0), b.dims("start", b.size(0)), b.dims("step", b.size(step))});
  Value index = b.emit<AddOp>({first, b.iota({b.size(1), b.size(size)}, 1, i64)});
  Value windows = b.emit<GatherOp>({x, index}, b.i64("axis", axis)); // [.., count, size, ..]
  SmallVector<int64_t> perm;
  for (int64_t i = 0; i <= rank; ++i)
    if (i != axis + 1)
      perm.push_back(i);
  perm.push_back(axis + 1);
  n.result(b.transpose(windows, perm));
}
Value unfoldBack(NodeImporter &n, GraphBuilder &, Value, Value, size_t) {
  n.unsupported("it writes to windows that overlap");
  return {};
}

/// A view with strides, where it is the whole tensor in its own order.
void asStrided(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Dims> size = n.sizes("size"), stride = n.sizes("stride");
  if (!x || !size || !stride)
    return;
  AffineExpr expected = b.size(1);
  bool isDense = n.integer("storage_offset", 0) == 0 && size->size() == stride->size();
  for (size_t i = size->size(); isDense && i-- > 0; expected = normalize(expected * (*size)[i]))
    isDense = constantOf((*size)[i]) == 1 || provablyEqual((*stride)[i], expected);
  if (!isDense || !provablyEqual(expected, productOf(dims(b, x), b.context())))
    return n.unsupported("strides that are not those of a dense tensor in row-major order");
  n.result(b.reshape(x, *size));
}

//===----------------------------------------------------------------------===//
// Channels and padding
//===----------------------------------------------------------------------===//

void pixelShuffle(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  int64_t r = n.integer("upscale_factor", 1);
  if (!x || r < 1 || b.rankOf(x) < 3)
    return;
  Dims all = dims(b, x), lead(all.begin(), all.end() - 3);
  AffineExpr h = all[all.size() - 2], w = all.back(), c = divideExactly(all[all.size() - 3], b.size(r * r));
  if (!c) {
    n.error() << "channels " << b.text(all[all.size() - 3]) << " do not divide by " << r * r;
    return;
  }
  Dims split(lead), result(lead);
  split.append({c, b.size(r), b.size(r), h, w});
  result.append({c, normalize(h * r), normalize(w * r)});
  SmallVector<int64_t> perm = iotaPermutation(lead.size());
  for (int64_t i : {0, 3, 1, 4, 2})
    perm.push_back(int64_t(lead.size()) + i);
  n.result(b.reshape(b.transpose(b.reshape(x, split), perm), result));
}
void pixelUnshuffle(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  int64_t r = n.integer("downscale_factor", 1);
  if (!x || r < 1 || b.rankOf(x) < 3)
    return;
  Dims all = dims(b, x), lead(all.begin(), all.end() - 3);
  AffineExpr c = all[all.size() - 3], h = divideExactly(all[all.size() - 2], b.size(r)), w = divideExactly(all.back(), b.size(r));
  if (!h || !w)
    return n.unsupported("nx cannot show that " + b.text(b.typeOf(x)) + " divides into blocks of " + Twine(r));
  Dims split(lead), result(lead);
  split.append({c, h, b.size(r), w, b.size(r)});
  result.append({normalize(c * (r * r)), h, w});
  SmallVector<int64_t> perm = iotaPermutation(lead.size());
  for (int64_t i : {0, 2, 4, 1, 3})
    perm.push_back(int64_t(lead.size()) + i);
  n.result(b.reshape(b.transpose(b.reshape(x, split), perm), result));
}
void channelShuffle(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  int64_t groups = n.integer("groups", 1);
  if (!x || groups < 1 || b.rankOf(x) < 2)
    return;
  Dims all = dims(b, x);
  AffineExpr each = divideExactly(all[1], b.size(groups));
  if (!each) {
    n.error() << "channels " << b.text(all[1]) << " do not divide into " << groups << " groups";
    return;
  }
  Dims split{all[0], b.size(groups), each};
  split.append(all.begin() + 2, all.end());
  SmallVector<int64_t> perm = iotaPermutation(split.size());
  std::swap(perm[1], perm[2]);
  n.result(b.reshape(b.transpose(b.reshape(x, split), perm), all));
}

/// Amounts come in pairs, last dimension first.
Value padded(NodeImporter &n, GraphBuilder &b, Value x, ArrayRef<AffineExpr> amounts, PadMode mode, Value value) {
  if (!x)
    return {};
  int64_t rank = b.rankOf(x);
  if (amounts.size() % 2 || int64_t(amounts.size()) > 2 * rank) {
    n.error() << amounts.size() << " amounts of padding for " << b.text(b.typeOf(x));
    return {};
  }
  SmallVector<AffineExpr> lo(rank, b.size(0)), hi(rank, b.size(0));
  for (size_t i = 0; i < amounts.size(); i += 2) {
    int64_t axis = rank - 1 - int64_t(i / 2);
    lo[axis] = amounts[i];
    hi[axis] = amounts[i + 1];
    AffineExpr size = dimOf(b.typeOf(x), axis);
    b.requireAtMost(b.size(0), normalize(size + lo[axis] + hi[axis]), "padding");
    for (AffineExpr amount : {lo[axis], hi[axis]}) {
      if (auto constant = constantOf(amount); constant && std::abs(*constant) > kEndless) {
        n.error() << "padding of " << *constant;
        return {};
      }
      if (mode == PadMode::reflect && constantOf(amount) != 0)
        b.requireAtMost(normalize(amount + 1), size, "reflected padding and 1");
      if (mode == PadMode::wrap && constantOf(amount) != 0)
        b.requireAtMost(amount, size, "circular padding");
    }
  }
  SmallVector<Value> operands{x};
  if (value && mode == PadMode::constant)
    operands.push_back(value);
  return b.emit<PadOp>(operands, {b.dims("lo", lo), b.dims("hi", hi), b.attr("mode", PadModeAttr::get(b.context(), mode))});
}
void constantPad(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  std::optional<Dims> amounts = n.sizes("pad");
  if (!x || !amounts)
    return;
  Value value = n.has("value") ? n.constant(b.elementOf(x), n.scalar("value")) : b.scalar(b.elementOf(x), 0);
  n.result(padded(n, b, x, *amounts, PadMode::constant, value));
}
void pad(NodeImporter &n, GraphBuilder &b) {
  StringRef mode = n.string("mode", "constant");
  if (mode == "constant")
    return constantPad(n, b);
  n.ignore({"value"});
  Value x = n.tensor("self");
  std::optional<Dims> amounts = n.sizes("pad");
  if (!amounts)
    return;
  if (mode != "reflect" && mode != "replicate" && mode != "circular") {
    n.error() << "mode '" << mode << "' is not constant, reflect, replicate or circular";
    return;
  }
  n.result(padded(n, b, x, *amounts, mode == "reflect" ? PadMode::reflect : mode == "circular" ? PadMode::wrap : PadMode::edge, {}));
}
template <PadMode mode> void padMode(NodeImporter &n, GraphBuilder &b) {
  StringRef name = n.argument("pad") ? "pad" : "padding";
  Value x = n.tensor("self");
  if (std::optional<Dims> amounts = n.sizes(name))
    n.result(padded(n, b, x, *amounts, mode, {}));
}

const OperatorRow kOperators[] = {
    {"aten.adjoint", "", permute<matrixOf>, permuteBack<matrixOf>},
    {"aten.alias", "", identity, sameValue},
    {"aten.alias_copy", "", identity},
    {"aten.as_strided", "", asStrided, reshapeBack},
    {"aten.atleast_1d", "", atLeast<1>, reshapeBack},
    {"aten.atleast_2d", "", atLeast<2>, reshapeBack},
    {"aten.atleast_3d", "", atLeast<3>, reshapeBack},
    {"aten.broadcast_tensors", "", broadcastTensors},
    {"aten.broadcast_to", "", expand, expandBack},
    {"aten.cat", "", cat},
    {"aten.channel_shuffle", "", channelShuffle},
    {"aten.chunk", "", cutUp<chunkCut>, cutBack<chunkCut>},
    {"aten.clone", "", identity},
    {"aten.column_stack", "", columnStack},
    {"aten.concat", "", cat},
    {"aten.concatenate", "", cat},
    {"aten.constant_pad_nd", "", constantPad},
    {"aten.contiguous", "", identity, sameValue, true},
    {"aten.copy", "", copy},
    {"aten.detach", "", identity, sameValue},
    {"aten.detach_copy", "", identity},
    {"aten.diag", "", diag},
    {"aten.diag_embed", "", diagEmbed},
    {"aten.diagonal", "", diagonal, diagonalBack},
    {"aten.diagonal_copy", "", diagonal},
    {"aten.diagonal_scatter", "", diagonalScatter},
    {"aten.diff", "", difference},
    {"aten.dstack", "", stackAlong<3, 2, false>},
    {"aten.expand", "", expand, expandBack},
    {"aten.expand_as", "", expandAs, expandBack},
    {"aten.expand_copy", "", expand},
    {"aten.flatten", "using_ints", flatten, reshapeBack, true},
    {"aten.flip", "", flip},
    {"aten.fliplr", "", flipAxis<1>},
    {"aten.flipud", "", flipAxis<0>},
    {"aten.hstack", "", stackAlong<1, 1, true>},
    {"aten.lift", "", identity, sameValue},
    {"aten.lift_fresh", "", identity, sameValue},
    {"aten.lift_fresh_copy", "", identity},
    {"aten.linalg_diagonal", "", diagonal, diagonalBack},
    {"aten.mT", "", permute<matrixOf>, permuteBack<matrixOf>},
    {"aten.matrix_H", "", permute<matrixOf>, permuteBack<matrixOf>},
    {"aten.meshgrid", "default indexing", meshgrid},
    {"aten.moveaxis", "int intlist", permute<moveOf>, permuteBack<moveOf>},
    {"aten.movedim", "int intlist", permute<moveOf>, permuteBack<moveOf>},
    {"aten.narrow", "", narrow, narrowBack},
    {"aten.narrow_copy", "", narrow},
    {"aten.numpy_T", "", permute<reversedOf>, permuteBack<reversedOf>},
    {"aten.pad", "", pad},
    {"aten.permute", "", permute<permuteOf>, permuteBack<permuteOf>},
    {"aten.permute_copy", "", permute<permuteOf>},
    {"aten.pixel_shuffle", "", pixelShuffle},
    {"aten.pixel_unshuffle", "", pixelUnshuffle},
    {"aten.ravel", "", ravel, reshapeBack, true},
    {"aten.reflection_pad1d", "", padMode<PadMode::reflect>},
    {"aten.reflection_pad2d", "", padMode<PadMode::reflect>},
    {"aten.reflection_pad3d", "", padMode<PadMode::reflect>},
    {"aten.repeat", "", repeat},
    {"aten.repeat_interleave", "self_int", repeatInterleave},
    {"aten.replication_pad1d", "", padMode<PadMode::edge>},
    {"aten.replication_pad2d", "", padMode<PadMode::edge>},
    {"aten.replication_pad3d", "", padMode<PadMode::edge>},
    {"aten._reshape_alias", "", reshapeAlias, reshapeBack},
    {"aten.reshape", "", reshape, reshapeBack, true},
    {"aten.reshape_as", "", reshapeAs, reshapeBack, true},
    {"aten.resolve_conj", "", identity, sameValue},
    {"aten.resolve_neg", "", identity, sameValue},
    {"aten.roll", "", roll},
    {"aten.rot90", "", rot90},
    {"aten.select", "int", select, selectBack},
    {"aten.select_copy", "int", select},
    {"aten.select_scatter", "", selectScatter},
    {"aten.slice", "Tensor", slice, sliceBack},
    {"aten.slice_copy", "Tensor", slice},
    {"aten.slice_scatter", "", sliceScatter},
    {"aten.split", "Tensor sizes", cutUp<splitCut>, cutBack<splitCut>},
    {"aten.split_copy", "Tensor", cutUp<splitCut>},
    {"aten.split_with_sizes", "", cutUp<splitCut>, cutBack<splitCut>},
    {"aten.split_with_sizes_copy", "", cutUp<splitCut>},
    {"aten.squeeze", "default dim dims", squeeze, reshapeBack},
    {"aten.squeeze_copy", "default dim dims", squeeze},
    {"aten.stack", "", stack},
    {"aten.swapaxes", "", permute<swapOf>, permuteBack<swapOf>},
    {"aten.swapdims", "", permute<swapOf>, permuteBack<swapOf>},
    {"aten.t", "", permute<matrixOf>, permuteBack<matrixOf>},
    {"aten.t_copy", "", permute<matrixOf>},
    {"aten.tensor_split", "sections indices", cutUp<tensorSplitCut>, cutBack<tensorSplitCut>},
    {"aten.tile", "", repeat},
    {"aten.to", "dtype dtype_layout device other prim_Device prim_dtype", convert, sameValue, true},
    {"aten._to_copy", "", convertCopy},
    {"aten.transpose", "int", permute<swapOf>, permuteBack<swapOf>},
    {"aten.transpose_copy", "int", permute<swapOf>},
    {"aten.tril", "", triangle<ComparePredicate::ge>},
    {"aten.triu", "", triangle<ComparePredicate::le>},
    {"aten.type_as", "", convert, sameValue, true},
    {"aten.unbind", "int", unbind, unbindBack},
    {"aten.unbind_copy", "int", unbind},
    {"aten.unflatten", "int", unflatten, reshapeBack},
    {"aten.unfold", "", unfold, unfoldBack},
    {"aten.unfold_copy", "", unfold},
    {"aten.unsafe_chunk", "", cutUp<chunkCut>},
    {"aten.unsafe_split", "Tensor", cutUp<splitCut>},
    {"aten.unsafe_split_with_sizes", "", cutUp<splitCut>},
    {"aten._unsafe_view", "", reshape},
    {"aten.unsqueeze", "", unsqueeze, reshapeBack},
    {"aten.unsqueeze_copy", "", unsqueeze},
    {"aten.view", "", reshape, reshapeBack},
    {"aten.view_as", "", reshapeAs, reshapeBack},
    {"aten.view_copy", "", reshape},
    {"aten.vstack", "", stackAlong<2, 0, false>},
    {"prims.convert_element_type", "", convertElement},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::viewOperators() { return kOperators; }
