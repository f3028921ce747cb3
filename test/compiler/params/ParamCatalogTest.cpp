// What recipes make of stored bytes, against a plain implementation on whole arrays.
#include "compiler/params/ElementConversion.h"
#include "compiler/params/ParamCatalog.h"
#include "dialects/nx/Nx.h"
#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace nx;

namespace {

/// A dense array of 32-bit integers: what the recipes are compared on.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int32_t> values;

  static Array iota(std::vector<int64_t> shape) {
    Array a{shape, {}};
    a.values.resize(std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()));
    std::iota(a.values.begin(), a.values.end(), 1);
    return a;
  }
  int32_t at(llvm::ArrayRef<int64_t> index) const {
    int64_t linear = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      linear = linear * shape[i] + index[i];
    return values[linear];
  }
  /// The array of this shape whose element at `index` is `value(index)`.
  template <typename F> static Array of(std::vector<int64_t> shape, F value) {
    Array a = iota(shape);
    for (size_t linear = 0; linear < a.values.size(); ++linear) {
      std::vector<int64_t> index(shape.size());
      int64_t rest = linear;
      for (size_t i = shape.size(); i-- > 0; rest /= shape[i])
        index[i] = rest % shape[i];
      a.values[linear] = value(index);
    }
    return a;
  }
  Array transposed(std::vector<int64_t> perm) const {
    std::vector<int64_t> to;
    for (int64_t p : perm)
      to.push_back(shape[p]);
    return of(to, [&](const std::vector<int64_t> &index) {
      std::vector<int64_t> from(index.size());
      for (size_t i = 0; i < perm.size(); ++i)
        from[perm[i]] = index[i];
      return at(from);
    });
  }
  Array reshaped(std::vector<int64_t> to) const { return {to, values}; }
  Array sharded(int64_t dim, int64_t parts, std::vector<int64_t> blocks, int64_t rank) const {
    std::vector<int64_t> kept, to = shape;
    int64_t begin = 0;
    for (int64_t block : blocks) {
      for (int64_t i = 0; i < block / parts; ++i)
        kept.push_back(begin + rank * (block / parts) + i);
      begin += block;
    }
    to[dim] = kept.size();
    return of(to, [&](std::vector<int64_t> index) {
      index[dim] = kept[index[dim]];
      return at(index);
    });
  }
  Array packed() const {
    int64_t k = shape[shape.size() - 2], n = shape.back(), panels = (n + 15) / 16;
    std::vector<int64_t> to(shape.begin(), shape.end() - 2);
    to.insert(to.end(), {panels, k, 16});
    return of(to, [&](std::vector<int64_t> index) -> int32_t {
      int64_t lane = index.back(), row = index[index.size() - 2], panel = index[index.size() - 3];
      index.resize(index.size() - 1);
      index[index.size() - 2] = row;
      index.back() = panel * 16 + lane;
      return index.back() < n ? at(index) : 0;
    });
  }
};

class Recipes : public testing::Test {
protected:
  MLIRContext context;
  ParamCatalog params;

  Recipes() { context.loadDialect<NxDialect>(); }

  ArrayAttr recipe(llvm::StringRef text) { return cast<ArrayAttr>(parseAttribute(text, &context)); }
  RankedTensorType type(llvm::ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); }
  void add(llvm::StringRef name, const Array &array) {
    const char *bytes = reinterpret_cast<const char *>(array.values.data());
    std::vector<char> copy(bytes, bytes + array.values.size() * 4);
    ASSERT_FALSE(bool(params.addOwned(name, type(array.shape, IntegerType::get(&context, 32)), copy)));
  }
  std::vector<char> run(llvm::StringRef name, llvm::StringRef text, int64_t rank = 0) {
    std::vector<char> bytes;
    llvm::Error error = params.materialize(name, recipe(text), rank, [&](llvm::ArrayRef<char> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return llvm::Error::success();
    });
    EXPECT_FALSE(bool(error)) << toString(std::move(error));
    return bytes;
  }
  void expect(llvm::StringRef name, llvm::StringRef text, const Array &want, int64_t rank = 0) {
    std::vector<char> bytes = run(name, text, rank);
    ASSERT_EQ(bytes.size(), want.values.size() * 4) << text.str();
    EXPECT_EQ(std::memcmp(bytes.data(), want.values.data(), bytes.size()), 0) << text.str();
  }
};

