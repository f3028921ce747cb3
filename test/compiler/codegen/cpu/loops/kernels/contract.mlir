func.func @matmul_f64(%a0: tensor<?x?xf64> {nx.shape = affine_map<()[M, N, K] -> (M, K)>}, %a1: tensor<?x?xf64> {nx.shape = affine_map<()[M, N, K] -> (K, N)>}) -> (tensor<?x?xf64> {nx.shape = affine_map<()[M, N, K] -> (M, N)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf64>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a1, %v3 : tensor<?x?xf64>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf64>
    %v6 = arith.constant 0.0 : f64
    %v7 = linalg.fill ins(%v6 : f64) outs(%v5 : tensor<?x?xf64>) -> tensor<?x?xf64>
    %v8 = linalg.generic {indexing_maps = [affine_map<(dm,dn,dk) -> (dm, dk)>, affine_map<(dm,dn,dk) -> (dk, dn)>, affine_map<(dm,dn,dk) -> (dm, dn)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<?x?xf64>, tensor<?x?xf64>) outs(%v7 : tensor<?x?xf64>) {
    ^bb0(%i0: f64, %i1: f64, %o: f64):
      %p = arith.mulf %i0, %i1 : f64
      %y = arith.addf %p, %o : f64
      linalg.yield %y : f64
    } -> tensor<?x?xf64>
    return %v8 : tensor<?x?xf64>
  }

func.func @matmul_nt(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[M, N, K] -> (M, K)>}, %a1: tensor<?x?xf32> {nx.shape = affine_map<()[M, N, K] -> (N, K)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[M, N, K] -> (M, N)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a1, %v3 : tensor<?x?xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = arith.constant 0.0 : f32
    %v7 = linalg.fill ins(%v6 : f32) outs(%v5 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(dm,dn,dk) -> (dm, dk)>, affine_map<(dm,dn,dk) -> (dn, dk)>, affine_map<(dm,dn,dk) -> (dm, dn)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%v7 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %p = arith.mulf %i0, %i1 : f32
      %y = arith.addf %p, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v8 : tensor<?x?xf32>
  }

func.func @matmul_i32(%a0: tensor<?x?xi8> {nx.shape = affine_map<()[M, N, K] -> (M, K)>}, %a1: tensor<?x?xi8> {nx.shape = affine_map<()[M, N, K] -> (K, N)>}) -> (tensor<?x?xi32> {nx.shape = affine_map<()[M, N, K] -> (M, N)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi8>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a1, %v3 : tensor<?x?xi8>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xi32>
    %v6 = arith.constant 0 : i32
    %v7 = linalg.fill ins(%v6 : i32) outs(%v5 : tensor<?x?xi32>) -> tensor<?x?xi32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(dm,dn,dk) -> (dm, dk)>, affine_map<(dm,dn,dk) -> (dk, dn)>, affine_map<(dm,dn,dk) -> (dm, dn)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0, %a1 : tensor<?x?xi8>, tensor<?x?xi8>) outs(%v7 : tensor<?x?xi32>) {
    ^bb0(%i0: i8, %i1: i8, %o: i32):
      %a = arith.extsi %i0 : i8 to i32
      %b = arith.extsi %i1 : i8 to i32
      %p = arith.muli %a, %b : i32
      %y = arith.addi %p, %o : i32
      linalg.yield %y : i32
    } -> tensor<?x?xi32>
    return %v8 : tensor<?x?xi32>
  }

func.func @conv(%a0: tensor<?x3x17x19xf32> {nx.shape = affine_map<()[B] -> (B, 3, 17, 19)>}, %a1: tensor<5x3x3x3xf32>, %a2: tensor<5xf32>) -> (tensor<?x5x8x17xf32> {nx.shape = affine_map<()[B] -> (B, 5, 8, 17)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x3x17x19xf32>
    %v3 = tensor.empty(%v2) : tensor<?x5x8x17xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?x5x8x17xf32>) -> tensor<?x5x8x17xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(dn,do,dh,dw,dc,dy,dx) -> (dn, dc, dh * 2 + dy, dw + dx)>, affine_map<(dn,do,dh,dw,dc,dy,dx) -> (do, dc, dy, dx)>, affine_map<(dn,do,dh,dw,dc,dy,dx) -> (dn, do, dh, dw)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%a0, %a1 : tensor<?x3x17x19xf32>, tensor<5x3x3x3xf32>) outs(%v5 : tensor<?x5x8x17xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %p = arith.mulf %i0, %i1 : f32
      %y = arith.addf %p, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x5x8x17xf32>
    %v7 = tensor.empty(%v2) : tensor<?x5x8x17xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(dn,do,dh,dw) -> (dn, do, dh, dw)>, affine_map<(dn,do,dh,dw) -> (do)>, affine_map<(dn,do,dh,dw) -> (dn, do, dh, dw)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v6, %a2 : tensor<?x5x8x17xf32>, tensor<5xf32>) outs(%v7 : tensor<?x5x8x17xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %s = arith.addf %i0, %i1 : f32
      %z = arith.constant 0.0 : f32
      %y = arith.maximumf %s, %z : f32
      linalg.yield %y : f32
    } -> tensor<?x5x8x17xf32>
    return %v8 : tensor<?x5x8x17xf32>
  }

func.func @maxpool(%a0: tensor<?x3x16x20xf32> {nx.shape = affine_map<()[B] -> (B, 3, 16, 20)>}) -> (tensor<?x3x8x6xf32> {nx.shape = affine_map<()[B] -> (B, 3, 8, 6)>}) {
    %v1 = tensor.empty() : tensor<2x3xf32>
    %v2 = arith.constant 0 : index
    %v3 = tensor.dim %a0, %v2 : tensor<?x3x16x20xf32>
    %v4 = tensor.empty(%v3) : tensor<?x3x8x6xf32>
    %v5 = arith.constant 0xFF800000 : f32
    %v6 = linalg.fill ins(%v5 : f32) outs(%v4 : tensor<?x3x8x6xf32>) -> tensor<?x3x8x6xf32>
    %v7 = linalg.generic {indexing_maps = [affine_map<(dn,dc,dh,dw,dy,dx) -> (dn, dc, dh * 2 + dy, dw * 3 + dx)>, affine_map<(dn,dc,dh,dw,dy,dx) -> (dy, dx)>, affine_map<(dn,dc,dh,dw,dy,dx) -> (dn, dc, dh, dw)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%a0, %v1 : tensor<?x3x16x20xf32>, tensor<2x3xf32>) outs(%v6 : tensor<?x3x8x6xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x3x8x6xf32>
    return %v7 : tensor<?x3x8x6xf32>
  }
