// Whole files in and out. An output appears complete under its name or not at all.
#ifndef NX_TOOLS_COMMON_FILES_H
#define NX_TOOLS_COMMON_FILES_H

#include <cstddef>
#include <string>
#include <vector>

namespace nxtool {

/// The bytes of a file; throws Refusal with the cause.
std::vector<std::byte> readFile(const std::string &path);

/// A file being written under a temporary name in the same folder. commit() gives it its name;
/// destruction without commit() removes it. Every failure throws Refusal.
class OutputFile {
public:
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;
  ~OutputFile();

  void write(const void *bytes, size_t size);
  void commit();

private:
  [[noreturn]] void fail(const char *action);

  std::string finalPath;
  std::string temporaryPath;
  int descriptor = -1;
};

} // namespace nxtool

#endif // NX_TOOLS_COMMON_FILES_H