TEST_F(Recipes, Movement) {
  Array a = Array::iota({6, 4, 10});
  add("a", a);
  expect("a", "[]", a);
  expect("a", "[#nx.transpose<2, 0, 1>]", a.transposed({2, 0, 1}));
  expect("a", "[#nx.transpose<0, 2, 1>]", a.transposed({0, 2, 1}));
  expect("a", "[#nx.reshape<24, 10>, #nx.transpose<1, 0>]", a.reshaped({24, 10}).transposed({1, 0}));
  // Merges dimensions that aren't contiguous, then splits them elsewhere.
  expect("a", "[#nx.transpose<1, 0, 2>, #nx.reshape<24, 10>, #nx.reshape<8, 3, 10>, #nx.transpose<1, 0, 2>]",
         a.transposed({1, 0, 2}).reshaped({8, 3, 10}).transposed({1, 0, 2}));
  // Cuts through a loop: needs the intermediate value.
  expect("a", "[#nx.transpose<2, 1, 0>, #nx.reshape<15, 16>]", a.transposed({2, 1, 0}).reshaped({15, 16}));
}

TEST_F(Recipes, Shards) {
  Array a = Array::iota({8, 12});
  add("a", a);
  for (int64_t rank : {0, 1}) {
    expect("a", "[#nx.shard<dim = 0, parts = 2>]", a.sharded(0, 2, {8}, rank), rank);
    expect("a", "[#nx.shard<dim = 1, parts = 2, blocks = [4, 4, 4]>]", a.sharded(1, 2, {4, 4, 4}, rank), rank);
    expect("a", "[#nx.shard<dim = 1, parts = 2, blocks = [8, 2, 2]>]", a.sharded(1, 2, {8, 2, 2}, rank), rank);
    expect("a", "[#nx.transpose<1, 0>, #nx.shard<dim = 0, parts = 2, blocks = [8, 2, 2]>, #nx.transpose<1, 0>]",
           a.sharded(1, 2, {8, 2, 2}, rank), rank);
    expect("a", "[#nx.shard<dim = 1, parts = 2, blocks = [8, 2, 2]>, #nx.pack]",
           a.sharded(1, 2, {8, 2, 2}, rank).packed(), rank);
  }
  EXPECT_TRUE(ParamCatalog::sameForAllRanks(recipe("[#nx.transpose<1, 0>]")));
  EXPECT_FALSE(ParamCatalog::sameForAllRanks(recipe("[#nx.shard<dim = 0, parts = 2>]")));
  EXPECT_TRUE(ParamCatalog::sameForAllRanks(recipe("[#nx.shard<dim = 0, parts = 1>]")));
}

TEST_F(Recipes, Panels) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{5, 37}, {3, 16}, {2, 7, 33}, {1, 1}, {4, 15}}) {
    Array a = Array::iota(shape);
    std::string name = "a" + std::to_string(a.values.size());
    add(name, a);
    expect(name, "[#nx.pack]", a.packed());
    EXPECT_EQ(ParamCatalog::packedBytes(type(shape, IntegerType::get(&context, 32)), recipe("[#nx.pack]")),
              a.packed().values.size() * 4);
  }
  Array b = Array::iota({37, 5});
  add("b", b);
  expect("b", "[#nx.transpose<1, 0>, #nx.pack]", b.transposed({1, 0}).packed());
}

TEST_F(Recipes, LargeValuesComeInPieces) {
  // More than one chunk in every way of streaming: 3 MiB as 1024 x 768.
  Array a = Array::iota({1024, 768});
  add("a", a);
  size_t pieces = 0, largest = 0;
  for (llvm::StringRef text : {"[]", "[#nx.transpose<1, 0>]", "[#nx.pack]", "[#nx.transpose<1, 0>, #nx.pack]"}) {
    llvm::Error error = params.materialize("a", recipe(text), 0, [&](llvm::ArrayRef<char> piece) {
      ++pieces;
      largest = std::max(largest, piece.size());
      return llvm::Error::success();
    });
    EXPECT_FALSE(bool(error));
  }
  EXPECT_GE(pieces, 8u);
  EXPECT_LE(largest, size_t(4) << 20);
  expect("a", "[#nx.transpose<1, 0>]", a.transposed({1, 0}));
  expect("a", "[#nx.pack]", a.packed());
  expect("a", "[#nx.transpose<1, 0>, #nx.pack]", a.transposed({1, 0}).packed());
}

