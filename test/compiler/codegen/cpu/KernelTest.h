// What the tests of kernels share: building and loading images, data, buffers that end at an
// inaccessible page, and comparison against double precision.
#ifndef NX_TEST_COMPILER_CODEGEN_CPU_KERNELTEST_H
#define NX_TEST_COMPILER_CODEGEN_CPU_KERNELTEST_H

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/math/ExpandMath.h"
#include "compiler/target/KernelCompiler.h"
#include "mlir/IR/Verifier.h"
#include "test/compiler/KernelImage.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <sys/mman.h>

namespace nx::test {

// A buffer whose last byte is the last before an inaccessible page, and whose first page follows
// one.
template <typename T> class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t count) : count(count) {
    size_t page = sysconf(_SC_PAGESIZE);
    size_t bytes = (count * sizeof(T) + page - 1) / page * page;
    length = bytes + 2 * page;
    base = static_cast<char *>(
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base, page, PROT_NONE);
    mprotect(base + page + bytes, page, PROT_NONE);
    values = reinterpret_cast<T *>(base + page + bytes) - count;
  }
  ~GuardedBuffer() { munmap(base, length); }
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  T *data() { return values; }
  T &operator[](size_t i) { return values[i]; }
  size_t size() const { return count; }
  T *begin() { return values; }
  T *end() { return values + count; }

private:
  size_t count, length;
  char *base;
  T *values;
};

inline void fillRandom(GuardedBuffer<float> &buffer, unsigned seed, float scale = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-scale, scale);
  for (float &value : buffer)
    value = distribution(generator);
}

inline void fill(GuardedBuffer<float> &buffer, float value) {
  for (float &x : buffer)
    x = value;
}

// B[K,N] in panels of 16 columns, zero padded.
inline void packPanels(GuardedBuffer<float> &b, int64_t k, int64_t n,
                       GuardedBuffer<float> &packed) {
  fill(packed, 0);
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j)
      packed[(j / 16 * k + i) * 16 + j % 16] = b[i * n + j];
}
inline size_t packedSize(int64_t k, int64_t n) { return (n + 15) / 16 * 16 * k; }

class KernelTest : public testing::Test {
protected:
  KernelTest() {
    mlir::DialectRegistry registry;
    registerKernelCompilerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &d) { messages += d.str() + "\n"; });
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  }
  mlir::Location loc() { return mlir::UnknownLoc::get(&context); }
  mlir::Type f32() { return mlir::Float32Type::get(&context); }
  mlir::AffineExpr symbol(unsigned i) { return mlir::getAffineSymbolExpr(i, &context); }
  mlir::AffineExpr number(int64_t value) { return mlir::getAffineConstantExpr(value, &context); }

  mlir::FailureOr<std::vector<char>> compile(const TargetDescription &target) {
    EXPECT_TRUE(succeeded(mlir::verify(*module))) << messages;
    KernelCompileOptions options;
    options.verifyEach = true;
    options.addMathPasses = addMathPasses;
    return compileKernelModule(*module, kernels, target, options);
  }
  // The image of all kernels, loaded; null where this machine cannot run it (the test is skipped).
  std::unique_ptr<KernelImage> load(const TargetDescription &target) {
    auto bytes = compile(target);
    if (failed(bytes)) {
      ADD_FAILURE() << messages;
      return nullptr;
    }
    auto image = std::make_unique<KernelImage>(*bytes);
    EXPECT_NE(image->module, nullptr) << image->error;
    return image->module ? std::move(image) : nullptr;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::string> kernels; // in the order of their emission
  std::string messages;
};

// The best target of this machine, or null.
inline const TargetDescription *nativeTarget() {
  llvm::Expected<const TargetDescription *> native = lookupTarget("native");
  if (native)
    return *native;
  llvm::consumeError(native.takeError());
  return nullptr;
}

// The register tiles of every target on this machine's instructions: what another target computes,
// if not how fast.
inline std::vector<TargetDescription> nativeWithEveryTile() {
  std::vector<TargetDescription> result;
  if (const TargetDescription *native = nativeTarget())
    for (const TargetDescription &target : knownTargets()) {
      result.push_back(*native);
      result.back().vectorLanes = target.vectorLanes;
      result.back().vectorRegisters = target.vectorRegisters;
      result.back().mr = target.mr;
      result.back().nr = target.nr;
    }
  return result;
}

} // namespace nx::test

#endif // NX_TEST_COMPILER_CODEGEN_CPU_KERNELTEST_H
