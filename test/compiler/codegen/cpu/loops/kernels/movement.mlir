func.func @tr021(%a0: tensor<12x?x64xf32> {nx.shape = affine_map<()[S] -> (12, S, 64)>}) -> (tensor<12x64x?xf32> {nx.shape = affine_map<()[S] -> (12, 64, S)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<12x?x64xf32>
    %v3 = tensor.empty(%v2) : tensor<12x64x?xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(da,db,dc) -> (da, dc, db)>, affine_map<(da,db,dc) -> (da, db, dc)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a0 : tensor<12x?x64xf32>) outs(%v3 : tensor<12x64x?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.bitcast %i0 : f32 to f32
      linalg.yield %y : f32
    } -> tensor<12x64x?xf32>
    return %v4 : tensor<12x64x?xf32>
  }

func.func @tr102(%a0: tensor<12x?x64xf32> {nx.shape = affine_map<()[S] -> (12, S, 64)>}) -> (tensor<?x12x64xf32> {nx.shape = affine_map<()[S] -> (S, 12, 64)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<12x?x64xf32>
    %v3 = tensor.empty(%v2) : tensor<?x12x64xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(da,db,dc) -> (db, da, dc)>, affine_map<(da,db,dc) -> (da, db, dc)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a0 : tensor<12x?x64xf32>) outs(%v3 : tensor<?x12x64xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.bitcast %i0 : f32 to f32
      linalg.yield %y : f32
    } -> tensor<?x12x64xf32>
    return %v4 : tensor<?x12x64xf32>
  }

func.func @tr10_f32(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (T, S)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(da,db) -> (db, da)>, affine_map<(da,db) -> (da, db)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xf32>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.bitcast %i0 : f32 to f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v6 : tensor<?x?xf32>
  }

