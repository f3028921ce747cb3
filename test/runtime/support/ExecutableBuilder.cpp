#include "test/runtime/support/ExecutableBuilder.h"

#include "nxrt/kernel_abi.h"
#include "runtime/platform/checksum.h"
#include "runtime/platform/dtype.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace nxtest {

using namespace nx::fb;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using nxrt::NxeHeader;

//===-- Programs
//----------------------------------------------------------------------------------===

uint32_t ProgramSpec::constant(int64_t value) {
  exprs.emplace_back(value, 0u, 0u, ExprOp::Const);
  return static_cast<uint32_t>(exprs.size() - 1);
}
uint32_t ProgramSpec::symbolValue(uint32_t symbol) {
  exprs.emplace_back(int64_t{symbol}, 0u, 0u, ExprOp::Symbol);
  return static_cast<uint32_t>(exprs.size() - 1);
}
uint32_t ProgramSpec::op(ExprOp op, uint32_t lhs, uint32_t rhs) {
  exprs.emplace_back(0, lhs, rhs, op);
  return static_cast<uint32_t>(exprs.size() - 1);
}
uint32_t ProgramSpec::dimSymbol(const std::string &symbolName, uint32_t input, uint32_t dim,
                                int64_t min, int64_t max) {
  symbols.push_back({symbolName, input, dim, min, max, SymbolSource::InputDim});
  return symbolValue(static_cast<uint32_t>(symbols.size() - 1));
}
uint32_t ProgramSpec::rankSymbol() {
  symbols.push_back({"rank", 0, 0, 0, INT64_MAX, SymbolSource::Rank});
  return symbolValue(static_cast<uint32_t>(symbols.size() - 1));
}

uint32_t ProgramSpec::bytesOf(DType dtype, const std::vector<uint32_t> &dims) {
  uint32_t bytes = constant(nxrt::dtypeBits(static_cast<int>(dtype)) / 8);
  for (uint32_t dim : dims)
    bytes = mul(bytes, dim);
  return bytes;
}
uint32_t ProgramSpec::input(const std::string &inputName, DType dtype, std::vector<uint32_t> dims) {
  inputs.push_back({inputName, dtype, dims});
  BufferSpec buffer = {BufferKind::Input};
  buffer.index = static_cast<uint32_t>(inputs.size() - 1);
  buffer.bytes = bytesOf(dtype, dims);
  buffers.push_back(buffer);
  return static_cast<uint32_t>(buffers.size() - 1);
}
uint32_t ProgramSpec::output(const std::string &outputName, DType dtype,
                             std::vector<uint32_t> dims) {
  outputs.push_back({outputName, dtype, dims});
  BufferSpec buffer = {BufferKind::Output};
  buffer.index = static_cast<uint32_t>(outputs.size() - 1);
  buffer.bytes = bytesOf(dtype, dims);
  buffers.push_back(buffer);
  return static_cast<uint32_t>(buffers.size() - 1);
}
uint32_t ProgramSpec::param(uint32_t index, uint32_t bytes) {
  BufferSpec buffer = {BufferKind::Param};
  buffer.index = index;
  buffer.bytes = bytes;
  buffers.push_back(buffer);
  return static_cast<uint32_t>(buffers.size() - 1);
}
uint32_t ProgramSpec::temp(uint32_t bytes) {
  BufferSpec buffer = {BufferKind::Temp};
  buffer.bytes = bytes;
  buffers.push_back(buffer);
  return static_cast<uint32_t>(buffers.size() - 1);
}
uint32_t ProgramSpec::view(uint32_t parent, uint32_t bytes, uint32_t offset) {
  BufferSpec buffer = {BufferKind::View};
  buffer.index = parent;
  buffer.bytes = bytes;
  buffer.offset = offset;
  buffers.push_back(buffer);
  return static_cast<uint32_t>(buffers.size() - 1);
}

