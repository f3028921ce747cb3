// The lanes of vectors run along the rows of the large tensor, however many operands hold one element a row: those are read once
// in 508 steps.
// RUN: nx-opt %s -nx-emit-loops=vector-length=8 -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @row_parameters
// CHECK-NOT: vector.gather
// CHECK: scf.for
// CHECK: scf.for %{{.*}} = %c0 to %c480 step %c32
// CHECK: vector.load {{.*}} : memref<?xf32>, vector<8xf32>
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK-NOT: vector.gather
// CHECK: return
func.func @row_parameters(%x: tensor<512x508xf32>, %p0: tensor<512xf32>, %p1: tensor<512xf32>, %p2: tensor<512xf32>, %p3: tensor<512xf32>, %p4: tensor<512xf32>, %p5: tensor<512xf32>, %p6: tensor<512xf32>, %p7: tensor<512xf32>, %p8: tensor<512xf32>, %p9: tensor<512xf32>) -> tensor<512xf32> {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<512xf32>
  %start = linalg.fill ins(%low : f32) outs(%empty : tensor<512xf32>) -> tensor<512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %p0, %p1, %p2, %p3, %p4, %p5, %p6, %p7, %p8, %p9 : tensor<512x508xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) outs(%start : tensor<512xf32>) {
  ^bb0(%e: f32, %q0: f32, %q1: f32, %q2: f32, %q3: f32, %q4: f32, %q5: f32, %q6: f32, %q7: f32, %q8: f32, %q9: f32, %o: f32):
    %s0 = arith.addf %e, %q0 : f32
    %s1 = arith.addf %s0, %q1 : f32
    %s2 = arith.addf %s1, %q2 : f32
    %s3 = arith.addf %s2, %q3 : f32
    %s4 = arith.addf %s3, %q4 : f32
    %s5 = arith.addf %s4, %q5 : f32
    %s6 = arith.addf %s5, %q6 : f32
    %s7 = arith.addf %s6, %q7 : f32
    %s8 = arith.addf %s7, %q8 : f32
    %s9 = arith.addf %s8, %q9 : f32
    %m = arith.maximumf %o, %s9 : f32
    linalg.yield %m : f32
  } -> tensor<512xf32>
  return %y : tensor<512xf32>
}
