#include "runtime/loader/program_verifier.h"

#include "runtime/executor/binding.h"
#include "runtime/executor/expressions.h"
#include "runtime/memory/tensor.h"
#include "runtime/platform/dtype.h"
#include "runtime/platform/pages.h"
#include "runtime/schema/nxe_format.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

namespace nxrt {

using namespace nx::fb;

// Far beyond what a compiler makes; they bound the memory that a file can make the runtime use.
static constexpr uint32_t kMaxDimSlots = 256;
static constexpr uint32_t kMaxOperands = 1024;

/// Features that a file may require of its loader. A schema change that old loaders must not ignore
/// adds its name here.
static constexpr std::array<std::string_view, 1> kKnownFeatures = {"state"};

static Status malformed(const std::string &where, const std::string &what) {
  return makeError(NXRT_INVALID_FILE,
                   "%s: %s. The file does not follow the format: recompile the model.",
                   where.c_str(), what.c_str());
}

template <typename T> static uint32_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

template <typename E> static bool isKnown(E value, E last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
}

/// FlatBuffers' verifier checks where a vector begins and ends, not that its elements are aligned.
template <typename V> static bool isAligned(const V *vector, size_t alignment) {
  return !vector || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignment == 0;
}

/// Names of one table: present and unique.
class Names {
public:
  Status add(const std::string &where, const flatbuffers::String *name) {
    if (!name || name->size() == 0)
      return malformed(where, "a name is missing");
    if (!names.insert(name->string_view()).second)
      return malformed(where, "the name \"" + name->str() + "\" occurs twice");
    return {};
  }

private:
  std::unordered_set<std::string_view> names;
};

static Status verifyPairs(const char *where,
                          const flatbuffers::Vector<flatbuffers::Offset<KeyValue>> *pairs) {
  for (uint32_t i = 0; i < sizeOf(pairs); ++i)
    if (!pairs->Get(i)->key() || !pairs->Get(i)->value())
      return malformed(where, "a key or value is missing");
  return {};
}

namespace {

/// Verifies one program. `tp` is the executable's degree.
class ProgramVerifier {
public:
  ProgramVerifier(const Executable &executable, const Program &program)
      : executable(executable), program(program), tp(executable.tp_degree()),
        name("program \"" + program.name()->str() + "\"") {}

  Status verify() {
    NXRT_TRY(verifySymbols());
    NXRT_TRY(verifyExprs());
    depends = dependences(program);
    NXRT_TRY(verifySignatures("input", program.inputs()));
    NXRT_TRY(verifySignatures("output", program.outputs()));
    NXRT_TRY(verifyStates());
    NXRT_TRY(verifySymbolSources());
    NXRT_TRY(verifyChecks());
    NXRT_TRY(verifyBuffers());
    NXRT_TRY(verifyCommands());
    return verifyArena();
  }

private:
  std::string at(const char *kind, uint32_t index) const {
    return name + ", " + kind + " " + std::to_string(index);
  }

  Status verifySymbols() {
    Names names;
    for (uint32_t i = 0; i < sizeOf(program.symbols()); ++i) {
      const Symbol &symbol = *program.symbols()->Get(i);
      NXRT_TRY(names.add(at("symbol", i), symbol.name()));
      if (!isKnown(symbol.source(), SymbolSource::MAX))
        return malformed(at("symbol", i), "its source is unknown");
      if (symbol.min() < 0 || symbol.min() > symbol.max())
        return malformed(at("symbol", i), "its range is empty or negative");
      constexpr int64_t limit = int64_t{1} << 40;
      if (symbol.factor() < 1 || symbol.factor() > limit || symbol.offset() < -limit ||
          symbol.offset() > limit)
        return malformed(at("symbol", i), "its factor or offset makes no sense");
    }
    return {};
  }

