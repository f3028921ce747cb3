// recurrent: the steps of an element of the batch one after the other; a tile is such an element.
#include "compiler/codegen/cpu/scalar/ScalarKernel.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace nx {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {

// The gates' order is that of nx.recurrent: rnn f; gru z, r, h; lstm i, o, f, c.
class RecurrentEmitter {
public:
  RecurrentEmitter(RecurrentOp op, ScalarKernel &k) : op(op), k(k), kb(k.kb) {
    input = k.operand(op.getInput());
    recurrence = k.operand(op.getRecurrence());
    state = k.operand(op.getState());
    cell = k.operand(op.getCell());
    bias = k.operand(op.getRecurrentBias());
    peephole = k.operand(op.getPeephole());
    lengths = k.operand(op.getLengths());
    outputs = k.result(0);
    lastState = k.result(1);
    lastCell = k.result(2);
    type = computeType(input.element);
    steps = input.sizes[0];
    hidden = state.sizes[1];
    // Three lists in scratch: the state, the next one, and the cell or the reset state.
    for (ScalarTensor &list : lists)
      list = {};
    Value bytes = kb.size(listBytes(op));
    for (int64_t i = 0; i < 3; ++i)
      lists[i] = k.scratch(input.element, kb.mul(bytes, i));
  }

  static AffineExpr listBytes(RecurrentOp op) {
    int64_t width = typeOf(op.getInput()).getElementType().isF64() ? 8 : 4;
    return (dimOf(typeOf(op.getState()), 1) * width).ceilDiv(64) * 64;
  }

  void run(Value element) {
    batch = element;
    ScalarTensor &now = lists[0], &third = lists[2];
    k.loop(hidden, [&](Value j) {
      k.store(k.load(state, {batch, j}), now, j);
      if (isLstm())
        k.store(cell ? k.load(cell, {batch, j}) : number(0), third, j);
    });
    Value count = steps;
    if (lengths) {
      Value given = arith::IndexCastOp::create(kb.b, kb.loc, kb.b.getIndexType(), k.load(lengths, {batch}));
      count = kb.max(kb.min(given, steps), kb.index(0));
    }
    k.loop(count, [&](Value i) {
      time = op.getReverse() ? kb.sub(kb.sub(count, kb.index(1)), i) : i;
      step();
      k.loop(hidden, [&](Value j) {
        Value next = k.load(lists[1], j);
        k.store(next, now, j);
        k.store(next, outputs, {time, batch, j});
      });
    });
    kb.loop(count, steps, 1, [&](Value t) {
      k.loop(hidden, [&](Value j) { k.store(number(0), outputs, {t, batch, j}); });
    });
    k.loop(hidden, [&](Value j) {
      k.store(k.load(now, j), lastState, {batch, j});
      k.store(k.load(isLstm() ? third : now, j), lastCell, {batch, j});
    });
  }

private:
  bool isLstm() { return op.getKind() == RecurrentKind::lstm; }
  Value number(double value) { return k.at().scalar(type, value); }
  Value add(Value x, Value y) { return k.at().add(x, y); }
  Value mul(Value x, Value y) { return k.at().mul(x, y); }

  /// Row `gate * H + j` of the weights times a list.
  Value product(int64_t gate, Value j, const ScalarTensor &list) {
    Value row = k.offset(recurrence, {kb.add(kb.mul(hidden, gate), j), kb.index(0)});
    Value stride = recurrence.strides[1];
    if (!type.isF32() || KernelBuilder::constant(stride) != 1)
      return k.fold(hidden, number(0), [&](Value i, Value sum) {
        Value weight = k.load(recurrence, kb.add(row, kb.mul(i, stride)));
        return add(sum, mul(weight, k.load(list, i)));
      });
    Value sums = kb.loop(kb.index(0), hidden, kb.lanes, ValueRange(kb.splat(0)), [&](Value i, ValueRange carried) {
      Value mask = kb.maskOfFirst(kb.sub(hidden, i));
      Value weights = kb.loadVector(recurrence.memory, kb.add(row, i), mask);
      return SmallVector<Value>{kb.fma(weights, kb.loadVector(list.memory, i, mask), carried[0])};
    })[0];
    return vector::ReductionOp::create(kb.b, kb.loc, vector::CombiningKind::ADD, sums);
  }
  Value inputOf(int64_t gate, Value j) {
    return k.load(input, {time, batch, kb.add(kb.mul(hidden, gate), j)});
  }
  /// What enters the function of a gate.
  Value gate(int64_t gate, Value j) { return add(inputOf(gate, j), product(gate, j, lists[0])); }

