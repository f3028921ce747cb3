//===- Emit.cpp - From an nxe executable to the file ----------------------===//

#include "compiler/emit/Emit.h"
#include "compiler/emit/SegmentWriter.h"
#include "nxrt/kernel_abi.h"
#include "runtime/schema/executable_generated.h"
#include "runtime/schema/nxe_format.h"
#include "llvm/ADT/StringMap.h"
#include <map>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace mlir;
using namespace nx;

namespace {

using Offset32 = flatbuffers::Offset<flatbuffers::String>;

fb::DType dtypeOf(Type element) {
  if (element.isF32())
    return fb::DType::F32;
  if (element.isF64())
    return fb::DType::F64;
  if (element.isF16())
    return fb::DType::F16;
  if (element.isBF16())
    return fb::DType::BF16;
  if (element.isUnsignedInteger(64))
    return fb::DType::U64;
  if (element.isUnsignedInteger(32))
    return fb::DType::U32;
  if (element.isUnsignedInteger(16))
    return fb::DType::U16;
  if (element.isUnsignedInteger(8))
    return fb::DType::U8;
  if (element.isInteger(64))
    return fb::DType::I64;
  if (element.isInteger(32))
    return fb::DType::I32;
  if (element.isInteger(16))
    return fb::DType::I16;
  if (element.isInteger(8))
    return fb::DType::I8;
  if (element.isInteger(1))
    return fb::DType::Bool;
  if (isa<Float8E4M3FNType>(element))
    return fb::DType::F8E4M3FN;
  if (isa<Float8E5M2Type>(element))
    return fb::DType::F8E5M2;
  if (isa<Float8E4M3FNUZType>(element))
    return fb::DType::F8E4M3FNUZ;
  if (isa<Float8E5M2FNUZType>(element))
    return fb::DType::F8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(element))
    return fb::DType::F8E8M0;
  // A parameter of a narrower type lies one element in a byte.
  if (isNarrowElement(element))
    return isUnsignedElement(element) ? fb::DType::U8 : fb::DType::I8;
  return fb::DType::Invalid;
}

/// Where one rank's bytes of a parameter lie (table ParamPart).
struct PartPlace {
  uint32_t segment = 0;
  uint64_t offset = 0, bytes = 0;
};

/// The expressions of one program, each distinct one stored once.
class ExprTable {
public:
  uint32_t add(AffineExpr expr) {
    if (auto it = indices.find(expr); it != indices.end())
      return it->second;
    fb::Expr node(0, 0, 0, fb::ExprOp::Const);
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      node = fb::Expr(constant.getValue(), 0, 0, fb::ExprOp::Const);
    } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      node = fb::Expr(symbol.getPosition(), 0, 0, fb::ExprOp::Symbol);
    } else {
      auto binary = cast<AffineBinaryOpExpr>(expr);
      uint32_t lhs = add(binary.getLHS()), rhs = add(binary.getRHS());
      node = fb::Expr(0, lhs, rhs, opOf(expr.getKind()));
    }
    nodes.push_back(node);
    return indices[expr] = nodes.size() - 1;
  }
  uint32_t add(DimsAttr dims, unsigned i = 0) { return add(dims.getExprs()[i]); }
  std::vector<uint32_t> addAll(ArrayRef<AffineExpr> exprs) {
    std::vector<uint32_t> result;
    for (AffineExpr expr : exprs)
      result.push_back(add(expr));
    return result;
  }
  const std::vector<fb::Expr> &all() const { return nodes; }

private:
  static fb::ExprOp opOf(AffineExprKind kind) {
    switch (kind) {
    case AffineExprKind::Add:
      return fb::ExprOp::Add;
    case AffineExprKind::Mul:
      return fb::ExprOp::Mul;
    case AffineExprKind::FloorDiv:
      return fb::ExprOp::FloorDiv;
    case AffineExprKind::CeilDiv:
      return fb::ExprOp::CeilDiv;
    case AffineExprKind::Mod:
      return fb::ExprOp::Mod;
    default:
      llvm_unreachable("not a binary expression");
    }
  }
  std::vector<fb::Expr> nodes;
  llvm::DenseMap<AffineExpr, uint32_t> indices;
};

/// The source nodes that a location stands for, in order, without repetition.
void sourceNames(Location loc, SmallVectorImpl<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    if (!llvm::is_contained(names, name.getName().getValue()))
      names.push_back(name.getName().getValue());
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      sourceNames(part, names);
  }
}

