func.func @add(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) -> (tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x768xf32>, tensor<?x768xf32>) outs(%v3 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v4 : tensor<?x768xf32>
  }

func.func @gelu(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<768xf32>, %a2: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) -> (tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x768xf32>, tensor<768xf32>) outs(%v3 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v5 = tensor.empty(%v2) : tensor<?x768xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4 : tensor<?x768xf32>) outs(%v5 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %c = arith.constant 0.70710678118654752 : f32
      %h = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %g0 = arith.mulf %i0, %c : f32
      %g1 = math.erf %g0 : f32
      %g2 = arith.addf %g1, %one : f32
      %g3 = arith.mulf %i0, %h : f32
      %y = arith.mulf %g3, %g2 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v7 = tensor.empty(%v2) : tensor<?x768xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6, %a2 : tensor<?x768xf32>, tensor<?x768xf32>) outs(%v7 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v8 : tensor<?x768xf32>
  }

func.func @gelu_f16(%a0: tensor<?x768xf16> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<768xf16>, %a2: tensor<?x768xf16> {nx.shape = affine_map<()[S] -> (S, 768)>}) -> (tensor<?x768xf16> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf16>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x768xf16>) outs(%v3 : tensor<?x768xf32>) {
    ^bb0(%i0: f16, %o: f32):
      %y = arith.extf %i0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v5 = tensor.empty() : tensor<768xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(dj) -> (dj)>, affine_map<(dj) -> (dj)>], iterator_types = ["parallel"]} ins(%a1 : tensor<768xf16>) outs(%v5 : tensor<768xf32>) {
    ^bb0(%i0: f16, %o: f32):
      %y = arith.extf %i0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<768xf32>
    %v7 = tensor.empty(%v2) : tensor<?x768xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a2 : tensor<?x768xf16>) outs(%v7 : tensor<?x768xf32>) {
    ^bb0(%i0: f16, %o: f32):
      %y = arith.extf %i0 : f16 to f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v9 = tensor.empty(%v2) : tensor<?x768xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4, %v6 : tensor<?x768xf32>, tensor<768xf32>) outs(%v9 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v11 = tensor.empty(%v2) : tensor<?x768xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v10 : tensor<?x768xf32>) outs(%v11 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %c = arith.constant 0.70710678118654752 : f32
      %h = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %g0 = arith.mulf %i0, %c : f32
      %g1 = math.erf %g0 : f32
      %g2 = arith.addf %g1, %one : f32
      %g3 = arith.mulf %i0, %h : f32
      %y = arith.mulf %g3, %g2 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v13 = tensor.empty(%v2) : tensor<?x768xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v12, %v8 : tensor<?x768xf32>, tensor<?x768xf32>) outs(%v13 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v15 = tensor.empty(%v2) : tensor<?x768xf16>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v14 : tensor<?x768xf32>) outs(%v15 : tensor<?x768xf16>) {
    ^bb0(%i0: f32, %o: f16):
      %y = arith.truncf %i0 : f32 to f16
      linalg.yield %y : f16
    } -> tensor<?x768xf16>
    return %v16 : tensor<?x768xf16>
  }

func.func @gelu_bf16(%a0: tensor<?x768xbf16> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<768xbf16>, %a2: tensor<?x768xbf16> {nx.shape = affine_map<()[S] -> (S, 768)>}) -> (tensor<?x768xbf16> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xbf16>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x768xbf16>) outs(%v3 : tensor<?x768xf32>) {
    ^bb0(%i0: bf16, %o: f32):
      %y = arith.extf %i0 : bf16 to f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v5 = tensor.empty() : tensor<768xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(dj) -> (dj)>, affine_map<(dj) -> (dj)>], iterator_types = ["parallel"]} ins(%a1 : tensor<768xbf16>) outs(%v5 : tensor<768xf32>) {
    ^bb0(%i0: bf16, %o: f32):
      %y = arith.extf %i0 : bf16 to f32
      linalg.yield %y : f32
    } -> tensor<768xf32>
    %v7 = tensor.empty(%v2) : tensor<?x768xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a2 : tensor<?x768xbf16>) outs(%v7 : tensor<?x768xf32>) {
    ^bb0(%i0: bf16, %o: f32):
      %y = arith.extf %i0 : bf16 to f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v9 = tensor.empty(%v2) : tensor<?x768xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4, %v6 : tensor<?x768xf32>, tensor<768xf32>) outs(%v9 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v11 = tensor.empty(%v2) : tensor<?x768xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v10 : tensor<?x768xf32>) outs(%v11 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %c = arith.constant 0.70710678118654752 : f32
      %h = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %g0 = arith.mulf %i0, %c : f32
      %g1 = math.erf %g0 : f32
      %g2 = arith.addf %g1, %one : f32
      %g3 = arith.mulf %i0, %h : f32
      %y = arith.mulf %g3, %g2 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v13 = tensor.empty(%v2) : tensor<?x768xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v12, %v8 : tensor<?x768xf32>, tensor<?x768xf32>) outs(%v13 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v15 = tensor.empty(%v2) : tensor<?x768xbf16>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v14 : tensor<?x768xf32>) outs(%v15 : tensor<?x768xbf16>) {
    ^bb0(%i0: f32, %o: bf16):
      %y = arith.truncf %i0 : f32 to bf16
      linalg.yield %y : bf16
    } -> tensor<?x768xbf16>
    return %v16 : tensor<?x768xbf16>
  }

