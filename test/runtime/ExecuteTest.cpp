// Programs through the C API: results, run-time sizes, ranks, outputs, errors, profile, threads.
#include "test/runtime/support/Session.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <thread>

using namespace nxtest;
using testing::HasSubstr;

namespace {

/// What twoLayerSpec computes.
std::vector<float> twoLayers(const std::vector<float> &x, int64_t batch, int64_t K, int64_t H,
                             int64_t N) {
  std::vector<float> out(static_cast<size_t>(batch * N));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t n = 0; n < N; ++n) {
      double sum = 0;
      for (int64_t h = 0; h < H; ++h) {
        double hidden = 0;
        for (int64_t k = 0; k < K; ++k)
          hidden += double{x[static_cast<size_t>(b * K + k)]} * weight(k, h);
        sum += hidden * weight(h + 7, n);
      }
      out[static_cast<size_t>(b * N + n)] = static_cast<float>(sum);
    }
  return out;
}

void expectNear(const std::vector<float> &got, const std::vector<float> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], 1e-3 * (1 + std::abs(want[i]))) << "at " << i;
}

class Degrees : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {};

TEST_P(Degrees, TwoLayersAtSeveralBatchSizes) {
  auto [tp, threads] = GetParam();
  Session session(tp, threads);
  LoadedModel model(twoLayerSpec(tp, 24, 48, 40));
  TensorSet outputs;
  for (int64_t batch : {1, 5, 64, 5, 3}) {
    TensorSet inputs;
    std::vector<float> x = ramp(batch * 24);
    inputs.add<float>("x", {batch, 24}, x);
    ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
    EXPECT_EQ(outputs.shape("out"), (std::vector<int64_t>{batch, 40}));
    expectNear(outputs.values<float>("out"), twoLayers(x, batch, 24, 48, 40));
  }
}

INSTANTIATE_TEST_SUITE_P(Cores, Degrees,
                         testing::Values(std::pair(1u, 1u), std::pair(1u, 2u), std::pair(1u, 3u),
                                         std::pair(2u, 1u), std::pair(2u, 2u), std::pair(3u, 1u),
                                         std::pair(4u, 1u), std::pair(6u, 1u), std::pair(8u, 2u)));

TEST(Execute, AnyNumberOfThreadsGivesTheSameBits) {
  std::vector<std::vector<float>> results;
  for (uint32_t threads : {1u, 2u, 3u, 4u}) {
    Session session(1, threads);
    LoadedModel model(twoLayerSpec(1, 33, 65, 17));
    TensorSet inputs, outputs;
    inputs.add<float>("x", {37, 33}, ramp(37 * 33));
    ASSERT_EQ(nxrt_execute(model, "forward", inputs, outputs), NXRT_OK) << nxrt_last_error();
    results.push_back(outputs.values<float>("out"));
  }
  for (const auto &result : results)
    EXPECT_EQ(0, std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)));
}

