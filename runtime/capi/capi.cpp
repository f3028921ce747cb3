// The C API: argument checks, ownership of handles, and calls into the runtime's parts.
#include "nxrt/kernel_abi.h"
#include "nxrt/nxrt.h"
#include "runtime/device/cpu_device.h"
#include "runtime/executor/binding.h"
#include "runtime/executor/model.h"
#include "runtime/memory/tensor.h"
#include "runtime/platform/cpu_features.h"
#include "runtime/platform/dtype.h"
#include "runtime/platform/environment.h"
#include "runtime/platform/log.h"
#include "runtime/platform/wait.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

using namespace nxrt;

struct nxrt_model {
  std::unique_ptr<Model> model;
  uint64_t timeoutMs = 0;
};

namespace {

/// What nxrt_init sets up.
struct Runtime {
  std::mutex mutex;                  // guards all of it
  std::unique_ptr<CpuDevice> device; // null: not initialized
  uint32_t modelCount = 0;
  uint64_t timeoutMs = 0;
  bool verifyWeights = false;
  bool perfMap = false;
};

Runtime &runtime() {
  // Never destroyed: threads may still be inside when the process ends.
  static Runtime *instance = new Runtime;
  return *instance;
}

constexpr uint32_t kMaxCores = 4096;

Status nullArgument(const char *function, const char *name) {
  return makeError(NXRT_INVALID_ARGUMENT, "%s: %s must not be null.", function, name);
}

Status notInitialized() {
  return makeError(NXRT_NOT_INITIALIZED, "the runtime is not initialized. Call nxrt_init first.");
}

/// Fills the caller's struct with as much of `full` as its version of it has.
template <typename T> Status copyOut(const char *function, const T &full, T *out) {
  if (!out)
    return nullArgument(function, "info");
  const size_t size = out->struct_size;
  if (size < sizeof(uint32_t))
    return makeError(NXRT_INVALID_ARGUMENT,
                     "%s: struct_size is not set. Declare the struct with NXRT_STRUCT.", function);
  std::memcpy(reinterpret_cast<char *>(out) + sizeof(uint32_t),
              reinterpret_cast<const char *>(&full) + sizeof(uint32_t),
              std::min(size, sizeof(T)) - sizeof(uint32_t));
  if (size > sizeof(T))
    std::memset(reinterpret_cast<char *>(out) + sizeof(T), 0, size - sizeof(T));
  return {};
}

/// Reads the caller's struct, of any version; null leaves `full` at zero.
template <typename T> Status copyIn(const char *function, const T *in, T &full) {
  std::memset(&full, 0, sizeof full);
  if (!in)
    return {};
  const size_t size = in->struct_size;
  if (size < sizeof(uint32_t))
    return makeError(NXRT_INVALID_ARGUMENT,
                     "%s: struct_size is not set. Declare the struct with NXRT_STRUCT.", function);
  const char *bytes = reinterpret_cast<const char *>(in);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i] != 0)
      return makeError(NXRT_UNSUPPORTED,
                       "%s: an option is set that this libnxrt does not know. Use a newer one.",
                       function);
  std::memcpy(&full, in, std::min(size, sizeof(T)));
  return {};
}

Status readOptions(const nxrt_config &config, CpuDeviceOptions &options, Runtime &target) {
  uint64_t threads = 1, cores = 0, spin = UINT64_MAX;
  NXRT_TRY(readNumber(Variable::ThreadsPerCore, 1, 1024, threads));
  NXRT_TRY(readNumber(Variable::NumCores, 1, kMaxCores, cores));
  NXRT_TRY(readNumber(Variable::SpinMicroseconds, 0, 1000000, spin));
  NXRT_TRY(readSwitch(Variable::ShareCores, options.share));
  NXRT_TRY(readSwitch(Variable::PinThreads, options.pin));
  NXRT_TRY(readSize(Variable::CoreMemory, options.coreMemory));
  target.timeoutMs = 600000;
  NXRT_TRY(readSeconds(Variable::ExecTimeout, target.timeoutMs));
  target.verifyWeights = target.perfMap = false;
  NXRT_TRY(readSwitch(Variable::VerifyWeights, target.verifyWeights));
  NXRT_TRY(readSwitch(Variable::PerfMap, target.perfMap));
  if (config.threads_per_core > 1024 || config.num_cores > kMaxCores)
    return makeError(
        NXRT_INVALID_ARGUMENT,
        "nxrt_init: %u threads a core and %u cores were asked for; the limits are 1024 "
        "and %u.",
        config.threads_per_core, config.num_cores, kMaxCores);
  options.threadsPerCore =
      config.threads_per_core ? config.threads_per_core : static_cast<uint32_t>(threads);
  options.coreCount = config.num_cores ? config.num_cores : static_cast<uint32_t>(cores);
  options.spinNs = spin == UINT64_MAX ? -1 : static_cast<int64_t>(spin * 1000);
  if (config.core_memory_bytes)
    options.coreMemory = config.core_memory_bytes;
  if (config.exec_timeout_ms)
    target.timeoutMs = config.exec_timeout_ms;
  const char *visible = config.visible_cores;
  // A number of cores in the call wins over a list in the environment.
  if (!visible && !config.num_cores)
    visible = variableText(Variable::VisibleCores);
  options.visibleCores = visible ? visible : "";
  const char *directory = variableText(Variable::RuntimeDir);
  options.runtimeDirectory = directory ? directory : "/dev/shm/nxrt";
  return {};
}

