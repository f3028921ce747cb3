// Convolutions: output channels, then input channels; groups; what flattening makes of channels.
// RUN: nx-opt %s -nx-partition=degree=2 | FileCheck %s

#row = #nx.dims<s0, 64, 56, 56>
// CHECK-LABEL: func.func @network
func.func @network(%x: tensor<?x3x56x56xf32, #nx.dims<s0, 3, 56, 56>>) -> tensor<?x1000xf32, #nx.dims<s0, 1000>> {
  %w1 = nx.param "c1" source tensor<256x3x3x3xf32> : tensor<256x3x3x3xf32>
  %b1 = nx.param "c1.bias" source tensor<256xf32> : tensor<256xf32>
  %wd = nx.param "depthwise" source tensor<256x1x3x3xf32> : tensor<256x1x3x3xf32>
  %w2 = nx.param "c2" source tensor<256x256x3x3xf32> : tensor<256x256x3x3xf32>
  %w3 = nx.param "fc" source tensor<50176x1000xf32> : tensor<50176x1000xf32>
  // CHECK: nx.param "fc" {{.*}}#nx.shard<dim = 0, parts = 2>
  // CHECK: nx.conv %arg0, %{{.*}}, %{{.*}} {{.*}}groups = 1 : i64{{.*}} (tensor<?x3x56x56xf32, {{.*}}>, tensor<128x3x3x3xf32>, tensor<128xf32>)
  %0 = nx.conv %x, %w1, %b1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<?x3x56x56xf32, #nx.dims<s0, 3, 56, 56>>, tensor<256x3x3x3xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>
  // CHECK: nx.conv {{.*}}groups = 128 : i64{{.*}} tensor<128x1x3x3xf32>)
  %1 = nx.conv %0, %wd {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 256 : i64}
      : (tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>, tensor<256x1x3x3xf32>) -> tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>
  %2 = nx.relu %1 : (tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>) -> tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>
  // The strided convolution has fewer outputs than inputs: a sum moves less than a gather.
  // CHECK: %[[P:.*]] = nx.conv {{.*}} tensor<256x128x3x3xf32>)
  // CHECK-NEXT: %[[S:.*]] = nx.reduce_scatter %[[P]] {dim = 1 : i64, kind = #nx<reduce_kind sum>, parts = 2 : i64}
  // CHECK-NEXT: nx.relu %[[S]]
  %3 = nx.conv %2, %w2 {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 1 : i64}
      : (tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>, tensor<256x256x3x3xf32>) -> tensor<?x256x14x14xf32, #nx.dims<s0, 256, 14, 14>>
  %4 = nx.relu %3 : (tensor<?x256x14x14xf32, #nx.dims<s0, 256, 14, 14>>) -> tensor<?x256x14x14xf32, #nx.dims<s0, 256, 14, 14>>
  // Flattening keeps the channels outermost, so that the classifier's rows are split like them.
  // CHECK: nx.reshape {{.*}} -> tensor<?x25088xf32
  // CHECK-NEXT: nx.matmul
  // CHECK-NEXT: nx.all_reduce
  // CHECK-NEXT: return
  %5 = nx.reshape %4 : (tensor<?x256x14x14xf32, #nx.dims<s0, 256, 14, 14>>) -> tensor<?x50176xf32, #nx.dims<s0, 50176>>
  %6 = nx.matmul %5, %w3 : (tensor<?x50176xf32, #nx.dims<s0, 50176>>, tensor<50176x1000xf32>) -> tensor<?x1000xf32, #nx.dims<s0, 1000>>
  return %6 : tensor<?x1000xf32, #nx.dims<s0, 1000>>
}

// Groups are split; within a rank they stay groups.
// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<?x64x56x56xf32, #row>) -> tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>> {
  %w1 = nx.param "g1" source tensor<256x16x3x3xf32> : tensor<256x16x3x3xf32>
  %s = nx.param "scale" source tensor<256xf32> : tensor<256xf32>
  // CHECK: nx.conv {{.*}}groups = 2 : i64{{.*}} (tensor<?x32x56x56xf32, {{.*}}>, tensor<128x16x3x3xf32>)
  %0 = nx.conv %x, %w1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = array<i64: 1, 1>, pads_hi = array<i64: 1, 1>, groups = 4 : i64}
      : (tensor<?x64x56x56xf32, #row>, tensor<256x16x3x3xf32>) -> tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>
  // CHECK: nx.group_norm {{.*}}groups = 4 : i64
  %1 = nx.group_norm %0, %s, %s {groups = 8 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>
  return %1 : tensor<?x256x56x56xf32, #nx.dims<s0, 256, 56, 56>>
}
