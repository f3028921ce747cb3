// Every way in which an executable can be broken: header fields, truncation, flipped bits, and each
// field of each table with a wrong value.
#include "nxrt/kernel_abi.h"
#include "runtime/loader/code_image.h"
#include "runtime/loader/executable_file.h"
#include "test/runtime/support/ExecutableBuilder.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace nxtest;
using nxrt::ExecutableFile;
using nxrt::NxeHeader;
using nxrt::Status;
using testing::HasSubstr;

namespace {

Status open(const Bytes &bytes, ExecutableFile::Weights weights = ExecutableFile::Weights::Verify) {
  std::unique_ptr<ExecutableFile> file;
  Status status = ExecutableFile::copy(bytes.data(), bytes.size(), weights, file);
  EXPECT_EQ(status.ok(), file != nullptr);
  return status;
}

/// A refusal of the format with a sentence that says what to do.
void expectRefused(const Status &status, const std::string &what) {
  EXPECT_TRUE(status.code() == NXRT_INVALID_FILE || status.code() == NXRT_UNSUPPORTED)
      << what << ": " << nxrt_status_string(status.code()) << " " << status.message();
  EXPECT_GT(status.message().size(), 20u) << what;
}

TEST(GoodFiles, AreAccepted) {
  for (const ExecutableSpec &spec : {richSpec(), addSpec(), twoLayerSpec(4, 8, 16, 8)}) {
    Status status = open(spec.build());
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(GoodFiles, AreDeterministic) { EXPECT_EQ(richSpec().build(), richSpec().build()); }

//===-- Header
//------------------------------------------------------------------------------------===

struct HeaderCase {
  const char *name;
  void (*change)(NxeHeader &);
  bool repair; // the checksum of the header is made right again
  nxrt_status status;
  const char *message;
};

TEST(Header, EachField) {
  const Bytes good = richSpec().build();
  const HeaderCase cases[] = {
      {"magic", [](NxeHeader &h) { h.magic[0] = 'E'; }, true, NXRT_INVALID_FILE, "mark"},
      {"magic's text mode guard", [](NxeHeader &h) { h.magic[4] = '\n'; }, true, NXRT_INVALID_FILE,
       "mark"},
      {"major", [](NxeHeader &h) { ++h.major; }, true, NXRT_UNSUPPORTED, "format version 2.0"},
      {"minor", [](NxeHeader &h) { ++h.minor; }, false, NXRT_INVALID_FILE, "header is corrupted"},
      {"header size, small", [](NxeHeader &h) { h.headerSize = 55; }, true, NXRT_INVALID_FILE,
       "header gives itself"},
      {"header size, large", [](NxeHeader &h) { h.headerSize = 1 << 30; }, true, NXRT_INVALID_FILE,
       "header gives itself"},
      {"total size, more", [](NxeHeader &h) { h.totalSize += 1; }, true, NXRT_INVALID_FILE,
       "truncated"},
      {"total size, less", [](NxeHeader &h) { h.totalSize -= 1; }, true, NXRT_INVALID_FILE,
       "appended"},
      {"program's offset, odd", [](NxeHeader &h) { h.flatbufferOffset += 4; }, true,
       NXRT_INVALID_FILE, "places the program"},
      {"program's offset, beyond", [](NxeHeader &h) { h.flatbufferOffset = 1ull << 40; }, true,
       NXRT_INVALID_FILE, "places the program"},
      {"program's size, beyond", [](NxeHeader &h) { h.flatbufferSize = UINT64_MAX - 8; }, true,
       NXRT_INVALID_FILE, "places the program"},
      {"program's size, none", [](NxeHeader &h) { h.flatbufferSize = 0; }, true, NXRT_INVALID_FILE,
       ""},
      {"program's checksum", [](NxeHeader &h) { ++h.flatbufferChecksum; }, false, NXRT_INVALID_FILE,
       "header is corrupted"},
      {"header's checksum", [](NxeHeader &h) { ++h.headerChecksum; }, false, NXRT_INVALID_FILE,
       "header is corrupted"},
  };
  for (const HeaderCase &test : cases) {
    Bytes bytes = good;
    NxeHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    test.change(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    if (test.repair)
      repairChecksums(bytes);
    Status status = open(bytes);
    EXPECT_EQ(status.code(), test.status) << test.name << ": " << status.message();
    EXPECT_THAT(status.message(), HasSubstr(test.message)) << test.name;
  }
}

TEST(Header, AnotherMinorVersionIsRead) {
  Bytes bytes = richSpec().build();
  NxeHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.minor = 7;
  std::memcpy(bytes.data(), &header, sizeof header);
  repairChecksums(bytes);
  Status status = open(bytes);
  EXPECT_TRUE(status.ok()) << status.message();
}

//===-- Bytes
//-------------------------------------------------------------------------------------===

TEST(Bytes, TruncationAnywhereIsRefused) {
  const ::Bytes good = richSpec().build();
  auto cut = [&](size_t size) {
    expectRefused(open(::Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size))),
                  "cut to " + std::to_string(size));
  };
  for (size_t size = 0; size < 128; ++size)
    cut(size);
  for (size_t size = 1024; size < good.size(); size += 1024)
    cut(size);
  cut(good.size() - 1);
  ::Bytes longer = good;
  longer.push_back(std::byte{0});
  expectRefused(open(longer), "appended byte");
}

TEST(Bytes, EveryFlippedBitIsRefused) {
  ExecutableSpec spec = richSpec();
  spec.segments[0].bytes.resize(5000);
  const ::Bytes good = spec.build();
  auto flip = [&](size_t bit) {
    ::Bytes bytes = good;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    expectRefused(open(bytes), "bit " + std::to_string(bit));
  };
  for (size_t bit = 0; bit < 8 * sizeof(NxeHeader); ++bit)
    flip(bit);
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i)
    flip(random() % (8 * good.size()));
}

TEST(Bytes, FlippedBitsBehindRightChecksumsDoNotCrash) {
  // What a wrong compiler could write: the checksums fit, the tables don't.
  ExecutableSpec spec = richSpec();
  spec.segments[0].bytes.resize(64); // code is not looked into here, and would only take time
  const ::Bytes good = spec.build();
  NxeHeader header;
  std::memcpy(&header, good.data(), sizeof header);
  std::mt19937_64 random(2);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    ::Bytes bytes = good;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      size_t bit = 8 * header.flatbufferOffset + random() % (8 * header.flatbufferSize);
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
    repairChecksums(bytes);
    refused += !open(bytes).ok();
  }
  EXPECT_GT(refused, 5000);
}

