// What the verifiers of the nxe dialect refuse.
// RUN: nx-opt %s -split-input-file -verify-diagnostics

nxe.executable tp 1 {
  nxe.program @forward symbols [] {
    %x = nxe.input 0 "x" : tensor<4xf32>
    // expected-error @+1 {{there is no kernel @k}}
    nxe.dispatch @k(%x) dims <>
  }
}

// -----

nxe.executable tp 1 {
  nxe.kernel @k family "loops" slots 0 operands 2
  nxe.program @forward symbols [] {
    %x = nxe.input 0 "x" : tensor<4xf32>
    // expected-error @+1 {{kernel @k has 2 operands and 0 slots, got 1 and 0}}
    nxe.dispatch @k(%x) dims <>
  }
}

// -----

nxe.executable tp 1 {
  nxe.program @forward symbols [] {
    // expected-error @+1 {{'bytes' uses symbol s0, the program has 0}}
    %t = nxe.temp bytes <s0 * 4>
  }
}

// -----

nxe.executable tp 1 {
  nxe.program @forward symbols [] {
    // expected-error @+1 {{there is no parameter @p}}
    %w = nxe.load @p
  }
}

// -----

nxe.executable tp 1 {
  nxe.program @forward symbols [] {
    // expected-error @+1 {{inputs are listed in the order of their indices}}
    %x = nxe.input 1 "x" : tensor<4xf32>
  }
}

// -----

nxe.executable tp 1 {
  // expected-error @+1 {{symbol 'seq' comes from input 3, there are 0}}
  nxe.program @forward symbols [#nxe.symbol<"seq", input_dim, 3, 0>] {
  }
}

// -----

nxe.executable tp 2 {
  nxe.program @forward symbols [] {
    %x = nxe.input 0 "x" : tensor<4xf32>
    %y = nxe.output 0 "y" : tensor<4xf32>
    // expected-error @+1 {{needs a layout [outer, count, inner]}}
    nxe.collective all_reduce sum f32 %x to %y layout <4>
  }
}
