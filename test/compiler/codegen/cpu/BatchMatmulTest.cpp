#include "compiler/codegen/cpu/BatchMatmul.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/compiler/codegen/cpu/KernelTest.h"

using namespace mlir;
using namespace nx;
using namespace nx::test;

namespace {

// How the operands lie. Symbols: batch, m, n, k.
struct Form {
  const char *name;
  bool aTransposed, bTransposed, aShared, bShared;
};
constexpr Form kForms[] = {
    {"plain", false, false, false, false},          {"b transposed", false, true, false, false},
    {"a transposed", true, false, false, false},    {"both transposed", true, true, false, false},
    {"b for all items", false, false, false, true}, {"a for all items", false, true, true, false},
};

class BatchMatmulTest : public KernelTest {
protected:
  // C[b, 2, m, n] = A x B * scale, with a second batch dim of size 2 over which B is broadcast.
  void emit(const Form &form, const TargetDescription &target, bool staticSizes = false,
            int64_t depthBlock = 512) {
    AffineExpr batch = symbol(0), m = staticSizes ? number(9) : symbol(1),
               n = staticSizes ? number(21) : symbol(2), k = staticSizes ? number(30) : symbol(3);
    AffineExpr zero = number(0), one = number(1);
    BatchMatmulSpec spec;
    spec.signature.operands.assign(4, f32());
    spec.signature.symbols = 4;
    spec.batch = {batch, number(2)};
    spec.m = m;
    spec.n = n;
    spec.k = k;
    spec.depthBlock = depthBlock;
    spec.rowTilesPerBlock = 3;
    spec.a.operand = 0;
    spec.a.strides = {form.aShared ? zero : m * k * 2, m * k};
    spec.a.strides.append(form.aTransposed ? std::initializer_list<AffineExpr>{one, m}
                                           : std::initializer_list<AffineExpr>{k, one});
    spec.b.operand = 1;
    spec.b.strides = {form.bShared ? zero : k * n, zero};
    spec.b.strides.append(form.bTransposed ? std::initializer_list<AffineExpr>{one, k}
                                           : std::initializer_list<AffineExpr>{n, one});
    spec.c.operand = 3;
    spec.c.strides = {m * n * 2, m * n, n, one};
    // Multiplies by scale[batch, second].
    spec.epilogue = [](KernelBuilder &kb, Value sums, const TilePoint &at) {
      Value item = kb.add(kb.mul(at.batch[0], 2), at.batch[1]);
      Value scale = kb.loadBroadcast(kb.operand(2), item);
      return arith::MulFOp::create(kb.b, kb.loc, sums, scale).getResult();
    };
    kernels.push_back("matmul" + std::to_string(kernels.size()));
    emitBatchMatmul(*module, kernels.back(), loc(), spec, target);
  }

  void check(const KernelImage &image, unsigned index, const Form &form, int64_t batch, int64_t m,
             int64_t n, int64_t k) {
    SCOPED_TRACE(std::string(form.name) + " batch " + std::to_string(batch) + " m " +
                 std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k));
    GuardedBuffer<float> a((form.aShared ? 2 : batch * 2) * m * k),
        b((form.bShared ? 1 : batch) * k * n), scale(batch * 2), c(batch * 2 * m * n),
        split(batch * 2 * m * n);
    fillRandom(a, 1);
    fillRandom(b, 2);
    fillRandom(scale, 3);
    fill(c, NAN);
    std::vector<int64_t> dims = {batch, m, n, k};
    ASSERT_EQ(image.run(index, {a.data(), b.data(), scale.data(), c.data()}, dims), 0);
    ASSERT_EQ(image.run(index, {a.data(), b.data(), scale.data(), split.data()}, dims, 1), 0);
    ASSERT_EQ(memcmp(c.data(), split.data(), c.size() * 4), 0) << "a split changes bits";
    for (int64_t item = 0; item < batch * 2; ++item) {
      const float *ai = a.data() + (form.aShared ? item % 2 : item) * m * k;
      const float *bi = b.data() + (form.bShared ? 0 : item / 2) * k * n;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double want = 0, magnitude = 0;
          for (int64_t p = 0; p < k; ++p) {
            double term = double(form.aTransposed ? ai[p * m + i] : ai[i * k + p]) *
                          (form.bTransposed ? bi[j * k + p] : bi[p * n + j]);
            want += term;
            magnitude += std::fabs(term);
          }
          want *= scale[item];
          ASSERT_NEAR(c[(item * m + i) * n + j], want,
                      6e-8 * magnitude * (2 + std::sqrt(double(k))))
              << item << ": " << i << ", " << j;
        }
    }
  }
};

