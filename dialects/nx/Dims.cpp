//===- Dims.cpp - Symbolic sizes ------------------------------------------===//

#include "dialects/nx/Dims.h"
#include "dialects/nx/Nx.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>
#include <map>

using namespace mlir;

namespace nx {
namespace {

/// A monomial: its factors (symbols and opaque terms) in a fixed order, with repetition.
using Monomial = SmallVector<AffineExpr>;

/// A structural order on factors, so that the normal form does not depend on addresses.
int compareExprs(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  if (a.getKind() != b.getKind())
    return a.getKind() < b.getKind() ? -1 : 1;
  if (auto sa = dyn_cast<AffineSymbolExpr>(a))
    return sa.getPosition() < cast<AffineSymbolExpr>(b).getPosition() ? -1 : 1;
  if (auto da = dyn_cast<AffineDimExpr>(a))
    return da.getPosition() < cast<AffineDimExpr>(b).getPosition() ? -1 : 1;
  if (auto ca = dyn_cast<AffineConstantExpr>(a))
    return ca.getValue() < cast<AffineConstantExpr>(b).getValue() ? -1 : 1;
  auto ba = cast<AffineBinaryOpExpr>(a), bb = cast<AffineBinaryOpExpr>(b);
  if (int order = compareExprs(ba.getLHS(), bb.getLHS()))
    return order;
  return compareExprs(ba.getRHS(), bb.getRHS());
}

struct MonomialLess {
  bool operator()(const Monomial &a, const Monomial &b) const {
    if (a.size() != b.size())
      return a.size() > b.size(); // higher degree first
    for (auto [x, y] : llvm::zip(a, b))
      if (int order = compareExprs(x, y))
        return order < 0;
    return false;
  }
};

using Polynomial = std::map<Monomial, int64_t, MonomialLess>;

// Coefficients wrap: models may hold any numbers, and sizes that matter are far smaller.
int64_t wrappingMul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

void addTerm(Polynomial &p, const Monomial &m, int64_t coefficient) {
  int64_t &c = p[m];
  c = int64_t(uint64_t(c) + uint64_t(coefficient));
  if (c == 0)
    p.erase(m);
}

Polynomial multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial product;
  for (auto &[ma, ca] : a)
    for (auto &[mb, cb] : b) {
      Monomial m(ma);
      m.append(mb.begin(), mb.end());
      llvm::sort(m, [](AffineExpr x, AffineExpr y) { return compareExprs(x, y) < 0; });
      addTerm(product, m, wrappingMul(ca, cb));
    }
  return product;
}

AffineExpr toExpr(const Polynomial &p, MLIRContext *context);

Polynomial toPolynomial(AffineExpr expr) {
  Polynomial p;
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    if (int64_t value = cast<AffineConstantExpr>(expr).getValue())
      p[{}] = value;
    return p;
  case AffineExprKind::SymbolId:
  case AffineExprKind::DimId:
    p[{expr}] = 1;
    return p;
  case AffineExprKind::Add: {
    auto e = cast<AffineBinaryOpExpr>(expr);
    p = toPolynomial(e.getLHS());
    for (auto &[m, c] : toPolynomial(e.getRHS()))
      addTerm(p, m, c);
    return p;
  }
  case AffineExprKind::Mul: {
    auto e = cast<AffineBinaryOpExpr>(expr);
    return multiply(toPolynomial(e.getLHS()), toPolynomial(e.getRHS()));
  }
  case AffineExprKind::Mod:
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    auto e = cast<AffineBinaryOpExpr>(expr);
    AffineExpr lhs = normalize(e.getLHS()), rhs = normalize(e.getRHS());
    if (AffineExpr quotient = divideExactly(lhs, rhs))
      return expr.getKind() == AffineExprKind::Mod ? p : toPolynomial(quotient);
    AffineExpr atom = expr.getKind() == AffineExprKind::Mod        ? lhs % rhs
                      : expr.getKind() == AffineExprKind::FloorDiv ? lhs.floorDiv(rhs)
                                                                   : lhs.ceilDiv(rhs);
    // Upstream may have simplified: look at what is left, but never at the same term again.
    if (atom.getKind() == expr.getKind())
      p[{atom}] = 1;
    else
      p = toPolynomial(atom);
    return p;
  }
  }
  llvm_unreachable("all kinds of expressions are handled");
}

AffineExpr toExpr(const Polynomial &p, MLIRContext *context) {
  AffineExpr sum;
  for (auto &[monomial, coefficient] : p) {
    AffineExpr term;
    for (AffineExpr factor : monomial)
      term = term ? term * factor : factor;
    AffineExpr c = getAffineConstantExpr(coefficient, context);
    term = !term ? c : coefficient == 1 ? term : term * c;
    sum = sum ? sum + term : term;
  }
  return sum ? sum : getAffineConstantExpr(0, context);
}

} // namespace

AffineExpr normalize(AffineExpr expr) {
  if (isa<AffineConstantExpr, AffineSymbolExpr>(expr))
    return expr;
  return toExpr(toPolynomial(expr), expr.getContext());
}

std::optional<int64_t> constantOf(AffineExpr expr) {
  if (auto c = dyn_cast<AffineConstantExpr>(normalize(expr)))
    return c.getValue();
  return std::nullopt;
}

