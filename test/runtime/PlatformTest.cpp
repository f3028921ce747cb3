// Environment variables, log, features, size expressions, plans.
#include "runtime/executor/expressions.h"
#include "runtime/executor/plan.h"
#include "runtime/platform/cpu_features.h"
#include "runtime/platform/environment.h"
#include "runtime/platform/log.h"
#include "test/runtime/support/ExecutableBuilder.h"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace nxrt;
using namespace nxtest;
using testing::HasSubstr;

namespace {

TEST(Environment, TheTableIsInTheOrderOfTheEnumeration) {
  size_t index = 0;
  for (const VariableInfo &info : environmentTable()) {
    EXPECT_EQ(static_cast<size_t>(info.variable), index++);
    EXPECT_EQ(std::string(info.name).substr(0, 5), "NXRT_");
    EXPECT_TRUE(*info.values && *info.defaultValue && *info.meaning);
  }
}

TEST(Environment, Numbers) {
  uint64_t value = 5;
  unsetenv("NXRT_NUM_CORES");
  EXPECT_TRUE(readNumber(Variable::NumCores, 1, 10, value).ok());
  EXPECT_EQ(value, 5u);
  setenv("NXRT_NUM_CORES", "7", 1);
  EXPECT_TRUE(readNumber(Variable::NumCores, 1, 10, value).ok());
  EXPECT_EQ(value, 7u);
  for (const char *bad : {"0", "11", "-1", "x", "7x", " 7", "99999999999999999999", "0x7"}) {
    setenv("NXRT_NUM_CORES", bad, 1);
    Status status = readNumber(Variable::NumCores, 1, 10, value);
    EXPECT_EQ(status.code(), NXRT_INVALID_ARGUMENT) << bad;
    EXPECT_THAT(status.message(), HasSubstr("NXRT_NUM_CORES is"));
  }
  EXPECT_EQ(value, 7u);
  unsetenv("NXRT_NUM_CORES");
}

TEST(Environment, SizesAndSeconds) {
  uint64_t value = 0;
  const std::pair<const char *, uint64_t> sizes[] = {
      {"123", 123}, {"4K", 4096}, {"2M", 2 << 20}, {"1G", 1 << 30}, {"3t", uint64_t{3} << 40}};
  for (auto [text, want] : sizes) {
    setenv("NXRT_CORE_MEMORY", text, 1);
    EXPECT_TRUE(readSize(Variable::CoreMemory, value).ok()) << text;
    EXPECT_EQ(value, want);
  }
  for (const char *bad : {"K", "1X", "18446744073709551615K", "-5", "1KB"}) {
    setenv("NXRT_CORE_MEMORY", bad, 1);
    EXPECT_FALSE(readSize(Variable::CoreMemory, value).ok()) << bad;
  }
  unsetenv("NXRT_CORE_MEMORY");
  const std::pair<const char *, uint64_t> times[] = {{"0", 0}, {"2", 2000}, {"0.25", 250}};
  for (auto [text, want] : times) {
    setenv("NXRT_EXEC_TIMEOUT", text, 1);
    EXPECT_TRUE(readSeconds(Variable::ExecTimeout, value).ok()) << text;
    EXPECT_EQ(value, want);
  }
  for (const char *bad : {"-1", "inf", "nan", "1e99", "2s"}) {
    setenv("NXRT_EXEC_TIMEOUT", bad, 1);
    EXPECT_FALSE(readSeconds(Variable::ExecTimeout, value).ok()) << bad;
  }
  unsetenv("NXRT_EXEC_TIMEOUT");
}

TEST(Log, WritesToAFileFromALevelOn) {
  char path[] = "/tmp/nxrt-log-XXXXXX";
  close(mkstemp(path));
  ASSERT_TRUE(openLog(NXRT_LOG_INFO, path).ok());
  log(NXRT_LOG_INFO, "number %d", 7);
  log(NXRT_LOG_DEBUG, "not this");
  closeLog();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("info: number 7\n"));
  EXPECT_THAT(text.str(), testing::Not(HasSubstr("not this")));
  unlink(path);
  EXPECT_EQ(openLog(NXRT_LOG_INFO, "/proc/none/log").code(), NXRT_IO_ERROR);
}

