/* The C API from plain C, against the shared library: what a program in another language sees. */
#include "nxrt/nxrt.h"

#include <stdio.h>
#include <stdlib.h>

static int failures = 0;

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, nxrt_last_error());                \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

static void testBeforeInit(void) {
  NXRT_STRUCT(nxrt_version_info, version);
  CHECK(nxrt_get_version(&version) == NXRT_OK);
  CHECK(version.major == NXRT_VERSION_MAJOR && version.minor == NXRT_VERSION_MINOR);
  CHECK(version.format_major == 1 && version.kernel_abi == 1);
  CHECK(strstr(version.text, "libnxrt") != NULL);
  uint32_t count = 0;
  CHECK(nxrt_get_total_core_count(&count) == NXRT_OK && count >= 1);
  CHECK(nxrt_get_visible_core_count(&count) == NXRT_NOT_INITIALIZED);
  nxrt_model *model = NULL;
  CHECK(nxrt_load("x.nxe", NULL, &model) == NXRT_NOT_INITIALIZED && model == NULL);
  CHECK(nxrt_close() == NXRT_NOT_INITIALIZED);
  CHECK(strcmp(nxrt_status_string(NXRT_TIMEOUT), "NXRT_TIMEOUT") == 0);
  CHECK(strcmp(nxrt_status_string((nxrt_status)999), "unknown status") == 0);
  CHECK(strcmp(nxrt_dtype_name(NXRT_DTYPE_BF16), "bf16") == 0);
  CHECK(nxrt_dtype_bits(NXRT_DTYPE_I4) == 4 && nxrt_dtype_bits((nxrt_dtype)77) == 0);
}

static void testStructSizes(void) {
  /* A program that was compiled with an older, shorter struct. */
  nxrt_version_info version;
  memset(&version, 0x55, sizeof version);
  version.struct_size = 8;
  CHECK(nxrt_get_version(&version) == NXRT_OK);
  CHECK(version.major == NXRT_VERSION_MAJOR && version.minor == 0x55555555u);
  version.struct_size = 0;
  CHECK(nxrt_get_version(&version) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_get_version(NULL) == NXRT_INVALID_ARGUMENT);
  /* One with a newer struct: unknown fields must be zero. */
  struct {
    nxrt_config known;
    uint64_t future;
  } config;
  memset(&config, 0, sizeof config);
  config.known.struct_size = sizeof config;
  config.future = 1;
  CHECK(nxrt_init(&config.known) == NXRT_UNSUPPORTED);
  config.future = 0;
  CHECK(nxrt_init(&config.known) == NXRT_OK);
  CHECK(nxrt_init(NULL) == NXRT_ALREADY_INITIALIZED);
  CHECK(nxrt_close() == NXRT_OK);
}

