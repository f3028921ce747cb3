#include "runtime/platform/pages.h"

#include <cerrno>
#include <sys/mman.h>

namespace nxrt {

Pages &Pages::operator=(Pages &&other) noexcept {
  if (this != &other) {
    release();
    base = std::exchange(other.base, nullptr);
    length = std::exchange(other.length, 0);
  }
  return *this;
}

void Pages::release() {
  if (base)
    munmap(base, length);
  base = nullptr;
  length = 0;
}

Status Pages::allocate(size_t bytes) {
  release();
  if (bytes == 0)
    return {};
  // Arenas and scratch are walked at random: below 2 MiB a huge page would only waste memory.
  constexpr size_t hugePage = size_t{2} << 20;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return makeError(NXRT_OUT_OF_MEMORY, "the machine has no %zu bytes of memory left: %s", bytes,
                     errnoText(errno).c_str());
  if (bytes >= hugePage)
    madvise(memory, bytes, MADV_HUGEPAGE);
  base = static_cast<std::byte *>(memory);
  length = bytes;
  return {};
}

Status Pages::mapFile(int descriptor, size_t bytes) {
  release();
  void *memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED)
    return makeError(NXRT_IO_ERROR, "mapping %zu bytes failed: %s", bytes,
                     errnoText(errno).c_str());
  base = static_cast<std::byte *>(memory);
  length = bytes;
  return {};
}

} // namespace nxrt
