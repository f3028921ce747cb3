// RUN: nx-opt %s -pass-pipeline='builtin.module(nxe.executable(nxe.program(nxe-plan-memory)))' | FileCheck %s

nxe.executable tp 1 {
  nxe.kernel @k family "loops" slots 0 operands 2
  nxe.kernel @kd family "loops" slots 1 operands 2
  // Buffers that never live together share their place; sizes are rounded up to 64.
  // CHECK-LABEL: nxe.program @static
  // CHECK-SAME: arena 320
  nxe.program @static symbols [] {
    %x = nxe.input 0 "x" : tensor<64xf32>
    // CHECK: nxe.temp bytes <256> first 0 last 1 offset 0
    %a = nxe.temp bytes #nx.dims<256>
    // CHECK: nxe.temp bytes <40> first 1 last 2 offset 256
    %b = nxe.temp bytes #nx.dims<40>
    // CHECK: nxe.temp bytes <256> first 2 last 3 offset 0
    %c = nxe.temp bytes #nx.dims<256>
    // A temporary that no command touches goes.
    // CHECK-NOT: nxe.temp
    %unused = nxe.temp bytes #nx.dims<512>
    %y = nxe.output 0 "y" : tensor<64xf32>
    nxe.dispatch @k(%x, %a) dims #nx.dims<>
    nxe.dispatch @k(%a, %b) dims #nx.dims<>
    nxe.dispatch @k(%b, %c) dims #nx.dims<>
    nxe.dispatch @k(%c, %y) dims #nx.dims<>
  }

  // A view keeps its base alive; with symbolic sizes there are lifetimes but no offsets.
  // CHECK-LABEL: nxe.program @dynamic
  // CHECK-NOT: arena
  nxe.program @dynamic symbols [#nxe.symbol<"n", input_dim, 0, 0>] {
    %x = nxe.input 0 "x" : tensor<?xf32, #nx.dims<s0>>
    // CHECK: nxe.temp bytes <s0 * 4> first 0 last 2{{$}}
    %a = nxe.temp bytes #nx.dims<s0 * 4>
    %v = nxe.view %a offset #nx.dims<0> bytes #nx.dims<16>
    // CHECK: nxe.temp bytes <256> first 1 last 2{{$}}
    %b = nxe.temp bytes #nx.dims<256>
    nxe.dispatch @kd(%x, %a) dims #nx.dims<s0>
    nxe.dispatch @kd(%a, %b) dims #nx.dims<s0>
    nxe.copy %v to %b bytes #nx.dims<16>
  }
}
