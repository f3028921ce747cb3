// RUN: nx-opt %s -nx-canonicalize | FileCheck %s

// CHECK-LABEL: @neutral
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[M:.*]]: tensor<4xi1>
// CHECK-NEXT: return %[[X]], %[[M]]
func.func @neutral(%x: tensor<4xf32>, %m: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>) {
  %one = nx.constant dense<1.0> : tensor<f32>
  %true = nx.constant dense<true> : tensor<i1>
  %a = nx.mul %one, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %b = nx.div %a, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nx.and %m, %true : (tensor<4xi1>, tensor<i1>) -> tensor<4xi1>
  return %b, %c : tensor<4xf32>, tensor<4xi1>
}

// x + 0 turns -0 into 0, 1 is not neutral for bits, and 1 / x is no x.
// CHECK-LABEL: @notNeutral
// CHECK: nx.add
// CHECK: nx.and
// CHECK: nx.div
func.func @notNeutral(%x: tensor<4xf32>, %m: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %zero = nx.constant dense<0.0> : tensor<f32>
  %one = nx.constant dense<1> : tensor<i32>
  %onef = nx.constant dense<1.0> : tensor<f32>
  %a = nx.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = nx.and %m, %one : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %c = nx.div %onef, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %a, %b, %c : tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}

// CHECK-LABEL: @broadcasts
// CHECK-SAME: %[[X:.*]]: tensor<1x4xf32>, %[[Y:.*]]: tensor<3x4xf32>
// CHECK-NEXT: %[[A:.*]] = nx.add %[[X]], %[[Y]] : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[E:.*]] = nx.exp %[[X]]
// CHECK-NEXT: %[[B:.*]] = nx.broadcast %[[E]]
// CHECK-NEXT: return %[[A]], %[[B]]
func.func @broadcasts(%x: tensor<1x4xf32>, %y: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %b = nx.broadcast %x : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %a = nx.add %b, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %e = nx.exp %b : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %a, %e : tensor<3x4xf32>, tensor<3x4xf32>
}