func.func @gelu77(%a0: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}, %a1: tensor<77xf32>, %a2: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) -> (tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x77xf32>
    %v3 = tensor.empty(%v2) : tensor<?x77xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x77xf32>, tensor<77xf32>) outs(%v3 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    %v5 = tensor.empty(%v2) : tensor<?x77xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4 : tensor<?x77xf32>) outs(%v5 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %c = arith.constant 0.70710678118654752 : f32
      %h = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %g0 = arith.mulf %i0, %c : f32
      %g1 = math.erf %g0 : f32
      %g2 = arith.addf %g1, %one : f32
      %g3 = arith.mulf %i0, %h : f32
      %y = arith.mulf %g3, %g2 : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    %v7 = tensor.empty(%v2) : tensor<?x77xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6, %a2 : tensor<?x77xf32>, tensor<?x77xf32>) outs(%v7 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    return %v8 : tensor<?x77xf32>
  }

func.func @gelu3(%a0: tensor<?x3xf32> {nx.shape = affine_map<()[S] -> (S, 3)>}, %a1: tensor<3xf32>, %a2: tensor<?x3xf32> {nx.shape = affine_map<()[S] -> (S, 3)>}) -> (tensor<?x3xf32> {nx.shape = affine_map<()[S] -> (S, 3)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x3xf32>
    %v3 = tensor.empty(%v2) : tensor<?x3xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x3xf32>, tensor<3xf32>) outs(%v3 : tensor<?x3xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x3xf32>
    %v5 = tensor.empty(%v2) : tensor<?x3xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4 : tensor<?x3xf32>) outs(%v5 : tensor<?x3xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %c = arith.constant 0.70710678118654752 : f32
      %h = arith.constant 0.5 : f32
      %one = arith.constant 1.0 : f32
      %g0 = arith.mulf %i0, %c : f32
      %g1 = math.erf %g0 : f32
      %g2 = arith.addf %g1, %one : f32
      %g3 = arith.mulf %i0, %h : f32
      %y = arith.mulf %g3, %g2 : f32
      linalg.yield %y : f32
    } -> tensor<?x3xf32>
    %v7 = tensor.empty(%v2) : tensor<?x3xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6, %a2 : tensor<?x3xf32>, tensor<?x3xf32>) outs(%v7 : tensor<?x3xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x3xf32>
    return %v8 : tensor<?x3xf32>
  }

func.func @where(%a0: tensor<?x?xi64> {nx.shape = affine_map<()[S, T] -> (S, T)>}, %a1: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi64>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xi64>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xi64>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: i64, %o: f32):
      %y = arith.sitofp %i0 : i64 to f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v7 = tensor.empty(%v2, %v4) : tensor<?x?xi1>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6 : tensor<?x?xf32>) outs(%v7 : tensor<?x?xi1>) {
    ^bb0(%i0: f32, %o: i1):
      %h = arith.constant 0.5 : f32
      %y = arith.cmpf ogt, %i0, %h : f32
      linalg.yield %y : i1
    } -> tensor<?x?xi1>
    %v9 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v8, %a1 : tensor<?x?xi1>, tensor<?x?xf32>) outs(%v9 : tensor<?x?xf32>) {
    ^bb0(%i0: i1, %i1: f32, %o: f32):
      %n = arith.constant -3.4e38 : f32
      %y = arith.select %i0, %i1, %n : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v10 : tensor<?x?xf32>
  }

