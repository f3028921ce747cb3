// nx-run: loads an executable, runs it on arrays from files or made here, and saves, compares or times
// what comes out. Documented in docs/tools.md.
#include "tools/common/CommandLine.h"
#include "tools/common/Elements.h"
#include "tools/common/Npz.h"
#include "tools/common/Runtime.h"
#include "tools/common/TextTable.h"
#include "tools/nx-run/Feeds.h"
#include "tools/nx-run/Report.h"
#include "tools/nx-run/Signature.h"

#include <chrono>
#include <cstdio>

using namespace nxtool;
using nlohmann::ordered_json;

namespace {

struct Options {
  std::string executable, entry;
  std::vector<std::string> inputs, outputs, expected;
  std::optional<uint64_t> randomSeed;
  bool zeros = false;
  std::vector<std::string> dims, ranges;
  double rtol = 1e-5, atol = 1e-6;
  uint32_t repeat = 0;
  bool keepGoing = false, json = false, profile = false, verify = false;
  std::string cores;
  uint32_t threadsPerCore = 0;
};

double millisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// NAME and VALUE of "NAME=VALUE"; the name may hold '=' itself.
std::pair<std::string, std::string> splitAssignment(const char *option, const std::string &text) {
  size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw Refusal(std::string(option) + " '" + text + "' is not of the form NAME=VALUE", ExitUsage);
  return {text.substr(0, at), text.substr(at + 1)};
}

int64_t parseInteger(const char *option, const std::string &text) {
  size_t used = 0;
  int64_t value = 0;
  try {
    value = std::stoll(text, &used);
  } catch (const std::exception &) {
  }
  if (used == 0 || used != text.size())
    throw Refusal(std::string(option) + ": '" + text + "' is not an integer", ExitUsage);
  return value;
}

Generator makeGenerator(const Options &options) {
  Generator generator;
  if (options.zeros && options.randomSeed)
    throw Refusal("--zeros and --random exclude each other", ExitUsage);
  if (options.zeros)
    generator.kind = Generator::Kind::Zeros;
  if (options.randomSeed) {
    generator.kind = Generator::Kind::Random;
    generator.seed = *options.randomSeed;
  }
  if (generator.kind == Generator::Kind::None && !(options.dims.empty() && options.ranges.empty()))
    throw Refusal("--dim and --range shape inputs that are made here: add --random SEED or --zeros",
                  ExitUsage);
  for (const std::string &text : options.dims) {
    auto [name, value] = splitAssignment("--dim", text);
    generator.sizes[name] = parseInteger("--dim", value);
    if (generator.sizes[name] < 0)
      throw Refusal("--dim " + text + ": a size is not negative", ExitUsage);
  }
  for (const std::string &text : options.ranges) {
    auto [name, value] = splitAssignment("--range", text);
    size_t colon = value.find(':');
    if (colon == std::string::npos)
      throw Refusal("--range '" + text + "' is not of the form NAME=LOW:HIGH", ExitUsage);
    int64_t low = parseInteger("--range", value.substr(0, colon));
    int64_t high = parseInteger("--range", value.substr(colon + 1));
    if (low > high)
      throw Refusal("--range '" + text + "' is empty", ExitUsage);
    generator.ranges[name] = {low, high};
  }
  return generator;
}

/// One loaded model and what is asked of it.
class Runner {
public:
  Runner(const Options &options, nxrt_model *model)
      : options(options), model(model), signature(readSignature(model, options.entry)),
        generator(makeGenerator(options)) {
    if (options.inputs.empty() && generator.kind == Generator::Kind::None &&
        !signature.inputs.empty())
      throw Refusal("the model has inputs: add --inputs FILE, --random SEED or --zeros", ExitUsage);
    runCount = std::max<size_t>(1, options.inputs.size());
    for (const auto &[what, count] : {std::pair{"--outputs", options.outputs.size()},
                                      std::pair{"--expect", options.expected.size()}})
      if (count != 0 && count != runCount)
        throw Refusal(std::string(what) + " is given " + std::to_string(count) + " times, but there " +
                          (runCount == 1 ? "is one run" : "are " + std::to_string(runCount) + " runs"),
                      ExitUsage);
  }

