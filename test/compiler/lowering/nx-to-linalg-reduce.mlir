// RUN: nx-opt --nx-to-linalg --split-input-file --mlir-print-local-scope %s | FileCheck %s

// A mean divides by a count that is known at run time; kept dimensions come back as a view.

// CHECK-LABEL: func.func private @mean
// CHECK-SAME: %{{.*}}: tensor<?x?xf16>
// CHECK: %[[INIT:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<?xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} outs(%[[INIT]]
// CHECK: arith.extf
// CHECK: arith.addf {{.*}} : f32
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]]
// CHECK: arith.sitofp
// CHECK: arith.divf
// CHECK: arith.truncf {{.*}} : f32 to f16
// CHECK: tensor.expand_shape %[[MEAN]] {{\[}}[0, 1]]
func.func private @mean(%x: tensor<?x?xf16, #nx.dims<s0, s1>>) -> tensor<?x1xf16, #nx.dims<s0, 1>> attributes {nx.family = "loops"} {
  %0 = nx.reduce %x {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims}
      : (tensor<?x?xf16, #nx.dims<s0, s1>>) -> tensor<?x1xf16, #nx.dims<s0, 1>>
  return %0 : tensor<?x1xf16, #nx.dims<s0, 1>>
}

// -----

// "Any" of booleans is their maximum, unsigned.

// CHECK-LABEL: func.func private @any
// CHECK: arith.constant false
// CHECK: arith.maxui {{.*}} : i1
func.func private @any(%x: tensor<4x8xi1>) -> tensor<4xi1> attributes {nx.family = "loops"} {
  %0 = nx.reduce %x {kind = #nx<reduce_kind max>, axes = array<i64: 1>} : (tensor<4x8xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// CHECK-LABEL: func.func private @argmax
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi64>)
// CHECK: arith.cmpf ugt
// CHECK: arith.cmpf ord
func.func private @argmax(%x: tensor<4x8xf32>) -> tensor<4xi64> attributes {nx.family = "loops"} {
  %0 = nx.arg_reduce %x {kind = #nx<reduce_kind max>, axis = 1} : (tensor<4x8xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// A scan: the running sum is a result of its own. In reverse it runs over views that run backwards.

// CHECK-LABEL: func.func private @cumsum
// CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[0, 7] [4, 8] [1, -1]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} ins(%[[X]] {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
// CHECK: tensor.insert_slice {{.*}}[0, 7] [4, 8] [1, -1]
func.func private @cumsum(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {nx.family = "loops"} {
  %0 = nx.cumulative %x {axis = 1, reverse} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func private @softmax
// CHECK: arith.maximumf
// CHECK: arith.subf
// CHECK-NEXT: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: arith.mulf
func.func private @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {nx.family = "loops"} {
  %0 = nx.softmax %x {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The mean first, then the squares of what is left.

// CHECK-LABEL: func.func private @layer_norm
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}reduction
// CHECK: arith.addf
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]]
// CHECK: arith.divf
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[MEAN]]
// CHECK: arith.subf
// CHECK: linalg.generic {{.*}}reduction{{.*}} ins(%[[D]]
// CHECK: arith.mulf
// CHECK: math.sqrt
// CHECK: linalg.generic {{.*}} ins(%[[D]], %{{.*}}, %{{.*}}, %{{.*}} :
func.func private @layer_norm(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> attributes {nx.family = "loops"} {
  %0 = nx.layer_norm %x, %s, %b {axis = 1, epsilon = 1.0e-5, operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Groups of channels are a dimension of a view.

// CHECK-LABEL: func.func private @group_norm
// CHECK: tensor.expand_shape {{.*}} : tensor<?x6x5xf32> into tensor<?x3x2x5xf32>
// CHECK: tensor.collapse_shape {{.*}} : tensor<?x3x2x5xf32> into tensor<?x6x5xf32>
func.func private @group_norm(%x: tensor<?x6x5xf32, #nx.dims<s0, 6, 5>>, %s: tensor<6xf32>, %b: tensor<6xf32>)
    -> tensor<?x6x5xf32, #nx.dims<s0, 6, 5>> attributes {nx.family = "loops"} {
  %0 = nx.group_norm %x, %s, %b {groups = 3, epsilon = 1.0e-5}
      : (tensor<?x6x5xf32, #nx.dims<s0, 6, 5>>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x5xf32, #nx.dims<s0, 6, 5>>
  return %0 : tensor<?x6x5xf32, #nx.dims<s0, 6, 5>>
}
