//===- NxDialect.cpp - Dialect, attributes --------------------------------===//

#include "dialects/nx/Nx.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nx;

#include "dialects/nx/NxDialect.cpp.inc"
#include "dialects/nx/NxEnums.cpp.inc"
#include "dialects/nx/NxInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nx/NxAttrs.cpp.inc"

void NxDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/nx/NxOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nx/NxAttrs.cpp.inc"
      >();
}

Operation *NxDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getShapedType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

//===----------------------------------------------------------------------===//
// #nx.dims
//===----------------------------------------------------------------------===//

DimsAttr DimsAttr::get(MLIRContext *context, ArrayRef<AffineExpr> exprs) {
  SmallVector<AffineExpr> normal;
  unsigned symbols = 0;
  for (AffineExpr expr : exprs) {
    normal.push_back(normalize(expr));
    normal.back().walk([&](AffineExpr e) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
        symbols = std::max(symbols, symbol.getPosition() + 1);
    });
  }
  // The number of symbols follows from the expressions, so equal sizes are equal attributes.
  return Base::get(context, AffineMap::get(0, symbols, normal, context));
}

Attribute DimsAttr::parse(AsmParser &parser, Type) {
  // Names s0..s63 are enough for any program: its symbols are its distinct unknown sizes.
  static constexpr unsigned maxSymbols = 64;
  SmallVector<std::string> names;
  for (unsigned i = 0; i < maxSymbols; ++i)
    names.push_back("s" + std::to_string(i));
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  for (unsigned i = 0; i < maxSymbols; ++i)
    symbols.push_back({names[i], getAffineSymbolExpr(i, parser.getContext())});
  SmallVector<AffineExpr> exprs;
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalGreater()))
    return get(parser.getContext(), exprs);
  auto parseOne = [&]() -> ParseResult {
    AffineExpr expr;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseAffineExpr(symbols, expr))
      return failure();
    exprs.push_back(normalize(expr));
    if (isTooComplex(exprs.back()))
      return parser.emitError(at, "the expression of a size is too long");
    return success();
  };
  if (parser.parseCommaSeparatedList(parseOne) || parser.parseGreater())
    return {};
  return get(parser.getContext(), exprs);
}

void DimsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getExprs(), printer, [&](AffineExpr e) { printer << e; });
  printer << ">";
}

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getExprs().size())
    return emitError() << "#nx.dims gives " << getExprs().size() << " sizes for a tensor of rank "
                       << shape.size();
  for (auto [i, size, expr] : llvm::enumerate(shape, getExprs())) {
    std::optional<int64_t> constant = constantOf(expr);
    if (ShapedType::isDynamic(size) == constant.has_value() || (constant && *constant != size))
      return emitError() << "#nx.dims says '" << dimToString(expr) << "' for dimension " << i
                         << ", the shape says "
                         << (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shared helpers
//===----------------------------------------------------------------------===//

bool nx::isNarrowElement(Type element) {
  return element.getIntOrFloatBitWidth() < 8 ? !element.isInteger(1)
                                              : isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
}

Type nx::signlessElement(Type element) {
  if (isNarrowElement(element))
    return IntegerType::get(element.getContext(), 8);
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  return element;
}

bool nx::isUnsignedElement(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

DenseElementsAttr nx::signlessConstant(DenseElementsAttr value) {
  Type element = value.getElementType(), memory = signlessElement(element);
  if (memory == element)
    return value;
  if (!isNarrowElement(element))
    return value.bitcast(memory);
  auto byteOf = [&](APInt bits) { return isUnsignedElement(element) || isa<FloatType>(element) ? bits.zext(8) : bits.sext(8); };
  if (element.getIntOrFloatBitWidth() == 8)
    return value.bitcast(memory);
  if (isa<FloatType>(element))
    return value.mapValues(memory, [&](const APFloat &number) { return byteOf(number.bitcastToAPInt()); });
  return value.mapValues(memory, [&](const APInt &number) { return byteOf(number); });
}

SmallVector<StringRef> nx::symbolNames(Operation *op) {
  SmallVector<StringRef> names;
  for (; op; op = op->getParentOp())
    if (auto attr = op->getAttrOfType<ArrayAttr>(kSymbolsAttr)) {
      for (Attribute name : attr)
        names.push_back(cast<StringAttr>(name).getValue());
      break;
    }
  return names;
}