TEST(Execute, EveryKindOfCommand) {
  Session session(2);
  LoadedModel model(richSpec());
  TensorSet inputs, outputs;
  inputs.add<int64_t>("ids", {3}, {2, 0, 15});
  ASSERT_EQ(nxrt_execute(model, "forward", inputs, outputs), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(outputs.values<float>("out"),
            (std::vector<float>{8, 9, 10, 11, 0, 1, 2, 3, 60, 61, 62, 63}));
  EXPECT_EQ(outputs.values<int64_t>("ranks"), (std::vector<int64_t>{0, 1}));

  TensorSet a, sums;
  a.add<float>("a", {64}, ramp(64));
  ASSERT_EQ(nxrt_execute(model, "static", a, sums), NXRT_OK) << nxrt_last_error();
  std::vector<float> want = ramp(64);
  for (float &value : want)
    value *= 5;
  EXPECT_EQ(sums.values<float>("out"), want);
}

TEST(Execute, ScratchIsPerThread) {
  ExecutableSpec spec;
  spec.addTestKernels();
  ProgramSpec &p = spec.addProgram();
  uint32_t rows = p.dimSymbol("rows", 0, 0), n = p.dimSymbol("n", 0, 1);
  uint32_t in = p.input("in", DType::F32, {rows, n}), out = p.output("out", DType::F32, {rows, n});
  p.dispatch(Prefix, {in, out}, {rows, n});
  p.finish();
  Session session(1, 4);
  LoadedModel model(spec);
  for (int64_t width : {7, 1000, 3}) {
    TensorSet inputs, outputs;
    std::vector<float> values = ramp(200 * width);
    inputs.add<float>("in", {200, width}, values);
    ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
    for (int64_t r = 0; r < 200; ++r) {
      float sum = 0;
      for (int64_t i = r * width; i < (r + 1) * width; ++i)
        values[static_cast<size_t>(i)] = sum += values[static_cast<size_t>(i)];
    }
    EXPECT_EQ(outputs.values<float>("out"), values);
  }
}

TEST(Execute, EmptyTensors) {
  Session session(1);
  LoadedModel model(addSpec());
  TensorSet inputs, outputs;
  inputs.add<float>("a", {0}, {});
  inputs.add<float>("b", {0}, {});
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(outputs.shape("out"), std::vector<int64_t>{0});
}

//===-- States
//------------------------------------------------------------------------------------===

using Floats = std::vector<float>;

class States : public testing::TestWithParam<uint32_t> {
protected:
  Floats run(LoadedModel &model, const char *entry, const Floats &x) {
    TensorSet inputs, outputs;
    if (!x.empty())
      inputs.add<float>("x", {4}, x);
    EXPECT_EQ(nxrt_execute(model, entry, inputs, outputs), NXRT_OK) << nxrt_last_error();
    return outputs.values<float>("out");
  }
};

TEST_P(States, LiveFromExecutionToExecution) {
  Session session(GetParam());
  LoadedModel model(stateSpec(GetParam()));
  EXPECT_EQ(run(model, "peek", {}), (Floats{10, 20, 30, 40}));
  EXPECT_EQ(run(model, "add", {1, 2, 3, 4}), (Floats{11, 22, 33, 44}));
  EXPECT_EQ(run(model, "add", {1, 1, 1, 1}), (Floats{12, 23, 34, 45}));
  EXPECT_EQ(run(model, "peek", {}), (Floats{13, 24, 35, 46}));
  // A second load has states of its own.
  ASSERT_EQ(nxrt_reset_states(model), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(run(model, "peek", {}), (Floats{10, 20, 30, 40}));
}

INSTANTIATE_TEST_SUITE_P(Ranks, States, testing::Values(1u, 2u));

TEST(StatesByName, AreReadAndWritten) {
  Session session(1);
  LoadedModel model(stateSpec());
  uint32_t count = 0;
  ASSERT_EQ(nxrt_get_state_count(model, &count), NXRT_OK);
  ASSERT_EQ(count, 2u);
  NXRT_STRUCT(nxrt_io_info, info);
  ASSERT_EQ(nxrt_get_state_info(model, 1, &info), NXRT_OK);
  EXPECT_STREQ(info.name, "last");
  EXPECT_EQ(info.rank, 1u);
  EXPECT_EQ(info.dims[0], 4);
  EXPECT_EQ(nxrt_get_state_info(model, 2, &info), NXRT_OUT_OF_RANGE);

  // Callers do not see states among the inputs and outputs.
  NXRT_STRUCT(nxrt_entry_info, entry);
  ASSERT_EQ(nxrt_get_entry_info(model, 0, &entry), NXRT_OK);
  EXPECT_EQ(entry.input_count, 1u);
  EXPECT_EQ(entry.output_count, 1u);
  EXPECT_EQ(nxrt_get_input_info(model, "add", 1, &info), NXRT_OUT_OF_RANGE);

  TensorSet tensors;
  tensors.add<float>("value", {4}, {5, 6, 7, 8});
  tensors.add<float>("short", {3}, {5, 6, 7});
  tensors.add<int64_t>("integers", {4}, {5, 6, 7, 8});
  ASSERT_EQ(nxrt_write_state(model, "total", tensors.get("value")), NXRT_OK);
  TensorSet inputs, outputs;
  inputs.add<float>("x", {4}, {1, 1, 1, 1});
  ASSERT_EQ(nxrt_execute(model, "add", inputs, outputs), NXRT_OK) << nxrt_last_error();
  ASSERT_EQ(nxrt_read_state(model, "total", tensors.get("value")), NXRT_OK);
  EXPECT_EQ(tensors.values<float>("value"), (Floats{6, 7, 8, 9}));
  EXPECT_EQ(nxrt_read_state(model, "total", tensors.get("short")), NXRT_SHAPE_MISMATCH);
  EXPECT_EQ(nxrt_write_state(model, "total", tensors.get("integers")), NXRT_DTYPE_MISMATCH);
  EXPECT_EQ(nxrt_read_state(model, "sum", tensors.get("value")), NXRT_NOT_FOUND);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("it has: total, last"));

  inputs.add<float>("total", {4}, {1, 1, 1, 1});
  EXPECT_EQ(nxrt_execute(model, "add", inputs, outputs), NXRT_NOT_FOUND);
}

TEST(StatesByName, SurviveAFailedExecution) {
  // The command that fails comes after the one that writes the state's new value.
  ExecutableSpec spec;
  spec.addTestKernels();
  spec.requiredFeatures = {"state"};
  spec.states = {{"seen", DType::I64, {2}}};
  ProgramSpec &p = spec.addProgram();
  uint32_t two = p.constant(2), bytes = p.constant(16);
  uint32_t a = p.input("a", DType::I64, {two}), b = p.input("b", DType::I64, {two});
  p.input("seen", DType::I64, {two});
  uint32_t out = p.output("out", DType::I64, {two}), seen = p.output("seen", DType::I64, {two});
  p.states = {{0, 2, 1}};
  p.copy(a, seen, bytes);
  p.dispatch(Divide, {a, b, out}, {two});
  p.finish();
  Session session(1);
  LoadedModel model(spec);
  TensorSet inputs, outputs, tensors;
  tensors.add<int64_t>("value", {2}, {});
  inputs.add<int64_t>("a", {2}, {8, 9});
  inputs.add<int64_t>("b", {2}, {4, 3});
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  inputs.add<int64_t>("a", {2}, {6, 7});
  inputs.add<int64_t>("b", {2}, {1, 0});
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_EXECUTION_FAILED);
  ASSERT_EQ(nxrt_read_state(model, "seen", tensors.get("value")), NXRT_OK);
  EXPECT_EQ(tensors.values<int64_t>("value"), (std::vector<int64_t>{8, 9}));
}

