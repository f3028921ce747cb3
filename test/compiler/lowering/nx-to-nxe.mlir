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

// A symbol that is no size of an input as it is comes from a multiple of it; one that is comes first.
// CHECK-LABEL: nxe.program @multiples symbols
// CHECK-SAME: [#nxe.symbol<"half", input_dim, 0, 0, factor 2>, #nxe.symbol<"n", input_dim, 1, 1>, #nxe.symbol<"m", input_dim, 1, 0, factor 3, offset 1>]
func.func @multiples(%x: tensor<?xf32, #nx.dims<s0 * 2>>, %y: tensor<?x?xf32, #nx.dims<s2 * 3 + 1, s1>>) -> tensor<?xf32, #nx.dims<s0 * 2>> attributes {nx.symbols = ["half", "n", "m"]} {
  %0 = nx.exp %x : (tensor<?xf32, #nx.dims<s0 * 2>>) -> tensor<?xf32, #nx.dims<s0 * 2>>
  return %0 : tensor<?xf32, #nx.dims<s0 * 2>>
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
func.func @unbound(%x: tensor<?xf32, #nx.dims<s0 * s0>>) -> tensor<?xf32, #nx.dims<s0 * s0>> attributes {nx.symbols = ["n"]} {
  return %x : tensor<?xf32, #nx.dims<s0 * s0>>
}

// -----

// A state: its input and output are the last ones, its first value is a row-major parameter.
// CHECK-LABEL: nxe.executable tp 2
// CHECK: nxe.param @p0 "cache.first" source tensor<4xf32> : tensor<4xf32>
// CHECK: nxe.program @states
// CHECK: nxe.input 0 "x"
// CHECK: nxe.input 1 "input1"
// CHECK: nxe.state "cache" input 1 output 1 initial @p0
// CHECK: nxe.state "seen" input 2
func.func @states(%x: tensor<4xf32> {nx.name = "x"}, %cache: tensor<4xf32> {nx.state = "cache", nx.initial = "cache.first"},
                  %seen: tensor<4xf32> {nx.state = "seen"}) -> (tensor<4xf32> {nx.name = "y"}, tensor<4xf32> {nx.state = "cache"}) {
  %0 = nx.add %x, %cache : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nx.add %0, %seen : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{argument 1 follows an argument that is a state}}
func.func @order(%s: tensor<4xf32> {nx.state = "s"}, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{result 1 follows a result that is a state}}
func.func @result_order(%s: tensor<4xf32> {nx.state = "s"}) -> (tensor<4xf32> {nx.state = "s"}, tensor<4xf32>) {
  return %s, %s : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{the state "s" is of type 'tensor<4xf32>' but becomes 'tensor<2xf32>'}}
func.func @type(%x: tensor<2xf32>, %s: tensor<4xf32> {nx.state = "s"}) -> (tensor<2xf32> {nx.state = "s"}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{no argument is the state 's'}}
func.func @unknown(%x: tensor<2xf32>) -> (tensor<2xf32> {nx.state = "s"}) {
  return %x : tensor<2xf32>
}

// -----

// expected-error @+1 {{the shape of the state "s" is not static}}
func.func @dynamic(%s: tensor<?xf32, #nx.dims<s0>> {nx.state = "s"}) attributes {nx.symbols = ["n"]} {
  return
}
