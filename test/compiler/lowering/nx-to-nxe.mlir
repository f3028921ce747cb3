// RUN: nx-opt %s -split-input-file -verify-diagnostics -nx-prepare-kernels -nx-outline-kernels -nx-to-nxe=tp=2 | FileCheck %s

// CHECK-LABEL: nxe.executable tp 2
// CHECK: nxe.kernel @matmul_8x8 family "contract" slots 1 operands 3
// CHECK: nxe.param @p0 "w" source tensor<8x8xf32> recipe [#nx.pack] : tensor<8x8xf32>
// CHECK: nxe.program @forward symbols [#nxe.symbol<"n", input_dim, 0, 0>]
// CHECK-DAG: %[[X:.*]] = nxe.input 0 "x"
// CHECK-DAG: %[[Y:.*]] = nxe.output 0 "y"
// CHECK-DAG: %[[W:.*]] = nxe.load @p0
// CHECK: %[[T:.*]] = nxe.temp bytes <s0 * 32>
// CHECK: nxe.dispatch @matmul_8x8(%[[X]], %[[W]], %[[T]]) dims <s0>
// CHECK: nxe.collective {{.*}}all_reduce {{.*}}sum f32 %[[T]] to %[[Y]] layout <1, s0 * 8, 1>
func.func @forward(%x: tensor<?x8xf32, #nx.dims<s0, 8>> {nx.name = "x"}) -> (tensor<?x4x2xf32, #nx.dims<s0, 4, 2>> {nx.name = "y"}) attributes {nx.symbols = ["n"]} {
  %w = nx.param "w" source tensor<8x8xf32> : tensor<8x8xf32>
  %0 = nx.matmul %x, %w : (tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<8x8xf32>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  %1 = nx.all_reduce %0 {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  %2 = nx.reshape %1 : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x4x2xf32, #nx.dims<s0, 4, 2>>
  return %2 : tensor<?x4x2xf32, #nx.dims<s0, 4, 2>>
}

// -----

// An input that is a result, and a value that is two results, are copied.
// CHECK-LABEL: nxe.program @copies
// CHECK-DAG: %[[X:.*]] = nxe.input 0 "input0"
// CHECK-DAG: %[[A:.*]] = nxe.output 0 "output0"
// CHECK-DAG: %[[B:.*]] = nxe.output 1 "output1"
// CHECK-DAG: %[[C:.*]] = nxe.output 2 "output2"
// CHECK: nxe.dispatch @exp(%[[X]], %[[B]])
// CHECK: nxe.copy %[[X]] to %[[A]] bytes <16>
// CHECK: nxe.copy %[[B]] to %[[C]] bytes <16>
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nx.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %x, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A size that no input shows cannot be known when the program starts.
// expected-error @+1 {{size 'n' is not the size of any input dimension}}
func.func @unbound(%x: tensor<?xf32, #nx.dims<s0 * 2>>) -> tensor<?xf32, #nx.dims<s0 * 2>> attributes {nx.symbols = ["n"]} {
  return %x : tensor<?xf32, #nx.dims<s0 * 2>>
}
