//===- Quantized.cpp - ONNX operators on quantized integers ---------------===//

#include "compiler/import/common/Quantize.h"
#include "compiler/import/onnx/NodeImporter.h"
#include "compiler/import/onnx/TensorData.h"

using namespace mlir;
using namespace nx;
using namespace nx::onnx;

namespace {

/// Reads where scale and zero point lie along the input, and shapes them.
bool readScales(NodeImporter &n, GraphBuilder &b, Value x, Value &scale, Value &zeroPoint) {
  int64_t axis = n.getInt("axis", 1), block = n.getInt("block_size", 0), rank = x ? b.rankOf(x) : 0;
  if (!x || !scale)
    return false;
  if (block < 0 || block > (1 << 24)) {
    n.error() << "block_size is " << block;
    return false;
  }
  // Scalars have no axis, whatever the attribute says.
  bool isScalar = b.rankOf(scale) == 0 || (b.rankOf(scale) == 1 && constantOf(dimOf(b.typeOf(scale), 0)) == 1);
  axis = isScalar && !block ? 0 : n.axis(axis, rank);
  if (b.failed())
    return false;
  scale = alongAxis(b, scale, x, axis, block);
  zeroPoint = alongAxis(b, zeroPoint, x, axis, block);
  return bool(scale);
}

void dequantizeLinear(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), scale = n.input(1), zeroPoint = n.optionalInput(2);
  if (!readScales(n, b, x, scale, zeroPoint))
    return;
  auto type = DataType(n.getInt("output_dtype", 0));
  Type element = type == DataType::Undefined ? b.elementOf(scale) : elementType(type, b.context());
  if (!element)
    return n.unsupported("nx does not have element type " + nameOf(type));
  n.result(dequantize(b, x, scale, zeroPoint, element));
}

void quantizeLinear(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), scale = n.input(1), zeroPoint = n.optionalInput(2);
  if (!readScales(n, b, x, scale, zeroPoint))
    return;
  bool saturates = n.getInt("saturate", 1);
  auto given = DataType(n.getInt("output_dtype", 0)), precision = DataType(n.getInt("precision", 0));
  Type narrow = zeroPoint                         ? b.elementOf(zeroPoint)
                : given == DataType::Undefined ? Type(b.builder.getIntegerType(8, false))
                                               : elementType(given, b.context());
  Type wide = precision == DataType::Undefined ? b.elementOf(scale) : elementType(precision, b.context());
  if (!narrow || !wide)
    return n.unsupported("nx does not have the element type");
  if (isa<FloatType>(narrow))
    zeroPoint = {}; // it is 0
  n.result(quantize(b, b.cast(x, wide), scale, zeroPoint, narrow, saturates));
}

/// x - zeroPoint as i32.
Value centred(GraphBuilder &b, Value x, Value zeroPoint) {
  Type i32 = b.builder.getI32Type();
  Value wide = b.cast(x, i32);
  return zeroPoint ? b.sub(wide, b.cast(zeroPoint, i32)) : wide;
}

/// A zero point or scale per row of the left operand of a product: a column.
Value perRow(GraphBuilder &b, Value part) {
  bool isVector = part && b.rankOf(part) == 1 && constantOf(dimOf(b.typeOf(part), 0)) != 1;
  return isVector ? b.appendUnitDims(part, 2) : part;
}

void matmulInteger(NodeImporter &n, GraphBuilder &b) {
  n.result(emitMatmul(b, centred(b, n.input(0), perRow(b, n.optionalInput(2))),
                      centred(b, n.input(1), n.optionalInput(3))));
}

void qLinearMatMul(NodeImporter &n, GraphBuilder &b) {
  Value sums = emitMatmul(b, centred(b, n.input(0), perRow(b, n.input(2))), centred(b, n.input(3), n.input(5)));
  Value xScale = n.input(1), yScale = n.input(4), scale = n.input(6), zeroPoint = n.input(7);
  if (!sums || !xScale || !yScale || !scale || !zeroPoint)
    return;
  Type f32 = b.builder.getF32Type();
  Value factor = b.mul(b.cast(perRow(b, xScale), f32), b.cast(yScale, f32));
  n.result(quantize(b, b.mul(b.cast(sums, f32), factor), b.cast(perRow(b, scale), f32), perRow(b, zeroPoint),
                    b.elementOf(zeroPoint)));
}

/// A value per output channel, shaped for weights or for results; scalars stay.
Value perChannel(GraphBuilder &b, Value part, int64_t rank) {
  if (!part || b.rankOf(part) == 0)
    return part;
  return constantOf(dimOf(b.typeOf(part), 0)) == 1 ? b.reshape(part, {}) : b.appendUnitDims(part, rank);
}

void convInteger(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(1);
  if (!x || !weight)
    return;
  Value zeroPoint = n.optionalInput(2);
  if (zeroPoint)
    zeroPoint = b.reshape(zeroPoint, {});
  n.result(emitConv(n, b, centred(b, x, zeroPoint),
                    centred(b, weight, perChannel(b, n.optionalInput(3), b.rankOf(weight))), Value()));
}

void qLinearConv(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0), weight = n.input(3), xScale = n.input(1), weightScale = n.input(4), scale = n.input(6),
        zeroPoint = n.input(7);
  if (!x || !weight || !xScale || !weightScale || !scale || !zeroPoint)
    return;
  int64_t rank = b.rankOf(x);
  Value xZero = n.input(2), weightZero = perChannel(b, n.input(5), rank);
  if (!xZero)
    return;
  Value sums = emitConv(n, b, centred(b, x, b.reshape(xZero, {})), centred(b, weight, weightZero), n.optionalInput(8));
  Type f32 = b.builder.getF32Type();
  Value factor = b.mul(b.cast(b.reshape(xScale, {}), f32), b.cast(perChannel(b, weightScale, rank - 1), f32));
  n.result(quantize(b, b.mul(b.cast(sums, f32), factor), b.cast(b.reshape(scale, {}), f32), b.reshape(zeroPoint, {}),
                    b.elementOf(zeroPoint)));
}

void dynamicQuantizeLinear(NodeImporter &n, GraphBuilder &b) {
  Value x = n.input(0);
  if (!x)
    return;
  DynamicScale dynamic = emitDynamicScale(b, x);
  n.results({quantize(b, x, dynamic.scale, dynamic.zeroPoint, b.builder.getIntegerType(8, false)), dynamic.scale,
             dynamic.zeroPoint});
}

const OperatorRow kOperators[] = {
    {"ConvInteger", 10, kLatest, convInteger},
    {"DequantizeLinear", 10, kLatest, dequantizeLinear},
    {"DynamicQuantizeLinear", 11, kLatest, dynamicQuantizeLinear},
    {"MatMulInteger", 10, kLatest, matmulInteger},
    {"QLinearConv", 10, kLatest, qLinearConv},
    {"QLinearMatMul", 10, kLatest, qLinearMatMul},
    {"QuantizeLinear", 10, kLatest, quantizeLinear},
};

} // namespace

ArrayRef<OperatorRow> nx::onnx::quantizedOperators() { return kOperators; }
