// Files that are cut off or damaged at any place: an error that says so, never a crash.
#include "compiler/import/onnx/OnnxImporter.h"
#include "compiler/import/onnx/OnnxModel.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace nx;

namespace {

/// Writes protobuf's wire format.
struct Message {
  std::string bytes;

  Message &varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes.push_back(char(value | 0x80));
    bytes.push_back(char(value));
    return *this;
  }
  Message &integer(unsigned field, uint64_t value) { return varint(field << 3).varint(value); }
  Message &text(unsigned field, llvm::StringRef value) {
    varint(field << 3 | 2).varint(value.size());
    bytes += value;
    return *this;
  }
  Message &nested(unsigned field, const Message &message) { return text(field, message.bytes); }
};

/// A value of type float[N, 4].
Message value(llvm::StringRef name) {
  Message shape = Message().nested(1, Message().text(2, "N")).nested(1, Message().integer(1, 4));
  Message tensor = Message().integer(1, 1).nested(2, shape);
  return Message().text(1, name).nested(2, Message().nested(1, tensor));
}

/// y = Concat(MatMul(x, w), x), with w in raw_data and an attribute.
std::string smallModel() {
  Message weight = Message().integer(1, 4).integer(1, 4).integer(2, 1).text(8, "w").text(9, std::string(64, '\1'));
  Message product = Message().text(1, "x").text(1, "w").text(2, "p").text(3, "product").text(4, "MatMul");
  Message axis = Message().text(1, "axis").integer(3, 0).integer(20, 2);
  Message concat = Message().text(1, "p").text(1, "x").text(2, "y").text(4, "Concat").nested(5, axis);
  Message output = Message().text(1, "y");
  Message graph = Message().nested(1, product).nested(1, concat).text(2, "small").nested(5, weight)
                      .nested(11, value("x")).nested(12, output);
  return Message().integer(1, 8).text(2, "test").nested(7, graph).nested(8, Message().integer(2, 17)).bytes;
}

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
    return succeeded(importOnnxBytes(bytes, "/nonexistent", context, params));
  }
};

TEST_F(BrokenFiles, TheWholeModelIsRight) {
  EXPECT_TRUE(imports(smallModel())) << messages;
  EXPECT_EQ(messages, "");
}

TEST_F(BrokenFiles, CutOffAnywhere) {
  std::string model = smallModel();
  size_t refused = 0;
  for (size_t size = 0; size < model.size(); ++size)
    if (!imports(llvm::StringRef(model).take_front(size))) {
      ++refused;
      EXPECT_NE(messages, "") << "cut at byte " << size;
    }
  // Between two fields of the outermost message a prefix is a file of its own; it lacks the opset.
  EXPECT_EQ(refused, model.size());
}

TEST_F(BrokenFiles, EachBitFlipped) {
  std::string model = smallModel();
  for (size_t byte = 0; byte < model.size(); ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = model;
      damaged[byte] ^= 1 << bit;
      if (!imports(damaged)) {
        EXPECT_NE(messages, "") << "bit " << bit << " of byte " << byte;
      }
    }
}

TEST_F(BrokenFiles, SaysWhereTheFileIsWrong) {
  EXPECT_FALSE(imports(llvm::StringRef("\x3a\xff\x01", 3)));
  EXPECT_EQ(messages, "not a valid ONNX file: a field of 255 bytes does not fit into the 0 bytes that are left (is the "
                      "file truncated?) at byte 3\n");
  EXPECT_FALSE(imports(""));
  EXPECT_EQ(messages, "not an ONNX model: the file holds no graph\n");
}

TEST_F(BrokenFiles, NestedWithoutEnd) {
  Message graph = Message().text(2, "innermost");
  for (unsigned i = 0; i < 200; ++i) {
    Message branch = Message().text(1, "then_branch").nested(6, graph).integer(20, 5);
    graph = Message().nested(1, Message().text(1, "c").text(2, "y").text(4, "If").nested(5, branch));
  }
  EXPECT_FALSE(imports(Message().nested(7, graph).bytes));
  EXPECT_EQ(messages, "not a valid ONNX file: graphs are nested more than 64 deep\n");
}

TEST_F(BrokenFiles, ImpossibleSizes) {
  for (uint64_t size : {uint64_t(1) << 62, ~uint64_t(0), uint64_t(1) << 40}) {
    Message weight = Message().integer(1, size).integer(1, size).integer(2, 1).text(8, "w");
    Message product = Message().text(1, "x").text(1, "w").text(2, "y").text(4, "MatMul");
    Message graph = Message().nested(1, product).nested(5, weight).nested(11, value("x")).nested(12, Message().text(1, "y"));
    EXPECT_FALSE(imports(Message().nested(7, graph).nested(8, Message().integer(2, 17)).bytes));
    EXPECT_NE(messages.find("tensor 'w' has an impossible size"), std::string::npos) << messages;
  }
}

} // namespace