static void testTensors(void) {
  const int64_t dims[] = {4, 6};
  nxrt_tensor *tensor = NULL, *slice = NULL, *other = NULL;
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_F32, 2, dims, &tensor) == NXRT_OK);
  NXRT_STRUCT(nxrt_tensor_info, info);
  CHECK(nxrt_tensor_get_info(tensor, &info) == NXRT_OK);
  CHECK(info.dtype == NXRT_DTYPE_F32 && info.rank == 2 && info.dims[1] == 6 && info.bytes == 96);
  CHECK(((uintptr_t)info.data & 63) == 0);
  void *data = NULL;
  CHECK(nxrt_tensor_data(tensor, &data) == NXRT_OK && data == info.data);
  for (int i = 0; i < 24; ++i)
    CHECK(((float *)data)[i] == 0);
  float values[6] = {1, 2, 3, 4, 5, 6}, back[6] = {0};
  CHECK(nxrt_tensor_write(tensor, 48, values, sizeof values) == NXRT_OK);
  CHECK(nxrt_tensor_write(tensor, 76, values, sizeof values) == NXRT_OUT_OF_RANGE);
  CHECK(nxrt_tensor_write(tensor, UINT64_MAX, values, 8) == NXRT_OUT_OF_RANGE);

  const int64_t row[] = {6};
  CHECK(nxrt_tensor_slice(tensor, 48, NXRT_DTYPE_F32, 1, row, &slice) == NXRT_OK);
  CHECK(nxrt_tensor_slice(tensor, 80, NXRT_DTYPE_F32, 1, row, &other) == NXRT_OUT_OF_RANGE);
  CHECK(nxrt_tensor_slice(tensor, 50, NXRT_DTYPE_F32, 1, row, &other) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_attach(slice, values, sizeof values) == NXRT_INVALID_ARGUMENT);
  nxrt_tensor_free(tensor); /* the slice keeps the storage */
  CHECK(nxrt_tensor_read(slice, 0, back, sizeof back) == NXRT_OK);
  CHECK(memcmp(values, back, sizeof back) == 0);

  CHECK(nxrt_tensor_create_empty(NXRT_DTYPE_F32, 1, row, &other) == NXRT_OK);
  CHECK(nxrt_tensor_data(other, &data) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_read(other, 0, back, 4) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_attach(other, back, sizeof back - 1) == NXRT_OUT_OF_RANGE);
  memset(back, 0, sizeof back);
  CHECK(nxrt_tensor_attach(other, back, sizeof back) == NXRT_OK);
  CHECK(nxrt_tensor_copy(slice, 4, other, 0, 8) == NXRT_OK);
  CHECK(back[0] == 2 && back[1] == 3);
  CHECK(nxrt_tensor_copy(slice, 4, other, 20, 8) == NXRT_OUT_OF_RANGE);
  nxrt_tensor_free(other);

  const int64_t huge[] = {INT64_MAX, 3}, negative[] = {-1}, odd[] = {3};
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_F32, 2, huge, &other) == NXRT_OUT_OF_RANGE);
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_F32, 1, negative, &other) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_allocate((nxrt_dtype)99, 1, odd, &other) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_F32, 17, huge, &other) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_F32, 1, NULL, &other) == NXRT_INVALID_ARGUMENT);
  const int64_t petabytes[] = {(int64_t)1 << 52};
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_F32, 1, petabytes, &other) == NXRT_OUT_OF_MEMORY);
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_I4, 1, odd, &other) == NXRT_OK);
  CHECK(nxrt_tensor_get_info(other, &info) == NXRT_OK && info.bytes == 2);
  nxrt_tensor_free(other);
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_BOOL, 0, NULL, &other) == NXRT_OK);
  CHECK(nxrt_tensor_get_info(other, &info) == NXRT_OK && info.bytes == 1 && info.rank == 0);

  nxrt_tensor_set *set = NULL;
  uint32_t count = 9;
  nxrt_tensor *found = NULL;
  CHECK(nxrt_tensor_set_create(&set) == NXRT_OK);
  CHECK(nxrt_tensor_set_add(set, "a", slice) == NXRT_OK);
  CHECK(nxrt_tensor_set_add(set, "b", other) == NXRT_OK);
  CHECK(nxrt_tensor_set_add(set, "a", other) == NXRT_OK);
  CHECK(nxrt_tensor_set_size(set, &count) == NXRT_OK && count == 2);
  CHECK(nxrt_tensor_set_get(set, "a", &found) == NXRT_OK && found == other);
  CHECK(nxrt_tensor_set_get(set, "c", &found) == NXRT_NOT_FOUND);
  CHECK(nxrt_tensor_set_remove(set, "a") == NXRT_OK);
  CHECK(nxrt_tensor_set_remove(set, "a") == NXRT_NOT_FOUND);
  CHECK(nxrt_tensor_set_add(set, NULL, other) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_tensor_retain(other) == NXRT_OK);
  nxrt_tensor_free(other);
  nxrt_tensor_set_free(set);
  nxrt_tensor_free(other); /* the last one */
  nxrt_tensor_free(slice);
  nxrt_tensor_free(NULL);
  nxrt_tensor_set_free(NULL);
}