TEST(Features, NamesOfBothKinds) {
#if defined(__x86_64__)
  EXPECT_TRUE(machineHas("sse2") && machineHas("sse4_2") == machineHas("sse4.2"));
  EXPECT_EQ(machineHas("avx512_vnni"), machineHas("avx512vnni"));
  EXPECT_EQ(machineHas("abm"), machineHas("lzcnt"));
#else
  EXPECT_TRUE(machineHas("asimd") && machineHas("neon"));
#endif
  EXPECT_FALSE(machineHas("avx9000"));
  EXPECT_FALSE(machineHas(""));
  // What the kernel tells users must be what we find.
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    std::istringstream words(line);
    std::vector<std::string> flags;
    for (std::string word; words >> word;)
      flags.push_back(word);
    for (const char *name : {"avx2", "fma", "avx512f", "avx512_vnni", "f16c", "bmi2", "amx_int8",
                             "asimd", "asimddp", "i8mm", "sve"}) {
      bool listed = std::find(flags.begin(), flags.end(), name) != flags.end();
      EXPECT_EQ(machineHas(name), listed) << name;
    }
    break;
  }
}

TEST(Expressions, Operations) {
  int64_t r = 0;
  EXPECT_TRUE(evaluateOp(ExprOp::FloorDiv, -7, 2, r) && r == -4);
  EXPECT_TRUE(evaluateOp(ExprOp::FloorDiv, 7, 2, r) && r == 3);
  EXPECT_TRUE(evaluateOp(ExprOp::CeilDiv, 7, 2, r) && r == 4);
  EXPECT_TRUE(evaluateOp(ExprOp::CeilDiv, -7, 2, r) && r == -3);
  EXPECT_TRUE(evaluateOp(ExprOp::Mod, -7, 3, r) && r == 2);
  EXPECT_TRUE(evaluateOp(ExprOp::Max, -7, 3, r) && r == 3);
  EXPECT_TRUE(evaluateOp(ExprOp::Min, -7, 3, r) && r == -7);
  for (ExprOp op : {ExprOp::FloorDiv, ExprOp::CeilDiv, ExprOp::Mod}) {
    EXPECT_FALSE(evaluateOp(op, 1, 0, r));
    EXPECT_FALSE(evaluateOp(op, 1, -1, r));
  }
  EXPECT_FALSE(evaluateOp(ExprOp::Add, INT64_MAX, 1, r));
  EXPECT_FALSE(evaluateOp(ExprOp::Mul, INT64_MAX, 2, r));
}

/// Opens a spec's program for planning.
struct Opened {
  explicit Opened(const ExecutableSpec &spec) : bytes(spec.build()) {
    Status status =
        ExecutableFile::copy(bytes.data(), bytes.size(), ExecutableFile::Weights::Verify, file);
    EXPECT_TRUE(status.ok()) << status.message();
    status = code.load(file->segment(0), KernelCount);
    EXPECT_TRUE(status.ok()) << status.message();
    context = {&file->root(), file->root().programs()->Get(0), &code, false};
  }
  Bytes bytes;
  std::unique_ptr<ExecutableFile> file;
  CodeImage code;
  ProgramContext context;
};

TEST(Expressions, Text) {
  ExecutableSpec spec = addSpec();
  ProgramSpec &p = spec.programs[0];
  uint32_t n = 0, two = p.constant(2), minus = p.constant(-1);
  uint32_t twice = p.mul(two, n);
  uint32_t exprs[] = {n,
                      twice,
                      p.add(twice, p.constant(1)),
                      p.add(n, minus),
                      p.mul(p.add(n, minus), n),
                      p.op(ExprOp::CeilDiv, n, two)};
  Opened opened(spec);
  const char *texts[] = {"n", "2*n", "2*n+1", "n-1", "(n-1)*n", "ceildiv(n, 2)"};
  for (size_t i = 0; i < std::size(exprs); ++i)
    EXPECT_EQ(expressionText(*opened.context.program, exprs[i]), texts[i]);
}

