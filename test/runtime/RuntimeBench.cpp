// What the runtime itself costs: executions, dispatches, collectives, loads. Minima of many runs.
#include "nxrt/nxrt.h"
#include "test/runtime/support/ExecutableBuilder.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

using namespace nxtest;

static void need(nxrt_status status) {
  if (status == NXRT_OK)
    return;
  std::fprintf(stderr, "%s: %s\n", nxrt_status_string(status), nxrt_last_error());
  std::exit(1);
}

static double nanoseconds(const std::function<void()> &work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

static double fastest(int rounds, const std::function<void()> &work) {
  double best = 1e300;
  for (int i = 0; i < rounds; ++i)
    best = std::min(best, nanoseconds(work));
  return best;
}

/// A program of `count` dispatches of a kernel that does nothing, over `tiles` tiles.
static ExecutableSpec dispatches(int count, int64_t tiles) {
  ExecutableSpec spec;
  spec.addTestKernels();
  ProgramSpec &p = spec.addProgram();
  uint32_t out = p.output("out", DType::U8, {p.constant(1)}), size = p.constant(tiles);
  for (int i = 0; i < count; ++i)
    p.dispatch(Nothing, {out}, {size});
  return spec;
}

/// A program of `count` sums of `elements` f32 over two ranks.
static ExecutableSpec allReduces(int count, int64_t elements) {
  ExecutableSpec spec;
  spec.tp = 2;
  spec.addTestKernels();
  ProgramSpec &p = spec.addProgram();
  uint32_t one = p.constant(1), size = p.constant(elements);
  uint32_t out = p.output("out", DType::F32, {size});
  p.fill(out, {0});
  CollectiveSpec sum = {CollectiveKind::AllReduce};
  sum.src = sum.dst = out;
  sum.outer = sum.inner = one;
  sum.count = size;
  for (int i = 0; i < count; ++i)
    p.collective(sum);
  return spec;
}

static double execute(const ExecutableSpec &spec, int rounds) {
  Bytes file = spec.build();
  nxrt_model *model = nullptr;
  nxrt_tensor_set *inputs = nullptr, *outputs = nullptr;
  need(nxrt_load_memory(file.data(), file.size(), nullptr, &model));
  need(nxrt_tensor_set_create(&inputs));
  need(nxrt_tensor_set_create(&outputs));
  double best = fastest(rounds, [&] { need(nxrt_execute(model, nullptr, inputs, outputs)); });
  nxrt_tensor_set_free(inputs);
  nxrt_tensor_set_free(outputs);
  need(nxrt_unload(model));
  return best;
}

static void withCores(uint32_t cores, uint32_t threads, const std::function<void()> &body) {
  NXRT_STRUCT(nxrt_config, config);
  config.num_cores = cores;
  config.threads_per_core = threads;
  need(nxrt_init(&config));
  body();
  need(nxrt_close());
}

static void load(int rounds) {
  for (int64_t megabytes : {0, 256}) {
    ExecutableSpec spec = dispatches(1000, 1);
    if (megabytes)
      spec.addParam("w", {megabytes << 18}, {std::vector<float>(megabytes << 18, 1.0f)});
    TemporaryFile file(spec.build());
    double best = fastest(rounds, [&] {
      nxrt_model *model = nullptr;
      need(nxrt_load(file.path().c_str(), nullptr, &model));
      need(nxrt_unload(model));
    });
    std::printf("load and unload, 1000 commands, %3d MiB of weights   %9.1f us\n",
                static_cast<int>(megabytes), best / 1e3);
  }
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2000;
  constexpr int commands = 1000;
  withCores(1, 1, [&] {
    double empty = execute(dispatches(0, 1), rounds);
    double full = execute(dispatches(commands, 1), rounds);
    std::printf("execution without commands                          %9.1f ns\n", empty);
    std::printf("empty dispatch, 1 thread                            %9.1f ns\n",
                (full - empty) / commands);
    load(std::min(rounds, 200));
  });
  withCores(1, 2, [&] {
    double empty = execute(dispatches(0, 1), rounds);
    std::printf("empty dispatch of one tile, 2 threads               %9.1f ns\n",
                (execute(dispatches(commands, 1), rounds) - empty) / commands);
    std::printf("empty dispatch of 64 tiles, 2 threads               %9.1f ns\n",
                (execute(dispatches(commands, 64), rounds) - empty) / commands);
  });
  withCores(2, 1, [&] {
    double empty = execute(allReduces(0, 1), rounds);
    std::printf("execution without commands, 2 ranks                 %9.1f ns\n", empty);
    for (int64_t elements : {1, 768, 32 * 768, 128 * 768})
      std::printf("all_reduce of %6d f32, 2 ranks                    %9.1f ns\n",
                  static_cast<int>(elements),
                  (execute(allReduces(100, elements), std::max(1, rounds / 4)) - empty) / 100);
  });
  return 0;
}
