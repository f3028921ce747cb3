/* Kernels for the runtime's tests, as the compiler would make them: a closed image, no imports. */
#include "nxrt/kernel_abi.h"

typedef nxrt_kernel_call Call;

static int64_t one(const int64_t *dim) {
  (void)dim;
  return 1;
}
static int64_t none(const int64_t *dim) {
  (void)dim;
  return 0;
}
static int64_t firstDim(const int64_t *dim) { return dim[0]; }

/* add(a, b, out)[n]: out = a + b, 256 elements a tile */
enum { kAddTile = 256 };
static int64_t addTiles(const int64_t *dim) { return (dim[0] + kAddTile - 1) / kAddTile; }
static int32_t addRun(const Call *call, int64_t begin, int64_t end) {
  const float *a = call->operand[0], *b = call->operand[1];
  float *out = call->operand[2];
  int64_t last = end * kAddTile < call->dim[0] ? end * kAddTile : call->dim[0];
  for (int64_t i = begin * kAddTile; i < last; ++i)
    out[i] = a[i] + b[i];
  return NXRT_KERNEL_OK;
}

/* matmul(a[M,K], b[K,N], out[M,N]); dims M, K, N; a row a tile */
static int32_t matmulRun(const Call *call, int64_t begin, int64_t end) {
  const float *a = call->operand[0], *b = call->operand[1];
  float *out = call->operand[2];
  int64_t K = call->dim[1], N = call->dim[2];
  for (int64_t m = begin; m < end; ++m)
    for (int64_t n = 0; n < N; ++n) {
      float sum = 0;
      for (int64_t k = 0; k < K; ++k)
        sum += a[m * K + k] * b[k * N + n];
      out[m * N + n] = sum;
    }
  return NXRT_KERNEL_OK;
}

/* gather(ids[n], table[rows,width], out[n,width]); dims n, rows, width */
static int32_t gatherRun(const Call *call, int64_t begin, int64_t end) {
  const int64_t *ids = call->operand[0];
  const float *table = call->operand[1];
  float *out = call->operand[2];
  int64_t rows = call->dim[1], width = call->dim[2];
  for (int64_t i = begin; i < end; ++i) {
    if (ids[i] < 0 || ids[i] >= rows)
      return NXRT_KERNEL_INDEX_OUT_OF_RANGE;
    for (int64_t j = 0; j < width; ++j)
      out[i * width + j] = table[ids[i] * width + j];
  }
  return NXRT_KERNEL_OK;
}

/* prefix(in[rows,n], out[rows,n]); dims rows, n: running sums of each row, by way of scratch */
static int64_t prefixScratch(const int64_t *dim) { return dim[1] * 4; }
static int32_t prefixRun(const Call *call, int64_t begin, int64_t end) {
  const float *in = call->operand[0];
  float *out = call->operand[1];
  float *row = call->scratch;
  int64_t n = call->dim[1];
  for (int64_t r = begin; r < end; ++r) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i)
      row[i] = sum += in[r * n + i];
    for (int64_t i = 0; i < n; ++i)
      out[r * n + i] = row[i];
  }
  return NXRT_KERNEL_OK;
}

/* nothing(out); dims tiles */
static int32_t nothingRun(const Call *call, int64_t begin, int64_t end) {
  (void)call;
  (void)begin;
  (void)end;
  return NXRT_KERNEL_OK;
}

/* constant(out[n]); dims n, value */
static int32_t constantRun(const Call *call, int64_t begin, int64_t end) {
  int64_t *out = call->operand[0];
  for (int64_t i = begin; i < end; ++i)
    out[i] = call->dim[1];
  return NXRT_KERNEL_OK;
}

/* delay(out); dims rounds: burns time on one tile */
static int32_t delayRun(const Call *call, int64_t begin, int64_t end) {
  (void)begin;
  (void)end;
  volatile int64_t count = 0;
  for (int64_t i = 0; i < call->dim[0]; ++i)
    count += i;
  return NXRT_KERNEL_OK;
}

/* divide(a[n], b[n], out[n]); dims n */
static int32_t divideRun(const Call *call, int64_t begin, int64_t end) {
  const int64_t *a = call->operand[0], *b = call->operand[1];
  int64_t *out = call->operand[2];
  for (int64_t i = begin; i < end; ++i) {
    if (b[i] == 0)
      return NXRT_KERNEL_DIVIDE_BY_ZERO;
    out[i] = a[i] / b[i];
  }
  return NXRT_KERNEL_OK;
}

/* In the order of enum TestKernel in ExecutableBuilder.h. */
static const nxrt_kernel kernels[] = {
    {addRun, addTiles, none, one},     {matmulRun, firstDim, none, one},
    {gatherRun, firstDim, none, one},  {prefixRun, firstDim, prefixScratch, one},
    {nothingRun, firstDim, none, one}, {constantRun, firstDim, none, one},
    {delayRun, one, none, one},        {divideRun, firstDim, none, one},
};
static const nxrt_kernel_module module = {NXRT_KERNEL_ABI_VERSION,
                                          sizeof kernels / sizeof kernels[0], kernels};

const nxrt_kernel_module *nx_module(void) { return &module; }