CommandSpec &ProgramSpec::dispatch(uint32_t kernel, std::vector<uint32_t> operands,
                                   std::vector<uint32_t> dims) {
  commands.push_back({DispatchSpec{kernel, std::move(operands), std::move(dims)}, {}});
  return commands.back();
}
CommandSpec &ProgramSpec::collective(CollectiveSpec collective) {
  commands.push_back({std::move(collective), {}});
  return commands.back();
}
CommandSpec &ProgramSpec::copy(uint32_t src, uint32_t dst, uint32_t bytes) {
  commands.push_back({CopySpec{src, dst, bytes}, {}});
  return commands.back();
}
CommandSpec &ProgramSpec::fill(uint32_t dst, std::vector<uint8_t> pattern) {
  commands.push_back({FillSpec{dst, std::move(pattern)}, {}});
  return commands.back();
}

static std::vector<uint32_t> usesOf(const CommandSpec &command) {
  if (auto *dispatch = std::get_if<DispatchSpec>(&command.body))
    return dispatch->operands;
  if (auto *collective = std::get_if<CollectiveSpec>(&command.body))
    return {collective->src, collective->dst};
  if (auto *copy = std::get_if<CopySpec>(&command.body))
    return {copy->src, copy->dst};
  if (auto *fill = std::get_if<FillSpec>(&command.body))
    return {fill->dst};
  return {};
}

void ProgramSpec::finish() {
  std::vector<bool> seen(buffers.size(), false);
  for (uint32_t i = 0; i < commands.size(); ++i)
    for (uint32_t buffer : usesOf(commands[i])) {
      while (buffers[buffer].kind == BufferKind::View)
        buffer = buffers[buffer].index;
      if (!seen[buffer])
        buffers[buffer].first = i;
      seen[buffer] = true;
      buffers[buffer].last = i;
    }
}

//===-- Files
//-------------------------------------------------------------------------------------===

void ExecutableSpec::addTestKernels() {
  kernels = {{"add", 1, 3},     {"matmul", 3, 3},   {"gather", 3, 3}, {"prefix", 2, 2},
             {"nothing", 1, 1}, {"constant", 2, 1}, {"delay", 1, 1},  {"divide", 1, 3}};
  segments.push_back({"code/test", testKernelImage()});
#if defined(__x86_64__)
  Arch arch = Arch::X86_64;
  std::vector<std::string> features = {"sse2"};
#else
  Arch arch = Arch::AArch64;
  std::vector<std::string> features = {"asimd"};
#endif
  code.push_back({arch, "test-cpu", features, NXRT_KERNEL_ABI_VERSION,
                  static_cast<uint32_t>(segments.size() - 1), 1});
}

uint32_t ExecutableSpec::addParam(const std::string &name, std::vector<int64_t> dims,
                                  const std::vector<std::vector<float>> &parts) {
  ParamSpec param = {name, DType::F32, std::move(dims), {}};
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    std::string segmentName = "weights/rank" + std::to_string(rank);
    auto found = std::find_if(segments.begin(), segments.end(),
                              [&](const SegmentSpec &s) { return s.name == segmentName; });
    if (found == segments.end())
      found = segments.insert(segments.end(), {segmentName, {}});
    Bytes &bytes = found->bytes;
    bytes.resize((bytes.size() + 63) / 64 * 64);
    const size_t offset = bytes.size(), size = parts[rank].size() * sizeof(float);
    bytes.resize(offset + size);
    if (size)
      std::memcpy(bytes.data() + offset, parts[rank].data(), size);
    param.parts.push_back({static_cast<uint32_t>(found - segments.begin()), offset, size});
  }
  params.push_back(std::move(param));
  return static_cast<uint32_t>(params.size() - 1);
}

ProgramSpec &ExecutableSpec::addProgram(const std::string &name) {
  programs.emplace_back();
  programs.back().name = name;
  return programs.back();
}

