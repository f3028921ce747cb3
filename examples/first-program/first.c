/* A first program: loads an executable, runs it on zeros and prints its outputs.
 *
 * usage: first-c MODEL.nxe */
#include <nxrt/nxrt.h>

#include <stdio.h>
#include <stdlib.h>

/* Every call returns a status; the library has the sentence that goes with it. */
static void check(nxrt_status status) {
  if (status == NXRT_OK)
    return;
  fprintf(stderr, "%s: %s\n", nxrt_status_string(status), nxrt_last_error());
  exit(1);
}

static void print_tensor(const char *name, const nxrt_tensor *tensor) {
  NXRT_STRUCT(nxrt_tensor_info, info);
  check(nxrt_tensor_get_info(tensor, &info));
  printf("%s: %s[", name, nxrt_dtype_name(info.dtype));
  for (uint32_t d = 0; d < info.rank; ++d)
    printf(d ? ", %lld" : "%lld", (long long)info.dims[d]);
  printf("]");
  if (info.dtype == NXRT_DTYPE_F32) {
    const float *values = info.data;
    for (uint64_t i = 0; i < info.bytes / sizeof(float) && i < 4; ++i)
      printf(" %g", values[i]);
  }
  printf("\n");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: first-c MODEL.nxe\n");
    return 2;
  }
  check(nxrt_init(NULL));
  nxrt_model *model = NULL;
  check(nxrt_load(argv[1], NULL, &model));
  NXRT_STRUCT(nxrt_entry_info, entry);
  check(nxrt_get_entry_info(model, 0, &entry));

  /* A set holds tensors by the model's names and keeps them: our own references can go at once. */
  nxrt_tensor_set *inputs = NULL, *outputs = NULL;
  check(nxrt_tensor_set_create(&inputs));
  check(nxrt_tensor_set_create(&outputs));
  for (uint32_t i = 0; i < entry.input_count; ++i) {
    NXRT_STRUCT(nxrt_io_info, port);
    check(nxrt_get_input_info(model, NULL, i, &port));
    for (uint32_t d = 0; d < port.rank; ++d)
      if (port.dims[d] < 0) /* a size that is chosen at run time */
        port.dims[d] = 8;
    nxrt_tensor *tensor = NULL;
    check(nxrt_tensor_allocate(port.dtype, port.rank, port.dims, &tensor));
    check(nxrt_tensor_set_add(inputs, port.name, tensor));
    nxrt_tensor_free(tensor);
  }

  /* The runtime allocates the outputs that the set lacks, and reuses them the next time. */
  check(nxrt_execute(model, NULL, inputs, outputs));
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    NXRT_STRUCT(nxrt_io_info, port);
    check(nxrt_get_output_info(model, NULL, i, &port));
    nxrt_tensor *tensor = NULL;
    check(nxrt_tensor_set_get(outputs, port.name, &tensor));
    print_tensor(port.name, tensor);
  }

  nxrt_tensor_set_free(inputs);
  nxrt_tensor_set_free(outputs);
  check(nxrt_unload(model));
  check(nxrt_close());
  return 0;
}
