//===- Nxe.cpp - The nxe dialect ------------------------------------------===//

#include "dialects/nxe/Nxe.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace nxe;

#include "dialects/nxe/NxeDialect.cpp.inc"
#include "dialects/nxe/NxeEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nxe/NxeAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/nxe/NxeTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/nxe/NxeOps.cpp.inc"

void NxeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nxe/NxeAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/nxe/NxeTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/nxe/NxeOps.cpp.inc"
      >();
}

SmallVector<Operation *> nxe::commandsOf(ProgramOp program) {
  SmallVector<Operation *> commands;
  for (Operation &op : program.getBody().front())
    if (isa<DispatchOp, CollectiveOp, CopyOp>(op))
      commands.push_back(&op);
  return commands;
}

Value nxe::rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getBase();
  return buffer;
}

/// Highest symbol used by `dims`, plus one.
static unsigned symbolCount(nx::DimsAttr dims) { return dims ? dims.getMap().getNumSymbols() : 0; }

LogicalResult ProgramOp::verify() {
  auto executable = cast<ExecutableOp>((*this)->getParentOp());
  unsigned symbols = getSymbols().size();
  int64_t inputs = 0, outputs = 0;
  for (Operation &op : getBody().front()) {
    for (NamedAttribute attr : op.getAttrs())
      if (auto dims = dyn_cast<nx::DimsAttr>(attr.getValue()); symbolCount(dims) > symbols)
        return op.emitOpError() << "'" << attr.getName().getValue() << "' uses symbol s"
                                << symbolCount(dims) - 1 << ", the program has " << symbols;
    for (StringRef name : {"bytes", "offset", "lhs", "rhs"})
      if (auto dims = op.getAttrOfType<nx::DimsAttr>(name); dims && dims.getExprs().size() != 1)
        return op.emitOpError() << "'" << name << "' is one expression";
    if (auto input = dyn_cast<InputOp>(op)) {
      if (int64_t(input.getIndex()) != inputs++)
        return op.emitOpError("inputs are listed in the order of their indices");
    } else if (auto output = dyn_cast<OutputOp>(op)) {
      if (int64_t(output.getIndex()) != outputs++)
        return op.emitOpError("outputs are listed in the order of their indices");
    } else if (auto load = dyn_cast<LoadOp>(op)) {
      if (!executable.lookupSymbol<ParamOp>(load.getParam()))
        return op.emitOpError() << "there is no parameter @" << load.getParam();
    } else if (auto dispatch = dyn_cast<DispatchOp>(op)) {
      auto kernel = executable.lookupSymbol<KernelOp>(dispatch.getKernel());
      if (!kernel)
        return op.emitOpError() << "there is no kernel @" << dispatch.getKernel();
      if (kernel.getSlots() != dispatch.getDims().getExprs().size() ||
          kernel.getOperands() != dispatch.getOperands().size())
        return op.emitOpError() << "kernel @" << dispatch.getKernel() << " has "
                                << kernel.getOperands() << " operands and " << kernel.getSlots()
                                << " slots, got " << dispatch.getOperands().size() << " and "
                                << dispatch.getDims().getExprs().size();
    } else if (auto collective = dyn_cast<CollectiveOp>(op)) {
      if (collective.getLayout().getExprs().size() != 3 ||
          (collective.getKind() == CollectiveKind::all_to_all) !=
              collective.getResultLayout().has_value())
        return op.emitOpError(
            "needs a layout [outer, count, inner], all_to_all a result layout too");
    } else if (auto state = dyn_cast<StateOp>(op)) {
      if (int64_t(state.getInput()) >= inputs ||
          (state.getOutput() && int64_t(*state.getOutput()) >= outputs))
        return op.emitOpError("follows its input and its output");
      if (state.getInitial() && !executable.lookupSymbol<ParamOp>(*state.getInitial()))
        return op.emitOpError() << "there is no parameter @" << *state.getInitial();
    } else if (!isa<TempOp, ViewOp, CopyOp, CheckOp>(op)) {
      return op.emitOpError("does not belong into a program");
    }
  }
  for (Attribute attr : getSymbols()) {
    auto symbol = cast<SymbolAttr>(attr);
    if (symbol.getSource() == SymbolSource::input_dim && symbol.getInput() >= inputs)
      return emitOpError() << "symbol '" << symbol.getName() << "' comes from input "
                           << symbol.getInput() << ", there are " << inputs;
  }
  return success();
}