AffineExpr divideExactly(AffineExpr numerator, AffineExpr denominator) {
  MLIRContext *context = numerator.getContext();
  // Long division of polynomials in the fixed monomial order. It ends: each step removes the
  // leading monomial of the remainder.
  Polynomial remainder = toPolynomial(numerator), divisor = toPolynomial(denominator), quotient;
  if (divisor.empty())
    return {};
  auto &[leadMonomial, leadCoefficient] = *divisor.begin();
  while (!remainder.empty()) {
    auto [monomial, coefficient] = *remainder.begin();
    // The one quotient that overflows, and traps on some machines.
    if (leadCoefficient == -1 ? coefficient == std::numeric_limits<int64_t>::min() : coefficient % leadCoefficient != 0)
      return {};
    Monomial rest(monomial);
    for (AffineExpr factor : leadMonomial) {
      auto *it = llvm::find(rest, factor);
      if (it == rest.end())
        return {};
      rest.erase(it);
    }
    int64_t c = coefficient / leadCoefficient;
    addTerm(quotient, rest, c);
    for (auto &[m, k] : multiply(divisor, Polynomial{{rest, c}}))
      addTerm(remainder, m, wrappingMul(k, -1));
  }
  return toExpr(quotient, context);
}

std::optional<int64_t> lowerBound(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (isa<AffineSymbolExpr, AffineDimExpr>(expr))
    return 0;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<int64_t> lhs = lowerBound(binary.getLHS()), rhs = lowerBound(binary.getRHS());
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  int64_t bound;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    if (!lhs || !rhs || llvm::AddOverflow(*lhs, *rhs, bound))
      return std::nullopt;
    return bound;
  case AffineExprKind::Mul:
    if (!lhs || (divisor ? divisor.getValue() < 0 : !rhs || *rhs < 0 || *lhs < 0) ||
        llvm::MulOverflow(*lhs, divisor ? divisor.getValue() : *rhs, bound))
      return std::nullopt;
    return bound;
  case AffineExprKind::Mod:
    return rhs && *rhs > 0 ? std::optional<int64_t>(0) : std::nullopt;
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    if (!lhs || !rhs || *rhs < 1)
      return std::nullopt;
    // A positive numerator shrinks at most to 0 when the divisor is unknown.
    if (!divisor)
      return *lhs >= 0 ? std::optional<int64_t>(0) : std::nullopt;
    return expr.getKind() == AffineExprKind::FloorDiv
               ? llvm::divideFloorSigned(*lhs, divisor.getValue())
               : llvm::divideCeilSigned(*lhs, divisor.getValue());
  default:
    return std::nullopt;
  }
}

AffineExpr productOf(ArrayRef<AffineExpr> dims, MLIRContext *context) {
  AffineExpr product = getAffineConstantExpr(1, context);
  for (AffineExpr dim : dims)
    product = product * dim;
  return normalize(product);
}

AffineExpr broadcastDim(AffineExpr a, AffineExpr b) {
  if (a == b)
    return a;
  auto ca = constantOf(a), cb = constantOf(b);
  if (ca == 1)
    return b;
  if (cb == 1)
    return a;
  if (ca && cb)
    return *ca == *cb ? a : AffineExpr();
  // A fixed size is the more useful of two that must agree at run time.
  return cb ? b : a;
}

bool hasKnownDims(RankedTensorType type) {
  return type.hasStaticShape() || isa_and_nonnull<DimsAttr>(type.getEncoding());
}

AffineExpr dimOf(RankedTensorType type, unsigned dim) {
  if (!type.isDynamicDim(dim))
    return getAffineConstantExpr(type.getDimSize(dim), type.getContext());
  return cast<DimsAttr>(type.getEncoding()).getExprs()[dim];
}

SmallVector<AffineExpr> dimsOf(RankedTensorType type) {
  SmallVector<AffineExpr> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(dimOf(type, i));
  return dims;
}

RankedTensorType tensorOf(ArrayRef<AffineExpr> dims, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs;
  bool dynamic = false;
  for (AffineExpr dim : dims) {
    exprs.push_back(normalize(dim));
    std::optional<int64_t> size = constantOf(exprs.back());
    dynamic |= !size;
    shape.push_back(size.value_or(ShapedType::kDynamic));
  }
  Attribute encoding;
  if (dynamic)
    encoding = DimsAttr::get(element.getContext(), exprs);
  return RankedTensorType::get(shape, element, encoding);
}

RankedTensorType withDims(RankedTensorType type, ArrayRef<AffineExpr> dims) {
  return tensorOf(dims, type.getElementType());
}

RankedTensorType withElement(RankedTensorType type, Type element) {
  return RankedTensorType::get(type.getShape(), element, type.getEncoding());
}

static void printDim(AffineExpr expr, ArrayRef<StringRef> names, raw_ostream &os, int outer) {
  // Binding strength: 0 sum, 1 product, 2 operand.
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    if (symbol.getPosition() < names.size())
      os << names[symbol.getPosition()];
    else
      os << "s" << symbol.getPosition();
    return;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    os << constant.getValue();
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary) {
    expr.print(os);
    return;
  }
  bool isSum = expr.getKind() == AffineExprKind::Add;
  int strength = isSum ? 0 : 1;
  if (strength < outer)
    os << "(";
  printDim(binary.getLHS(), names, os, strength);
  auto negative = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (isSum && negative && negative.getValue() < 0) {
    os << " - " << -negative.getValue();
  } else {
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      os << " + ";
      break;
    case AffineExprKind::Mul:
      os << " * ";
      break;
    case AffineExprKind::Mod:
      os << " mod ";
      break;
    case AffineExprKind::FloorDiv:
      os << " floordiv ";
      break;
    default:
      os << " ceildiv ";
      break;
    }
    printDim(binary.getRHS(), names, os, isSum ? 0 : 2);
  }
  if (strength < outer)
    os << ")";
}

std::string dimToString(AffineExpr expr, ArrayRef<StringRef> names) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printDim(expr, names, os, 0);
  return text;
}

} // namespace nx
