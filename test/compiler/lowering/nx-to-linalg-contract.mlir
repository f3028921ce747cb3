// RUN: nx-opt --nx-to-linalg --split-input-file --mlir-print-local-scope %s | FileCheck %s

// bf16 accumulates in f32; the batch dimension is broadcast.

// CHECK-LABEL: func.func private @matmul
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK-SAME: outs(%{{.*}} : tensor<2x3x5xf32>)
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func private @matmul(%x: tensor<2x3x4xbf16>, %y: tensor<5x4xbf16>) -> tensor<2x3x5xbf16> attributes {nx.family = "loops"} {
  %0 = nx.matmul %x, %y {transpose_rhs} : (tensor<2x3x4xbf16>, tensor<5x4xbf16>) -> tensor<2x3x5xbf16>
  return %0 : tensor<2x3x5xbf16>
}

// -----

// Padding is read by a guarded element access.

// CHECK-LABEL: func.func private @conv
// CHECK: tensor.expand_shape {{.*}} : tensor<1x4x8xf32> into tensor<1x2x2x8xf32>
// CHECK: linalg.generic {{.*}}"reduction", "reduction"]
// CHECK: arith.cmpi ult
// CHECK: tensor.extract
// CHECK: arith.select
// CHECK: arith.mulf
// CHECK: arith.addf
func.func private @conv(%x: tensor<1x4x8xf32>, %w: tensor<6x2x3xf32>, %b: tensor<6xf32>) -> tensor<1x6x8xf32> attributes {nx.family = "loops"} {
  %0 = nx.conv %x, %w, %b {strides = array<i64: 1>, dilations = array<i64: 1>, pads_lo = array<i64: 1>, pads_hi = array<i64: 1>, groups = 2 : i64}
      : (tensor<1x4x8xf32>, tensor<6x2x3xf32>, tensor<6xf32>) -> tensor<1x6x8xf32>
  return %0 : tensor<1x6x8xf32>
}

// -----

// Windows that stay inside are an index expression.

// CHECK-LABEL: func.func private @pool
// CHECK: affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 * 2 + d3)>
// CHECK-NOT: tensor.extract
// CHECK: arith.maximumf
func.func private @pool(%x: tensor<1x4x8xf32>) -> tensor<1x4x4xf32> attributes {nx.family = "loops"} {
  %0 = nx.pool %x {kind = #nx<pool_kind max>, window = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads_lo = array<i64: 0>, pads_hi = array<i64: 0>}
      : (tensor<1x4x8xf32>) -> tensor<1x4x4xf32>
  return %0 : tensor<1x4x4xf32>
}

// -----

// Query heads are key heads times the query heads of each.

// CHECK-LABEL: func.func private @attention
// CHECK: tensor.expand_shape {{.*}} : tensor<1x6x3x8xf32> into tensor<1x2x3x3x8xf32>
// CHECK: arith.select {{.*}} : f32
// CHECK: math.exp
// CHECK: tensor.collapse_shape {{.*}} : tensor<1x2x3x3x4xf32> into tensor<1x6x3x4xf32>
func.func private @attention(%q: tensor<1x6x3x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x4xf32>) -> tensor<1x6x3x4xf32> attributes {nx.family = "loops"} {
  %0 = nx.attention %q, %k, %v {scale = 0.5, causal = #nx.dims<2>} : (tensor<1x6x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x4xf32>) -> tensor<1x6x3x4xf32>
  return %0 : tensor<1x6x3x4xf32>
}

// -----

// The offset of the triangle is in the sizes' symbols. A maximum of -inf shifts by 0, so that a query
// without keys has weights of 0 and not of NaN.

// CHECK-LABEL: func.func private @zero_without_keys
// CHECK: %[[OFFSET:.*]] = affine.apply affine_map<()[s0] -> (s0 - 1)>
// CHECK: %[[LIMIT:.*]] = arith.addi %{{.*}}, %[[OFFSET]]
// CHECK: arith.cmpi sle, %{{.*}}, %[[LIMIT]]
// CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[MAX:.*]], %{{.*}} : f32
// CHECK: %[[SHIFT:.*]] = arith.select %[[NONE]], %{{.*}}, %[[MAX]] : f32
// CHECK: %[[SCORE:.*]] = arith.subf %{{.*}}, %[[SHIFT]]
// CHECK: math.exp %[[SCORE]]
func.func private @zero_without_keys(%q: tensor<1x2x3x8xf32>, %k: tensor<1x2x?x8xf32, #nx.dims<1, 2, s0, 8>>, %v: tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>) -> tensor<1x2x3x4xf32> attributes {nx.family = "loops"} {
  %0 = nx.attention %q, %k, %v {scale = 0.5, causal = #nx.dims<s0 - 1>, zero_without_keys} : (tensor<1x2x3x8xf32>, tensor<1x2x?x8xf32, #nx.dims<1, 2, s0, 8>>, tensor<1x2x?x4xf32, #nx.dims<1, 2, s0, 4>>) -> tensor<1x2x3x4xf32>
  return %0 : tensor<1x2x3x4xf32>
}
