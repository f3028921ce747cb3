//===- Microsoft.cpp - Operators of the domain com.microsoft --------------===//
//
// What ONNX Runtime's optimizer and exporters for it leave in a file.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/common/Attention.h"
#include "compiler/import/common/Quantize.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"
#include <cmath>

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

//===----------------------------------------------------------------------===//
// Normalizations
//===----------------------------------------------------------------------===//

Value layerNorm(GraphBuilder &b, Value x, Value scale, Value bias, double epsilon) {
  return x ? b.emitOptional<LayerNormOp>({x, scale, bias}, {b.i64("axis", b.rankOf(x) - 1), b.f64("epsilon", epsilon)},
                                         /*countSegments=*/true)
           : Value();
}

Value rmsNorm(GraphBuilder &b, Value x, Value scale, double epsilon) {
  return x ? b.emit<RmsNormOp>({x, scale}, {b.i64("axis", b.rankOf(x) - 1), b.f64("epsilon", epsilon)}) : Value();
}

void skipLayerNormalization(NodeImporter &n, GraphBuilder &b) {
  Value sum = b.add(n.input(0), n.input(1));
  if (Value bias = n.optionalInput(4))
    sum = b.add(sum, bias);
  double epsilon = n.getFloat("epsilon", 1e-12);
  std::pair<Value, Value> statistics;
  if (sum && (n.hasOutput(1) || n.hasOutput(2)))
    statistics = emitStatistics(b, sum, b.rankOf(sum) - 1, epsilon);
  n.results({layerNorm(b, sum, n.input(2), n.optionalInput(3), epsilon), statistics.first, statistics.second, sum});
}

void skipSimplifiedLayerNormalization(NodeImporter &n, GraphBuilder &b) {
  Value sum = b.add(n.input(0), n.input(1));
  if (Value bias = n.optionalInput(3))
    sum = b.add(sum, bias);
  n.results({rmsNorm(b, sum, n.input(2), n.getFloat("epsilon", 1e-12)), Value(), Value(), sum});
}

void embedLayerNormalization(NodeImporter &n, GraphBuilder &b) {
  Value ids = n.input(0), segments = n.optionalInput(1), words = n.input(2), places = n.input(3), kinds = n.optionalInput(4);
  Value mask = n.optionalInput(7), positions = n.optionalInput(8);
  n.ignoreAttrs({"mask_index_type"});
  if (!ids || !words || !places)
    return;
  Value sum = b.gather(words, ids, 0);
  sum = b.add(sum, positions ? b.gather(places, positions, 0)
                             : b.slice(places, 0, b.size(0), dimOf(b.typeOf(ids), b.rankOf(ids) - 1)));
  if (segments && kinds)
    sum = b.add(sum, b.gather(kinds, segments, 0));
  Value count;
  if (n.hasOutput(1)) {
    Type i32 = b.builder.getI32Type();
    count = mask ? b.reduce(ReduceKind::sum, b.cast(mask, i32), {1}, false)
                 : b.broadcast(b.scalar(i32, 0), {dimOf(b.typeOf(ids), 0)});
  }
  n.results({layerNorm(b, sum, n.input(5), n.input(6), n.getFloat("epsilon", 1e-12)), count, sum});
}

//===----------------------------------------------------------------------===//
// Activations and products
//===----------------------------------------------------------------------===//

void biasGelu(NodeImporter &n, GraphBuilder &b) { n.result(b.emit<GeluOp>(b.add(n.input(0), n.input(1)))); }
void gelu(NodeImporter &n, GraphBuilder &b) { n.result(b.emit<GeluOp>(n.input(0))); }
void fastGelu(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (Value bias = n.optionalInput(1))
    x = b.add(x, bias);
  n.result(b.emit<GeluOp>(x, b.flag("tanh")));
}
void quickGelu(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  n.result(b.mul(x, b.emit<SigmoidOp>(b.mul(x, n.getFloat("alpha", 1.702)))));
}

