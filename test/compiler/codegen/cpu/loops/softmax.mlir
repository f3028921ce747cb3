// Three stages over a row, each one loop: the maximum; exp, its store and its sum; the scaling. Between the stages the exponentials
// wait in the memory of the result, the row's scalars in registers.
// RUN: nx-opt %s -nx-emit-loops=vector-length=8 -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @softmax(
// CHECK:       scf.for
// CHECK:         scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK:           arith.maximumf
// CHECK:         %[[MAX:.*]] = vector.reduction <maximumf>
// CHECK:         scf.for
// CHECK:           arith.subf
// CHECK:           math.exp
// CHECK:           vector.store %{{.*}}, %[[RESULT:[0-9]+]][
// CHECK:           arith.addf
// CHECK:         %[[SUM:.*]] = vector.reduction <add>, %{{.*}} fastmath<reassoc>
// CHECK:         %[[INVERSE:.*]] = arith.divf %{{.*}}, %[[SUM]]
// CHECK:         scf.for
// CHECK:           vector.load %[[RESULT]]
// CHECK:           arith.mulf
// CHECK:           vector.store %{{.*}}, %[[RESULT]]
// CHECK-LABEL: func.func @softmax.tiles
// CHECK:         %[[ROWS:.*]] = llvm.load
// CHECK:         return %[[ROWS]]
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#r = affine_map<(i) -> (i)>
func.func @softmax(%x: tensor<?x?xf32> {nx.shape = affine_map<()[s0, s1] -> (s0, s1)>})
    -> (tensor<?x?xf32> {nx.shape = affine_map<()[s0, s1] -> (s0, s1)>}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = tensor.dim %x, %c0 : tensor<?x?xf32>
  %t = tensor.dim %x, %c1 : tensor<?x?xf32>
  %full = tensor.empty(%s, %t) : tensor<?x?xf32>
  %rows = tensor.empty(%s) : tensor<?xf32>
  %least_rows = linalg.fill ins(%least : f32) outs(%rows : tensor<?xf32>) -> tensor<?xf32>
  %zero_rows = linalg.fill ins(%zero : f32) outs(%rows : tensor<?xf32>) -> tensor<?xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%least_rows : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.maximumf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %max : tensor<?x?xf32>, tensor<?xf32>) outs(%full : tensor<?x?xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    %y = math.exp %d : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<?x?xf32>) outs(%zero_rows : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %a, %o : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %inverse = linalg.generic {indexing_maps = [#r, #r], iterator_types = ["parallel"]}
      ins(%sum : tensor<?xf32>) outs(%rows : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %one = arith.constant 1.0 : f32
    %y = arith.divf %one, %a : f32
    linalg.yield %y : f32
  } -> tensor<?xf32>
  %result = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %inverse : tensor<?x?xf32>, tensor<?xf32>) outs(%full : tensor<?x?xf32>) {
  ^bb0(%a: f32, %i: f32, %o: f32):
    %y = arith.mulf %a, %i : f32
    linalg.yield %y : f32
  } -> tensor<?x?xf32>
  return %result : tensor<?x?xf32>
}
