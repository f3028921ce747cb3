// Attention by heads: which degrees split how.
// RUN: nx-opt %s -nx-partition=degree=2 | FileCheck %s --check-prefixes=ALL,TP2
// RUN: nx-opt %s -nx-partition=degree=4 | FileCheck %s --check-prefixes=ALL,TP4
// RUN: nx-opt %s -nx-partition=degree=8 | FileCheck %s --check-prefixes=ALL,TP8
// RUN: nx-opt %s -nx-plan="degree=2 explain=text" -o /dev/null | FileCheck %s --check-prefix=WHY

// Eight heads in one fused weight of equal thirds: each rank has its part of every third.
// ALL-LABEL: func.func @fused
// TP2: recipe [#nx.shard<dim = 1, parts = 2, blocks = [512, 512, 512]>] : tensor<512x768xf32>
// TP4: recipe [#nx.shard<dim = 1, parts = 4, blocks = [512, 512, 512]>] : tensor<512x384xf32>
// TP2: recipe [#nx.shard<dim = 0, parts = 2, blocks = [512, 512, 512]>] : tensor<768xf32>
// TP2: nx.slice {{.*}}#nx.dims<0, 0, 0>{{.*}} -> tensor<2x64x256xf32>
// TP2: nx.slice {{.*}}#nx.dims<0, 0, 256>{{.*}} -> tensor<2x64x256xf32>
// TP2: nx.slice {{.*}}#nx.dims<0, 0, 512>{{.*}} -> tensor<2x64x256xf32>
// ALL-NOT: nx.all_gather
// TP2: nx.attention {{.*}} -> tensor<2x4x64x64xf32>
// TP4: nx.attention {{.*}} -> tensor<2x2x64x64xf32>
// TP8: nx.attention {{.*}} -> tensor<2x1x64x64xf32>
// TP2: nx.param "o.weight" {{.*}}#nx.shard<dim = 0, parts = 2>
// ALL: nx.all_reduce
// ALL-NOT: nx.all_
// ALL: return
func.func @fused(%x: tensor<2x64x512xf32>) -> tensor<2x64x512xf32> {
  %w = nx.param "qkv.weight" source tensor<512x1536xf32> : tensor<512x1536xf32>
  %b = nx.param "qkv.bias" source tensor<1536xf32> : tensor<1536xf32>
  %m = nx.matmul %x, %w : (tensor<2x64x512xf32>, tensor<512x1536xf32>) -> tensor<2x64x1536xf32>
  %mb = nx.add %m, %b : (tensor<2x64x1536xf32>, tensor<1536xf32>) -> tensor<2x64x1536xf32>
  %q = nx.slice %mb {starts = #nx.dims<0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x64x1536xf32>) -> tensor<2x64x512xf32>
  %k = nx.slice %mb {starts = #nx.dims<0, 0, 512>, steps = array<i64: 1, 1, 1>} : (tensor<2x64x1536xf32>) -> tensor<2x64x512xf32>
  %v = nx.slice %mb {starts = #nx.dims<0, 0, 1024>, steps = array<i64: 1, 1, 1>} : (tensor<2x64x1536xf32>) -> tensor<2x64x512xf32>
  %qr = nx.reshape %q : (tensor<2x64x512xf32>) -> tensor<2x64x8x64xf32>
  %qt = nx.transpose %qr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x8x64xf32>) -> tensor<2x8x64x64xf32>
  %kr = nx.reshape %k : (tensor<2x64x512xf32>) -> tensor<2x64x8x64xf32>
  %kt = nx.transpose %kr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x8x64xf32>) -> tensor<2x8x64x64xf32>
  %vr = nx.reshape %v : (tensor<2x64x512xf32>) -> tensor<2x64x8x64xf32>
  %vt = nx.transpose %vr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x8x64xf32>) -> tensor<2x8x64x64xf32>
  %a = nx.attention %qt, %kt, %vt {scale = 0.125 : f64, causal = #nx.dims<0>} : (tensor<2x8x64x64xf32>, tensor<2x8x64x64xf32>, tensor<2x8x64x64xf32>) -> tensor<2x8x64x64xf32>
  %at = nx.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x8x64x64xf32>) -> tensor<2x64x8x64xf32>
  %ar = nx.reshape %at : (tensor<2x64x8x64xf32>) -> tensor<2x64x512xf32>
  %wo = nx.param "o.weight" source tensor<512x512xf32> : tensor<512x512xf32>
  %o = nx.matmul %ar, %wo : (tensor<2x64x512xf32>, tensor<512x512xf32>) -> tensor<2x64x512xf32>
  %r = nx.add %o, %x : (tensor<2x64x512xf32>, tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  return %r : tensor<2x64x512xf32>
}

// Two key heads. Two ranks have one each, with unequal blocks in the fused weight; four ranks split each
// key head's group of queries; with eight each rank picks the key head of its query head.
// ALL-LABEL: func.func @grouped_fused
// TP2: recipe [#nx.shard<dim = 1, parts = 2, blocks = [512, 128, 128]>] : tensor<512x384xf32>
// TP2: nx.slice {{.*}}#nx.dims<0, 0, 0>{{.*}} -> tensor<2x64x256xf32>
// TP2: nx.slice {{.*}}#nx.dims<0, 0, 256>{{.*}} -> tensor<2x64x64xf32>
// TP2: nx.slice {{.*}}#nx.dims<0, 0, 320>{{.*}} -> tensor<2x64x64xf32>
// TP2-NOT: nx.all_gather
// TP2: nx.attention {{.*}} : (tensor<2x4x64x64xf32>, tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>)
// TP4: recipe [#nx.shard<dim = 1, parts = 4, blocks = [256, 256, 128, 128]>] : tensor<512x192xf32>
// TP4: nx.attention {{.*}} : (tensor<2x2x64x64xf32>, tensor<2x2x64x64xf32>, tensor<2x2x64x64xf32>)
// TP4: nx.param "o.weight" {{.*}}#nx.shard<dim = 0, parts = 4, blocks = [256, 256]>
// TP8: nx.broadcast {{.*}} -> tensor<2x2x4x64x64xf32>
// TP8: nx.shard {{.*}} {dim = 1 : i64, parts = 8 : i64} : (tensor<2x8x64x64xf32>) -> tensor<2x1x64x64xf32>
// TP8: nx.attention {{.*}} : (tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>)
// ALL: nx.all_reduce
// ALL-NOT: nx.all_
// ALL: return
func.func @grouped_fused(%x: tensor<2x64x512xf32>) -> tensor<2x64x512xf32> {
  %w = nx.param "qkv.weight" source tensor<512x768xf32> : tensor<512x768xf32>
  %b = nx.param "qkv.bias" source tensor<768xf32> : tensor<768xf32>
  %m = nx.matmul %x, %w : (tensor<2x64x512xf32>, tensor<512x768xf32>) -> tensor<2x64x768xf32>
  %mb = nx.add %m, %b : (tensor<2x64x768xf32>, tensor<768xf32>) -> tensor<2x64x768xf32>
  %q = nx.slice %mb {starts = #nx.dims<0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x64x768xf32>) -> tensor<2x64x512xf32>
  %k = nx.slice %mb {starts = #nx.dims<0, 0, 512>, steps = array<i64: 1, 1, 1>} : (tensor<2x64x768xf32>) -> tensor<2x64x128xf32>
  %v = nx.slice %mb {starts = #nx.dims<0, 0, 640>, steps = array<i64: 1, 1, 1>} : (tensor<2x64x768xf32>) -> tensor<2x64x128xf32>
  %qr = nx.reshape %q : (tensor<2x64x512xf32>) -> tensor<2x64x8x64xf32>
  %qt = nx.transpose %qr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x8x64xf32>) -> tensor<2x8x64x64xf32>
  %kr = nx.reshape %k : (tensor<2x64x128xf32>) -> tensor<2x64x2x64xf32>
  %kt = nx.transpose %kr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x2x64xf32>) -> tensor<2x2x64x64xf32>
  %vr = nx.reshape %v : (tensor<2x64x128xf32>) -> tensor<2x64x2x64xf32>
  %vt = nx.transpose %vr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x2x64xf32>) -> tensor<2x2x64x64xf32>
  %a = nx.attention %qt, %kt, %vt {scale = 0.125 : f64, causal = #nx.dims<0>} : (tensor<2x8x64x64xf32>, tensor<2x2x64x64xf32>, tensor<2x2x64x64xf32>) -> tensor<2x8x64x64xf32>
  %at = nx.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x8x64x64xf32>) -> tensor<2x64x8x64xf32>
  %ar = nx.reshape %at : (tensor<2x64x8x64xf32>) -> tensor<2x64x512xf32>
  %wo = nx.param "o.weight" source tensor<512x512xf32> : tensor<512x512xf32>
  %o = nx.matmul %ar, %wo : (tensor<2x64x512xf32>, tensor<512x512xf32>) -> tensor<2x64x512xf32>
  %r = nx.add %o, %x : (tensor<2x64x512xf32>, tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  return %r : tensor<2x64x512xf32>
}

// One key head for all: queries are split, keys are not.
// ALL-LABEL: func.func @one_key_head
// TP4: nx.attention {{.*}} : (tensor<2x2x64x64xf32>, tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>)
// TP8: nx.attention {{.*}} : (tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>)
// ALL: nx.all_reduce
// ALL: return
func.func @one_key_head(%x: tensor<2x64x512xf32>) -> tensor<2x64x512xf32> {
  %wq = nx.param "q.weight" source tensor<512x512xf32> : tensor<512x512xf32>
  %q = nx.matmul %x, %wq : (tensor<2x64x512xf32>, tensor<512x512xf32>) -> tensor<2x64x512xf32>
  %wk = nx.param "k.weight" source tensor<512x64xf32> : tensor<512x64xf32>
  %k = nx.matmul %x, %wk : (tensor<2x64x512xf32>, tensor<512x64xf32>) -> tensor<2x64x64xf32>
  %wv = nx.param "v.weight" source tensor<512x64xf32> : tensor<512x64xf32>
  %v = nx.matmul %x, %wv : (tensor<2x64x512xf32>, tensor<512x64xf32>) -> tensor<2x64x64xf32>
  %qr = nx.reshape %q : (tensor<2x64x512xf32>) -> tensor<2x64x8x64xf32>
  %qt = nx.transpose %qr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x8x64xf32>) -> tensor<2x8x64x64xf32>
  %kr = nx.reshape %k : (tensor<2x64x64xf32>) -> tensor<2x64x1x64xf32>
  %kt = nx.transpose %kr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x1x64xf32>) -> tensor<2x1x64x64xf32>
  %vr = nx.reshape %v : (tensor<2x64x64xf32>) -> tensor<2x64x1x64xf32>
  %vt = nx.transpose %vr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x1x64xf32>) -> tensor<2x1x64x64xf32>
  %a = nx.attention %qt, %kt, %vt {scale = 0.125 : f64, causal = #nx.dims<0>} : (tensor<2x8x64x64xf32>, tensor<2x1x64x64xf32>, tensor<2x1x64x64xf32>) -> tensor<2x8x64x64xf32>
  %at = nx.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x8x64x64xf32>) -> tensor<2x64x8x64xf32>
  %ar = nx.reshape %at : (tensor<2x64x8x64xf32>) -> tensor<2x64x512xf32>
  %wo = nx.param "o.weight" source tensor<512x512xf32> : tensor<512x512xf32>
  %o = nx.matmul %ar, %wo : (tensor<2x64x512xf32>, tensor<512x512xf32>) -> tensor<2x64x512xf32>
  %r = nx.add %o, %x : (tensor<2x64x512xf32>, tensor<2x64x512xf32>) -> tensor<2x64x512xf32>
  return %r : tensor<2x64x512xf32>
}

