// Memory straight from the operating system: page-aligned, zeroed, given back at once.
#ifndef NXRT_PLATFORM_PAGES_H
#define NXRT_PLATFORM_PAGES_H

#include "runtime/platform/status.h"

#include <cstddef>
#include <span>
#include <utility>

namespace nxrt {

/// Owns a range of pages.
class Pages {
public:
  Pages() = default;
  Pages(Pages &&other) noexcept
      : base(std::exchange(other.base, nullptr)), length(std::exchange(other.length, 0)) {}
  Pages &operator=(Pages &&other) noexcept;
  ~Pages() { release(); }

  /// Replaces the range by `bytes` zeroed bytes; asks for huge pages where they help.
  Status allocate(size_t bytes);
  /// Replaces the range by a read-only private map of a whole open file.
  Status mapFile(int descriptor, size_t bytes);
  void release();

  std::byte *data() const { return base; }
  size_t size() const { return length; }

private:
  std::byte *base = nullptr;
  size_t length = 0;
};

/// a + b and a * b; false when the result does not fit.
inline bool addChecked(uint64_t a, uint64_t b, uint64_t &sum) {
  return !__builtin_add_overflow(a, b, &sum);
}
inline bool multiplyChecked(uint64_t a, uint64_t b, uint64_t &product) {
  return !__builtin_mul_overflow(a, b, &product);
}

} // namespace nxrt

#endif // NXRT_PLATFORM_PAGES_H
