// An element-wise kernel is one flat loop: dims that are adjacent in every operand run as one. A tile is 4096 elements; the tail is
// masked.
// RUN: nx-opt %s -nx-emit-loops=vector-length=8 -canonicalize -cse | FileCheck %s
// The scalar form is the same walk.
// RUN: nx-opt %s -nx-emit-loops=vector-length=1 -canonicalize -cse | FileCheck %s --check-prefix=SCALAR

// CHECK-LABEL: func.func @exp(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64) -> i32
// CHECK:       %[[SIZE:.*]] = arith.muli %{{.*}}, %c768
// CHECK:       scf.for %[[TILE:.*]] = %{{.*}} to %{{.*}} step %c1
// CHECK:         %[[LO:.*]] = arith.muli %[[TILE]], %c4096
// CHECK:         %[[HI:.*]] = arith.minui %{{.*}}, %[[SIZE]]
// CHECK:         scf.for %[[I:.*]] = %[[LO]] to %[[END:.*]] step %c8
// CHECK-NEXT:      %[[X:.*]] = vector.load %{{.*}}[%[[I]]] : memref<?xf32>, vector<8xf32>
// CHECK-NEXT:      %[[Y:.*]] = math.exp %[[X]] : vector<8xf32>
// CHECK-NEXT:      vector.store %[[Y]], %{{.*}}[%[[I]]]
// CHECK:         scf.if
// CHECK:           %[[M:.*]] = vector.create_mask
// CHECK:           vector.maskedload %{{.*}}[%[[END]]], %[[M]]
// CHECK:           vector.maskedstore %{{.*}}[%[[END]]], %[[M]]
// CHECK-LABEL: func.func @exp.tiles(%{{.*}}: !llvm.ptr) -> i64
// CHECK-LABEL: func.func @exp.scratch_bytes(%{{.*}}: !llvm.ptr) -> i64
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK:         return %[[ZERO]]
// CHECK-LABEL: func.func @exp.grain(%{{.*}}: !llvm.ptr) -> i64

// SCALAR-LABEL: func.func @exp(
// SCALAR-NOT:     vector
// SCALAR:         memref.load
// SCALAR-NEXT:    math.exp
// SCALAR-NEXT:    memref.store
func.func @exp(%a: tensor<?x768xf32> {nx.shape = affine_map<()[s0] -> (s0, 768)>})
    -> (tensor<?x768xf32> {nx.shape = affine_map<()[s0] -> (s0, 768)>}) {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x768xf32>
  %e = tensor.empty(%d) : tensor<?x768xf32>
  %r = linalg.exp ins(%a : tensor<?x768xf32>) outs(%e : tensor<?x768xf32>) -> tensor<?x768xf32>
  return %r : tensor<?x768xf32>
}
