#include "compiler/codegen/cpu/Attention.h"
#include "test/compiler/codegen/cpu/KernelTest.h"

using namespace mlir;
using namespace nx;
using namespace nx::test;

namespace {

enum class Mask { None, Added, AddedPerKey, Boolean };

struct Form {
  int64_t queryHeads, keyHeads, depth, valueDepth;
  Mask mask = Mask::None;
  bool causal = false; // up to the last key, T - S
  bool merged = false; // q, k, v and the output are [B, rows, heads * depth]
  bool zeroWithoutKeys = true;
  int64_t keyBlock = 128, tilesPerChunk = 11;
  std::optional<int64_t> causalOffset = {}; // another one than T - S
};

// Sizes of one run; symbols 0 to 2.
struct Sizes {
  int64_t batch, queries, keys;
};

class AttentionTest : public KernelTest {
protected:
  StridedOperand strided(unsigned operand, bool merged, int64_t heads, AffineExpr rows,
                         int64_t depth) {
    if (merged)
      return {operand, {rows * heads * depth, number(depth), number(heads * depth), number(1)}, {}};
    return {operand, {rows * heads * depth, rows * depth, number(depth), number(1)}, {}};
  }

  // Operands: q, k, v, mask (unused without one), out.
  void emit(const Form &form, const TargetDescription &target) {
    AffineExpr queries = symbol(1), keys = symbol(2), zero = number(0);
    AttentionSpec spec;
    bool boolean = form.mask == Mask::Boolean;
    spec.signature.operands = {f32(), f32(), f32(),
                               boolean ? Type(IntegerType::get(&context, 1)) : f32(), f32()};
    spec.signature.symbols = 3;
    spec.batch = symbol(0);
    spec.queries = queries;
    spec.keys = keys;
    spec.queryHeads = form.queryHeads;
    spec.keyHeads = form.keyHeads;
    spec.depth = form.depth;
    spec.valueDepth = form.valueDepth;
    spec.q = strided(0, form.merged, form.queryHeads, queries, form.depth);
    spec.k = strided(1, form.merged, form.keyHeads, keys, form.depth);
    spec.v = strided(2, form.merged, form.keyHeads, keys, form.valueDepth);
    spec.out = strided(4, form.merged, form.queryHeads, queries, form.valueDepth);
    spec.scale = scale(form);
    if (form.causal)
      spec.causalOffset = form.causalOffset ? number(*form.causalOffset) : keys - queries;
    if (form.mask == Mask::AddedPerKey) // [B, 1, 1, T]
      spec.mask = StridedOperand{3, {keys, zero, zero, number(1)}, {}};
    else if (form.mask != Mask::None) // [B, 1, S, T]
      spec.mask = StridedOperand{3, {queries * keys, zero, keys, number(1)}, {}};
    spec.zeroWithoutKeys = form.zeroWithoutKeys;
    spec.keyBlock = form.keyBlock;
    spec.tilesPerChunk = form.tilesPerChunk;
    kernels.push_back("attention" + std::to_string(kernels.size()));
    emitAttention(*module, kernels.back(), loc(), spec, target);
  }
  static float scale(const Form &form) { return 1 / std::sqrt(float(form.depth)); }

  static size_t at(bool merged, int64_t b, int64_t head, int64_t heads, int64_t row, int64_t rows,
                   int64_t depth) {
    return merged ? ((b * rows + row) * heads + head) * depth
                  : ((b * heads + head) * rows + row) * depth;
  }

