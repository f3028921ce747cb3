// RUN: nx-opt %s -nx-emit-loops -split-input-file -verify-diagnostics

// expected-error@+1 {{loop emitter: argument 0 has dynamic dims but no matching nx.shape}}
func.func @no_shape(%a: tensor<?xf32>) -> tensor<?xf32> {
  return %a : tensor<?xf32>
}

// -----

// expected-error@+1 {{loop emitter: argument 1 is not a ranked tensor}}
func.func @scalar(%a: tensor<4xf32>, %b: f32) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

func.func @unknown_op(%a: tensor<4x4xf32>) -> tensor<5x4xf32> {
  // expected-error@+1 {{loop emitter: not a kernel's op}}
  %r = tensor.pad %a low[1, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    %z = arith.constant 0.0 : f32
    tensor.yield %z : f32
  } : tensor<4x4xf32> to tensor<5x4xf32>
  return %r : tensor<5x4xf32>
}

// -----

func.func @no_init(%a: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error@+1 {{loop emitter: the region reads an init that has no value}}
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %x, %o : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error@+1 {{loop emitter: element type 'i4'}}
func.func @int4(%a: tensor<4xi4>) -> tensor<4xi4> {
  return %a : tensor<4xi4>
}
