/* Checks the kernels of an nx-kernel-bench image against double precision: image_check IMAGE.
 * Plain C and the C library only, so that it also runs for other architectures, under an emulator.
 */
#define _GNU_SOURCE
#include "nxrt/kernel_abi.h"
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *array(size_t count, unsigned seed) {
  float *values = aligned_alloc(64, (count * sizeof(float) / 64 + 1) * 64);
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) / (1 << 23) - 1;
  }
  return values;
}

/* Runs all tiles, three at a time. */
static void run(const nxrt_kernel *kernel, void *const *operands, const int64_t *dims) {
  int64_t tiles = kernel->tiles(dims), bytes = kernel->scratch_bytes(dims);
  void *scratch = aligned_alloc(64, (bytes / 64 + 1) * 64);
  nxrt_kernel_call call = {operands, dims, scratch};
  for (int64_t begin = 0; begin < tiles; begin += 3)
    if (kernel->run(&call, begin, begin + 3 < tiles ? begin + 3 : tiles))
      exit(3);
  free(scratch);
}

static double worst; /* of the current kernel */
static void compare(float got, double want, double magnitude) {
  double error = fabs(got - want) / magnitude;
  if (!(error <= worst))
    worst = error;
}

static void contract(const nxrt_kernel *kernel, int64_t m, int64_t n, int64_t k) {
  float *a = array(m * k, 1), *b = array((n + 15) / 16 * 16 * k, 2), *c = array(m * n, 3);
  void *operands[] = {a, b, c};
  run(kernel, operands, &m);
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double want = 0;
      for (int64_t p = 0; p < k; p++)
        want += (double)a[i * k + p] * b[(j / 16 * k + p) * 16 + j % 16];
      compare(c[i * n + j], want, sqrt((double)k));
    }
  free(a), free(b), free(c);
}

static void matmul(const nxrt_kernel *kernel, int64_t heads, int64_t m, int64_t n, int64_t k,
                   int transposed, const int64_t *dims) {
  float *a = array(heads * m * k, 1), *b = array(heads * k * n, 2), *c = array(heads * m * n, 3);
  void *operands[] = {a, b, c};
  run(kernel, operands, dims);
  for (int64_t h = 0; h < heads; h++)
    for (int64_t i = 0; i < m; i++)
      for (int64_t j = 0; j < n; j++) {
        double want = 0;
        for (int64_t p = 0; p < k; p++)
          want += (double)a[(h * m + i) * k + p] *
                  (transposed ? b[(h * n + j) * k + p] : b[(h * k + p) * n + j]);
        compare(c[(h * m + i) * n + j], want, sqrt((double)k));
      }
  free(a), free(b), free(c);
}

static void attention(const nxrt_kernel *kernel, int64_t heads, int64_t depth, int merged,
                      int causal, int64_t s, int64_t t) {
  int64_t dims[] = {s, t};
  float *q = array(heads * s * depth, 1), *k = array(heads * t * depth, 2),
        *v = array(heads * t * depth, 3), *out = array(heads * s * depth, 4);
  double *weight = malloc(t * sizeof(double));
  void *operands[] = {q, k, v, out};
  run(kernel, operands, dims);
#define AT(row, rows) ((merged ? (row) * heads + h : h * (rows) + (row)) * depth)
  for (int64_t h = 0; h < heads; h++)
    for (int64_t i = 0; i < s; i++) {
      double total = 0;
      for (int64_t j = 0; j < t; j++) {
        double score = 0;
        for (int64_t d = 0; d < depth; d++)
          score += (double)q[AT(i, s) + d] * k[AT(j, t) + d];
        weight[j] = causal && j > i + t - s ? 0 : exp(score / sqrt((double)depth));
        total += weight[j];
      }
      for (int64_t d = 0; d < depth; d++) {
        double want = 0;
        for (int64_t j = 0; j < t; j++)
          want += weight[j] / (total ? total : 1) * v[AT(j, t) + d];
        compare(out[AT(i, s) + d], want, 1);
      }
    }
  free(q), free(k), free(v), free(out), free(weight);
}

int main(int argc, char **argv) {
  char names[4096], name[256];
  snprintf(names, sizeof names, "%s.kernels", argc > 1 ? argv[1] : "");
  FILE *list = fopen(names, "r"), *image = list ? fopen(argv[1], "rb") : NULL;
  void *handle = image ? dlopen(argv[1], RTLD_NOW) : NULL;
  Elf64_Ehdr header;
  struct link_map *map;
  if (!handle || fread(&header, sizeof header, 1, image) != 1 ||
      dlinfo(handle, RTLD_DI_LINKMAP, &map)) {
    fprintf(stderr, "usage: image_check IMAGE (%s)\n", handle ? "" : dlerror());
    return 2;
  }
  fclose(image);
  const nxrt_kernel_module *module =
      ((const nxrt_kernel_module *(*)(void))(map->l_addr + header.e_entry))();
  int failed = module->abi_version != NXRT_KERNEL_ABI_VERSION;
  const nxrt_kernel *kernel = module->kernels;
  for (; fscanf(list, "%255s", name) == 1; kernel++) {
    long long m, n, k;
    worst = 0;
    int merged = strstr(name, "merged") != NULL, causal = strstr(name, "causal") != NULL;
    if (sscanf(name, "contract_m_%lld_%lld", &n, &k) == 2) {
      for (m = 1; m <= 200 && m * n * k < 6000000; m += m < 18 ? 1 : 37)
        contract(kernel, m, n, k);
    } else if (sscanf(name, "contract_%lld_%lld_%lld", &m, &n, &k) == 3) {
      if (m * n * k < 80000000)
        contract(kernel, m, n, k);
    } else if (strncmp(name, "attention", 9) == 0) {
      const char *sizes = name + 9 + (merged ? 7 : 0) + (causal ? 7 : 0);
      if (sscanf(sizes, "_%lld_%lld", &m, &n) != 2)
        return 2;
      for (int64_t s = 1; s < 100; s = s * 3 + 1)
        for (int64_t t = 1; t < 200; t = t * 4 + 3)
          attention(kernel, m, n, merged, causal, s, t);
    } else if (sscanf(name, "matmul_%*2s_%lld_%lld", &m, &n) == 2) {
      int transposed = strstr(name, "qk") != NULL;
      for (int64_t s = 1; s < 40; s = s * 3 + 1)
        for (int64_t t = 1; t < 90; t = t * 4 + 3) {
          int64_t dims[] = {s, t};
          matmul(kernel, m, s, transposed ? t : n, transposed ? n : t, transposed, dims);
        }
    } else {
      continue;
    }
    printf("%-28s largest error %.2g\n", name, worst);
    failed |= !(worst < 3e-6);
  }
  fclose(list);
  return failed;
}