  ExitStatus runAll(ordered_json &report) {
    ExitStatus status = ExitDone;
    std::vector<double> all;
    report["runs"] = ordered_json::array();
    for (size_t run = 0; run < runCount; ++run) {
      ordered_json &entry = report["runs"].emplace_back(ordered_json::object());
      try {
        if (!runOne(run, entry, all))
          status = status == ExitDone ? ExitDiffers : status;
        entry["status"] = "done";
      } catch (const Refusal &refusal) {
        if (!options.keepGoing)
          throw;
        std::fprintf(stderr, "nx-run: run %zu: %s\n", run, refusal.what());
        entry["status"] = "refused";
        entry["error"] = refusal.what();
        status = ExitRefused;
      }
    }
    addLatency(summarize(all), report);
    return status;
  }

private:
  /// False when results differ from the expected ones.
  bool runOne(size_t run, ordered_json &report, std::vector<double> &all) {
    std::map<uint32_t, TensorHandle> feeds;
    if (run < options.inputs.size())
      feeds = bindArrays(signature, readNpz(options.inputs[run]), "'" + options.inputs[run] + "'");
    if (generator.kind != Generator::Kind::None)
      makeMissing(signature, generator, feeds);
    TensorSetHandle inputs = toTensorSet(signature, feeds);
    nxrt_tensor_set *outputSet = nullptr;
    check(nxrt_tensor_set_create(&outputSet));
    TensorSetHandle outputs(outputSet);

    double firstMs = execute(inputs.get(), outputSet);
    NamedArrays results = fetch(outputSet);
    if (run < options.outputs.size())
      writeNpz(options.outputs[run], results);
    bool same = run >= options.expected.size() || agrees(run, results, report);

    std::vector<double> times;
    for (uint32_t i = 0; i < options.repeat; ++i)
      times.push_back(execute(inputs.get(), outputSet));
    if (options.repeat == 0)
      times.push_back(firstMs);
    all.insert(all.end(), times.begin(), times.end());
    Latency latency = summarize(times);
    report["first_ms"] = firstMs;
    addLatency(latency, report);
    for (size_t i = 0; i < results.size(); ++i)
      report["outputs"].push_back({{"name", results[i].first},
                                   {"dtype", nxrt_dtype_name(signature.outputs[i].dtype)},
                                   {"shape", results[i].second.shape}});
    if (!options.json)
      print(run, results, latency);
    return same;
  }

  double execute(const nxrt_tensor_set *inputs, nxrt_tensor_set *outputs) {
    auto begin = std::chrono::steady_clock::now();
    check(nxrt_execute(model, signature.entry.c_str(), inputs, outputs));
    return millisecondsSince(begin);
  }

  NamedArrays fetch(const nxrt_tensor_set *outputs) {
    NamedArrays arrays;
    for (const Port &port : signature.outputs) {
      nxrt_tensor *tensor = nullptr;
      check(nxrt_tensor_set_get(outputs, port.name.c_str(), &tensor));
      NXRT_STRUCT(nxrt_tensor_info, info);
      check(nxrt_tensor_get_info(tensor, &info));
      arrays.emplace_back(port.name,
                          fromTensorBytes(info.dtype, {info.dims, info.rank},
                                          {static_cast<const std::byte *>(info.data), info.bytes}));
    }
    return arrays;
  }

