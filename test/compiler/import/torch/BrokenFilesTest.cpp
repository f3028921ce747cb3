// Archives that are cut off or damaged at any place: an error that says so, never a crash.
#include "TestArchive.h"
#include "compiler/import/torch/TorchImporter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nx;
using namespace nx::test;

namespace {

class BrokenFiles : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string messages;
  ScopedDiagnosticHandler handler{&context, [this](Diagnostic &diagnostic) {
                                    messages += diagnostic.str() + "\n";
                                    return success();
                                  }};

  bool imports(llvm::StringRef bytes) {
    messages.clear();
    ParamCatalog params;
    return succeeded(torch::importTorchBytes(bytes, context, params));
  }
};

TEST_F(BrokenFiles, TheWholeArchiveIsRight) {
  EXPECT_TRUE(imports(archiveOf(kProgram))) << messages;
  EXPECT_EQ(messages, "");
}

TEST_F(BrokenFiles, CutOffAnywhere) {
  std::string archive = archiveOf(kProgram);
  for (size_t size = 0; size < archive.size(); ++size) {
    EXPECT_FALSE(imports(llvm::StringRef(archive).take_front(size))) << size << " bytes";
    EXPECT_NE(messages, "") << size << " bytes";
  }
}

TEST_F(BrokenFiles, AnyByteOfTheArchiveIsDamaged) {
  std::string whole = archiveOf(kProgram);
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x41);
    if (!imports(damaged)) {
      ++refused;
      EXPECT_NE(messages, "") << "byte " << at;
    }
  }
  // Dates and attributes of entries mean nothing; all contents have checksums.
  EXPECT_GT(refused, whole.size() * 9 / 10);
}

TEST_F(BrokenFiles, AnyByteOfTheProgramIsDamaged) {
  // With right checksums: what is read is wrong.
  for (size_t at = 0; at < kProgram.size(); ++at)
    for (char c : {'0', '"', '}', '-', 'x'}) {
      std::string program = kProgram.str();
      program[at] = c;
      if (!imports(archiveOf(program)))
        EXPECT_NE(messages, "") << "byte " << at << " as " << c;
    }
}

TEST_F(BrokenFiles, ListsAreEmptyAndMembersMissing) {
  // Every list as an empty one, every object as an empty one.
  for (size_t at = 0; at < kProgram.size(); ++at) {
    char close = kProgram[at] == '[' ? ']' : kProgram[at] == '{' ? '}' : 0;
    if (!close)
      continue;
    size_t end = at, depth = 0;
    do {
      depth += kProgram[end] == kProgram[at];
      depth -= kProgram[end] == close;
      ++end;
    } while (depth && end < kProgram.size());
    std::string program = kProgram.substr(0, at + 1).str() + close + kProgram.substr(end).str();
    if (!imports(archiveOf(program)))
      EXPECT_NE(messages, "") << "list at byte " << at;
  }
}

TEST_F(BrokenFiles, NestedWithoutEnd) {
  EXPECT_FALSE(imports(archiveOf(std::string(1 << 20, '['))));
  EXPECT_NE(messages.find("not JSON"), std::string::npos) << messages;
}

} // namespace
