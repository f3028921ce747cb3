#include "tools/common/Files.h"
#include "tools/common/Refusal.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nxtool {

std::vector<std::byte> readFile(const std::string &path) {
  auto refuse = [&](const std::string &why) -> Refusal {
    return Refusal("cannot read '" + path + "': " + why);
  };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw refuse(std::strerror(errno));
  struct stat status = {};
  std::string problem;
  std::vector<std::byte> bytes;
  if (::fstat(descriptor, &status) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "it is not a regular file";
  } else {
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t got = ::read(descriptor, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0) {
        problem = got < 0 ? std::strerror(errno) : "it became shorter while it was read";
        break;
      }
      done += static_cast<size_t>(got);
    }
  }
  ::close(descriptor);
  if (!problem.empty())
    throw refuse(problem);
  return bytes;
}

OutputFile::OutputFile(std::string path)
    : finalPath(std::move(path)), temporaryPath(finalPath + ".tmp-XXXXXX") {
  descriptor = ::mkostemp(temporaryPath.data(), O_CLOEXEC);
  if (descriptor < 0)
    throw Refusal("cannot write '" + finalPath + "': " + std::strerror(errno));
  // mkostemp makes private files: give this one the permissions that a plain open would.
  mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(descriptor, 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (descriptor < 0)
    return;
  ::close(descriptor);
  ::unlink(temporaryPath.c_str());
}

void OutputFile::fail(const char *action) {
  throw Refusal(std::string("cannot ") + action + " '" + finalPath + "': " + std::strerror(errno));
}

void OutputFile::write(const void *bytes, size_t size) {
  auto *at = static_cast<const char *>(bytes);
  while (size > 0) {
    ssize_t put = ::write(descriptor, at, size);
    if (put < 0) {
      if (errno == EINTR)
        continue;
      fail("write");
    }
    at += put;
    size -= static_cast<size_t>(put);
  }
}

void OutputFile::commit() {
  struct stat status = {};
  if (::stat(finalPath.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    fail("write");
  }
  if (::rename(temporaryPath.c_str(), finalPath.c_str()) != 0)
    fail("write");
  ::close(descriptor);
  descriptor = -1;
}

} // namespace nxtool