  Status verifyExprs() {
    if (!isAligned(program.exprs(), alignof(Expr)))
      return malformed(at("expression", 0), "the list is not aligned");
    for (uint32_t i = 0; i < sizeOf(program.exprs()); ++i) {
      const Expr &expr = *program.exprs()->Get(i);
      if (!isKnown(expr.op(), ExprOp::MAX))
        return malformed(at("expression", i), "its operation is unknown");
      if (expr.op() == ExprOp::Symbol) {
        if (expr.value() < 0 || expr.value() >= sizeOf(program.symbols()))
          return malformed(at("expression", i), "its symbol does not exist");
      } else if (expr.op() != ExprOp::Const && (expr.lhs() >= i || expr.rhs() >= i)) {
        return malformed(at("expression", i), "it refers to a later expression");
      }
    }
    return {};
  }

  /// An index of an expression. With `sameOnRanks` its value must not depend on the rank.
  Status verifyExpr(const std::string &where, uint32_t index, bool sameOnRanks) {
    if (index >= depends.size())
      return malformed(where, "expression " + std::to_string(index) + " does not exist");
    if (sameOnRanks && depends[index] & DependsOnRank)
      return malformed(where, "a size that must be equal on all ranks depends on the rank");
    return {};
  }

  Status verifySignatures(const char *kind,
                          const flatbuffers::Vector<flatbuffers::Offset<Signature>> *signatures) {
    Names names;
    for (uint32_t i = 0; i < sizeOf(signatures); ++i) {
      const Signature &signature = *signatures->Get(i);
      NXRT_TRY(names.add(at(kind, i), signature.name()));
      if (!isDType(static_cast<int>(signature.dtype())))
        return malformed(at(kind, i), "its element type is unknown");
      if (sizeOf(signature.dims()) > NXRT_MAX_RANK)
        return malformed(at(kind, i), "its rank is greater than " + std::to_string(NXRT_MAX_RANK));
      for (uint32_t d = 0; d < sizeOf(signature.dims()); ++d)
        NXRT_TRY(verifyExpr(at(kind, i), signature.dims()->Get(d), /*sameOnRanks=*/true));
    }
    return {};
  }

  Status verifySymbolSources() {
    for (uint32_t i = 0; i < sizeOf(program.symbols()); ++i) {
      const Symbol &symbol = *program.symbols()->Get(i);
      if (symbol.source() != SymbolSource::InputDim)
        continue;
      if (symbol.input() >= callerInputs(program) ||
          symbol.dim() >= sizeOf(program.inputs()->Get(symbol.input())->dims()))
        return malformed(at("symbol", i), "the input dimension that it stands for does not exist");
    }
    return {};
  }

  /// An input or output that holds a state has its type and shape.
  Status verifyStateTensor(const std::string &where, const Signature &signature,
                           const State &state, std::span<const int64_t> values) {
    bool same = signature.dtype() == state.dtype() &&
                sizeOf(signature.dims()) == sizeOf(state.dims());
    for (uint32_t d = 0; same && d < sizeOf(state.dims()); ++d) {
      const uint32_t expr = signature.dims()->Get(d);
      same = depends[expr] == DependsOnNothing && values[expr] == state.dims()->Get(d);
    }
    return same ? Status() : malformed(where, "its type is not that of its tensors");
  }