//===-- Outputs
//-----------------------------------------------------------------------------------===

class AddModel : public testing::Test {
protected:
  AddModel() : model(addSpec()) {
    inputs.add<float>("a", {5}, {1, 2, 3, 4, 5});
    inputs.add<float>("b", {5}, {10, 20, 30, 40, 50});
  }
  const std::vector<float> want = {11, 22, 33, 44, 55};
  Session session{1};
  LoadedModel model;
  TensorSet inputs, outputs;
};

TEST_F(AddModel, OutputsAreReusedWhileTheirShapeStays) {
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  nxrt_tensor *first = outputs.get("out");
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(outputs.get("out"), first);
  inputs.add<float>("a", {2}, {1, 2});
  inputs.add<float>("b", {2}, {1, 2});
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(outputs.values<float>("out"), (std::vector<float>{2, 4}));
}

TEST_F(AddModel, GivenOutputsAreWrittenInPlace) {
  outputs.add<float>("out", {5}, {});
  nxrt_tensor *given = outputs.get("out");
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(outputs.get("out"), given);
  EXPECT_EQ(outputs.values<float>("out"), want);
}

TEST_F(AddModel, GivenOutputsMustFit) {
  outputs.add<float>("out", {6}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_SHAPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("output \"out\" is given as a tensor of shape [6]"));
  outputs.add<int64_t>("out", {5}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_DTYPE_MISMATCH);
  ASSERT_EQ(nxrt_tensor_set_remove(outputs, "out"), NXRT_OK);
  outputs.add<float>("other", {5}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_NOT_FOUND);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("no output \"other\"; it has: out."));
}

TEST_F(AddModel, OutputsMustNotShareMemory) {
  ASSERT_EQ(nxrt_tensor_set_add(outputs, "out", inputs.get("a")), NXRT_OK);
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_INVALID_ARGUMENT);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("shares memory with input \"a\""));
}

