#include "compiler/target/ImageLinker.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using llvm::SmallString;
using llvm::StringRef;

namespace nx {

static llvm::Expected<std::string> findLinker(StringRef option) {
  if (!option.empty())
    return option.str();
  if (std::optional<std::string> env = llvm::sys::Process::GetEnv("NX_LLD"); env && !env->empty())
    return *env;
  if (llvm::sys::fs::can_execute(NX_LLD_PATH))
    return NX_LLD_PATH;
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError("cannot find the linker ld.lld: looked for " NX_LLD_PATH
                                 " and in PATH; install lld 22 or set NX_LLD to its path");
}

static llvm::Error writeFile(StringRef path, llvm::ArrayRef<char> bytes) {
  std::error_code ec;
  llvm::raw_fd_ostream os(path, ec);
  if (!ec) {
    os.write(bytes.data(), bytes.size());
    os.close();
    ec = os.error();
    os.clear_error();
  }
  if (ec)
    return llvm::createStringError("cannot write " + path.str() + ": " + ec.message());
  return llvm::Error::success();
}

llvm::Expected<std::vector<char>> linkImage(llvm::ArrayRef<ObjectBytes> objects,
                                            const ObjectBytes &library,
                                            const TargetDescription &target, StringRef linker) {
  llvm::Expected<std::string> lld = findLinker(linker);
  if (!lld)
    return lld.takeError();

  SmallString<128> folder;
  if (std::error_code ec = llvm::sys::fs::createUniqueDirectory("nx-link", folder))
    return llvm::createStringError("cannot create a temporary folder: " + ec.message());
  llvm::scope_exit cleanup([&] { llvm::sys::fs::remove_directories(folder); });
  auto pathOf = [&](const llvm::Twine &name) {
    SmallString<128> path = folder;
    llvm::sys::path::append(path, name);
    return std::string(path);
  };

  std::string image = pathOf("image"), messages = pathOf("messages");
  std::vector<std::string> args = {
      *lld, "-m", target.arch == Arch::X86_64 ? "elf_x86_64" : "aarch64linux", "-shared", "-e",
      "nx_module", "--no-undefined", "-Bsymbolic", "--hash-style=sysv", "--build-id=none",
      // One page size that covers every kernel's; segments never share a page, so that the loader
      // can give each its own protection.
      "-z", "max-page-size=65536", "-z", "separate-loadable-segments", "-z", "norelro", "-z",
      "noexecstack", "-z", "text", "--pack-dyn-relocs=none", "--no-rosegment", "-o", image};
  for (auto [i, object] : llvm::enumerate(objects)) {
    args.push_back(pathOf(std::to_string(i) + ".o"));
    if (llvm::Error error = writeFile(args.back(), object))
      return error;
  }
  args.push_back("--start-lib");
  args.push_back(pathOf("library.o"));
  if (llvm::Error error = writeFile(args.back(), library))
    return error;
  args.push_back("--end-lib");

  llvm::SmallVector<StringRef> argRefs(args.begin(), args.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(messages), StringRef(messages)};
  std::string spawnError;
  int status = llvm::sys::ExecuteAndWait(*lld, argRefs, /*Env=*/std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &spawnError);
  if (status < 0)
    return llvm::createStringError("cannot run the linker " + *lld + ": " + spawnError);
  if (status != 0) {
    auto text = llvm::MemoryBuffer::getFile(messages);
    return llvm::createStringError("linking the code image failed:\n" +
                                   (text ? (*text)->getBuffer().str() : std::string()));
  }
  auto bytes = llvm::MemoryBuffer::getFile(image, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return llvm::createStringError("cannot read the linked image: " + bytes.getError().message());
  StringRef content = (*bytes)->getBuffer();
  return std::vector<char>(content.begin(), content.end());
}

} // namespace nx