/// The function that a fused operator applies to its result.
Value activated(NodeImporter &n, GraphBuilder &b, Value x) {
  StringRef name = n.getString("activation", "");
  SmallVector<double> parameters = n.getFloats("activation_params");
  auto parameter = [&](size_t i, double absent) { return i < parameters.size() ? parameters[i] : absent; };
  if (name.empty())
    return x;
  if (name == "Relu")
    return b.emit<ReluOp>(x);
  if (name == "Tanh")
    return b.emit<TanhOp>(x);
  if (name == "Sigmoid")
    return b.emit<SigmoidOp>(x);
  if (name == "LeakyRelu")
    return b.emit<LeakyReluOp>(x, b.f64("alpha", parameter(0, 0.01)));
  if (name == "HardSigmoid")
    return b.emit<HardSigmoidOp>(x, {b.f64("alpha", parameter(0, 0.2)), b.f64("beta", parameter(1, 0.5))});
  if (name == "Clip")
    return b.min(b.max(x, parameter(0, -INFINITY)), parameter(1, INFINITY));
  return n.unsupported("activation " + name), Value();
}

void fusedConv(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1);
  if (!x || !weight)
    return;
  Value y = emitConv(n, b, x, weight, n.optionalInput(2));
  if (Value summand = n.optionalInput(3))
    y = b.add(y, summand);
  n.result(activated(n, b, y));
}

void nhwcConv(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1);
  if (!x || !weight)
    return;
  // Channels to the front for images and weights, and back.
  int64_t rank = b.rankOf(x);
  SmallVector<int64_t> front{0, rank - 1}, back{0};
  for (int64_t i = 1; i < rank - 1; ++i)
    front.push_back(i);
  for (int64_t i = 2; i < rank; ++i)
    back.push_back(i);
  back.push_back(1);
  if (rank < 3 || b.rankOf(weight) != rank) {
    n.error() << "needs an input and weights of one rank, 3 or more";
    return;
  }
  Value y = emitConv(n, b, b.transpose(x, front), b.transpose(weight, front), n.optionalInput(2));
  n.result(y ? b.transpose(y, back) : y);
}

void fusedMatMul(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), y = n.input(1);
  if (!x || !y)
    return;
  if (n.getInt("transBatchA", 0) || n.getInt("transBatchB", 0))
    return n.unsupported("transBatchA and transBatchB");
  auto transposed = [&](Value value, bool wanted) {
    if (!wanted || b.rankOf(value) < 2)
      return value;
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(0, b.rankOf(value)));
    std::swap(perm.back(), perm[perm.size() - 2]);
    return b.transpose(value, perm);
  };
  Value product = emitMatmul(b, transposed(x, n.getInt("transA", 0)), transposed(y, n.getInt("transB", 0)));
  double alpha = n.getFloat("alpha", 1);
  n.result(alpha == 1 ? product : b.mul(product, alpha));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

double headScale(NodeImporter &n, GraphBuilder &b, Value query) {
  double scale = n.getFloat("scale", 0);
  std::optional<int64_t> size = query ? constantOf(dimOf(b.typeOf(query), 3)) : std::nullopt;
  if (scale == 0 && query && !size)
    n.unsupported("the size of a head is symbolic");
  return scale != 0 ? scale : 1 / std::sqrt(double(std::max<int64_t>(size.value_or(1), 1)));
}

/// Which keys an operand `[B]` of lengths, `[B, T]` or `[B, S, T]` of zeros and ones lets through. Null after a refusal.
Value keyMask(NodeImporter &n, GraphBuilder &b, Value mask, AffineExpr keys) {
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(mask));
  Type i64 = b.builder.getI64Type();
  if (dims.size() == 1) {
    Value column = b.iota({b.size(1), b.size(1), b.size(1), keys}, 3, i64);
    return b.compare(ComparePredicate::lt, column, b.appendUnitDims(b.cast(mask, i64), 4));
  }
  Value holds = b.compare(ComparePredicate::ne, mask, 0.0);
  if (dims.size() == 2)
    return b.reshape(holds, {dims[0], b.size(1), b.size(1), dims[1]});
  if (dims.size() == 3)
    return b.reshape(holds, {dims[0], b.size(1), dims[1], dims[2]});
  return n.unsupported("a mask of rank " + Twine(dims.size())), Value();
}

