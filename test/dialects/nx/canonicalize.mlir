// Folding of data movement, also into parameters' recipes.
// RUN: nx-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: @param_recipe
// CHECK-NEXT: nx.param "w" source tensor<6x4xf32> recipe [#nx.transpose<1, 0>, #nx.reshape<4, 2, 3>] : tensor<4x2x3xf32>
// CHECK-NEXT: return
func.func @param_recipe() -> tensor<4x2x3xf32> {
  %w = nx.param "w" source tensor<6x4xf32> : tensor<6x4xf32>
  %t = nx.transpose %w {perm = array<i64: 1, 0>} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %r = nx.reshape %t : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  return %r : tensor<4x2x3xf32>
}

// A packed parameter takes no further steps.
// CHECK-LABEL: @packed_param
// CHECK: nx.transpose
func.func @packed_param() -> tensor<6x4xf32> {
  %w = nx.param "w" source tensor<4x6xf32> recipe [#nx.pack] : tensor<4x6xf32>
  %t = nx.transpose %w {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %t : tensor<6x4xf32>
}

// CHECK-LABEL: @transposes
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = nx.transpose %x {perm = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %b = nx.transpose %a {perm = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %b : tensor<2x3x4xf32>
}

// CHECK-LABEL: @reshapes
// CHECK-NEXT: return %arg0
func.func @reshapes(%x: tensor<?x12xf32, #nx.dims<s0, 12>>) -> tensor<?x12xf32, #nx.dims<s0, 12>> {
  %a = nx.reshape %x : (tensor<?x12xf32, #nx.dims<s0, 12>>) -> tensor<?x3x4xf32, #nx.dims<s0, 3, 4>>
  %b = nx.reshape %a : (tensor<?x3x4xf32, #nx.dims<s0, 3, 4>>) -> tensor<?x12xf32, #nx.dims<s0, 12>>
  return %b : tensor<?x12xf32, #nx.dims<s0, 12>>
}