static void testModel(const char *path) {
  NXRT_STRUCT(nxrt_config, config);
  config.num_cores = 4;
  CHECK(nxrt_init(&config) == NXRT_OK);
  uint32_t count = 0;
  CHECK(nxrt_get_visible_core_count(&count) == NXRT_OK && count == 4);
  NXRT_STRUCT(nxrt_core_info, core);
  CHECK(nxrt_get_core_info(0, &core) == NXRT_OK);
  CHECK(core.owned == 1 && core.thread_count == 1 && core.cpu_count == 1 && core.cpus != NULL);
  CHECK(nxrt_get_core_info(4, &core) == NXRT_OUT_OF_RANGE);

  nxrt_model *model = NULL;
  CHECK(nxrt_load("/no/such/file.nxe", NULL, &model) == NXRT_IO_ERROR);
  CHECK(strstr(nxrt_last_error(), "/no/such/file.nxe: cannot be opened") != NULL);
  CHECK(nxrt_load("/tmp", NULL, &model) == NXRT_IO_ERROR);
  CHECK(nxrt_load("/proc/self/exe", NULL, &model) == NXRT_INVALID_FILE);
  CHECK(nxrt_load(NULL, NULL, &model) == NXRT_INVALID_ARGUMENT);
  CHECK(nxrt_load(path, NULL, NULL) == NXRT_INVALID_ARGUMENT);
  NXRT_STRUCT(nxrt_load_options, options);
  options.flags = 1u << 20;
  CHECK(nxrt_load(path, &options, &model) == NXRT_INVALID_ARGUMENT);
  options.flags = NXRT_LOAD_VERIFY_WEIGHTS;
  options.place = 1;
  options.first_core = 3;
  CHECK(nxrt_load(path, &options, &model) == NXRT_NOT_ENOUGH_CORES && model == NULL);
  options.first_core = 1;
  CHECK(nxrt_load(path, &options, &model) == NXRT_OK);
  CHECK(nxrt_close() == NXRT_IN_USE);

  NXRT_STRUCT(nxrt_model_info, info);
  CHECK(nxrt_get_model_info(model, &info) == NXRT_OK);
  CHECK(info.tp_degree == 2 && info.first_core == 1 && info.entry_count == 2);
  CHECK(strcmp(info.path, path) == 0 && strcmp(info.producer, "nxcc test") == 0);
  CHECK(strcmp(info.target_cpu, "test-cpu") == 0 && info.param_count == 1 &&
        info.param_bytes == 512);
  CHECK(info.load_ns > 0 && info.file_bytes > 0 && info.kernel_count == 8);

  NXRT_STRUCT(nxrt_entry_info, entry);
  CHECK(nxrt_get_entry_info(model, 0, &entry) == NXRT_OK);
  CHECK(strcmp(entry.name, "forward") == 0 && entry.input_count == 1 && entry.output_count == 2);
  CHECK(entry.symbol_count == 1 && entry.command_count == 7 && entry.arena_bytes == -1);
  CHECK(nxrt_get_entry_info(model, 1, &entry) == NXRT_OK && entry.arena_bytes == 512);
  CHECK(nxrt_get_entry_info(model, 2, &entry) == NXRT_OUT_OF_RANGE);

  NXRT_STRUCT(nxrt_symbol_info, symbol);
  CHECK(nxrt_get_symbol_info(model, NULL, 0, &symbol) == NXRT_OK);
  CHECK(strcmp(symbol.name, "n") == 0 && symbol.min == 1 && symbol.max == 4096);
  CHECK(nxrt_get_symbol_info(model, NULL, 1, &symbol) == NXRT_OUT_OF_RANGE);
  NXRT_STRUCT(nxrt_io_info, io);
  CHECK(nxrt_get_input_info(model, NULL, 0, &io) == NXRT_OK);
  CHECK(strcmp(io.name, "ids") == 0 && io.dtype == NXRT_DTYPE_I64 && io.rank == 1);
  CHECK(io.dims[0] == -1 && strcmp(io.dim_symbols[0], "n") == 0);
  CHECK(nxrt_get_output_info(model, "forward", 0, &io) == NXRT_OK);
  CHECK(io.dims[0] == -1 && io.dims[1] == 4 && io.dim_symbols[1] == NULL);
  CHECK(nxrt_get_output_info(model, "forward", 2, &io) == NXRT_OUT_OF_RANGE);
  CHECK(nxrt_get_input_info(model, "none", 0, &io) == NXRT_NOT_FOUND);

  const int64_t dims[] = {2};
  int64_t ids[2] = {3, 1};
  nxrt_tensor *tensor = NULL, *result = NULL;
  nxrt_tensor_set *inputs = NULL, *outputs = NULL;
  CHECK(nxrt_tensor_allocate(NXRT_DTYPE_I64, 1, dims, &tensor) == NXRT_OK);
  CHECK(nxrt_tensor_write(tensor, 0, ids, sizeof ids) == NXRT_OK);
  CHECK(nxrt_tensor_set_create(&inputs) == NXRT_OK && nxrt_tensor_set_create(&outputs) == NXRT_OK);
  CHECK(nxrt_tensor_set_add(inputs, "ids", tensor) == NXRT_OK);
  nxrt_tensor_free(tensor);
  CHECK(nxrt_execute(model, NULL, inputs, outputs) == NXRT_OK);
  CHECK(nxrt_execute(model, NULL, NULL, outputs) == NXRT_INVALID_ARGUMENT);
  float values[8] = {0};
  CHECK(nxrt_tensor_set_get(outputs, "out", &result) == NXRT_OK);
  CHECK(nxrt_tensor_read(result, 0, values, sizeof values) == NXRT_OK);
  CHECK(values[0] == 12 && values[3] == 15 && values[4] == 4 && values[7] == 7);
  CHECK(nxrt_tensor_retain(result) == NXRT_OK);
  nxrt_tensor_set_free(inputs);
  nxrt_tensor_set_free(outputs);
  CHECK(nxrt_unload(model) == NXRT_OK && nxrt_unload(NULL) == NXRT_OK);
  CHECK(nxrt_close() == NXRT_OK);
  CHECK(nxrt_tensor_read(result, 0, values, sizeof values) == NXRT_OK); /* outlives the runtime */
  nxrt_tensor_free(result);
}