// The mask of a vectorized map: positions are never negative, and the gather reads a grid.
// CHECK-LABEL: @mask
// CHECK-SAME: %[[M:.*]]: tensor<?x?xi1, #nx.dims<s0, s1>>
// CHECK-NEXT: %[[R:.*]] = nx.reshape %[[M]] : {{.*}} -> tensor<?x1x1x?xi1, #nx.dims<s0, 1, 1, s1>>
// CHECK-NEXT: %[[B:.*]] = nx.broadcast %[[R]] : {{.*}} -> tensor<?x1x?x?xi1, #nx.dims<s0, 1, s1, s1>>
// CHECK-NEXT: return %[[B]]
func.func @mask(%m: tensor<?x?xi1, #nx.dims<s0, s1>>) -> tensor<?x1x?x?xi1, #nx.dims<s0, 1, s1, s1>> {
  %zero = nx.constant dense<0> : tensor<i64>
  %b = nx.iota {axis = 0 : i64, start = #nx.dims<0>, step = #nx.dims<1>} : tensor<?xi64, #nx.dims<s0>>
  %s = nx.iota {axis = 0 : i64, start = #nx.dims<0>, step = #nx.dims<1>} : tensor<?xi64, #nx.dims<s1>>
  %b4 = nx.reshape %b : (tensor<?xi64, #nx.dims<s0>>) -> tensor<?x1x1x1xi64, #nx.dims<s0, 1, 1, 1>>
  %s4 = nx.reshape %s : (tensor<?xi64, #nx.dims<s1>>) -> tensor<1x1x1x?xi64, #nx.dims<1, 1, 1, s1>>
  %bb = nx.broadcast %b4 : (tensor<?x1x1x1xi64, #nx.dims<s0, 1, 1, 1>>) -> tensor<?x1x1x?xi64, #nx.dims<s0, 1, 1, s1>>
  %sb = nx.broadcast %s4 : (tensor<1x1x1x?xi64, #nx.dims<1, 1, 1, s1>>) -> tensor<?x1x1x?xi64, #nx.dims<s0, 1, 1, s1>>
  %bi = nx.reshape %bb : (tensor<?x1x1x?xi64, #nx.dims<s0, 1, 1, s1>>) -> tensor<?x1x1x?x1xi64, #nx.dims<s0, 1, 1, s1, 1>>
  %si = nx.reshape %sb : (tensor<?x1x1x?xi64, #nx.dims<s0, 1, 1, s1>>) -> tensor<?x1x1x?x1xi64, #nx.dims<s0, 1, 1, s1, 1>>
  %i = nx.concat %bi, %si {axis = 4 : i64} : (tensor<?x1x1x?x1xi64, #nx.dims<s0, 1, 1, s1, 1>>, tensor<?x1x1x?x1xi64, #nx.dims<s0, 1, 1, s1, 1>>) -> tensor<?x1x1x?x2xi64, #nx.dims<s0, 1, 1, s1, 2>>
  %g = nx.gather_nd %m, %i {batch_dims = 0 : i64} : (tensor<?x?xi1, #nx.dims<s0, s1>>, tensor<?x1x1x?x2xi64, #nx.dims<s0, 1, 1, s1, 2>>) -> tensor<?x1x1x?xi1, #nx.dims<s0, 1, 1, s1>>
  %q = nx.reshape %s : (tensor<?xi64, #nx.dims<s1>>) -> tensor<1x1x?x1xi64, #nx.dims<1, 1, s1, 1>>
  %ge = nx.compare %q, %zero {predicate = #nx<compare_predicate ge>} : (tensor<1x1x?x1xi64, #nx.dims<1, 1, s1, 1>>, tensor<i64>) -> tensor<1x1x?x1xi1, #nx.dims<1, 1, s1, 1>>
  %r = nx.and %ge, %g : (tensor<1x1x?x1xi1, #nx.dims<1, 1, s1, 1>>, tensor<?x1x1x?xi1, #nx.dims<s0, 1, 1, s1>>) -> tensor<?x1x?x?xi1, #nx.dims<s0, 1, s1, s1>>
  return %r : tensor<?x1x?x?xi1, #nx.dims<s0, 1, s1, s1>>
}

// Not a grid: both components run along one axis.
// CHECK-LABEL: @diagonal
// CHECK: nx.gather_nd
func.func @diagonal(%m: tensor<4x4xf32>) -> tensor<4xf32> {
  %i = nx.iota {axis = 0 : i64, start = #nx.dims<0>, step = #nx.dims<1>} : tensor<4x1xi64>
  %both = nx.concat %i, %i {axis = 1 : i64} : (tensor<4x1xi64>, tensor<4x1xi64>) -> tensor<4x2xi64>
  %g = nx.gather_nd %m, %both {batch_dims = 0 : i64} : (tensor<4x4xf32>, tensor<4x2xi64>) -> tensor<4xf32>
  return %g : tensor<4xf32>
}

// CHECK-LABEL: @linear
// CHECK-SAME: %[[X:.*]]: tensor<2x8x64xf32>, %[[W:.*]]: tensor<64x32xf32>, %[[B:.*]]: tensor<32xf32>
// CHECK-NEXT: %[[P:.*]] = nx.matmul %[[X]], %[[W]] : {{.*}} -> tensor<2x8x32xf32>
// CHECK-NEXT: %[[S:.*]] = nx.add %[[P]], %[[B]] : {{.*}} -> tensor<2x8x32xf32>
// CHECK-NEXT: return %[[S]]
func.func @linear(%x: tensor<2x8x64xf32>, %w: tensor<64x32xf32>, %b: tensor<32xf32>) -> tensor<2x8x32xf32> {
  %m = nx.reshape %x : (tensor<2x8x64xf32>) -> tensor<16x64xf32>
  %p = nx.matmul %m, %w : (tensor<16x64xf32>, tensor<64x32xf32>) -> tensor<16x32xf32>
  %s = nx.add %p, %b : (tensor<16x32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
  %r = nx.reshape %s : (tensor<16x32xf32>) -> tensor<2x8x32xf32>
  return %r : tensor<2x8x32xf32>
}

// The contracted dimension is cut: the reshape must stay.
// CHECK-LABEL: @cut
// CHECK: nx.reshape
// CHECK: nx.matmul
func.func @cut(%x: tensor<2x8x64xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %m = nx.reshape %x : (tensor<2x8x64xf32>) -> tensor<32x32xf32>
  %p = nx.matmul %m, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  return %p : tensor<32x32xf32>
}

// CHECK-LABEL: @merged
// CHECK-SAME: %[[X:.*]]: tensor<?x4x?x16xf32
// CHECK-NEXT: %[[T:.*]] = nx.transpose %[[X]] {perm = array<i64: 0, 1, 3, 2>}
// CHECK-NEXT: return %[[T]]
func.func @merged(%x: tensor<?x4x?x16xf32, #nx.dims<s0, 4, s1, 16>>) -> tensor<?x4x16x?xf32, #nx.dims<s0, 4, 16, s1>> {
  %m = nx.reshape %x : (tensor<?x4x?x16xf32, #nx.dims<s0, 4, s1, 16>>) -> tensor<?x?x16xf32, #nx.dims<s0 * 4, s1, 16>>
  %t = nx.transpose %m {perm = array<i64: 0, 2, 1>} : (tensor<?x?x16xf32, #nx.dims<s0 * 4, s1, 16>>) -> tensor<?x16x?xf32, #nx.dims<s0 * 4, 16, s1>>
  %r = nx.reshape %t : (tensor<?x16x?xf32, #nx.dims<s0 * 4, 16, s1>>) -> tensor<?x4x16x?xf32, #nx.dims<s0, 4, 16, s1>>
  return %r : tensor<?x4x16x?xf32, #nx.dims<s0, 4, 16, s1>>
}
