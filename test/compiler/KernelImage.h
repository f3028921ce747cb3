// Runs a code image inside the test process, through dlopen: the product's loader is tested
// elsewhere.
#ifndef NX_TEST_COMPILER_KERNELIMAGE_H
#define NX_TEST_COMPILER_KERNELIMAGE_H

#include "nxrt/kernel_abi.h"
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace nx::test {

class KernelImage {
public:
  explicit KernelImage(const std::vector<char> &bytes) {
    char path[] = "/tmp/nx-image-XXXXXX";
    int file = mkstemp(path);
    bool written = file >= 0 && write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size());
    if (file >= 0)
      close(file);
    handle = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (handle) {
      struct link_map *map = nullptr;
      dlinfo(handle, RTLD_DI_LINKMAP, &map);
      Elf64_Ehdr header;
      memcpy(&header, bytes.data(), sizeof header);
      auto entry = reinterpret_cast<const nxrt_kernel_module *(*)()>(map->l_addr + header.e_entry);
      module = entry();
    } else {
      error = written ? dlerror() : "cannot write the image";
    }
    if (file >= 0)
      unlink(path);
  }
  ~KernelImage() {
    if (handle)
      dlclose(handle);
  }
  KernelImage(const KernelImage &) = delete;
  KernelImage &operator=(const KernelImage &) = delete;

  const nxrt_kernel_module *module = nullptr; // null when the image could not be loaded
  std::string error;

  // Runs all tiles of kernel `index`, in ranges of `step` tiles (0: one range).
  int32_t run(unsigned index, const std::vector<void *> &operands, const std::vector<int64_t> &dims,
              int64_t step = 0) const {
    const nxrt_kernel &kernel = module->kernels[index];
    size_t bytes = static_cast<size_t>(kernel.scratch_bytes(dims.data()));
    std::unique_ptr<void, decltype(&free)> scratch(
        bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr, &free);
    nxrt_kernel_call call{operands.data(), dims.data(), scratch.get()};
    int64_t tiles = kernel.tiles(dims.data());
    for (int64_t begin = 0; begin < tiles;) {
      int64_t end = step ? std::min(tiles, begin + step) : tiles;
      if (int32_t status = kernel.run(&call, begin, end))
        return status;
      begin = end;
    }
    return 0;
  }

private:
  void *handle = nullptr;
};

} // namespace nx::test

#endif // NX_TEST_COMPILER_KERNELIMAGE_H
