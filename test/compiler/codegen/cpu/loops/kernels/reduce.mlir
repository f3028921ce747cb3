func.func @sum0(%a0: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) -> tensor<77xf32> {
    %v1 = tensor.empty() : tensor<77xf32>
    %v2 = arith.constant 0.0 : f32
    %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<77xf32>) -> tensor<77xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(dj,di) -> (di, dj)>, affine_map<(dj,di) -> (dj)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x77xf32>) outs(%v3 : tensor<77xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<77xf32>
    %v5 = tensor.empty() : tensor<77xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(dj) -> (dj)>, affine_map<(dj) -> (dj)>], iterator_types = ["parallel"]} ins(%v4 : tensor<77xf32>) outs(%v5 : tensor<77xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.mulf %i0, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<77xf32>
    return %v6 : tensor<77xf32>
  }

func.func @sumlast(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?xf32> {nx.shape = affine_map<()[S, T] -> (S)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xf32>) outs(%v5 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di) -> (di)>, affine_map<(di) -> (di)>], iterator_types = ["parallel"]} ins(%v6 : tensor<?xf32>) outs(%v7 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    return %v8 : tensor<?xf32>
  }

func.func @sumall(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> tensor<f32> {
    %v1 = tensor.empty() : tensor<f32>
    %v2 = arith.constant 1.5 : f32
    %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<f32>) -> tensor<f32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%a0 : tensor<?x?xf32>) outs(%v3 : tensor<f32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<f32>
    return %v4 : tensor<f32>
  }

func.func @mean_middle(%a0: tensor<?x?x768xf32> {nx.shape = affine_map<()[B, S] -> (B, S, 768)>}) -> (tensor<?x768xf32> {nx.shape = affine_map<()[B, S] -> (B, 768)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?x768xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?x768xf32>) -> tensor<?x768xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(db,dj,ds) -> (db, ds, dj)>, affine_map<(db,dj,ds) -> (db, dj)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a0 : tensor<?x?x768xf32>) outs(%v5 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    %v7 = arith.constant 1 : index
    %v8 = tensor.dim %a0, %v7 : tensor<?x?x768xf32>
    %v9 = arith.index_cast %v8 : index to i64
    %v10 = arith.sitofp %v9 : i64 to f32
    %v11 = tensor.empty(%v2) : tensor<?x768xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(db,dj) -> (db, dj)>, affine_map<(db,dj) -> (db, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v6 : tensor<?x768xf32>) outs(%v11 : tensor<?x768xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.divf %i0, %v10 : f32
      linalg.yield %y : f32
    } -> tensor<?x768xf32>
    return %v12 : tensor<?x768xf32>
  }

func.func @argmax(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?xi64> {nx.shape = affine_map<()[S, T] -> (S)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0xFF800000 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = tensor.empty(%v2) : tensor<?xi64>
    %v7 = arith.constant 0 : i64
    %v8 = linalg.fill ins(%v7 : i64) outs(%v6 : tensor<?xi64>) -> tensor<?xi64>
    %v9:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xf32>) outs(%v5, %v8 : tensor<?xf32>, tensor<?xi64>) {
    ^bb0(%x: f32, %b: f32, %c: i64):
      %j = linalg.index 1 : index
      %ji = arith.index_cast %j : index to i64
      %g = arith.cmpf ogt, %x, %b : f32
      %p = arith.select %g, %x, %b : f32
      %q = arith.select %g, %ji, %c : i64
      linalg.yield %p, %q : f32, i64
    } -> (tensor<?xf32>, tensor<?xi64>)
    return %v9#1 : tensor<?xi64>
  }

func.func @argmax_two(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?xi64> {nx.shape = affine_map<()[S, T] -> (S)>}) {
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
    %v7 = tensor.empty(%v2) : tensor<?xi64>
    %v8 = arith.constant 9223372036854775807 : i64
    %v9 = linalg.fill ins(%v8 : i64) outs(%v7 : tensor<?xi64>) -> tensor<?xi64>
    %v10 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0, %v6 : tensor<?x?xf32>, tensor<?xf32>) outs(%v9 : tensor<?xi64>) {
    ^bb0(%i0: f32, %i1: f32, %o: i64):
      %j = linalg.index 1 : index
      %ji = arith.index_cast %j : index to i64
      %g = arith.cmpf oeq, %i0, %i1 : f32
      %big = arith.constant 9223372036854775807 : i64
      %q = arith.select %g, %ji, %big : i64
      %y = arith.minsi %q, %o : i64
      linalg.yield %y : i64
    } -> tensor<?xi64>
    return %v10 : tensor<?xi64>
  }