TEST_F(Recipes, Casts) {
  std::vector<float> values{1.0f, -2.5f, 65504.0f, 1e9f, 5.9604645e-8f, 1.00048828125f, NAN, -INFINITY, 0.0f, -0.0f, 300.7f};
  const char *bytes = reinterpret_cast<const char *>(values.data());
  ASSERT_FALSE(bool(params.addOwned("x", type({int64_t(values.size())}, Float32Type::get(&context)),
                                    std::vector<char>(bytes, bytes + values.size() * 4))));
  auto as = [&]<typename T>(llvm::StringRef text, T) {
    std::vector<char> out = run("x", text);
    std::vector<T> typed(out.size() / sizeof(T));
    std::memcpy(typed.data(), out.data(), out.size());
    return typed;
  };
  // Ties go to even, the least subnormal stays, too large numbers become infinite.
  EXPECT_EQ(as("[#nx.cast<f16>]", uint16_t()),
            (std::vector<uint16_t>{0x3c00, 0xc100, 0x7bff, 0x7c00, 0x0001, 0x3c00, 0x7e00, 0xfc00, 0, 0x8000, 0x5cb3}));
  EXPECT_EQ(as("[#nx.cast<bf16>]", uint16_t())[1], 0xc020);
  // To integers: towards zero, saturating, NaN gives 0.
  EXPECT_EQ(as("[#nx.cast<i8>]", int8_t()), (std::vector<int8_t>{1, -2, 127, 127, 0, 1, 0, -128, 0, 0, 127}));
  EXPECT_EQ(as("[#nx.cast<ui8>]", uint8_t()), (std::vector<uint8_t>{1, 0, 255, 255, 0, 1, 0, 0, 0, 0, 255}));
  EXPECT_EQ(as("[#nx.cast<i1>]", uint8_t()), (std::vector<uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1}));
  // Exactly as the double comes back.
  EXPECT_EQ(as("[#nx.cast<f64>, #nx.cast<f32>]", float())[3], 1e9f);
}

TEST_F(Recipes, HalfFloatsRoundTrip) {
  Type f16 = Float16Type::get(&context), bf16 = BFloat16Type::get(&context), f32 = Float32Type::get(&context);
  for (Type narrow : {f16, bf16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      uint16_t in = bits, out;
      float wide;
      elementConverter(narrow, f32)(reinterpret_cast<char *>(&in), reinterpret_cast<char *>(&wide), 1);
      elementConverter(f32, narrow)(reinterpret_cast<char *>(&wide), reinterpret_cast<char *>(&out), 1);
      if (std::isnan(wide))
        continue;
      ASSERT_EQ(in, out);
    }
}

TEST_F(Recipes, Errors) {
  Type i32 = IntegerType::get(&context, 32);
  std::vector<char> bytes(16);
  EXPECT_FALSE(bool(params.addOwned("a", type({4}, i32), bytes)));
  llvm::Error twice = params.addOwned("a", type({4}, i32), bytes);
  EXPECT_EQ(toString(std::move(twice)), "parameter 'a' exists twice");
  llvm::Error size = params.addOwned("b", type({5}, i32), bytes);
  EXPECT_EQ(toString(std::move(size)), "parameter 'b' has 16 bytes, its type tensor<5xi32> needs 20");

  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto ignore = [](llvm::ArrayRef<char>) { return llvm::Error::success(); };
  EXPECT_EQ(toString(params.materialize("c", recipe("[]"), 0, ignore)), "there is no parameter 'c'");
  EXPECT_TRUE(bool(errorToBool(params.materialize("a", recipe("[#nx.transpose<1, 0>]"), 0, ignore))));
  EXPECT_TRUE(bool(errorToBool(params.materialize("a", recipe("[#nx.shard<dim = 0, parts = 3>]"), 0, ignore))));
  EXPECT_TRUE(bool(errorToBool(params.materialize("a", recipe("[#nx.shard<dim = 0, parts = 2>]"), 2, ignore))));
  // The sink's error comes through.
  auto full = [](llvm::ArrayRef<char>) { return llvm::createStringError("disk full"); };
  EXPECT_EQ(toString(params.materialize("a", recipe("[]"), 0, full)), "disk full");
}

TEST_F(Recipes, FilesAreMappedOnce) {
  llvm::SmallString<128> path;
  int descriptor;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("params", "bin", descriptor, path));
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << "some weights";
  auto first = params.mapFile(path), second = params.mapFile(path);
  ASSERT_TRUE(bool(first) && bool(second));
  EXPECT_EQ(*first, "some weights");
  EXPECT_EQ(first->data(), second->data());
  EXPECT_EQ(params.contentHash().size(), 16u);
  EXPECT_NE(params.contentHash(), ParamCatalog().contentHash());
  EXPECT_TRUE(bool(errorToBool(params.mapFile("/nowhere/at/all").takeError())));
  llvm::sys::fs::remove(path);
}

} // namespace
