// Column, then row, with the bias of the row added once; and what does not pay stays whole.
// RUN: nx-opt %s -split-input-file -nx-partition=degree=4 | FileCheck %s

// CHECK-LABEL: func.func @mlp
func.func @mlp(%x: tensor<?x1024xf32, #nx.dims<s0, 1024>>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>> {
  // CHECK-DAG: %[[W1:.*]] = nx.param "up.weight" source tensor<4096x1024xf32> recipe [#nx.transpose<1, 0>, #nx.shard<dim = 1, parts = 4>, #nx.pack] : tensor<1024x1024xf32>
  %w1 = nx.param "up.weight" source tensor<4096x1024xf32> recipe [#nx.transpose<1, 0>, #nx.pack] : tensor<1024x4096xf32>
  // CHECK-DAG: %[[B1:.*]] = nx.param "up.bias" source tensor<4096xf32> recipe [#nx.shard<dim = 0, parts = 4>] : tensor<1024xf32>
  %b1 = nx.param "up.bias" source tensor<4096xf32> : tensor<4096xf32>
  // CHECK-DAG: %[[W2:.*]] = nx.param "down.weight" source tensor<1024x4096xf32> recipe [#nx.shard<dim = 1, parts = 4>] : tensor<1024x1024xf32>
  %w2 = nx.param "down.weight" source tensor<1024x4096xf32> : tensor<1024x4096xf32>
  // CHECK-DAG: %[[B2:.*]] = nx.param "down.bias" source tensor<1024xf32> : tensor<1024xf32>
  %b2 = nx.param "down.bias" source tensor<1024xf32> : tensor<1024xf32>
  // CHECK: nx.matmul %arg0, %[[W1]]
  // CHECK: nx.add %{{.*}}, %[[B1]]
  // CHECK-NEXT: %[[G:.*]] = nx.gelu
  // CHECK: %[[P:.*]] = nx.matmul %[[G]], %[[W2]] {transpose_rhs}
  // CHECK-NEXT: %[[S:.*]] = nx.all_reduce %[[P]] {kind = #nx<reduce_kind sum>, parts = 4 : i64}
  // CHECK-NEXT: nx.add %[[S]], %[[B2]]
  // CHECK-NEXT: nx.add
  // CHECK-NEXT: return
  %h = nx.matmul %x, %w1 : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024x4096xf32>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>>
  %hb = nx.add %h, %b1 : (tensor<?x4096xf32, #nx.dims<s0, 4096>>, tensor<4096xf32>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>>
  %g = nx.gelu %hb : (tensor<?x4096xf32, #nx.dims<s0, 4096>>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>>
  %y = nx.matmul %g, %w2 {transpose_rhs} : (tensor<?x4096xf32, #nx.dims<s0, 4096>>, tensor<1024x4096xf32>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  %yb = nx.add %y, %b2 : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024xf32>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  %r = nx.add %yb, %x : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<?x1024xf32, #nx.dims<s0, 1024>>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  return %r : tensor<?x1024xf32, #nx.dims<s0, 1024>>
}

// -----

// Gate and up share the split; two parallel branches are summed once.
// CHECK-LABEL: func.func @gated
func.func @gated(%x: tensor<?x1024xf32, #nx.dims<s0, 1024>>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>> {
  %wg = nx.param "gate" source tensor<1024x2048xf32> : tensor<1024x2048xf32>
  %wu = nx.param "up" source tensor<1024x2048xf32> : tensor<1024x2048xf32>
  %wd = nx.param "down" source tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %wa = nx.param "a" source tensor<1024x2048xf32> : tensor<1024x2048xf32>
  %wb = nx.param "b" source tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %bias = nx.param "bias" source tensor<1024xf32> : tensor<1024xf32>
  // CHECK-COUNT-4: nx.matmul
  // CHECK: nx.matmul
  // CHECK-NOT: nx.all_
  // CHECK: %[[SUM:.*]] = nx.add
  // CHECK-NEXT: %[[ALL:.*]] = nx.all_reduce %[[SUM]]
  // CHECK-NEXT: nx.add %[[ALL]]
  // CHECK-NEXT: return
  %g = nx.matmul %x, %wg : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024x2048xf32>) -> tensor<?x2048xf32, #nx.dims<s0, 2048>>
  %u = nx.matmul %x, %wu : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024x2048xf32>) -> tensor<?x2048xf32, #nx.dims<s0, 2048>>
  %s = nx.silu %g : (tensor<?x2048xf32, #nx.dims<s0, 2048>>) -> tensor<?x2048xf32, #nx.dims<s0, 2048>>
  %m = nx.mul %s, %u : (tensor<?x2048xf32, #nx.dims<s0, 2048>>, tensor<?x2048xf32, #nx.dims<s0, 2048>>) -> tensor<?x2048xf32, #nx.dims<s0, 2048>>
  %d = nx.matmul %m, %wd : (tensor<?x2048xf32, #nx.dims<s0, 2048>>, tensor<2048x1024xf32>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  %db = nx.add %d, %bias : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024xf32>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  %a = nx.matmul %x, %wa : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024x2048xf32>) -> tensor<?x2048xf32, #nx.dims<s0, 2048>>
  %r = nx.relu %a : (tensor<?x2048xf32, #nx.dims<s0, 2048>>) -> tensor<?x2048xf32, #nx.dims<s0, 2048>>
  %b = nx.matmul %r, %wb : (tensor<?x2048xf32, #nx.dims<s0, 2048>>, tensor<2048x1024xf32>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  %o = nx.add %db, %b : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<?x1024xf32, #nx.dims<s0, 1024>>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>>
  return %o : tensor<?x1024xf32, #nx.dims<s0, 1024>>
}

// -----

// A split of the vocabulary pays; its softmax needs the whole row, the weight is never gathered.
// CHECK-LABEL: func.func @head
func.func @head(%x: tensor<?x768xf32, #nx.dims<s0, 768>>) -> tensor<?x32000xf32, #nx.dims<s0, 32000>> {
  // CHECK: nx.param "head" source tensor<32000x768xf32> recipe [#nx.shard<dim = 0, parts = 4>] : tensor<8000x768xf32>
  // CHECK-NEXT: nx.matmul
  // CHECK-NEXT: nx.all_gather %{{.*}} {dim = 1 : i64, parts = 4 : i64}
  // CHECK-NEXT: nx.softmax
  %w = nx.param "head" source tensor<32000x768xf32> : tensor<32000x768xf32>
  %y = nx.matmul %x, %w {transpose_rhs} : (tensor<?x768xf32, #nx.dims<s0, 768>>, tensor<32000x768xf32>) -> tensor<?x32000xf32, #nx.dims<s0, 32000>>
  %p = nx.softmax %y {axis = 1 : i64} : (tensor<?x32000xf32, #nx.dims<s0, 32000>>) -> tensor<?x32000xf32, #nx.dims<s0, 32000>>
  return %p : tensor<?x32000xf32, #nx.dims<s0, 32000>>
}

// -----

// Too small to be worth a collective.
// CHECK-LABEL: func.func @small
func.func @small(%x: tensor<1x64xf32>) -> tensor<1x64xf32> {
  // CHECK: nx.param "w" source tensor<64x64xf32> : tensor<64x64xf32>
  // CHECK-NOT: nx.all
  %w = nx.param "w" source tensor<64x64xf32> : tensor<64x64xf32>
  %y = nx.matmul %x, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}

// -----

// Batch and sequence belong to the data, even when they are static: not split, although it would be free.
// CHECK-LABEL: func.func @data
func.func @data(%x: tensor<4x128x255xf32>) -> tensor<4x128x255xf32> {
  // CHECK: nx.matmul %arg0, %{{.*}} : (tensor<4x128x255xf32>, tensor<255x255xf32>) -> tensor<4x128x255xf32>
  %w = nx.param "w" source tensor<255x255xf32> : tensor<255x255xf32>
  %y = nx.matmul %x, %w : (tensor<4x128x255xf32>, tensor<255x255xf32>) -> tensor<4x128x255xf32>
  return %y : tensor<4x128x255xf32>
}

// -----

// A mean over a split dimension: each rank's mean counts one part in four.
// CHECK-LABEL: func.func @mean
func.func @mean(%x: tensor<?x1024xf32, #nx.dims<s0, 1024>>) -> tensor<?xf32, #nx.dims<s0>> {
  %w = nx.param "w" source tensor<1024x4096xf32> : tensor<1024x4096xf32>
  %y = nx.matmul %x, %w : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<1024x4096xf32>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>>
  // CHECK: %[[Q:.*]] = nx.constant dense<2.500000e-01>
  // CHECK: nx.matmul
  // CHECK-NEXT: %[[M:.*]] = nx.reduce
  // CHECK-NEXT: %[[T:.*]] = nx.mul %[[M]], %[[Q]]
  // CHECK-NEXT: nx.all_reduce %[[T]]
  %m = nx.reduce %y {kind = #nx<reduce_kind mean>, axes = array<i64: 1>} : (tensor<?x4096xf32, #nx.dims<s0, 4096>>) -> tensor<?xf32, #nx.dims<s0>>
  return %m : tensor<?xf32, #nx.dims<s0>>
}

// -----

// A partial sum is combined where it is smallest: behind the slice.
// CHECK-LABEL: func.func @last_row
func.func @last_row(%x: tensor<128x1024xf32>) -> tensor<1x1024xf32> {
  %w1 = nx.param "w1" source tensor<1024x4096xf32> : tensor<1024x4096xf32>
  %w2 = nx.param "w2" source tensor<4096x1024xf32> : tensor<4096x1024xf32>
  %h = nx.matmul %x, %w1 : (tensor<128x1024xf32>, tensor<1024x4096xf32>) -> tensor<128x4096xf32>
  %r = nx.relu %h : (tensor<128x4096xf32>) -> tensor<128x4096xf32>
  %y = nx.matmul %r, %w2 : (tensor<128x4096xf32>, tensor<4096x1024xf32>) -> tensor<128x1024xf32>
  // CHECK: nx.slice
  // CHECK-NEXT: nx.all_reduce {{.*}} : (tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %l = nx.slice %y {starts = #nx.dims<127, 0>, steps = array<i64: 1, 1>} : (tensor<128x1024xf32>) -> tensor<1x1024xf32>
  return %l : tensor<1x1024xf32>
}