func.func @inner_par_red(%a0: tensor<?x12x64xf32> {nx.shape = affine_map<()[S] -> (S, 12, 64)>}) -> (tensor<?x12x64xf32> {nx.shape = affine_map<()[S] -> (S, 12, 64)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x12x64xf32>
    %v3 = tensor.empty(%v2) : tensor<?x64xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?x64xf32>) -> tensor<?x64xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(ds,dh,dd) -> (ds, dh, dd)>, affine_map<(ds,dh,dd) -> (ds, dd)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%a0 : tensor<?x12x64xf32>) outs(%v5 : tensor<?x64xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?x64xf32>
    %v7 = tensor.empty(%v2) : tensor<?xf32>
    %v8 = arith.constant 0xFF800000 : f32
    %v9 = linalg.fill ins(%v8 : f32) outs(%v7 : tensor<?xf32>) -> tensor<?xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(ds,dd) -> (ds, dd)>, affine_map<(ds,dd) -> (ds)>], iterator_types = ["parallel", "reduction"]} ins(%v6 : tensor<?x64xf32>) outs(%v9 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.maximumf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v11 = tensor.empty(%v2) : tensor<?x12x64xf32>
    %v12 = linalg.generic {indexing_maps = [affine_map<(ds,dh,dd) -> (ds, dh, dd)>, affine_map<(ds,dh,dd) -> (ds, dd)>, affine_map<(ds,dh,dd) -> (ds)>, affine_map<(ds,dh,dd) -> (ds, dh, dd)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a0, %v6, %v10 : tensor<?x12x64xf32>, tensor<?x64xf32>, tensor<?xf32>) outs(%v11 : tensor<?x12x64xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %o: f32):
      %p = arith.subf %i0, %i1 : f32
      %y = arith.mulf %p, %i2 : f32
      linalg.yield %y : f32
    } -> tensor<?x12x64xf32>
    return %v12 : tensor<?x12x64xf32>
  }

func.func @any(%a0: tensor<?x?xi1> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?xi1> {nx.shape = affine_map<()[S, T] -> (S)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi1>
    %v3 = tensor.empty(%v2) : tensor<?xi1>
    %v4 = arith.constant false
    %v5 = linalg.fill ins(%v4 : i1) outs(%v3 : tensor<?xi1>) -> tensor<?xi1>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xi1>) outs(%v5 : tensor<?xi1>) {
    ^bb0(%i0: i1, %o: i1):
      %y = arith.ori %i0, %o : i1
      linalg.yield %y : i1
    } -> tensor<?xi1>
    return %v6 : tensor<?xi1>
  }

func.func @prod_i64(%a0: tensor<?x?xi64> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?xi64> {nx.shape = affine_map<()[S, T] -> (S)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi64>
    %v3 = tensor.empty(%v2) : tensor<?xi64>
    %v4 = arith.constant 1 : i64
    %v5 = linalg.fill ins(%v4 : i64) outs(%v3 : tensor<?xi64>) -> tensor<?xi64>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xi64>) outs(%v5 : tensor<?xi64>) {
    ^bb0(%i0: i64, %o: i64):
      %y = arith.muli %i0, %o : i64
      linalg.yield %y : i64
    } -> tensor<?xi64>
    return %v6 : tensor<?xi64>
  }

func.func @init_tensor(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}, %a1: tensor<?xf32> {nx.shape = affine_map<()[S, T] -> (S)>}) -> (tensor<?xf32> {nx.shape = affine_map<()[S, T] -> (S)>}) {
    %v1 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xf32>) outs(%a1 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    return %v1 : tensor<?xf32>
  }

func.func @cumsum(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = tensor.empty(%v2) : tensor<?xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?xf32>) -> tensor<?xf32>
    %v6 = arith.constant 1 : index
    %v7 = tensor.dim %a0, %v6 : tensor<?x?xf32>
    %v8 = tensor.empty(%v2, %v7) : tensor<?x?xf32>
    %v9:2 = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(i)>], iterator_types = ["parallel", "reduction"]} ins(%a0 : tensor<?x?xf32>) outs(%v8, %v5 : tensor<?x?xf32>, tensor<?xf32>) {
    ^bb0(%x: f32, %b: f32, %c: f32):
      %p = arith.addf %x, %c : f32
      linalg.yield %p, %p : f32, f32
    } -> (tensor<?x?xf32>, tensor<?xf32>)
    return %v9#0 : tensor<?x?xf32>
  }