  Status verifyStates() {
    const uint32_t count = sizeOf(program.states());
    uint32_t outputs = 0;
    for (uint32_t i = 0; i < count; ++i)
      outputs += program.states()->Get(i)->output() >= 0;
    if (count > sizeOf(program.inputs()) || outputs > sizeOf(program.outputs()))
      return malformed(name, "it has more states than inputs or outputs");
    std::vector<int64_t> values;
    NXRT_TRY(evaluateConstants(program, values));
    std::set<uint32_t> used;
    int64_t nextOutput = int64_t{sizeOf(program.outputs())} - outputs;
    for (uint32_t i = 0; i < count; ++i) {
      const StateUse &use = *program.states()->Get(i);
      const std::string where = at("state", i);
      if (use.state() >= sizeOf(executable.states()))
        return malformed(where, "its state does not exist");
      if (!used.insert(use.state()).second)
        return malformed(where, "another use is of the same state");
      if (use.input() != sizeOf(program.inputs()) - count + i)
        return malformed(where, "its input does not follow the inputs that callers give");
      const State &state = *executable.states()->Get(use.state());
      NXRT_TRY(verifyStateTensor(where, *program.inputs()->Get(use.input()), state, values));
      if (use.output() < 0)
        continue;
      if (use.output() != nextOutput++)
        return malformed(where, "its output does not follow the outputs that callers see");
      const auto output = static_cast<uint32_t>(use.output());
      NXRT_TRY(verifyStateTensor(where, *program.outputs()->Get(output), state, values));
    }
    return {};
  }

  Status verifyChecks() {
    for (uint32_t i = 0; i < sizeOf(program.checks()); ++i) {
      const Check &check = *program.checks()->Get(i);
      if (!isKnown(check.kind(), CheckKind::MAX))
        return malformed(at("check", i), "its kind is unknown");
      NXRT_TRY(verifyExpr(at("check", i), check.lhs(), /*sameOnRanks=*/true));
      NXRT_TRY(verifyExpr(at("check", i), check.rhs(), /*sameOnRanks=*/true));
    }
    return {};
  }

  Status verifyBuffers() {
    uint32_t commandCount = sizeOf(program.commands());
    std::vector<bool> bound(sizeOf(program.outputs()), false);
    for (uint32_t i = 0; i < sizeOf(program.buffers()); ++i) {
      const Buffer &buffer = *program.buffers()->Get(i);
      const std::string where = at("buffer", i);
      uint32_t root = i;
      NXRT_TRY(verifyExpr(where, buffer.bytes(), /*sameOnRanks=*/false));
      switch (buffer.kind()) {
      case BufferKind::Temp:
        if (buffer.first() > buffer.last() || buffer.last() >= commandCount)
          return malformed(where, "its lifetime is not a range of commands");
        if (buffer.arena_offset() < -1)
          return malformed(where, "its place in the arena is negative");
        break;
      case BufferKind::Input:
        if (buffer.index() >= sizeOf(program.inputs()))
          return malformed(where, "its input does not exist");
        break;
      case BufferKind::Output:
        if (buffer.index() >= bound.size())
          return malformed(where, "its output does not exist");
        if (bound[buffer.index()])
          return malformed(where, "its output has another buffer already");
        bound[buffer.index()] = true;
        break;
      case BufferKind::Param:
        if (buffer.index() >= sizeOf(executable.params()))
          return malformed(where, "its parameter does not exist");
        break;
      case BufferKind::View:
        if (buffer.index() >= i)
          return malformed(where, "it is a view of a later buffer");
        NXRT_TRY(verifyExpr(where, buffer.offset(), /*sameOnRanks=*/false));
        root = roots[buffer.index()];
        break;
      default:
        return malformed(where, "its kind is unknown");
      }
      roots.push_back(root);
    }
    for (uint32_t i = 0; i < bound.size(); ++i)
      if (!bound[i])
        return malformed(at("output", i), "no buffer holds it");
    return {};
  }

  /// A buffer that command `command` touches.
  Status verifyUse(uint32_t command, uint32_t index, bool writes) {
    const std::string where = at("command", command);
    if (index >= roots.size())
      return malformed(where, "buffer " + std::to_string(index) + " does not exist");
    const Buffer &root = *program.buffers()->Get(roots[index]);
    if (root.kind() == BufferKind::Temp && (command < root.first() || command > root.last()))
      return malformed(where,
                       "it uses buffer " + std::to_string(index) + " outside of its lifetime");
    if (writes && root.kind() != BufferKind::Temp && root.kind() != BufferKind::Output)
      return malformed(where, "it writes to an input or a parameter");
    return {};
  }