  bool agrees(size_t run, const NamedArrays &results, ordered_json &report) {
    NamedArrays wanted = readNpz(options.expected[run]);
    bool same = true;
    for (const auto &[name, want] : wanted) {
      size_t index = findOutput(name, run);
      const Port &port = signature.outputs[index];
      const Array &got = results[index].second;
      ordered_json &entry = report["compared"].emplace_back(ordered_json{{"name", port.name}});
      std::string verdict;
      std::vector<std::byte> gotBytes, wantBytes;
      if (got.shape != want.shape) {
        verdict = "has the shape " + got.shapeText() + ", expected " + want.shapeText();
      } else if (!toTensorBytes(want, port.dtype, wantBytes) ||
                 !toTensorBytes(got, port.dtype, gotBytes)) {
        verdict = std::string("is ") + nxrt_dtype_name(port.dtype) + ", expected " + want.typeName();
      } else {
        Difference difference = compare(port.dtype, got.count(), gotBytes.data(), wantBytes.data(),
                                        options.rtol, options.atol);
        entry["max_abs"] = difference.maxAbsolute;
        entry["max_rel"] = difference.maxRelative;
        entry["differing"] = difference.count;
        if (difference.count)
          verdict = format("differs in %llu of %llu elements: at %s %g, expected %g; greatest "
                           "difference %g absolute, %g relative",
                           static_cast<unsigned long long>(difference.count),
                           static_cast<unsigned long long>(got.count()),
                           indexText(got, difference.first).c_str(),
                           element(port.dtype, gotBytes.data(), difference.first),
                           element(port.dtype, wantBytes.data(), difference.first),
                           difference.maxAbsolute, difference.maxRelative);
        else if (!options.json)
          std::printf("run %zu: '%s' as expected (greatest difference %g absolute, %g relative)\n", run,
                      port.name.c_str(), difference.maxAbsolute, difference.maxRelative);
      }
      entry["same"] = verdict.empty();
      if (!verdict.empty()) {
        std::fprintf(stderr, "nx-run: run %zu: the output '%s' %s\n", run, port.name.c_str(),
                     verdict.c_str());
        same = false;
      }
    }
    return same;
  }

  size_t findOutput(const std::string &name, size_t run) {
    for (size_t i = 0; i < signature.outputs.size(); ++i)
      if (signature.outputs[i].name == name)
        return i;
    for (size_t i = 0; i < signature.outputs.size(); ++i)
      if ("arr_" + std::to_string(i) == name)
        return i;
    throw Refusal("'" + options.expected[run] + "': the model has no output for the array '" + name +
                  "'");
  }

  static std::string indexText(const Array &array, uint64_t flat) {
    std::vector<int64_t> index(array.shape.size());
    for (size_t d = index.size(); d-- > 0;) {
      index[d] = static_cast<int64_t>(flat % static_cast<uint64_t>(array.shape[d]));
      flat /= static_cast<uint64_t>(array.shape[d]);
    }
    return shapeText(index);
  }

  void print(size_t run, const NamedArrays &results, const Latency &latency) {
    if (options.repeat)
      std::printf("run %zu: min_ms %.4f  median_ms %.4f  p99_ms %.4f  (%zu executions)\n", run,
                  latency.min, latency.median, latency.p99, latency.count);
    if (!options.outputs.empty() || !options.expected.empty() || options.repeat)
      return;
    for (size_t i = 0; i < results.size(); ++i) {
      const auto &[name, array] = results[i];
      constexpr uint64_t kShown = 6;
      std::string values;
      std::vector<std::byte> bytes;
      nxrt_dtype dtype = signature.outputs[i].dtype;
      toTensorBytes(array, dtype, bytes);
      for (uint64_t e = 0; e < std::min(array.count(), kShown); ++e)
        values += format(" %g", element(dtype, bytes.data(), e));
      std::printf("run %zu: %s %s%s =%s%s\n", run, name.c_str(), nxrt_dtype_name(dtype),
                  array.shapeText().c_str(), values.c_str(), array.count() > kShown ? " ..." : "");
    }
  }