func.func @bcast4(%a0: tensor<?x12x?x?xf32> {nx.shape = affine_map<()[B, S, T] -> (B, 12, S, T)>}, %a1: tensor<?x?xf32> {nx.shape = affine_map<()[B, S, T] -> (B, T)>}) -> (tensor<?x12x?x?xf32> {nx.shape = affine_map<()[B, S, T] -> (B, 12, S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x12x?x?xf32>
    %v3 = arith.constant 2 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x12x?x?xf32>
    %v5 = arith.constant 3 : index
    %v6 = tensor.dim %a0, %v5 : tensor<?x12x?x?xf32>
    %v7 = tensor.empty(%v2, %v4, %v6) : tensor<?x12x?x?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(db,dh,ds,dt) -> (db, dh, ds, dt)>, affine_map<(db,dh,ds,dt) -> (db, dt)>, affine_map<(db,dh,ds,dt) -> (db, dh, ds, dt)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a0, %a1 : tensor<?x12x?x?xf32>, tensor<?x?xf32>) outs(%v7 : tensor<?x12x?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x12x?x?xf32>
    return %v8 : tensor<?x12x?x?xf32>
  }

func.func @outer2(%a0: tensor<?xf32> {nx.shape = affine_map<()[S, T] -> (S)>}, %a1: tensor<?xf32> {nx.shape = affine_map<()[S, T] -> (T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?xf32>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a1, %v3 : tensor<?xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?xf32>, tensor<?xf32>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v6 : tensor<?x?xf32>
  }

func.func @quant(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) -> (tensor<?x768xi8> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?x768xi8>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x768xf32>) outs(%v3 : tensor<?x768xi8>) {
    ^bb0(%i0: f32, %o: i8):
      %s = arith.constant 20.0 : f32
      %lo = arith.constant -128.0 : f32
      %hi = arith.constant 127.0 : f32
      %p = arith.mulf %i0, %s : f32
      %q = math.roundeven %p : f32
      %r = arith.maximumf %q, %lo : f32
      %u = arith.minimumf %r, %hi : f32
      %y = arith.fptosi %u : f32 to i8
      linalg.yield %y : i8
    } -> tensor<?x768xi8>
    return %v4 : tensor<?x768xi8>
  }

func.func @dequant(%a0: tensor<?x768xi8> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<768xf32>) -> (tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xi8>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x768xi8>, tensor<768xf32>) outs(%v3 : tensor<?x768xf32>) {
    ^bb0(%i0: i8, %i1: f32, %o: f32):
      %p = arith.sitofp %i0 : i8 to f32
      %y = arith.mulf %p, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v4 : tensor<?x768xf32>
  }

func.func @less(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}, %a1: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xi1> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xi1>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%v5 : tensor<?x?xi1>) {
    ^bb0(%i0: f32, %i1: f32, %o: i1):
      %y = arith.cmpf olt, %i0, %i1 : f32
      linalg.yield %y : i1
    } -> tensor<?x?xi1>
    return %v6 : tensor<?x?xi1>
  }

func.func @not(%a0: tensor<?xi1> {nx.shape = affine_map<()[N] -> (N)>}) -> (tensor<?xi1> {nx.shape = affine_map<()[N] -> (N)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?xi1>
    %v3 = tensor.empty(%v2) : tensor<?xi1>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%a0 : tensor<?xi1>) outs(%v3 : tensor<?xi1>) {
    ^bb0(%i0: i1, %o: i1):
      %t = arith.constant true
      %y = arith.xori %i0, %t : i1
      linalg.yield %y : i1
    } -> tensor<?xi1>
    return %v4 : tensor<?xi1>
  }

func.func @causal(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xf32>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c = arith.cmpi ule, %j, %i : index
      %n = arith.constant 0xFF800000 : f32
      %y = arith.select %c, %i0, %n : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v6 : tensor<?x?xf32>
  }

func.func @divi(%a0: tensor<?x?xi32> {nx.shape = affine_map<()[S, T] -> (S, T)>}, %a1: tensor<?x?xi32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xi32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi32>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xi32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xi32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x?xi32>, tensor<?x?xi32>) outs(%v5 : tensor<?x?xi32>) {
    ^bb0(%i0: i32, %i1: i32, %o: i32):
      %y = arith.divsi %i0, %i1 : i32
      linalg.yield %y : i32
    } -> tensor<?x?xi32>
    return %v6 : tensor<?x?xi32>
  }

func.func @table(%a0: tensor<?x6xf32> {nx.shape = affine_map<()[S] -> (S, 6)>}) -> (tensor<?x6xf32> {nx.shape = affine_map<()[S] -> (S, 6)>}) {
    %v1 = arith.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]]> : tensor<1x6xf32>
    %v2 = tensor.collapse_shape %v1 [[0, 1]] : tensor<1x6xf32> into tensor<6xf32>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x6xf32>
    %v5 = tensor.empty(%v4) : tensor<?x6xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v2 : tensor<?x6xf32>, tensor<6xf32>) outs(%v5 : tensor<?x6xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x6xf32>
    return %v6 : tensor<?x6xf32>
  }

func.func @scalars(%a0: tensor<f32>, %a1: tensor<1xf32>) -> tensor<f32> {
    %v1 = tensor.collapse_shape %a1 [] : tensor<1xf32> into tensor<f32>
    %v2 = tensor.empty() : tensor<f32>
    %v3 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%a0, %v1 : tensor<f32>, tensor<f32>) outs(%v2 : tensor<f32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<f32>
    return %v3 : tensor<f32>
  }

