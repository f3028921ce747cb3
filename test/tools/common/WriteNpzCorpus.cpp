// Writes archives from which the fuzzing of the .npz reader starts: WriteNpzCorpus FOLDER
#include "tools/common/Files.h"
#include "tools/common/Npz.h"
#include "tools/common/Refusal.h"

#include <cstdio>
#include <filesystem>

using namespace nxtool;

namespace {

Array array(char kind, uint32_t itemSize, std::vector<int64_t> shape) {
  Array result = {kind, itemSize, std::move(shape), {}};
  result.data.resize(result.count() * itemSize, std::byte(3));
  return result;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return std::fputs("usage: WriteNpzCorpus FOLDER\n", stderr), 2;
  try {
    std::filesystem::path folder(argv[1]);
    std::filesystem::create_directories(folder);
    writeNpz(folder / "empty", {});
    writeNpz(folder / "one", {{"x", array('f', 4, {2, 3})}});
    writeNpz(folder / "several", {{"a", array('i', 8, {})}, {"b/c", array('V', 2, {0, 5})}, {"d", array('b', 1, {7})}});
    // The same array bare, with the byte in front that sends it to the array parser.
    Array bare = array('u', 2, {4});
    OutputFile file(folder / "bare");
    std::string header = "\1" + npyHeader(bare);
    file.write(header.data(), header.size());
    file.write(bare.data.data(), bare.data.size());
    file.commit();
  } catch (const Refusal &refusal) {
    return std::fprintf(stderr, "%s\n", refusal.what()), 1;
  }
}