void multiHeadAttention(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"mask_filter_value"});
  Value query = n.input(0), key = n.optionalInput(1), value = n.optionalInput(2), bias = n.optionalInput(3);
  Value mask = n.optionalInput(4), pastKey = n.optionalInput(6), pastValue = n.optionalInput(7);
  int64_t heads = n.requireInt("num_heads");
  if (!query || b.failed())
    return;
  if (n.hasInput(8))
    return n.unsupported("the input past_sequence_length");
  if (!key || !value || b.rankOf(query) != 3)
    return n.unsupported("packed queries, keys and values");
  AttentionSpec4D spec;
  if (bias) {
    // One after the other, for queries, keys and values.
    AffineExpr start = b.size(0);
    for (Value *part : {&query, &key, &value}) {
      AffineExpr width = b.rankOf(*part) == 3 ? dimOf(b.typeOf(*part), 2) : AffineExpr();
      if (!width)
        return n.unsupported("a bias for keys with heads");
      *part = b.add(*part, b.slice(bias, 0, start, width));
      start = start + width;
      if (!*part)
        return;
    }
  }
  auto withHeads = [&](Value x) { return x && b.rankOf(x) == 4 ? x : splitHeads(b, x, heads); };
  spec.query = withHeads(query), spec.key = withHeads(key), spec.value = withHeads(value);
  if (pastKey)
    spec.key = b.concat({pastKey, spec.key}, 2);
  if (pastValue)
    spec.value = b.concat({pastValue, spec.value}, 2);
  if (!spec.query || !spec.key || !spec.value)
    return;
  spec.scale = headScale(n, b, spec.query);
  if (n.getInt("unidirectional", 0))
    spec.causal = dimOf(b.typeOf(spec.key), 2) - dimOf(b.typeOf(spec.query), 2);
  spec.bias = n.optionalInput(5);
  if (mask && !(spec.keep = keyMask(n, b, mask, dimOf(b.typeOf(spec.key), 2))))
    return;
  n.results({mergeHeads(b, attend(b, spec)), spec.key, spec.value});
}

void attention(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"mask_filter_value", "past_present_share_buffer"});
  Value x = n.input(0), weights = n.input(1), bias = n.optionalInput(2), mask = n.optionalInput(3), past = n.optionalInput(4);
  int64_t heads = n.requireInt("num_heads");
  SmallVector<int64_t> sizes = n.getInts("qkv_hidden_sizes");
  if (!x || !weights || b.failed())
    return;
  if (n.getInt("do_rotary", 0))
    return n.unsupported("attribute do_rotary");
  Value all = emitMatmul(b, x, weights);
  if (bias)
    all = b.add(all, bias);
  if (!all || b.rankOf(all) != 3)
    return;
  AffineExpr width = dimOf(b.typeOf(all), 2), start = b.size(0);
  AttentionSpec4D spec;
  for (auto [i, part] : llvm::enumerate(std::initializer_list<Value *>{&spec.query, &spec.key, &spec.value})) {
    AffineExpr own = sizes.size() == 3 ? b.size(sizes[i]) : divideExactly(width, b.size(3));
    if (!own) {
      n.error() << b.text(width) << " columns do not divide into queries, keys and values";
      return;
    }
    *part = splitHeads(b, b.slice(all, 2, start, own), heads);
    start = start + own;
    if (!*part)
      return;
  }
  Value present;
  if (past) {
    SmallVector<AffineExpr> dims = dimsOf(b.typeOf(past));
    dims.erase(dims.begin());
    auto half = [&](int64_t i) { return b.reshape(b.slice(past, 0, b.size(i), b.size(1)), dims); };
    spec.key = b.concat({half(0), spec.key}, 2);
    spec.value = b.concat({half(1), spec.value}, 2);
  }
  if (n.hasOutput(1))
    present = b.concat({b.insertUnitDim(spec.key, 0), b.insertUnitDim(spec.value, 0)}, 0);
  if (!spec.key)
    return;
  spec.scale = headScale(n, b, spec.query);
  if (n.getInt("unidirectional", 0))
    spec.causal = dimOf(b.typeOf(spec.key), 2) - dimOf(b.typeOf(spec.query), 2);
  spec.bias = n.optionalInput(5);
  if (mask && !(spec.keep = keyMask(n, b, mask, dimOf(b.typeOf(spec.key), 2))))
    return;
  n.results({mergeHeads(b, attend(b, spec)), present});
}

/// x [B, heads, S, D] turned by its positions [B, S] or from `first` on.
Value rotated(GraphBuilder &b, Value x, Value positions, Value cosine, Value sine, bool interleaved) {
  if (!x || !cosine || !sine || !positions)
    return {};
  auto at = [&](Value cache) { return b.cast(b.insertUnitDim(b.gather(cache, positions, 0), b.rankOf(positions) - 1), b.elementOf(x)); };
  return rotate(b, x, at(cosine), at(sine), dimOf(b.typeOf(cosine), 1) * 2, interleaved);
}

