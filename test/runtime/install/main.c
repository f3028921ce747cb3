/* A user's program: loads an executable and prints what it is. */
#include <nxrt/nxrt.h>
#include <stdio.h>

int main(int argc, char **argv) {
  NXRT_STRUCT(nxrt_config, config);
  config.num_cores = 2;
  nxrt_model *model = NULL;
  NXRT_STRUCT(nxrt_model_info, info);
  if (argc != 2 || nxrt_init(&config) != NXRT_OK || nxrt_load(argv[1], NULL, &model) != NXRT_OK ||
      nxrt_get_model_info(model, &info) != NXRT_OK) {
    fprintf(stderr, "%s\n", nxrt_last_error());
    return 1;
  }
  printf("%s: %u ranks, %u kernels for %s\n", info.model_name, (unsigned)info.tp_degree,
         (unsigned)info.kernel_count, info.target_cpu);
  nxrt_unload(model);
  nxrt_close();
  return 0;
}
