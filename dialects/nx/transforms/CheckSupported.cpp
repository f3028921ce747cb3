//===- CheckSupported.cpp - Report what cannot be compiled ----------------===//

#include "dialects/nx/transforms/Passes.h"

using namespace mlir;

namespace nx {
#define GEN_PASS_DEF_NXCHECKSUPPORTED
#include "dialects/nx/transforms/Passes.h.inc"
} // namespace nx

namespace {

/// "[batch, 128] f32" for a tensor.
std::string describe(Value value, ArrayRef<StringRef> symbols) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !nx::hasKnownDims(type))
    return "an unknown shape";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(nx::dimsOf(type), os, [&](AffineExpr dim) { os << nx::dimToString(dim, symbols); });
  os << "] " << type.getElementType();
  return text;
}

struct CheckSupported : nx::impl::NxCheckSupportedBase<CheckSupported> {
  void runOnOperation() override {
    SmallVector<std::string> lines;
    getOperation()->walk([&](nx::UnsupportedOp op) {
      SmallVector<StringRef> symbols = nx::symbolNames(op);
      std::string line;
      llvm::raw_string_ostream os(line);
      os << "node '" << op.getNode() << "' (" << op.getOpType() << ", domain " << op.getDomain() << ", opset "
         << op.getOpset() << ")";
      if (!op.getInputs().empty())
        os << " of ";
      llvm::interleaveComma(op.getInputs(), os, [&](Value input) { os << describe(input, symbols); });
      os << ": " << op.getReason();
      if (auto name = dyn_cast<NameLoc>(op.getLoc()))
        if (auto file = dyn_cast<FileLineColLoc>(name.getChildLoc()))
          os << " (" << file.getFilename().getValue() << ":" << file.getLine() << ")";
      lines.push_back(line);
    });
    if (lines.empty())
      return markAllAnalysesPreserved();
    InFlightDiagnostic diagnostic = emitError(getOperation()->getLoc());
    diagnostic << lines.size() << (lines.size() == 1 ? " node" : " nodes") << " of the model cannot be compiled:";
    for (const std::string &line : lines)
      diagnostic << "\n  " << line;
    signalPassFailure();
  }
};

} // namespace