void rotaryEmbedding(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"rotary_embedding_dim"}); // the caches say it
  Value x = n.input(0), positions = n.input(1), cosine = n.input(2), sine = n.input(3);
  int64_t heads = n.getInt("num_heads", 0);
  bool interleaved = n.getInt("interleaved", 0);
  if (!x || !positions || !cosine || !sine)
    return;
  if (n.getFloat("scale", 1) != 1 || n.getInt("is_packed_batching", 0))
    return n.unsupported("attribute scale or is_packed_batching");
  bool isFlat = b.rankOf(x) == 3;
  if (isFlat) {
    if (!heads) {
      std::optional<int64_t> width = constantOf(dimOf(b.typeOf(x), 2)), half = constantOf(dimOf(b.typeOf(cosine), 1));
      if (!width || !half || !*half)
        return n.unsupported("the number of heads is not known");
      heads = *width / (2 * *half);
    }
    x = splitHeads(b, x, heads);
  }
  if (!x)
    return;
  // One number is the position of the first element.
  if (b.rankOf(positions) == 1) {
    Type i64 = b.builder.getI64Type();
    Value steps = b.iota({b.size(1), dimOf(b.typeOf(x), 2)}, 1, i64);
    positions = b.add(steps, b.reshape(b.cast(positions, i64), {b.size(1), b.size(1)}));
  }
  Value y = rotated(b, x, positions, cosine, sine, interleaved);
  n.result(isFlat ? mergeHeads(b, y) : y);
}

void groupQueryAttention(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"smooth_softmax"});
  Value query = n.input(0), key = n.optionalInput(1), value = n.optionalInput(2), pastKey = n.optionalInput(3),
        pastValue = n.optionalInput(4), lengths = n.input(5), cosine = n.optionalInput(7), sine = n.optionalInput(8);
  int64_t heads = n.requireInt("num_heads"), keyHeads = n.requireInt("kv_num_heads"), window = n.getInt("local_window_size", -1);
  bool rotates = n.getInt("do_rotary", 0), interleaved = n.getInt("rotary_interleaved", 0);
  if (!query || !lengths || b.failed())
    return;
  if (n.getInt("smooth_softmax", 0) == 1)
    return n.unsupported("attribute smooth_softmax");
  for (size_t i = 9; i < n.numInputs(); ++i)
    if (n.hasInput(i))
      return n.unsupported("input " + Twine(i));
  if (!key || !value) {
    // Packed: query heads, key heads, value heads.
    AffineExpr head = divideExactly(dimOf(b.typeOf(query), 2), b.size(heads + 2 * keyHeads));
    if (!head) {
      n.error() << b.text(b.typeOf(query)) << " does not divide into " << heads + 2 * keyHeads << " heads";
      return;
    }
    Value all = query;
    query = b.slice(all, 2, b.size(0), head * heads);
    key = b.slice(all, 2, head * heads, head * keyHeads);
    value = b.slice(all, 2, head * (heads + keyHeads), head * keyHeads);
  }
  AttentionSpec4D spec;
  spec.query = splitHeads(b, query, heads), spec.key = splitHeads(b, key, keyHeads), spec.value = splitHeads(b, value, keyHeads);
  if (!spec.query || !spec.key || !spec.value)
    return;
  Type i64 = b.builder.getI64Type();
  AffineExpr rows = dimOf(b.typeOf(spec.query), 2), before = pastKey ? dimOf(b.typeOf(pastKey), 2) : b.size(0);
  if (rotates) {
    Value positions = b.add(b.iota({b.size(1), rows}, 1, i64), b.sizeScalar(before));
    spec.query = rotated(b, spec.query, positions, cosine, sine, interleaved);
    spec.key = rotated(b, spec.key, positions, cosine, sine, interleaved);
  }
  if (pastKey)
    spec.key = b.concat({pastKey, spec.key}, 2);
  if (pastValue)
    spec.value = b.concat({pastValue, spec.value}, 2);
  if (!spec.query || !spec.key || !spec.value)
    return;
  AffineExpr columns = dimOf(b.typeOf(spec.key), 2);
  spec.scale = headScale(n, b, spec.query);
  spec.softcap = n.getFloat("softcap", 0);
  spec.causal = columns - rows;
  // The operand holds each element's number of keys minus 1.
  Value column = b.iota({b.size(1), b.size(1), b.size(1), columns}, 3, i64);
  Value last = b.reshape(b.cast(lengths, i64), {dimOf(b.typeOf(spec.query), 0), b.size(1), b.size(1), b.size(1)});
  spec.keep = b.compare(ComparePredicate::le, column, last);
  if (window > 0) {
    Value row = b.add(b.iota({rows, b.size(1)}, 0, i64), b.sizeScalar(columns - rows));
    Value near = b.compare(ComparePredicate::lt, b.sub(row, b.iota({b.size(1), columns}, 1, i64)), double(window));
    spec.keep = bothHold(b, spec.keep, near);
  }
  n.results({mergeHeads(b, attend(b, spec)), spec.key, spec.value});
}

