// Writes an executable of the runtime's tests into a file, for the tests of nx-run and nx-inspect.
//
// usage: nx-sample-executable add|layers1|layers2|rich OUT.nxe
#include "test/runtime/support/ExecutableBuilder.h"

#include <cstdio>
#include <string>

int main(int argc, char **argv) {
  std::string kind = argc == 3 ? argv[1] : "";
  nxtest::ExecutableSpec spec;
  if (kind == "add")
    spec = nxtest::addSpec();
  else if (kind == "layers1" || kind == "layers2")
    spec = nxtest::twoLayerSpec(kind == "layers1" ? 1 : 2, 4, 8, 6);
  else if (kind == "rich")
    spec = nxtest::richSpec();
  else
    return std::fputs("usage: nx-sample-executable add|layers1|layers2|rich OUT.nxe\n", stderr), 2;
  nxtest::Bytes bytes = spec.build();
  std::FILE *file = std::fopen(argv[2], "wb");
  bool written = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  if (!file || std::fclose(file) != 0 || !written)
    return std::perror(argv[2]), 1;
  return 0;
}
