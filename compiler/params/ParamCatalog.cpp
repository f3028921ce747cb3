//===- ParamCatalog.cpp - Where the bytes of parameters come from ---------===//

#include "compiler/params/ParamCatalog.h"
#include "compiler/params/ElementConversion.h"
#include "compiler/params/ParamView.h"
#include "dialects/nx/Nx.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace nx;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

static_assert(llvm::endianness::native == llvm::endianness::little,
              "model files are little endian and are used as they are");

unsigned nx::elementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

Expected<StringRef> ParamCatalog::mapFile(StringRef path) {
  for (auto &[known, buffer] : files)
    if (known == path)
      return buffer->getBuffer();
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("cannot read '" + path + "': " + buffer.getError().message());
  files.emplace_back(path.str(), std::move(*buffer));
  return files.back().second->getBuffer();
}

Error ParamCatalog::add(StringRef name, RankedTensorType type, ArrayRef<char> bytes) {
  uint64_t expected = uint64_t(type.getNumElements()) * elementBytes(type.getElementType());
  if (bytes.size() != expected)
    return createStringError("parameter '" + name + "' has " + Twine(bytes.size()) + " bytes, its type " +
                             debugString(type) + " needs " + Twine(expected));
  if (!params.try_emplace(name, Param{type, bytes}).second)
    return createStringError("parameter '" + name + "' exists twice");
  return Error::success();
}

Error ParamCatalog::addOwned(StringRef name, RankedTensorType type, std::vector<char> bytes) {
  owned.push_back(std::move(bytes));
  return add(name, type, owned.back());
}

const Param *ParamCatalog::lookup(StringRef name) const {
  auto it = params.find(name);
  return it == params.end() ? nullptr : &it->second;
}

std::string ParamCatalog::contentHash() const {
  // The hash of the files' hashes: one pass, and file boundaries count.
  std::vector<uint64_t> hashes;
  for (auto &[path, buffer] : files)
    hashes.push_back(llvm::xxh3_64bits(buffer->getBuffer()));
  StringRef all(reinterpret_cast<const char *>(hashes.data()), hashes.size() * sizeof(uint64_t));
  return llvm::utohexstr(llvm::xxh3_64bits(all), /*LowerCase=*/true, /*Width=*/16);
}

//===----------------------------------------------------------------------===//
// Streaming
//===----------------------------------------------------------------------===//

namespace {

/// Elements gathered before they go to the sink.
constexpr int64_t kChunkElements = 1 << 19;

/// A loop over source and gathered elements at once.
struct CopyLoop {
  Loop from;
  int64_t to; ///< stride in elements
};

/// Copies a nest of loops between elements of `Size` bytes.
template <unsigned Size> struct Copier {
  static void one(const char *from, char *to) { std::memcpy(to, from, Size); }

  static void run(ArrayRef<CopyLoop> loops, const char *from, char *to) {
    if (loops.empty())
      return one(from, to);
    const CopyLoop &loop = loops.front();
    if (loops.size() == 1) {
      if (loop.from.isContiguous() && loop.to == 1)
        std::memcpy(to, from, loop.from.size * Size);
      else
        for (int64_t i = 0; i < loop.from.size; ++i)
          one(from + loop.from.offset(i) * Size, to + i * loop.to * Size);
      return;
    }
    for (int64_t i = 0; i < loop.from.size; ++i)
      run(loops.drop_front(), from + loop.from.offset(i) * Size, to + i * loop.to * Size);
  }
};

void copyLoops(unsigned elementSize, ArrayRef<CopyLoop> loops, const char *from, char *to) {
  switch (elementSize) {
  case 1: return Copier<1>::run(loops, from, to);
  case 2: return Copier<2>::run(loops, from, to);
  case 4: return Copier<4>::run(loops, from, to);
  default: return Copier<8>::run(loops, from, to);
  }
}

/// Loops that write `loops` row-major. When the last one strides through the source, the source's
/// own fastest loop goes innermost in tiles: then both sides move through whole cache lines.
SmallVector<CopyLoop> tiledForCopy(ArrayRef<Loop> loops) {
  SmallVector<CopyLoop> nest(loops.size());
  int64_t to = 1;
  for (size_t i = loops.size(); i-- > 0; to *= loops[i].size)
    nest[i] = {loops[i], to};
  if (nest.size() < 2 || nest.back().from.isContiguous())
    return nest;
  auto *fastest = llvm::find_if(nest, [](const CopyLoop &loop) { return loop.from.isContiguous(); });
  if (fastest == nest.end())
    return nest;
  constexpr int64_t tile = 16;
  CopyLoop inner = *fastest;
  nest.erase(fastest);
  if (inner.from.size % tile == 0 && inner.from.size > tile) {
    nest.insert(std::prev(nest.end()), {{inner.from.size / tile, tile}, inner.to * tile});
    inner.from.size = tile;
  }
  nest.push_back(inner);
  return nest;
}

/// Converts gathered elements and hands them on.
class Output {
public:
  Output(ArrayRef<Type> types, ParamCatalog::Sink sink) : types(types), sink(sink) {}

