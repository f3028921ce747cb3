// Sizes have one normal form, so equal sizes are equal types.
// RUN: nx-opt %s | FileCheck %s

// CHECK-LABEL: @normal_form
// CHECK-SAME: #nx.dims<(s0 * s1) * 2>
// CHECK-SAME: #nx.dims<s0 + s1 + 1>
func.func @normal_form(%a: tensor<?xf32, #nx.dims<s1 * 2 * s0>>, %b: tensor<?xf32, #nx.dims<1 + s1 + s0>>) {
  return
}

// A division that comes out even for all sizes disappears.
// CHECK-LABEL: @exact_division
// CHECK-SAME: tensor<?xf32, #nx.dims<s0 * 12>>
func.func @exact_division(%a: tensor<?xf32, #nx.dims<(s0 * 768) floordiv 64>>) {
  return
}

// CHECK-LABEL: @inexact_division
// CHECK-SAME: tensor<?xf32, #nx.dims<(s0 + 1) floordiv 2>>
func.func @inexact_division(%a: tensor<?xf32, #nx.dims<(s0 + 1) floordiv 2>>) {
  return
}
