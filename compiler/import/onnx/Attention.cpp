//===- Attention.cpp - ONNX operators of attention ------------------------===//

#include "compiler/import/common/Attention.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// [B, S, heads * D] as [B, heads, S, D]; rank 4 is that already.
Value withHeads(NodeImporter &n, GraphBuilder &b, Value x, StringRef headsAttr) {
  if (!x || b.rankOf(x) == 4)
    return x;
  int64_t heads = n.requireInt(headsAttr);
  return b.failed() ? Value() : splitHeads(b, x, heads);
}

/// The mask's last dimension may be shorter than the keys: the rest is not used.
Value paddedMask(GraphBuilder &b, Value mask, AffineExpr keys) {
  if (!mask || b.rankOf(mask) == 0)
    return mask;
  int64_t axis = b.rankOf(mask) - 1;
  AffineExpr size = dimOf(b.typeOf(mask), axis);
  std::optional<int64_t> missing = constantOf(normalize(keys - size));
  if (!missing || *missing <= 0 || (constantOf(size) == 1 && axis > 0))
    return mask;
  SmallVector<AffineExpr> lo(axis + 1, b.size(0)), hi(lo);
  hi[axis] = b.size(*missing);
  bool isBool = b.elementOf(mask).isInteger(1);
  Value fill = isBool ? b.like(mask, 0) : b.like(mask, -std::numeric_limits<double>::infinity());
  return b.emit<PadOp>({mask, fill}, {b.dims("lo", lo), b.dims("hi", hi),
                                      b.attr("mode", PadModeAttr::get(b.context(), PadMode::constant))});
}

void attention(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"softmax_precision", "q_num_heads", "kv_num_heads"}); // nx computes in f32 or wider
  AttentionSpec4D spec;
  Value mask = n.optionalInput(3), pastKey = n.optionalInput(4), pastValue = n.optionalInput(5), lengths = n.optionalInput(6);
  spec.query = n.input(0), spec.key = n.input(1), spec.value = n.input(2);
  if (!spec.query || !spec.key || !spec.value)
    return;
  if (n.hasInput(4) != n.hasInput(5)) {
    n.error() << "past_key and past_value come together";
    return;
  }
  if (pastKey && b.rankOf(pastKey) != 4) {
    n.error() << "past_key must have rank 4, got " << b.text(b.typeOf(pastKey));
    return;
  }
  bool isFlat = b.rankOf(spec.query) == 3;
  spec.query = withHeads(n, b, spec.query, "q_num_heads");
  spec.key = withHeads(n, b, spec.key, "kv_num_heads");
  spec.value = withHeads(n, b, spec.value, "kv_num_heads");
  if (pastKey)
    spec.key = b.concat({pastKey, spec.key}, 2);
  if (pastValue)
    spec.value = b.concat({pastValue, spec.value}, 2);
  if (!spec.query || !spec.key || !spec.value)
    return;
  if (b.rankOf(spec.query) != 4 || b.rankOf(spec.key) != 4 || b.rankOf(spec.value) != 4) {
    n.error() << "query, key and value must have rank 3 or 4";
    return;
  }
  // Values may be of another type than queries and keys.
  Value presentValue = spec.value;
  spec.value = b.cast(spec.value, b.elementOf(spec.query));
  SmallVector<AffineExpr> q = dimsOf(b.typeOf(spec.query)), k = dimsOf(b.typeOf(spec.key));
  std::optional<int64_t> size = constantOf(q[3]);
  if (!size && !n.hasAttr("scale"))
    return n.unsupported("the size of a head is symbolic");
  spec.scale = n.getFloat("scale", 1 / std::sqrt(double(std::max<int64_t>(size.value_or(1), 1))));
  spec.softcap = n.getFloat("softcap", 0);

  // How many keys come before the first query: of the cache, or counted by the caller for each element of the batch.
  Type i64 = b.builder.getI64Type();
  Value offset = pastKey ? b.sizeScalar(dimOf(b.typeOf(pastKey), 2)) : b.scalar(i64, 0);
  if (lengths && !pastKey)
    offset = b.reshape(b.sub(b.cast(lengths, i64), b.sizeScalar(q[2])), {dimOf(b.typeOf(lengths), 0), b.size(1), b.size(1), b.size(1)});
  int64_t left = n.getInt("left_window_size", -1), right = n.getInt("right_window_size", -1);
  if (n.getInt("is_causal", 0)) {
    // Query 0 may use the past keys and the first new one.
    if (lengths && !pastKey)
      spec.keep = atMostBehind(b, q[2], k[2], offset);
    else
      spec.causal = pastKey ? dimOf(b.typeOf(pastKey), 2) : b.size(0);
  }
  if (right >= 0)
    spec.keep = bothHold(b, spec.keep, atMostBehind(b, q[2], k[2], b.add(offset, double(right))));
  if (left >= 0) {
    // offset + row - column <= left
    Value row = b.iota({q[2], b.size(1)}, 0, i64), column = b.iota({b.size(1), k[2]}, 1, i64);
    Value near = b.compare(ComparePredicate::le, b.add(b.sub(row, column), offset), double(left));
    spec.keep = bothHold(b, spec.keep, near);
  }
  if (lengths) {
    Value column = b.iota({b.size(1), b.size(1), b.size(1), k[2]}, 3, i64);
    Value count = b.reshape(b.cast(lengths, i64), {dimOf(b.typeOf(lengths), 0), b.size(1), b.size(1), b.size(1)});
    spec.keep = bothHold(b, spec.keep, b.compare(ComparePredicate::lt, column, count));
  }
  if (mask) {
    mask = paddedMask(b, mask, k[2]);
    if (!mask)
      return;
    if (b.elementOf(mask).isInteger(1))
      spec.keep = bothHold(b, spec.keep, mask);
    else
      spec.bias = mask;
  }

  Value result, between;
  if (n.hasOutput(3)) {
    AttentionSteps steps = attendInSteps(b, spec);
    result = steps.result;
    switch (n.getInt("qk_matmul_output_mode", 0)) {
    case 0: between = steps.scores; break;
    case 1: between = steps.capped; break;
    case 2: between = steps.biased; break;
    case 3: between = steps.probabilities; break;
    default: n.error() << "qk_matmul_output_mode is not 0 to 3"; return;
    }
  } else {
    n.ignoreAttrs({"qk_matmul_output_mode"});
    result = attend(b, spec);
  }
  n.results({isFlat ? mergeHeads(b, result) : result, spec.key, presentValue, between});
}

