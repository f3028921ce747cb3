#include "compiler/target/KernelCompiler.h"
#include "mlir/Parser/Parser.h"
#include "test/compiler/KernelImage.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

// out[i] = in[i] * 2 for i < s0; one tile an element.
constexpr const char *kDouble = R"(
func.func @double(%call: !llvm.ptr, %begin: i64, %end: i64) -> i32 {
  %operands = llvm.load %call : !llvm.ptr -> !llvm.ptr
  %in = llvm.load %operands : !llvm.ptr -> !llvm.ptr
  %slot = llvm.getelementptr %operands[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
  %out = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %lb = arith.index_cast %begin : i64 to index
  %ub = arith.index_cast %end : i64 to index
  %c1 = arith.constant 1 : index
  scf.for %i = %lb to %ub step %c1 {
    %i64 = arith.index_cast %i : index to i64
    %p = llvm.getelementptr %in[%i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %q = llvm.getelementptr %out[%i64] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p : !llvm.ptr -> f32
    %y = arith.addf %x, %x : f32
    llvm.store %y, %q : f32, !llvm.ptr
  }
  %ok = arith.constant 0 : i32
  return %ok : i32
}
func.func @double.tiles(%dim: !llvm.ptr) -> i64 {
  %n = llvm.load %dim : !llvm.ptr -> i64
  return %n : i64
}
func.func @double.scratch_bytes(%dim: !llvm.ptr) -> i64 {
  %c0 = arith.constant 0 : i64
  return %c0 : i64
}
func.func @double.grain(%dim: !llvm.ptr) -> i64 {
  %c = arith.constant 4096 : i64
  return %c : i64
}
)";

// A kernel @NAME whose run function is BODY before its return.
std::string kernelWithBody(llvm::StringRef name, llvm::StringRef body) {
  std::string text = "func.func @" + name.str() +
                     "(%call: !llvm.ptr, %begin: i64, %end: i64) -> i32 {\n" + body.str() +
                     "\n  %status = arith.constant 0 : i32\n  return %status : i32\n}\n";
  for (llvm::StringRef suffix : {".tiles", ".scratch_bytes", ".grain"})
    text += "func.func @" + name.str() + suffix.str() +
            "(%dim: !llvm.ptr) -> i64 {\n  %c = arith.constant 1 : i64\n  return %c : i64\n}\n";
  return text;
}

class KernelCompilerTest : public testing::Test {
protected:
  KernelCompilerTest() {
    DialectRegistry registry;
    nx::registerKernelCompilerDialects(registry);
    registry.insert<tensor::TensorDialect>();
    context.appendDialectRegistry(registry);
    context.getDiagEngine().registerHandler([this](Diagnostic &d) { messages += d.str() + "\n"; });
  }
  FailureOr<std::vector<char>> compile(const std::string &text, std::vector<std::string> kernels,
                                       llvm::StringRef target,
                                       const nx::KernelCompileOptions &options = {}) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << messages;
    if (!module)
      return failure();
    return nx::compileKernelModule(*module, kernels, *llvm::cantFail(nx::lookupTarget(target)),
                                   options);
  }
  MLIRContext context;
  std::string messages;
};

bool haveNative() {
  llvm::Expected<const nx::TargetDescription *> native = nx::lookupTarget("native");
  if (!native)
    llvm::consumeError(native.takeError());
  return bool(native);
}

TEST_F(KernelCompilerTest, RunsOnThisMachine) {
  if (!haveNative())
    GTEST_SKIP();
  auto bytes = compile(kDouble, {"double"}, "native");
  ASSERT_TRUE(succeeded(bytes)) << messages;
  nx::test::KernelImage image(*bytes);
  ASSERT_NE(image.module, nullptr) << image.error;
  EXPECT_EQ(image.module->abi_version, uint32_t(NXRT_KERNEL_ABI_VERSION));
  ASSERT_EQ(image.module->kernel_count, 1u);
  int64_t dims[] = {5};
  EXPECT_EQ(image.module->kernels[0].tiles(dims), 5);
  EXPECT_EQ(image.module->kernels[0].scratch_bytes(dims), 0);
  EXPECT_EQ(image.module->kernels[0].grain(dims), 4096);
  std::vector<float> in = {1, 2, 3, -4, 5}, out(5, 99);
  EXPECT_EQ(image.run(0, {in.data(), out.data()}, {5}, 2), 0);
  EXPECT_EQ(out, (std::vector<float>{2, 4, 6, -8, 10}));
}