//===----------------------------------------------------------------------===//
// Quantized weights
//===----------------------------------------------------------------------===//

/// Bytes [.., n] that hold numbers of `bits` bits, the first one lowest, as ui8 [.., n * 8 / bits].
Value unpacked(GraphBuilder &b, Value bytes, int64_t bits) {
  if (!bytes || bits == 8)
    return bytes;
  int64_t last = b.rankOf(bytes) - 1;
  SmallVector<AffineExpr> dims = dimsOf(b.typeOf(bytes));
  SmallVector<Value> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value moved = shift ? b.emit<ShrOp>({bytes, b.like(bytes, double(shift))}) : bytes;
    parts.push_back(b.insertUnitDim(b.emit<AndOp>({moved, b.like(bytes, double((1 << bits) - 1))}), last + 1));
  }
  dims[last] = dims[last] * (8 / bits);
  return b.reshape(b.concat(parts, last + 1), dims);
}

/// Weights [N, K] from `packed [N, blocks, bytes]`.
Value blockWeights(NodeImporter &n, GraphBuilder &b, Value packed, Value scales, Value zeroPoints, int64_t rows, int64_t columns,
                   int64_t bits, int64_t block) {
  int64_t blocks = llvm::divideCeil(columns, block);
  Type element = b.elementOf(scales);
  Value numbers = b.reshape(unpacked(b, packed, bits), {b.size(rows), b.size(blocks), b.size(block)});
  Value scale = b.reshape(scales, {b.size(rows), b.size(blocks), b.size(1)}), zero;
  if (!zeroPoints) {
    zero = b.scalar(element, double(1 << (bits - 1)));
  } else if (isa<FloatType>(b.elementOf(zeroPoints))) {
    zero = b.reshape(zeroPoints, {b.size(rows), b.size(blocks), b.size(1)});
  } else {
    // A row's zero points fill whole bytes.
    int64_t perRow = llvm::divideCeil(blocks * bits, 8);
    Value all = unpacked(b, b.reshape(zeroPoints, {b.size(rows), b.size(perRow)}), bits);
    zero = b.cast(b.insertUnitDim(b.slice(all, 1, b.size(0), b.size(blocks)), 2), element);
  }
  Value weights = b.mul(b.sub(b.cast(numbers, element), b.cast(zero, element)), scale);
  Value flat = b.reshape(weights, {b.size(rows), b.size(blocks * block)});
  return blocks * block == columns ? flat : b.slice(flat, 1, b.size(0), b.size(columns));
}

bool isPacking(int64_t bits) { return bits == 2 || bits == 4 || bits == 8; }

void matMulNBits(NodeImporter &n, GraphBuilder &b) {
  n.ignoreAttrs({"accuracy_level"});
  Value x = n.input(0), packed = n.input(1), scales = n.input(2), zeroPoints = n.optionalInput(3);
  int64_t columns = n.requireInt("K"), rows = n.requireInt("N"), bits = n.getInt("bits", 4), block = n.requireInt("block_size");
  if (!x || !packed || !scales || b.failed())
    return;
  if (n.hasInput(4))
    return n.unsupported("the input g_idx");
  if (!isPacking(bits) || block < 1 || columns < 1 || rows < 1) {
    n.error() << "N, K and block_size must be positive, bits 2, 4 or 8";
    return;
  }
  Value weights = blockWeights(n, b, packed, scales, zeroPoints, rows, columns, bits, block);
  Value y = weights ? b.emit<MatmulOp>({x, b.cast(weights, b.elementOf(x))}, b.flag("transpose_rhs")) : Value();
  if (Value bias = n.optionalInput(5))
    y = b.add(y, bias);
  n.result(y);
}