func.func @rank8(%a0: tensor<2x1x3x?x1x2x1x5xf32> {nx.shape = affine_map<()[S] -> (2, 1, 3, S, 1, 2, 1, 5)>}, %a1: tensor<2x1x5xf32>) -> (tensor<2x1x3x?x1x2x1x5xf32> {nx.shape = affine_map<()[S] -> (2, 1, 3, S, 1, 2, 1, 5)>}) {
    %v1 = arith.constant 3 : index
    %v2 = tensor.dim %a0, %v1 : tensor<2x1x3x?x1x2x1x5xf32>
    %v3 = tensor.empty(%v2) : tensor<2x1x3x?x1x2x1x5xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(da,db,dc,dd,de,df,dg,dh) -> (da, db, dc, dd, de, df, dg, dh)>, affine_map<(da,db,dc,dd,de,df,dg,dh) -> (df, dg, dh)>, affine_map<(da,db,dc,dd,de,df,dg,dh) -> (da, db, dc, dd, de, df, dg, dh)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%a0, %a1 : tensor<2x1x3x?x1x2x1x5xf32>, tensor<2x1x5xf32>) outs(%v3 : tensor<2x1x3x?x1x2x1x5xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<2x1x3x?x1x2x1x5xf32>
    return %v4 : tensor<2x1x3x?x1x2x1x5xf32>
  }

func.func @rotary(%a0: tensor<?x12x64xf32> {nx.shape = affine_map<()[S] -> (S, 12, 64)>}, %a1: tensor<?x32xf32> {nx.shape = affine_map<()[S] -> (S, 32)>}, %a2: tensor<?x32xf32> {nx.shape = affine_map<()[S] -> (S, 32)>}) -> (tensor<?x12x64xf32> {nx.shape = affine_map<()[S] -> (S, 12, 64)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x12x64xf32>
    %v3 = tensor.extract_slice %a0[0, 0, 0] [%v2, 12, 32] [1, 1, 1] : tensor<?x12x64xf32> to tensor<?x12x32xf32>
    %v4 = tensor.extract_slice %a0[0, 0, 32] [%v2, 12, 32] [1, 1, 1] : tensor<?x12x64xf32> to tensor<?x12x32xf32>
    %v5 = tensor.empty(%v2) : tensor<?x12x64xf32>
    %v6 = tensor.empty(%v2) : tensor<?x12x32xf32>
    %v7 = linalg.generic {indexing_maps = [affine_map<(ds,dh,dt) -> (ds, dh, dt)>, affine_map<(ds,dh,dt) -> (ds, dh, dt)>, affine_map<(ds,dh,dt) -> (ds, dt)>, affine_map<(ds,dh,dt) -> (ds, dt)>, affine_map<(ds,dh,dt) -> (ds, dh, dt)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3, %v4, %a1, %a2 : tensor<?x12x32xf32>, tensor<?x12x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>) outs(%v6 : tensor<?x12x32xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %i3: f32, %o: f32):
      %p = arith.mulf %i0, %i2 : f32
      %q = arith.mulf %i1, %i3 : f32
      %y = arith.subf %p, %q : f32
      linalg.yield %y : f32
    } -> tensor<?x12x32xf32>
    %v8 = tensor.insert_slice %v7 into %v5[0, 0, 0] [%v2, 12, 32] [1, 1, 1] : tensor<?x12x32xf32> into tensor<?x12x64xf32>
    %v9 = tensor.empty(%v2) : tensor<?x12x32xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(ds,dh,dt) -> (ds, dh, dt)>, affine_map<(ds,dh,dt) -> (ds, dh, dt)>, affine_map<(ds,dh,dt) -> (ds, dt)>, affine_map<(ds,dh,dt) -> (ds, dt)>, affine_map<(ds,dh,dt) -> (ds, dh, dt)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v4, %v3, %a1, %a2 : tensor<?x12x32xf32>, tensor<?x12x32xf32>, tensor<?x32xf32>, tensor<?x32xf32>) outs(%v9 : tensor<?x12x32xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %i3: f32, %o: f32):
      %p = arith.mulf %i0, %i2 : f32
      %q = arith.mulf %i1, %i3 : f32
      %y = arith.addf %p, %q : f32
      linalg.yield %y : f32
    } -> tensor<?x12x32xf32>
    %v11 = tensor.insert_slice %v10 into %v8[0, 0, 32] [%v2, 12, 32] [1, 1, 1] : tensor<?x12x32xf32> into tensor<?x12x64xf32>
    return %v11 : tensor<?x12x64xf32>
  }
