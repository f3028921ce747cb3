// An index that comes from data is kept inside and reported; one that comes from the loops is not.
// RUN: nx-opt %s -nx-emit-loops=vector-length=8 -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @rows(
// CHECK:         %[[STATUS:.*]] = llvm.alloca
// CHECK:         %[[ID:.*]] = memref.load
// CHECK:         %[[I:.*]] = arith.index_cast %[[ID]] : i64 to index
// CHECK:         %[[GOOD:.*]] = arith.cmpi ult, %[[I]], %c1000
// CHECK:         %[[BAD:.*]] = arith.cmpi uge, %[[I]], %c1000
// CHECK:         arith.select %[[BAD]], %c1_i32
// CHECK:         llvm.store %{{.*}}, %[[STATUS]]
// CHECK:         arith.select %[[GOOD]], %[[I]], %c0
// The row itself is contiguous.
// CHECK:         vector.load
// CHECK:         %[[RESULT:.*]] = llvm.load %[[STATUS]]
// CHECK:         return %[[RESULT]]
func.func @rows(%table: tensor<1000x64xf32>, %ids: tensor<?xi64> {nx.shape = affine_map<()[s0] -> (s0)>})
    -> (tensor<?x64xf32> {nx.shape = affine_map<()[s0] -> (s0, 64)>}) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<?xi64>) outs(%e : tensor<?x64xf32>) {
  ^bb0(%id: i64, %o: f32):
    %i = arith.index_cast %id : i64 to index
    %j = linalg.index 1 : index
    %x = tensor.extract %table[%i, %j] : tensor<1000x64xf32>
    linalg.yield %x : f32
  } -> tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @reversed(
// CHECK-NOT:     llvm.alloca
// CHECK:         vector.shuffle
func.func @reversed(%a: tensor<100xf32>) -> tensor<100xf32> {
  %e = tensor.empty() : tensor<100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<100xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %c99 = arith.constant 99 : index
    %at = arith.subi %c99, %i : index
    %x = tensor.extract %a[%at] : tensor<100xf32>
    linalg.yield %x : f32
  } -> tensor<100xf32>
  return %r : tensor<100xf32>
}