TEST_F(AddModel, MemoryOfAnyAlignment) {
  alignas(64) std::byte memory[3][128];
  const int64_t dims[] = {5};
  nxrt_tensor *tensors[3];
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(nxrt_tensor_create_empty(NXRT_DTYPE_F32, 1, dims, &tensors[i]), NXRT_OK);
    ASSERT_EQ(nxrt_tensor_attach(tensors[i], memory[i] + 4 * (i + 1), 20), NXRT_OK);
  }
  std::vector<float> a = {1, 2, 3, 4, 5}, b = {10, 20, 30, 40, 50};
  std::memcpy(memory[0] + 4, a.data(), 20);
  std::memcpy(memory[1] + 8, b.data(), 20);
  nxrt_tensor_set_add(inputs, "a", tensors[0]);
  nxrt_tensor_set_add(inputs, "b", tensors[1]);
  nxrt_tensor_set_add(outputs, "out", tensors[2]);
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(0, std::memcmp(memory[2] + 12, want.data(), 20));
  for (nxrt_tensor *tensor : tensors)
    nxrt_tensor_free(tensor);
}

//===-- Errors
//------------------------------------------------------------------------------------===

TEST_F(AddModel, WrongInputs) {
  TensorSet set;
  set.add<float>("a", {5}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, set, outputs), NXRT_NOT_FOUND);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("input \"b\" of entry point \"forward\" is missing"));
  set.add<float>("b", {4}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, set, outputs), NXRT_SHAPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("input \"b\" has the shape [4], the program wants [n]: "
                                           "dimension 0 must be 5"));
  set.add<float>("b", {5, 1}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, set, outputs), NXRT_SHAPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("its rank is 2, not 1"));
  set.add<int64_t>("b", {5}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, set, outputs), NXRT_DTYPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(),
              HasSubstr("input \"b\" is a tensor of i64, the program wants f32"));
  set.add<float>("b", {5}, {});
  set.add<float>("c", {5}, {});
  EXPECT_EQ(nxrt_execute(model, nullptr, set, outputs), NXRT_NOT_FOUND);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("no input \"c\"; it has: a, b."));
  EXPECT_EQ(nxrt_execute(model, "decode", inputs, outputs), NXRT_NOT_FOUND);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("no entry point \"decode\"; it has: forward"));
  nxrt_tensor *empty = nullptr;
  const int64_t dims[] = {5};
  ASSERT_EQ(nxrt_tensor_create_empty(NXRT_DTYPE_F32, 1, dims, &empty), NXRT_OK);
  nxrt_tensor_set_add(inputs, "a", empty);
  nxrt_tensor_free(empty);
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_INVALID_ARGUMENT);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("has no memory yet"));
}

TEST(ExecuteErrors, RangesAndChecks) {
  ExecutableSpec spec = addSpec();
  ProgramSpec &p = spec.programs[0];
  p.symbols[0].min = 4;
  p.symbols[0].max = 100;
  p.checks.push_back(
      {CheckKind::Divides, p.constant(4), 0, "n must be a multiple of 4 (node /Add)"});
  Session session(1);
  LoadedModel model(spec);
  auto run = [&](int64_t n) {
    TensorSet inputs, outputs;
    inputs.add<float>("a", {n}, ramp(n));
    inputs.add<float>("b", {n}, ramp(n));
    return nxrt_execute(model, nullptr, inputs, outputs);
  };
  EXPECT_EQ(run(8), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(run(3), NXRT_SHAPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("n is 3 and must be between 4 and 100"));
  EXPECT_EQ(run(101), NXRT_SHAPE_MISMATCH);
  EXPECT_EQ(run(6), NXRT_SHAPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(),
              HasSubstr("n must be a multiple of 4 (node /Add) (4 must divide 6)"));
}

TEST(ExecuteErrors, SizesThatNoSymbolGives) {
  // Inputs of 4 * n + 2 elements.
  ExecutableSpec spec;
  spec.addTestKernels();
  ProgramSpec &p = spec.addProgram();
  uint32_t n = p.dimSymbol("n", 0, 0);
  p.symbols[0].factor = 4;
  p.symbols[0].offset = 2;
  uint32_t size = p.op(ExprOp::Add, p.op(ExprOp::Mul, n, p.constant(4)), p.constant(2));
  uint32_t a = p.input("a", DType::F32, {size}), b = p.input("b", DType::F32, {size});
  p.dispatch(Add, {a, b, p.output("out", DType::F32, {size})}, {size});
  p.finish();
  Session session(1);
  LoadedModel model(spec);
  for (int64_t given : {2, 6, 42, 0, 5, 8}) {
    TensorSet inputs, outputs;
    inputs.add<float>("a", {given}, ramp(given));
    inputs.add<float>("b", {given}, ramp(given));
    bool fits = given >= 2 && given % 4 == 2;
    EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), fits ? NXRT_OK : NXRT_SHAPE_MISMATCH) << given;
    if (fits)
      EXPECT_EQ(outputs.shape("out"), std::vector<int64_t>{given});
    else
      EXPECT_THAT(nxrt_last_error(), HasSubstr("dimension 0 is " + std::to_string(given) + ", and no n makes it so"));
  }
}

