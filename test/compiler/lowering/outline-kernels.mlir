// RUN: nx-opt %s -split-input-file -nx-prepare-kernels -nx-outline-kernels | FileCheck %s

// A chain of element-wise operations on a packed matmul is one kernel.
// CHECK-LABEL: func.func @epilogue
// CHECK: %[[Y:.*]] = nx.dispatch @matmul_8x16_add_gelu(%arg0, %{{.*}}, %{{.*}}) slots <s0>
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @matmul_8x16_add_gelu(
// CHECK-SAME: tensor<8x16xf32> {nx.layout = "panel16"}
// CHECK-SAME: nx.family = "contract"
func.func @epilogue(%x: tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x16xf32, #nx.dims<s0, 16>> attributes {nx.symbols = ["n"]} {
  %w = nx.param "w" source tensor<8x16xf32> : tensor<8x16xf32>
  %b = nx.param "b" source tensor<16xf32> : tensor<16xf32>
  %0 = nx.matmul %x, %w : (tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<8x16xf32>) -> tensor<?x16xf32, #nx.dims<s0, 16>>
  %1 = nx.add %0, %b : (tensor<?x16xf32, #nx.dims<s0, 16>>, tensor<16xf32>) -> tensor<?x16xf32, #nx.dims<s0, 16>>
  %2 = nx.gelu %1 : (tensor<?x16xf32, #nx.dims<s0, 16>>) -> tensor<?x16xf32, #nx.dims<s0, 16>>
  return %2 : tensor<?x16xf32, #nx.dims<s0, 16>>
}

// -----

// A value with two readers ends the chain; equal kernels are one, whatever their symbols are called.
// CHECK-LABEL: func.func @two_readers
// CHECK: %[[A:.*]] = nx.dispatch @matmul_8x8(%arg0, %{{.*}}) slots <s0>
// CHECK: %[[B:.*]] = nx.dispatch @matmul_8x8(%arg1, %{{.*}}) slots <s1>
// CHECK: %[[C:.*]] = nx.dispatch @exp(%[[A]]) slots <s0>
// CHECK: %[[D:.*]] = nx.dispatch @neg(%[[A]]) slots <s0>
// CHECK: return %[[C]], %[[D]], %[[B]]
// CHECK: func.func private @matmul_8x8(
// CHECK-NOT: func.func private @matmul
func.func @two_readers(%x: tensor<?x8xf32, #nx.dims<s0, 8>>, %y: tensor<?x8xf32, #nx.dims<s1, 8>>)
    -> (tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<?x8xf32, #nx.dims<s1, 8>>) attributes {nx.symbols = ["n", "m"]} {
  %w = nx.param "w" source tensor<8x8xf32> : tensor<8x8xf32>
  %0 = nx.matmul %x, %w : (tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<8x8xf32>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  %1 = nx.matmul %y, %w : (tensor<?x8xf32, #nx.dims<s1, 8>>, tensor<8x8xf32>) -> tensor<?x8xf32, #nx.dims<s1, 8>>
  %2 = nx.exp %0 : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  %3 = nx.neg %0 : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  return %2, %3, %1 : tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<?x8xf32, #nx.dims<s1, 8>>
}

// -----

// Head split and merge around an attention become its addressing; no transpose is left.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT: %[[Y:.*]] = nx.dispatch @attention_2x4(%arg0) slots <s0>
// CHECK-NEXT: return %[[Y]]
func.func @attention(%x: tensor<1x?x8xf32, #nx.dims<1, s0, 8>>) -> tensor<1x?x8xf32, #nx.dims<1, s0, 8>> attributes {nx.symbols = ["seq"]} {
  %0 = nx.reshape %x : (tensor<1x?x8xf32, #nx.dims<1, s0, 8>>) -> tensor<1x?x2x4xf32, #nx.dims<1, s0, 2, 4>>
  %1 = nx.transpose %0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x?x2x4xf32, #nx.dims<1, s0, 2, 4>>) -> tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>
  %2 = nx.attention %1, %1, %1 {scale = 0.5 : f64} : (tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>, tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>, tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>) -> tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>
  %3 = nx.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>) -> tensor<1x?x2x4xf32, #nx.dims<1, s0, 2, 4>>
  %4 = nx.reshape %3 : (tensor<1x?x2x4xf32, #nx.dims<1, s0, 2, 4>>) -> tensor<1x?x8xf32, #nx.dims<1, s0, 8>>
  return %4 : tensor<1x?x8xf32, #nx.dims<1, s0, 8>>
}

// -----

// The causal offset is in the kernel's own symbols, like its sizes.
// CHECK-LABEL: func.func @cached
// CHECK-NEXT: nx.dispatch @[[KERNEL:.*]](%arg0, %arg1) slots <s2>
// CHECK: func.func private @[[KERNEL]]
// CHECK: nx.attention {{.*}} {causal = #nx.dims<s0 - 4>, scale
func.func @cached(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x?x8xf32, #nx.dims<1, 2, s2, 8>>) -> tensor<1x2x4x8xf32> attributes {nx.symbols = ["a", "b", "total"]} {
  %0 = nx.attention %q, %k, %k {scale = 0.5 : f64, causal = #nx.dims<s2 - 4>} : (tensor<1x2x4x8xf32>, tensor<1x2x?x8xf32, #nx.dims<1, 2, s2, 8>>, tensor<1x2x?x8xf32, #nx.dims<1, 2, s2, 8>>) -> tensor<1x2x4x8xf32>
  return %0 : tensor<1x2x4x8xf32>
}

// -----

// A row operation joins the element-wise operations of its shape; both results leave the kernel.
// CHECK-LABEL: func.func @residual
// CHECK: %[[Y:.*]]:2 = nx.dispatch @add_layer_norm(%arg0, %arg1, %arg2)
// CHECK: return %[[Y]]#0, %[[Y]]#1
func.func @residual(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %s: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = nx.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nx.layer_norm %0, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Collectives stay in the program and separate kernels.
// CHECK-LABEL: func.func @collective
// CHECK: nx.dispatch @matmul_8x8
// CHECK: nx.all_reduce
// CHECK: nx.dispatch @add
func.func @collective(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = nx.param "w" source tensor<8x8xf32> : tensor<8x8xf32>
  %0 = nx.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nx.all_reduce %0 {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nx.add %1, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A constant that the program returns is written by a kernel.
// CHECK-LABEL: func.func @returned_constant
// CHECK-NEXT: %[[C:.*]] = nx.dispatch @broadcast() slots <> : () -> tensor<2xf32>
// CHECK-NEXT: return %[[C]]
func.func @returned_constant() -> tensor<2xf32> {
  %c = nx.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %c : tensor<2xf32>
}
