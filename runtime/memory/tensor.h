// Tensors of the C API: shape and element type over reference-counted storage.
#ifndef NXRT_MEMORY_TENSOR_H
#define NXRT_MEMORY_TENSOR_H

#include "nxrt/nxrt.h"
#include "runtime/platform/status.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace nxrt {

/// Bytes that tensors share: owned, or the caller's.
class Storage {
public:
  /// Zeroed memory, aligned to 64.
  static Status allocate(uint64_t bytes, std::shared_ptr<Storage> &storage);
  static std::shared_ptr<Storage> attach(void *memory, uint64_t bytes);
  ~Storage();
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;

  std::byte *data() const { return memory; }
  uint64_t size() const { return bytes; }

private:
  Storage(std::byte *memory, uint64_t bytes, bool owned)
      : memory(memory), bytes(bytes), owned(owned) {}
  std::byte *memory;
  uint64_t bytes;
  bool owned;
};

/// "[2, 3]".
std::string shapeText(std::span<const int64_t> dims);

/// Checks type and shape and computes the bytes that they need.
Status tensorBytes(nxrt_dtype dtype, uint32_t rank, const int64_t *dims, uint64_t &bytes);

} // namespace nxrt

struct nxrt_tensor {
  nxrt_tensor(nxrt_dtype dtype, uint32_t rank, const int64_t *dims, uint64_t bytes);

  std::byte *data() const { return storage ? storage->data() + offset : nullptr; }
  std::span<const int64_t> shape() const { return {dims, rank}; }

  std::atomic<uint32_t> references{1};
  const nxrt_dtype dtype;
  const uint32_t rank;
  int64_t dims[NXRT_MAX_RANK] = {};
  const uint64_t bytes;
  std::shared_ptr<nxrt::Storage> storage; // null while nothing is attached
  uint64_t offset = 0;                    // in the storage
  bool attachable = false;                // made by nxrt_tensor_create_empty
};

namespace nxrt {

/// A reference to a tensor.
class TensorRef {
public:
  TensorRef() = default;
  /// Takes one more reference.
  static TensorRef share(nxrt_tensor *tensor);
  /// Takes over the caller's reference.
  static TensorRef adopt(nxrt_tensor *tensor);
  TensorRef(TensorRef &&other) noexcept : tensor(std::exchange(other.tensor, nullptr)) {}
  TensorRef &operator=(TensorRef &&other) noexcept;
  ~TensorRef();
  nxrt_tensor *get() const { return tensor; }
  nxrt_tensor *operator->() const { return tensor; }
  nxrt_tensor *take() { return std::exchange(tensor, nullptr); }

private:
  nxrt_tensor *tensor = nullptr;
};

Status makeTensor(nxrt_dtype dtype, uint32_t rank, const int64_t *dims, bool withStorage,
                  TensorRef &tensor);

} // namespace nxrt

struct nxrt_tensor_set {
  struct Entry {
    nxrt::TensorRef tensor;
    bool runtimeMade = false; // an output that an execution allocated: it may replace it
  };
  std::unordered_map<std::string, Entry> entries;
};

#endif // NXRT_MEMORY_TENSOR_H