TEST(ExecuteErrors, KernelsNameTheSourceNode) {
  Session session(2, 2);
  LoadedModel model(richSpec());
  TensorSet inputs, outputs;
  inputs.add<int64_t>("ids", {3}, {2, 16, 1});
  EXPECT_EQ(nxrt_execute(model, "forward", inputs, outputs), NXRT_EXECUTION_FAILED);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("an index is outside of its dimension in node "
                                           "/embed/Gather (kernel gather, code 1"));
  // The model is as good as before.
  inputs.add<int64_t>("ids", {3}, {2, 15, 1});
  EXPECT_EQ(nxrt_execute(model, "forward", inputs, outputs), NXRT_OK) << nxrt_last_error();
}

TEST(ExecuteErrors, TimeoutBetweenKernels) {
  ExecutableSpec spec;
  spec.addTestKernels();
  ProgramSpec &p = spec.addProgram();
  uint32_t rounds = p.dimSymbol("rounds", 0, 0);
  p.input("in", DType::U8, {rounds});
  uint32_t out = p.output("out", DType::U8, {p.constant(1)});
  for (int i = 0; i < 2000; ++i)
    p.dispatch(Delay, {out}, {rounds});
  p.finish();
  Session session(1, 1, /*timeoutMs=*/30);
  LoadedModel model(spec);
  TensorSet inputs, outputs;
  nxrt_tensor *in = nullptr;
  const int64_t dims[] = {1000000};
  ASSERT_EQ(nxrt_tensor_allocate(NXRT_DTYPE_U8, 1, dims, &in), NXRT_OK);
  nxrt_tensor_set_add(inputs, "in", in);
  nxrt_tensor_free(in);
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_TIMEOUT);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("timeout passed on rank 0"));
}

TEST(ExecuteErrors, TimeoutNamesTheMissingRank) {
  // Rank 1 works for long before the all_reduce.
  ExecutableSpec spec;
  spec.tp = 2;
  spec.addTestKernels();
  ProgramSpec &p = spec.addProgram();
  uint32_t rank = p.rankSymbol(), one = p.constant(1);
  uint32_t out = p.output("out", DType::I64, {one});
  uint32_t value = p.temp(p.constant(8));
  p.dispatch(Constant, {value}, {one, rank});
  p.dispatch(Delay, {value}, {p.mul(rank, p.constant(400000000))});
  CollectiveSpec sum = {CollectiveKind::AllReduce};
  sum.dtype = DType::I64;
  sum.src = value;
  sum.dst = out;
  sum.outer = sum.count = sum.inner = one;
  p.collective(sum);
  p.finish();
  Session session(2, 1, /*timeoutMs=*/60);
  LoadedModel model(spec);
  TensorSet inputs, outputs;
  EXPECT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_TIMEOUT);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("rank 0 waited for rank 1 at all_reduce"));
}

TEST(ExecuteErrors, MemoryBudget) {
  Session session(1, 1, 0, /*coreMemory=*/1 << 20);
  LoadedModel model(twoLayerSpec(1, 8, 8, 8));
  auto run = [&](int64_t batch) {
    TensorSet inputs, outputs;
    inputs.add<float>("x", {batch, 8}, ramp(batch * 8));
    return nxrt_execute(model, nullptr, inputs, outputs);
  };
  EXPECT_EQ(run(100), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(run(100000), NXRT_OUT_OF_MEMORY);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("budget 1048576 bytes"));
  EXPECT_EQ(run(100), NXRT_OK) << nxrt_last_error();
}

