// RUN: nx-opt %s -nx-fuse-forms | FileCheck %s

// x * 0.5 * (1 + erf(x / sqrt(2)))
// CHECK-LABEL: @geluErf
// CHECK-NEXT: %[[Y:.*]] = nx.gelu %arg0 :
// CHECK-NEXT: return %[[Y]]
func.func @geluErf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nx.constant dense<1.41421354> : tensor<f32>
  %one = nx.constant dense<1.0> : tensor<f32>
  %half = nx.constant dense<0.5> : tensor<f32>
  %a = nx.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = nx.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = nx.add %one, %b : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %d = nx.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nx.mul %d, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// The same in another order.
// CHECK-LABEL: @geluErfReordered
// CHECK-NEXT: nx.gelu %arg0 :
func.func @geluErfReordered(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nx.constant dense<0.707106769> : tensor<f32>
  %one = nx.constant dense<1.0> : tensor<f32>
  %half = nx.constant dense<0.5> : tensor<f32>
  %a = nx.mul %root, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %b = nx.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = nx.add %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = nx.mul %c, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %e = nx.mul %half, %d : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// CHECK-LABEL: @geluTanh
// CHECK-NEXT: nx.gelu %arg0 {tanh}
func.func @geluTanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = nx.constant dense<3.0> : tensor<f32>
  %c0 = nx.constant dense<4.471500e-02> : tensor<f32>
  %c1 = nx.constant dense<0.797884583> : tensor<f32>
  %one = nx.constant dense<1.0> : tensor<f32>
  %half = nx.constant dense<0.5> : tensor<f32>
  %h = nx.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %p = nx.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %q = nx.mul %p, %c0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %s = nx.add %x, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %t = nx.mul %s, %c1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %u = nx.tanh %t : (tensor<4xf32>) -> tensor<4xf32>
  %v = nx.add %u, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = nx.mul %h, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A wrong constant, and an intermediate value with another use.
// CHECK-LABEL: @geluNot
// CHECK-NOT: nx.gelu
// CHECK: return
func.func @geluNot(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %root = nx.constant dense<1.41421354> : tensor<f32>
  %one = nx.constant dense<1.0> : tensor<f32>
  %half = nx.constant dense<0.5> : tensor<f32>
  %a = nx.div %x, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = nx.erf %a : (tensor<4xf32>) -> tensor<4xf32>
  %c = nx.add %one, %b : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %d = nx.mul %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %e = nx.mul %d, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a2 = nx.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b2 = nx.erf %a2 : (tensor<4xf32>) -> tensor<4xf32>
  %c2 = nx.add %one, %b2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %e2 = nx.mul %d, %c2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %e, %e2, %b2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @silu
// CHECK-NEXT: nx.silu %arg0
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = nx.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = nx.mul %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @siluOfOther
// CHECK-NOT: nx.silu
func.func @siluOfOther(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %s = nx.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = nx.mul %s, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK-LABEL: @powers
// CHECK: %[[S:.*]] = nx.mul %arg0, %arg0
// CHECK: %[[C:.*]] = nx.mul %{{.*}}, %arg0
// CHECK: nx.sqrt %arg0
// CHECK: nx.pow
func.func @powers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = nx.constant dense<2.0> : tensor<f32>
  %three = nx.constant dense<3.0> : tensor<f32>
  %half = nx.constant dense<0.5> : tensor<f32>
  %odd = nx.constant dense<1.3> : tensor<f32>
  %a = nx.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = nx.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = nx.pow %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = nx.pow %x, %odd : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %a, %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @layerNorm
// CHECK-SAME: %[[X:.*]]: tensor<2x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>
// CHECK-NEXT: nx.layer_norm %[[X]], %[[W]], %[[B]] {axis = 1 : i64, epsilon = 9.9999997473787516E-6 : f64
func.func @layerNorm(%x: tensor<2x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x8xf32> {
  %two = nx.constant dense<2.0> : tensor<f32>
  %eps = nx.constant dense<1.0e-5> : tensor<f32>
  %m = nx.reduce %x {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %d = nx.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %s = nx.pow %d, %two : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xf32>
  %v = nx.reduce %s {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %e = nx.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = nx.sqrt %e : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %q = nx.div %d, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %y = nx.mul %q, %w : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %z = nx.add %y, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  return %z : tensor<2x8xf32>
}

// The difference is used elsewhere; the variance is over another axis than the last.
// CHECK-LABEL: @layerNormNot
// CHECK-NOT: nx.layer_norm
func.func @layerNormNot(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %eps = nx.constant dense<1.0e-5> : tensor<f32>
  %m = nx.reduce %x {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %d = nx.sub %x, %m : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %s = nx.mul %d, %d : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v = nx.reduce %s {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<2x8xf32>) -> tensor<2x1xf32>
  %e = nx.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = nx.sqrt %e : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %q = nx.div %d, %r : (tensor<2x8xf32>, tensor<2x1xf32>) -> tensor<2x8xf32>
  %m0 = nx.reduce %x {kind = #nx<reduce_kind mean>, axes = array<i64: 0>, keep_dims} : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %d0 = nx.sub %x, %m0 : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %s0 = nx.mul %d0, %d0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %v0 = nx.reduce %s0 {kind = #nx<reduce_kind mean>, axes = array<i64: 0>, keep_dims} : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %e0 = nx.add %v0, %eps : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %r0 = nx.sqrt %e0 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %q0 = nx.div %d0, %r0 : (tensor<2x8xf32>, tensor<1x8xf32>) -> tensor<2x8xf32>
  return %q, %d, %q0 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: @rmsNorm
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32, #nx.dims<s0, 8>>, %[[W:.*]]: tensor<8xf32>
// CHECK-NEXT: nx.rms_norm %[[X]], %[[W]] {axis = 1 : i64, epsilon = 9.9999999747524271E-7 : f64}
func.func @rmsNorm(%x: tensor<?x8xf32, #nx.dims<s0, 8>>, %w: tensor<8xf32>) -> tensor<?x8xf32, #nx.dims<s0, 8>> {
  %eps = nx.constant dense<1.0e-6> : tensor<f32>
  %s = nx.mul %x, %x : (tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  %v = nx.reduce %s {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x1xf32, #nx.dims<s0, 1>>
  %e = nx.add %v, %eps : (tensor<?x1xf32, #nx.dims<s0, 1>>, tensor<f32>) -> tensor<?x1xf32, #nx.dims<s0, 1>>
  %q = nx.sqrt %e : (tensor<?x1xf32, #nx.dims<s0, 1>>) -> tensor<?x1xf32, #nx.dims<s0, 1>>
  %i = nx.reciprocal %q : (tensor<?x1xf32, #nx.dims<s0, 1>>) -> tensor<?x1xf32, #nx.dims<s0, 1>>
  %n = nx.mul %x, %i : (tensor<?x8xf32, #nx.dims<s0, 8>>, tensor<?x1xf32, #nx.dims<s0, 1>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  %y = nx.mul %w, %n : (tensor<8xf32>, tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<?x8xf32, #nx.dims<s0, 8>>
  return %y : tensor<?x8xf32, #nx.dims<s0, 8>>
}

// A maximum that starts at -inf, and reductions that lose the axis and get it back.
// CHECK-LABEL: @softmax
// CHECK-NEXT: nx.softmax %arg0 {axis = 1 : i64}
func.func @softmax(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %inf = nx.constant dense<0xFF800000> : tensor<f32>
  %m = nx.reduce %x {kind = #nx<reduce_kind max>, axes = array<i64: 1>} : (tensor<3x5xf32>) -> tensor<3xf32>
  %m1 = nx.max %inf, %m : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %m2 = nx.reshape %m1 : (tensor<3xf32>) -> tensor<3x1xf32>
  %d = nx.sub %x, %m2 : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
  %e = nx.exp %d : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %s = nx.reduce %e {kind = #nx<reduce_kind sum>, axes = array<i64: 1>, keep_dims} : (tensor<3x5xf32>) -> tensor<3x1xf32>
  %y = nx.div %e, %s : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// The sum is over another axis than the maximum.
// CHECK-LABEL: @softmaxNot
// CHECK-NOT: nx.softmax
func.func @softmaxNot(%x: tensor<5x5xf32>) -> tensor<5x5xf32> {
  %m = nx.reduce %x {kind = #nx<reduce_kind max>, axes = array<i64: 1>, keep_dims} : (tensor<5x5xf32>) -> tensor<5x1xf32>
  %d = nx.sub %x, %m : (tensor<5x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>
  %e = nx.exp %d : (tensor<5x5xf32>) -> tensor<5x5xf32>
  %s = nx.reduce %e {kind = #nx<reduce_kind sum>, axes = array<i64: 0>, keep_dims} : (tensor<5x5xf32>) -> tensor<1x5xf32>
  %y = nx.div %e, %s : (tensor<5x5xf32>, tensor<1x5xf32>) -> tensor<5x5xf32>
  return %y : tensor<5x5xf32>
}

// Scale on query and key, an added mask that is broadcast, NaN weights replaced.
// CHECK-LABEL: @attention
// CHECK-SAME: %[[Q:.*]]: tensor<1x2x5x16xf32>, %[[K:.*]]: tensor<1x9x2x16xf32>, %[[V:.*]]: tensor<1x2x9x16xf32>, %[[M:.*]]: tensor<1x1x1x9xf32>
// CHECK-NEXT: %[[T:.*]] = nx.transpose %[[K]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT: nx.attention %[[Q]], %[[T]], %[[V]], %[[M]] {scale = 2.500000e-01 : f64, zero_without_keys}
// CHECK-NEXT: return
func.func @attention(%q: tensor<1x2x5x16xf32>, %k: tensor<1x9x2x16xf32>, %v: tensor<1x2x9x16xf32>, %m: tensor<1x1x1x9xf32>) -> tensor<1x2x5x16xf32> {
  %half = nx.constant dense<0.5> : tensor<f32>
  %zero = nx.constant dense<0.0> : tensor<f32>
  %qs = nx.mul %q, %half : (tensor<1x2x5x16xf32>, tensor<f32>) -> tensor<1x2x5x16xf32>
  %kt = nx.transpose %k {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x9x2x16xf32>) -> tensor<1x2x16x9xf32>
  %ks = nx.mul %kt, %half : (tensor<1x2x16x9xf32>, tensor<f32>) -> tensor<1x2x16x9xf32>
  %s = nx.matmul %qs, %ks : (tensor<1x2x5x16xf32>, tensor<1x2x16x9xf32>) -> tensor<1x2x5x9xf32>
  %mb = nx.broadcast %m : (tensor<1x1x1x9xf32>) -> tensor<1x1x5x9xf32>
  %a = nx.add %s, %mb : (tensor<1x2x5x9xf32>, tensor<1x1x5x9xf32>) -> tensor<1x2x5x9xf32>
  %p = nx.softmax %a {axis = 3 : i64} : (tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xf32>
  %nan = nx.is_nan %p : (tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xi1>
  %w = nx.select %nan, %zero, %p : (tensor<1x2x5x9xi1>, tensor<f32>, tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xf32>
  %o = nx.matmul %w, %v : (tensor<1x2x5x9xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x5x16xf32>
  return %o : tensor<1x2x5x16xf32>
}

// A boolean mask that is true for the keys to leave out; the scale divides the scores. Nothing guards a
// query that may use no key: it is NaN, as the softmax is.
// CHECK-LABEL: @booleanMask
// CHECK-DAG: %[[N:.*]] = nx.not %arg3
// CHECK: nx.attention %arg0, %arg1, %arg2, %[[N]] {scale = 2.500000e-01 : f64} :
func.func @booleanMask(%q: tensor<1x2x5x16xf32>, %k: tensor<1x2x9x16xf32>, %v: tensor<1x2x9x16xf32>, %m: tensor<5x9xi1>) -> tensor<1x2x5x16xf32> {
  %four = nx.constant dense<4.0> : tensor<f32>
  %inf = nx.constant dense<0xFF800000> : tensor<f32>
  %s = nx.matmul %q, %k {transpose_rhs} : (tensor<1x2x5x16xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x5x9xf32>
  %d = nx.div %s, %four : (tensor<1x2x5x9xf32>, tensor<f32>) -> tensor<1x2x5x9xf32>
  %a = nx.select %m, %inf, %d : (tensor<5x9xi1>, tensor<f32>, tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xf32>
  %p = nx.softmax %a {axis = 3 : i64} : (tensor<1x2x5x9xf32>) -> tensor<1x2x5x9xf32>
  %o = nx.matmul %p, %v : (tensor<1x2x5x9xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x5x16xf32>
  return %o : tensor<1x2x5x16xf32>
}

// The weights are a result too; a softmax over the queries; a choice of a finite number.
// CHECK-LABEL: @attentionNot
// CHECK-NOT: nx.attention
func.func @attentionNot(%q: tensor<1x2x9x16xf32>, %k: tensor<1x2x9x16xf32>, %v: tensor<1x2x9x16xf32>, %m: tensor<9x9xi1>)
    -> (tensor<1x2x9x16xf32>, tensor<1x2x9x9xf32>, tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>) {
  %low = nx.constant dense<-1.0e4> : tensor<f32>
  %s = nx.matmul %q, %k {transpose_rhs} : (tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x9x9xf32>
  %p = nx.softmax %s {axis = 3 : i64} : (tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
  %o = nx.matmul %p, %v : (tensor<1x2x9x9xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x9x16xf32>
  %s2 = nx.matmul %k, %q {transpose_rhs} : (tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x9x9xf32>
  %p2 = nx.softmax %s2 {axis = 2 : i64} : (tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
  %o2 = nx.matmul %p2, %v : (tensor<1x2x9x9xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x9x16xf32>
  %s3 = nx.matmul %v, %q {transpose_rhs} : (tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x9x9xf32>
  %a3 = nx.select %m, %s3, %low : (tensor<9x9xi1>, tensor<1x2x9x9xf32>, tensor<f32>) -> tensor<1x2x9x9xf32>
  %p3 = nx.softmax %a3 {axis = 3 : i64} : (tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
  %o3 = nx.matmul %p3, %v : (tensor<1x2x9x9xf32>, tensor<1x2x9x16xf32>) -> tensor<1x2x9x16xf32>
  return %o, %p, %o2, %o3 : tensor<1x2x9x16xf32>, tensor<1x2x9x9xf32>, tensor<1x2x9x16xf32>, tensor<1x2x9x16xf32>
}

// -----

// The heads are merged into the batch around both products, query and key are scaled, and a query whose scores are all
// -inf gets zeros.
// CHECK-LABEL: @attention_safe_softmax
// CHECK-NEXT: nx.attention %arg0, %arg1, %arg2, %arg3 {scale = 2.500000e-01 : f64, zero_without_keys}
// CHECK-NEXT: return
func.func @attention_safe_softmax(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x5x8xf32>, %v: tensor<2x3x5x6xf32>, %mask: tensor<4x5xf32>) -> tensor<2x3x4x6xf32> {
  %half = nx.constant dense<0.5> : tensor<f32>
  %inf = nx.constant dense<0xFF800000> : tensor<f32>
  %zero = nx.constant dense<0.0> : tensor<2x3x4x5xf32>
  %0 = nx.mul %q, %half : (tensor<2x3x4x8xf32>, tensor<f32>) -> tensor<2x3x4x8xf32>
  %1 = nx.transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x3x5x8xf32>) -> tensor<2x3x8x5xf32>
  %2 = nx.mul %1, %half : (tensor<2x3x8x5xf32>, tensor<f32>) -> tensor<2x3x8x5xf32>
  %3 = nx.reshape %0 : (tensor<2x3x4x8xf32>) -> tensor<6x4x8xf32>
  %4 = nx.reshape %2 : (tensor<2x3x8x5xf32>) -> tensor<6x8x5xf32>
  %5 = nx.matmul %3, %4 : (tensor<6x4x8xf32>, tensor<6x8x5xf32>) -> tensor<6x4x5xf32>
  %6 = nx.reshape %5 : (tensor<6x4x5xf32>) -> tensor<2x3x4x5xf32>
  %7 = nx.add %6, %mask : (tensor<2x3x4x5xf32>, tensor<4x5xf32>) -> tensor<2x3x4x5xf32>
  %8 = nx.softmax %7 {axis = 3 : i64} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %9 = nx.compare %7, %inf {predicate = #nx<compare_predicate eq>} : (tensor<2x3x4x5xf32>, tensor<f32>) -> tensor<2x3x4x5xi1>
  %10 = nx.not %9 : (tensor<2x3x4x5xi1>) -> tensor<2x3x4x5xi1>
  %11 = nx.reduce %10 {kind = #nx<reduce_kind max>, axes = array<i64: 3>, keep_dims} : (tensor<2x3x4x5xi1>) -> tensor<2x3x4x1xi1>
  %12 = nx.not %11 : (tensor<2x3x4x1xi1>) -> tensor<2x3x4x1xi1>
  %13 = nx.select %12, %zero, %8 : (tensor<2x3x4x1xi1>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %14 = nx.reshape %13 : (tensor<2x3x4x5xf32>) -> tensor<6x4x5xf32>
  %15 = nx.reshape %v : (tensor<2x3x5x6xf32>) -> tensor<6x5x6xf32>
  %16 = nx.matmul %14, %15 : (tensor<6x4x5xf32>, tensor<6x5x6xf32>) -> tensor<6x4x6xf32>
  %17 = nx.reshape %16 : (tensor<6x4x6xf32>) -> tensor<2x3x4x6xf32>
  return %17 : tensor<2x3x4x6xf32>
}

// -----

// A guard that asks for another number is no guard, and a split into other dimensions is no batch.
// CHECK-LABEL: @no_safe_softmax
// CHECK-NOT: nx.attention
// CHECK: nx.matmul {{.*}} -> tensor<6x4x5xf32>
// CHECK: nx.softmax
// CHECK-NOT: nx.attention
func.func @no_safe_softmax(%q: tensor<6x4x8xf32>, %k: tensor<6x8x5xf32>, %v: tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32> {
  %one = nx.constant dense<1.0> : tensor<f32>
  %zero = nx.constant dense<0.0> : tensor<2x3x4x5xf32>
  %5 = nx.matmul %q, %k : (tensor<6x4x8xf32>, tensor<6x8x5xf32>) -> tensor<6x4x5xf32>
  %7 = nx.reshape %5 : (tensor<6x4x5xf32>) -> tensor<2x3x4x5xf32>
  %8 = nx.softmax %7 {axis = 3 : i64} : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %9 = nx.compare %7, %one {predicate = #nx<compare_predicate eq>} : (tensor<2x3x4x5xf32>, tensor<f32>) -> tensor<2x3x4x5xi1>
  %10 = nx.not %9 : (tensor<2x3x4x5xi1>) -> tensor<2x3x4x5xi1>
  %11 = nx.reduce %10 {kind = #nx<reduce_kind max>, axes = array<i64: 3>, keep_dims} : (tensor<2x3x4x5xi1>) -> tensor<2x3x4x1xi1>
  %12 = nx.not %11 : (tensor<2x3x4x1xi1>) -> tensor<2x3x4x1xi1>
  %13 = nx.select %12, %zero, %8 : (tensor<2x3x4x1xi1>, tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %16 = nx.matmul %13, %v : (tensor<2x3x4x5xf32>, tensor<2x3x5x6xf32>) -> tensor<2x3x4x6xf32>
  return %16 : tensor<2x3x4x6xf32>
}
