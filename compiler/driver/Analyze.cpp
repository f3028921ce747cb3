//===- Analyze.cpp - What a model holds, before compiling it --------------===//

#include "compiler/driver/Analyze.h"
#include "compiler/driver/Report.h"
#include "compiler/lowering/Passes.h"
#include "dialects/nx/Nx.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace nx;

namespace {

struct KindCount {
  int64_t count = 0;
  double flops = 0;
};

/// Sizes with every symbol set to the assumed size.
class Sizes {
public:
  explicit Sizes(int64_t assumed) : assumed(assumed) {}
  double of(AffineExpr expr) const {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return constant.getValue();
    if (isa<AffineSymbolExpr>(expr))
      return assumed;
    auto binary = cast<AffineBinaryOpExpr>(expr);
    double l = of(binary.getLHS()), r = of(binary.getRHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return l + r;
    case AffineExprKind::Mul:
      return l * r;
    case AffineExprKind::Mod:
      return r ? std::fmod(l, r) : 0;
    case AffineExprKind::FloorDiv:
      return r ? std::floor(l / r) : 0;
    default:
      return r ? std::ceil(l / r) : 0;
    }
  }
  double elements(Value value) const {
    double product = 1;
    for (AffineExpr dim : dimsOf(cast<RankedTensorType>(value.getType())))
      product *= of(dim);
    return product;
  }

private:
  int64_t assumed;
};

/// Floating-point operations of one operation; a multiplication with an addition counts as two.
double flopsOf(Operation *op, const Sizes &sizes) {
  if (auto matmul = dyn_cast<MatmulOp>(op)) {
    auto lhs = cast<RankedTensorType>(matmul.getLhs().getType());
    return 2 * sizes.elements(matmul.getResult()) *
           sizes.of(dimOf(lhs, lhs.getRank() - (matmul.getTransposeLhs() ? 2 : 1)));
  }
  if (auto conv = dyn_cast<ConvOp>(op)) {
    auto weight = cast<RankedTensorType>(conv.getWeight().getType());
    return 2 * sizes.elements(conv.getResult()) * sizes.elements(conv.getWeight()) /
           sizes.of(dimOf(weight, 0));
  }
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    auto key = cast<RankedTensorType>(attention.getKey().getType());
    double scores = sizes.elements(attention.getQuery()) * sizes.of(dimOf(key, 2));
    return 2 * scores + 2 * sizes.elements(attention.getResult()) * sizes.of(dimOf(key, 2));
  }
  if (isa<ElementwiseOpInterface>(op))
    return sizes.elements(op->getResult(0));
  if (isa<ReduceOp, SoftmaxOp, LayerNormOp, RmsNormOp, GroupNormOp>(op))
    return 4 * sizes.elements(op->getOperand(0));
  return 0;
}

std::string typeText(Type type, ArrayRef<StringRef> names) {
  auto tensor = cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << tensor.getElementType() << "[";
  llvm::interleaveComma(dimsOf(tensor), os, [&](AffineExpr e) { os << dimToString(e, names); });
  os << "]";
  return text;
}

} // namespace