class Emitter {
public:
  Emitter(nxe::ExecutableOp executable, ArrayRef<CodeImage> images, const ParamCatalog &catalog,
          const EmitInfo &info, StringRef path)
      : executable(executable), images(images), catalog(catalog), info(info), path(path) {}

  llvm::Expected<EmitStats> run() {
    auto created = SegmentWriter::create(path, sizeof(nxrt::NxeHeader));
    if (!created)
      return created.takeError();
    writer = std::move(*created);
    if (llvm::Error error = writeCode())
      return error;
    if (llvm::Error error = writeWeights())
      return error;
    if (llvm::Error error = writeTables())
      return error;
    return stats;
  }

private:
  llvm::Error writeCode() {
    for (const CodeImage &image : images) {
      if (llvm::Error error =
              writer->beginSegment(("code/" + image.target->name).str(), nxrt::kNxeSegmentAlign))
        return error;
      if (llvm::Error error = writer->write(image.bytes))
        return error;
      writer->endSegment();
      stats.codeBytes += image.bytes.size();
    }
    return llvm::Error::success();
  }

  /// Parts of the parameters that all ranks read go into one segment, those of a rank into its own.
  llvm::Error writeWeights() {
    int64_t ranks = executable.getTpDegree();
    for (nxe::ParamOp param : executable.getBody().front().getOps<nxe::ParamOp>())
      params.push_back(param);
    parts.assign(params.size(), std::vector<PartPlace>(ranks));
    if (llvm::Error error = writeSegment("weights/shared", true, 0))
      return error;
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (llvm::Error error = writeSegment("weights/rank" + std::to_string(rank), false, rank))
        return error;
    return llvm::Error::success();
  }

  llvm::Error writeSegment(const std::string &name, bool shared, int64_t rank) {
    bool begun = false;
    for (auto [i, param] : llvm::enumerate(params)) {
      if (ParamCatalog::sameForAllRanks(param.getRecipe()) != shared)
        continue;
      if (!begun) {
        if (llvm::Error error = writer->beginSegment(name, nxrt::kNxeSegmentAlign))
          return error;
        begun = true;
      }
      auto offset = writer->alignWithin(nxrt::kNxeParamAlign);
      if (!offset)
        return offset.takeError();
      if (llvm::Error error =
              catalog.materialize(param.getSource(), param.getRecipe(), rank,
                                  [&](ArrayRef<char> bytes) { return writer->write(bytes); }))
        return error;
      PartPlace part;
      part.segment = writer->records().size() - 1;
      part.offset = *offset;
      part.bytes = writer->offsetWithin() - *offset;
      int64_t first = shared ? 0 : rank, last = shared ? int64_t(executable.getTpDegree()) - 1 : rank;
      for (int64_t r = first; r <= last; ++r)
        parts[i][r] = part;
    }
    if (begun) {
      writer->endSegment();
      stats.weightBytes += writer->records().back().size;
    }
    return llvm::Error::success();
  }

  std::vector<uint32_t> locationsOf(Operation *op) {
    SmallVector<StringRef> names;
    sourceNames(op->getLoc(), names);
    std::vector<uint32_t> indices;
    for (StringRef name : names) {
      auto [it, isNew] = locationIndex.try_emplace(name, locations.size());
      if (isNew)
        locations.push_back(builder.CreateString(name.str()));
      indices.push_back(it->second);
    }
    return indices;
  }

