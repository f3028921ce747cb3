// Prints docs/runtime-environment.md from the runtime's table of environment variables.
#include "runtime/platform/environment.h"

#include <cstdio>

int main() {
  std::puts("# Environment variables of the runtime\n\n"
            "Written from the table in `runtime/platform/environment.cpp` by the build target\n"
            "`update-runtime-docs`; a test compares the two. `nxrt_init` reads all of them once. "
            "Fields of\n"
            "`nxrt_config` that are set win over the environment. A value that is not allowed is "
            "an error\n"
            "that names the variable.\n\n"
            "| variable | values | default | meaning |\n"
            "|---|---|---|---|");
  for (const nxrt::VariableInfo &info : nxrt::environmentTable())
    std::printf("| `%s` | %s | %s | %s |\n", info.name, info.values, info.defaultValue,
                info.meaning);
  return 0;
}
