// RUN: nx-opt --nx-to-linalg --split-input-file --mlir-print-local-scope %s | FileCheck %s

// Sizes become attributes, symbols index arguments; a dimension of size 1 is read at index 0.

// CHECK-LABEL: func.func private @broadcast
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?x4x?xf32> {nx.shape = affine_map<()[s0, s1] -> (s0, 4, s1 * 2)>}
// CHECK-SAME: %[[Y:[a-z0-9]+]]: tensor<?x1x?xf32> {nx.shape = affine_map<()[s0, s1] -> (s0, 1, s1 * 2)>}
// CHECK-SAME: %[[S0:[a-z0-9]+]]: index {nx.symbol = 0 : i64}, %[[S1:[a-z0-9]+]]: index {nx.symbol = 1 : i64})
// CHECK-SAME: -> (tensor<?x4x?xf32> {nx.shape = affine_map<()[s0, s1] -> (s0, 4, s1 * 2)>})
// CHECK: %[[D2:.*]] = affine.apply affine_map<()[s0, s1] -> (s1 * 2)>()[%[[S0]], %[[S1]]]
// CHECK: %[[E:.*]] = tensor.empty(%[[S0]], %[[D2]]) : tensor<?x4x?xf32>
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
// CHECK-SAME: ins(%[[X]], %[[Y]] : tensor<?x4x?xf32>, tensor<?x1x?xf32>) outs(%[[E]]
// CHECK: arith.addf
func.func private @broadcast(%x: tensor<?x4x?xf32, #nx.dims<s0, 4, s1 * 2>>, %y: tensor<?x1x?xf32, #nx.dims<s0, 1, s1 * 2>>)
    -> tensor<?x4x?xf32, #nx.dims<s0, 4, s1 * 2>> attributes {nx.family = "loops"} {
  %0 = nx.add %x, %y : (tensor<?x4x?xf32, #nx.dims<s0, 4, s1 * 2>>, tensor<?x1x?xf32, #nx.dims<s0, 1, s1 * 2>>)
      -> tensor<?x4x?xf32, #nx.dims<s0, 4, s1 * 2>>
  return %0 : tensor<?x4x?xf32, #nx.dims<s0, 4, s1 * 2>>
}

// -----

// f16 and bf16 compute in f32, with one rounding for each operation.

// CHECK-LABEL: func.func private @half
// CHECK: ^bb0(%[[X:.*]]: f16, %[[Y:.*]]: f16, %{{.*}}: f16):
// CHECK-NEXT: %[[A:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT: %[[B:.*]] = arith.extf %[[Y]] : f16 to f32
// CHECK-NEXT: %[[S:.*]] = arith.subf %[[A]], %[[B]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[S]] : f32 to f16
// CHECK-NEXT: linalg.yield %[[R]]
func.func private @half(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> attributes {nx.family = "loops"} {
  %0 = nx.sub %x, %y : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// Unsigned elements lose their sign in the types and keep it in the operations.

// CHECK-LABEL: func.func private @unsigned
// CHECK-SAME: %{{.*}}: tensor<4xi8>
// CHECK: arith.constant dense<[1, 2, -1, 3]> : tensor<4xi8>
// CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : i8
func.func private @unsigned(%x: tensor<4xui8>) -> tensor<4xi1> attributes {nx.family = "loops"} {
  %c = nx.constant dense<[1, 2, 255, 3]> : tensor<4xui8>
  %0 = nx.compare %x, %c {predicate = #nx<compare_predicate lt>} : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// Moving data rounds nothing.

// CHECK-LABEL: func.func private @select
// CHECK: arith.select %{{.*}} : f32
func.func private @select(%c: tensor<4x1xi1>, %x: tensor<4x3xf32>) -> tensor<4x3xf32> attributes {nx.family = "loops"} {
  %z = nx.constant dense<0.0> : tensor<f32>
  %0 = nx.select %c, %x, %z : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// Values made of sizes.

// CHECK-LABEL: func.func private @sizes
// CHECK-SAME: (%[[S0:[a-z0-9]+]]: index {nx.symbol = 0 : i64}, %[[S1:[a-z0-9]+]]: index {nx.symbol = 1 : i64})
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2xi64>)
// CHECK: %[[LAST:.*]] = arith.constant 7 : i64
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[S0]] : index to i64
// CHECK: arith.select %{{.*}}, %[[FIRST]], %[[LAST]]
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?xf32>)
// CHECK: %[[J:.*]] = linalg.index 0
// CHECK: arith.addi %{{.*}}, %[[S0]]
// CHECK: arith.sitofp
func.func private @sizes() -> (tensor<2xi64>, tensor<?xf32, #nx.dims<s1>>) attributes {nx.family = "loops"} {
  %0 = nx.shape_value <s0, 7> : tensor<2xi64>
  %1 = nx.iota {axis = 0, start = #nx.dims<s0>, step = #nx.dims<2>} : tensor<?xf32, #nx.dims<s1>>
  return %0, %1 : tensor<2xi64>, tensor<?xf32, #nx.dims<s1>>
}

// -----

// Functions of other families, and programs, stay as they are.

// CHECK-LABEL: func.func @program
// CHECK: nx.add
// CHECK-LABEL: func.func private @contract
// CHECK: nx.matmul
func.func @program(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nx.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @contract(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {nx.family = "contract"} {
  %0 = nx.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