  flatbuffers::Offset<fb::Program> program(nxe::ProgramOp op) {
    ExprTable exprs;
    std::vector<flatbuffers::Offset<fb::Symbol>> symbols;
    for (Attribute attr : op.getSymbols()) {
      auto symbol = cast<nxe::SymbolAttr>(attr);
      auto source = symbol.getSource() == nxe::SymbolSource::rank ? fb::SymbolSource::Rank
                                                                  : fb::SymbolSource::InputDim;
      symbols.push_back(fb::CreateSymbol(builder, builder.CreateString(symbol.getName().str()),
                                         symbol.getInput(), symbol.getDim(), 0,
                                         std::numeric_limits<int64_t>::max(), source,
                                         symbol.getFactor(), symbol.getOffset()));
    }
    std::vector<flatbuffers::Offset<fb::Signature>> inputs, outputs;
    SmallVector<Type> inputTypes;
    std::vector<flatbuffers::Offset<fb::Check>> checks;
    std::vector<flatbuffers::Offset<fb::Buffer>> buffers;
    std::vector<flatbuffers::Offset<fb::StateUse>> stateUses;
    std::vector<flatbuffers::Offset<fb::Command>> commands;
    DenseMap<Value, uint32_t> bufferIndex;

    auto signature = [&](StringRef name, Type type) {
      auto tensor = cast<RankedTensorType>(type);
      return fb::CreateSignature(builder, builder.CreateString(name.str()),
                                 dtypeOf(tensor.getElementType()),
                                 builder.CreateVector(exprs.addAll(dimsOf(tensor))));
    };
    auto bytesOf = [&](Type type) {
      auto tensor = cast<RankedTensorType>(type);
      int64_t element = llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
      return exprs.add(normalize(productOf(dimsOf(tensor), op.getContext()) * element));
    };
    auto addBuffer = [&](Value value, flatbuffers::Offset<fb::Buffer> buffer) {
      bufferIndex[value] = buffers.size();
      buffers.push_back(buffer);
    };
    auto addCommand = [&](Operation *command, fb::CommandBody kind,
                          flatbuffers::Offset<void> body) {
      auto where = builder.CreateVector(locationsOf(command));
      commands.push_back(fb::CreateCommand(builder, kind, body, where));
    };

    for (Operation &o : op.getBody().front()) {
      if (auto input = dyn_cast<nxe::InputOp>(o)) {
        inputs.push_back(signature(input.getName(), input.getType()));
        inputTypes.push_back(input.getType());
        addBuffer(input, fb::CreateBuffer(builder, fb::BufferKind::Input, input.getIndex(),
                                          bytesOf(input.getType())));
      } else if (auto output = dyn_cast<nxe::OutputOp>(o)) {
        outputs.push_back(signature(output.getName(), output.getType()));
        addBuffer(output, fb::CreateBuffer(builder, fb::BufferKind::Output, output.getIndex(),
                                           bytesOf(output.getType())));
      } else if (auto load = dyn_cast<nxe::LoadOp>(o)) {
        uint32_t index = paramIndex.lookup(load.getParam());
        uint32_t bytes = exprs.add(getAffineConstantExpr(parts[index][0].bytes, op.getContext()));
        addBuffer(load, fb::CreateBuffer(builder, fb::BufferKind::Param, index, bytes));
      } else if (auto temp = dyn_cast<nxe::TempOp>(o)) {
        addBuffer(temp,
                  fb::CreateBuffer(builder, fb::BufferKind::Temp, 0, exprs.add(temp.getBytes()), 0,
                                   temp.getFirst().value_or(0), temp.getLast().value_or(0),
                                   temp.getOffset() ? int64_t(*temp.getOffset()) : -1));
      } else if (auto view = dyn_cast<nxe::ViewOp>(o)) {
        addBuffer(view, fb::CreateBuffer(builder, fb::BufferKind::View,
                                         bufferIndex.lookup(view.getBase()),
                                         exprs.add(view.getBytes()), exprs.add(view.getOffset())));
      } else if (auto dispatch = dyn_cast<nxe::DispatchOp>(o)) {
        std::vector<uint32_t> operands;
        for (Value operand : dispatch.getOperands())
          operands.push_back(bufferIndex.lookup(operand));
        addCommand(
            &o, fb::CommandBody::Dispatch,
            fb::CreateDispatch(builder, kernelIndex.lookup(dispatch.getKernel()),
                               builder.CreateVector(operands),
                               builder.CreateVector(exprs.addAll(dispatch.getDims().getExprs())))
                .Union());
      } else if (auto collective = dyn_cast<nxe::CollectiveOp>(o)) {
        DimsAttr result = collective.getResultLayout().value_or(collective.getLayout());
        addCommand(
            &o, fb::CommandBody::Collective,
            fb::CreateCollective(
                builder, fb::CollectiveKind(collective.getKind()), reduceOf(collective.getReduce()),
                dtypeOf(collective.getElement()), bufferIndex.lookup(collective.getSource()),
                bufferIndex.lookup(collective.getTarget()), exprs.add(collective.getLayout(), 0),
                exprs.add(collective.getLayout(), 1), exprs.add(collective.getLayout(), 2),
                exprs.add(result, 0), exprs.add(result, 1), exprs.add(result, 2))
                .Union());
      } else if (auto copy = dyn_cast<nxe::CopyOp>(o)) {
        addCommand(&o, fb::CommandBody::Copy,
                   fb::CreateCopy(builder, bufferIndex.lookup(copy.getSource()),
                                  bufferIndex.lookup(copy.getTarget()), exprs.add(copy.getBytes()))
                       .Union());
      } else if (auto state = dyn_cast<nxe::StateOp>(o)) {
        auto type = cast<RankedTensorType>(inputTypes[state.getInput()]);
        int32_t output = state.getOutput() ? int32_t(*state.getOutput()) : -1;
        stateUses.push_back(
            fb::CreateStateUse(builder, addState(state, type), state.getInput(), output));
      } else if (auto check = dyn_cast<nxe::CheckOp>(o)) {
        checks.push_back(fb::CreateCheck(builder, fb::CheckKind::Equal, exprs.add(check.getLhs()),
                                         exprs.add(check.getRhs()),
                                         builder.CreateString(check.getMessage().str())));
      }
    }
    auto name = builder.CreateString(op.getSymName().str());
    return fb::CreateProgram(
        builder, name, builder.CreateVector(symbols), builder.CreateVectorOfStructs(exprs.all()),
        builder.CreateVector(inputs), builder.CreateVector(outputs), builder.CreateVector(checks),
        builder.CreateVector(buffers), builder.CreateVector(commands),
        op.getArenaBytes() ? int64_t(*op.getArenaBytes()) : -1, builder.CreateVector(stateUses));
  }

