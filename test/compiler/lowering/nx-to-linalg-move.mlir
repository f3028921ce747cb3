// RUN: nx-opt --nx-to-linalg --split-input-file --mlir-print-local-scope %s | FileCheck %s

// CHECK-LABEL: func.func private @transpose
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>,
func.func private @transpose(%x: tensor<4x8xf32>) -> tensor<8x4xf32> attributes {nx.family = "loops"} {
  %0 = nx.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func private @reshape
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [%{{.*}}, 12, 64] : tensor<?x768xf32> into tensor<?x12x64xf32>
func.func private @reshape(%x: tensor<?x768xf32, #nx.dims<s0, 768>>) -> tensor<?x12x64xf32, #nx.dims<s0, 12, 64>> attributes {nx.family = "loops"} {
  %0 = nx.reshape %x : (tensor<?x768xf32, #nx.dims<s0, 768>>) -> tensor<?x12x64xf32, #nx.dims<s0, 12, 64>>
  return %0 : tensor<?x12x64xf32, #nx.dims<s0, 12, 64>>
}

// -----

// A start by the executing rank: the value of a symbol that is no size.

// CHECK-LABEL: func.func private @slice
// CHECK-SAME: %[[S0:[a-z0-9]+]]: index {nx.symbol = 0 : i64}, %[[S1:[a-z0-9]+]]: index {nx.symbol = 1 : i64}
// CHECK: %[[START:.*]] = affine.apply affine_map<()[s0, s1] -> (s1 * 4)>()[%[[S0]], %[[S1]]]
// CHECK: tensor.extract_slice %{{.*}}[0, %[[START]]] [%[[S0]], 4] [1, 1]
func.func private @slice(%x: tensor<?x16xf32, #nx.dims<s0, 16>>) -> tensor<?x4xf32, #nx.dims<s0, 4>> attributes {nx.family = "loops"} {
  %0 = nx.slice %x {starts = #nx.dims<0, s1 * 4>, steps = array<i64: 1, 1>}
      : (tensor<?x16xf32, #nx.dims<s0, 16>>) -> tensor<?x4xf32, #nx.dims<s0, 4>>
  return %0 : tensor<?x4xf32, #nx.dims<s0, 4>>
}

// -----

// CHECK-LABEL: func.func private @concat
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [2, %{{.*}}] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, %{{.*}}] [2, 3] [1, 1]
func.func private @concat(%x: tensor<2x?xf32, #nx.dims<2, s0>>, %y: tensor<2x3xf32>, %z: tensor<2x0xf32>)
    -> tensor<2x?xf32, #nx.dims<2, s0 + 3>> attributes {nx.family = "loops"} {
  %0 = nx.concat %x, %z, %y {axis = 1} : (tensor<2x?xf32, #nx.dims<2, s0>>, tensor<2x0xf32>, tensor<2x3xf32>)
      -> tensor<2x?xf32, #nx.dims<2, s0 + 3>>
  return %0 : tensor<2x?xf32, #nx.dims<2, s0 + 3>>
}

// -----

// Plain padding is a copy into a filled tensor; negative amounts are a slice of it.

// CHECK-LABEL: func.func private @pad
// CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[1, 0] [3, 8]
// CHECK: tensor.insert_slice %[[X]] into %{{.*}}[0, 2] [3, 8]
func.func private @pad(%x: tensor<4x8xf32>) -> tensor<3x11xf32> attributes {nx.family = "loops"} {
  %0 = nx.pad %x {lo = #nx.dims<-1, 2>, hi = #nx.dims<0, 1>, mode = #nx<pad_mode constant>} : (tensor<4x8xf32>) -> tensor<3x11xf32>
  return %0 : tensor<3x11xf32>
}

// -----

// A sum of symbols is not negative.

// CHECK-LABEL: func.func private @pad_symbolic
// CHECK-NOT: tensor.extract
// CHECK: tensor.insert_slice
func.func private @pad_symbolic(%x: tensor<?xf32, #nx.dims<s0>>, %v: tensor<f32>) -> tensor<?xf32, #nx.dims<s0 + s1 + 1>> attributes {nx.family = "loops"} {
  %0 = nx.pad %x, %v {lo = #nx.dims<s1 + 1>, hi = #nx.dims<0>, mode = #nx<pad_mode constant>}
      : (tensor<?xf32, #nx.dims<s0>>, tensor<f32>) -> tensor<?xf32, #nx.dims<s0 + s1 + 1>>
  return %0 : tensor<?xf32, #nx.dims<s0 + s1 + 1>>
}

// -----

// Amounts of unknown sign, and the other modes, compute where each element comes from.

// CHECK-LABEL: func.func private @pad_unknown
// CHECK: arith.cmpi ult
// CHECK: tensor.extract
// CHECK: arith.select
func.func private @pad_unknown(%x: tensor<?xf32, #nx.dims<s0>>, %v: tensor<f32>) -> tensor<?xf32, #nx.dims<s0 + s1 - 2>> attributes {nx.family = "loops"} {
  %0 = nx.pad %x, %v {lo = #nx.dims<s1 - 2>, hi = #nx.dims<0>, mode = #nx<pad_mode constant>}
      : (tensor<?xf32, #nx.dims<s0>>, tensor<f32>) -> tensor<?xf32, #nx.dims<s0 + s1 - 2>>
  return %0 : tensor<?xf32, #nx.dims<s0 + s1 - 2>>
}

// -----

// Negative indices count from the end; the code generator checks them.

// CHECK-LABEL: func.func private @gather
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<9x?xf32>
// CHECK: %[[I:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: arith.cmpi slt, %[[I]]
// CHECK: %[[W:.*]] = arith.select %{{.*}}, %{{.*}}, %[[I]]
// CHECK: tensor.extract %[[X]][%[[W]], %{{.*}}]
func.func private @gather(%x: tensor<9x?xf32, #nx.dims<9, s0>>, %i: tensor<4xi32>) -> tensor<4x?xf32, #nx.dims<4, s0>> attributes {nx.family = "loops"} {
  %0 = nx.gather %x, %i {axis = 0} : (tensor<9x?xf32, #nx.dims<9, s0>>, tensor<4xi32>) -> tensor<4x?xf32, #nx.dims<4, s0>>
  return %0 : tensor<4x?xf32, #nx.dims<4, s0>>
}

// -----

// Without elements there is nothing to compute.

// CHECK-LABEL: func.func private @empty
// CHECK-NOT: extract_slice
// CHECK: linalg.fill
func.func private @empty(%x: tensor<4x6xf32>) -> tensor<4x0xf32> attributes {nx.family = "loops"} {
  %0 = nx.slice %x {starts = #nx.dims<0, 6>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x0xf32>
  return %0 : tensor<4x0xf32>
}