  Status verifyDispatch(uint32_t command, const Dispatch &dispatch) {
    const std::string where = at("command", command);
    if (dispatch.kernel() >= sizeOf(executable.kernels()))
      return malformed(where, "its kernel does not exist");
    const Kernel &kernel = *executable.kernels()->Get(dispatch.kernel());
    if (sizeOf(dispatch.operands()) != kernel.operands())
      return malformed(where, "it has not as many operands as its kernel");
    if (sizeOf(dispatch.dims()) != kernel.dim_slots())
      return malformed(where, "it has not as many sizes as its kernel has slots");
    for (uint32_t i = 0; i < kernel.operands(); ++i)
      NXRT_TRY(verifyUse(command, dispatch.operands()->Get(i), /*writes=*/false));
    for (uint32_t i = 0; i < kernel.dim_slots(); ++i)
      NXRT_TRY(verifyExpr(where, dispatch.dims()->Get(i), /*sameOnRanks=*/false));
    return {};
  }

  static bool canReduce(DType dtype, ReduceKind reduce) {
    switch (dtype) {
    case DType::F32:
    case DType::F64:
    case DType::F16:
    case DType::BF16:
    case DType::I64:
    case DType::I32:
    case DType::I16:
    case DType::I8:
    case DType::U64:
    case DType::U32:
    case DType::U16:
    case DType::U8:
      return true;
    case DType::Bool: // or, and
      return reduce == ReduceKind::Max || reduce == ReduceKind::Min;
    default:
      return false;
    }
  }

  Status verifyCollective(uint32_t command, const Collective &collective) {
    const std::string where = at("command", command);
    CollectiveKind kind = collective.kind();
    if (!isKnown(kind, CollectiveKind::MAX))
      return malformed(where, "its collective is unknown");
    if (!isDType(static_cast<int>(collective.dtype())))
      return malformed(where, "its element type is unknown");
    bool reduces = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
    if (!isKnown(collective.reduce(), ReduceKind::MAX))
      return malformed(where, "its reduction is unknown");
    if (reduces && !canReduce(collective.dtype(), collective.reduce()))
      return malformed(where, std::string("its reduction is not defined for ") +
                                  dtypeName(static_cast<int>(collective.dtype())));
    NXRT_TRY(verifyUse(command, collective.src(), /*writes=*/false));
    NXRT_TRY(verifyUse(command, collective.dst(), /*writes=*/true));
    if (collective.src() == collective.dst() && kind != CollectiveKind::AllReduce)
      return malformed(where, "only all_reduce may work in place");
    for (uint32_t expr : {collective.outer(), collective.count(), collective.inner()})
      NXRT_TRY(verifyExpr(where, expr, /*sameOnRanks=*/true));
    if (kind == CollectiveKind::AllToAll)
      for (uint32_t expr : {collective.dst_outer(), collective.dst_count(), collective.dst_inner()})
        NXRT_TRY(verifyExpr(where, expr, /*sameOnRanks=*/true));
    if (kind == CollectiveKind::Broadcast && collective.root() >= tp)
      return malformed(where, "its root is not a rank");
    if (kind == CollectiveKind::Permute) {
      if (sizeOf(collective.sources()) != tp)
        return malformed(where, "it has not one source for each rank");
      for (uint32_t rank = 0; rank < tp; ++rank)
        if (collective.sources()->Get(rank) >= tp)
          return malformed(where, "a source is not a rank");
    }
    return {};
  }

