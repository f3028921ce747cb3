// Writes a code image with the kernels that bench_kernels.py measures and image_check.c checks, and
// prints what each cost to compile: nx-kernel-bench IMAGE [TARGET]. The kernels' names go to
// IMAGE.kernels, one a line.
#include "compiler/codegen/cpu/Attention.h"
#include "compiler/codegen/cpu/BatchMatmul.h"
#include "compiler/codegen/cpu/Contract.h"
#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "compiler/target/KernelCompiler.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fstream>

using namespace mlir;
using namespace nx;

namespace {

struct Bench {
  MLIRContext &context;
  const TargetDescription &target;
  OwningOpRef<ModuleOp> module;
  std::vector<std::string> kernels;

  Location loc() { return UnknownLoc::get(&context); }
  Type f32() { return Float32Type::get(&context); }
  AffineExpr symbol(unsigned i) { return getAffineSymbolExpr(i, &context); }
  AffineExpr number(int64_t value) { return getAffineConstantExpr(value, &context); }

  // With `gelu`, operand 3 is a bias [n] and the result 0.5 x (1 + erf(x / sqrt 2)) of the sums.
  void contract(int64_t m, int64_t n, int64_t k, bool gelu = false) {
    ContractSpec spec;
    spec.signature.operands.assign(gelu ? 4 : 3, f32());
    if (gelu)
      spec.epilogue = [](KernelBuilder &kb, Value x, const TilePoint &at) -> Value {
        OpBuilder &b = kb.b;
        x = arith::AddFOp::create(b, kb.loc, x, kb.loadVector(kb.operand(3), at.column, at.mask));
        Value inner = arith::MulFOp::create(b, kb.loc, x, kb.splat(float(M_SQRT1_2)));
        Value half = arith::MulFOp::create(b, kb.loc, x, kb.splat(0.5f));
        return kb.fma(half, math::ErfOp::create(b, kb.loc, inner), half);
      };
    spec.signature.symbols = 1;
    spec.m = m ? number(m) : symbol(0);
    spec.n = n;
    spec.k = k;
    if (std::optional<ContractBlocking> blocking = override(spec))
      spec.blocking = blocking;
    kernels.push_back((gelu ? "gelu_" : "contract_") + (m ? std::to_string(m) : "m") + "_" +
                      std::to_string(n) + "_" + std::to_string(k));
    emitContract(*module, kernels.back(), loc(), spec, target);
  }

  // `heads` heads of [S, depth], separate (q, k, v and out are [H, S, D]) or merged ([S, H * D]).
  void attention(int64_t heads, int64_t depth, bool merged, bool causal) {
    AffineExpr queries = symbol(0), keys = symbol(1), zero = number(0), one = number(1);
    auto operand = [&](unsigned i, AffineExpr rows) {
      if (merged)
        return StridedOperand{i, {zero, number(depth), number(heads * depth), one}, {}};
      return StridedOperand{i, {zero, rows * depth, number(depth), one}, {}};
    };
    AttentionSpec spec;
    spec.signature.operands.assign(4, f32());
    spec.signature.symbols = 2;
    spec.batch = number(1);
    spec.queries = queries;
    spec.keys = keys;
    spec.queryHeads = spec.keyHeads = heads;
    spec.depth = spec.valueDepth = depth;
    spec.q = operand(0, queries);
    spec.k = operand(1, keys);
    spec.v = operand(2, keys);
    spec.out = operand(3, queries);
    spec.scale = 1 / std::sqrt(float(depth));
    if (causal)
      spec.causalOffset = keys - queries;
    kernels.push_back(std::string("attention_") + (merged ? "merged_" : "") +
                      (causal ? "causal_" : "") + std::to_string(heads) + "_" +
                      std::to_string(depth));
    emitAttention(*module, kernels.back(), loc(), spec, target);
  }

  // [H, S, D] x [H, T, D]^T, then [H, S, T] x [H, T, D].
  void batchMatmul(int64_t heads, int64_t depth, bool transposed) {
    AffineExpr queries = symbol(0), keys = symbol(1), one = number(1);
    BatchMatmulSpec spec;
    spec.signature.operands.assign(3, f32());
    spec.signature.symbols = 2;
    spec.batch = {number(heads)};
    spec.m = queries;
    spec.n = transposed ? keys : number(depth);
    spec.k = transposed ? number(depth) : keys;
    spec.a = {0, {queries * spec.k, spec.k, one}, {}};
    spec.b = {1, {keys * depth, transposed ? one : spec.n, transposed ? spec.k : one}, {}};
    spec.c = {2, {queries * spec.n, spec.n, one}, {}};
    kernels.push_back(std::string("matmul_") + (transposed ? "qk" : "pv") + "_" +
                      std::to_string(heads) + "_" + std::to_string(depth));
    emitBatchMatmul(*module, kernels.back(), loc(), spec, target);
  }

