// RUN: nx-opt --nx-to-linalg --split-input-file --verify-diagnostics %s

func.func private @param() -> tensor<4xf32> attributes {nx.family = "loops"} {
  // expected-error @below {{'nx.param' op is not an operation of a kernel}}
  %0 = nx.param "w" source tensor<4xf32> : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @collective(%x: tensor<4xf32>) -> tensor<4xf32> attributes {nx.family = "loops"} {
  // expected-error @below {{'nx.all_reduce' op is not an operation of a kernel}}
  %0 = nx.all_reduce %x {kind = #nx<reduce_kind sum>, parts = 2} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @pad(%x: tensor<0xf32>) -> tensor<2xf32> attributes {nx.family = "loops"} {
  // expected-error @below {{'nx.pad' op repeats elements of a tensor that has none}}
  %0 = nx.pad %x {lo = #nx.dims<1>, hi = #nx.dims<1>, mode = #nx<pad_mode edge>} : (tensor<0xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// expected-error @below {{the arguments and results of a kernel are ranked tensors}}
func.func private @scalar(%x: f32) -> f32 attributes {nx.family = "loops"} {
  return %x : f32
}
