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
