// Interfaces that nx operations implement.
#ifndef NX_INTERFACES
#define NX_INTERFACES
include "mlir/IR/OpBase.td"

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::nx";
  let description = [{
    An operation whose result element depends on one element of each operand, with NumPy
    broadcasting. It states its scalar meaning once; fused loops, contraction epilogues and
    constant folding all use it.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the operation on scalars or, equally, on vectors of one length. `args` hold one value per
      operand, of signless element type; f16 and bf16 may arrive widened to f32, and then the result
      is f32 too. Signedness comes from the operation's own types. Booleans are i1.
    }], "::mlir::Value", "emitScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$args)>
  ];
}

def ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::nx";
  let description = [{
    An operation that ranks can share: it states which index space it loops over (its factors) and
    what part of it each dimension of each operand and result is. Planning, pricing and partitioning
    are written once, on factors. An operation without this interface runs whole on every rank.
  }];
  let methods = [
    InterfaceMethod<"The rule; see ShardingRule.h. By default that of an element-wise operation.",
      "::nx::ShardingRule", "getShardingRule", (ins), "",
      [{ return ::nx::elementwiseRule($_op.getOperation()); }]>,
    InterfaceMethod<[{
      Adapts the attributes after factor `factor` of `rule` was cut into `parts`, when operands and
      result types are already those of one part.
    }], "void", "adaptToPart",
      (ins "const ::nx::ShardingRule &":$rule, "unsigned":$factor, "int64_t":$parts), "",
      [{ (void)rule, (void)factor, (void)parts; }]>
  ];
}
#endif
