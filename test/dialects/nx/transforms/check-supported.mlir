// RUN: not nx-opt %s -nx-check-supported 2>&1 | FileCheck %s

// CHECK: error: 2 nodes of the model cannot be compiled:
// CHECK-NEXT: node 'find' (NonZero, domain ai.onnx, opset 17) of [batch, 128] f32: sizes depend on data
// CHECK-NEXT: node 'after' (Unique, domain ai.onnx, opset 17) of an unknown shape: sizes depend on data
func.func @forward(%x: tensor<?x128xf32, #nx.dims<s0, 128>>) -> none attributes {nx.symbols = ["batch"]} {
  %0 = nx.unsupported %x {node = "find", op_type = "NonZero", domain = "ai.onnx", opset = 17 : i64, reason = "sizes depend on data"}
    : (tensor<?x128xf32, #nx.dims<s0, 128>>) -> none
  %1 = nx.unsupported %0 {node = "after", op_type = "Unique", domain = "ai.onnx", opset = 17 : i64, reason = "sizes depend on data"}
    : (none) -> none
  return %1 : none
}
