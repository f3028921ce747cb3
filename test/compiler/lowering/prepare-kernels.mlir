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
  %y = nx.shard %x {dim = 0 : i64, parts = 2 : i64, blocks = array<i64: 4, 4, 4>} : (tensor<12xf32>) -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// CHECK-LABEL: @shard_unequal_blocks
// CHECK-DAG: %[[A:.*]] = nx.slice %arg0 {starts = #nx.dims<0, s0 * 4>{{.*}} -> tensor<3x4xf32>
// CHECK-DAG: %[[B:.*]] = nx.slice %arg0 {starts = #nx.dims<0, s0 * 2 + 8>{{.*}} -> tensor<3x2xf32>
// CHECK: nx.concat %[[A]], %[[B]] {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<3x6xf32>
func.func @shard_unequal_blocks(%x: tensor<3x12xf32>) -> tensor<3x6xf32> {
  %y = nx.shard %x {dim = 1 : i64, parts = 2 : i64, blocks = array<i64: 8, 4>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  return %y : tensor<3x6xf32>
}

// CHECK-LABEL: @padded_windows
// CHECK: %[[X:.*]] = nx.pad %arg0 {hi = #nx.dims<0, 0, 2, 1>, lo = #nx.dims<0, 0, 1, 0>, mode = #nx<pad_mode constant>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x11x9xf32>
// CHECK: nx.conv %[[X]], %arg1 {{.*}} pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>
// CHECK: %[[LEAST:.*]] = nx.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[P:.*]] = nx.pad %arg0, %[[LEAST]] {hi = #nx.dims<0, 0, 1, 1>, lo = #nx.dims<0, 0, 0, 0>
// CHECK: nx.pool %[[P]] {
// CHECK-NOT: ceil_mode
// CHECK-SAME: pads_hi = array<i64: 0, 0>, pads_lo = array<i64: 0, 0>
// CHECK: nx.pool %arg0 {{.*}} pads_hi = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>
func.func @padded_windows(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>)
    -> (tensor<1x4x9x7xf32>, tensor<1x3x4x4xf32>, tensor<1x3x8x8xf32>) {
  %y = nx.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 0>, pads_hi = array<i64: 2, 1>, groups = 1 : i64}
      : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x9x7xf32>
  %p = nx.pool %x {kind = #nx<pool_kind max>, window = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, ceil_mode}
      : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
  %a = nx.pool %x {kind = #nx<pool_kind avg>, window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>}
      : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  return %y, %p, %a : tensor<1x4x9x7xf32>, tensor<1x3x4x4xf32>, tensor<1x3x8x8xf32>
}