  Error write(ArrayRef<char> elements) {
    int64_t count = int64_t(elements.size()) / elementBytes(types.front());
    // Two buffers in turn: a conversion reads one and writes the other.
    for (size_t i = 0; i + 1 < types.size(); ++i) {
      std::vector<char> &target = buffers[i % 2];
      target.resize(count * elementBytes(types[i + 1]));
      elementConverter(types[i], types[i + 1])(elements.data(), target.data(), count);
      elements = target;
    }
    return sink(elements);
  }

private:
  ArrayRef<Type> types; ///< the stored type and the type after each cast
  ParamCatalog::Sink sink;
  std::vector<char> buffers[2];
};

/// Streams `view` of `source` in row-major order.
Error streamPlain(const ParamView &view, const char *source, unsigned size, Output &output) {
  SmallVector<Loop> loops = view.loops(0, view.rank());
  source += view.offset() * size;
  if (llvm::is_contained(view.shape(), 0))
    return Error::success();
  if (loops.empty())
    return output.write({source, size});
  if (loops.size() == 1 && loops[0].isContiguous()) {
    for (int64_t i = 0; i < loops[0].size; i += kChunkElements) {
      int64_t count = std::min(kChunkElements, loops[0].size - i);
      if (Error error = output.write({source + i * size, size_t(count * size)}))
        return error;
    }
    return Error::success();
  }

  // The loops inside `cut` fit into a chunk; loop `cut` is run in steps; the outer ones one by one.
  size_t cut = loops.size() - 1;
  int64_t inner = 1;
  while (cut > 0 && inner * loops[cut].size <= kChunkElements)
    inner *= loops[cut--].size;
  int64_t step = std::clamp<int64_t>(kChunkElements / inner, 1, loops[cut].size);
  std::vector<char> chunk(step * inner * size);
  SmallVector<int64_t> index(cut, 0);
  while (true) {
    int64_t base = 0;
    for (size_t i = 0; i < cut; ++i)
      base += loops[i].offset(index[i]);
    for (int64_t at = 0; at < loops[cut].size; at += step) {
      SmallVector<Loop> part(loops.begin() + cut, loops.end());
      int64_t from = base;
      part.front().size = std::min(step, loops[cut].size - at);
      if (part.front().table)
        part.front().table = std::make_shared<std::vector<int64_t>>(part.front().table->begin() + at,
                                                                    part.front().table->end());
      else
        from += at * loops[cut].stride;
      copyLoops(size, tiledForCopy(part), source + from * size, chunk.data());
      if (Error error = output.write({chunk.data(), size_t(part.front().size * inner * size)}))
        return error;
    }
    size_t i = cut;
    while (i > 0 && ++index[i - 1] == loops[i - 1].size)
      index[--i] = 0;
    if (i == 0)
      return Error::success();
  }
}

/// Streams `view` [.., K, N] of `source` as panels [.., ceil(N / 16), K, 16].
Error streamPanels(const ParamView &view, const char *source, unsigned size, Output &output) {
  size_t rank = view.rank();
  std::vector<int64_t> rows = view.offsets(rank - 2), columns = view.offsets(rank - 1);
  int64_t k = view.size(rank - 2), n = view.size(rank - 1), panels = llvm::divideCeil(n, kPanelColumns);
  if (llvm::is_contained(view.shape(), 0))
    return Error::success();
  int64_t panelElements = k * kPanelColumns;
  int64_t step = std::clamp<int64_t>(kChunkElements / panelElements, 1, panels);
  std::vector<char> chunk(step * panelElements * size);

  SmallVector<Loop> batchLoops = view.loops(0, rank - 2);
  int64_t batches = 1;
  for (const Loop &loop : batchLoops)
    batches *= loop.size;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const char *matrix = source + view.offset() * size;
    int64_t index = batch;
    for (const Loop &loop : llvm::reverse(batchLoops)) {
      matrix += loop.offset(index % loop.size) * size;
      index /= loop.size;
    }
    for (int64_t first = 0; first < panels; first += step) {
      int64_t count = std::min(step, panels - first);
      int64_t begin = first * kPanelColumns, end = std::min(n, begin + count * kPanelColumns);
      if (end - begin < count * kPanelColumns)
        std::fill(chunk.begin(), chunk.end(), 0);
      auto copy = [&](int64_t row, int64_t column) {
        int64_t panel = (column - begin) / kPanelColumns, lane = (column - begin) % kPanelColumns;
        std::memcpy(chunk.data() + ((panel * k + row) * kPanelColumns + lane) * size,
                    matrix + (rows[row] + columns[column]) * size, size);
      };
      // Read along whichever direction is contiguous in the source.
      bool alongRows = k > 1 && std::abs(rows[1] - rows[0]) == 1;
      if (alongRows)
        for (int64_t column = begin; column < end; ++column)
          for (int64_t row = 0; row < k; ++row)
            copy(row, column);
      else
        for (int64_t row = 0; row < k; ++row)
          for (int64_t column = begin; column < end; ++column)
            copy(row, column);
      if (Error error = output.write({chunk.data(), size_t(count * panelElements * size)}))
        return error;
    }
  }
  return Error::success();
}

} // namespace

