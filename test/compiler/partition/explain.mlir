// What --explain-plan prints, and the assumed sizes.
// RUN: nx-opt %s -nx-plan="degree=2 explain=text" -o /dev/null | FileCheck %s
// RUN: nx-opt %s -nx-plan="degree=2 explain=text sizes=seq=16,batch=4" -o /dev/null | FileCheck %s --check-prefix=SIZES
// RUN: nx-opt %s -nx-plan="degree=2 explain=json" -o /dev/null | %python -m json.tool | FileCheck %s --check-prefix=JSON
// RUN: nx-opt %s -nx-plan="degree=1 explain=text" -o /dev/null | FileCheck %s --check-prefix=ONE

// CHECK: partition plan for 2 ranks, assuming batch=1, seq=128
// CHECK-NEXT: parameters: 16.8 MB in all, 8393.7 KB on each rank
// CHECK-NEXT: up    1024x2048 column (dim 1) 4194.3 KB each rank computes its 1/2 of the outputs of 'up/MatMul'
// CHECK-NEXT: down  2048x1024 row (dim 0)    4194.3 KB each rank sums over its 1/2 of the inputs of 'down/MatMul'
// CHECK-NEXT: bias  1024      replicated     4096 B used with whole values by 'nx.add'; splitting would cost more than it saves
// CHECK-NEXT: small 1x255 replicated 1020 B size 255 does not divide by 2, legal degrees: 1, 3, 5, 15, 17, 51
// CHECK-NEXT: collectives: 1 per step, 524.3 KB into each rank
// CHECK-NEXT: all_reduce down/MatMul batch * seq * 4096 bytes 524.3 KB each rank has a term of the sum; 'nx.add' needs the whole value
// CHECK-NEXT: not split:
// CHECK-NEXT: small/MatMul size 255 does not divide by 2, legal degrees: 1, 3, 5, 15, 17, 51
// CHECK-NEXT: estimated step: {{.*}} ms (compute {{.*}} ms, communication {{.*}} ms); on one rank {{.*}} ms

// SIZES: assuming batch=4, seq=16
// SIZES: all_reduce down/MatMul batch * seq * 4096 bytes 262.1 KB

// JSON: "degree": 2
// JSON: "batch": 1
// JSON: "weight_bytes_per_rank": 8393724
// JSON: "name": "up"
// JSON: "split": "column (dim 1)"
// JSON: "kind": "all_reduce"
// JSON: "moved_bytes": 524288
// JSON: "not_split"

// ONE: partition plan for 1 rank
// ONE-NOT: not split
// ONE: collectives: 0 per step
// ONE-NOT: not split

func.func @forward(%x: tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>>, %z: tensor<4x1xf32>) -> (tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>>, tensor<4x255xf32>)
    attributes {nx.symbols = ["batch", "seq"]} {
  %w1 = nx.param "up" source tensor<1024x2048xf32> : tensor<1024x2048xf32>
  %w2 = nx.param "down" source tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %b2 = nx.param "bias" source tensor<1024xf32> : tensor<1024xf32>
  %h = nx.matmul %x, %w1 : (tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>>, tensor<1024x2048xf32>) -> tensor<?x?x2048xf32, #nx.dims<s0, s1, 2048>> loc("up/MatMul")
  %g = nx.gelu %h : (tensor<?x?x2048xf32, #nx.dims<s0, s1, 2048>>) -> tensor<?x?x2048xf32, #nx.dims<s0, s1, 2048>>
  %y = nx.matmul %g, %w2 : (tensor<?x?x2048xf32, #nx.dims<s0, s1, 2048>>, tensor<2048x1024xf32>) -> tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>> loc("down/MatMul")
  %o = nx.add %y, %b2 : (tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>>, tensor<1024xf32>) -> tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>>
  %w3 = nx.param "small" source tensor<1x255xf32> : tensor<1x255xf32>
  %s = nx.matmul %z, %w3 : (tensor<4x1xf32>, tensor<1x255xf32>) -> tensor<4x255xf32> loc("small/MatMul")
  return %o, %s : tensor<?x?x1024xf32, #nx.dims<s0, s1, 1024>>, tensor<4x255xf32>
}