Status openLogFor(const nxrt_config &config) {
  nxrt_log_level level = NXRT_LOG_WARNING;
  if (const char *name = variableText(Variable::LogLevel); name && !parseLogLevel(name, level))
    return makeError(NXRT_INVALID_ARGUMENT,
                     "NXRT_LOG_LEVEL is \"%s\"; it takes error, warning, info or debug. Correct or "
                     "unset it.",
                     name);
  if (config.log_level < NXRT_LOG_DEFAULT || config.log_level > NXRT_LOG_DEBUG)
    return makeError(NXRT_INVALID_ARGUMENT, "nxrt_init: %d is not a log level.",
                     static_cast<int>(config.log_level));
  if (config.log_level != NXRT_LOG_DEFAULT)
    level = config.log_level;
  return openLog(level,
                 config.log_location ? config.log_location : variableText(Variable::LogLocation));
}

Status initialize(const nxrt_config *given) {
  nxrt_config config;
  NXRT_TRY(copyIn("nxrt_init", given, config));
  Runtime &target = runtime();
  std::lock_guard<std::mutex> guard(target.mutex);
  if (target.device)
    return makeError(NXRT_ALREADY_INITIALIZED,
                     "nxrt_init was called before. Call nxrt_close first to change the set-up.");
  CpuDeviceOptions options;
  NXRT_TRY(readOptions(config, options, target));
  NXRT_TRY(openLogFor(config));
  Status status = CpuDevice::open(options, target.device);
  if (!status.ok())
    closeLog();
  return status;
}

/// Loads a model from what `open` makes of the options.
template <typename Open>
Status loadModel(const char *function, const nxrt_load_options *given, nxrt_model **result,
                 Open open) {
  if (!result)
    return nullArgument(function, "model");
  nxrt_load_options options;
  NXRT_TRY(copyIn(function, given, options));
  if (options.flags & ~uint32_t{NXRT_LOAD_VERIFY_WEIGHTS | NXRT_LOAD_BORROW})
    return makeError(NXRT_INVALID_ARGUMENT, "%s: unknown flags 0x%x.", function, options.flags);
  if (options.place != 0 && options.place != 1)
    return makeError(NXRT_INVALID_ARGUMENT, "%s: place is %d and must be 0 or 1.", function,
                     options.place);
  Runtime &target = runtime();
  ModelOptions modelOptions;
  CpuDevice *device = nullptr;
  auto weights = ExecutableFile::Weights::Trust;
  auto model = std::make_unique<nxrt_model>();
  {
    std::lock_guard<std::mutex> guard(target.mutex);
    if (!target.device)
      return notInitialized();
    device = target.device.get();
    ++target.modelCount; // keeps the device
    modelOptions.perfMap = target.perfMap;
    model->timeoutMs = target.timeoutMs;
    if (target.verifyWeights || options.flags & NXRT_LOAD_VERIFY_WEIGHTS)
      weights = ExecutableFile::Weights::Verify;
  }
  const uint64_t begin = nowNs();
  if (options.place == 1)
    modelOptions.firstCore = options.first_core;
  std::unique_ptr<ExecutableFile> file;
  Status status = open(options, weights, file);
  if (status.ok())
    status = Model::create(std::move(file), *device, modelOptions, model->model);
  if (!status.ok()) {
    std::lock_guard<std::mutex> guard(target.mutex);
    --target.modelCount;
    return status;
  }
  model->model->loadNs = nowNs() - begin;
  log(NXRT_LOG_INFO, "loaded %s on cores %u-%u in %.2f ms",
      model->model->file().path().empty() ? "a model from memory"
                                          : model->model->file().path().c_str(),
      model->model->firstCore(), model->model->firstCore() + model->model->root().tp_degree() - 1,
      static_cast<double>(model->model->loadNs) / 1e6);
  *result = model.release();
  return {};
}