  Status verifyCommands() {
    for (uint32_t i = 0; i < sizeOf(program.commands()); ++i) {
      const Command &command = *program.commands()->Get(i);
      const std::string where = at("command", i);
      for (uint32_t l = 0; l < sizeOf(command.locations()); ++l)
        if (command.locations()->Get(l) >= sizeOf(executable.locations()))
          return malformed(where, "its source location does not exist");
      if (!command.body())
        return malformed(where, "it is empty or of an unknown kind");
      switch (command.body_type()) {
      case CommandBody::Dispatch:
        NXRT_TRY(verifyDispatch(i, *command.body_as_Dispatch()));
        break;
      case CommandBody::Collective:
        NXRT_TRY(verifyCollective(i, *command.body_as_Collective()));
        break;
      case CommandBody::Copy: {
        const Copy &copy = *command.body_as_Copy();
        NXRT_TRY(verifyUse(i, copy.src(), /*writes=*/false));
        NXRT_TRY(verifyUse(i, copy.dst(), /*writes=*/true));
        NXRT_TRY(verifyExpr(where, copy.bytes(), /*sameOnRanks=*/false));
        break;
      }
      case CommandBody::Fill: {
        const Fill &fill = *command.body_as_Fill();
        NXRT_TRY(verifyUse(i, fill.dst(), /*writes=*/true));
        if (sizeOf(fill.pattern()) < 1 || sizeOf(fill.pattern()) > 64)
          return malformed(where, "its pattern has not 1 to 64 bytes");
        break;
      }
      default:
        return malformed(where, "it is of an unknown kind");
      }
    }
    return {};
  }

  /// Temporaries with given places: inside the arena, and apart from those that live with them.
  Status verifyArena() {
    if (program.arena_bytes() < -1)
      return malformed(name, "its arena has a negative size");
    struct Placed {
      uint32_t first, last;
      uint64_t begin, end;
      uint32_t buffer;
    };
    std::vector<Placed> placed;
    std::vector<int64_t> values;
    NXRT_TRY(evaluateConstants(program, values));
    for (uint32_t i = 0; i < sizeOf(program.buffers()); ++i) {
      const Buffer &buffer = *program.buffers()->Get(i);
      if (buffer.kind() != BufferKind::Temp)
        continue;
      const std::string where = at("buffer", i);
      if ((buffer.arena_offset() >= 0) != (program.arena_bytes() >= 0))
        return malformed(where, "either all temporaries have a place in the arena or none has");
      if (buffer.arena_offset() < 0)
        continue;
      if (depends[buffer.bytes()] != DependsOnNothing)
        return malformed(where, "it has a place in the arena but no constant size");
      int64_t bytes = values[buffer.bytes()];
      uint64_t offset = static_cast<uint64_t>(buffer.arena_offset());
      if (bytes < 0 || offset % kNxeParamAlign != 0 ||
          offset > static_cast<uint64_t>(program.arena_bytes()) ||
          static_cast<uint64_t>(bytes) > static_cast<uint64_t>(program.arena_bytes()) - offset)
        return malformed(where, "it is not an aligned range of the arena");
      if (bytes > 0)
        placed.push_back(
            {buffer.first(), buffer.last(), offset, offset + static_cast<uint64_t>(bytes), i});
    }

    // Sweep over the commands: `live` holds the ranges that live now, by their beginning.
    std::vector<uint32_t> births(placed.size()), deaths(placed.size());
    for (uint32_t i = 0; i < placed.size(); ++i)
      births[i] = deaths[i] = i;
    std::sort(births.begin(), births.end(),
              [&](uint32_t a, uint32_t b) { return placed[a].first < placed[b].first; });
    std::sort(deaths.begin(), deaths.end(),
              [&](uint32_t a, uint32_t b) { return placed[a].last < placed[b].last; });
    std::map<uint64_t, uint32_t> live;
    size_t dead = 0;
    for (uint32_t birth : births) {
      const Placed &next = placed[birth];
      for (; dead < deaths.size() && placed[deaths[dead]].last < next.first; ++dead)
        live.erase(placed[deaths[dead]].begin);
      auto after = live.lower_bound(next.begin);
      const Placed *clash = nullptr;
      if (after != live.end() && placed[after->second].begin < next.end)
        clash = &placed[after->second];
      if (after != live.begin() && placed[std::prev(after)->second].end > next.begin)
        clash = &placed[std::prev(after)->second];
      if (clash)
        return malformed(at("buffer", next.buffer),
                         "it overlaps buffer " + std::to_string(clash->buffer) + " in the arena");
      live.emplace(next.begin, birth);
    }
    return {};
  }