TEST(Bytes, WeightsAreCheckedOnRequest) {
  ExecutableSpec spec = richSpec();
  for (SegmentSpec &segment : spec.segments)
    segment.wrongChecksum = segment.name == "weights/rank1";
  ::Bytes bytes = spec.build();
  EXPECT_TRUE(open(bytes, ExecutableFile::Weights::Trust).ok());
  Status status = open(bytes, ExecutableFile::Weights::Verify);
  EXPECT_EQ(status.code(), NXRT_INVALID_FILE);
  EXPECT_THAT(status.message(), HasSubstr("segment \"weights/rank1\" is corrupted"));
}

TEST(Bytes, CodeIsAlwaysChecked) {
  ExecutableSpec spec = richSpec();
  spec.segments[0].wrongChecksum = true;
  Status status = open(spec.build(), ExecutableFile::Weights::Trust);
  EXPECT_EQ(status.code(), NXRT_INVALID_FILE);
  EXPECT_THAT(status.message(), HasSubstr("segment \"code/test\" is corrupted"));
}

//===-- Tables
//------------------------------------------------------------------------------------===

struct TableCase {
  const char *name;
  void (*change)(ExecutableSpec &);
  const char *message;
  nxrt_status status = NXRT_INVALID_FILE;
};

/// What a test's name may hold of a case's.
std::string caseName(const testing::TestParamInfo<TableCase> &info) {
  std::string name;
  for (char c : std::string(info.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

void PrintTo(const TableCase &test, std::ostream *out) { *out << test.name; }

template <typename E> E unknown() { return static_cast<E>(static_cast<int>(E::MAX) + 1); }
constexpr uint32_t kFar = 4000000000u;

DispatchSpec &dispatchOf(ExecutableSpec &spec, size_t command) {
  return std::get<DispatchSpec>(spec.programs[0].commands[command].body);
}
CollectiveSpec &collectiveOf(ExecutableSpec &spec, size_t command) {
  return std::get<CollectiveSpec>(spec.programs[0].commands[command].body);
}
/// The first buffer of a kind.
BufferSpec &bufferOf(ExecutableSpec &spec, BufferKind kind, size_t program = 0) {
  for (BufferSpec &buffer : spec.programs[program].buffers)
    if (buffer.kind == kind)
      return buffer;
  std::abort();
}
uint32_t indexOf(const ExecutableSpec &spec, BufferKind kind) {
  for (uint32_t i = 0;; ++i)
    if (spec.programs[0].buffers[i].kind == kind)
      return i;
}

// richSpec's commands: 0 gather, 1 fill, 2 add, 3 all_reduce, 4 copy, 5 constant, 6 all_gather.
const TableCase kTableCases[] = {
    {"file identifier", [](auto &s) { s.fileIdentifier = "XXXX"; }, "tables are malformed"},
    {"tp 0", [](auto &s) { s.tp = 0; }, "tensor-parallel degree"},
    {"tp 65", [](auto &s) { s.tp = 65; }, "tensor-parallel degree"},
    {"tp without parts", [](auto &s) { s.tp = 3; }, "one part for each rank"},
    {"required feature", [](auto &s) { s.requiredFeatures = {"time-travel"}; }, "time-travel",
     NXRT_UNSUPPORTED},
    {"option without value", [](auto &s) { s.pairWithoutValue = true; }, "options"},

    {"segment without name", [](auto &s) { s.segments[0].name = ""; }, "name is missing"},
    {"segment twice", [](auto &s) { s.segments[1].name = s.segments[0].name; }, "occurs twice"},
    {"segment unaligned", [](auto &s) { s.segments[1].offset = 4097; }, "aligned range"},
    {"segment beyond", [](auto &s) { s.segments[1].offset = int64_t{1} << 50; }, "aligned range"},
    {"segment too large", [](auto &s) { s.segments[1].size = INT64_MAX; }, "aligned range"},
    {"segment over the header", [](auto &s) { s.segments[1].offset = 0; }, "overlaps"},
    {"segment over another", [](auto &s) { s.segments[1].offset = 8192; }, "overlaps"},

    {"code arch", [](auto &s) { s.code[0].arch = unknown<nx::fb::Arch>(); }, "architecture"},
    {"code cpu", [](auto &s) { s.code[0].cpu = ""; }, "CPU has no name"},
    {"code feature", [](auto &s) { s.code[0].features = {""}; }, "feature has no name"},
    {"code segment", [](auto &s) { s.code[0].segment = kFar; }, "segment does not exist"},
    {"code in weights", [](auto &s) { s.code[0].segment = 1; }, "holds code"},
    {"no code", [](auto &s) { s.code.clear(); }, "kernels but no code"},

    {"kernel name", [](auto &s) { s.kernels[0].name = ""; }, "name is missing"},
    {"kernel twice", [](auto &s) { s.kernels[1].name = "add"; }, "occurs twice"},
    {"kernel slots", [](auto &s) { s.kernels[0].dimSlots = 257; }, "size slots"},
    {"kernel operands 0", [](auto &s) { s.kernels[0].operands = 0; }, "operands"},
    {"kernel operands", [](auto &s) { s.kernels[0].operands = 1025; }, "operands"},

    {"param name", [](auto &s) { s.params[0].name = ""; }, "name is missing"},
    {"param dtype", [](auto &s) { s.params[0].dtype = unknown<DType>(); }, "element type"},
    {"param dtype invalid", [](auto &s) { s.params[0].dtype = DType::Invalid; }, "element type"},
    {"param dims", [](auto &s) { s.params[0].dims = {-1}; }, "negative"},
    {"param dims overflow",
     [](auto &s) { s.params[0].dims = {int64_t{1} << 40, int64_t{1} << 40}; }, "too large"},
    {"param bytes overflow", [](auto &s) { s.params[0].dims = {INT64_MAX}; }, "too large"},
    {"param part missing", [](auto &s) { s.params[0].parts.pop_back(); }, "one part for each rank"},
    {"param segment", [](auto &s) { s.params[0].parts[0].segment = kFar; }, "does not exist"},
    {"param in code", [](auto &s) { s.params[0].parts[0].segment = 0; }, "holds code"},
    {"param unaligned", [](auto &s) { s.params[0].parts[0].offset = 32; }, "aligned range"},
    {"param offset", [](auto &s) { s.params[0].parts[0].offset = uint64_t{1} << 63; },
     "aligned range"},
    {"param bytes", [](auto &s) { s.params[0].parts[1].bytes += 1; }, "aligned range"},

    {"no program", [](auto &s) { s.programs.clear(); }, "no program"},
    {"program name", [](auto &s) { s.programs[0].name = ""; }, "name is missing"},
    {"program twice", [](auto &s) { s.programs[1].name = "forward"; }, "occurs twice"},

    {"symbol name", [](auto &s) { s.programs[0].symbols[0].name = ""; }, "name is missing"},
    {"symbol source", [](auto &s) { s.programs[0].symbols[0].source = unknown<SymbolSource>(); },
     "source is unknown"},
    {"symbol input", [](auto &s) { s.programs[0].symbols[0].input = 1; }, "input dimension"},
    {"symbol dim", [](auto &s) { s.programs[0].symbols[0].dim = 1; }, "input dimension"},
    {"symbol min", [](auto &s) { s.programs[0].symbols[0].min = -1; }, "range"},
    {"symbol factor", [](auto &s) { s.programs[0].symbols[0].factor = 0; }, "factor or offset"},
    {"symbol offset", [](auto &s) { s.programs[0].symbols[0].offset = INT64_MIN; }, "factor or offset"},
    {"symbol max", [](auto &s) { s.programs[0].symbols[0].max = 0; }, "range"},

    {"expression op",
     [](auto &s) { s.programs[0].exprs[2] = nx::fb::Expr(1, 0, 0, unknown<ExprOp>()); },
     "operation is unknown"},
    {"expression symbol",
     [](auto &s) { s.programs[0].exprs[2] = nx::fb::Expr(2, 0, 0, ExprOp::Symbol); },
     "symbol does not exist"},
    {"expression symbol negative",
     [](auto &s) { s.programs[0].exprs[2] = nx::fb::Expr(-1, 0, 0, ExprOp::Symbol); },
     "symbol does not exist"},
    {"expression of itself",
     [](auto &s) { s.programs[0].exprs[2] = nx::fb::Expr(0, 2, 0, ExprOp::Add); },
     "later expression"},
    {"expression of a later one",
     [](auto &s) { s.programs[0].exprs[2] = nx::fb::Expr(0, 0, kFar, ExprOp::Add); },
     "later expression"},
    {"constant division by zero",
     [](auto &s) {
       uint32_t zero = s.programs[0].constant(0);
       s.programs[0].op(ExprOp::FloorDiv, zero, zero);
     },
     "divides by zero"},
    {"constant overflow",
     [](auto &s) {
       uint32_t big = s.programs[0].constant(INT64_MAX);
       s.programs[0].mul(big, big);
     },
     "overflows"},

    {"input name", [](auto &s) { s.programs[0].inputs[0].name = ""; }, "name is missing"},
    {"input dtype", [](auto &s) { s.programs[0].inputs[0].dtype = unknown<DType>(); },
     "element type"},
    {"input dims", [](auto &s) { s.programs[0].inputs[0].dims = {kFar}; }, "does not exist"},
    {"input rank", [](auto &s) { s.programs[0].inputs[0].dims.resize(17, 2); }, "rank is greater"},
    {"output name twice", [](auto &s) { s.programs[0].outputs[1].name = "out"; }, "occurs twice"},
    {"output dtype", [](auto &s) { s.programs[0].outputs[0].dtype = DType::Invalid; },
     "element type"},
    {"output shape of the rank", [](auto &s) { s.programs[0].outputs[0].dims = {1}; },
     "depends on the rank"},

    {"check kind", [](auto &s) { s.programs[0].checks[0].kind = unknown<CheckKind>(); },
     "kind is unknown"},
    {"check lhs", [](auto &s) { s.programs[0].checks[0].lhs = kFar; }, "does not exist"},
    {"check rhs", [](auto &s) { s.programs[0].checks[0].rhs = kFar; }, "does not exist"},

    {"buffer kind", [](auto &s) { bufferOf(s, BufferKind::Temp).kind = unknown<BufferKind>(); },
     "kind is unknown"},
    {"buffer input", [](auto &s) { bufferOf(s, BufferKind::Input).index = 1; }, "input does not"},
    {"buffer output", [](auto &s) { bufferOf(s, BufferKind::Output).index = 2; },
     "output does not"},
    {"buffer output twice", [](auto &s) { bufferOf(s, BufferKind::Output).index = 1; },
     "another buffer"},
    {"output without buffer",
     [](auto &s) { s.programs[0].outputs.push_back({"third", DType::F32, {}}); }, "no buffer"},
    {"buffer param", [](auto &s) { bufferOf(s, BufferKind::Param).index = 1; }, "parameter does"},
    {"buffer bytes", [](auto &s) { bufferOf(s, BufferKind::Temp).bytes = kFar; }, "does not exist"},
    {"buffer first", [](auto &s) { bufferOf(s, BufferKind::Temp).first = 3; }, "lifetime"},
    {"buffer last", [](auto &s) { bufferOf(s, BufferKind::Temp).last = 7; }, "lifetime"},
    {"buffer used before its life",
     [](auto &s) { s.programs[0].buffers[dispatchOf(s, 2).operands[2]].first = 3; },
     "outside of its lifetime"},
    {"buffer used after its life through a view",
     [](auto &s) { s.programs[0].buffers[dispatchOf(s, 2).operands[2]].last = 3; },
     "outside of its lifetime"},
    {"buffer arena offset", [](auto &s) { bufferOf(s, BufferKind::Temp).arenaOffset = -2; },
     "negative"},
    {"arena offset without arena", [](auto &s) { bufferOf(s, BufferKind::Temp).arenaOffset = 0; },
     "either all temporaries"},
    {"view of itself",
     [](auto &s) { bufferOf(s, BufferKind::View).index = indexOf(s, BufferKind::View); },
     "later buffer"},
    {"view's offset", [](auto &s) { bufferOf(s, BufferKind::View).offset = kFar; },
     "does not exist"},

    {"arena bytes", [](auto &s) { s.programs[1].arenaBytes = -2; }, "negative size"},
    {"arena too small", [](auto &s) { s.programs[1].arenaBytes = 511; }, "range of the arena"},
    {"arena without places", [](auto &s) { s.programs[0].arenaBytes = 1 << 20; },
     "either all temporaries"},
    {"arena offset unaligned", [](auto &s) { bufferOf(s, BufferKind::Temp, 1).arenaOffset = 8; },
     "range of the arena"},
    {"arena offset beyond",
     [](auto &s) { bufferOf(s, BufferKind::Temp, 1).arenaOffset = INT64_MAX / 64 * 64; },
     "range of the arena"},
    {"arena overlap", [](auto &s) { bufferOf(s, BufferKind::Temp, 1).arenaOffset = 192; },
     "overlaps buffer"},

    {"command without body", [](auto &s) { s.programs[0].commands[0].body = std::monostate(); },
     "empty"},
    {"command location", [](auto &s) { s.programs[0].commands[0].locations = {2}; },
     "source location"},
    {"dispatch kernel", [](auto &s) { dispatchOf(s, 0).kernel = KernelCount; }, "kernel does not"},
    {"dispatch operands", [](auto &s) { dispatchOf(s, 0).operands.pop_back(); }, "operands as its"},
    {"dispatch operand", [](auto &s) { dispatchOf(s, 0).operands[0] = kFar; }, "does not exist"},
    {"dispatch dims", [](auto &s) { dispatchOf(s, 0).dims.push_back(0); }, "slots"},
    {"dispatch dim", [](auto &s) { dispatchOf(s, 0).dims[0] = kFar; }, "does not exist"},

    {"collective kind", [](auto &s) { collectiveOf(s, 3).kind = unknown<CollectiveKind>(); },
     "collective is unknown"},
    {"collective reduce", [](auto &s) { collectiveOf(s, 3).reduce = unknown<ReduceKind>(); },
     "reduction is unknown"},
    {"collective dtype", [](auto &s) { collectiveOf(s, 3).dtype = unknown<DType>(); },
     "element type"},
    {"collective sum of bool",
     [](auto &s) {
       collectiveOf(s, 3).dtype = DType::Bool;
       collectiveOf(s, 3).reduce = ReduceKind::Sum;
     },
     "not defined for bool"},
    {"collective sum of f8", [](auto &s) { collectiveOf(s, 3).dtype = DType::F8E4M3FN; },
     "not defined for f8e4m3fn"},
    {"collective src", [](auto &s) { collectiveOf(s, 3).src = kFar; }, "does not exist"},
    {"collective dst", [](auto &s) { collectiveOf(s, 3).dst = kFar; }, "does not exist"},
    {"collective into an input",
     [](auto &s) { collectiveOf(s, 3).dst = indexOf(s, BufferKind::Input); }, "writes to an input"},
    {"collective into a parameter",
     [](auto &s) { collectiveOf(s, 3).dst = indexOf(s, BufferKind::Param); }, "writes to an input"},
    {"all_gather in place", [](auto &s) { collectiveOf(s, 6).dst = collectiveOf(s, 6).src; },
     "in place"},
    {"collective outer", [](auto &s) { collectiveOf(s, 3).outer = kFar; }, "does not exist"},
    {"collective count", [](auto &s) { collectiveOf(s, 3).count = kFar; }, "does not exist"},
    {"collective inner", [](auto &s) { collectiveOf(s, 3).inner = kFar; }, "does not exist"},
    {"collective size of the rank", [](auto &s) { collectiveOf(s, 3).count = 1; },
     "depends on the rank"},
    {"all_to_all dst_count",
     [](auto &s) {
       collectiveOf(s, 6).kind = CollectiveKind::AllToAll;
       collectiveOf(s, 6).dstCount = kFar;
     },
     "does not exist"},
    {"broadcast root",
     [](auto &s) {
       collectiveOf(s, 6).kind = CollectiveKind::Broadcast;
       collectiveOf(s, 6).root = 2;
     },
     "root is not a rank"},
    {"permute sources",
     [](auto &s) {
       collectiveOf(s, 6).kind = CollectiveKind::Permute;
       collectiveOf(s, 6).sources = {0};
     },
     "one source for each rank"},
    {"permute source",
     [](auto &s) {
       collectiveOf(s, 6).kind = CollectiveKind::Permute;
       collectiveOf(s, 6).sources = {0, 2};
     },
     "source is not a rank"},

    {"copy src", [](auto &s) { std::get<CopySpec>(s.programs[0].commands[4].body).src = kFar; },
     "does not exist"},
    {"copy dst",
     [](auto &s) {
       std::get<CopySpec>(s.programs[0].commands[4].body).dst = indexOf(s, BufferKind::Input);
     },
     "writes to an input"},
    {"copy bytes", [](auto &s) { std::get<CopySpec>(s.programs[0].commands[4].body).bytes = kFar; },
     "does not exist"},
    {"fill dst", [](auto &s) { std::get<FillSpec>(s.programs[0].commands[1].body).dst = kFar; },
     "does not exist"},
    {"fill pattern",
     [](auto &s) { std::get<FillSpec>(s.programs[0].commands[1].body).pattern.clear(); },
     "pattern"},
    {"fill pattern too long",
     [](auto &s) { std::get<FillSpec>(s.programs[0].commands[1].body).pattern.resize(65); },
     "pattern"},
};

class Tables : public testing::TestWithParam<TableCase> {};

TEST_P(Tables, AreRefused) {
  ExecutableSpec spec = richSpec();
  GetParam().change(spec);
  Status status = open(spec.build());
  EXPECT_EQ(status.code(), GetParam().status) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(EachField, Tables, testing::ValuesIn(kTableCases), caseName);

const TableCase kStateCases[] = {
    {"state name", [](auto &s) { s.states[0].name = ""; }, "name is missing"},
    {"state twice", [](auto &s) { s.states[1].name = "total"; }, "occurs twice"},
    {"state dtype", [](auto &s) { s.states[0].dtype = unknown<DType>(); }, "not possible"},
    {"state dims", [](auto &s) { s.states[0].dims = {-4}; }, "not possible"},
    {"state rank", [](auto &s) { s.states[0].dims.assign(17, 1); }, "rank is greater"},
    {"state param", [](auto &s) { s.states[0].param = 1; }, "parameter does not exist"},
    {"state param -2", [](auto &s) { s.states[0].param = -2; }, "parameter does not exist"},
    {"state param size", [](auto &s) { s.states[0].dims = {3}; }, "another size"},
    {"use of no state", [](auto &s) { s.programs[0].states[0].state = 2; }, "does not exist"},
    {"use twice", [](auto &s) { s.programs[0].states[1].state = 0; }, "same state"},
    {"use input", [](auto &s) { s.programs[0].states[0].input = 0; }, "does not follow the inputs"},
    {"use output", [](auto &s) { s.programs[0].states[0].output = 0; },
     "does not follow the outputs"},
    {"use output far", [](auto &s) { s.programs[0].states[1].output = 3; },
     "does not follow the outputs"},
    {"use type", [](auto &s) { s.states[1].dtype = DType::F64; }, "type is not that"},
    {"use shape", [](auto &s) { s.states[1].dims = {2, 2}; }, "type is not that"},
    {"more uses than inputs", [](auto &s) { s.programs[1].states.resize(3, {0, 0}); },
     "more states than inputs"},
    {"symbol of a state",
     [](auto &s) { s.programs[0].symbols.push_back({"n", 1, 0}); }, "input dimension"},
};

class StateTables : public testing::TestWithParam<TableCase> {};

TEST_P(StateTables, AreRefused) {
  ExecutableSpec spec = stateSpec();
  GetParam().change(spec);
  Status status = open(spec.build());
  EXPECT_EQ(status.code(), GetParam().status) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(EachField, StateTables, testing::ValuesIn(kStateCases), caseName);

//===-- Code images
//-------------------------------------------------------------------------------===

TEST(CodeImages, TestKernelsLoad) {
  ::Bytes image = testKernelImage();
  nxrt::CodeImage code;
  Status status = code.load(image, KernelCount);
  ASSERT_TRUE(status.ok()) << status.message();
  const int64_t dims[] = {1000};
  EXPECT_EQ(code.kernel(Add).tiles(dims), 4);
}

TEST(CodeImages, WrongNumberOfKernels) {
  ::Bytes image = testKernelImage();
  nxrt::CodeImage code;
  EXPECT_EQ(code.load(image, KernelCount + 1).code(), NXRT_INVALID_FILE);
}

TEST(CodeImages, LibrariesWithImportsAreRefused) {
  // The test itself is no closed image, nor is its object file or a text.
  std::FILE *file = std::fopen("/proc/self/exe", "rb");
  ASSERT_NE(file, nullptr);
  ::Bytes self(1 << 20);
  self.resize(std::fread(self.data(), 1, self.size(), file));
  std::fclose(file);
  nxrt::CodeImage code;
  Status status = code.map(self);
  EXPECT_EQ(status.code(), NXRT_INVALID_FILE);
  EXPECT_THAT(status.message(), HasSubstr("code image is refused"));
}

TEST(CodeImages, TruncationIsRefused) {
  const ::Bytes good = testKernelImage();
  for (size_t size = 0; size < good.size(); size += 64) {
    nxrt::CodeImage code;
    Status status = code.map(std::span(good).first(size));
    if (size < 4096) { // what follows the last segment is not needed
      EXPECT_EQ(status.code(), NXRT_INVALID_FILE) << size;
    }
  }
}

TEST(CodeImages, FlippedBitsDoNotCrashTheLoader) {
  const ::Bytes good = testKernelImage();
  std::mt19937_64 random(3);
  for (int i = 0; i < 3000; ++i) {
    ::Bytes bytes = good;
    size_t limit = i % 2 ? 1024 : bytes.size(); // headers and tables are in front
    size_t bit = random() % (8 * limit);
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    nxrt::CodeImage code;
    Status status = code.map(bytes);
    if (!status.ok()) {
      EXPECT_GT(status.message().size(), 20u);
    }
  }
}

TEST(SelectCode, ExplainsWhatIsMissing) {
  ExecutableSpec spec = addSpec();
  auto select = [&](uint32_t &index) {
    ::Bytes bytes = spec.build();
    std::unique_ptr<ExecutableFile> file;
    Status status =
        ExecutableFile::copy(bytes.data(), bytes.size(), ExecutableFile::Weights::Trust, file);
    EXPECT_TRUE(status.ok()) << status.message();
    return nxrt::selectCode(file->root(), index);
  };
  uint32_t index = 7;
  EXPECT_TRUE(select(index).ok());
  EXPECT_EQ(index, 0u);

  // A better object that the machine cannot run, then one that it can.
  CodeSpec better = spec.code[0];
  better.cpu = "future";
  better.priority = 9;
  better.features = {"sse2", "avx9000"};
  spec.code.push_back(better);
  EXPECT_TRUE(select(index).ok());
  EXPECT_EQ(index, 0u);
  better.features = {};
  better.priority = 8;
  spec.code.push_back(better);
  EXPECT_TRUE(select(index).ok());
  EXPECT_EQ(index, 2u);

  spec.code = {spec.code[1], spec.code[1]};
  spec.code[1].arch =
      spec.code[0].arch == nx::fb::Arch::X86_64 ? nx::fb::Arch::AArch64 : nx::fb::Arch::X86_64;
  Status status = select(index);
  EXPECT_EQ(status.code(), NXRT_TARGET_MISMATCH);
  EXPECT_THAT(status.message(), HasSubstr("future needs avx9000"));
  EXPECT_THAT(status.message(), HasSubstr("The machine has: "));

  for (CodeSpec &code : spec.code)
    code.abi = NXRT_KERNEL_ABI_VERSION + 1;
  status = select(index);
  EXPECT_EQ(status.code(), NXRT_UNSUPPORTED);
  EXPECT_THAT(status.message(), HasSubstr("has kernel ABI 2, not 1"));
}

} // namespace