  const Options &options;
  nxrt_model *model;
  Signature signature;
  Generator generator;
  size_t runCount = 1;
};

int run(const Options &options) {
  NXRT_STRUCT(nxrt_config, config);
  config.threads_per_core = options.threadsPerCore;
  config.visible_cores = options.cores.empty() ? nullptr : options.cores.c_str();
  RuntimeSession session(config);

  NXRT_STRUCT(nxrt_load_options, loadOptions);
  loadOptions.flags = options.verify ? NXRT_LOAD_VERIFY_WEIGHTS : 0;
  nxrt_model *loaded = nullptr;
  auto begin = std::chrono::steady_clock::now();
  check(nxrt_load(options.executable.c_str(), &loadOptions, &loaded));
  double loadMs = millisecondsSince(begin);
  ModelHandle model(loaded);
  NXRT_STRUCT(nxrt_model_info, info);
  check(nxrt_get_model_info(loaded, &info));

  ordered_json report = {{"executable", options.executable},
                         {"tp", info.tp_degree},
                         {"target_cpu", info.target_cpu},
                         {"load_ms", loadMs}};
  Runner runner(options, loaded);
  if (options.profile)
    check(nxrt_profile_start(loaded));
  ExitStatus status = runner.runAll(report);
  if (options.profile) {
    check(nxrt_profile_stop(loaded));
    report["profile"] = readProfile(loaded);
  }
  if (options.json) {
    std::printf("%s\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
  } else {
    if (options.repeat)
      std::printf("load_ms %.4f\n", loadMs);
    if (options.profile)
      std::fputs(profileTable(report["profile"]).c_str(), stdout);
  }
  return status;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Runs an executable made by nxcc.", "nx-run");
  app.set_version_flag("--version", std::string("nx-run ") + NX_VERSION);
  app.footer("Exit status: 0 done, 1 refused (a sentence on standard error says why), 2 wrong command "
             "line, 3 results differ from --expect.");
  app.add_option("executable", options.executable, "The .nxe file")->required()->type_name("OUT.nxe");
  auto takeOne = [](CLI::Option *option) {
    return option->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  takeOne(app.add_option("--inputs", options.inputs,
                         "Inputs of one run: arrays named by the model's inputs, or arr_0, arr_1, ... "
                         "by position. Repeat it for more runs, in order, on one loaded model"))
      ->type_name("IN.npz");
  takeOne(app.add_option("--outputs", options.outputs, "Where the outputs go, once for each run"))
      ->type_name("OUT.npz");
  takeOne(app.add_option("--expect", options.expected,
                         "What the outputs should be, once for each run; arrays that it lacks are not "
                         "compared"))
      ->type_name("WANT.npz");
  app.add_option("--rtol", options.rtol, "Relative tolerance of --expect")->capture_default_str();
  app.add_option("--atol", options.atol, "Absolute tolerance of --expect")->capture_default_str();
  app.add_option("--random", options.randomSeed,
                 "Make the inputs that no file gives: floats in [-1, 1), integers 0 or 1")
      ->type_name("SEED");
  app.add_flag("--zeros", options.zeros, "Make the inputs that no file gives: zeros");
  takeOne(app.add_option("--dim", options.dims, "A size for inputs made here"))->type_name("NAME=VALUE");
  takeOne(app.add_option("--range", options.ranges,
                         "Least and greatest value of a random input, both inclusive"))
      ->type_name("NAME=LOW:HIGH");
  app.add_option("--entry", options.entry, "Entry point; default the first")->type_name("NAME");
  app.add_flag("--keep-going", options.keepGoing,
               "Go on with the next run after one was refused (the exit status still tells)");
  app.add_option("--repeat", options.repeat,
                 "Execute each run N times more and report min_ms, median_ms, p99_ms and load_ms")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  app.add_flag("--json", options.json, "Report as JSON on standard output");
  app.add_flag("--profile", options.profile, "Report the time of each command");
  app.add_flag("--verify", options.verify, "Check the checksums of the weights while loading");
  app.add_option("--cores", options.cores, "Cores to use, like NXRT_VISIBLE_CORES")->type_name("LIST");
  app.add_option("--threads-per-core", options.threadsPerCore,
                 "Threads of a core, like NXRT_THREADS_PER_CORE")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  return runTool(app, argc, argv, [&] { return run(options); });
}