  Value apply(unsigned function, Value x) {
    double clip = op.getClip().convertToDouble();
    if (clip > 0) {
      x = arith::MinimumFOp::create(kb.b, kb.loc, x, number(clip));
      x = arith::MaximumFOp::create(kb.b, kb.loc, x, number(-clip));
    }
    StringRef name = cast<StringAttr>(op.getActivations()[function]).getValue();
    double alpha = op.getParameters()[2 * function], beta = op.getParameters()[2 * function + 1];
    auto make = [&]<typename OpTy>(Value y) -> Value { return OpTy::create(kb.b, kb.loc, y); };
    auto exp = [&](Value y) { return make.operator()<math::ExpOp>(y); };
    auto tanh = [&](Value y) { return make.operator()<math::TanhOp>(y); };
    auto div = [&](Value y, Value z) { return k.at().div(y, z, false); };
    auto isAbove = [&](Value y, double bound) -> Value {
      return arith::CmpFOp::create(kb.b, kb.loc, arith::CmpFPredicate::OGT, y, number(bound));
    };
    auto select = [&](Value c, Value y, Value z) { return k.at().select(c, y, z); };
    Value zero = number(0), one = number(1);
    if (name == "Sigmoid")
      return div(one, add(one, exp(k.at().sub(zero, x))));
    if (name == "Tanh")
      return tanh(x);
    if (name == "Relu")
      return arith::MaximumFOp::create(kb.b, kb.loc, x, zero);
    if (name == "Affine")
      return add(mul(x, number(alpha)), number(beta));
    if (name == "LeakyRelu")
      return select(isAbove(x, 0), x, mul(x, number(alpha)));
    if (name == "ThresholdedRelu")
      return select(isAbove(x, alpha), x, zero);
    if (name == "ScaledTanh")
      return mul(number(alpha), tanh(mul(x, number(beta))));
    if (name == "HardSigmoid") {
      Value line = add(mul(x, number(alpha)), number(beta));
      line = arith::MaximumFOp::create(kb.b, kb.loc, line, zero);
      return arith::MinimumFOp::create(kb.b, kb.loc, line, one);
    }
    if (name == "Elu")
      return select(isAbove(x, 0), x, mul(number(alpha), make.operator()<math::ExpM1Op>(x)));
    Value magnitude = make.operator()<math::AbsFOp>(x);
    if (name == "Softsign")
      return div(x, add(one, magnitude));
    // Softplus: log(1 + exp(x)) that does not overflow.
    Value tail = make.operator()<math::Log1pOp>(exp(k.at().sub(zero, magnitude)));
    return add(arith::MaximumFOp::create(kb.b, kb.loc, x, zero), tail);
  }

  /// Computes the next state of one step from `lists[0]` into `lists[1]`.
  void step() {
    switch (op.getKind()) {
    case RecurrentKind::rnn:
      return k.loop(hidden, [&](Value j) { k.store(apply(0, gate(0, j)), lists[1], j); });
    case RecurrentKind::gru:
      return stepGru();
    case RecurrentKind::lstm:
      return stepLstm();
    }
  }

  void stepGru() {
    ScalarTensor &now = lists[0], &next = lists[1], &reset = lists[2];
    bool after = op.getResetAfter();
    Value none = number(0);
    // The reset gate of all units comes first when it applies before the product.
    if (!after)
      k.loop(hidden, [&](Value j) { k.store(mul(apply(0, gate(1, j)), k.load(now, j)), reset, j); });
    k.loop(hidden, [&](Value j) {
      Value own = bias ? k.load(bias, {j}) : none;
      Value candidate = add(product(2, j, after ? now : reset), own);
      if (after)
        candidate = mul(apply(0, gate(1, j)), candidate);
      candidate = apply(1, add(inputOf(2, j), candidate));
      Value update = apply(0, gate(0, j));
      Value kept = mul(update, k.load(now, j));
      k.store(add(mul(k.at().sub(number(1), update), candidate), kept), next, j);
    });
  }

  void stepLstm() {
    ScalarTensor &next = lists[1], &cells = lists[2];
    auto peep = [&](int64_t which, Value j, Value c) {
      Value weight = k.load(peephole, {kb.add(kb.mul(hidden, which), j)});
      return mul(weight, c);
    };
    k.loop(hidden, [&](Value j) {
      Value before = k.load(cells, j), in = gate(0, j), forget = op.getCoupled() ? Value() : gate(2, j);
      if (peephole) {
        in = add(in, peep(0, j, before));
        if (forget)
          forget = add(forget, peep(2, j, before));
      }
      in = apply(0, in);
      forget = forget ? apply(0, forget) : k.at().sub(number(1), in);
      Value after = add(mul(forget, before), mul(in, apply(1, gate(3, j))));
      Value out = gate(1, j);
      if (peephole)
        out = add(out, peep(1, j, after));
      k.store(after, cells, j);
      k.store(mul(apply(0, out), apply(2, after)), next, j);
    });
  }

  RecurrentOp op;
  ScalarKernel &k;
  KernelBuilder &kb;
  ScalarTensor input, recurrence, state, cell, bias, peephole, lengths, outputs, lastState, lastCell;
  ScalarTensor lists[3];
  Type type;
  Value steps, hidden, batch, time;
};

} // namespace

ScalarBodies scalarBodies(RecurrentOp op) {
  ScalarBodies bodies;
  RankedTensorType input = typeOf(op.getInput());
  bodies.tiles = {dimOf(input, 1)};
  bodies.scratchBytes = RecurrentEmitter::listBytes(op) * 3;
  bodies.tileCost = dimOf(input, 0) * dimOf(input, 2) * dimOf(typeOf(op.getState()), 1);
  bodies.run = [op](ScalarKernel &k, Value begin, Value end) {
    RecurrentEmitter emitter(op, k);
    k.kb.loop(begin, end, 1, [&](Value element) { emitter.run(element); });
  };
  return bodies;
}

} // namespace nx
