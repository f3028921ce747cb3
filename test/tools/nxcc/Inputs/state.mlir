// y = total + the sum of x's rows; y becomes total.
func.func @forward(%x: tensor<2x4xf32> {nx.name = "x"}, %total: tensor<4xf32> {nx.name = "total", nx.state = "total"})
    -> (tensor<4xf32> {nx.name = "y"}, tensor<4xf32> {nx.name = "total", nx.state = "total"}) {
  %0 = nx.reduce %x {kind = #nx<reduce_kind sum>, axes = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  %1 = nx.add %0, %total : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %1 : tensor<4xf32>, tensor<4xf32>
}