static Offset<Program> writeProgram(FlatBufferBuilder &fbb, const ProgramSpec &spec) {
  // An empty name stands for a missing one.
  auto text = [&](const std::string &value) {
    return value.empty() ? Offset<flatbuffers::String>() : fbb.CreateString(value);
  };
  std::vector<Offset<Symbol>> symbols;
  for (const SymbolSpec &s : spec.symbols)
    symbols.push_back(CreateSymbol(fbb, text(s.name), s.input, s.dim, s.min, s.max, s.source, s.factor, s.offset));
  auto signatures = [&](const std::vector<SignatureSpec> &specs) {
    std::vector<Offset<Signature>> result;
    for (const SignatureSpec &s : specs)
      result.push_back(CreateSignature(fbb, text(s.name), s.dtype, fbb.CreateVector(s.dims)));
    return fbb.CreateVector(result);
  };
  auto inputs = signatures(spec.inputs), outputs = signatures(spec.outputs);
  std::vector<Offset<Check>> checks;
  for (const CheckSpec &c : spec.checks)
    checks.push_back(CreateCheck(fbb, c.kind, c.lhs, c.rhs, text(c.message)));
  std::vector<Offset<Buffer>> buffers;
  for (const BufferSpec &b : spec.buffers)
    buffers.push_back(
        CreateBuffer(fbb, b.kind, b.index, b.bytes, b.offset, b.first, b.last, b.arenaOffset));
  std::vector<Offset<Command>> commands;
  for (const CommandSpec &c : spec.commands) {
    CommandBody kind = CommandBody::NONE;
    Offset<void> body;
    if (auto *d = std::get_if<DispatchSpec>(&c.body)) {
      kind = CommandBody::Dispatch;
      body =
          CreateDispatch(fbb, d->kernel, fbb.CreateVector(d->operands), fbb.CreateVector(d->dims))
              .Union();
    } else if (auto *x = std::get_if<CollectiveSpec>(&c.body)) {
      kind = CommandBody::Collective;
      body = CreateCollective(fbb, x->kind, x->reduce, x->dtype, x->src, x->dst, x->outer, x->count,
                              x->inner, x->dstOuter, x->dstCount, x->dstInner, x->root,
                              fbb.CreateVector(x->sources))
                 .Union();
    } else if (auto *copy = std::get_if<CopySpec>(&c.body)) {
      kind = CommandBody::Copy;
      body = CreateCopy(fbb, copy->src, copy->dst, copy->bytes).Union();
    } else if (auto *fill = std::get_if<FillSpec>(&c.body)) {
      kind = CommandBody::Fill;
      body = CreateFill(fbb, fill->dst, fbb.CreateVector(fill->pattern)).Union();
    }
    commands.push_back(CreateCommand(fbb, kind, body, fbb.CreateVector(c.locations)));
  }
  std::vector<Offset<StateUse>> states;
  for (const StateUseSpec &s : spec.states)
    states.push_back(CreateStateUse(fbb, s.state, s.input, s.output));
  return CreateProgram(fbb, text(spec.name), fbb.CreateVector(symbols),
                       fbb.CreateVectorOfStructs(spec.exprs), inputs, outputs,
                       fbb.CreateVector(checks), fbb.CreateVector(buffers),
                       fbb.CreateVector(commands), spec.arenaBytes, fbb.CreateVector(states));
}