void gatherBlockQuantized(NodeImporter &n, GraphBuilder &b) {
  Value data = n.input(0), indices = n.input(1), scales = n.input(2), zeroPoints = n.optionalInput(3);
  int64_t bits = n.getInt("bits", 4), block = n.getInt("block_size", 128);
  if (!data || !indices || !scales)
    return;
  int64_t rank = b.rankOf(data), axis = n.axis(n.getInt("gather_axis", 0), rank), quantized = n.axis(n.getInt("quantize_axis", 1), rank);
  if (b.failed())
    return;
  bool isPacked = b.elementOf(data) == b.builder.getIntegerType(8, false) && bits < 8;
  if (axis != 0 || quantized != rank - 1 || !isPacking(bits))
    return n.unsupported("other axes than the first to gather and the last to quantize");
  // Rows of data, scales and zero points go together.
  auto rowsOf = [&](Value x) { return x ? b.gather(x, indices, 0) : x; };
  Value numbers = rowsOf(data), scale = rowsOf(scales), zero = rowsOf(zeroPoints);
  if (isPacked) {
    numbers = unpacked(b, numbers, bits);
    zero = unpacked(b, zero, bits);
  }
  if (!numbers || !scale)
    return;
  Type element = b.elementOf(scale);
  int64_t last = b.rankOf(numbers) - 1;
  AffineExpr blocks = dimOf(b.typeOf(scale), last);
  if (zero && !provablyEqual(dimOf(b.typeOf(zero), last), blocks))
    zero = b.slice(zero, last, b.size(0), blocks);
  Value centre = zero ? alongAxis(b, b.cast(zero, element), numbers, last, block)
                      : b.scalar(element, isPacked || bits == 8 ? double(1 << (bits - 1)) : 0);
  n.result(b.mul(b.sub(b.cast(numbers, element), centre), alongAxis(b, scale, numbers, last, block)));
}

/// (x - zero point) as i32; zero points per column of the right operand broadcast as they are.
Value centred(GraphBuilder &b, Value x, Value zeroPoint) {
  Type i32 = b.builder.getI32Type();
  Value wide = b.cast(x, i32);
  return zeroPoint ? b.sub(wide, b.cast(zeroPoint, i32)) : wide;
}

void matMulIntegerToFloat(NodeImporter &n, GraphBuilder &b) {
  Value xScale = n.input(2), yScale = n.input(3);
  Value sums = emitMatmul(b, centred(b, n.input(0), n.optionalInput(4)), centred(b, n.input(1), n.optionalInput(5)));
  if (!sums || !xScale || !yScale)
    return;
  Value y = b.mul(b.cast(sums, b.elementOf(xScale)), b.mul(xScale, yScale));
  if (Value bias = n.optionalInput(6))
    y = b.add(y, bias);
  n.result(y);
}

void dynamicQuantizeMatMul(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), y = n.input(1), yScale = n.input(2);
  if (!x || !y || !yScale)
    return;
  DynamicScale dynamic = emitDynamicScale(b, x);
  Value whole = quantize(b, x, dynamic.scale, dynamic.zeroPoint, b.builder.getIntegerType(8, false));
  Value sums = emitMatmul(b, centred(b, whole, dynamic.zeroPoint), centred(b, y, n.optionalInput(3)));
  Value result = b.mul(b.cast(sums, b.elementOf(x)), b.mul(dynamic.scale, yScale));
  if (Value bias = n.optionalInput(4))
    result = b.add(result, bias);
  n.result(result);
}

//===----------------------------------------------------------------------===//
// Quantized operators: the numbers, the operation, the integers
//===----------------------------------------------------------------------===//

/// The real value of three inputs from `i` on: integers, scale, zero point.
Value real(NodeImporter &n, GraphBuilder &b, size_t i) {
  Value x = n.input(i), scale = n.input(i + 1), zeroPoint = n.optionalInput(i + 2);
  if (!x || !scale)
    return {};
  if (zeroPoint)
    zeroPoint = b.reshape(zeroPoint, {});
  return dequantize(b, x, b.reshape(scale, {}), zeroPoint, b.builder.getF32Type());
}

/// `y` with scale and zero point of inputs `i` and `i + 1`, as the integers of the first operand `like`.
void quantized(NodeImporter &n, GraphBuilder &b, Value y, size_t i, Value like) {
  Value scale = n.input(i), zeroPoint = n.optionalInput(i + 1);
  if (!y || !scale || !like)
    return;
  if (zeroPoint)
    zeroPoint = b.reshape(zeroPoint, {});
  n.result(quantize(b, y, b.reshape(scale, {}), zeroPoint, b.elementOf(like)));
}