// Nine heads over an even number of ranks: attention stays whole, what is around it need not.
// ALL-LABEL: func.func @nine
// ALL: nx.attention {{.*}} : (tensor<2x9x64x64xf32>, tensor<2x3x64x64xf32>, tensor<2x3x64x64xf32>)
// ALL: return
// WHY: not split:
// WHY-NEXT: nx.attention  9 heads on 3 key heads do not divide by 2; legal degrees: 1, 3, 9
func.func @nine(%x: tensor<2x64x576xf32>) -> tensor<2x64x576xf32> {
  %wq = nx.param "q.weight" source tensor<576x576xf32> : tensor<576x576xf32>
  %q = nx.matmul %x, %wq : (tensor<2x64x576xf32>, tensor<576x576xf32>) -> tensor<2x64x576xf32>
  %wk = nx.param "k.weight" source tensor<576x192xf32> : tensor<576x192xf32>
  %k = nx.matmul %x, %wk : (tensor<2x64x576xf32>, tensor<576x192xf32>) -> tensor<2x64x192xf32>
  %wv = nx.param "v.weight" source tensor<576x192xf32> : tensor<576x192xf32>
  %v = nx.matmul %x, %wv : (tensor<2x64x576xf32>, tensor<576x192xf32>) -> tensor<2x64x192xf32>
  %qr = nx.reshape %q : (tensor<2x64x576xf32>) -> tensor<2x64x9x64xf32>
  %qt = nx.transpose %qr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x9x64xf32>) -> tensor<2x9x64x64xf32>
  %kr = nx.reshape %k : (tensor<2x64x192xf32>) -> tensor<2x64x3x64xf32>
  %kt = nx.transpose %kr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x3x64xf32>) -> tensor<2x3x64x64xf32>
  %vr = nx.reshape %v : (tensor<2x64x192xf32>) -> tensor<2x64x3x64xf32>
  %vt = nx.transpose %vr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x64x3x64xf32>) -> tensor<2x3x64x64xf32>
  %a = nx.attention %qt, %kt, %vt {scale = 0.125 : f64, causal = #nx.dims<0>} : (tensor<2x9x64x64xf32>, tensor<2x3x64x64xf32>, tensor<2x3x64x64xf32>) -> tensor<2x9x64x64xf32>
  %at = nx.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x9x64x64xf32>) -> tensor<2x64x9x64xf32>
  %ar = nx.reshape %at : (tensor<2x64x9x64xf32>) -> tensor<2x64x576xf32>
  %wo = nx.param "o.weight" source tensor<576x576xf32> : tensor<576x576xf32>
  %o = nx.matmul %ar, %wo : (tensor<2x64x576xf32>, tensor<576x576xf32>) -> tensor<2x64x576xf32>
  %r = nx.add %o, %x : (tensor<2x64x576xf32>, tensor<2x64x576xf32>) -> tensor<2x64x576xf32>
  return %r : tensor<2x64x576xf32>
}
