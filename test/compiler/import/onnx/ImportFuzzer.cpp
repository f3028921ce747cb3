// Any bytes as a model: a module or an error that says why, never a crash, a hang or a blow-up.
#include "compiler/import/onnx/OnnxImporter.h"
#include "dialects/nx/transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "test/compiler/import/onnx/WireMutator.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace mlir;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// LLVM's allocators poison what they have not handed out when a header of theirs is compiled with
/// the sanitizer; its libraries, which are not, allocate from the same memory without a word.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0"; }

/// Types and attributes live as long as their context: a new one now and then bounds them.
static constexpr unsigned kRunsPerContext = 200;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<MLIRContext> context;
  static unsigned runs = 0;
  if (runs++ % kRunsPerContext == 0)
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  bool said = false;
  ScopedDiagnosticHandler quiet(context.get(), [&](Diagnostic &diagnostic) {
    said |= diagnostic.getSeverity() == DiagnosticSeverity::Error && !diagnostic.str().empty();
    return success();
  });
  nx::ParamCatalog params;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  // External data is looked for where there is none.
  auto module = nx::importOnnxBytes(bytes, "/nonexistent", *context, params);
  bool imported = succeeded(module);
  if (imported) {
    PassManager passes(context.get());
    passes.addPass(nx::createNxCheckSupported());
    imported = succeeded(passes.run(**module));
  }
  if (!imported && !said) {
    fputs("refused without a word\n", stderr);
    abort();
  }
  return 0;
}

static size_t copyOut(const std::string &bytes, uint8_t *data, size_t size, size_t maxSize) {
  if (bytes.size() > maxSize)
    return size;
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

static nx::test::WireMutator mutator(unsigned seed) {
  return nx::test::WireMutator(seed, [](std::string &bytes, size_t most) {
    size_t size = bytes.size();
    bytes.resize(most);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(bytes.data()), size, most));
  });
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  if (size == 0 || seed % 16 == 0) // broken files too
    return LLVMFuzzerMutate(data, size, maxSize);
  return copyOut(mutator(seed).mutate({reinterpret_cast<char *>(data), size}), data, size, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2,
                                            uint8_t *out, size_t maxSize, unsigned seed) {
  std::string crossed = mutator(seed).cross({reinterpret_cast<const char *>(data1), size1},
                                            {reinterpret_cast<const char *>(data2), size2});
  return copyOut(crossed, out, 0, maxSize);
}
