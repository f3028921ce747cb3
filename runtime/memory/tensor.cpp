#include "runtime/memory/tensor.h"

#include "runtime/platform/dtype.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace nxrt {

static constexpr uint64_t kAlign = 64;
// From this size on, zeroed pages of the system are cheaper than clearing.
static constexpr uint64_t kMapFrom = uint64_t{1} << 20;

Status Storage::allocate(uint64_t bytes, std::shared_ptr<Storage> &storage) {
  uint64_t size = std::max<uint64_t>(bytes, 1);
  void *memory = nullptr;
  if (bytes >= kMapFrom) {
    if (bytes <= PTRDIFF_MAX)
      memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      memory = nullptr;
  } else if (posix_memalign(&memory, kAlign, size) != 0) {
    memory = nullptr;
  } else {
    std::memset(memory, 0, size);
  }
  if (!memory)
    return makeError(NXRT_OUT_OF_MEMORY,
                     "no memory for a tensor of %llu bytes. Use smaller tensors or free memory on "
                     "the machine.",
                     static_cast<unsigned long long>(bytes));
  storage.reset(new Storage(static_cast<std::byte *>(memory), bytes, /*owned=*/true));
  return {};
}

std::shared_ptr<Storage> Storage::attach(void *memory, uint64_t bytes) {
  return std::shared_ptr<Storage>(
      new Storage(static_cast<std::byte *>(memory), bytes, /*owned=*/false));
}

Storage::~Storage() {
  if (!owned)
    return;
  if (bytes >= kMapFrom)
    munmap(memory, bytes);
  else
    std::free(memory);
}

std::string shapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

Status tensorBytes(nxrt_dtype dtype, uint32_t rank, const int64_t *dims, uint64_t &bytes) {
  if (!isDType(dtype))
    return makeError(NXRT_INVALID_ARGUMENT, "%d is not an element type (nxrt_dtype).",
                     static_cast<int>(dtype));
  if (rank > NXRT_MAX_RANK)
    return makeError(NXRT_INVALID_ARGUMENT, "a tensor of rank %u was asked for; the limit is %d.",
                     rank, NXRT_MAX_RANK);
  if (rank > 0 && !dims)
    return makeError(NXRT_INVALID_ARGUMENT, "a tensor of rank %u needs its dimensions.", rank);
  uint64_t count = 1;
  bool fits = true;
  for (uint32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return makeError(NXRT_INVALID_ARGUMENT,
                       "dimension %u of a tensor is %lld; it must not be "
                       "negative.",
                       i, static_cast<long long>(dims[i]));
    fits &= !__builtin_mul_overflow(count, static_cast<uint64_t>(dims[i]), &count);
  }
  if (!fits || !dtypeBytes(dtype, count, bytes) || bytes > PTRDIFF_MAX)
    return makeError(NXRT_OUT_OF_RANGE,
                     "a tensor of shape %s and type %s is larger than memory can be.",
                     shapeText({dims, rank}).c_str(), dtypeName(dtype));
  return {};
}

TensorRef TensorRef::share(nxrt_tensor *tensor) {
  tensor->references.fetch_add(1, std::memory_order_relaxed);
  return adopt(tensor);
}

TensorRef TensorRef::adopt(nxrt_tensor *tensor) {
  TensorRef reference;
  reference.tensor = tensor;
  return reference;
}

TensorRef &TensorRef::operator=(TensorRef &&other) noexcept {
  std::swap(tensor, other.tensor);
  return *this;
}

TensorRef::~TensorRef() {
  if (tensor && tensor->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete tensor;
}

Status makeTensor(nxrt_dtype dtype, uint32_t rank, const int64_t *dims, bool withStorage,
                  TensorRef &tensor) {
  uint64_t bytes = 0;
  NXRT_TRY(tensorBytes(dtype, rank, dims, bytes));
  std::shared_ptr<Storage> storage;
  if (withStorage)
    NXRT_TRY(Storage::allocate(bytes, storage));
  tensor = TensorRef::adopt(new nxrt_tensor(dtype, rank, dims, bytes));
  tensor->storage = std::move(storage);
  tensor->attachable = !withStorage;
  return {};
}

} // namespace nxrt

nxrt_tensor::nxrt_tensor(nxrt_dtype dtype, uint32_t rank, const int64_t *dims, uint64_t bytes)
    : dtype(dtype), rank(rank), bytes(bytes) {
  std::copy_n(dims, rank, this->dims);
}
