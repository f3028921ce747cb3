func.func @layernorm(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<768xf32>, %a2: tensor<768xf32>) -> (tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x768xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v6 : tensor<?xf32>) outs(%v7 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.302083333e-03 : f32
      %y = arith.mulf %i0, %n : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v9 = tensor.empty(%v2) : tensor<?x768xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v8 : tensor<?x768xf32>, tensor<?xf32>) outs(%v9 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.subf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v11 = tensor.empty(%v2) : tensor<?xf32>
    %v12 = arith.constant 0.0 : f32
    %v13 = linalg.fill ins(%v12 : f32) outs(%v11 : tensor<?xf32>) -> tensor<?xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v10 : tensor<?x768xf32>) outs(%v13 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %q = arith.mulf %i0, %i0 : f32
      %y = arith.addf %q, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v15 = tensor.empty(%v2) : tensor<?xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v14 : tensor<?xf32>) outs(%v15 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.302083333e-03 : f32
      %e = arith.constant 1.0e-5 : f32
      %one = arith.constant 1.0 : f32
      %p = arith.mulf %i0, %n : f32
      %q = arith.addf %p, %e : f32
      %s = math.sqrt %q : f32
      %y = arith.divf %one, %s : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v17 = tensor.empty(%v2) : tensor<?x768xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v10, %v16, %a1, %a2 : tensor<?x768xf32>, tensor<?xf32>, tensor<768xf32>, tensor<768xf32>) outs(%v17 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %i3: f32, %o: f32):
      %p = arith.mulf %i0, %i1 : f32
      %q = arith.mulf %p, %i2 : f32
      %y = arith.addf %q, %i3 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v18 : tensor<?x768xf32>
  }

func.func @layernorm77(%a0: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}, %a1: tensor<77xf32>, %a2: tensor<77xf32>) -> (tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x77xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x77xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v6 : tensor<?xf32>) outs(%v7 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.298701299e-02 : f32
      %y = arith.mulf %i0, %n : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v9 = tensor.empty(%v2) : tensor<?x77xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v8 : tensor<?x77xf32>, tensor<?xf32>) outs(%v9 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.subf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    %v11 = tensor.empty(%v2) : tensor<?xf32>
    %v12 = arith.constant 0.0 : f32
    %v13 = linalg.fill ins(%v12 : f32) outs(%v11 : tensor<?xf32>) -> tensor<?xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v10 : tensor<?x77xf32>) outs(%v13 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %q = arith.mulf %i0, %i0 : f32
      %y = arith.addf %q, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v15 = tensor.empty(%v2) : tensor<?xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v14 : tensor<?xf32>) outs(%v15 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.298701299e-02 : f32
      %e = arith.constant 1.0e-5 : f32
      %one = arith.constant 1.0 : f32
      %p = arith.mulf %i0, %n : f32
      %q = arith.addf %p, %e : f32
      %s = math.sqrt %q : f32
      %y = arith.divf %one, %s : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v17 = tensor.empty(%v2) : tensor<?x77xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v10, %v16, %a1, %a2 : tensor<?x77xf32>, tensor<?xf32>, tensor<77xf32>, tensor<77xf32>) outs(%v17 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %i3: f32, %o: f32):
      %p = arith.mulf %i0, %i1 : f32
      %q = arith.mulf %p, %i2 : f32
      %y = arith.addf %q, %i3 : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    return %v18 : tensor<?x77xf32>
  }

func.func @rmsnorm(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<768xf32>) -> (tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x768xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %q = arith.mulf %i0, %i0 : f32
      %y = arith.addf %q, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v6 : tensor<?xf32>) outs(%v7 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.302083333e-03 : f32
      %e = arith.constant 1.0e-5 : f32
      %one = arith.constant 1.0 : f32
      %p = arith.mulf %i0, %n : f32
      %q = arith.addf %p, %e : f32
      %s = math.sqrt %q : f32
      %y = arith.divf %one, %s : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v9 = tensor.empty(%v2) : tensor<?x768xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v8, %a1 : tensor<?x768xf32>, tensor<?xf32>, tensor<768xf32>) outs(%v9 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %o: f32):
      %p = arith.mulf %i0, %i1 : f32
      %y = arith.mulf %p, %i2 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v10 : tensor<?x768xf32>
  }

