/* The contract between generated code and the runtime. Versioned: a code image states the version
 * it was built for, and the loader refuses any other.
 *
 * A code image is a closed ELF shared object (no imports, relative relocations only). Its entry
 * point is a function `const nxrt_kernel_module *(void)` that returns the table below. */
#ifndef NXRT_KERNEL_ABI_H
#define NXRT_KERNEL_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NXRT_KERNEL_ABI_VERSION 1

/* What a kernel may return. Anything but OK stops the execution with an error that names the
 * source node. */
enum {
  NXRT_KERNEL_OK = 0,
  NXRT_KERNEL_INDEX_OUT_OF_RANGE = 1, /* a gather or scatter index outside of its dimension */
  NXRT_KERNEL_DIVIDE_BY_ZERO = 2      /* an integer division or remainder by zero */
};

/* One call of a kernel, private to the calling thread. */
typedef struct nxrt_kernel_call {
  /* Base pointers: inputs first, then outputs. Aligned to 64 bytes unless the executable says that
   * the buffer is a view; then to the element. Outputs never overlap inputs. */
  void *const *operand;
  /* One slot per symbol of the kernel, in order: sizes that are known only at run time. */
  const int64_t *dim;
  /* scratch_bytes(dim) bytes for the calling thread alone, aligned to 64. Null when that is 0. */
  void *scratch;
} nxrt_kernel_call;

/* One kernel. `run` computes the tiles [tile_begin, tile_end); disjoint ranges may run at once on
 * different threads, and no range boundary changes the result: any split gives the same bits. */
typedef struct nxrt_kernel {
  int32_t (*run)(const nxrt_kernel_call *call, int64_t tile_begin, int64_t tile_end);
  int64_t (*tiles)(const int64_t *dim); /* how many tiles there are, 0 when the result is empty */
  int64_t (*scratch_bytes)(const int64_t *dim); /* scratch of one thread */
  int64_t (*grain)(const int64_t *dim); /* fewest tiles worth giving to a second thread, >= 1 */
} nxrt_kernel;

typedef struct nxrt_kernel_module {
  uint32_t abi_version; /* NXRT_KERNEL_ABI_VERSION */
  uint32_t kernel_count;
  const nxrt_kernel *kernels; /* in the order of the executable's kernel table */
} nxrt_kernel_module;

#ifdef __cplusplus
}
#endif
#endif /* NXRT_KERNEL_ABI_H */