void nx::analyze(ModuleOp module, const ParamCatalog &catalog, const AnalyzeOptions &options,
                 llvm::raw_ostream &os) {
  Sizes sizes(options.assumedSize);
  llvm::MapVector<StringRef, KindCount> kinds;
  llvm::StringMap<uint64_t> parameterBytes;
  double flops = 0;
  uint64_t bytes = 0;
  func::FuncOp func = *module.getOps<func::FuncOp>().begin();
  func.walk([&](Operation *op) {
    if (op == func || isa<func::ReturnOp, ConstantOp, CheckOp>(op))
      return;
    if (auto param = dyn_cast<ParamOp>(op)) {
      const Param *entry = catalog.lookup(param.getName());
      if (entry && parameterBytes.try_emplace(param.getName(), entry->bytes.size()).second)
        bytes += entry->bytes.size();
      return;
    }
    KindCount &kind = kinds[op->getName().stripDialect()];
    ++kind.count;
    double f = flopsOf(op, sizes);
    kind.flops += f;
    flops += f;
  });
  SmallVector<StringRef> names = symbolNames(func);
  SmallVector<std::pair<StringRef, KindCount>> sorted(kinds.begin(), kinds.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::make_pair(-a.second.flops, a.first) < std::make_pair(-b.second.flops, b.first);
  });

  // States are no part of the signature; they come last.
  unsigned inputs = 0, outputs = 0;
  while (inputs < func.getNumArguments() && !func.getArgAttr(inputs, kStateAttr))
    ++inputs;
  while (outputs < func.getNumResults() && !func.getResultAttr(outputs, kStateAttr))
    ++outputs;
  auto stateName = [&](unsigned i) {
    return func.getArgAttrOfType<StringAttr>(inputs + i, kStateAttr).getValue();
  };
  TypeRange inputTypes = func.getArgumentTypes(), outputTypes = func.getResultTypes();
  TypeRange stateTypes = inputTypes.drop_front(inputs);
  inputTypes = inputTypes.take_front(inputs);
  outputTypes = outputTypes.take_front(outputs);
  auto argumentName = [&](unsigned i) {
    auto a = func.getArgAttrOfType<StringAttr>(i, kNameAttr);
    return a ? a.getValue() : "";
  };
  auto resultName = [&](unsigned i) {
    auto a = func.getResultAttrOfType<StringAttr>(i, kNameAttr);
    return a ? a.getValue() : "";
  };
  if (options.json) {
    llvm::json::OStream json(os, 2);
    auto signature = [&](TypeRange types, llvm::function_ref<StringRef(unsigned)> nameOf) {
      for (auto [i, type] : llvm::enumerate(types))
        json.object([&, i = i, type = type] {
          json.attribute("name", nameOf(i));
          json.attribute("type", typeText(type, names));
        });
    };
    json.object([&] {
      json.attributeArray("inputs", [&] { signature(inputTypes, argumentName); });
      json.attributeArray("outputs", [&] { signature(outputTypes, resultName); });
      json.attributeArray("states", [&] { signature(stateTypes, stateName); });
      json.attribute("parameters", int64_t(parameterBytes.size()));
      json.attribute("parameter_bytes", int64_t(bytes));
      json.attribute("assumed_size", options.assumedSize);
      json.attribute("flops", flops);
      json.attributeArray("operations", [&] {
        for (auto &[name, kind] : sorted)
          json.object([&, &name = name, &kind = kind] {
            json.attribute("operation", name);
            json.attribute("count", kind.count);
            json.attribute("flops", kind.flops);
          });
      });
    });
    os << "\n";
    return;
  }
  for (auto [i, type] : llvm::enumerate(inputTypes))
    os << "input   " << argumentName(i) << "  " << typeText(type, names) << "\n";
  for (auto [i, type] : llvm::enumerate(outputTypes))
    os << "output  " << resultName(i) << "  " << typeText(type, names) << "\n";
  for (auto [i, type] : llvm::enumerate(stateTypes))
    os << "state   " << stateName(i) << "  " << typeText(type, names) << "\n";
  os << parameterBytes.size() << " parameters, " << bytesText(bytes) << "\n\n";
  os << llvm::format("%-20s %8s %14s\n", "operation", "count", "MFLOP");
  for (auto &[name, kind] : sorted)
    os << llvm::format("%-20s %8lld %14.3f\n", name.str().c_str(), (long long)kind.count,
                       kind.flops / 1e6);
  os << llvm::format("%-20s %8s %14.3f", "all", "", flops / 1e6);
  if (!names.empty())
    os << "   (sizes ";
  llvm::interleaveComma(names, os, [&](StringRef n) { os << n; });
  if (!names.empty())
    os << " taken as " << options.assumedSize << ")";
  os << "\n";
}
