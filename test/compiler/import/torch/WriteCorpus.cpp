// Writes the files that the fuzzer starts from: a right archive and its program.
#include "TestArchive.h"
#include <fstream>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::string folder = argv[1];
  std::ofstream(folder + "/archive.pt2", std::ios::binary) << nx::test::archiveOf(nx::test::kProgram);
  std::ofstream(folder + "/program.json", std::ios::binary) << nx::test::kProgram.str();
  return 0;
}