template <typename OpTy> void qLinearBinary(NodeImporter &n, GraphBuilder &b) {
  quantized(n, b, b.emit<OpTy>({real(n, b, 0), real(n, b, 3)}), 6, n.input(0));
}

void qLinearSigmoid(NodeImporter &n, GraphBuilder &b) {
  quantized(n, b, b.emit<SigmoidOp>(real(n, b, 0)), 3, n.input(0));
}
void qLinearLeakyRelu(NodeImporter &n, GraphBuilder &b) {
  Value y = b.emit<LeakyReluOp>(real(n, b, 0), b.f64("alpha", n.getFloat("alpha", 0.01)));
  quantized(n, b, y, 3, n.input(0));
}
void qLinearSoftmax(NodeImporter &n, GraphBuilder &b) {
  Value x = real(n, b, 0);
  int64_t opset = n.getInt("opset", 13);
  if (!x)
    return;
  int64_t axis = n.axis(n.getInt("axis", -1), b.rankOf(x));
  if (opset < 13 && axis != b.rankOf(x) - 1)
    return n.unsupported("a softmax over several dimensions");
  quantized(n, b, b.emit<SoftmaxOp>(x, b.i64("axis", axis)), 3, n.input(0));
}

void qLinearGlobalAveragePool(NodeImporter &n, GraphBuilder &b) {
  Value x = real(n, b, 0);
  bool channelsLast = n.getInt("channels_last", 0);
  if (!x)
    return;
  int64_t rank = b.rankOf(x);
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(channelsLast ? 1 : 2, channelsLast ? rank - 1 : rank));
  quantized(n, b, b.reduce(ReduceKind::mean, x, axes, true), 3, n.input(0));
}

void qLinearConcat(NodeImporter &n, GraphBuilder &b) {
  SmallVector<Value> parts;
  if (n.numInputs() < 5 || (n.numInputs() - 2) % 3) {
    n.error() << n.numInputs() << " inputs are no scale, zero point and triples";
    return;
  }
  for (size_t i = 2; i < n.numInputs(); i += 3)
    parts.push_back(real(n, b, i));
  if (llvm::is_contained(parts, Value()))
    return;
  Value y = b.concat(parts, n.axis(n.requireInt("axis"), b.rankOf(parts[0])));
  quantized(n, b, y, 0, n.input(2));
}

const OperatorRow kOperators[] = {
    {"Attention", 1, kLatest, attention},
    {"BiasGelu", 1, kLatest, biasGelu},
    {"DynamicQuantizeMatMul", 1, kLatest, dynamicQuantizeMatMul},
    {"EmbedLayerNormalization", 1, kLatest, embedLayerNormalization},
    {"FastGelu", 1, kLatest, fastGelu},
    {"FusedConv", 1, kLatest, fusedConv},
    {"FusedMatMul", 1, kLatest, fusedMatMul},
    {"GatherBlockQuantized", 1, kLatest, gatherBlockQuantized},
    {"Gelu", 1, kLatest, gelu},
    {"GroupQueryAttention", 1, kLatest, groupQueryAttention},
    {"MatMulIntegerToFloat", 1, kLatest, matMulIntegerToFloat},
    {"MatMulNBits", 1, kLatest, matMulNBits},
    {"MultiHeadAttention", 1, kLatest, multiHeadAttention},
    {"NhwcConv", 1, kLatest, nhwcConv},
    {"QLinearAdd", 1, kLatest, qLinearBinary<AddOp>},
    {"QLinearConcat", 1, kLatest, qLinearConcat},
    {"QLinearGlobalAveragePool", 1, kLatest, qLinearGlobalAveragePool},
    {"QLinearLeakyRelu", 1, kLatest, qLinearLeakyRelu},
    {"QLinearMul", 1, kLatest, qLinearBinary<MulOp>},
    {"QLinearSigmoid", 1, kLatest, qLinearSigmoid},
    {"QLinearSoftmax", 1, kLatest, qLinearSoftmax},
    {"QuickGelu", 1, kLatest, quickGelu},
    {"RotaryEmbedding", 1, kLatest, rotaryEmbedding},
    {"SkipLayerNormalization", 1, kLatest, skipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", 1, kLatest, skipSimplifiedLayerNormalization},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::microsoftOperators() { return kOperators; }