  const Executable &executable;
  const Program &program;
  uint32_t tp;
  std::string name;
  std::vector<uint8_t> depends; // of each expression
  std::vector<uint32_t> roots;  // of each buffer: the buffer that is no view in which it lies
};

} // namespace

static Status verifyCode(const Executable &executable, std::vector<bool> &holdsCode) {
  uint32_t segmentCount = sizeOf(executable.segments());
  for (uint32_t i = 0; i < sizeOf(executable.code()); ++i) {
    const CodeObject &code = *executable.code()->Get(i);
    const std::string where = "code object " + std::to_string(i);
    if (!isKnown(code.arch(), Arch::MAX))
      return malformed(where, "its architecture is unknown");
    if (!code.cpu() || code.cpu()->size() == 0)
      return malformed(where, "its CPU has no name");
    for (uint32_t f = 0; f < sizeOf(code.features()); ++f)
      if (code.features()->Get(f)->size() == 0)
        return malformed(where, "a feature has no name");
    if (code.segment() >= segmentCount)
      return malformed(where, "its segment does not exist");
    holdsCode[code.segment()] = true;
  }
  if (sizeOf(executable.kernels()) > 0 && sizeOf(executable.code()) == 0)
    return malformed("executable", "it has kernels but no code");
  return {};
}

static Status verifyKernels(const Executable &executable) {
  Names names;
  for (uint32_t i = 0; i < sizeOf(executable.kernels()); ++i) {
    const Kernel &kernel = *executable.kernels()->Get(i);
    const std::string where = "kernel " + std::to_string(i);
    NXRT_TRY(names.add(where, kernel.name()));
    if (kernel.dim_slots() > kMaxDimSlots)
      return malformed(where, "it has more than " + std::to_string(kMaxDimSlots) + " size slots");
    if (kernel.operands() < 1 || kernel.operands() > kMaxOperands)
      return malformed(where, "it has not 1 to " + std::to_string(kMaxOperands) + " operands");
  }
  return {};
}

static Status verifyParams(const Executable &executable, const std::vector<bool> &holdsCode) {
  for (uint32_t i = 0; i < sizeOf(executable.params()); ++i) {
    const Param &param = *executable.params()->Get(i);
    std::string where = "parameter " + std::to_string(i);
    // Not unique: a weight that is used in two ways (tied embeddings) may be stored in two forms.
    if (!param.name() || param.name()->size() == 0)
      return malformed(where, "a name is missing");
    where = "parameter \"" + param.name()->str() + "\"";
    if (!isDType(static_cast<int>(param.dtype())))
      return malformed(where, "its element type is unknown");
    if (!isAligned(param.dims(), sizeof(int64_t)))
      return malformed(where, "its shape is not aligned");
    uint64_t count = 1, bytes = 0;
    for (uint32_t d = 0; d < sizeOf(param.dims()); ++d)
      if (param.dims()->Get(d) < 0 ||
          !multiplyChecked(count, static_cast<uint64_t>(param.dims()->Get(d)), count))
        return malformed(where, "its shape is negative or too large");
    if (!dtypeBytes(static_cast<int>(param.dtype()), count, bytes))
      return malformed(where, "its shape is too large");
    if (sizeOf(param.parts()) != executable.tp_degree())
      return malformed(where, "it has not one part for each rank");
    for (const ParamPart *part : *param.parts()) {
      if (part->segment() >= sizeOf(executable.segments()) || holdsCode[part->segment()])
        return malformed(where, "a part lies in a segment that does not exist or holds code");
      uint64_t size = executable.segments()->Get(part->segment())->size();
      if (part->offset() % kNxeParamAlign != 0 || part->offset() > size ||
          part->bytes() > size - part->offset())
        return malformed(where, "a part is not an aligned range of its segment");
    }
  }
  return {};
}

static Status verifyStates(const Executable &executable) {
  Names names;
  for (uint32_t i = 0; i < sizeOf(executable.states()); ++i) {
    const State &state = *executable.states()->Get(i);
    std::string where = "state " + std::to_string(i);
    NXRT_TRY(names.add(where, state.name()));
    where = "state \"" + state.name()->str() + "\"";
    if (!isAligned(state.dims(), sizeof(int64_t)))
      return malformed(where, "its shape is not aligned");
    if (sizeOf(state.dims()) > NXRT_MAX_RANK)
      return malformed(where, "its rank is greater than " + std::to_string(NXRT_MAX_RANK));
    uint64_t bytes = 0;
    if (!isDType(static_cast<int>(state.dtype())) ||
        !tensorBytes(static_cast<nxrt_dtype>(state.dtype()), sizeOf(state.dims()),
                     state.dims() ? state.dims()->data() : nullptr, bytes)
             .ok())
      return malformed(where, "its element type or shape is not possible");
    if (state.param() < -1 || state.param() >= int64_t{sizeOf(executable.params())})
      return malformed(where, "its parameter does not exist");
    if (state.param() >= 0 &&
        executable.params()->Get(static_cast<uint32_t>(state.param()))->parts()->Get(0)->bytes() !=
            bytes)
      return malformed(where, "its parameter has another size");
  }
  return {};
}

Status verifyExecutable(const Executable &executable) {
  std::string unknown;
  for (uint32_t i = 0; i < sizeOf(executable.required_features()); ++i) {
    std::string_view feature = executable.required_features()->Get(i)->string_view();
    if (std::find(kKnownFeatures.begin(), kKnownFeatures.end(), feature) == kKnownFeatures.end())
      unknown += (unknown.empty() ? "" : ", ") + std::string(feature);
  }
  if (!unknown.empty())
    return makeError(NXRT_UNSUPPORTED,
                     "the file, written by %s, needs features that libnxrt %d.%d.%d does not have: "
                     "%s. Use a newer libnxrt.",
                     executable.producer() ? executable.producer()->c_str() : "an unknown compiler",
                     NXRT_VERSION_MAJOR, NXRT_VERSION_MINOR, NXRT_VERSION_PATCH, unknown.c_str());
  if (executable.tp_degree() < 1 || executable.tp_degree() > kMaxRanks)
    return malformed("executable",
                     "its tensor-parallel degree is not 1 to " + std::to_string(kMaxRanks));
  Names segmentNames;
  for (uint32_t i = 0; i < sizeOf(executable.segments()); ++i)
    NXRT_TRY(
        segmentNames.add("segment " + std::to_string(i), executable.segments()->Get(i)->name()));
  NXRT_TRY(verifyPairs("options", executable.options()));
  NXRT_TRY(verifyPairs("plan", executable.plan()));
  std::vector<bool> holdsCode(sizeOf(executable.segments()), false);
  NXRT_TRY(verifyCode(executable, holdsCode));
  NXRT_TRY(verifyKernels(executable));
  NXRT_TRY(verifyParams(executable, holdsCode));
  NXRT_TRY(verifyStates(executable));
  if (sizeOf(executable.programs()) == 0)
    return malformed("executable", "it has no program");
  Names programNames;
  for (uint32_t i = 0; i < sizeOf(executable.programs()); ++i) {
    const Program &program = *executable.programs()->Get(i);
    NXRT_TRY(programNames.add("program " + std::to_string(i), program.name()));
    NXRT_TRY(ProgramVerifier(executable, program).verify());
  }
  return {};
}

} // namespace nxrt
