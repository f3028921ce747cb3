// RUN: nx-opt %s -nx-simplify-collectives | FileCheck %s

// CHECK-LABEL: func.func @merge_sums
func.func @merge_sums(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[S:.*]] = nx.add %arg0, %arg1
  // CHECK-NEXT: %[[R:.*]] = nx.all_reduce %[[S]]
  // CHECK-NEXT: return %[[R]]
  %0 = nx.all_reduce %a {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nx.all_reduce %b {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nx.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A maximum is not a sum, and a sum that others use is needed anyway.
// CHECK-LABEL: func.func @keep_sums
func.func @keep_sums(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-COUNT-3: nx.all_reduce
  // CHECK-COUNT-2: nx.add
  %0 = nx.all_reduce %a {kind = #nx<reduce_kind max>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nx.all_reduce %b {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nx.all_reduce %a {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nx.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = nx.add %1, %2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %4, %1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @merge_across_term
func.func @merge_across_term(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[S:.*]] = nx.add %arg0, %arg1
  // CHECK-NEXT: %[[R:.*]] = nx.all_reduce %[[S]]
  // CHECK-NEXT: nx.add %[[R]], %arg2
  %0 = nx.all_reduce %a {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nx.all_reduce %b {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nx.add %0, %c : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = nx.add %2, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @slice
func.func @slice(%a: tensor<4x8xf32>) -> tensor<1x8xf32> {
  // CHECK-NEXT: nx.slice
  // CHECK-NEXT: nx.all_reduce {{.*}} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %0 = nx.all_reduce %a {kind = #nx<reduce_kind max>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nx.slice %0 {starts = #nx.dims<3, 0>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}

// CHECK-LABEL: func.func @reduce_scatter
func.func @reduce_scatter(%a: tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // CHECK-NEXT: nx.reduce_scatter %arg0 {dim = 1 : i64, kind = #nx<reduce_kind sum>, parts = 2 : i64}
  %0 = nx.all_reduce %a {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nx.shard %0 {dim = 1 : i64, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  // Parts of blocks are no part that a reduce_scatter gives.
  // CHECK-NEXT: nx.all_reduce
  // CHECK-NEXT: nx.shard
  %2 = nx.all_reduce %a {kind = #nx<reduce_kind sum>, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nx.shard %2 {dim = 1 : i64, parts = 2 : i64, blocks = array<i64: 4, 4>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK-LABEL: func.func @undo
func.func @undo(%a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x16xf32>) {
  %0 = nx.all_gather %a {dim = 1 : i64, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x16xf32>
  %1 = nx.shard %0 {dim = 1 : i64, parts = 2 : i64} : (tensor<4x16xf32>) -> tensor<4x8xf32>
  %2 = nx.shard %a {dim = 0 : i64, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  %3 = nx.all_gather %2 {dim = 0 : i64, parts = 2 : i64} : (tensor<2x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %[[R:.*]] = nx.all_reduce %arg0
  %4 = nx.reduce_scatter %a {kind = #nx<reduce_kind sum>, dim = 1 : i64, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %5 = nx.all_gather %4 {dim = 1 : i64, parts = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %[[T:.*]] = nx.all_to_all %arg0 {concat_dim = 1 : i64, parts = 2 : i64, split_dim = 0 : i64}
  %6 = nx.all_gather %a {dim = 1 : i64, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x16xf32>
  %7 = nx.shard %6 {dim = 0 : i64, parts = 2 : i64} : (tensor<4x16xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: return %arg0, %arg0, %[[R]], %[[T]]
  return %1, %3, %5, %7 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x16xf32>
}

// CHECK-LABEL: func.func @sources
func.func @sources() -> (tensor<4x4xf32>, tensor<2x8xf32>, tensor<4x6xf32>) {
  // CHECK-DAG: nx.param "w" source tensor<4x8xf32> recipe [#nx.shard<dim = 1, parts = 2, blocks = [4, 4]>] : tensor<4x4xf32>
  %w = nx.param "w" source tensor<4x8xf32> : tensor<4x8xf32>
  %0 = nx.shard %w {dim = 1 : i64, parts = 2 : i64, blocks = array<i64: 4, 4>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  // CHECK-DAG: nx.constant dense<1.000000e+00> : tensor<2x8xf32>
  %c = nx.constant dense<1.0> : tensor<4x8xf32>
  %1 = nx.shard %c {dim = 0 : i64, parts = 2 : i64} : (tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK-DAG: nx.param "v" source tensor<4x12xf32> recipe [#nx.shard<dim = 1, parts = 2, blocks = [8, 4]>] : tensor<4x6xf32>
  %v = nx.param "v" source tensor<4x12xf32> : tensor<4x12xf32>
  %2 = nx.shard %v {dim = 1 : i64, parts = 2 : i64, blocks = array<i64: 8, 4>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<2x8xf32>, tensor<4x6xf32>
}
