func.func @softmax(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0xFF800000 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = arith.constant 1 : index
    %v8 = tensor.dim %a0, %v7 : tensor<?x?xf32>
    %v9 = tensor.empty(%v2, %v8) : tensor<?x?xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v6 : tensor<?x?xf32>, tensor<?xf32>) outs(%v9 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v11 = tensor.empty(%v2) : tensor<?xf32>
    %v12 = arith.constant 0.0 : f32
    %v13 = linalg.fill ins(%v12 : f32) outs(%v11 : tensor<?xf32>) -> tensor<?xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v10 : tensor<?x?xf32>) outs(%v13 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v15 = tensor.empty(%v2) : tensor<?xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v14 : tensor<?xf32>) outs(%v15 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %y = arith.divf %one, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v17 = tensor.empty(%v2, %v8) : tensor<?x?xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v10, %v16 : tensor<?x?xf32>, tensor<?xf32>) outs(%v17 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v18 : tensor<?x?xf32>
  }

func.func @softmax_mask(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}, %a1: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %a1 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = arith.constant 0xFF800000 : f32
    %v9 = linalg.fill ins(%v8 : f32) outs(%v7 : tensor<?xf32>) -> tensor<?xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v6 : tensor<?x?xf32>) outs(%v9 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v11 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6, %v10 : tensor<?x?xf32>, tensor<?xf32>) outs(%v11 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v13 = tensor.empty(%v2) : tensor<?xf32>
    %v14 = arith.constant 0.0 : f32
    %v15 = linalg.fill ins(%v14 : f32) outs(%v13 : tensor<?xf32>) -> tensor<?xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v12 : tensor<?x?xf32>) outs(%v15 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v17 = tensor.empty(%v2) : tensor<?xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v16 : tensor<?xf32>) outs(%v17 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %y = arith.divf %one, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v19 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v20 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v12, %v18 : tensor<?x?xf32>, tensor<?xf32>) outs(%v19 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v20 : tensor<?x?xf32>
  }

func.func @softmax77(%a0: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) -> (tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x77xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0xFF800000 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x77xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = tensor.empty(%v2) : tensor<?x77xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v6 : tensor<?x77xf32>, tensor<?xf32>) outs(%v7 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    %v9 = tensor.empty(%v2) : tensor<?xf32>
    %v10 = arith.constant 0.0 : f32
    %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<?xf32>) -> tensor<?xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v8 : tensor<?x77xf32>) outs(%v11 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v13 = tensor.empty(%v2) : tensor<?xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v12 : tensor<?xf32>) outs(%v13 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %y = arith.divf %one, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v15 = tensor.empty(%v2) : tensor<?x77xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v8, %v14 : tensor<?x77xf32>, tensor<?xf32>) outs(%v15 : tensor<?x77xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x77xf32>
    return %v16 : tensor<?x77xf32>
  }

func.func @softmax_bf16(%a0: tensor<?x?xbf16> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xbf16> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xbf16>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xbf16>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xbf16>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: bf16, %o: f32):
      %y = arith.extf %i0 : bf16 to f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = arith.constant 0xFF800000 : f32
    %v9 = linalg.fill ins(%v8 : f32) outs(%v7 : tensor<?xf32>) -> tensor<?xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v6 : tensor<?x?xf32>) outs(%v9 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v11 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6, %v10 : tensor<?x?xf32>, tensor<?xf32>) outs(%v11 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v13 = tensor.empty(%v2) : tensor<?xf32>
    %v14 = arith.constant 0.0 : f32
    %v15 = linalg.fill ins(%v14 : f32) outs(%v13 : tensor<?xf32>) -> tensor<?xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v12 : tensor<?x?xf32>) outs(%v15 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v17 = tensor.empty(%v2) : tensor<?xf32>
    %v18 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v16 : tensor<?xf32>) outs(%v17 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %y = arith.divf %one, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v19 = tensor.empty(%v2, %v4) : tensor<?x?xbf16>
    %v20 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v12, %v18 : tensor<?x?xf32>, tensor<?xf32>) outs(%v19 : tensor<?x?xbf16>) {
    ^bb0(%i0: f32, %i1: f32, %o: bf16):
      %z = arith.mulf %i0, %i1 : f32
      %y = arith.truncf %z : f32 to bf16
      linalg.yield %y : bf16
    } -> tensor<?x?xbf16>
    return %v20 : tensor<?x?xbf16>
  }

