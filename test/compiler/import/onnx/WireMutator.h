//===- WireMutator.h - Random changes to protobuf messages ----------------===//
//
// Flipped bytes break the lengths that enclose them and are refused at once. These changes are made
// to the tree of fields instead, and written back with the lengths that fit.
//
//===----------------------------------------------------------------------===//
#ifndef NX_TEST_COMPILER_IMPORT_ONNX_WIREMUTATOR_H
#define NX_TEST_COMPILER_IMPORT_ONNX_WIREMUTATOR_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace nx::test {

class WireMutator {
public:
  /// `mutateBytes` changes the contents of a field that is no message, to at most so many bytes.
  using MutateBytes = std::function<void(std::string &bytes, size_t most)>;
  WireMutator(unsigned seed, MutateBytes mutateBytes) : random(seed), mutateBytes(std::move(mutateBytes)) {}

  /// `message` with one to three changes; unchanged when it is no message.
  std::string mutate(std::string_view message);
  /// `message` with a field taken from `other`.
  std::string cross(std::string_view message, std::string_view other);

private:
  struct Field;
  using Message = std::vector<Field>;
  /// A field where it is: its message and its position.
  struct Place {
    Message *message;
    size_t index;
  };

  static bool read(std::string_view bytes, Message &message, unsigned depth);
  static void write(const Message &message, std::string &bytes);
  static void collect(Message &message, std::vector<Place> &places);
  void change(Message &root);
  uint64_t interestingNumber(uint64_t old);
  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); }

  std::mt19937 random;
  MutateBytes mutateBytes;
};

} // namespace nx::test
#endif // NX_TEST_COMPILER_IMPORT_ONNX_WIREMUTATOR_H