TEST_F(KernelCompilerTest, KernelTableHasTheGivenOrder) {
  if (!haveNative())
    GTEST_SKIP();
  std::string text = kernelWithBody("a", "") + kDouble + kernelWithBody("z", "");
  auto bytes = compile(text, {"z", "double", "a"}, "native");
  ASSERT_TRUE(succeeded(bytes)) << messages;
  nx::test::KernelImage image(*bytes);
  ASSERT_NE(image.module, nullptr) << image.error;
  ASSERT_EQ(image.module->kernel_count, 3u);
  int64_t dims[] = {7};
  EXPECT_EQ(image.module->kernels[0].tiles(dims), 1);
  EXPECT_EQ(image.module->kernels[1].tiles(dims), 7);
  EXPECT_EQ(image.module->kernels[2].tiles(dims), 1);
}

TEST_F(KernelCompilerTest, EveryTargetIsAClosedImage) {
  for (const nx::TargetDescription &target : nx::knownTargets()) {
    SCOPED_TRACE(target.name.str());
    auto bytes = compile(kDouble, {"double"}, target.name);
    ASSERT_TRUE(succeeded(bytes)) << messages;
    ASSERT_GT(bytes->size(), sizeof(Elf64_Ehdr));
    Elf64_Ehdr header;
    memcpy(&header, bytes->data(), sizeof header);
    EXPECT_EQ(header.e_type, ET_DYN);
    EXPECT_EQ(header.e_machine, target.arch == nx::Arch::X86_64 ? EM_X86_64 : EM_AARCH64);
    EXPECT_NE(header.e_entry, 0u);
    uint64_t lastPage = 0;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      memcpy(&segment, bytes->data() + header.e_phoff + i * sizeof segment, sizeof segment);
      EXPECT_NE(segment.p_type, uint32_t(PT_INTERP));
      EXPECT_NE(segment.p_type, uint32_t(PT_TLS));
      if (segment.p_type == PT_LOAD) {
        EXPECT_NE(segment.p_flags & (PF_W | PF_X), uint32_t(PF_W | PF_X));
        EXPECT_GE(segment.p_vaddr >> 16, lastPage);
        lastPage = ((segment.p_vaddr + segment.p_memsz - 1) >> 16) + 1;
      }
      if (segment.p_type != PT_DYNAMIC)
        continue;
      for (uint64_t at = 0; at < segment.p_filesz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, bytes->data() + segment.p_offset + at, sizeof entry);
        for (int64_t refused : {DT_NEEDED, DT_INIT, DT_FINI, DT_INIT_ARRAY, DT_FINI_ARRAY,
                                DT_JMPREL, DT_TEXTREL, DT_REL, DT_RELR})
          EXPECT_NE(entry.d_tag, refused);
      }
    }
  }
}

TEST_F(KernelCompilerTest, SameBytesEveryTime) {
  std::string text = kDouble + kernelWithBody("other", "");
  auto first = compile(text, {"double", "other"}, "x86-64-v3");
  auto second = compile(text, {"double", "other"}, "x86-64-v3");
  ASSERT_TRUE(succeeded(first) && succeeded(second)) << messages;
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(std::string(first->begin(), first->end()).find("/tmp"), std::string::npos);
}

