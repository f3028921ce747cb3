// Writes the files that the fuzzers start from: write_corpus FOLDER.
#include "test/runtime/support/ExecutableBuilder.h"

#include <cstdio>
#include <sys/stat.h>

using namespace nxtest;

static bool write(const std::string &path, const Bytes &bytes) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return false;
  bool done = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && done;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  const std::string folder = argv[1];
  for (const char *part : {"", "/executables", "/images"})
    mkdir((folder + part).c_str(), 0777);
  // Without the code, which is large and which the executable's verifier does not look into.
  ExecutableSpec rich = richSpec();
  rich.segments[0].bytes.resize(64);
  ExecutableSpec plain = richSpec();
  plain.segments.erase(plain.segments.begin());
  plain.code.clear();
  plain.kernels.clear();
  for (ParamSpec &param : plain.params)
    for (PartSpec &part : param.parts)
      --part.segment;
  plain.programs.pop_back();
  ProgramSpec &program = plain.programs[0];
  std::erase_if(program.commands, [](const CommandSpec &command) {
    return std::holds_alternative<DispatchSpec>(command.body);
  });
  program.finish();
  bool done = write(folder + "/executables/rich", rich.build()) &&
              write(folder + "/executables/plain", plain.build()) &&
              write(folder + "/images/kernels", testKernelImage());
  return done ? 0 : 1;
}