template <typename T> uint32_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

const char *textOf(const flatbuffers::String *text) { return text ? text->c_str() : ""; }

Status indexError(const char *function, const char *kind, uint32_t index, uint32_t count) {
  return makeError(NXRT_OUT_OF_RANGE, "%s: there is no %s %u; there are %u.", function, kind, index,
                   count);
}

/// The symbols that inputs give: the rank is the runtime's own affair.
std::vector<uint32_t> inputSymbols(const nx::fb::Program &program) {
  std::vector<uint32_t> result;
  for (uint32_t i = 0; i < sizeOf(program.symbols()); ++i)
    if (program.symbols()->Get(i)->source() == nx::fb::SymbolSource::InputDim)
      result.push_back(i);
  return result;
}

Status ioInfo(const char *function, const nxrt_model *handle, const char *entry, bool output,
              uint32_t index, nxrt_io_info *result) {
  if (!handle)
    return nullArgument(function, "model");
  const Model &model = *handle->model;
  uint32_t number = 0;
  NXRT_TRY(model.findProgram(entry, number));
  const nx::fb::Program &program = model.program(number);
  const auto *signatures = output ? program.outputs() : program.inputs();
  const uint32_t count = output ? callerOutputs(program) : callerInputs(program);
  if (index >= count)
    return indexError(function, output ? "output" : "input", index, count);
  const nx::fb::Signature &signature = *signatures->Get(index);
  nxrt_io_info info = {};
  info.dtype = static_cast<nxrt_dtype>(signature.dtype());
  info.name = signature.name()->c_str();
  info.rank = sizeOf(signature.dims());
  for (uint32_t d = 0; d < info.rank; ++d) {
    info.dim_symbols[d] = model.dimText(number, output, index, d);
    info.dims[d] = -1;
    if (!info.dim_symbols[d])
      info.dims[d] = model.constant(number, signature.dims()->Get(d));
  }
  return copyOut(function, info, result);
}

Status checkRange(const char *function, const nxrt_tensor &tensor, uint64_t offset,
                  uint64_t bytes) {
  if (!tensor.data())
    return makeError(NXRT_INVALID_ARGUMENT,
                     "%s: the tensor has no memory yet. Attach some with nxrt_tensor_attach.",
                     function);
  if (offset > tensor.bytes || bytes > tensor.bytes - offset)
    return makeError(
        NXRT_OUT_OF_RANGE, "%s: %llu bytes from %llu on reach beyond the tensor's %llu bytes.",
        function, static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset),
        static_cast<unsigned long long>(tensor.bytes));
  return {};
}

Status makeSlice(nxrt_tensor *tensor, uint64_t offset, nxrt_dtype dtype, uint32_t rank,
                 const int64_t *dims, nxrt_tensor **slice) {
  TensorRef made;
  NXRT_TRY(makeTensor(dtype, rank, dims, /*withStorage=*/false, made));
  NXRT_TRY(checkRange("nxrt_tensor_slice", *tensor, offset, made->bytes));
  const uint64_t element = std::max<uint64_t>(1, dtypeBits(dtype) / 8);
  if (offset % element != 0)
    return makeError(NXRT_INVALID_ARGUMENT,
                     "nxrt_tensor_slice: the offset %llu is not a multiple of the element's %llu "
                     "bytes.",
                     static_cast<unsigned long long>(offset),
                     static_cast<unsigned long long>(element));
  made->storage = tensor->storage;
  made->offset = tensor->offset + offset;
  made->attachable = false;
  *slice = made.take();
  return {};
}

} // namespace

