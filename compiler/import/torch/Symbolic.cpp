//===- Symbolic.cpp - Arithmetic on sizes, and checks ---------------------===//

#include "compiler/import/torch/NodeImporter.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;

namespace {

void symSize(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  int64_t axis = n.axis(n.integer("dim", 0), b.rankOf(x));
  if (!b.failed() && b.rankOf(x))
    n.sizeResult(dimOf(b.typeOf(x), axis));
}
void symNumel(NodeImporter &n, GraphBuilder &b) {
  if (Value x = n.tensor("self"))
    n.sizeResult(productOf(dimsOf(b.typeOf(x)), b.context()));
}
/// A tensor as a number: known when it follows from sizes.
void item(NodeImporter &n, GraphBuilder &b) {
  Value x = n.tensor("self");
  if (!x)
    return;
  std::optional<SmallVector<AffineExpr>> known = knownElements(x);
  if (!known || known->size() != 1 || !b.elementOf(x).isInteger(64))
    return n.unsupported("it makes a number of a tensor, which depends on data");
  n.sizeResult(known->front());
}

/// One or two sizes. Their names are a and b, or empty.
std::optional<SmallVector<AffineExpr>> operandsOf(NodeImporter &n) {
  SmallVector<AffineExpr> values;
  for (StringRef name : {"a", "b"})
    if (n.argument(name)) {
      std::optional<AffineExpr> value = n.size(name);
      if (!value)
        return std::nullopt;
      values.push_back(*value);
    }
  return values;
}

template <AffineExpr (*combine)(NodeImporter &, AffineExpr, AffineExpr)> void binary(NodeImporter &n, GraphBuilder &b) {
  for (StringRef name : {"a", "b"})
    if (const Argument *arg = n.argument(name);
        arg && (arg->kind == Argument::Kind::Float || arg->kind == Argument::Kind::SymFloat))
      return n.unsupported("it computes with a float that depends on sizes");
  std::optional<SmallVector<AffineExpr>> values = operandsOf(n);
  if (!values)
    return;
  if (values->size() != 2) {
    n.error() << "needs two sizes";
    return;
  }
  if (AffineExpr result = combine(n, (*values)[0], (*values)[1]))
    return n.sizeResult(normalize(result));
  n.unsupported("nx cannot compute it from " + b.text((*values)[0]) + " and " + b.text((*values)[1]));
}
AffineExpr sum(NodeImporter &, AffineExpr a, AffineExpr b) { return a + b; }
AffineExpr difference(NodeImporter &, AffineExpr a, AffineExpr b) { return a - b; }
AffineExpr product(NodeImporter &, AffineExpr a, AffineExpr b) { return a * b; }
AffineExpr quotient(NodeImporter &, AffineExpr a, AffineExpr b) {
  if (constantOf(b) == 0)
    return {};
  AffineExpr exact = divideExactly(a, b);
  return exact ? exact : a.floorDiv(b);
}
AffineExpr remainder(NodeImporter &, AffineExpr a, AffineExpr b) {
  if (constantOf(b) == 0)
    return {};
  return divideExactly(a, b) ? getAffineConstantExpr(0, a.getContext()) : a % b;
}
AffineExpr maximum(NodeImporter &n, AffineExpr a, AffineExpr b) { return n.ranges().maximum(a, b); }
AffineExpr minimum(NodeImporter &n, AffineExpr a, AffineExpr b) { return n.ranges().minimum(a, b); }
AffineExpr power(NodeImporter &, AffineExpr a, AffineExpr b) {
  std::optional<int64_t> exponent = constantOf(b);
  if (!exponent || *exponent < 0 || *exponent > 8)
    return {};
  AffineExpr result = getAffineConstantExpr(1, a.getContext());
  for (int64_t i = 0; i < *exponent; ++i)
    result = result * a;
  return result;
}
void negate(NodeImporter &n, GraphBuilder &) {
  if (std::optional<AffineExpr> value = n.size("a"))
    n.sizeResult(normalize(-*value));
}
void sameSize(NodeImporter &n, GraphBuilder &) {
  if (std::optional<AffineExpr> value = n.size("a"))
    n.sizeResult(*value);
}

template <Condition::Kind kind, bool swap> void compare(NodeImporter &n, GraphBuilder &) {
  std::optional<SmallVector<AffineExpr>> values = operandsOf(n);
  if (!values || values->size() != 2)
    return;
  Condition condition{kind, (*values)[swap ? 1 : 0], (*values)[swap ? 0 : 1], false};
  if (std::optional<bool> known = n.ranges().decide(condition))
    condition = Condition::of(*known);
  n.conditionResult(condition);
}
void conditionNot(NodeImporter &n, GraphBuilder &) {
  if (std::optional<Condition> condition = n.condition("a"))
    n.conditionResult(condition->negated());
}
template <bool isAnd> void conditionBoth(NodeImporter &n, GraphBuilder &) {
  std::optional<Condition> x = n.condition("a"), y = n.condition("b");
  if (!x || !y)
    return;
  // With a constant the outcome is the other one or that constant.
  for (auto [one, other] : {std::pair(*x, *y), {*y, *x}})
    if (!one.lhs)
      return n.conditionResult(one.constant == isAnd ? other : one);
  n.unsupported("two conditions on sizes at once");
}

/// A condition that the program asks for.
void assertCondition(NodeImporter &n, GraphBuilder &b) {
  StringRef message = n.string("assert_msg", "an assertion of the program");
  if (std::optional<Condition> condition = n.condition("self"))
    require(b, *condition, message);
}
void constrainRange(NodeImporter &n, GraphBuilder &b) {
  std::optional<AffineExpr> size = n.size("size");
  if (!size)
    return;
  if (n.has("min"))
    if (int64_t min = n.integer("min", 0); min > 0)
      b.requireAtMost(b.size(min), *size, "a range of the program");
  if (n.has("max"))
    if (int64_t max = n.integer("max", 0); max < (int64_t(1) << 40))
      b.requireAtMost(*size, b.size(max), "a range of the program");
}
/// What says what is known already (sizes and types of the file are compared anyway), and assertions
/// on data, which give no value.
void nothing(NodeImporter &n, GraphBuilder &) {
  n.ignore({"a", "size", "stride", "dtype", "self", "assert_msg"});
}

using Kind = Condition::Kind;
const OperatorRow kOperators[] = {
    {"aten._assert_async", "default msg", nothing},
    {"aten._assert_scalar", "", assertCondition},
    {"aten._assert_tensor_metadata", "", nothing},
    {"aten.item", "", item},
    {"aten._local_scalar_dense", "", item},
    {"aten.sym_constrain_range", "", constrainRange},
    {"aten.sym_constrain_range_for_size", "", constrainRange},
    {"aten.sym_numel", "", symNumel},
    {"aten.sym_size", "int", symSize},
    {"_operator.add", "", binary<sum>},
    {"_operator.and_", "", conditionBoth<true>},
    {"_operator.eq", "", compare<Kind::Equal, false>},
    {"_operator.floordiv", "", binary<quotient>},
    {"_operator.ge", "", compare<Kind::AtMost, true>},
    {"_operator.gt", "", compare<Kind::Less, true>},
    {"_operator.le", "", compare<Kind::AtMost, false>},
    {"_operator.lt", "", compare<Kind::Less, false>},
    {"_operator.mod", "", binary<remainder>},
    {"_operator.mul", "", binary<product>},
    {"_operator.ne", "", compare<Kind::NotEqual, false>},
    {"_operator.neg", "", negate},
    {"_operator.or_", "", conditionBoth<false>},
    {"_operator.pow", "", binary<power>},
    {"_operator.sub", "", binary<difference>},
    {"math.ceil", "", sameSize},
    {"math.floor", "", sameSize},
    {"math.trunc", "", sameSize},
    {"torch.sym_int", "", sameSize},
    {"torch.sym_max", "", binary<maximum>},
    {"torch.sym_min", "", binary<minimum>},
    {"torch.sym_not", "", conditionNot},
};

} // namespace

ArrayRef<OperatorRow> nx::torch::symbolicOperators() { return kOperators; }
