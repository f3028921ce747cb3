// A loaded executable: its file, its code, the cores it runs on, and how to run it.
#ifndef NXRT_EXECUTOR_MODEL_H
#define NXRT_EXECUTOR_MODEL_H

#include "runtime/collectives/rank_group.h"
#include "runtime/device/device.h"
#include "runtime/executor/plan.h"
#include "runtime/executor/profile.h"
#include "runtime/executor/state.h"
#include "runtime/loader/code_image.h"
#include "runtime/loader/executable_file.h"
#include "runtime/memory/tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace nxrt {

struct ModelOptions {
  int64_t firstCore = -1; // -1: the device chooses
  bool perfMap = false;
};

class Model {
public:
  /// Makes a model of a verified file. The device outlives it.
  static Status create(std::unique_ptr<ExecutableFile> file, Device &device,
                       const ModelOptions &options, std::unique_ptr<Model> &model);
  /// Waits for executions that have begun.
  ~Model();

  const ExecutableFile &file() const { return *executableFile; }
  const nx::fb::Executable &root() const { return executableFile->root(); }
  const nx::fb::CodeObject *code() const { return codeObject; } // null: the program has no kernels
  uint32_t firstCore() const { return first; }
  uint32_t programCount() const { return static_cast<uint32_t>(programs.size()); }
  const nx::fb::Program &program(uint32_t index) const { return *programs[index]->context.program; }

  /// The number of an entry point; null is the first.
  Status findProgram(const char *name, uint32_t &index) const;

  /// Text of each dimension of a signature that is known only at run time, else null.
  const char *dimText(uint32_t program, bool output, uint32_t tensor, uint32_t dim) const;

  /// The value of an expression that depends on nothing.
  int64_t constant(uint32_t program, uint32_t expression) const {
    return programs[program]->constants[expression];
  }
  /// Bytes of all ranks' parameters, those that ranks share counted once.
  uint64_t paramBytes() const;

  /// Shapes of the outputs for shapes of the inputs, in the order of the signature, without states.
  Status outputShapes(uint32_t program, std::span<const nxrt_shape> inputs,
                      std::vector<nxrt_shape> &outputs) const;

  /// Runs a program. `timeoutMs` 0: no limit.
  Status execute(uint32_t program, const nxrt_tensor_set &inputs, nxrt_tensor_set &outputs,
                 uint64_t timeoutMs);

  const ModelStates &states() const { return modelStates; }
  /// Copies a state's value to a tensor, or replaces it by one, between two executions.
  Status readState(const char *name, nxrt_tensor &to);
  Status writeState(const char *name, const nxrt_tensor &from);
  /// Gives all states their first values.
  Status resetStates();

  void startProfile();
  void stopProfile() { profiling.store(false); }
  uint32_t profileCount() const { return profileEntries; }
  void readProfile(uint32_t index, nxrt_profile_entry &entry) const;

  uint64_t loadNs = 0;

private:
  struct RankState {
    std::vector<std::byte *> params;    // where each parameter of this rank begins
    std::vector<std::byte *> addresses; // of each buffer, during an execution
  };
  struct ProgramState {
    ProgramContext context;
    PlanCache plans;
    std::vector<int64_t> constants; // values of the expressions that depend on nothing
    std::vector<std::vector<std::string>> inputTexts, outputTexts; // per tensor and dimension
    std::vector<std::string> sources;                              // per command
    std::unique_ptr<CommandTimes[]> times;                         // [rank][command]
  };
  struct Execution;

  Model() = default;
  Status load(std::unique_ptr<ExecutableFile> file, Device &device, const ModelOptions &options);
  Status describePrograms();
  Status bindInputs(const nx::fb::Program &program, const nxrt_tensor_set &set,
                    std::vector<nxrt_tensor *> &tensors, std::vector<nxrt_shape> &shapes) const;
  Status bindOutputs(const nx::fb::Program &program, const nxrt_tensor_set &set, const Plan &plan,
                     std::vector<TensorRef> &tensors, std::vector<bool> &made) const;
  Status runPlanned(ProgramState &state, const Plan &plan, std::span<nxrt_tensor *const> inputs,
                    std::span<const TensorRef> outputs, uint64_t deadlineNs);
  Status stateTensor(const char *name, const nxrt_tensor &other, uint32_t &index) const;
  void runRank(const Execution &execution, uint32_t rank);
  template <bool profiled> void walk(const Execution &execution, uint32_t rank);
  void setAddresses(const Execution &execution, uint32_t rank);
  bool runDispatch(const Execution &execution, const Step &step, const RankPlan &plan,
                   uint32_t rank, uint32_t command);

  std::unique_ptr<ExecutableFile> executableFile;
  CodeImage image;
  const nx::fb::CodeObject *codeObject = nullptr;
  Device *device = nullptr;
  uint32_t first = 0;
  bool placed = false;
  std::vector<std::unique_ptr<ProgramState>> programs;
  std::vector<RankState> ranks;
  std::unique_ptr<RankGroup> group;
  ModelStates modelStates;
  Pages staging; // copies of inputs whose memory is not aligned; only while the cores are acquired
  uint32_t profileEntries = 0;
  std::atomic<bool> profiling{false};
  std::atomic<uint32_t> executing{0};
};

} // namespace nxrt

#endif // NXRT_EXECUTOR_MODEL_H