func.func @residual_layernorm(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a2: tensor<768xf32>, %a3: tensor<768xf32>) -> (tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x768xf32>, tensor<?x768xf32>) outs(%v3 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v5 = tensor.empty(%v2) : tensor<?xf32>
    %v6 = arith.constant 0.0 : f32
    %v7 = linalg.fill ins(%v6 : f32) outs(%v5 : tensor<?xf32>) -> tensor<?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v4 : tensor<?x768xf32>) outs(%v7 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v9 = tensor.empty(%v2) : tensor<?xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v8 : tensor<?xf32>) outs(%v9 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.302083333e-03 : f32
      %y = arith.mulf %i0, %n : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v11 = tensor.empty(%v2) : tensor<?x768xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4, %v10 : tensor<?x768xf32>, tensor<?xf32>) outs(%v11 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.subf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v13 = tensor.empty(%v2) : tensor<?xf32>
    %v14 = arith.constant 0.0 : f32
    %v15 = linalg.fill ins(%v14 : f32) outs(%v13 : tensor<?xf32>) -> tensor<?xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v12 : tensor<?x768xf32>) outs(%v15 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %q = arith.mulf %i0, %i0 : f32
      %y = arith.addf %q, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v17 = tensor.empty(%v2) : tensor<?xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v16 : tensor<?xf32>) outs(%v17 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %n = arith.constant 1.302083333e-03 : f32
      %e = arith.constant 1.0e-5 : f32
      %one = arith.constant 1.0 : f32
      %p = arith.mulf %i0, %n : f32
      %q = arith.addf %p, %e : f32
      %s = math.sqrt %q : f32
      %y = arith.divf %one, %s : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v19 = tensor.empty(%v2) : tensor<?x768xf32>
    %v20 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v12, %v18, %a2, %a3 : tensor<?x768xf32>, tensor<?xf32>, tensor<768xf32>, tensor<768xf32>) outs(%v19 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %i3: f32, %o: f32):
      %p = arith.mulf %i0, %i1 : f32
      %q = arith.mulf %p, %i2 : f32
      %y = arith.addf %q, %i3 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v4, %v20 : tensor<?x768xf32>, tensor<?x768xf32>
  }

func.func @groupnorm(%a0: tensor<?x8x4x?xf32> {nx.shape = affine_map<()[B, P] -> (B, 8, 4, P)>}) -> (tensor<?x8x4x?xf32> {nx.shape = affine_map<()[B, P] -> (B, 8, 4, P)>}) {
    %v1 = arith.constant 3 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x8x4x?xf32>
    %v3 = arith.constant 4 : i64
    %v4 = arith.index_cast %v2 : index to i64
    %v5x = arith.muli %v3, %v4 : i64
    %v5 = arith.sitofp %v5x : i64 to f32
    %v6 = arith.constant 0 : index
    %v7 = tensor.dim %a0, %v6 : tensor<?x8x4x?xf32>
    %v8 = tensor.empty(%v7) : tensor<?x8xf32>
    %v9 = arith.constant 0.0 : f32
    %v10 = linalg.fill ins(%v9 : f32) outs(%v8 : tensor<?x8xf32>) -> tensor<?x8xf32>
    %v11 = linalg.generic {indexing_maps = [affine_map<(db,dg,dc,dp) -> (db, dg, dc, dp)>, affine_map<(db,dg,dc,dp) -> (db, dg)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%a0 : tensor<?x8x4x?xf32>) outs(%v10 : tensor<?x8xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x8xf32>
    %v12 = tensor.empty(%v7) : tensor<?x8xf32>
    %v13 = linalg.generic {indexing_maps = [affine_map<(db,dg) -> (db, dg)>, affine_map<(db,dg) -> (db, dg)>], iterator_types = ["parallel", "parallel"]} ins(%v11 : tensor<?x8xf32>) outs(%v12 : tensor<?x8xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.divf %i0, %v5 : f32
      linalg.yield %y : f32
    } -> tensor<?x8xf32>
    %v14 = tensor.empty(%v7, %v2) : tensor<?x8x4x?xf32>
    %v15 = linalg.generic {indexing_maps = [affine_map<(db,dg,dc,dp) -> (db, dg, dc, dp)>, affine_map<(db,dg,dc,dp) -> (db, dg)>, affine_map<(db,dg,dc,dp) -> (db, dg, dc, dp)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%a0, %v13 : tensor<?x8x4x?xf32>, tensor<?x8xf32>) outs(%v14 : tensor<?x8x4x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.subf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x8x4x?xf32>
    %v16 = tensor.empty(%v7) : tensor<?x8xf32>
    %v17 = arith.constant 0.0 : f32
    %v18 = linalg.fill ins(%v17 : f32) outs(%v16 : tensor<?x8xf32>) -> tensor<?x8xf32>
    %v19 = linalg.generic {indexing_maps = [affine_map<(db,dg,dc,dp) -> (db, dg, dc, dp)>, affine_map<(db,dg,dc,dp) -> (db, dg)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%v15 : tensor<?x8x4x?xf32>) outs(%v18 : tensor<?x8xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %q = arith.mulf %i0, %i0 : f32
      %y = arith.addf %q, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x8xf32>
    %v20 = tensor.empty(%v7) : tensor<?x8xf32>
    %v21 = linalg.generic {indexing_maps = [affine_map<(db,dg) -> (db, dg)>, affine_map<(db,dg) -> (db, dg)>], iterator_types = ["parallel", "parallel"]} ins(%v19 : tensor<?x8xf32>) outs(%v20 : tensor<?x8xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %z = arith.divf %i0, %v5 : f32
      %w = arith.constant 1.0e-5 : f32
      %u = arith.addf %z, %w : f32
      %y = math.rsqrt %u : f32
      linalg.yield %y : f32
    } -> tensor<?x8xf32>
    %v22 = tensor.empty(%v7, %v2) : tensor<?x8x4x?xf32>
    %v23 = linalg.generic {indexing_maps = [affine_map<(db,dg,dc,dp) -> (db, dg, dc, dp)>, affine_map<(db,dg,dc,dp) -> (db, dg)>, affine_map<(db,dg,dc,dp) -> (db, dg, dc, dp)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v15, %v21 : tensor<?x8x4x?xf32>, tensor<?x8xf32>) outs(%v22 : tensor<?x8x4x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x8x4x?xf32>
    return %v23 : tensor<?x8x4x?xf32>
  }
