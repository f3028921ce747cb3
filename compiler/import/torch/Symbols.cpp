//===- Symbols.cpp - Symbolic sizes of an exported program ----------------===//

#include "compiler/import/torch/Symbols.h"
#include "dialects/nx/Dims.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nx;
using namespace nx::torch;

Condition Condition::negated() const {
  if (!lhs)
    return of(!constant);
  switch (kind) {
  case Kind::Equal:
    return {Kind::NotEqual, lhs, rhs, false};
  case Kind::NotEqual:
    return {Kind::Equal, lhs, rhs, false};
  case Kind::Less:
    return {Kind::AtMost, rhs, lhs, false};
  case Kind::AtMost:
    return {Kind::Less, rhs, lhs, false};
  }
  llvm_unreachable("all kinds are handled");
}

void Symbols::bind(StringRef name, AffineExpr size, SizeRange range) {
  bound[name] = size;
  if (isa<AffineSymbolExpr>(size)) {
    range.min = std::max<int64_t>(range.min.value_or(0), 0);
    ranges[size] = range;
  }
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {

constexpr unsigned kMaxDepth = 200;

/// What both notations share: a text that is eaten from the front.
struct Text {
  StringRef rest;
  unsigned depth = 0;

  void skipSpace() { rest = rest.ltrim(); }
  bool eat(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }
  bool peek(StringRef token) {
    skipSpace();
    return rest.starts_with(token);
  }
  StringRef identifier() {
    skipSpace();
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    rest = rest.drop_front(name.size());
    return name;
  }
  std::optional<int64_t> number() {
    skipSpace();
    StringRef digits = rest.take_while(llvm::isDigit);
    int64_t value;
    if (digits.empty() || digits.getAsInteger(10, value))
      return std::nullopt;
    rest = rest.drop_front(digits.size());
    return value;
  }
  std::optional<StringRef> quoted() {
    skipSpace();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return std::nullopt;
    size_t end = rest.find(rest.front(), 1);
    if (end == StringRef::npos)
      return std::nullopt;
    StringRef inside = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    return inside;
  }
};

AffineExpr floorDivision(AffineExpr a, AffineExpr b) {
  if (!a || !b || constantOf(b) == 0)
    return {};
  if (AffineExpr exact = divideExactly(a, b))
    return exact;
  return normalize(a.floorDiv(b));
}
AffineExpr remainder(AffineExpr a, AffineExpr b) {
  if (!a || !b || constantOf(b) == 0)
    return {};
  if (divideExactly(a, b))
    return getAffineConstantExpr(0, a.getContext());
  return normalize(a % b);
}
AffineExpr power(AffineExpr base, AffineExpr exponent) {
  std::optional<int64_t> count = exponent ? constantOf(exponent) : std::nullopt;
  if (!base || !count || *count < 0 || *count > 8)
    return {};
  AffineExpr product = getAffineConstantExpr(1, base.getContext());
  for (int64_t i = 0; i < *count; ++i)
    product = product * base;
  return normalize(product);
}

/// sympy's srepr: Mul(Integer(2), Symbol('s77', positive=True, integer=True)).
struct Srepr : Text {
  const Symbols &symbols;
  function_ref<AffineExpr(StringRef)> lookup;
  MLIRContext *context;

  AffineExpr parse() {
    if (++depth > kMaxDepth)
      return {};
    StringRef function = identifier();
    if (function.empty() || !eat("("))
      return {};
    AffineExpr result;
    if (function == "Integer") {
      bool negative = eat("-");
      if (std::optional<int64_t> value = number())
        result = getAffineConstantExpr(negative ? -*value : *value, context);
      if (!eat(")"))
        return {};
    } else if (function == "Symbol") {
      std::optional<StringRef> name = quoted();
      if (!name)
        return {};
      result = lookup(*name);
      size_t end = rest.find(')'); // assumptions: positive=True, integer=True
      if (end == StringRef::npos)
        return {};
      rest = rest.drop_front(end + 1);
    } else {
      SmallVector<AffineExpr> args;
      // All arguments are read even if one has no meaning: unbound symbols are collected on the way.
      bool known = true;
      do {
        args.push_back(parse());
        known &= bool(args.back());
        if (depth > kMaxDepth)
          return {};
      } while (eat(","));
      if (!eat(")") || !known)
        return --depth, AffineExpr();
      result = apply(function, args);
    }
    --depth;
    return result;
  }

  AffineExpr apply(StringRef function, ArrayRef<AffineExpr> args) {
    auto fold = [&](auto combine) {
      AffineExpr result = args[0];
      for (AffineExpr arg : args.drop_front())
        if (result)
          result = combine(result, arg);
      return result;
    };
    if (function == "Add")
      return normalize(fold([](AffineExpr a, AffineExpr b) { return a + b; }));
    if (function == "Mul")
      return normalize(fold([](AffineExpr a, AffineExpr b) { return a * b; }));
    if (function == "Max")
      return fold([&](AffineExpr a, AffineExpr b) { return symbols.maximum(a, b); });
    if (function == "Min")
      return fold([&](AffineExpr a, AffineExpr b) { return symbols.minimum(a, b); });
    if (args.size() != 2)
      return {};
    if (function == "FloorDiv" || function == "CleanDiv")
      return floorDivision(args[0], args[1]);
    if (function == "CeilDiv" && constantOf(args[1]) != 0)
      return normalize(args[0].ceilDiv(args[1]));
    if (function == "Mod" || function == "PythonMod")
      return remainder(args[0], args[1]);
    if (function == "Pow" || function == "PowByNatural")
      return power(args[0], args[1]);
    return {};
  }
};

/// A Python condition over sizes of inputs.
struct Guard : Text {
  const Symbols &symbols;
  Symbols::Source source;
  MLIRContext *context;

  AffineExpr sum() {
    if (++depth > kMaxDepth)
      return {};
    AffineExpr result = product();
    while (result) {
      if (eat("+")) {
        AffineExpr term = product();
        result = term ? normalize(result + term) : term;
      } else if (eat("-")) {
        AffineExpr term = product();
        result = term ? normalize(result - term) : term;
      } else {
        break;
      }
    }
    --depth;
    return result;
  }
  AffineExpr product() {
    AffineExpr result = factor();
    while (result) {
      if (peek("**"))
        return {};
      if (eat("*")) {
        AffineExpr other = factor();
        result = other ? normalize(result * other) : other;
      } else if (eat("//")) {
        result = floorDivision(result, factor());
      } else if (eat("%")) {
        result = remainder(result, factor());
      } else {
        break;
      }
    }
    return result;
  }
  AffineExpr factor() {
    if (++depth > kMaxDepth)
      return {};
    AffineExpr result = atom();
    if (result && eat("**"))
      result = power(result, factor());
    --depth;
    return result;
  }
  AffineExpr atom() {
    if (eat("-")) {
      AffineExpr value = factor();
      return value ? normalize(-value) : value;
    }
    if (eat("(")) {
      AffineExpr value = sum();
      return value && eat(")") ? value : AffineExpr();
    }
    if (std::optional<int64_t> value = number())
      return getAffineConstantExpr(*value, context);
    StringRef start = rest.ltrim();
    StringRef name = identifier();
    if ((name == "max" || name == "min") && eat("(")) {
      AffineExpr a = sum();
      if (!a || !eat(","))
        return {};
      AffineExpr b = sum();
      if (!b || !eat(")"))
        return {};
      return name == "max" ? symbols.maximum(a, b) : symbols.minimum(a, b);
    }
    if (name != "L")
      return {};
    // L['x'], L['d']['a'], L['list'][0], then .size()[1] for a tensor's size
    while (eat("[")) {
      if (!quoted() && !number())
        return {};
      if (!eat("]"))
        return {};
    }
    StringRef path = start.take_front(start.size() - rest.size());
    if (!eat(".size()["))
      return source(path, -1);
    std::optional<int64_t> dim = number();
    return dim && eat("]") ? source(path, *dim) : AffineExpr();
  }

  std::optional<Condition> condition() {
    using Kind = Condition::Kind;
    if (rest.contains(" and ") || rest.contains(" or ") || rest.contains("not "))
      return std::nullopt;
    AffineExpr lhs = sum();
    if (!lhs)
      return std::nullopt;
    Kind kind;
    bool swap = false;
    if (eat("=="))
      kind = Kind::Equal;
    else if (eat("!="))
      kind = Kind::NotEqual;
    else if (eat("<="))
      kind = Kind::AtMost;
    else if (eat(">="))
      kind = Kind::AtMost, swap = true;
    else if (eat("<"))
      kind = Kind::Less;
    else if (eat(">"))
      kind = Kind::Less, swap = true;
    else
      return std::nullopt;
    AffineExpr rhs = sum();
    skipSpace();
    if (!rhs || !rest.empty())
      return std::nullopt;
    return swap ? Condition{kind, rhs, lhs, false} : Condition{kind, lhs, rhs, false};
  }
};

} // namespace

AffineExpr Symbols::sizeOf(const Size &size) const {
  if (size.value)
    return getAffineConstantExpr(*size.value, context);
  auto lookup = [&](StringRef name) { return bound.lookup(name); };
  Srepr parser{{size.expr}, *this, lookup, context};
  AffineExpr expr = parser.parse();
  return expr && parser.rest.trim().empty() ? normalize(expr) : AffineExpr();
}

std::vector<std::string> Symbols::unboundIn(StringRef expr) const {
  std::vector<std::string> names;
  auto lookup = [&](StringRef name) -> AffineExpr {
    AffineExpr known = bound.lookup(name);
    if (!known && !llvm::is_contained(names, name))
      names.push_back(name.str());
    return known;
  };
  Srepr{{expr}, *this, lookup, context}.parse();
  return names;
}

std::optional<Condition> Symbols::parseGuard(StringRef guard, Source source) const {
  return Guard{{guard}, *this, source, context}.condition();
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Sums and products of bounds; nothing when one is missing or the result is out of range.
static std::optional<int64_t> added(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t sum;
  if (!a || !b || llvm::AddOverflow(*a, *b, sum))
    return std::nullopt;
  return sum;
}

SizeRange Symbols::rangeOf(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {constant.getValue(), constant.getValue()};
  if (isa<AffineSymbolExpr>(expr)) {
    auto it = ranges.find(expr);
    return it == ranges.end() ? SizeRange{0, std::nullopt} : it->second;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  SizeRange a = rangeOf(binary.getLHS()), b = rangeOf(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return {added(a.min, b.min), added(a.max, b.max)};
  case AffineExprKind::Mul: {
    auto product = [](std::optional<int64_t> x, std::optional<int64_t> y) -> std::optional<int64_t> {
      int64_t value;
      if (!x || !y || llvm::MulOverflow(*x, *y, value))
        return std::nullopt;
      return value;
    };
    // By a constant, of either sign; otherwise of numbers that are not negative.
    if (b.min && b.max && *b.min == *b.max)
      return *b.min >= 0 ? SizeRange{product(a.min, b.min), product(a.max, b.min)}
                         : SizeRange{product(a.max, b.min), product(a.min, b.min)};
    if (a.min.value_or(-1) >= 0 && b.min.value_or(-1) >= 0)
      return {product(a.min, b.min), product(a.max, b.max)};
    return {};
  }
  case AffineExprKind::Mod:
    if (b.min && b.max && *b.min == *b.max && *b.min > 0)
      return {0, *b.min - 1};
    return {};
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    if (b.min && b.max && *b.min == *b.max && *b.min > 0) {
      bool isFloor = binary.getKind() == AffineExprKind::FloorDiv;
      auto divided = [&](std::optional<int64_t> x) -> std::optional<int64_t> {
        if (!x)
          return std::nullopt;
        return isFloor ? llvm::divideFloorSigned(*x, *b.min) : llvm::divideCeilSigned(*x, *b.min);
      };
      return {divided(a.min), divided(a.max)};
    }
    return {};
  default:
    return {};
  }
}

std::optional<bool> Symbols::decide(const Condition &condition) const {
  using Kind = Condition::Kind;
  if (!condition.lhs)
    return condition.constant;
  SizeRange difference = rangeOf(normalize(condition.lhs - condition.rhs));
  bool isNegative = difference.max && *difference.max < 0, isPositive = difference.min && *difference.min > 0;
  bool isZero = difference.min == 0 && difference.max == 0;
  switch (condition.kind) {
  case Kind::Equal:
  case Kind::NotEqual:
    if (isNegative || isPositive || isZero)
      return (condition.kind == Kind::Equal) == isZero;
    return std::nullopt;
  case Kind::Less:
    if (isNegative)
      return true;
    return difference.min && *difference.min >= 0 ? std::optional(false) : std::nullopt;
  case Kind::AtMost:
    if (isPositive)
      return false;
    return difference.max && *difference.max <= 0 ? std::optional(true) : std::nullopt;
  }
  llvm_unreachable("all kinds are handled");
}

AffineExpr Symbols::maximum(AffineExpr a, AffineExpr b) const {
  std::optional<bool> less = decide({Condition::Kind::AtMost, a, b, false});
  if (!less)
    if (std::optional<bool> more = decide({Condition::Kind::AtMost, b, a, false}))
      less = !*more;
  return less ? (*less ? b : a) : AffineExpr();
}

AffineExpr Symbols::minimum(AffineExpr a, AffineExpr b) const {
  AffineExpr greater = maximum(a, b);
  return greater ? (greater == a ? b : a) : greater;
}
