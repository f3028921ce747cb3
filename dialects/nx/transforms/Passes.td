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

def NxCanonicalize : Pass<"nx-canonicalize"> {
  let summary = "Bring the graph to the form that the later patterns look for";
  let description = [{
    Besides the operations' own canonicalizations:
    - operations on small constants and sizes are evaluated;
    - arithmetic with neutral elements disappears (`x * 1`, `and x, true`);
    - broadcasts are dropped where the operation broadcasts itself, and otherwise move behind
      element-wise operations, which then work on fewer elements;
    - comparisons of indices with constants are decided;
    - a gather at the grid of all indices is a broadcast;
    - reshapes that merge or split leading dimensions (batch and sequence) move behind products with
      a matrix and behind element-wise operations, where most of them meet their inverse;
    - a transpose between reshapes that merge and split the same dimensions is one transpose.

    ```mlir
    %m = nx.reshape %x : (tensor<2x8x64xf32>) -> tensor<16x64xf32>
    %p = nx.matmul %m, %w : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
    %r = nx.reshape %p : (tensor<16x32xf32>) -> tensor<2x8x32xf32>
    ```
    becomes
    ```mlir
    %r = nx.matmul %x, %w : (tensor<2x8x64xf32>, tensor<64x32xf32>) -> tensor<2x8x32xf32>
    ```
  }];
  let dependentDialects = ["::nx::NxDialect"];
}

def NxFuseForms : Pass<"nx-fuse-forms"> {
  let summary = "Recognize gelu, silu, norms, softmax and attention in elementary operations";
  let description = [{
    The formula is matched in any spelling: factors in any order, division or multiplication by the
    inverse, powers or products. Intermediate values must have no other use. Run `nx-canonicalize`
    first.

    - `x * (1 + erf(x / sqrt(2))) / 2` and the form with tanh: `nx.gelu`
    - `x * sigmoid(x)`: `nx.silu`
    - `(x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * scale + bias`: `nx.layer_norm`
    - `x / sqrt(mean(x^2) + eps) * scale`: `nx.rms_norm`
    - `exp(x - max(x)) / sum(exp(x - max(x)))`: `nx.softmax`
    - `softmax(scale * q k^T + mask) v`: `nx.attention`; the scale may be on the scores, on q, on k or
      on several, the mask added or chosen, and NaN weights replaced by 0

    What is left of `nx.pow` with an exponent of 2, 3, 1/2 or -1 becomes a product, a square root or a
    reciprocal.

    ```mlir
    %kt = nx.transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x2x9x16xf32>) -> tensor<1x2x16x9xf32>
    %s = nx.matmul %q, %kt : (tensor<1x2x5x16xf32>, tensor<1x2x16x9xf32>) -> tensor<1x2x5x9xf32>
    %c = nx.constant dense<0.25> : tensor<f32>
    %z = nx.mul %s, %c : (tensor<1x2x5x9xf32>, tensor<f32>) -> tensor<1x2x5x9xf32>
    %p = nx.softmax %z {axis = 3 : i64} : (tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xf32>
    %o = nx.matmul %p, %v : (tensor<1x2x5x9xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x5x16xf32>
    ```
    becomes
    ```mlir
    %o = nx.attention %q, %k, %v {scale = 2.5e-01 : f64}
        : (tensor<1x2x5x16xf32>, tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x5x16xf32>
    ```
  }];
  let dependentDialects = ["::nx::NxDialect"];
}
#endif
