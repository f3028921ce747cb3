// One rule per operation: each dimension as a product of factors.
// RUN: nx-opt %s -nx-print-sharding-rules -o /dev/null | FileCheck %s --implicit-check-not=nx.

func.func @elementwise(%x: tensor<4x8xf32>, %row: tensor<8xf32>, %column: tensor<4x1xf32>, %c: tensor<8xi1>,
    %s: tensor<?x8xf32, #nx.dims<s0, 8>>, %i: tensor<4x8xi32>) {
  // CHECK: nx.exp: [a, b] -> [a, b] where a = 4, b = 8
  %0 = nx.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.add: [a, b], [b] -> [a, b] where a = 4, b = 8; linear {0, 1}
  %1 = nx.add %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.mul: [a, 1], [a, b] -> [a, b] where a = 4, b = 8; linear {0} {1}
  %2 = nx.mul %column, %x : (tensor<4x1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.select: [b], [a, b], [a, 1] -> [a, b] where a = 4, b = 8; linear {1, 2}
  %3 = nx.select %c, %x, %column : (tensor<8xi1>, tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  // CHECK: nx.cast: [a, b] -> [a, b] where a = 4, b = 8
  %4 = nx.cast %x : (tensor<4x8xf32>) -> tensor<4x8xi64>
  // Sizes that are equal by a check at run time have no common size to split.
  // CHECK: nx.max: [a, b], [a, b] -> [a, b] where a = 4 whole, b = 8
  %5 = nx.max %x, %s : (tensor<4x8xf32>, tensor<?x8xf32, #nx.dims<s0, 8>>) -> tensor<4x8xf32>
  // Dividing integers rounds: not linear.
  // CHECK: nx.div: [a, b], [a, b] -> [a, b] where a = 4, b = 8{{$}}
  %6 = nx.div %i, %i : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK: nx.div: [a, b], [b] -> [a, b] where a = 4, b = 8; linear {0}
  %7 = nx.div %x, %row : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

func.func @contractions(%a: tensor<5x1x8x6xf32>, %b: tensor<3x6x7xf32>, %bt: tensor<7x6xf32>, %at: tensor<6x8xf32>,
    %x: tensor<2x6x10x10xf32>, %w: tensor<8x3x3x3xf32>, %wd: tensor<6x1x3x3xf32>, %bias: tensor<8xf32>) {
  // CHECK: nx.matmul: [a, 1, c, e], [b, e, d] -> [a, b, c, d] where a = 5, b = 3, c = 8, d = 7, e = 6 sum; linear {0} {1}
  %0 = nx.matmul %a, %b : (tensor<5x1x8x6xf32>, tensor<3x6x7xf32>) -> tensor<5x3x8x7xf32>
  // CHECK: nx.matmul: [c, a], [b, c] -> [a, b] where a = 8, b = 7, c = 6 sum; linear {0} {1}
  %1 = nx.matmul %at, %bt {transpose_lhs, transpose_rhs} : (tensor<6x8xf32>, tensor<7x6xf32>) -> tensor<8x7xf32>
  // CHECK: nx.conv: [a, (b d), e, h], [(b c), d, f, i] -> [a, (b c), g, j] where a = 2, b = 2, c = 4, d = 3 sum, e = 10 whole, f = 3 whole, g = 8 whole
  %2 = nx.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 2 : i64}
      : (tensor<2x6x10x10xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x8x8xf32>
  // A bias would be added once by each rank.
  // CHECK: nx.conv: [a, (b d), e, h], [(b c), d, f, i], [(b c)] -> [a, (b c), g, j] where a = 2, b = 2, c = 4, d = 3 whole
  %3 = nx.conv %x, %w, %bias {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>, groups = 2 : i64}
      : (tensor<2x6x10x10xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<2x8x8x8xf32>
  // Depthwise: every channel is a group.
  // CHECK: nx.conv: [a, b, e, h], [b, 1, f, i] -> [a, b, g, j] where a = 2, b = 6
  %4 = nx.conv %x, %wd {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 6 : i64}
      : (tensor<2x6x10x10xf32>, tensor<6x1x3x3xf32>) -> tensor<2x6x10x10xf32>
  // CHECK: nx.pool: [a, b, c, e] -> [a, b, d, f] where a = 2, b = 6, c = 10 whole, d = 5 whole, e = 10 whole, f = 5 whole; linear {0}
  %5 = nx.pool %x {kind = #nx<pool_kind avg>, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
      : (tensor<2x6x10x10xf32>) -> tensor<2x6x5x5xf32>
  return
}

func.func @attention(%q: tensor<2x8x5x16xf32>, %k: tensor<2x4x7x16xf32>, %mask: tensor<8x1x7xf32>, %k1: tensor<2x1x7x16xf32>) {
  // CHECK: nx.attention: [a, (b c), d, f], [a, b, e, f], [a, b, e, g], [(b c), 1, e] -> [a, (b c), d, g] where a = 2, b = 4, c = 2, d = 5 whole, e = 7 whole, f = 16 whole, g = 16 whole; linear {2}
  %0 = nx.attention %q, %k, %k, %mask {scale = 1.0 : f64} : (tensor<2x8x5x16xf32>, tensor<2x4x7x16xf32>, tensor<2x4x7x16xf32>, tensor<8x1x7xf32>) -> tensor<2x8x5x16xf32>
  // One key head serves all: the queries can be split alone.
  // CHECK: nx.attention: [a, c, d, f], [a, 1, e, f], [a, 1, e, g] -> [a, c, d, g] where a = 2, b = 1, c = 8
  %1 = nx.attention %q, %k1, %k1 {scale = 1.0 : f64, causal = #nx.dims<2>} : (tensor<2x8x5x16xf32>, tensor<2x1x7x16xf32>, tensor<2x1x7x16xf32>) -> tensor<2x8x5x16xf32>
  return
}

func.func @reductions(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %b: tensor<4x8xi1>, %s: tensor<8xf32>, %c: tensor<2x6x5xf32>, %g: tensor<6xf32>) {
  // CHECK: nx.reduce: [a, b] -> [a, 1] where a = 4, b = 8 mean; linear {0}
  %0 = nx.reduce %x {kind = #nx<reduce_kind mean>, axes = array<i64: 1>, keep_dims} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  // CHECK: nx.reduce: [a, b] -> [b] where a = 4 max, b = 8{{$}}
  %1 = nx.reduce %x {kind = #nx<reduce_kind max>, axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  // CHECK: nx.reduce: [a, b] -> [a] where a = 4, b = 8 whole
  %2 = nx.reduce %i {kind = #nx<reduce_kind mean>, axes = array<i64: 1>} : (tensor<4x8xi32>) -> tensor<4xi32>
  // CHECK: nx.reduce: [a, b] -> [a] where a = 4, b = 8 whole
  %3 = nx.reduce %b {kind = #nx<reduce_kind max>, axes = array<i64: 1>} : (tensor<4x8xi1>) -> tensor<4xi1>
  // CHECK: nx.arg_reduce: [a, b] -> [b] where a = 4 whole, b = 8
  %4 = nx.arg_reduce %x {kind = #nx<reduce_kind max>, axis = 0 : i64} : (tensor<4x8xf32>) -> tensor<8xi64>
  // CHECK: nx.cumulative: [a, b] -> [a, b] where a = 4, b = 8 whole; linear {0}
  %5 = nx.cumulative %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.softmax: [a, b] -> [a, b] where a = 4, b = 8 whole
  %6 = nx.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.layer_norm: [a, b], [b] -> [a, b] where a = 4, b = 8 whole
  %7 = nx.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.rms_norm: [a, b], [b] -> [a, b] where a = 4, b = 8 whole
  %8 = nx.rms_norm %x, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: nx.group_norm: [c, (a b), d], [(a b)], [(a b)] -> [c, (a b), d] where a = 2, b = 3 whole, c = 2, d = 5 whole
  %9 = nx.group_norm %c, %g, %g {groups = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
  return
}

func.func @movement(%x: tensor<4x8xf32>, %y: tensor<4x6xf32>, %i: tensor<3x5xi64>, %ge: tensor<2x5xi64>, %nd: tensor<4x3x1xi64>, %z: tensor<4x8x9xf32>) {
  // CHECK: nx.iota: -> [a, b] where a = 4, b = 8 whole
  %0 = nx.iota {axis = 1 : i64, start = #nx.dims<0>, step = #nx.dims<1>} : tensor<4x8xi64>
  // CHECK: nx.transpose: [b, a] -> [a, b] where a = 8, b = 4; linear {0}
  %1 = nx.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: nx.broadcast: [b, c] -> [a, b, c] where a = 3, b = 4, c = 8; linear {0}
  %2 = nx.broadcast %x : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
  // The other slice of %x cuts it at 2 and 5, too.
  // CHECK: nx.slice: [a, 2|3|b|1] -> [a, b] where a = 4, b = 2; linear {0}
  %3 = nx.slice %x {starts = #nx.dims<0, 5>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x2xf32>
  // CHECK: nx.slice: [a, 2|b|2|1] -> [a, b] where a = 4, b = 3; linear {0}
  %4 = nx.slice %x {starts = #nx.dims<0, 2>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // Strided and reversed.
  // CHECK: nx.slice: [a, c] -> [b, d] where a = 4 whole, b = 4 whole, c = 6 whole, d = 3 whole; linear {0}
  %5 = nx.slice %y {starts = #nx.dims<3, 0>, steps = array<i64: -1, 2>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: nx.concat: [a, c], [a, d] -> [a, b] where a = 4, b = 14 whole, c = 8 whole, d = 6 whole; linear {0, 1}
  %6 = nx.concat %x, %y {axis = 1 : i64} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<4x14xf32>
  // CHECK: nx.pad: [a, b] -> [a, c] where a = 4, b = 8 whole, c = 9 whole; linear {0}
  %7 = nx.pad %x {lo = #nx.dims<0, 1>, hi = #nx.dims<0, 0>, mode = #nx<pad_mode constant>, operandSegmentSizes = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<4x9xf32>
  // CHECK: nx.gather: [a, b], [c, d] -> [a, c, d] where a = 4, b = 8 whole, c = 3, d = 5; linear {0}
  %8 = nx.gather %x, %i {axis = 1 : i64} : (tensor<4x8xf32>, tensor<3x5xi64>) -> tensor<4x3x5xf32>
  // CHECK: nx.gather_elements: [b, d], [a, c] -> [a, c] where a = 2 whole, b = 4 whole, c = 5 whole, d = 8 whole; linear {0}
  %9 = nx.gather_elements %x, %ge {axis = 0 : i64} : (tensor<4x8xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  // CHECK: nx.gather_nd: [a, d, e], [a, b, 1] -> [a, b, e] where a = 4, b = 3, c = 1 whole, d = 8 whole, e = 9; linear {0}
  %10 = nx.gather_nd %z, %nd {batch_dims = 1 : i64} : (tensor<4x8x9xf32>, tensor<4x3x1xi64>) -> tensor<4x3x9xf32>
  return
}

func.func @reshape(%x: tensor<?x768xf32, #nx.dims<s0, 768>>, %y: tensor<?x?x2304xf32, #nx.dims<s0, s1, 2304>>, %z: tensor<2x8xf32>,
    %u: tensor<?x12xf32, #nx.dims<s0, 12>>, %v: tensor<1x6x4xf32>, %e: tensor<0x4xf32>, %w: tensor<3x4xf32>) {
  // CHECK: nx.reshape: [a, (b c)] -> [a, b, c] where a = s0, b = 12, c = 64; linear {0}
  %0 = nx.reshape %x : (tensor<?x768xf32, #nx.dims<s0, 768>>) -> tensor<?x12x64xf32, #nx.dims<s0, 12, 64>>
  // CHECK: nx.reshape: [a, b, (c d e)] -> [(a b), c, d, e] where a = s0, b = s1, c = 3, d = 12, e = 64; linear {0}
  %1 = nx.reshape %y : (tensor<?x?x2304xf32, #nx.dims<s0, s1, 2304>>) -> tensor<?x3x12x64xf32, #nx.dims<s0 * s1, 3, 12, 64>>
  // CHECK: nx.reshape: [a, (b c)] -> [(a b), c] where a = 2, b = 2, c = 4; linear {0}
  %2 = nx.reshape %z : (tensor<2x8xf32>) -> tensor<4x4xf32>
  // Not a split or merge: the outermost common part is nothing.
  // CHECK: nx.reshape: [a, c] -> [b, d] where a = s0 whole, b = 12 whole, c = 12 whole, d = s0 whole; linear {0}
  %3 = nx.reshape %u : (tensor<?x12xf32, #nx.dims<s0, 12>>) -> tensor<12x?xf32, #nx.dims<12, s0>>
  // CHECK: nx.reshape: [1, (a b), d] -> [(a c), e, 1] where a = 2, b = 3 whole, c = 4 whole, d = 4 whole, e = 3 whole; linear {0}
  %4 = nx.reshape %v : (tensor<1x6x4xf32>) -> tensor<8x3x1xf32>
  // CHECK: nx.reshape: [a, b] -> [c, d] where a = 0 whole, b = 4 whole, c = 7 whole, d = 0 whole; linear {0}
  %5 = nx.reshape %e : (tensor<0x4xf32>) -> tensor<7x0xf32>
  // CHECK: nx.reshape: [a, c] -> [b, d] where a = 3 whole, b = 4 whole, c = 4 whole, d = 3 whole; linear {0}
  %6 = nx.reshape %w : (tensor<3x4xf32>) -> tensor<4x3xf32>
  return
}