  void check(const KernelImage &image, unsigned index, const Form &form, Sizes sizes,
             float maskedOff = -INFINITY) {
    auto [B, S, T] = sizes;
    SCOPED_TRACE("kernel " + std::to_string(index) + " batch " + std::to_string(B) + " queries " +
                 std::to_string(S) + " keys " + std::to_string(T));
    int64_t H = form.queryHeads, HK = form.keyHeads, D = form.depth, DV = form.valueDepth;
    GuardedBuffer<float> q(B * H * S * D), k(B * HK * T * D), v(B * HK * T * DV),
        out(B * H * S * DV), split(B * H * S * DV);
    fillRandom(q, 1, 3);
    fillRandom(k, 2, 3);
    fillRandom(v, 3);
    fill(out, NAN);
    bool perKey = form.mask == Mask::AddedPerKey;
    size_t maskSize = form.mask == Mask::None ? 0 : perKey ? B * T : B * S * T;
    GuardedBuffer<float> added(maskSize);
    GuardedBuffer<uint8_t> boolean(maskSize);
    std::mt19937 generator(7);
    for (size_t i = 0; i < maskSize; ++i) {
      bool use = generator() % 3 != 0;
      // The first query of the second item may use nothing.
      if (!perKey && B > 1 && i / (S * T) == 1 && i / T % S == 0)
        use = false;
      if (perKey && B > 1 && i / T == 1)
        use = false;
      added[i] = use ? float(generator() % 100) / 100 : maskedOff;
      boolean[i] = use;
    }
    void *mask = form.mask == Mask::Boolean ? static_cast<void *>(boolean.data()) : added.data();
    std::vector<int64_t> dims = {B, S, T};
    ASSERT_EQ(image.run(index, {q.data(), k.data(), v.data(), mask, out.data()}, dims), 0);
    ASSERT_EQ(image.run(index, {q.data(), k.data(), v.data(), mask, split.data()}, dims, 1), 0);
    ASSERT_EQ(memcmp(out.data(), split.data(), out.size() * 4), 0) << "a split changes bits";

    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t s = 0; s < S; ++s) {
          int64_t hk = h / (H / HK);
          std::vector<double> score(T);
          double maximum = -INFINITY, total = 0;
          for (int64_t t = 0; t < T; ++t) {
            double sum = 0;
            for (int64_t d = 0; d < D; ++d)
              sum += double(q[at(form.merged, b, h, H, s, S, D) + d]) *
                     k[at(form.merged, b, hk, HK, t, T, D) + d];
            score[t] = sum * scale(form);
            size_t slot = perKey ? b * T + t : (b * S + s) * T + t;
            if (form.mask == Mask::Boolean)
              score[t] = boolean[slot] ? score[t] : -INFINITY;
            else if (form.mask != Mask::None)
              score[t] = float(float(score[t]) + added[slot]); // a large mask swallows the score
            if (form.causal && t > s + form.causalOffset.value_or(T - S))
              score[t] = -INFINITY;
            maximum = std::max(maximum, score[t]);
          }
          for (int64_t t = 0; t < T; ++t)
            total += score[t] = maximum == -INFINITY ? 0 : std::exp(score[t] - maximum);
          for (int64_t d = 0; d < DV; ++d) {
            double want = 0;
            for (int64_t t = 0; t < T; ++t)
              want += score[t] / (total ? total : 1) * v[at(form.merged, b, hk, HK, t, T, DV) + d];
            float got = out[at(form.merged, b, h, H, s, S, DV) + d];
            if (T && !total && !form.zeroWithoutKeys)
              ASSERT_TRUE(std::isnan(got)) << b << " " << h << " " << s << " " << d;
            else
              ASSERT_NEAR(got, want, 5e-6) << b << " " << h << " " << s << " " << d;
          }
        }
  }

  void checkForms(ArrayRef<Form> forms, ArrayRef<Sizes> sizes, float maskedOff = -INFINITY) {
    const TargetDescription *target = nativeTarget();
    if (!target)
      GTEST_SKIP();
    for (const Form &form : forms)
      emit(form, *target);
    auto image = load(*target);
    ASSERT_TRUE(image);
    for (auto [i, form] : llvm::enumerate(forms))
      for (const Sizes &size : sizes)
        check(*image, i, form, size, maskedOff);
  }
};

const Sizes kSizes[] = {{1, 1, 1},   {2, 1, 5},   {1, 3, 16},  {2, 7, 17},   {1, 13, 31},
                        {2, 20, 40}, {1, 65, 65}, {1, 5, 300}, {1, 100, 257}};

TEST_F(AttentionTest, DepthsAndLayouts) {
  checkForms({{2, 2, 64, 64},
              {2, 2, 64, 64, Mask::None, false, /*merged=*/true},
              {1, 1, 1, 1},
              {3, 3, 5, 3, Mask::None, false, true},
              {1, 1, 8, 24},
              {2, 2, 20, 33, Mask::None, false, true}},
             kSizes);
}

