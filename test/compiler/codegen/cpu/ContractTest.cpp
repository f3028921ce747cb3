#include "compiler/codegen/cpu/Contract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/compiler/codegen/cpu/KernelTest.h"

using namespace mlir;
using namespace nx;
using namespace nx::test;

namespace {

struct Shape {
  int64_t n, k;
};

class ContractTest : public KernelTest {
protected:
  // C = A x B + bias + residual, M = symbol 0 or static. Operands: A, B, bias, residual, C.
  void emit(Shape shape, AffineExpr m, const TargetDescription &target,
            std::optional<ContractBlocking> blocking = {}) {
    ContractSpec spec;
    spec.signature.operands.assign(5, f32());
    spec.signature.symbols = 1;
    spec.c = 4;
    spec.m = m;
    spec.n = shape.n;
    spec.k = shape.k;
    spec.blocking = blocking;
    spec.epilogue = [n = shape.n](KernelBuilder &kb, Value sums, const TilePoint &at) {
      Value bias = kb.loadVector(kb.operand(2), at.column, at.mask);
      Value residual = kb.loadVector(kb.operand(3), kb.add(kb.mul(at.row, n), at.column), at.mask);
      sums = arith::AddFOp::create(kb.b, kb.loc, sums, bias);
      return arith::AddFOp::create(kb.b, kb.loc, sums, residual).getResult();
    };
    kernels.push_back("contract" + std::to_string(kernels.size()));
    emitContract(*module, kernels.back(), loc(), spec, target);
  }

  void check(const KernelImage &image, unsigned index, Shape shape, int64_t m) {
    SCOPED_TRACE("m " + std::to_string(m) + " n " + std::to_string(shape.n) + " k " +
                 std::to_string(shape.k));
    int64_t n = shape.n, k = shape.k;
    GuardedBuffer<float> a(m * k), b(k * n), packed(packedSize(k, n)), bias(n), residual(m * n),
        c(m * n), split(m * n);
    fillRandom(a, 1);
    fillRandom(b, 2);
    fillRandom(bias, 3);
    fillRandom(residual, 4);
    packPanels(b, k, n, packed);
    fill(c, NAN);
    fill(split, NAN);
    auto operands = [&](GuardedBuffer<float> &out) {
      return std::vector<void *>{a.data(), packed.data(), bias.data(), residual.data(), out.data()};
    };
    ASSERT_EQ(image.run(index, operands(c), {m}), 0);
    int64_t tiles = image.module->kernels[index].tiles(&m);
    ASSERT_EQ(image.run(index, operands(split), {m}, std::max<int64_t>(1, tiles / 3)), 0);
    ASSERT_EQ(memcmp(c.data(), split.data(), m * n * 4), 0) << "a split changes bits";
    ASSERT_GE(image.module->kernels[index].grain(&m), 1);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double want = bias[j] + double(residual[i * n + j]);
        double magnitude = std::fabs(bias[j]) + std::fabs(residual[i * n + j]);
        for (int64_t p = 0; p < k; ++p) {
          want += double(a[i * k + p]) * b[p * n + j];
          magnitude += std::fabs(double(a[i * k + p]) * b[p * n + j]);
        }
        // One rounding a step, each at most half an ulp of the running sum.
        ASSERT_NEAR(c[i * n + j], want, 6e-8 * magnitude * (2 + std::sqrt(double(k))))
            << i << ", " << j;
      }
  }
};

TEST_F(ContractTest, DynamicRows) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  std::vector<Shape> shapes = {{1, 1},  {1, 7},    {3, 5},    {8, 16},   {13, 64},
                               {15, 3}, {16, 1},   {17, 33},  {33, 100}, {64, 64},
                               {77, 9}, {100, 50}, {96, 800}, {70, 1000}};
  for (Shape shape : shapes)
    emit(shape, symbol(0), *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  for (auto [i, shape] : llvm::enumerate(shapes)) {
    for (int64_t m = 1; m <= 40; m += shape.k < 100 || m < 4 ? 1 : 7)
      check(*image, i, shape, m);
    check(*image, i, shape, shape.k < 100 ? 331 : 128);
    int64_t none = 0;
    EXPECT_EQ(image->module->kernels[i].tiles(&none), 0);
  }
}

TEST_F(ContractTest, StaticRows) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  std::vector<int64_t> rows = {1, 2, 3, 4, 7, 13, 29, 128};
  for (int64_t m : rows)
    emit({40, 500}, number(m), *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  for (auto [i, m] : llvm::enumerate(rows))
    check(*image, i, {40, 500}, m);
}

