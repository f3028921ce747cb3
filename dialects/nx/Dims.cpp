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

/// A polynomial whose expression would have more symbols, numbers and operations than this is given
/// up: squaring a size forty times is a graph of forty nodes. Sizes of models have a few dozen.
constexpr size_t kMaxNodes = 1024;

/// What such an expression becomes. No loop has this position.
AffineExpr tooComplex(MLIRContext *context) {
  return getAffineDimExpr(std::numeric_limits<unsigned>::max(), context);
}

/// The nodes of `expr` as a tree, up to `most`.
size_t countNodes(AffineExpr expr, size_t most) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || most <= 1)
    return 1;
  size_t left = countNodes(binary.getLHS(), most - 1);
  return 1 + left + (left + 1 < most ? countNodes(binary.getRHS(), most - 1 - left) : 0);
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

/// Reads expressions as polynomials, each part that they share once.
class Normalizer {
public:
  explicit Normalizer(MLIRContext *context) : context(context) {}

  /// The polynomial of `expr`; `tooComplex` when that is a factor of it or it has too many nodes.
  Polynomial read(AffineExpr expr) {
    switch (expr.getKind()) {
    case AffineExprKind::Constant: {
      int64_t value = cast<AffineConstantExpr>(expr).getValue();
      return value ? Polynomial{{{}, value}} : Polynomial();
    }
    case AffineExprKind::SymbolId:
    case AffineExprKind::DimId:
      return {{{expr}, 1}};
    default:
      break;
    }
    if (auto it = known.find(expr); it != known.end())
      return it->second;
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Polynomial lhs = read(binary.getLHS()), rhs = read(binary.getRHS());
    Polynomial p = isComplex(lhs) || isComplex(rhs) ? complex() : bounded(combine(expr.getKind(), lhs, rhs));
    known.try_emplace(expr, p);
    return p;
  }

  /// The exact quotient; null when there is none.
  std::optional<Polynomial> divide(Polynomial remainder, const Polynomial &divisor) {
    // Long division of polynomials in the fixed monomial order. Each step removes the leading
    // monomial of the remainder, so that it ends; a quotient that is too long ends it, too.
    Polynomial quotient;
    if (divisor.empty() || isComplex(remainder) || isComplex(divisor))
      return std::nullopt;
    auto &[leadMonomial, leadCoefficient] = *divisor.begin();
    while (!remainder.empty()) {
      auto [monomial, coefficient] = *remainder.begin();
      // The one quotient that overflows, and traps on some machines.
      if (leadCoefficient == -1 ? coefficient == std::numeric_limits<int64_t>::min()
                                : coefficient % leadCoefficient != 0)
        return std::nullopt;
      Monomial rest(monomial);
      for (AffineExpr factor : leadMonomial) {
        auto *it = llvm::find(rest, factor);
        if (it == rest.end())
          return std::nullopt;
        rest.erase(it);
      }
      int64_t c = coefficient / leadCoefficient;
      addTerm(quotient, rest, c);
      if (quotient.size() > kMaxNodes || remainder.size() > 4 * kMaxNodes)
        return std::nullopt;
      for (auto &[m, k] : multiply(divisor, {{rest, c}}))
        addTerm(remainder, m, wrappingMul(k, -1));
    }
    return quotient;
  }

private:
  Polynomial complex() { return {{{tooComplex(context)}, 1}}; }
  bool isComplex(const Polynomial &p) {
    return llvm::any_of(p, [&](auto &term) { return llvm::is_contained(term.first, tooComplex(context)); });
  }

  Polynomial bounded(Polynomial p) {
    size_t nodes = 0;
    for (auto &[monomial, coefficient] : p) {
      nodes += 2;
      for (AffineExpr factor : monomial)
        nodes += 1 + (nodes < kMaxNodes ? countNodes(factor, kMaxNodes - nodes) : 0);
      if (nodes > kMaxNodes)
        return complex();
    }
    return p;
  }

  Polynomial multiply(const Polynomial &a, const Polynomial &b) {
    Polynomial product;
    for (auto &[ma, ca] : a)
      for (auto &[mb, cb] : b) {
        Monomial m(ma);
        m.append(mb.begin(), mb.end());
        llvm::sort(m, [](AffineExpr x, AffineExpr y) { return compareExprs(x, y) < 0; });
        addTerm(product, m, wrappingMul(ca, cb));
        if (product.size() > kMaxNodes)
          return complex();
      }
    return product;
  }

  Polynomial combine(AffineExprKind kind, const Polynomial &lhs, const Polynomial &rhs) {
    if (kind == AffineExprKind::Mul)
      return multiply(lhs, rhs);
    if (kind == AffineExprKind::Add) {
      Polynomial sum = lhs;
      for (auto &[m, c] : rhs)
        addTerm(sum, m, c);
      return sum;
    }
    if (std::optional<Polynomial> quotient = divide(lhs, rhs))
      return kind == AffineExprKind::Mod ? Polynomial() : *quotient;
    AffineExpr a = toExpr(lhs, context), b = toExpr(rhs, context);
    AffineExpr atom = kind == AffineExprKind::Mod        ? a % b
                      : kind == AffineExprKind::FloorDiv ? a.floorDiv(b)
                                                         : a.ceilDiv(b);
    // Upstream may have simplified: look at what is left, but never at the same term again.
    return atom.getKind() == kind ? Polynomial{{{atom}, 1}} : read(atom);
  }

  MLIRContext *context;
  DenseMap<AffineExpr, Polynomial> known;
};

} // namespace

AffineExpr normalize(AffineExpr expr) {
  if (isa<AffineConstantExpr, AffineSymbolExpr>(expr))
    return expr;
  return toExpr(Normalizer(expr.getContext()).read(expr), expr.getContext());
}

bool isTooComplex(AffineExpr expr) { return expr == tooComplex(expr.getContext()); }

std::optional<int64_t> constantOf(AffineExpr expr) {
  if (auto c = dyn_cast<AffineConstantExpr>(normalize(expr)))
    return c.getValue();
  return std::nullopt;
}

AffineExpr divideExactly(AffineExpr numerator, AffineExpr denominator) {
  Normalizer normalizer(numerator.getContext());
  std::optional<Polynomial> quotient = normalizer.divide(normalizer.read(numerator), normalizer.read(denominator));
  return quotient ? toExpr(*quotient, numerator.getContext()) : AffineExpr();
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
    if (isTooComplex(expr))
      os << "(too long an expression)";
    else
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