void rotaryEmbedding(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), cosine = n.input(1), sine = n.input(2), positions = n.optionalInput(3);
  if (!x || !cosine || !sine)
    return;
  bool isFlat = b.rankOf(x) == 3, interleaved = n.getInt("interleaved", 0);
  int64_t width = n.getInt("rotary_embedding_dim", 0);
  if (isFlat)
    x = withHeads(n, b, x, "num_heads");
  else
    n.ignoreAttrs({"num_heads"});
  if (!x)
    return;
  if (b.rankOf(x) != 4) {
    n.error() << "needs an input of rank 3 or 4";
    return;
  }
  AffineExpr turned = width ? b.size(width) : dimOf(b.typeOf(x), 3);
  // [B, S, width / 2] as [B, 1, S, width / 2]
  auto prepared = [&](Value cache) { return b.insertUnitDim(positions ? b.gather(cache, positions, 0) : cache, 1); };
  Value result = rotate(b, x, prepared(cosine), prepared(sine), turned, interleaved);
  n.result(isFlat ? mergeHeads(b, result) : result);
}

/// Writes `update` into the cache along an axis, from an index of each element of the batch on.
void tensorScatter(NodeImporter &n, GraphBuilder &b) {
  Value cache = n.input(0), update = n.input(1), indices = n.optionalInput(2);
  if (!cache || !update)
    return;
  int64_t rank = b.rankOf(cache), axis = n.axis(n.getInt("axis", -2), rank);
  StringRef mode = n.getString("mode", "linear");
  if (b.failed())
    return;
  if (b.rankOf(update) != rank || axis == 0 || (mode != "linear" && mode != "circular")) {
    n.error() << "the update must have the cache's rank, the axis must not be 0, the mode is linear or circular";
    return;
  }
  Type i64 = b.builder.getI64Type();
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(cache)), updateDims = dimsOf(b.typeOf(update)), line(rank, b.size(1)),
                          batch(rank, b.size(1));
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      b.requireEqual(dims[i], updateDims[i], "the cache and its update");
  b.requireAtMost(updateDims[axis], dims[axis], "the length of the update");
  line[axis] = dims[axis];
  batch[0] = dims[0];
  // Element p of the cache is element p - index of the update, if there is such a one.
  Value place = b.iota(line, axis, i64);
  if (indices)
    place = b.sub(place, b.reshape(b.cast(indices, i64), batch));
  Value length = b.sizeScalar(updateDims[axis]), zero = b.scalar(i64, 0);
  if (mode == "circular")
    place = b.emit<ModOp>({place, b.sizeScalar(dims[axis])});
  Value inside = bothHold(b, b.compare(ComparePredicate::ge, place, zero), b.compare(ComparePredicate::lt, place, length));
  Value source = b.broadcast(b.select(inside, place, zero), dims);
  Value moved = b.emit<GatherElementsOp>({update, source}, b.i64("axis", axis));
  n.result(b.select(inside, moved, cache));
}

const OperatorRow kOperators[] = {
    {"Attention", 23, kLatest, attention},
    {"RotaryEmbedding", 23, kLatest, rotaryEmbedding},
    {"TensorScatter", 24, kLatest, tensorScatter},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::attentionOperators() { return kOperators; }
