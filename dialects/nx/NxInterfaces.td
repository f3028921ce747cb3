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
#endif
