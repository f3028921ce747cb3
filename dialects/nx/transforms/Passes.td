// Passes on the nx graph.
#ifndef NX_TRANSFORMS_PASSES
#define NX_TRANSFORMS_PASSES
include "mlir/Pass/PassBase.td"

def NxCheckSupported : Pass<"nx-check-supported"> {
  let summary = "Report every operation of the source model that nx cannot compile";
  let description = [{
    Fails when the module holds an `nx.unsupported`, with one error that lists all of them: node,
    operator, domain, opset, shapes of the inputs and the reason.

    ```
    error: 2 nodes of the model cannot be compiled:
      node 'find' (NonZero, domain ai.onnx, opset 17) of [batch, 128] f32: the size of its result depends on the data, ...
      node 'loop' (Loop, domain ai.onnx, opset 17) of [] i64, [] i1: nx compiles control flow only where ...
    ```
  }];
}
#endif
