// Operations on constants and sizes are evaluated.
// RUN: nx-opt %s -nx-canonicalize -cse | FileCheck %s

// CHECK-LABEL: @sizes
// CHECK: %[[S:.*]] = nx.shape_value <s1 * 2, s0 * s1> : tensor<2xi64>
// CHECK: return %[[S]]
func.func @sizes() -> tensor<2xi64> {
  %shape = nx.shape_value <s0, s1> : tensor<2xi64>
  %one = nx.constant dense<1> : tensor<1xi64>
  %two = nx.constant dense<2> : tensor<i64>
  %last = nx.gather %shape, %one {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<1xi64>
  %double = nx.mul %last, %two : (tensor<1xi64>, tensor<i64>) -> tensor<1xi64>
  %all = nx.reduce %shape {kind = #nx<reduce_kind prod>, axes = array<i64: 0>, keep_dims} : (tensor<2xi64>) -> tensor<1xi64>
  %joined = nx.concat %double, %all {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  return %joined : tensor<2xi64>
}

// A size is never negative, so it is not -1; but it may be 1.
// CHECK-LABEL: @comparisons
// CHECK-DAG: %[[A:.*]] = nx.shape_value <s0> : tensor<1xi64>
// CHECK-DAG: %[[B:.*]] = nx.compare
// CHECK: return %[[A]], %[[B]]
func.func @comparisons() -> (tensor<1xi64>, tensor<1xi1>) {
  %size = nx.shape_value <s0> : tensor<1xi64>
  %unknown = nx.constant dense<-1> : tensor<1xi64>
  %one = nx.constant dense<1> : tensor<1xi64>
  %isUnknown = nx.compare %size, %unknown {predicate = #nx<compare_predicate eq>} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  %chosen = nx.select %isUnknown, %one, %size : (tensor<1xi1>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %isOne = nx.compare %size, %one {predicate = #nx<compare_predicate eq>} : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  return %chosen, %isOne : tensor<1xi64>, tensor<1xi1>
}

// CHECK-LABEL: @movement
// CHECK: %[[C:.*]] = nx.constant dense<{{\[}}[4.000000e+00, 1.000000e+00], [5.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK: return %[[C]]
func.func @movement() -> tensor<2x2xf32> {
  %c = nx.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %t = nx.transpose %c {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %s = nx.slice %t {starts = #nx.dims<0, 1>, steps = array<i64: 1, -1>} : (tensor<3x2xf32>) -> tensor<2x2xf32>
  return %s : tensor<2x2xf32>
}

// CHECK-LABEL: @arithmetic
// CHECK-DAG: %[[A:.*]] = nx.constant dense<[1.500000e+00, 2.500000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[B:.*]] = nx.constant dense<250> : tensor<ui8>
// CHECK-DAG: %[[C:.*]] = nx.constant dense<-2> : tensor<i64>
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @arithmetic() -> (tensor<2xf32>, tensor<ui8>, tensor<i64>) {
  %f = nx.constant dense<[2.25, 6.25]> : tensor<2xf32>
  %root = nx.sqrt %f : (tensor<2xf32>) -> tensor<2xf32>
  %u = nx.constant dense<6> : tensor<ui8>
  %zero = nx.constant dense<0> : tensor<ui8>
  %wrapped = nx.sub %zero, %u : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %x = nx.constant dense<-7> : tensor<i64>
  %y = nx.constant dense<3> : tensor<i64>
  %quotient = nx.div %x, %y : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %root, %wrapped, %quotient : tensor<2xf32>, tensor<ui8>, tensor<i64>
}

// Division by a number that may be 0, and large values, are left alone.
// CHECK-LABEL: @kept
// CHECK: nx.div
// CHECK: nx.broadcast
func.func @kept() -> (tensor<1xi64>, tensor<1024xf32>) {
  %ten = nx.constant dense<10> : tensor<1xi64>
  %size = nx.shape_value <s0> : tensor<1xi64>
  %q = nx.div %ten, %size : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %c = nx.constant dense<1.0> : tensor<f32>
  %b = nx.broadcast %c : (tensor<f32>) -> tensor<1024xf32>
  return %q, %b : tensor<1xi64>, tensor<1024xf32>
}