  // The limit to compare with: `symbol 0` steps of as many independent multiply-adds as a register
  // tile has.
  void peak() {
    KernelSignature signature{{f32()}, 1};
    auto one = [](KernelBuilder &kb) { return kb.index(1); };
    kernels.push_back("peak");
    emitKernelFunctions(
        *module, "peak", loc(), signature, target,
        {[&](KernelBuilder &kb, Value, Value) {
           int64_t chains = target.mr * target.nr / target.vectorLanes;
           SmallVector<Value> init(chains, kb.loadVector(kb.operand(0), kb.index(0)));
           Value factor = kb.splat(0.5f), summand = kb.splat(1.0f);
           for (int64_t i = 0; i < chains; ++i)
             init[i] = kb.fma(init[i], factor, kb.splat(float(i)));
           SmallVector<Value> sums =
               kb.loop(kb.index(0), kb.size(symbol(0)), 1, init, [&](Value, ValueRange carried) {
                 SmallVector<Value> next;
                 for (Value value : carried)
                   next.push_back(kb.fma(value, factor, summand));
                 return next;
               });
           Value total = sums[0];
           for (Value sum : ArrayRef(sums).drop_front())
             total = kb.fma(total, factor, sum);
           kb.storeVector(total, kb.operand(0), kb.index(0));
         },
         one, [](KernelBuilder &kb) { return kb.index(0); }, one});
  }

  // NX_BENCH_BLOCKING=kc,tiles,outside,ahead,next,results,copy replaces the chosen blocking; -1 keeps a
  // value.
  std::optional<ContractBlocking> override(const ContractSpec &spec) {
    const char *text = getenv("NX_BENCH_BLOCKING");
    if (!text)
      return std::nullopt;
    ContractBlocking blocking = chooseContractBlocking(spec, target);
    int values[7] = {-1, -1, -1, -1, -1, -1, -1};
    sscanf(text, "%d,%d,%d,%d,%d,%d,%d", &values[0], &values[1], &values[2], &values[3], &values[4],
           &values[5], &values[6]);
    if (values[0] >= 0)
      blocking.depthBlock = std::min<int64_t>(values[0], spec.k);
    if (values[1] >= 0)
      blocking.rowTilesPerBlock = values[1];
    if (values[2] >= 0)
      blocking.depthOutside = values[2];
    if (values[3] >= 0)
      blocking.prefetchAhead = values[3];
    if (values[4] >= 0)
      blocking.prefetchNextBlock = values[4];
    if (values[5] >= 0)
      blocking.prefetchResults = values[5];
    if (values[6] >= 0)
      blocking.copyRows = values[6];
    return blocking;
  }
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "usage: nx-kernel-bench IMAGE [TARGET]\n";
    return 2;
  }
  llvm::Expected<const TargetDescription *> target = lookupTarget(argc > 2 ? argv[2] : "native");
  if (!target) {
    llvm::errs() << llvm::toString(target.takeError()) << "\n";
    return 1;
  }
  DialectRegistry registry;
  registerKernelCompilerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  Bench bench{context, **target, ModuleOp::create(UnknownLoc::get(&context)), {}};
  bench.peak();
  for (int64_t m : {0, 128})
    for (auto [n, k] : {std::pair(768, 768), {3072, 768}, {768, 3072}})
      bench.contract(m, n, k);
  bench.contract(1, 768, 3072);
  bench.contract(0, 1024, 1024);
  bench.contract(0, 4096, 4096);
  bench.attention(12, 64, false, false);
  bench.attention(12, 64, true, false);
  bench.attention(12, 64, false, true);
  bench.batchMatmul(12, 64, true);
  bench.batchMatmul(12, 64, false);
  bench.contract(0, 77, 50);
  bench.contract(0, 3072, 768, /*gelu=*/true);
  bench.attention(3, 20, true, true);

  std::vector<KernelCompileStats> stats;
  KernelCompileOptions options;
  options.addMathPasses = addMathPasses;
  options.stats = &stats;
  auto image = compileKernelModule(*bench.module, bench.kernels, **target, options);
  if (failed(image))
    return 1;
  std::ofstream(argv[1], std::ios::binary).write(image->data(), image->size());
  std::ofstream names(std::string(argv[1]) + ".kernels");
  for (const std::string &name : bench.kernels)
    names << name << "\n";
  for (const KernelCompileStats &kernel : stats)
    llvm::outs() << llvm::formatv(
        "{0,-28} mlir {1,6:F0} ms  llvm {2,6:F0} ms  object {3,7} bytes\n", kernel.name,
        kernel.mlirSeconds * 1e3, kernel.llvmSeconds * 1e3, kernel.objectBytes);
  return 0;
}
