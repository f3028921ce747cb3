// The user's plan, as text and as JSON.
// RUN: split-file %s %t
// RUN: nx-opt %t/model.mlir -nx-plan="degree=2 explain=text" -o /dev/null | FileCheck %s --check-prefix=FREE
// RUN: nx-opt %t/model.mlir -nx-plan="degree=2 plan=%t/plan.txt explain=text" -o /dev/null | FileCheck %s --check-prefix=PINNED
// RUN: nx-opt %t/model.mlir -nx-plan="degree=2 plan=%t/plan.json explain=text" -o /dev/null | FileCheck %s --check-prefix=PINNED
// RUN: nx-opt %t/model.mlir -nx-partition="degree=2 plan=%t/plan.txt" | FileCheck %s --check-prefix=IR

// FREE: up.weight   4096x1024  column (dim 0)
// FREE: up.bias     4096       dim 0
// FREE: down.weight 4096x1024  row (dim 0)

// The other way round, with what that costs.
// PINNED: up.weight   4096x1024  row (dim 1)    {{.*}} asked for by the plan; each rank sums over its 1/2 of the inputs of 'up'
// PINNED: up.bias     4096       replicated     {{.*}} asked for by the plan
// PINNED: down.weight 4096x1024  column (dim 1) {{.*}} asked for by the plan; each rank computes its 1/2 of the outputs of 'down'
// PINNED: collectives: 2 per step
// PINNED: all_reduce  up
// PINNED: all_gather  down

// IR: nx.param "up.weight" source tensor<4096x1024xf32> recipe [#nx.shard<dim = 1, parts = 2>] : tensor<4096x512xf32>
// IR: nx.shard %arg0 {dim = 1 : i64, parts = 2 : i64}
// IR: nx.matmul
// IR: nx.all_reduce
// IR: nx.matmul
// IR: nx.all_gather

//--- plan.txt
# Patterns are for whole names.
up\.weight: row   # inputs
up\.(bias|gain): replicate

down.*: dim 1
//--- plan.json
{"up\\.weight": "row", "up\\.bias": "replicate", "down.*": "column"}
//--- model.mlir
func.func @forward(%x: tensor<?x1024xf32, #nx.dims<s0, 1024>>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>> attributes {nx.symbols = ["rows"]} {
  %w1 = nx.param "up.weight" source tensor<4096x1024xf32> : tensor<4096x1024xf32>
  %b1 = nx.param "up.bias" source tensor<4096xf32> : tensor<4096xf32>
  %w2 = nx.param "down.weight" source tensor<4096x1024xf32> : tensor<4096x1024xf32>
  %h = nx.matmul %x, %w1 {transpose_rhs} : (tensor<?x1024xf32, #nx.dims<s0, 1024>>, tensor<4096x1024xf32>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>> loc("up")
  %hb = nx.add %h, %b1 : (tensor<?x4096xf32, #nx.dims<s0, 4096>>, tensor<4096xf32>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>>
  %r = nx.relu %hb : (tensor<?x4096xf32, #nx.dims<s0, 4096>>) -> tensor<?x4096xf32, #nx.dims<s0, 4096>>
  %y = nx.matmul %r, %w2 : (tensor<?x4096xf32, #nx.dims<s0, 4096>>, tensor<4096x1024xf32>) -> tensor<?x1024xf32, #nx.dims<s0, 1024>> loc("down")
  return %y : tensor<?x1024xf32, #nx.dims<s0, 1024>>
}
