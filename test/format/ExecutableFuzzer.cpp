// Opens arbitrary bytes as an executable, with checksums made right so that the verifier is
// reached; what it accepts is planned for a few sizes. Nothing is executed.
#include "runtime/executor/binding.h"
#include "runtime/executor/expressions.h"
#include "runtime/executor/plan.h"
#include "runtime/loader/executable_file.h"
#include "test/runtime/support/ExecutableBuilder.h"

using namespace nxrt;

static bool dispatches(const nx::fb::Program &program) {
  if (program.commands())
    for (const nx::fb::Command *command : *program.commands())
      if (command->body_type() == nx::fb::CommandBody::Dispatch)
        return true;
  return false;
}

static void plan(const nx::fb::Executable &executable, const nx::fb::Program &program) {
  for (uint32_t i = 0; program.outputs() && i < program.outputs()->size(); ++i)
    signatureText(program, *program.outputs()->Get(i));
  if (dispatches(program))
    return; // needs code
  CodeImage none;
  ProgramContext context = {&executable, &program, &none, false};
  for (uint8_t bits : dependences(program))
    context.dependsOnRank |= (bits & DependsOnRank) != 0;
  std::vector<int64_t> symbols(program.symbols() ? program.symbols()->size() : 0);
  for (int64_t size : {0, 1, 64}) {
    for (uint32_t i = 0; i < symbols.size(); ++i)
      symbols[i] = std::max(size, program.symbols()->Get(i)->min());
    Plan made;
    Status status = makePlan(context, symbols, made);
    (void)status.ok();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto *begin = reinterpret_cast<const std::byte *>(data);
  nxtest::Bytes bytes(begin, begin + size);
  if (bytes.size() >= sizeof(NxeHeader)) {
    // Header fields that have to be exact for anything else to be looked at.
    NxeHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(header.magic, kNxeMagic, sizeof header.magic);
    header.major = kNxeMajor;
    header.totalSize = bytes.size();
    std::memcpy(bytes.data(), &header, sizeof header);
    nxtest::repairChecksums(bytes);
  }
  std::unique_ptr<ExecutableFile> file;
  if (!ExecutableFile::copy(bytes.data(), bytes.size(), ExecutableFile::Weights::Trust, file).ok())
    return 0;
  for (const nx::fb::Program *program : *file->root().programs())
    plan(file->root(), *program);
  return 0;
}