TEST_F(KernelCompilerTest, CopiesGetTheirOwnMemcpy) {
  if (!haveNative())
    GTEST_SKIP();
  // Overlapping moves in both directions, a fill, and a copy, of lengths that are known only here.
  auto bytes = compile(kernelWithBody("copies", R"(
  %operands = llvm.load %call : !llvm.ptr -> !llvm.ptr
  %a = llvm.load %operands : !llvm.ptr -> !llvm.ptr
  %a3 = llvm.getelementptr %a[3] : (!llvm.ptr) -> !llvm.ptr, i8
  %a200 = llvm.getelementptr %a[200] : (!llvm.ptr) -> !llvm.ptr, i8
  %slot = llvm.getelementptr %call[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %dims = llvm.load %slot : !llvm.ptr -> !llvm.ptr
  %n = llvm.load %dims : !llvm.ptr -> i64
  %seven = llvm.mlir.constant(7 : i8) : i8
  "llvm.intr.memmove"(%a3, %a, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memcpy"(%a200, %a, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memmove"(%a, %a3, %n) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  "llvm.intr.memset"(%a3, %seven, %n) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ())"),
                       {"copies"}, "native");
  ASSERT_TRUE(succeeded(bytes)) << messages;
  nx::test::KernelImage image(*bytes);
  ASSERT_NE(image.module, nullptr) << image.error;
  for (int64_t n : {0, 1, 5, 77, 150}) {
    std::vector<uint8_t> data(400), want;
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = uint8_t(i);
    want = data;
    memmove(&want[3], &want[0], n);
    memcpy(&want[200], &want[0], n);
    memmove(&want[0], &want[3], n);
    memset(&want[3], 7, n);
    EXPECT_EQ(image.run(0, {data.data()}, {n}), 0);
    EXPECT_EQ(data, want) << n;
  }
}

TEST_F(KernelCompilerTest, ExternalCallsAreErrorsThatNameThem) {
  auto bytes = compile(kernelWithBody("k", R"(
  %operands = llvm.load %call : !llvm.ptr -> !llvm.ptr
  %x = llvm.load %operands : !llvm.ptr -> f64
  %y = math.exp %x : f64
  llvm.store %y, %operands : f64, !llvm.ptr)"),
                       {"k"}, "x86-64-v3");
  EXPECT_TRUE(failed(bytes));
  EXPECT_NE(messages.find("undefined symbol: exp"), std::string::npos) << messages;
}

TEST_F(KernelCompilerTest, OpsWithoutLoweringAreErrors) {
  auto bytes = compile(kernelWithBody("k", R"(
  %t = tensor.empty() : tensor<4xf32>
  %c0 = arith.constant 0 : index
  %x = tensor.extract %t[%c0] : tensor<4xf32>
  %operands = llvm.load %call : !llvm.ptr -> !llvm.ptr
  llvm.store %x, %operands : f32, !llvm.ptr)"),
                       {"k"}, "x86-64-v3");
  EXPECT_TRUE(failed(bytes));
  EXPECT_NE(messages.find("'tensor."), std::string::npos) << messages;
}

TEST_F(KernelCompilerTest, MissingFunctionsAreErrors) {
  auto bytes = compile(kDouble, {"single"}, "x86-64-v3");
  EXPECT_TRUE(failed(bytes));
  EXPECT_NE(messages.find("no function @single"), std::string::npos) << messages;
}

TEST_F(KernelCompilerTest, MissingLinkerIsAnErrorThatNamesIt) {
  nx::KernelCompileOptions options;
  options.linker = "/nonexistent/ld.lld";
  auto bytes = compile(kDouble, {"double"}, "x86-64-v3", options);
  EXPECT_TRUE(failed(bytes));
  EXPECT_NE(messages.find("/nonexistent/ld.lld"), std::string::npos) << messages;
}

TEST(TargetDescriptionTest, NamesAndAliases) {
  EXPECT_EQ(llvm::cantFail(nx::lookupTarget("aarch64"))->name, "armv8-a");
  EXPECT_EQ(llvm::cantFail(nx::lookupTarget("x86-64-v4"))->vectorLanes, 16);
  std::string message = llvm::toString(nx::lookupTarget("pentium").takeError());
  for (const char *part : {"pentium", "native", "armv8-a", "x86-64-v3", "x86-64-v4"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  if (haveNative()) {
    EXPECT_TRUE(nx::canRunHere(*llvm::cantFail(nx::lookupTarget("native"))));
  }
}

TEST(TargetDescriptionTest, RegisterTilesFit) {
  for (const nx::TargetDescription &target : nx::knownTargets()) {
    int64_t columns = target.nr / target.vectorLanes;
    EXPECT_EQ(target.nr % target.vectorLanes, 0);
    EXPECT_EQ(target.nr % 16, 0);
    EXPECT_LE(target.mr * columns + columns + 1, target.vectorRegisters) << target.name.str();
  }
}

} // namespace