static void *readAll(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = aligned_alloc(64, (*size + 127) / 64 * 64);
  if (fread(bytes, 1, *size, file) != *size)
    *size = 0;
  fclose(file);
  return bytes;
}

static void testMemory(const char *path) {
  size_t size = 0;
  char *bytes = readAll(path, &size);
  CHECK(bytes != NULL && size > 0);
  NXRT_STRUCT(nxrt_config, config);
  config.num_cores = 4;
  CHECK(nxrt_init(&config) == NXRT_OK);
  NXRT_STRUCT(nxrt_load_options, options);
  nxrt_model *model = NULL;
  options.flags = NXRT_LOAD_BORROW;
  CHECK(nxrt_load_memory(bytes, size, &options, &model) == NXRT_OK);
  CHECK(nxrt_unload(model) == NXRT_OK);
  memmove(bytes + 1, bytes, size);
  CHECK(nxrt_load_memory(bytes + 1, size, &options, &model) == NXRT_INVALID_ARGUMENT);
  options.flags = 0;
  CHECK(nxrt_load_memory(bytes + 1, size, &options, &model) == NXRT_OK);
  CHECK(nxrt_unload(model) == NXRT_OK);
  bytes[size / 2] ^= 1;
  options.flags = NXRT_LOAD_VERIFY_WEIGHTS;
  CHECK(nxrt_load_memory(bytes + 1, size, &options, &model) == NXRT_INVALID_FILE);
  CHECK(nxrt_load_memory(bytes, 0, NULL, &model) == NXRT_INVALID_FILE);
  CHECK(nxrt_close() == NXRT_OK);
  free(bytes);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    printf("usage: %s RICH.nxe\n", argv[0]);
    return 2;
  }
  setenv("NXRT_SHARE_CORES", "1", 1);
  testBeforeInit();
  testStructSizes();
  testTensors();
  testModel(argv[1]);
  testMemory(argv[1]);
  printf(failures ? "%d failed\n" : "passed\n", failures);
  return failures ? 1 : 0;
}