extern "C" {

//===-- Names
//-------------------------------------------------------------------------------------===

const char *nxrt_status_string(nxrt_status status) {
  switch (status) {
#define NXRT_NAME(status)                                                                          \
  case status:                                                                                     \
    return #status;
  case NXRT_STATUS_ANY_INT:
    break;
    NXRT_NAME(NXRT_OK)
    NXRT_NAME(NXRT_INVALID_ARGUMENT)
    NXRT_NAME(NXRT_NOT_INITIALIZED)
    NXRT_NAME(NXRT_ALREADY_INITIALIZED)
    NXRT_NAME(NXRT_OUT_OF_MEMORY)
    NXRT_NAME(NXRT_IO_ERROR)
    NXRT_NAME(NXRT_INVALID_FILE)
    NXRT_NAME(NXRT_UNSUPPORTED)
    NXRT_NAME(NXRT_TARGET_MISMATCH)
    NXRT_NAME(NXRT_NOT_ENOUGH_CORES)
    NXRT_NAME(NXRT_CORE_BUSY)
    NXRT_NAME(NXRT_NOT_FOUND)
    NXRT_NAME(NXRT_DTYPE_MISMATCH)
    NXRT_NAME(NXRT_SHAPE_MISMATCH)
    NXRT_NAME(NXRT_OUT_OF_RANGE)
    NXRT_NAME(NXRT_TIMEOUT)
    NXRT_NAME(NXRT_EXECUTION_FAILED)
    NXRT_NAME(NXRT_IN_USE)
    NXRT_NAME(NXRT_INTERNAL)
#undef NXRT_NAME
  }
  return "unknown status";
}

const char *nxrt_last_error(void) { return lastErrorText(); }

const char *nxrt_dtype_name(nxrt_dtype dtype) { return dtypeName(dtype); }
uint32_t nxrt_dtype_bits(nxrt_dtype dtype) { return dtypeBits(dtype); }

//===-- Life cycle
//--------------------------------------------------------------------------------===

nxrt_status nxrt_get_version(nxrt_version_info *result) {
  static const std::string text = format("libnxrt %d.%d.%d (%s)", NXRT_VERSION_MAJOR,
                                         NXRT_VERSION_MINOR, NXRT_VERSION_PATCH, machineArch());
  nxrt_version_info info = {};
  info.major = NXRT_VERSION_MAJOR;
  info.minor = NXRT_VERSION_MINOR;
  info.patch = NXRT_VERSION_PATCH;
  info.format_major = kNxeMajor;
  info.format_minor = kNxeMinor;
  info.kernel_abi = NXRT_KERNEL_ABI_VERSION;
  info.text = text.c_str();
  return report(copyOut("nxrt_get_version", info, result));
}

nxrt_status nxrt_init(const nxrt_config *config) { return report(initialize(config)); }

nxrt_status nxrt_close(void) {
  Runtime &target = runtime();
  std::lock_guard<std::mutex> guard(target.mutex);
  if (!target.device)
    return report(notInitialized());
  if (target.modelCount > 0)
    return report(makeError(NXRT_IN_USE,
                            "nxrt_close: %u models are still loaded. Unload them first.",
                            target.modelCount));
  target.device.reset();
  closeLog();
  return NXRT_OK;
}

nxrt_status nxrt_get_total_core_count(uint32_t *count) {
  if (!count)
    return report(nullArgument("nxrt_get_total_core_count", "count"));
  uint64_t threads = 1;
  if (Status status = readNumber(Variable::ThreadsPerCore, 1, 1024, threads); !status.ok())
    return report(status);
  Runtime &target = runtime();
  std::lock_guard<std::mutex> guard(target.mutex);
  *count = target.device ? target.device->machineCores()
                         : CpuDevice::machineCoreCount(static_cast<uint32_t>(threads));
  return NXRT_OK;
}

nxrt_status nxrt_get_visible_core_count(uint32_t *count) {
  if (!count)
    return report(nullArgument("nxrt_get_visible_core_count", "count"));
  Runtime &target = runtime();
  std::lock_guard<std::mutex> guard(target.mutex);
  if (!target.device)
    return report(notInitialized());
  *count = target.device->coreCount();
  return NXRT_OK;
}

nxrt_status nxrt_get_core_info(uint32_t core, nxrt_core_info *result) {
  Runtime &target = runtime();
  std::lock_guard<std::mutex> guard(target.mutex);
  if (!target.device)
    return report(notInitialized());
  if (core >= target.device->coreCount())
    return report(indexError("nxrt_get_core_info", "core", core, target.device->coreCount()));
  nxrt_core_info info = {};
  Status status = target.device->describe(core, info);
  return report(status.ok() ? copyOut("nxrt_get_core_info", info, result) : status);
}

//===-- Models
//------------------------------------------------------------------------------------===

nxrt_status nxrt_load(const char *path, const nxrt_load_options *options, nxrt_model **model) {
  if (!path)
    return report(nullArgument("nxrt_load", "path"));
  return report(loadModel("nxrt_load", options, model,
                          [&](const nxrt_load_options &, ExecutableFile::Weights weights,
                              std::unique_ptr<ExecutableFile> &file) {
                            return ExecutableFile::open(path, weights, file);
                          }));
}

nxrt_status nxrt_load_memory(const void *bytes, size_t size, const nxrt_load_options *options,
                             nxrt_model **model) {
  if (!bytes)
    return report(nullArgument("nxrt_load_memory", "bytes"));
  return report(loadModel("nxrt_load_memory", options, model,
                          [&](const nxrt_load_options &full, ExecutableFile::Weights weights,
                              std::unique_ptr<ExecutableFile> &file) {
                            return full.flags & NXRT_LOAD_BORROW
                                       ? ExecutableFile::borrow(bytes, size, weights, file)
                                       : ExecutableFile::copy(bytes, size, weights, file);
                          }));
}

nxrt_status nxrt_unload(nxrt_model *model) {
  if (!model)
    return NXRT_OK;
  delete model;
  Runtime &target = runtime();
  std::lock_guard<std::mutex> guard(target.mutex);
  --target.modelCount;
  return NXRT_OK;
}

nxrt_status nxrt_get_model_info(const nxrt_model *handle, nxrt_model_info *result) {
  if (!handle)
    return report(nullArgument("nxrt_get_model_info", "model"));
  const Model &model = *handle->model;
  const nx::fb::Executable &root = model.root();
  nxrt_model_info info = {};
  info.tp_degree = root.tp_degree();
  info.first_core = model.firstCore();
  info.entry_count = model.programCount();
  info.path = model.file().path().c_str();
  info.producer = textOf(root.producer());
  info.model_name = textOf(root.model_name());
  info.model_hash = textOf(root.model_hash());
  info.target_cpu = model.code() ? textOf(model.code()->cpu()) : "";
  info.format_major = model.file().header().major;
  info.format_minor = model.file().header().minor;
  info.kernel_count = sizeOf(root.kernels());
  info.param_count = sizeOf(root.params());
  info.param_bytes = model.paramBytes();
  info.file_bytes = model.file().size();
  info.load_ns = model.loadNs;
  return report(copyOut("nxrt_get_model_info", info, result));
}

nxrt_status nxrt_get_entry_info(const nxrt_model *handle, uint32_t entry, nxrt_entry_info *result) {
  if (!handle)
    return report(nullArgument("nxrt_get_entry_info", "model"));
  const Model &model = *handle->model;
  if (entry >= model.programCount())
    return report(indexError("nxrt_get_entry_info", "entry point", entry, model.programCount()));
  const nx::fb::Program &program = model.program(entry);
  nxrt_entry_info info = {};
  info.input_count = callerInputs(program);
  info.output_count = callerOutputs(program);
  info.symbol_count = static_cast<uint32_t>(inputSymbols(program).size());
  info.command_count = sizeOf(program.commands());
  info.name = program.name()->c_str();
  info.arena_bytes = program.arena_bytes();
  return report(copyOut("nxrt_get_entry_info", info, result));
}

nxrt_status nxrt_get_symbol_info(const nxrt_model *handle, const char *entry, uint32_t symbol,
                                 nxrt_symbol_info *result) {
  if (!handle)
    return report(nullArgument("nxrt_get_symbol_info", "model"));
  uint32_t number = 0;
  if (Status status = handle->model->findProgram(entry, number); !status.ok())
    return report(status);
  const nx::fb::Program &program = handle->model->program(number);
  std::vector<uint32_t> symbols = inputSymbols(program);
  if (symbol >= symbols.size())
    return report(indexError("nxrt_get_symbol_info", "symbol", symbol,
                             static_cast<uint32_t>(symbols.size())));
  const nx::fb::Symbol &source = *program.symbols()->Get(symbols[symbol]);
  nxrt_symbol_info info = {};
  info.input = source.input();
  info.dim = source.dim();
  info.name = source.name()->c_str();
  info.min = source.min();
  info.max = source.max();
  return report(copyOut("nxrt_get_symbol_info", info, result));
}

nxrt_status nxrt_get_input_info(const nxrt_model *model, const char *entry, uint32_t index,
                                nxrt_io_info *info) {
  return report(ioInfo("nxrt_get_input_info", model, entry, /*output=*/false, index, info));
}

nxrt_status nxrt_get_output_info(const nxrt_model *model, const char *entry, uint32_t index,
                                 nxrt_io_info *info) {
  return report(ioInfo("nxrt_get_output_info", model, entry, /*output=*/true, index, info));
}

nxrt_status nxrt_get_output_shapes(const nxrt_model *handle, const char *entry,
                                   const nxrt_shape *inputs, uint32_t input_count,
                                   nxrt_shape *outputs, uint32_t output_count) {
  static constexpr const char *function = "nxrt_get_output_shapes";
  if (!handle)
    return report(nullArgument(function, "model"));
  if ((input_count && !inputs) || (output_count && !outputs))
    return report(nullArgument(function, "an array"));
  uint32_t number = 0;
  if (Status status = handle->model->findProgram(entry, number); !status.ok())
    return report(status);
  const nx::fb::Program &program = handle->model->program(number);
  if (input_count != callerInputs(program) || output_count != callerOutputs(program))
    return report(makeError(NXRT_INVALID_ARGUMENT,
                            "%s: %u input and %u output shapes were given; the entry point has %u "
                            "inputs and %u outputs.",
                            function, input_count, output_count, callerInputs(program),
                            callerOutputs(program)));
  for (uint32_t i = 0; i < input_count; ++i)
    if (inputs[i].rank > NXRT_MAX_RANK)
      return report(makeError(NXRT_INVALID_ARGUMENT, "%s: input %u has rank %u; the limit is %d.",
                              function, i, inputs[i].rank, NXRT_MAX_RANK));
  std::vector<nxrt_shape> shapes;
  Status status = handle->model->outputShapes(number, {inputs, input_count}, shapes);
  if (status.ok())
    std::copy(shapes.begin(), shapes.end(), outputs);
  return report(status);
}

//===-- States
//------------------------------------------------------------------------------------===

nxrt_status nxrt_get_state_count(const nxrt_model *handle, uint32_t *count) {
  if (!handle || !count)
    return report(nullArgument("nxrt_get_state_count", "an argument"));
  *count = handle->model->states().count();
  return NXRT_OK;
}

nxrt_status nxrt_get_state_info(const nxrt_model *handle, uint32_t index, nxrt_io_info *result) {
  static constexpr const char *function = "nxrt_get_state_info";
  if (!handle)
    return report(nullArgument(function, "model"));
  const ModelStates &states = handle->model->states();
  if (index >= states.count())
    return report(indexError(function, "state", index, states.count()));
  const nx::fb::State &state = states.description(index);
  nxrt_io_info info = {};
  info.dtype = static_cast<nxrt_dtype>(state.dtype());
  info.name = state.name()->c_str();
  info.rank = sizeOf(state.dims());
  for (uint32_t d = 0; d < info.rank; ++d)
    info.dims[d] = state.dims()->Get(d);
  return report(copyOut(function, info, result));
}

nxrt_status nxrt_read_state(nxrt_model *handle, const char *name, nxrt_tensor *to) {
  if (!handle || !name || !to)
    return report(nullArgument("nxrt_read_state", "an argument"));
  return report(handle->model->readState(name, *to));
}

nxrt_status nxrt_write_state(nxrt_model *handle, const char *name, const nxrt_tensor *from) {
  if (!handle || !name || !from)
    return report(nullArgument("nxrt_write_state", "an argument"));
  return report(handle->model->writeState(name, *from));
}

nxrt_status nxrt_reset_states(nxrt_model *handle) {
  if (!handle)
    return report(nullArgument("nxrt_reset_states", "model"));
  return report(handle->model->resetStates());
}

//===-- Tensors
//-----------------------------------------------------------------------------------===

static nxrt_status createTensor(const char *function, nxrt_dtype dtype, uint32_t rank,
                                const int64_t *dims, bool withStorage, nxrt_tensor **tensor) {
  if (!tensor)
    return report(nullArgument(function, "tensor"));
  TensorRef made;
  Status status = makeTensor(dtype, rank, dims, withStorage, made);
  if (status.ok())
    *tensor = made.take();
  return report(status);
}

nxrt_status nxrt_tensor_allocate(nxrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                 nxrt_tensor **tensor) {
  return createTensor("nxrt_tensor_allocate", dtype, rank, dims, /*withStorage=*/true, tensor);
}

nxrt_status nxrt_tensor_create_empty(nxrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                     nxrt_tensor **tensor) {
  return createTensor("nxrt_tensor_create_empty", dtype, rank, dims, /*withStorage=*/false, tensor);
}

nxrt_status nxrt_tensor_attach(nxrt_tensor *tensor, void *memory, size_t bytes) {
  static constexpr const char *function = "nxrt_tensor_attach";
  if (!tensor)
    return report(nullArgument(function, "tensor"));
  if (!memory)
    return report(nullArgument(function, "memory"));
  if (!tensor->attachable)
    return report(makeError(NXRT_INVALID_ARGUMENT,
                            "%s: the tensor has storage of its own. Make it with "
                            "nxrt_tensor_create_empty.",
                            function));
  if (bytes < tensor->bytes)
    return report(makeError(NXRT_OUT_OF_RANGE, "%s: %zu bytes are too few; the tensor has %llu.",
                            function, bytes, static_cast<unsigned long long>(tensor->bytes)));
  tensor->storage = Storage::attach(memory, bytes);
  return NXRT_OK;
}

nxrt_status nxrt_tensor_slice(nxrt_tensor *tensor, uint64_t offset, nxrt_dtype dtype, uint32_t rank,
                              const int64_t *dims, nxrt_tensor **slice) {
  if (!tensor)
    return report(nullArgument("nxrt_tensor_slice", "tensor"));
  if (!slice)
    return report(nullArgument("nxrt_tensor_slice", "slice"));
  return report(makeSlice(tensor, offset, dtype, rank, dims, slice));
}

nxrt_status nxrt_tensor_retain(nxrt_tensor *tensor) {
  if (!tensor)
    return report(nullArgument("nxrt_tensor_retain", "tensor"));
  TensorRef::share(tensor).take();
  return NXRT_OK;
}

void nxrt_tensor_free(nxrt_tensor *tensor) {
  if (tensor)
    TensorRef::adopt(tensor);
}

nxrt_status nxrt_tensor_get_info(const nxrt_tensor *tensor, nxrt_tensor_info *result) {
  if (!tensor)
    return report(nullArgument("nxrt_tensor_get_info", "tensor"));
  nxrt_tensor_info info = {};
  info.dtype = tensor->dtype;
  info.rank = tensor->rank;
  std::copy_n(tensor->dims, tensor->rank, info.dims);
  info.bytes = tensor->bytes;
  info.data = tensor->data();
  return report(copyOut("nxrt_tensor_get_info", info, result));
}

nxrt_status nxrt_tensor_data(const nxrt_tensor *tensor, void **data) {
  if (!tensor)
    return report(nullArgument("nxrt_tensor_data", "tensor"));
  if (!data)
    return report(nullArgument("nxrt_tensor_data", "data"));
  if (Status status = checkRange("nxrt_tensor_data", *tensor, 0, 0); !status.ok())
    return report(status);
  *data = tensor->data();
  return NXRT_OK;
}

nxrt_status nxrt_tensor_read(const nxrt_tensor *tensor, uint64_t offset, void *to, uint64_t bytes) {
  if (!tensor)
    return report(nullArgument("nxrt_tensor_read", "tensor"));
  if (!to && bytes)
    return report(nullArgument("nxrt_tensor_read", "to"));
  if (Status status = checkRange("nxrt_tensor_read", *tensor, offset, bytes); !status.ok())
    return report(status);
  if (bytes)
    std::memcpy(to, tensor->data() + offset, bytes);
  return NXRT_OK;
}

nxrt_status nxrt_tensor_write(nxrt_tensor *tensor, uint64_t offset, const void *from,
                              uint64_t bytes) {
  if (!tensor)
    return report(nullArgument("nxrt_tensor_write", "tensor"));
  if (!from && bytes)
    return report(nullArgument("nxrt_tensor_write", "from"));
  if (Status status = checkRange("nxrt_tensor_write", *tensor, offset, bytes); !status.ok())
    return report(status);
  if (bytes)
    std::memcpy(tensor->data() + offset, from, bytes);
  return NXRT_OK;
}

nxrt_status nxrt_tensor_copy(const nxrt_tensor *from, uint64_t from_offset, nxrt_tensor *to,
                             uint64_t to_offset, uint64_t bytes) {
  if (!from || !to)
    return report(nullArgument("nxrt_tensor_copy", "a tensor"));
  Status status = checkRange("nxrt_tensor_copy", *from, from_offset, bytes);
  if (status.ok())
    status = checkRange("nxrt_tensor_copy", *to, to_offset, bytes);
  // Slices of one storage may overlap.
  if (status.ok() && bytes)
    std::memmove(to->data() + to_offset, from->data() + from_offset, bytes);
  return report(status);
}

//===-- Tensor sets
//-------------------------------------------------------------------------------===

nxrt_status nxrt_tensor_set_create(nxrt_tensor_set **set) {
  if (!set)
    return report(nullArgument("nxrt_tensor_set_create", "set"));
  *set = new nxrt_tensor_set;
  return NXRT_OK;
}

void nxrt_tensor_set_free(nxrt_tensor_set *set) { delete set; }

nxrt_status nxrt_tensor_set_add(nxrt_tensor_set *set, const char *name, nxrt_tensor *tensor) {
  if (!set || !name || !tensor)
    return report(nullArgument("nxrt_tensor_set_add", "an argument"));
  nxrt_tensor_set::Entry &entry = set->entries[name];
  entry.tensor = TensorRef::share(tensor);
  entry.runtimeMade = false;
  return NXRT_OK;
}

static Status missingTensor(const char *name) {
  return makeError(NXRT_NOT_FOUND, "the set has no tensor \"%s\".", name);
}

nxrt_status nxrt_tensor_set_get(const nxrt_tensor_set *set, const char *name,
                                nxrt_tensor **tensor) {
  if (!set || !name || !tensor)
    return report(nullArgument("nxrt_tensor_set_get", "an argument"));
  auto found = set->entries.find(name);
  if (found == set->entries.end())
    return report(missingTensor(name));
  *tensor = found->second.tensor.get();
  return NXRT_OK;
}

nxrt_status nxrt_tensor_set_remove(nxrt_tensor_set *set, const char *name) {
  if (!set || !name)
    return report(nullArgument("nxrt_tensor_set_remove", "an argument"));
  return set->entries.erase(name) ? NXRT_OK : report(missingTensor(name));
}

nxrt_status nxrt_tensor_set_size(const nxrt_tensor_set *set, uint32_t *count) {
  if (!set || !count)
    return report(nullArgument("nxrt_tensor_set_size", "an argument"));
  *count = static_cast<uint32_t>(set->entries.size());
  return NXRT_OK;
}

//===-- Execution and profile
//---------------------------------------------------------------------===

nxrt_status nxrt_execute(nxrt_model *handle, const char *entry, const nxrt_tensor_set *inputs,
                         nxrt_tensor_set *outputs) {
  if (!handle || !inputs || !outputs)
    return report(nullArgument("nxrt_execute", "an argument other than entry"));
  uint32_t number = 0;
  Status status = handle->model->findProgram(entry, number);
  if (status.ok())
    status = handle->model->execute(number, *inputs, *outputs, handle->timeoutMs);
  return report(status);
}

nxrt_status nxrt_profile_start(nxrt_model *handle) {
  if (!handle)
    return report(nullArgument("nxrt_profile_start", "model"));
  handle->model->startProfile();
  return NXRT_OK;
}

nxrt_status nxrt_profile_stop(nxrt_model *handle) {
  if (!handle)
    return report(nullArgument("nxrt_profile_stop", "model"));
  handle->model->stopProfile();
  return NXRT_OK;
}

nxrt_status nxrt_profile_get_count(const nxrt_model *handle, uint32_t *count) {
  if (!handle || !count)
    return report(nullArgument("nxrt_profile_get_count", "an argument"));
  *count = handle->model->profileCount();
  return NXRT_OK;
}

nxrt_status nxrt_profile_get(const nxrt_model *handle, uint32_t index, nxrt_profile_entry *result) {
  if (!handle)
    return report(nullArgument("nxrt_profile_get", "model"));
  if (index >= handle->model->profileCount())
    return report(
        indexError("nxrt_profile_get", "profile entry", index, handle->model->profileCount()));
  nxrt_profile_entry entry = {};
  handle->model->readProfile(index, entry);
  return report(copyOut("nxrt_profile_get", entry, result));
}

} // extern "C"