//===-- Shapes, profile, threads
//------------------------------------------------------------------===

TEST(Shapes, OutputShapesForInputShapes) {
  Session session(2);
  LoadedModel model(twoLayerSpec(2, 24, 48, 40));
  nxrt_shape in = {2, {9, 24}}, out = {};
  ASSERT_EQ(nxrt_get_output_shapes(model, nullptr, &in, 1, &out, 1), NXRT_OK) << nxrt_last_error();
  EXPECT_EQ(out.rank, 2u);
  EXPECT_EQ(out.dims[0], 9);
  EXPECT_EQ(out.dims[1], 40);
  in.dims[1] = 25;
  EXPECT_EQ(nxrt_get_output_shapes(model, nullptr, &in, 1, &out, 1), NXRT_SHAPE_MISMATCH);
  EXPECT_THAT(nxrt_last_error(), HasSubstr("dimension 1 must be 24"));
  EXPECT_EQ(nxrt_get_output_shapes(model, nullptr, &in, 1, &out, 2), NXRT_INVALID_ARGUMENT);
}

TEST(Profile, CountsCommandsOfEachRank) {
  Session session(2);
  LoadedModel model(twoLayerSpec(2, 24, 48, 40));
  TensorSet inputs, outputs;
  inputs.add<float>("x", {4, 24}, ramp(4 * 24));
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK);
  ASSERT_EQ(nxrt_profile_start(model), NXRT_OK);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK);
  ASSERT_EQ(nxrt_profile_stop(model), NXRT_OK);
  ASSERT_EQ(nxrt_execute(model, nullptr, inputs, outputs), NXRT_OK);
  uint32_t count = 0;
  ASSERT_EQ(nxrt_profile_get_count(model, &count), NXRT_OK);
  ASSERT_EQ(count, 6u);
  for (uint32_t i = 0; i < count; ++i) {
    NXRT_STRUCT(nxrt_profile_entry, entry);
    ASSERT_EQ(nxrt_profile_get(model, i, &entry), NXRT_OK);
    EXPECT_EQ(entry.rank, i / 3);
    EXPECT_EQ(entry.command, i % 3);
    EXPECT_EQ(entry.calls, 3u);
    EXPECT_LE(entry.min_ns, entry.max_ns);
    EXPECT_LE(entry.max_ns, entry.total_ns);
    EXPECT_STREQ(entry.entry, "forward");
    EXPECT_STREQ(entry.kind, i % 3 == 2 ? "all_reduce" : "dispatch");
    EXPECT_STREQ(entry.kernel, i % 3 == 2 ? "" : "matmul");
    EXPECT_STREQ(entry.sources, i % 3 == 0   ? "/layer0/MatMul"
                                : i % 3 == 1 ? "/layer1/MatMul"
                                             : "/layer1/Sum");
  }
  NXRT_STRUCT(nxrt_profile_entry, entry);
  EXPECT_EQ(nxrt_profile_get(model, count, &entry), NXRT_OUT_OF_RANGE);
}

TEST(Threads, ManyThreadsOnModelsThatShareCores) {
  Session session(3);
  ExecutableSpec spec = twoLayerSpec(2, 16, 32, 8);
  Bytes file = spec.build();
  LoadedModel first(file), second(file), third(file); // two of them share a core at least
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      nxrt_model *model = t % 3 == 0 ? first : t % 3 == 1 ? second : third;
      for (int i = 0; i < 30; ++i) {
        const int64_t batch = 1 + (t * 7 + i) % 40; // more sizes than the plan cache holds
        TensorSet inputs, outputs;
        std::vector<float> x = ramp(batch * 16, t + 1);
        inputs.add<float>("x", {batch, 16}, x);
        if (nxrt_execute(model, nullptr, inputs, outputs) != NXRT_OK) {
          ++failures;
          continue;
        }
        std::vector<float> got = outputs.values<float>("out"),
                           want = twoLayers(x, batch, 16, 32, 8);
        for (size_t j = 0; j < want.size(); ++j)
          if (std::abs(got[j] - want[j]) > 1e-3 * (1 + std::abs(want[j])))
            ++failures;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures.load(), 0);
}

} // namespace