  /// The index of a state. All programs that name it share it.
  uint32_t addState(nxe::StateOp op, RankedTensorType type) {
    auto [it, isNew] = stateIndex.try_emplace(op.getName(), states.size());
    if (isNew) {
      auto name = builder.CreateString(op.getName().str());
      auto dims = builder.CreateVector(type.getShape().data(), type.getRank());
      int32_t param = op.getInitial() ? int32_t(paramIndex.lookup(*op.getInitial())) : -1;
      states.push_back(
          fb::CreateState(builder, name, dtypeOf(type.getElementType()), dims, param));
    }
    return it->second;
  }

  static fb::ReduceKind reduceOf(ReduceKind kind) {
    switch (kind) {
    case ReduceKind::max:
      return fb::ReduceKind::Max;
    case ReduceKind::min:
      return fb::ReduceKind::Min;
    case ReduceKind::prod:
      return fb::ReduceKind::Prod;
    default:
      return fb::ReduceKind::Sum;
    }
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::KeyValue>>>
  keyValues(const std::vector<std::pair<std::string, std::string>> &pairs) {
    std::vector<flatbuffers::Offset<fb::KeyValue>> result;
    for (auto &[key, value] : pairs) {
      auto k = builder.CreateString(key), v = builder.CreateString(value);
      result.push_back(fb::CreateKeyValue(builder, k, v));
    }
    return builder.CreateVector(result);
  }

  flatbuffers::Offset<fb::Param> param(nxe::ParamOp op, const std::vector<PartPlace> &rankParts) {
    std::string partition = "replicated", layout;
    for (Attribute step : op.getRecipe()) {
      if (auto shard = dyn_cast<ShardStepAttr>(step))
        partition = "split dim " + std::to_string(shard.getDim());
      if (isa<PackStepAttr>(step))
        layout = "panel16";
    }
    auto source = cast<RankedTensorType>(op.getSourceType());
    std::vector<flatbuffers::Offset<fb::ParamPart>> offsets;
    for (const PartPlace &part : rankParts)
      offsets.push_back(fb::CreateParamPart(builder, part.segment, part.offset, part.bytes));
    auto name = builder.CreateString(op.getSource().str());
    auto dims = builder.CreateVector(source.getShape().data(), source.getRank());
    auto layoutText = builder.CreateString(layout), partitionText = builder.CreateString(partition);
    return fb::CreateParam(builder, name,
                           dtypeOf(cast<RankedTensorType>(op.getType()).getElementType()), dims,
                           layoutText, partitionText, builder.CreateVector(offsets));
  }

  llvm::Error writeTables() {
    std::vector<flatbuffers::Offset<fb::Segment>> segments;
    for (const SegmentRecord &record : writer->records()) {
      auto name = builder.CreateString(record.name);
      segments.push_back(
          fb::CreateSegment(builder, name, record.offset, record.size, record.checksum));
    }
    std::vector<flatbuffers::Offset<fb::CodeObject>> code;
    for (auto [i, image] : llvm::enumerate(images)) {
      std::vector<std::string> features;
      for (StringRef feature : image.target->loaderFeatures)
        features.push_back(feature.str());
      auto cpu = builder.CreateString(image.target->name.str());
      auto featureVector = builder.CreateVectorOfStrings(features);
      code.push_back(fb::CreateCodeObject(builder, fb::Arch(image.target->arch), cpu, featureVector,
                                          NXRT_KERNEL_ABI_VERSION, i, image.target->priority));
    }
    std::vector<flatbuffers::Offset<fb::Kernel>> kernels;
    for (nxe::KernelOp kernel : executable.getBody().front().getOps<nxe::KernelOp>()) {
      kernelIndex[kernel.getSymName()] = kernels.size();
      auto name = builder.CreateString(kernel.getSymName().str()),
           family = builder.CreateString(kernel.getFamily().str());
      kernels.push_back(
          fb::CreateKernel(builder, name, kernel.getSlots(), kernel.getOperands(), family));
    }
    std::vector<flatbuffers::Offset<fb::Param>> paramTables;
    for (auto [i, op] : llvm::enumerate(params)) {
      paramIndex[op.getSymName()] = i;
      paramTables.push_back(param(op, parts[i]));
    }
    std::vector<flatbuffers::Offset<fb::Program>> programs;
    for (nxe::ProgramOp op : executable.getBody().front().getOps<nxe::ProgramOp>())
      programs.push_back(program(op));

    auto producer = builder.CreateString(info.producer),
         modelName = builder.CreateString(info.modelName),
         modelHash = builder.CreateString(info.modelHash);
    auto options = keyValues(info.options), plan = keyValues(info.plan);
    auto segmentVector = builder.CreateVector(segments);
    auto codeVector = builder.CreateVector(code);
    auto kernelVector = builder.CreateVector(kernels);
    auto paramVector = builder.CreateVector(paramTables);
    auto programVector = builder.CreateVector(programs);
    auto locationVector = builder.CreateVector(locations);
    std::vector<std::string> required;
    if (!states.empty())
      required.push_back("state");
    auto features = builder.CreateVectorOfStrings(required);
    auto stateVector = builder.CreateVector(states);
    auto root = fb::CreateExecutable(
        builder, producer, options, modelName, modelHash, executable.getTpDegree(), features,
        segmentVector, codeVector, kernelVector, paramVector, programVector, locationVector, plan,
        stateVector);
    fb::FinishExecutableBuffer(builder, root);

    if (llvm::Error error = writer->beginSegment("tables", 64))
      return error;
    ArrayRef<char> bytes(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                         builder.GetSize());
    if (llvm::Error error = writer->write(bytes))
      return error;
    writer->endSegment();
    stats.tableBytes = bytes.size();
    stats.fileBytes = writer->size();

    nxrt::NxeHeader header = {};
    std::copy(std::begin(nxrt::kNxeMagic), std::end(nxrt::kNxeMagic), header.magic);
    header.major = nxrt::kNxeMajor;
    header.minor = nxrt::kNxeMinor;
    header.headerSize = sizeof(header);
    header.totalSize = writer->size();
    header.flatbufferOffset = writer->records().back().offset;
    header.flatbufferSize = bytes.size();
    header.flatbufferChecksum = XXH3_64bits(bytes.data(), bytes.size());
    header.headerChecksum = XXH3_64bits(&header, offsetof(nxrt::NxeHeader, headerChecksum));
    return writer->commit({reinterpret_cast<const char *>(&header), sizeof(header)});
  }

  nxe::ExecutableOp executable;
  ArrayRef<CodeImage> images;
  const ParamCatalog &catalog;
  const EmitInfo &info;
  StringRef path;
  std::unique_ptr<SegmentWriter> writer;
  EmitStats stats;
  flatbuffers::FlatBufferBuilder builder{1 << 16};
  SmallVector<nxe::ParamOp> params;
  std::vector<std::vector<PartPlace>> parts; // of each parameter, per rank
  std::vector<flatbuffers::Offset<fb::State>> states;
  llvm::StringMap<uint32_t> kernelIndex, paramIndex, locationIndex, stateIndex;
  std::vector<Offset32> locations;
};

} // namespace

llvm::Expected<EmitStats> nx::emitExecutable(nxe::ExecutableOp executable,
                                             ArrayRef<CodeImage> images,
                                             const ParamCatalog &catalog, const EmitInfo &info,
                                             StringRef path) {
  return Emitter(executable, images, catalog, info, path).run();
}