TEST_F(AttentionTest, Masks) {
  checkForms({{2, 2, 16, 16, Mask::Added},
              {2, 2, 16, 16, Mask::AddedPerKey},
              {2, 2, 16, 16, Mask::Boolean},
              {2, 2, 16, 16, Mask::Boolean, false, false, /*zeroWithoutKeys=*/false},
              {1, 1, 16, 16, Mask::Added, true, false, false},
              {4, 2, 16, 16, Mask::AddedPerKey, false, true, false}},
             kSizes);
}

// Exporters write the lowest float where they mean -inf: a row of nothing else is a plain mean.
TEST_F(AttentionTest, FiniteMasks) {
  checkForms({{2, 2, 16, 16, Mask::Added}, {2, 2, 16, 16, Mask::AddedPerKey, false, true}}, kSizes,
             std::numeric_limits<float>::lowest());
}

// Also with more queries than keys, where the first ones may use no key.
TEST_F(AttentionTest, Causal) {
  Sizes sizes[] = {{1, 1, 1},   {1, 1, 50},  {1, 4, 20},   {2, 33, 33},
                   {1, 20, 10}, {1, 90, 90}, {1, 70, 200}, {1, 200, 150}};
  checkForms({{2, 2, 32, 16, Mask::None, true},
              {2, 2, 32, 16, Mask::None, true, true, false},
              {2, 2, 32, 16, Mask::Added, true},
              {2, 2, 32, 16, Mask::None, true, false, /*zeroWithoutKeys=*/false},
              {2, 2, 32, 16, Mask::Added, true, false, true, 128, 11, /*causalOffset=*/0},
              {4, 2, 32, 16, Mask::None, true, true, false, 32, 2, /*causalOffset=*/-7},
              {2, 2, 32, 16, Mask::None, true, false, true, 128, 11, /*causalOffset=*/20}},
             sizes);
}

TEST_F(AttentionTest, GroupedQueries) {
  checkForms({{4, 2, 16, 16},
              {6, 1, 16, 32, Mask::None, /*causal=*/true},
              {8, 2, 24, 16, Mask::Added, true, /*merged=*/true},
              {6, 2, 16, 16, Mask::Boolean, false, false, true, 32, 2}},
             kSizes);
}

TEST_F(AttentionTest, SmallBlocks) {
  checkForms({{1, 1, 16, 16, Mask::None, false, false, true, /*keyBlock=*/32, /*tilesPerChunk=*/1},
              {2, 2, 16, 16, Mask::Added, true, false, true, 32, 2},
              {2, 1, 16, 40, Mask::Boolean, true, true, true, 64, 3}},
             kSizes);
}

TEST_F(AttentionTest, NothingToDo) {
  const TargetDescription *target = nativeTarget();
  if (!target)
    GTEST_SKIP();
  Form nan{2, 2, 16, 16, Mask::None, false, false, /*zeroWithoutKeys=*/false};
  emit({2, 2, 16, 16}, *target);
  emit(nan, *target);
  auto image = load(*target);
  ASSERT_TRUE(image);
  int64_t noItems[] = {0, 5, 5}, noQueries[] = {3, 0, 5};
  EXPECT_EQ(image->module->kernels[0].tiles(noItems), 0);
  EXPECT_EQ(image->module->kernels[0].tiles(noQueries), 0);
  check(*image, 0, {2, 2, 16, 16}, {1, 4, 0}); // no keys
  check(*image, 1, nan, {1, 4, 0});            // a product over nothing is 0 here, too
}

TEST_F(AttentionTest, EveryRegisterTile) {
  Form form{4, 2, 20, 40, Mask::Added, true, true, true, 64, 2};
  for (const TargetDescription &target : nativeWithEveryTile()) {
    module = ModuleOp::create(loc());
    kernels.clear();
    emit(form, target);
    auto image = load(target);
    ASSERT_TRUE(image);
    for (const Sizes &sizes : kSizes)
      check(*image, 0, form, sizes);
  }
}

TEST_F(AttentionTest, CompilesForEveryTarget) {
  for (const TargetDescription &target : knownTargets()) {
    module = ModuleOp::create(loc());
    kernels.clear();
    emit({4, 2, 64, 64, Mask::Boolean, true}, target);
    EXPECT_TRUE(succeeded(compile(target))) << target.name.str() << "\n" << messages;
  }
}

} // namespace
