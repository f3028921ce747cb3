// RUN: nx-opt %s -nx-prepare-kernels | FileCheck %s

// CHECK-LABEL: @pack
// CHECK: %[[W:.*]] = nx.param "w" source tensor<3072x768xf32> recipe [#nx.transpose<1, 0>, #nx.pack] : tensor<768x3072xf32>
// CHECK: nx.matmul %{{.*}}, %[[W]] : (tensor<4x768xf32>, tensor<768x3072xf32>)
func.func @pack(%x: tensor<4x768xf32>) -> tensor<4x3072xf32> {
  %w = nx.param "w" source tensor<3072x768xf32> : tensor<3072x768xf32>
  %y = nx.matmul %x, %w {transpose_rhs} : (tensor<4x768xf32>, tensor<3072x768xf32>) -> tensor<4x3072xf32>
  return %y : tensor<4x3072xf32>
}

// A matmul of another type, or of a stack of matrices, keeps its weights as they are.
// CHECK-LABEL: @no_pack
// CHECK-NOT: #nx.pack
func.func @no_pack(%x: tensor<4x8xf64>, %z: tensor<2x4x8xf32>) -> (tensor<4x8xf64>, tensor<2x4x8xf32>) {
  %w = nx.param "w" source tensor<8x8xf64> : tensor<8x8xf64>
  %y = nx.matmul %x, %w : (tensor<4x8xf64>, tensor<8x8xf64>) -> tensor<4x8xf64>
  %v = nx.param "v" source tensor<2x8x8xf32> : tensor<2x8x8xf32>
  %u = nx.matmul %z, %v : (tensor<2x4x8xf32>, tensor<2x8x8xf32>) -> tensor<2x4x8xf32>
  return %y, %u : tensor<4x8xf64>, tensor<2x4x8xf32>
}

// CHECK-LABEL: @shard
// CHECK-SAME: nx.symbols = ["seq", "@rank"]
// CHECK: nx.slice %arg0 {starts = #nx.dims<0, s1 * 4>, steps = array<i64: 1, 1>} : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x4xf32, #nx.dims<s0, 4>>
func.func @shard(%x: tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x4xf32, #nx.dims<s0, 4>> attributes {nx.symbols = ["seq"]} {
  %y = nx.shard %x {dim = 1 : i64, parts = 2 : i64} : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x4xf32, #nx.dims<s0, 4>>
  return %y : tensor<?x4xf32, #nx.dims<s0, 4>>
}

// CHECK-LABEL: @shard_blocks
// CHECK: nx.reshape %arg0 : (tensor<12xf32>) -> tensor<3x4xf32>
// CHECK: nx.slice {{.*}} {starts = #nx.dims<0, s0 * 2>
// CHECK: nx.reshape {{.*}} : (tensor<3x2xf32>) -> tensor<6xf32>
func.func @shard_blocks(%x: tensor<12xf32>) -> tensor<6xf32> {
  %y = nx.shard %x {dim = 0 : i64, parts = 2 : i64, blocks = 3 : i64} : (tensor<12xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}