TEST_F(BatchMatmulTest, DynamicSizes) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  for (const Form &form : kForms)
    emit(form, *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  for (auto [i, form] : llvm::enumerate(kForms)) {
    for (int64_t m : {1, 2, 5, 6, 7, 13, 19, 40})
      for (int64_t n : {1, 5, 16, 17, 33})
        for (int64_t k : {1, 3, 7, 8, 9, 20})
          check(*image, i, form, 2, m, n, k);
    check(*image, i, form, 1, 50, 70, 64);
    check(*image, i, form, 3, 1, 64, 64);
    check(*image, i, form, 2, 3, 4, 0); // a sum of nothing is zero
    int64_t noRows[] = {1, 0, 5, 5}, noColumns[] = {1, 5, 0, 5}, noItems[] = {0, 5, 5, 5};
    for (int64_t *dims : {noRows, noColumns, noItems})
      EXPECT_EQ(image->module->kernels[i].tiles(dims), 0);
  }
}

TEST_F(BatchMatmulTest, DepthInBlocks) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  for (const Form &form : kForms)
    emit(form, *target, /*staticSizes=*/false, /*depthBlock=*/24);
  auto image = load(*target);
  ASSERT_TRUE(image);
  for (auto [i, form] : llvm::enumerate(kForms))
    for (int64_t m : {1, 6, 25})
      for (int64_t k : {23, 24, 25, 48, 49, 75})
        check(*image, i, form, 2, m, 35, k);
}

TEST_F(BatchMatmulTest, StaticSizes) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  for (const Form &form : kForms)
    emit(form, *target, /*staticSizes=*/true);
  auto image = load(*target);
  ASSERT_TRUE(image);
  for (auto [i, form] : llvm::enumerate(kForms))
    check(*image, i, form, 3, 9, 21, 30);
}

// An output that is transposed, and an A of which neither dim is contiguous.
TEST_F(BatchMatmulTest, StridedEverywhere) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  int64_t m = 14, n = 19, k = 23;
  BatchMatmulSpec spec;
  spec.signature.operands.assign(3, f32());
  spec.m = number(m);
  spec.n = number(n);
  spec.k = number(k);
  spec.a = {0, {number(2 * k), number(2)}, number(1)};
  spec.b = {1, {number(3), number(3 * k)}, {}};
  spec.c = {2, {number(1), number(m)}, {}};
  kernels = {"strided"};
  emitBatchMatmul(*module, "strided", loc(), spec, *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  GuardedBuffer<float> a(m * 2 * k), b((n * k - 1) * 3 + 1), c(m * n);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(int(i * 7 % 13) - 6);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = float(int(i * 5 % 11) - 5);
  ASSERT_EQ(image->run(0, {a.data(), b.data(), c.data()}, {}), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float want = 0;
      for (int64_t p = 0; p < k; ++p)
        want += a[1 + i * 2 * k + p * 2] * b[j * 3 * k + p * 3];
      ASSERT_EQ(c[j * m + i], want) << i << ", " << j;
    }
}

TEST_F(BatchMatmulTest, EveryRegisterTile) {
  for (const TargetDescription &target : nativeWithEveryTile()) {
    module = ModuleOp::create(loc());
    kernels.clear();
    emit(kForms[0], target);
    emit(kForms[1], target);
    auto image = load(target);
    ASSERT_TRUE(image);
    for (unsigned i : {0, 1})
      for (int64_t m : {1, 3, 14, 31})
        for (int64_t n : {5, 17, 40, 64})
          check(*image, i, kForms[i], 2, m, n, 21);
  }
}

TEST_F(BatchMatmulTest, CompilesForEveryTarget) {
  for (const TargetDescription &target : knownTargets()) {
    module = ModuleOp::create(loc());
    kernels.clear();
    emit(kForms[1], target);
    EXPECT_TRUE(succeeded(compile(target))) << target.name.str() << "\n" << messages;
  }
}

} // namespace
