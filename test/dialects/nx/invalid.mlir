// What the verifiers of the nx dialect refuse.
// RUN: nx-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{#nx.dims gives 1 sizes for a tensor of rank 2}}
func.func @rank_of_dims(%x: tensor<?x4xf32, #nx.dims<s0>>) { return }

// -----

// expected-error @+1 {{#nx.dims says '4' for dimension 0, the shape says ?}}
func.func @constant_for_dynamic(%x: tensor<?x4xf32, #nx.dims<4, 4>>) { return }

// -----

// expected-error @+1 {{#nx.dims says 's0' for dimension 1, the shape says 4}}
func.func @symbol_for_static(%x: tensor<?x4xf32, #nx.dims<s0, s0>>) { return }

// -----

func.func @anonymous_size(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand #0 must be tensor of floats}}
  %0 = "nx.exp"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+2 {{shapes [2, 4] and [3, 4] do not broadcast: 2 against 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.add %x, %y : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @element_types(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{requires the same element type for all operands}}
  %0 = nx.add %x, %y : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_inner(%x: tensor<2x4xf32>, %y: tensor<5x3xf32>) {
  // expected-error @+2 {{matmul of [2, 4] and [5, 3]: inner sizes 4 and 5 differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.matmul %x, %y : (tensor<2x4xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<1x6x8x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error @+2 {{in 2 groups: channels differ}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>,
                       pads_hi = array<i64: 0, 0>, groups = 2 : i64}
      : (tensor<1x6x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x6x6xf32>
  return
}

// -----

func.func @pool_window(%x: tensor<1x1x2x2xf32>) {
  // expected-error @+2 {{window of 3 elements does not fit into the padded size 2 of dimension 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.pool %x {kind = #nx<pool_kind max>, window = array<i64: 3, 3>, strides = array<i64: 1, 1>,
                   dilations = array<i64: 1, 1>, pads_lo = array<i64: 0, 0>, pads_hi = array<i64: 0, 0>}
      : (tensor<1x1x2x2xf32>) -> tensor<1x1x1x1xf32>
  return
}

// -----

func.func @reshape_count(%x: tensor<?x6xf32, #nx.dims<s0, 6>>) {
  // expected-error @+1 {{makes [s0, 5] of [s0, 6]: s0 * 5 elements of s0 * 6}}
  %0 = nx.reshape %x : (tensor<?x6xf32, #nx.dims<s0, 6>>) -> tensor<?x5xf32, #nx.dims<s0, 5>>
  return
}

// -----

func.func @slice_range(%x: tensor<4xf32>) {
  // expected-error @+1 {{elements 2 to 4 of dimension 0 are not in [0, 4)}}
  %0 = nx.slice %x {starts = #nx.dims<2>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @constant_size() {
  // expected-error @+1 {{holds more than 1 KiB: a value of this size is a parameter}}
  %0 = "nx.constant"() {value = dense_resource<big> : tensor<512xf32>} : () -> tensor<512xf32>
  return
}
{-# dialect_resources: { builtin: { big: "0x04000000" } } #-}

// -----

func.func @recipe() {
  // expected-error @+1 {{#nx.shard<dim = 0, parts = 3> of 'tensor<4x4xf32>': size 4 does not divide into 3 equal parts}}
  %0 = nx.param "w" source tensor<4x4xf32> recipe [#nx.shard<dim = 0, parts = 3>] : tensor<4x4xf32>
  return
}

// -----

func.func @recipe_type() {
  // expected-error @+1 {{recipe makes 'tensor<3x4xf32>', the result is 'tensor<4x3xf32>'}}
  %0 = nx.param "w" source tensor<4x3xf32> recipe [#nx.transpose<1, 0>] : tensor<4x3xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<1x6x8x4xf32>, %k: tensor<1x4x8x4xf32>) {
  // expected-error @+2 {{key heads dividing query heads; got 6 and 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.attention %q, %k, %k {scale = 1.0 : f64}
      : (tensor<1x6x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x6x8x4xf32>
  return
}

// -----

func.func @attention_causal(%q: tensor<1x4x8x4xf32>) {
  // expected-error @+2 {{causal is one offset, not 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.attention %q, %q, %q {scale = 1.0 : f64, causal = #nx.dims<0, 4>}
      : (tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>, tensor<1x4x8x4xf32>) -> tensor<1x4x8x4xf32>
  return
}

// -----

func.func @shard_parts(%x: tensor<10x4xf32>) {
  // expected-error @+2 {{size 10 does not divide into 4 equal parts}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.shard %x {dim = 0 : i64, parts = 4 : i64} : (tensor<10x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @shard_block_parts(%x: tensor<12x4xf32>) {
  // expected-error @+2 {{size 9 of a block does not divide into 2 equal parts}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.shard %x {dim = 0 : i64, parts = 2 : i64, blocks = array<i64: 9, 3>} : (tensor<12x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @shard_block_sum(%x: tensor<12x4xf32>) {
  // expected-error @+2 {{the blocks add up to 10, the dimension has size 12}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.shard %x {dim = 0 : i64, parts = 2 : i64, blocks = array<i64: 4, 6>} : (tensor<12x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @shard_symbolic_blocks(%x: tensor<?x4xf32, #nx.dims<s0 * 4, 4>>) {
  // expected-error @+2 {{the blocks add up to 8, the dimension has size s0 * 4}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.shard %x {dim = 0 : i64, parts = 2 : i64, blocks = array<i64: 4, 4>}
      : (tensor<?x4xf32, #nx.dims<s0 * 4, 4>>) -> tensor<?x4xf32, #nx.dims<s0 * 2, 4>>
  return
}

// -----

func.func @dispatch_types(%x: tensor<4xf32>) {
  // expected-error @+1 {{types differ from those of kernel @k}}
  %0 = nx.dispatch @k(%x) slots <> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func private @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {nx.family = "loops"} { return %x : tensor<8xf32> }

// -----

func.func @dispatch_symbol(%x: tensor<4xf32>) {
  // expected-error @+1 {{there is no kernel @missing}}
  %0 = nx.dispatch @missing(%x) slots <> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_elements_rank(%x: tensor<4x8xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // expected-error @+2 {{scatter_elements of updates [2] by indices [2] into [4, 8]: sizes do not fit}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = #nx<scatter_kind set>}
      : (tensor<4x8xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @scatter_elements_bool(%x: tensor<4xi1>, %i: tensor<2xi64>, %u: tensor<2xi1>) {
  // expected-error @+2 {{scatters booleans by set, max (or) or min (and)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.scatter_elements %x, %i, %u {axis = 0 : i64, reduction = #nx<scatter_kind add>}
      : (tensor<4xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @scatter_nd_updates(%x: tensor<4x8xf32>, %i: tensor<2x1xi64>, %u: tensor<2x4xf32>) {
  // expected-error @+2 {{scatter_nd of updates [2, 4] by indices [2, 1] into [4, 8]: sizes do not fit}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.scatter_nd %x, %i, %u {reduction = #nx<scatter_kind set>}
      : (tensor<4x8xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @top_k_size(%x: tensor<4xf32>) {
  // expected-error @+2 {{the first 5 of 4 elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = nx.top_k %x {axis = 0 : i64, k = #nx.dims<5>} : (tensor<4xf32>) -> (tensor<5xf32>, tensor<5xi64>)
  return
}

// -----

func.func @recurrent_gates(%x: tensor<5x2x8xf32>, %r: tensor<12x4xf32>, %h: tensor<2x4xf32>) {
  // expected-error @+2 {{recurrent over [5, 2, 8] with weights [12, 4] and a state [2, 4]: sizes do not fit 3 gates}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = nx.recurrent %x, %r, %h {kind = #nx<recurrent_kind gru>, activations = ["Sigmoid", "Tanh"],
      parameters = array<f64: 0.0, 0.0, 0.0, 0.0>, clip = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<5x2x8xf32>, tensor<12x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @recurrent_activation(%x: tensor<5x2x4xf32>, %r: tensor<4x4xf32>, %h: tensor<2x4xf32>) {
  // expected-error @+2 {{there is no activation "Gelu"}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = nx.recurrent %x, %r, %h {kind = #nx<recurrent_kind rnn>, activations = ["Gelu"],
      parameters = array<f64: 0.0, 0.0>, clip = 0.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
      : (tensor<5x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>) -> (tensor<5x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  return
}

// -----

func.func @det_square(%x: tensor<3x4xf32>) {
  // expected-error @+2 {{det needs square matrices, got [3, 4]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.det %x : (tensor<3x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @roi_align_regions(%x: tensor<1x3x8x8xf32>, %r: tensor<5x5xf32>, %i: tensor<5xi64>) {
  // expected-error @+2 {{roi_align needs images [N, C, H, W], regions [R, 4] and their images [R], got [1, 3, 8, 8], [5, 5] and [5]}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.roi_align %x, %r, %i {height = 2 : i64, width = 2 : i64, sampling = 0 : i64, scale = 1.0 : f64}
      : (tensor<1x3x8x8xf32>, tensor<5x5xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  return
}

// -----

func.func @cumulative_mean(%x: tensor<4xf32>) {
  // expected-error @+2 {{cumulative is sum, prod, max or min}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = nx.cumulative %x {axis = 0 : i64, kind = #nx<reduce_kind mean>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast_width(%x: tensor<4xf32>) {
  // expected-error @+1 {{reads elements of 32 bits as elements of 16}}
  %0 = nx.bitcast %x : (tensor<4xf32>) -> tensor<4xi16>
  return
}

// -----

func.func @cast_round(%x: tensor<4xf32>) {
  // expected-error @+1 {{rounds up, down or to nearest, not 'away'}}
  %0 = nx.cast %x {round = "away"} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  return
}

// -----

func.func @narrow_arithmetic(%x: tensor<4xf8E4M3FN>) {
  // expected-error @+1 {{operand #0 must be tensor of numbers that nx computes with}}
  %0 = nx.add %x, %x : (tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  return
}