Error ParamCatalog::materialize(StringRef name, ArrayAttr recipe, int64_t rank, Sink sink) const {
  const Param *param = lookup(name);
  if (!param)
    return createStringError("there is no parameter '" + name + "'");
  Location loc = UnknownLoc::get(recipe.getContext());
  if (failed(applyRecipe(param->type, recipe, [&] { return emitError(loc) << "parameter '" << name << "': "; })))
    return createStringError("the recipe of parameter '" + name + "' does not fit its type");

  const char *source = param->bytes.data();
  ParamView view(param->type.getShape());
  SmallVector<Type> types{param->type.getElementType()};
  std::vector<char> intermediate;

  // Makes the value so far the new source. Only for the rare steps that a view cannot express.
  auto settle = [&]() -> Error {
    std::vector<char> settled;
    auto append = [&](ArrayRef<char> bytes) {
      settled.insert(settled.end(), bytes.begin(), bytes.end());
      return Error::success();
    };
    Output output(types, append);
    if (Error error = streamPlain(view, source, elementBytes(types.front()), output))
      return error;
    intermediate = std::move(settled);
    source = intermediate.data();
    view = ParamView(view.shape());
    types = {types.back()};
    return Error::success();
  };

  bool packed = false;
  for (Attribute step : recipe) {
    auto apply = [&]() -> bool {
      if (auto transpose = dyn_cast<TransposeStepAttr>(step))
        return view.transpose(transpose.getPerm()), true;
      if (auto reshape = dyn_cast<ReshapeStepAttr>(step))
        return view.reshape(reshape.getShape());
      if (auto shard = dyn_cast<ShardStepAttr>(step))
        return view.shard(shard.getDim(), shard.getParts(), shard.getBlocks(), rank), true;
      if (auto castStep = dyn_cast<CastStepAttr>(step))
        types.push_back(castStep.getElementType());
      packed |= isa<PackStepAttr>(step);
      return true;
    };
    if (auto shard = dyn_cast<ShardStepAttr>(step); shard && (rank < 0 || rank >= shard.getParts()))
      return createStringError("parameter '" + name + "' has " + Twine(shard.getParts()) +
                               " parts, there is none for rank " + Twine(rank));
    if (apply())
      continue;
    if (Error error = settle())
      return error;
    // A settled view is contiguous, and the type check above has shown that the sizes divide.
    if (!apply())
      return createStringError("the recipe of parameter '" + name + "' does not fit its type");
  }

  Output output(types, sink);
  unsigned size = elementBytes(types.front());
  return packed ? streamPanels(view, source, size, output) : streamPlain(view, source, size, output);
}

bool ParamCatalog::sameForAllRanks(ArrayAttr recipe) {
  return llvm::none_of(recipe, [](Attribute step) {
    auto shard = dyn_cast<ShardStepAttr>(step);
    return shard && shard.getParts() > 1;
  });
}

uint64_t ParamCatalog::packedBytes(RankedTensorType type, ArrayAttr recipe) {
  uint64_t elements = type.getNumElements();
  if (!recipe.empty() && isa<PackStepAttr>(recipe.getValue().back()) && type.getShape().back() > 0)
    elements = elements / type.getShape().back() * llvm::alignTo(type.getShape().back(), kPanelColumns);
  return elements * elementBytes(type.getElementType());
}