TEST_F(ContractTest, EveryBlocking) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  // 96 columns fill their last register tile on every target, 90 do not.
  std::vector<Shape> shapes;
  for (int64_t n : {90, 96})
    for (bool outside : {false, true})
      for (bool copy : {false, true})
        for (int64_t depth : {64, 200})
          for (int64_t tiles : {1, 3}) {
            shapes.push_back({n, 200});
            emit(shapes.back(), symbol(0), *target,
                 ContractBlocking{.depthBlock = depth,
                                  .rowTilesPerBlock = tiles,
                                  .depthOutside = outside,
                                  .copyRows = copy,
                                  .prefetchAhead = 8,
                                  .prefetchNextBlock = depth != 64});
          }
  auto image = load(*target);
  ASSERT_TRUE(image);
  for (auto [i, shape] : llvm::enumerate(shapes))
    for (int64_t m : {1, 5, 16, 50})
      check(*image, i, shape, m);
}

TEST_F(ContractTest, SameBitsForEveryNumberOfRows) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  Shape shape{50, 900};
  emit(shape, symbol(0), *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  int64_t most = 64, n = shape.n, k = shape.k;
  GuardedBuffer<float> a(most * k), packed(packedSize(k, n)), bias(n), residual(most * n),
      all(most * n), c(most * n);
  fillRandom(a, 1);
  fillRandom(packed, 2);
  fillRandom(bias, 3);
  fillRandom(residual, 4);
  std::vector<void *> operands = {a.data(), packed.data(), bias.data(), residual.data(),
                                  all.data()};
  ASSERT_EQ(image->run(0, operands, {most}), 0);
  operands.back() = c.data();
  for (int64_t m = 1; m < most; ++m) {
    ASSERT_EQ(image->run(0, operands, {m}), 0);
    ASSERT_EQ(memcmp(c.data(), all.data(), m * n * 4), 0) << m;
  }
}

// Rows that are further apart than they are long, and an output of half floats.
TEST_F(ContractTest, StridesAndStorageTypes) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  int64_t n = 21, k = 40, m = 11, lda = 47, ldc = 30;
  ContractSpec spec;
  Type f16 = Float16Type::get(&context), bf16 = BFloat16Type::get(&context);
  spec.signature.operands = {f16, bf16, f16};
  spec.signature.symbols = 2;
  spec.m = symbol(0);
  spec.n = n;
  spec.k = k;
  spec.aRowStride = symbol(1);
  spec.cRowStride = number(ldc);
  kernels = {"strided"};
  emitContract(*module, "strided", loc(), spec, *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  GuardedBuffer<_Float16> a(m * lda - (lda - k)), c(m * ldc - (ldc - n));
  GuardedBuffer<uint16_t> packed(packedSize(k, n));
  auto widen = [](uint16_t bits) {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  };
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = _Float16(int(i * 7 % 13) - 6);
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i] = uint16_t(0x3f80 + int(i * 5 % 11) * 8); // 1.0 and somewhat more
  for (_Float16 &value : c)
    value = 99;
  ASSERT_EQ(image->run(0, {a.data(), packed.data(), c.data()}, {m, lda}), 0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < std::min(ldc, int64_t(c.size()) - i * ldc); ++j) {
      if (j >= n) {
        EXPECT_EQ(float(c[i * ldc + j]), 99) << "written between the rows";
        continue;
      }
      float want = 0;
      for (int64_t p = 0; p < k; ++p)
        want += float(a[i * lda + p]) * widen(packed[(j / 16 * k + p) * 16 + j % 16]);
      EXPECT_EQ(float(c[i * ldc + j]), float(_Float16(want))) << i << ", " << j;
    }
}

TEST_F(ContractTest, EveryRegisterTile) {
  Shape ragged{77, 40}, blocks{96, 800};
  for (const TargetDescription &target : nativeWithEveryTile()) {
    module = ModuleOp::create(loc());
    kernels.clear();
    emit(ragged, symbol(0), target);
    emit(blocks, symbol(0), target);
    auto image = load(target);
    ASSERT_TRUE(image);
    for (int64_t m : {1, 2, 3, 4, 5, 8, 13, 14, 15, 30, 100}) {
      check(*image, 0, ragged, m);
      check(*image, 1, blocks, m);
    }
  }
}

TEST_F(ContractTest, CompilesForEveryTarget) {
  for (const TargetDescription &target : knownTargets()) {
    module = ModuleOp::create(loc());
    kernels.clear();
    emit({70, 900}, symbol(0), target);
    EXPECT_TRUE(succeeded(compile(target))) << target.name.str() << "\n" << messages;
  }
}

} // namespace