TEST(Plans, AreCachedBySizes) {
  Opened opened(twoLayerSpec(1, 4, 8, 4));
  PlanCache cache;
  auto get = [&](int64_t batch) {
    std::shared_ptr<const Plan> plan;
    int64_t symbols[] = {batch};
    Status status = cache.get(opened.context, symbols, plan);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
  };
  auto first = get(3);
  EXPECT_EQ(get(3), first);
  EXPECT_NE(get(4), first);
  EXPECT_EQ(get(3), first);
  for (int64_t batch = 100; batch < 100 + static_cast<int64_t>(PlanCache::kCapacity); ++batch)
    get(batch);
  EXPECT_NE(get(3), first); // was the least recently used one
  EXPECT_EQ(first->ranks[0].steps[0].tiles, 3);
  EXPECT_EQ(first->outputs[0].dims[0], 3);
}

struct PlanCase {
  const char *name;
  void (*change)(ExecutableSpec &);
  const char *message;
};

TEST(Plans, WrongSizesAreRefused) {
  // Sizes that only show once the symbols have values.
  const PlanCase cases[] = {
      {"input", [](ExecutableSpec &s) { s.programs[0].buffers[0].bytes = 0; }, "size of its input"},
      {"output", [](ExecutableSpec &s) { s.programs[0].buffers[1].bytes = 0; },
       "size of its output"},
      {"parameter",
       [](ExecutableSpec &s) { s.programs[0].buffers[2].bytes = s.programs[0].constant(1000); },
       "larger than its parameter"},
      {"negative",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         p.buffers[4].bytes = p.mul(0, p.constant(-1));
       },
       "size is negative"},
      {"view",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         p.view(4, 0, p.mul(0, p.constant(100)));
       },
       "reaches beyond"},
      {"view before",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         p.view(4, 0, p.constant(-1));
       },
       "reaches beyond"},
      {"copy",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         p.copy(4, 1, p.constant(1 << 20));
         p.finish();
       },
       "copies more than"},
      {"copy onto itself",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         p.copy(4, 4, p.constant(4));
         p.finish();
       },
       "overlap"},
      {"fill",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         p.fill(1, {1, 2, 3, 4, 5});
         p.finish();
       },
       "pattern does not fit"},
      {"collective",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         std::get<CollectiveSpec>(p.commands[2].body).inner = p.constant(5);
       },
       "buffers are too small"},
      {"kernel",
       [](ExecutableSpec &s) {
         ProgramSpec &p = s.programs[0];
         std::get<DispatchSpec>(p.commands[0].body).dims[0] = p.constant(-3);
       },
       "-3 tiles"},
  };
  for (const PlanCase &test : cases) {
    ExecutableSpec spec = twoLayerSpec(1, 4, 8, 4);
    test.change(spec);
    Opened opened(spec);
    Plan plan;
    int64_t symbols[] = {3};
    Status status = makePlan(opened.context, symbols, plan);
    EXPECT_EQ(status.code(), NXRT_INVALID_FILE) << test.name;
    EXPECT_THAT(status.message(), HasSubstr(test.message)) << test.name;
  }
}

TEST(Plans, HugeSizesAreRefused) {
  Opened opened(twoLayerSpec(1, 4, 8, 4));
  for (int64_t batch : {int64_t{1} << 62, int64_t{1} << 58, INT64_MAX}) {
    Plan plan;
    int64_t symbols[] = {batch};
    EXPECT_FALSE(makePlan(opened.context, symbols, plan).ok()) << batch;
  }
}

} // namespace
