// det: elimination with row pivots on a copy in scratch; a tile is one matrix.
#include "compiler/codegen/cpu/scalar/ScalarKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace nx {

ScalarBodies scalarBodies(DetOp op) {
  auto type = cast<RankedTensorType>(op.getX().getType());
  SmallVector<AffineExpr> dims = dimsOf(type);
  AffineExpr size = dims.back();
  ScalarBodies bodies;
  bodies.tiles.assign(dims.begin(), dims.end() - 2);
  bodies.scratchBytes = size * size * (type.getElementType().isF64() ? 8 : 4);
  bodies.tileCost = size * size * size;
  bodies.run = [op](ScalarKernel &k, Value begin, Value end) mutable {
    KernelBuilder &kb = k.kb;
    ScalarTensor x = k.operand(op.getX()), y = k.result(0), a = k.scratch(x.element, kb.index(0));
    Value n = x.sizes.back();
    SmallVector<Value> outer(ArrayRef(x.sizes).drop_back(2));
    auto at = [&](Value row, Value column) { return kb.add(kb.mul(row, n), column); };
    kb.loop(begin, end, 1, [&](Value matrix) {
      SmallVector<Value> place = k.indexOf(matrix, outer), from(place);
      from.append(2, kb.index(0));
      Value base = k.offset(x, from);
      k.loop(n, [&](Value i) {
        k.loop(n, [&](Value j) {
          Value source = kb.add(kb.mul(i, x.strides[x.rank() - 2]), kb.mul(j, x.strides.back()));
          k.store(k.load(x, kb.add(base, source)), a, at(i, j));
        });
      });
      Value one = k.at().scalar(a.element, 1);
      Value det = k.fold(n, one, [&](Value column, Value so_far) {
        auto magnitude = [&](Value row) -> Value { return math::AbsFOp::create(kb.b, kb.loc, k.load(a, at(row, column))); };
        Value pivot = kb.loop(kb.add(column, 1), n, 1, ValueRange(column), [&](Value row, ValueRange best) {
          Value better = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::OGT, magnitude(row), magnitude(best[0]));
          return SmallVector<Value>{kb.select(better, row, best[0])};
        })[0];
        k.loop(n, [&](Value j) {
          Value upper = k.load(a, at(column, j)), lower = k.load(a, at(pivot, j));
          k.store(lower, a, at(column, j));
          k.store(upper, a, at(pivot, j));
        });
        Value head = k.load(a, at(column, column));
        Value minus = k.at().sub(k.at().scalar(a.element, 0), so_far);
        Value product = k.at().mul(kb.select(kb.equal(pivot, column), so_far, minus), head);
        // Below a pivot of 0 everything is 0, and so is the determinant.
        Value isZero = arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::OEQ, head, k.at().scalar(a.element, 0));
        Value divisor = kb.select(isZero, one, head);
        kb.loop(kb.add(column, 1), n, 1, [&](Value row) {
          Value factor = k.at().div(k.load(a, at(row, column)), divisor, false);
          kb.loop(column, n, 1, [&](Value j) {
            Value change = k.at().mul(factor, k.load(a, at(column, j)));
            k.store(k.at().sub(k.load(a, at(row, j)), change), a, at(row, j));
          });
        });
        return product;
      });
      k.store(det, y, place);
    });
  };
  return bodies;
}

} // namespace nx
