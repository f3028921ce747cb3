// Writes the tests' executables for programs that are not in C++: write_executables FOLDER.
#include "test/runtime/support/ExecutableBuilder.h"

#include <cstdio>

using namespace nxtest;

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  const std::pair<const char *, ExecutableSpec> specs[] = {
      {"rich", richSpec()}, {"add", addSpec()}, {"two_layers_tp2", twoLayerSpec(2, 64, 128, 32)}};
  for (const auto &[name, spec] : specs) {
    Bytes bytes = spec.build();
    std::string path = std::string(argv[1]) + "/" + name + ".nxe";
    std::FILE *file = std::fopen(path.c_str(), "wb");
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        std::fclose(file) != 0) {
      std::perror(path.c_str());
      return 1;
    }
  }
  return 0;
}