func.func @softmax4(%a0: tensor<?x4xf32> {nx.shape = affine_map<()[S] -> (S, 4)>}) -> (tensor<?x4xf32> {nx.shape = affine_map<()[S] -> (S, 4)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x4xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0xFF800000 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x4xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = tensor.empty(%v2) : tensor<?x4xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0, %v6 : tensor<?x4xf32>, tensor<?xf32>) outs(%v7 : tensor<?x4xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x4xf32>
    %v9 = tensor.empty(%v2) : tensor<?xf32>
    %v10 = arith.constant 0.0 : f32
    %v11 = linalg.fill ins(%v10 : f32) outs(%v9 : tensor<?xf32>) -> tensor<?xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v8 : tensor<?x4xf32>) outs(%v11 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v13 = tensor.empty(%v2) : tensor<?xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v12 : tensor<?xf32>) outs(%v13 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %one = arith.constant 1.0 : f32
      %y = arith.divf %one, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v15 = tensor.empty(%v2) : tensor<?x4xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v8, %v14 : tensor<?x4xf32>, tensor<?xf32>) outs(%v15 : tensor<?x4xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.mulf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x4xf32>
    return %v16 : tensor<?x4xf32>
  }

func.func @softmax_middle(%a0: tensor<?x?x50xf32> {nx.shape = affine_map<()[B, S] -> (B, S, 50)>}) -> (tensor<?x?x50xf32> {nx.shape = affine_map<()[B, S] -> (B, S, 50)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?x50xf32>
    %v3 = tensor.empty(%v2) : tensor<?x50xf32>
    %v4 = arith.constant 0xFF800000 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?x50xf32>) -> tensor<?x50xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%a0 : tensor<?x?x50xf32>) outs(%v5 : tensor<?x50xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x50xf32>
    %v7 = arith.constant 1 : index
    %v8 = tensor.dim %a0, %v7 : tensor<?x?x50xf32>
    %v9 = tensor.empty(%v2, %v8) : tensor<?x?x50xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>, affine_map<(db,di,dj) -> (db, di, dj)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a0, %v6 : tensor<?x?x50xf32>, tensor<?x50xf32>) outs(%v9 : tensor<?x?x50xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x?x50xf32>
    %v11 = tensor.empty(%v2) : tensor<?x50xf32>
    %v12 = arith.constant 0.0 : f32
    %v13 = linalg.fill ins(%v12 : f32) outs(%v11 : tensor<?x50xf32>) -> tensor<?x50xf32>
    %v14 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%v10 : tensor<?x?x50xf32>) outs(%v13 : tensor<?x50xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x50xf32>
    %v15 = tensor.empty(%v2, %v8) : tensor<?x?x50xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>, affine_map<(db,di,dj) -> (db, di, dj)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v10, %v14 : tensor<?x?x50xf32>, tensor<?x50xf32>) outs(%v15 : tensor<?x?x50xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.divf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x?x50xf32>
    return %v16 : tensor<?x?x50xf32>
  }

func.func @softmax_middle_bf16(%a0: tensor<?x?x50xbf16> {nx.shape = affine_map<()[B, S] -> (B, S, 50)>}) -> (tensor<?x?x50xbf16> {nx.shape = affine_map<()[B, S] -> (B, S, 50)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?x50xbf16>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?x50xbf16>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?x50xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, di, dj)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a0 : tensor<?x?x50xbf16>) outs(%v5 : tensor<?x?x50xf32>) {
    ^bb0(%i0: bf16, %o: f32):
      %y = arith.extf %i0 : bf16 to f32
      linalg.yield %y : f32
    } -> tensor<?x?x50xf32>
    %v7 = tensor.empty(%v2) : tensor<?x50xf32>
    %v8 = arith.constant 0xFF800000 : f32
    %v9 = linalg.fill ins(%v8 : f32) outs(%v7 : tensor<?x50xf32>) -> tensor<?x50xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%v6 : tensor<?x?x50xf32>) outs(%v9 : tensor<?x50xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x50xf32>
    %v11 = tensor.empty(%v2, %v4) : tensor<?x?x50xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>, affine_map<(db,di,dj) -> (db, di, dj)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v6, %v10 : tensor<?x?x50xf32>, tensor<?x50xf32>) outs(%v11 : tensor<?x?x50xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %d = arith.subf %i0, %i1 : f32
      %y = math.exp %d : f32
      linalg.yield %y : f32
    } -> tensor<?x?x50xf32>
    %v13 = tensor.empty(%v2) : tensor<?x50xf32>
    %v14 = arith.constant 0.0 : f32
    %v15 = linalg.fill ins(%v14 : f32) outs(%v13 : tensor<?x50xf32>) -> tensor<?x50xf32>
    %v16 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%v12 : tensor<?x?x50xf32>) outs(%v15 : tensor<?x50xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x50xf32>
    %v17 = tensor.empty(%v2, %v4) : tensor<?x?x50xbf16>
    %v18 = linalg.generic {indexing_maps = [affine_map<(db,di,dj) -> (db, di, dj)>, affine_map<(db,di,dj) -> (db, dj)>, affine_map<(db,di,dj) -> (db, di, dj)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v12, %v16 : tensor<?x?x50xf32>, tensor<?x50xf32>) outs(%v17 : tensor<?x?x50xbf16>) {
    ^bb0(%i0: f32, %i1: f32, %o: bf16):
      %z = arith.divf %i0, %i1 : f32
      %y = arith.truncf %z : f32 to bf16
      linalg.yield %y : bf16
    } -> tensor<?x?x50xbf16>
    return %v18 : tensor<?x?x50xbf16>
  }
