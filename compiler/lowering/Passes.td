// Passes from the nx graph to kernels and to the nxe program.
#ifndef NX_LOWERING_PASSES
#define NX_LOWERING_PASSES
include "mlir/Pass/PassBase.td"

def NxPrepareKernels : Pass<"nx-prepare-kernels", "::mlir::ModuleOp"> {
  let summary = "Bring operations into the form that the kernel families take";
  let description = [{
    - The constant right-hand side of an f32 matmul becomes packed panels (`#nx.pack`), any transpose
      being moved into the recipe.
    - The padding of convolutions, and of pooling where its elements have a value that does not count,
      becomes an `nx.pad` in front.
    - `nx.shard` becomes a slice at an offset of the executing rank, which is the symbol `@rank`.
    - Every matmul of activations and every attention gets its own copy of the reshapes, transposes and
      slices in front of its operands, so that they can be folded into the kernel's address computation.

    ```mlir
    %w = nx.param "w" source tensor<3072x768xf32> : tensor<3072x768xf32>
    %y = nx.matmul %x, %w {transpose_rhs} : (tensor<4x768xf32>, tensor<3072x768xf32>) -> tensor<4x3072xf32>
    ```
    becomes
    ```mlir
    %w = nx.param "w" source tensor<3072x768xf32> recipe [#nx.transpose<1, 0>, #nx.pack] : tensor<768x3072xf32>
    %y = nx.matmul %x, %w : (tensor<4x768xf32>, tensor<768x3072xf32>) -> tensor<4x3072xf32>
    ```
  }];
  let dependentDialects = ["::nx::NxDialect"];
}

def NxOutlineKernels : Pass<"nx-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Group operations into kernels, one function per unique kernel";
  let description = [{
    A kernel is what one dispatch computes. Its family is the attribute `nx.family`:
    - `contract`: a matmul with packed weights and a chain of element-wise operations on its result;
    - `matmul`: a matmul of activations, with views of its operands;
    - `attention`: an attention, with views of its operands and result;
    - `loops`: element-wise operations, reductions, normalizations and data movement over one space.

    Groups are grown in program order: an operation joins the last group that its operands come from if
    that keeps the family's form, and else starts a group; edges therefore never lead backwards. Equal
    kernels, up to the names of symbols, are one function. What is left in the program is parameters,
    dispatches, whole-buffer reshapes and collectives.

    ```mlir
    %0 = nx.matmul %x, %w : ...
    %1 = nx.add %0, %b : ...
    %2 = nx.gelu %1 : ...
    ```
    becomes
    ```mlir
    %2 = nx.dispatch @matmul_768x3072_add_gelu(%x, %w, %b) slots <s1> : ...
    ```
  }];
  let dependentDialects = ["::nx::NxDialect", "::mlir::func::FuncDialect"];
}

def NxToNxe : Pass<"nx-to-nxe", "::mlir::ModuleOp"> {
  let summary = "Turn the outlined program into an nxe executable";
  let description = [{
    Values become buffers, dispatches and collectives become commands. A result that a command computes is
    written straight into the output's buffer; a result that is an input, a parameter or a second use of
    one value is copied. Kernel functions stay beside the executable for code generation.

    ```mlir
    func.func @forward(%x: tensor<4x768xf32> {nx.name = "x"}) -> (tensor<4x3072xf32> {nx.name = "y"}) {
      %w = nx.param "w" ... recipe [#nx.pack] : tensor<768x3072xf32>
      %0 = nx.dispatch @k(%x, %w) slots <> : ...
      return %0
    }
    ```
    becomes
    ```mlir
    nxe.executable tp 1 {
      nxe.kernel @k family "contract" slots 0 operands 3
      nxe.param @p0 "w" source ... recipe [#nx.pack] : tensor<768x3072xf32>
      nxe.program @forward symbols [] {
        %x = nxe.input 0 "x" : tensor<4x768xf32>
        %w = nxe.load @p0
        %y = nxe.output 0 "y" : tensor<4x3072xf32>
        nxe.dispatch @k(%x, %w, %y) dims <>
      }
    }
    ```
  }];
  let options = [Option<"tpDegree", "tp", "int64_t", "1", "number of ranks">];
  let dependentDialects = ["::nxe::NxeDialect"];
}

def NxToLinalg : Pass<"nx-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Rewrite the kernels of the family `loops` to linalg on tensors";
  let description = [{
    Sizes move from the types to attributes `nx.shape`, and the value of each symbol becomes an index
    argument behind the tensors. Code generation calls the same function on each kernel.

    ```mlir
    func.func private @gelu(%x: tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
        attributes {nx.family = "loops"} {
      %0 = nx.gelu %x : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
      return %0 : tensor<?x8xf32, #nx.dims<s0, 8>>
    }
    ```
    becomes
    ```mlir
    func.func private @gelu(%x: tensor<?x8xf32> {nx.shape = affine_map<()[s0] -> (s0, 8)>}, %s0: index {nx.symbol = 0 : i64})
        -> (tensor<?x8xf32> {nx.shape = affine_map<()[s0] -> (s0, 8)>}) attributes {nx.family = "loops"} {
      %0 = tensor.empty(%s0) : tensor<?x8xf32>
      %1 = linalg.generic ... ins(%x) outs(%0) { ... math.erf ... }
      return %1 : tensor<?x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}
#endif