static uint64_t alignTo(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// The tables, with the segments from `segmentBase` on.
static std::vector<uint8_t> writeTables(const ExecutableSpec &spec, uint64_t segmentBase) {
  FlatBufferBuilder fbb;
  auto text = [&](const std::string &value) {
    return value.empty() ? Offset<flatbuffers::String>() : fbb.CreateString(value);
  };
  std::vector<Offset<Segment>> segments;
  uint64_t place = segmentBase;
  for (const SegmentSpec &s : spec.segments) {
    place = alignTo(place, nxrt::kNxeSegmentAlign);
    uint64_t sum = nxrt::checksum(s.bytes.data(), s.bytes.size()) + s.wrongChecksum;
    segments.push_back(
        CreateSegment(fbb, text(s.name), s.offset >= 0 ? static_cast<uint64_t>(s.offset) : place,
                      s.size >= 0 ? static_cast<uint64_t>(s.size) : s.bytes.size(), sum));
    place += s.bytes.size();
  }
  std::vector<Offset<CodeObject>> code;
  for (const CodeSpec &c : spec.code)
    code.push_back(CreateCodeObject(fbb, c.arch, text(c.cpu), fbb.CreateVectorOfStrings(c.features),
                                    c.abi, c.segment, c.priority));
  std::vector<Offset<Kernel>> kernels;
  for (const KernelSpec &k : spec.kernels)
    kernels.push_back(
        CreateKernel(fbb, text(k.name), k.dimSlots, k.operands, fbb.CreateString("loops")));
  std::vector<Offset<Param>> params;
  for (const ParamSpec &p : spec.params) {
    std::vector<Offset<ParamPart>> parts;
    for (const PartSpec &part : p.parts)
      parts.push_back(CreateParamPart(fbb, part.segment, part.offset, part.bytes));
    params.push_back(CreateParam(fbb, text(p.name), p.dtype, fbb.CreateVector(p.dims),
                                 fbb.CreateString(""), fbb.CreateString("replicated"),
                                 fbb.CreateVector(parts)));
  }
  std::vector<Offset<Program>> programs;
  for (const ProgramSpec &p : spec.programs)
    programs.push_back(writeProgram(fbb, p));
  std::vector<Offset<KeyValue>> options = {CreateKeyValue(
      fbb, fbb.CreateString("tp"),
      spec.pairWithoutValue ? Offset<flatbuffers::String>() : fbb.CreateString("1"))};
  std::vector<Offset<State>> states;
  for (const StateSpec &s : spec.states)
    states.push_back(CreateState(fbb, text(s.name), s.dtype, fbb.CreateVector(s.dims), s.param));
  auto root =
      CreateExecutable(fbb, text(spec.producer), fbb.CreateVector(options), text(spec.modelName),
                       text(spec.modelHash), spec.tp,
                       fbb.CreateVectorOfStrings(spec.requiredFeatures), fbb.CreateVector(segments),
                       fbb.CreateVector(code), fbb.CreateVector(kernels), fbb.CreateVector(params),
                       fbb.CreateVector(programs), fbb.CreateVectorOfStrings(spec.locations), 0,
                       fbb.CreateVector(states));
  fbb.Finish(root, spec.fileIdentifier.c_str());
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

static void writeHeader(Bytes &file, uint64_t flatbufferSize) {
  NxeHeader header = {};
  std::memcpy(header.magic, nxrt::kNxeMagic, sizeof header.magic);
  header.major = nxrt::kNxeMajor;
  header.minor = nxrt::kNxeMinor;
  header.headerSize = sizeof header;
  header.totalSize = file.size();
  header.flatbufferOffset = sizeof header;
  header.flatbufferSize = flatbufferSize;
  std::memcpy(file.data(), &header, sizeof header);
  repairChecksums(file);
}

Bytes ExecutableSpec::build() const {
  // Scalars that hold their default are left out, so that the size may depend on the offsets:
  // write until it stays the same.
  std::vector<uint8_t> tables = writeTables(*this, 0);
  for (size_t size = 0; size != tables.size();) {
    size = tables.size();
    tables = writeTables(*this, sizeof(NxeHeader) + size);
  }
  Bytes file(sizeof(NxeHeader) + tables.size());
  std::memcpy(file.data() + sizeof(NxeHeader), tables.data(), tables.size());
  for (const SegmentSpec &segment : segments) {
    file.resize(alignTo(file.size(), nxrt::kNxeSegmentAlign));
    file.insert(file.end(), segment.bytes.begin(), segment.bytes.end());
  }
  writeHeader(file, tables.size());
  return file;
}

void repairChecksums(Bytes &file) {
  NxeHeader header;
  if (file.size() < sizeof header)
    return;
  std::memcpy(&header, file.data(), sizeof header);
  if (header.flatbufferOffset <= file.size() &&
      header.flatbufferSize <= file.size() - header.flatbufferOffset)
    header.flatbufferChecksum =
        nxrt::checksum(file.data() + header.flatbufferOffset, header.flatbufferSize);
  header.headerChecksum = nxrt::checksum(&header, offsetof(NxeHeader, headerChecksum));
  std::memcpy(file.data(), &header, sizeof header);
}

ExecutableSpec stateSpec(uint32_t tp) {
  ExecutableSpec spec;
  spec.addTestKernels();
  spec.requiredFeatures = {"state"};
  spec.tp = tp;
  std::vector<std::vector<float>> parts(tp, {10, 20, 30, 40});
  const auto first = static_cast<int32_t>(spec.addParam("total.first", {4}, parts));
  spec.states = {{"total", DType::F32, {4}, first}, {"last", DType::F32, {4}}};

  ProgramSpec &add = spec.addProgram("add");
  uint32_t four = add.constant(4), bytes = add.constant(16);
  uint32_t x = add.input("x", DType::F32, {four});
  uint32_t total = add.input("total", DType::F32, {four});
  add.input("last", DType::F32, {four});
  uint32_t out = add.output("out", DType::F32, {four});
  uint32_t newTotal = add.output("total", DType::F32, {four});
  uint32_t newLast = add.output("last", DType::F32, {four});
  add.states = {{0, 1, 1}, {1, 2, 2}};
  add.dispatch(Add, {x, total, out}, {four});
  add.copy(out, newTotal, bytes);
  add.copy(x, newLast, bytes);
  add.finish();

  ProgramSpec &peek = spec.addProgram("peek");
  four = peek.constant(4);
  uint32_t last = peek.input("last", DType::F32, {four});
  total = peek.input("total", DType::F32, {four});
  out = peek.output("out", DType::F32, {four});
  peek.states = {{1, 0}, {0, 1}};
  peek.dispatch(Add, {total, last, out}, {four});
  peek.finish();
  return spec;
}

Bytes testKernelImage() {
  Bytes bytes;
  std::FILE *file = std::fopen(NX_TEST_KERNELS, "rb");
  if (!file) {
    std::perror(NX_TEST_KERNELS);
    std::abort();
  }
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    auto *begin = reinterpret_cast<const std::byte *>(buffer);
    bytes.insert(bytes.end(), begin, begin + count);
  }
  std::fclose(file);
  return bytes;
}

TemporaryFile::TemporaryFile(const Bytes &bytes) {
  char path[] = "/tmp/nx-test-XXXXXX";
  int file = mkstemp(path);
  name = path;
  for (size_t done = 0; file >= 0 && done < bytes.size();) {
    ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  if (file >= 0)
    close(file);
}
TemporaryFile::~TemporaryFile() { unlink(name.c_str()); }

//===-- Executables
//-------------------------------------------------------------------------------===

float weight(int64_t row, int64_t column) {
  return static_cast<float>((row * 7 + column * 3) % 11 - 5) / 8;
}

ExecutableSpec twoLayerSpec(uint32_t tp, int64_t K, int64_t H, int64_t N) {
  ExecutableSpec spec;
  spec.tp = tp;
  spec.addTestKernels();
  spec.locations = {"/layer0/MatMul", "/layer1/MatMul", "/layer1/Sum"};
  const int64_t part = H / tp;
  std::vector<std::vector<float>> first(tp), second(tp);
  for (uint32_t rank = 0; rank < tp; ++rank) {
    for (int64_t k = 0; k < K; ++k)
      for (int64_t h = 0; h < part; ++h)
        first[rank].push_back(weight(k, rank * part + h));
    for (int64_t h = 0; h < part; ++h)
      for (int64_t n = 0; n < N; ++n)
        second[rank].push_back(weight(rank * part + h + 7, n));
  }
  uint32_t w1 = spec.addParam("layer0.weight", {K, H}, first);
  uint32_t w2 = spec.addParam("layer1.weight", {H, N}, second);

  ProgramSpec &p = spec.addProgram();
  uint32_t batch = p.dimSymbol("batch", 0, 0, 1);
  uint32_t k = p.constant(K), h = p.constant(part), n = p.constant(N), one = p.constant(1);
  uint32_t x = p.input("x", DType::F32, {batch, k});
  uint32_t out = p.output("out", DType::F32, {batch, n});
  uint32_t w1Buffer = p.param(w1, p.bytesOf(DType::F32, {k, h}));
  uint32_t w2Buffer = p.param(w2, p.bytesOf(DType::F32, {h, n}));
  uint32_t hidden = p.temp(p.bytesOf(DType::F32, {batch, h}));
  uint32_t partial = p.temp(p.bytesOf(DType::F32, {batch, n}));
  p.dispatch(Matmul, {x, w1Buffer, hidden}, {batch, k, h}).locations = {0};
  p.dispatch(Matmul, {hidden, w2Buffer, partial}, {batch, h, n}).locations = {1};
  CollectiveSpec sum = {CollectiveKind::AllReduce};
  sum.src = partial;
  sum.dst = out;
  sum.outer = one;
  sum.count = batch;
  sum.inner = n;
  p.collective(sum).locations = {2};
  p.finish();
  return spec;
}

ExecutableSpec addSpec() {
  ExecutableSpec spec;
  spec.addTestKernels();
  spec.locations = {"/Add"};
  ProgramSpec &p = spec.addProgram();
  uint32_t n = p.dimSymbol("n", 0, 0, 0, 1 << 24);
  uint32_t a = p.input("a", DType::F32, {n});
  uint32_t b = p.input("b", DType::F32, {n});
  uint32_t out = p.output("out", DType::F32, {n});
  p.dispatch(Add, {a, b, out}, {n}).locations = {0};
  p.finish();
  return spec;
}

ExecutableSpec richSpec() {
  ExecutableSpec spec;
  spec.tp = 2;
  spec.addTestKernels();
  spec.locations = {"/embed/Gather", "/Add"};
  std::vector<float> table(16 * 4);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = static_cast<float>(i);
  uint32_t embedding = spec.addParam("embed.weight", {16, 4}, {table, table});

  ProgramSpec &p = spec.addProgram("forward");
  uint32_t n = p.dimSymbol("n", 0, 0, 1, 4096);
  uint32_t rank = p.rankSymbol();
  uint32_t one = p.constant(1), rows = p.constant(16), width = p.constant(4);
  uint32_t ids = p.input("ids", DType::I64, {n});
  uint32_t out = p.output("out", DType::F32, {n, width});
  uint32_t ranks = p.output("ranks", DType::I64, {p.constant(2)});
  uint32_t tableBuffer = p.param(embedding, p.bytesOf(DType::F32, {rows, width}));
  uint32_t rowBytes = p.bytesOf(DType::F32, {n, width});
  uint32_t gathered = p.temp(rowBytes), zeros = p.temp(rowBytes), sum = p.temp(rowBytes);
  uint32_t mine = p.temp(p.constant(8));
  uint32_t sumView = p.view(sum, rowBytes, p.constant(0));
  uint32_t elements = p.mul(n, width);
  p.checks.push_back({CheckKind::LessEqual, n, p.constant(4096), "at most 4096 ids"});
  p.dispatch(Gather, {ids, tableBuffer, gathered}, {n, rows, width}).locations = {0};
  p.fill(zeros, {0, 0, 0, 0});
  p.dispatch(Add, {gathered, zeros, sum}, {elements}).locations = {1};
  CollectiveSpec max = {CollectiveKind::AllReduce, ReduceKind::Max};
  max.src = max.dst = sumView;
  max.outer = one;
  max.count = n;
  max.inner = width;
  p.collective(max);
  p.copy(sumView, out, rowBytes);
  p.dispatch(Constant, {mine}, {one, rank});
  CollectiveSpec gather = {CollectiveKind::AllGather};
  gather.dtype = DType::I64;
  gather.src = mine;
  gather.dst = ranks;
  gather.outer = gather.count = gather.inner = one;
  p.collective(gather);
  p.finish();

  ProgramSpec &q = spec.addProgram("static");
  uint32_t size = q.constant(64), bytes = q.constant(256);
  uint32_t a = q.input("a", DType::F32, {size});
  uint32_t result = q.output("out", DType::F32, {size});
  uint32_t t0 = q.temp(bytes), t1 = q.temp(bytes);
  q.dispatch(Add, {a, a, t0}, {size}).locations = {1};
  q.dispatch(Add, {t0, a, t1}, {size}).locations = {1};
  q.dispatch(Add, {t0, t1, result}, {size}).locations = {1};
  q.finish();
  q.buffers[t0].arenaOffset = 0;
  q.buffers[t1].arenaOffset = 256;
  q.arenaBytes = 512;
  return spec;
}

} // namespace nxtest
