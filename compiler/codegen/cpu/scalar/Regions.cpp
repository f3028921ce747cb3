// roi_align: a tile is one channel of one region.
#include "compiler/codegen/cpu/scalar/ScalarKernel.h"

#include "runtime/include/nxrt/kernel_abi.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nx {

namespace {
// One coordinate of a sample between two elements.
struct Neighbours {
  Value low, high;             // indices
  Value lowWeight, highWeight; // 0 when the sample lies outside
};
} // namespace

ScalarBodies scalarBodies(RoiAlignOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  ScalarBodies bodies;
  bodies.canFail = true;
  bodies.tiles = {dimOf(type, 0), dimOf(type, 1)};
  bodies.tileCost = getAffineConstantExpr(int64_t(op.getHeight() * op.getWidth()) * 64, op.getContext());
  bodies.run = [op](ScalarKernel &k, Value begin, Value end) mutable {
    KernelBuilder &kb = k.kb;
    ScalarTensor x = k.operand(op.getX()), rois = k.operand(op.getRois()), images = k.operand(op.getImages());
    ScalarTensor y = k.result(0);
    Type wide = computeType(x.element);
    auto number = [&](double value) { return k.at().scalar(wide, value); };
    auto toFloat = [&](Value index) -> Value {
      Value i64 = arith::IndexCastOp::create(kb.b, kb.loc, kb.b.getI64Type(), index);
      return arith::SIToFPOp::create(kb.b, kb.loc, wide, i64);
    };
    auto toIndex = [&](Value real) -> Value {
      Value i64 = arith::FPToSIOp::create(kb.b, kb.loc, kb.b.getI64Type(), real);
      return arith::IndexCastOp::create(kb.b, kb.loc, kb.b.getIndexType(), i64);
    };
    auto add = [&](Value a, Value b) { return k.at().add(a, b); };
    auto sub = [&](Value a, Value b) { return k.at().sub(a, b); };
    auto mul = [&](Value a, Value b) { return k.at().mul(a, b); };
    auto div = [&](Value a, Value b) { return k.at().div(a, b, false); };
    auto max = [&](Value a, Value b) -> Value { return arith::MaximumFOp::create(kb.b, kb.loc, a, b); };
    auto min = [&](Value a, Value b) -> Value { return arith::MinimumFOp::create(kb.b, kb.loc, a, b); };

    /// The two elements around a position in a dimension of `size` elements.
    auto neighbours = [&](Value position, Value size) {
      Value last = kb.sub(size, kb.index(1)), lastFloat = toFloat(last);
      Value tooLow = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::ULT, position, number(-1));
      Value tooHigh = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::UGT, position, toFloat(size));
      Value outside = k.either(tooLow, tooHigh);
      Value inside = min(max(k.at().select(outside, number(0), position), number(0)), lastFloat);
      Neighbours n;
      n.low = toIndex(inside);
      n.high = kb.min(kb.add(n.low, 1), last);
      Value ratio = sub(inside, toFloat(n.low)), none = number(0);
      n.lowWeight = k.at().select(outside, none, sub(number(1), ratio));
      n.highWeight = k.at().select(outside, none, ratio);
      return n;
    };

    kb.loop(begin, end, 1, [&](Value tile) {
      Value region = kb.div(tile, y.sizes[1]), channel = kb.rem(tile, y.sizes[1]);
      Value image = k.checkedIndex(k.load(images, {region}), x.sizes[0]);
      // A side of the region in elements of the image, and how it is cut.
      struct Side {
        Value start, cell, samples, step;
      };
      auto side = [&](int64_t first, int64_t cells) {
        auto edge = [&](int64_t i) {
          Value scaled = mul(k.load(rois, {region, kb.index(i)}), number(op.getScale().convertToDouble()));
          return op.getHalfPixel() ? sub(scaled, number(0.5)) : scaled;
        };
        Side s;
        s.start = edge(first);
        Value length = sub(edge(first + 2), s.start);
        if (!op.getHalfPixel())
          length = max(length, number(1));
        s.cell = div(length, number(double(cells)));
        if (int64_t sampling = op.getSampling()) {
          s.samples = kb.index(sampling);
        } else {
          // A region without an end would be sampled without an end.
          Value count = min(max(math::CeilOp::create(kb.b, kb.loc, s.cell), number(0)), number(1 << 16));
          Value isNan = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::UNO, count, count);
          s.samples = toIndex(k.at().select(isNan, number(0), count));
        }
        s.step = div(s.cell, toFloat(kb.max(s.samples, kb.index(1))));
        return s;
      };
      int64_t height = op.getHeight(), width = op.getWidth();
      Side rows = side(1, height), columns = side(0, width);
      Value samples = kb.max(kb.mul(rows.samples, columns.samples), kb.index(1));
      auto position = [&](const Side &s, Value cell, Value sample) {
        Value inCell = mul(add(toFloat(sample), number(0.5)), s.step);
        return add(add(s.start, mul(toFloat(cell), s.cell)), inCell);
      };
      k.loop(kb.index(height), [&](Value row) {
        k.loop(kb.index(width), [&](Value column) {
          Value none = op.getMaximum()
                           ? arith::ConstantOp::create(kb.b, kb.loc, k.at().neutral(ReduceKind::max, false, wide)).getResult()
                           : number(0);
          Value total = k.fold(rows.samples, none, [&](Value i, Value outer) {
            Neighbours v = neighbours(position(rows, row, i), x.sizes[2]);
            return k.fold(columns.samples, outer, [&](Value j, Value so_far) {
              Neighbours h = neighbours(position(columns, column, j), x.sizes[3]);
              auto corner = [&](Value at, Value weight, Value atColumn, Value columnWeight) {
                return mul(mul(weight, columnWeight), k.load(x, {image, channel, at, atColumn}));
              };
              Value a = corner(v.low, v.lowWeight, h.low, h.lowWeight), b = corner(v.low, v.lowWeight, h.high, h.highWeight);
              Value c = corner(v.high, v.highWeight, h.low, h.lowWeight), d = corner(v.high, v.highWeight, h.high, h.highWeight);
              return op.getMaximum() ? max(so_far, max(max(a, b), max(c, d))) : add(so_far, add(add(a, b), add(c, d)));
            });
          });
          if (op.getMaximum()) {
            Value any = kb.less(kb.index(0), kb.mul(rows.samples, columns.samples));
            total = k.at().select(any, total, number(0));
          } else {
            total = div(total, toFloat(samples));
          }
          k.store(total, y, {region, channel, row, column});
        });
      });
    });
  };
  return bodies;
}

} // namespace nx