func.func @tr10_bf16(%a0: tensor<?x?xbf16> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xbf16> {nx.shape = affine_map<()[S, T] -> (T, S)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xbf16>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xbf16>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xbf16>
    %v6 = linalg.generic {indexing_maps = [affine_map<(da,db) -> (db, da)>, affine_map<(da,db) -> (da, db)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xbf16>) outs(%v5 : tensor<?x?xbf16>) {
    ^bb0(%i0: bf16, %o: bf16):
      %y = arith.bitcast %i0 : bf16 to bf16
      linalg.yield %y : bf16
    } -> tensor<?x?xbf16>
    return %v6 : tensor<?x?xbf16>
  }

func.func @tr10_i8(%a0: tensor<?x?xi8> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xi8> {nx.shape = affine_map<()[S, T] -> (T, S)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi8>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xi8>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xi8>
    %v6 = linalg.generic {indexing_maps = [affine_map<(da,db) -> (db, da)>, affine_map<(da,db) -> (da, db)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xi8>) outs(%v5 : tensor<?x?xi8>) {
    ^bb0(%i0: i8, %o: i8):
      %y = arith.bitcast %i0 : i8 to i8
      linalg.yield %y : i8
    } -> tensor<?x?xi8>
    return %v6 : tensor<?x?xi8>
  }

func.func @tr10_f64(%a0: tensor<?x?xf64> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf64> {nx.shape = affine_map<()[S, T] -> (T, S)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf64>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xf64>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf64>
    %v6 = linalg.generic {indexing_maps = [affine_map<(da,db) -> (db, da)>, affine_map<(da,db) -> (da, db)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xf64>) outs(%v5 : tensor<?x?xf64>) {
    ^bb0(%i0: f64, %o: f64):
      %y = arith.bitcast %i0 : f64 to f64
      linalg.yield %y : f64
    } -> tensor<?x?xf64>
    return %v6 : tensor<?x?xf64>
  }

func.func @tr10_i1(%a0: tensor<?x?xi1> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xi1> {nx.shape = affine_map<()[S, T] -> (T, S)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xi1>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xi1>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xi1>
    %v6 = linalg.generic {indexing_maps = [affine_map<(da,db) -> (db, da)>, affine_map<(da,db) -> (da, db)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xi1>) outs(%v5 : tensor<?x?xi1>) {
    ^bb0(%i0: i1, %o: i1):
      %y = arith.bitcast %i0 : i1 to i1
      linalg.yield %y : i1
    } -> tensor<?x?xi1>
    return %v6 : tensor<?x?xi1>
  }

func.func @trfuse(%a0: tensor<?x?x64xf32> {nx.shape = affine_map<()[B, S] -> (B, S, 64)>}, %a1: tensor<64xf32>, %a2: tensor<?x64x?xf32> {nx.shape = affine_map<()[B, S] -> (B, 64, S)>}) -> (tensor<?x64x?xf32> {nx.shape = affine_map<()[B, S] -> (B, 64, S)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?x64xf32>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?x64xf32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x64x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(da,db,dc) -> (da, dc, db)>, affine_map<(da,db,dc) -> (db)>, affine_map<(da,db,dc) -> (da, db, dc)>, affine_map<(da,db,dc) -> (da, db, dc)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%a0, %a1, %a2 : tensor<?x?x64xf32>, tensor<64xf32>, tensor<?x64x?xf32>) outs(%v5 : tensor<?x64x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %i2: f32, %o: f32):
      %p = arith.addf %i0, %i1 : f32
      %y = arith.mulf %p, %i2 : f32
      linalg.yield %y : f32
    } -> tensor<?x64x?xf32>
    return %v6 : tensor<?x64x?xf32>
  }

func.func @add_transposed(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[N] -> (N, N)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[N] -> (N, N)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = tensor.empty(%v2, %v2) : tensor<?x?xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x?xf32>) outs(%v3 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.mulf %i0, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    %v5 = tensor.empty(%v2, %v2) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (dj, di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v4, %v4 : tensor<?x?xf32>, tensor<?x?xf32>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: f32, %i1: f32, %o: f32):
      %y = arith.addf %i0, %i1 : f32
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v6 : tensor<?x?xf32>
  }

func.func @gather(%a0: tensor<?x96xf32> {nx.shape = affine_map<()[V, S] -> (V, 96)>}, %a1: tensor<?xi64> {nx.shape = affine_map<()[V, S] -> (S)>}) -> (tensor<?x96xf32> {nx.shape = affine_map<()[V, S] -> (S, 96)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a1, %v1 : tensor<?xi64>
    %v3 = tensor.empty(%v2) : tensor<?x96xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a1 : tensor<?xi64>) outs(%v3 : tensor<?x96xf32>) {
    ^bb0(%i0: i64, %o: f32):
      %r = arith.index_cast %i0 : i64 to index
      %j = linalg.index 1 : index
      %y = tensor.extract %a0[%r, %j] : tensor<?x96xf32>
      linalg.yield %y : f32
    } -> tensor<?x96xf32>
    return %v4 : tensor<?x96xf32>
  }

func.func @gather_last(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T, U] -> (S, T)>}, %a1: tensor<?x?xi32> {nx.shape = affine_map<()[S, T, U] -> (S, U)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T, U] -> (S, U)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 1 : index
    %v4 = tensor.dim %a1, %v3 : tensor<?x?xi32>
    %v5 = tensor.empty(%v2, %v4) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,du) -> (di, du)>, affine_map<(di,du) -> (di, du)>], iterator_types = ["parallel", "parallel"]} ins(%a1 : tensor<?x?xi32>) outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%i0: i32, %o: f32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i0 : i32 to index
      %y = tensor.extract %a0[%i, %j] : tensor<?x?xf32>
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v6 : tensor<?x?xf32>
  }

func.func @concat(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}, %a1: tensor<?x256xf32> {nx.shape = affine_map<()[S] -> (S, 256)>}, %a2: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) -> (tensor<?x1101xf32> {nx.shape = affine_map<()[S] -> (S, 1101)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.empty(%v2) : tensor<?x1101xf32>
    %v4 = tensor.insert_slice %a0 into %v3[0, 0] [%v2, 768] [1, 1] : tensor<?x768xf32> into tensor<?x1101xf32>
    %v5 = tensor.insert_slice %a1 into %v4[0, 768] [%v2, 256] [1, 1] : tensor<?x256xf32> into tensor<?x1101xf32>
    %v6 = tensor.insert_slice %a2 into %v5[0, 1024] [%v2, 77] [1, 1] : tensor<?x77xf32> into tensor<?x1101xf32>
    return %v6 : tensor<?x1101xf32>
  }

func.func @concat0(%a0: tensor<?x33xf32> {nx.shape = affine_map<()[S, T] -> (S, 33)>}, %a1: tensor<?x33xf32> {nx.shape = affine_map<()[S, T] -> (T, 33)>}) -> (tensor<?x33xf32> {nx.shape = affine_map<()[S, T] -> (S + T, 33)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x33xf32>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a1, %v3 : tensor<?x33xf32>
    %v5 = arith.addi %v2, %v4 : index
    %v6 = tensor.empty(%v5) : tensor<?x33xf32>
    %v7 = tensor.insert_slice %a0 into %v6[0, 0] [%v2, 33] [1, 1] : tensor<?x33xf32> into tensor<?x33xf32>
    %v8 = tensor.insert_slice %a1 into %v7[%v2, 0] [%v4, 33] [1, 1] : tensor<?x33xf32> into tensor<?x33xf32>
    return %v8 : tensor<?x33xf32>
  }

func.func @slice(%a0: tensor<?x768xf32> {nx.shape = affine_map<()[S] -> (S, 768)>}) -> (tensor<?x256xf32> {nx.shape = affine_map<()[S] -> (S, 256)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x768xf32>
    %v3 = tensor.extract_slice %a0[0, 100] [%v2, 256] [1, 2] : tensor<?x768xf32> to tensor<?x256xf32>
    %v4 = tensor.empty(%v2) : tensor<?x256xf32>
    %v5 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%v3 : tensor<?x256xf32>) outs(%v4 : tensor<?x256xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.mulf %i0, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?x256xf32>
    return %v5 : tensor<?x256xf32>
  }

func.func @slice_only(%a0: tensor<?x40xf32> {nx.shape = affine_map<()[S] -> (S, 40)>}) -> (tensor<?x20xf32> {nx.shape = affine_map<()[S] -> (S, 20)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x40xf32>
    %v3 = tensor.extract_slice %a0[0, 3] [%v2, 20] [1, 1] : tensor<?x40xf32> to tensor<?x20xf32>
    return %v3 : tensor<?x20xf32>
  }

func.func @pad(%a0: tensor<?x77xf32> {nx.shape = affine_map<()[S] -> (S, 77)>}) -> (tensor<?x96xf32> {nx.shape = affine_map<()[S] -> (S, 96)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x77xf32>
    %v3 = tensor.empty(%v2) : tensor<?x96xf32>
    %v4 = arith.constant 0.0 : f32
    %v5 = linalg.fill ins(%v4 : f32) outs(%v3 : tensor<?x96xf32>) -> tensor<?x96xf32>
    %v6 = tensor.insert_slice %a0 into %v5[0, 7] [%v2, 77] [1, 1] : tensor<?x77xf32> into tensor<?x96xf32>
    return %v6 : tensor<?x96xf32>
  }

func.func @update_rows(%a0: tensor<?x40xf32> {nx.shape = affine_map<()[S, T] -> (S, 40)>}, %a1: tensor<?x40xf32> {nx.shape = affine_map<()[S, T] -> (T, 40)>}) -> (tensor<?x40xf32> {nx.shape = affine_map<()[S, T] -> (S, 40)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a1, %v1 : tensor<?x40xf32>
    %v3 = tensor.insert_slice %a1 into %a0[1, 0] [%v2, 40] [1, 1] : tensor<?x40xf32> into tensor<?x40xf32>
    return %v3 : tensor<?x40xf32>
  }

func.func @reverse(%a0: tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) -> (tensor<?x?xf32> {nx.shape = affine_map<()[S, T] -> (S, T)>}) {
    %v1 = arith.constant 1 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x?xf32>
    %v3 = arith.constant 0 : index
    %v4 = tensor.dim %a0, %v3 : tensor<?x?xf32>
    %v5 = tensor.empty(%v4, %v2) : tensor<?x?xf32>
    %v6 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} outs(%v5 : tensor<?x?xf32>) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %c = arith.constant 1 : index
      %n = arith.subi %v2, %c : index
      %m = arith.subi %n, %j : index
      %y = tensor.extract %a0[%i, %m] : tensor<?x?xf32>
      linalg.yield %y : f32
    } -> tensor<?x?xf32>
    return %v6 : tensor<?x?xf32>
  }

func.func @reshape(%a0: tensor<?x96xf32> {nx.shape = affine_map<()[S] -> (S, 96)>}) -> (tensor<?x8xf32> {nx.shape = affine_map<()[S] -> (12 * S, 8)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x96xf32>
    %v3 = tensor.expand_shape %a0 [[0], [1, 2]] output_shape [%v2, 12, 8] : tensor<?x96xf32> into tensor<?x12x8xf32>
    %v4 = tensor.empty(%v2) : tensor<?x12x8xf32>
    %v5 = linalg.generic {indexing_maps = [affine_map<(ds,dh,dd) -> (ds, dh, dd)>, affine_map<(ds,dh,dd) -> (ds, dh, dd)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v3 : tensor<?x12x8xf32>) outs(%v4 : tensor<?x12x8xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?x12x8xf32>
    %v6 = tensor.empty(%v2) : tensor<12x?x8xf32>
    %v7 = linalg.generic {indexing_maps = [affine_map<(dh,ds,dd) -> (ds, dh, dd)>, affine_map<(dh,ds,dd) -> (dh, ds, dd)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v5 : tensor<?x12x8xf32>) outs(%v6 : tensor<12x?x8xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.bitcast %i0 : f32 to f32
      linalg.yield %y : f32
    } -> tensor<12x?x8xf32>
    %v8 = tensor.collapse_shape %v7 [[0, 1], [2]] : tensor<12x?x8xf32> into tensor<?x8xf32>
    return %v8 : tensor<?x8xf32>
  }

func.func @reshape_mid(%a0: tensor<?x12xf32> {nx.shape = affine_map<()[S] -> (S, 12)>}) -> (tensor<?xf32> {nx.shape = affine_map<()[S] -> (12 * S)>}, tensor<?xf32> {nx.shape = affine_map<()[S] -> (S)>}) {
    %v1 = arith.constant 0 : index
    %v2 = tensor.dim %a0, %v1 : tensor<?x12xf32>
    %v3 = tensor.empty(%v2) : tensor<?x12xf32>
    %v4 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di, dj)>], iterator_types = ["parallel", "parallel"]} ins(%a0 : tensor<?x12xf32>) outs(%v3 : tensor<?x12xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = math.absf %i0 : f32
      linalg.yield %y : f32
    } -> tensor<?x12xf32>
    %v5 = tensor.empty(%v2) : tensor<?xf32>
    %v6 = arith.constant 0.0 : f32
    %v7 = linalg.fill ins(%v6 : f32) outs(%v5 : tensor<?xf32>) -> tensor<?xf32>
    %v8 = linalg.generic {indexing_maps = [affine_map<(di,dj) -> (di, dj)>, affine_map<(di,dj) -> (di)>], iterator_types = ["parallel", "reduction"]} ins(%v4 : tensor<?x12xf32>) outs(%v7 : tensor<?xf32>) {
    ^bb0(%i0: f32, %o: f32):
      %y = arith.addf %i0, %o : f32
      linalg.yield %y : f32
    } -> tensor<?xf32>
    %v9 = tensor.collapse_shape %v4 [[0, 1]] : tensor<?x12xf32> into tensor<?xf32>
    return %v9, %v8 : tensor<?xf32>, tensor<?xf32>
  }

func.func @copy_arg(%a0: tensor<?x5xf32> {nx.shape = affine_map<()[S] -> (S, 5)>}) -> (tensor<?x5xf32> {nx.shape = affine_map<()[S] -> (S, 5)>}, tensor<?x5xf32> {nx.shape = affine_map<()[S] -> (S, 5)>}) {
    
    return %a0, %a0 : tensor<?x5xf32>, tensor<?x5xf32>
  }
