#include "tools/nx-run/Feeds.h"
#include "tools/common/Elements.h"

#include <charconv>
#include <set>

namespace nxtool {
namespace {

TensorHandle allocate(const Port &port, std::span<const int64_t> dims) {
  nxrt_tensor *tensor = nullptr;
  check(nxrt_tensor_allocate(port.dtype, static_cast<uint32_t>(dims.size()), dims.data(), &tensor));
  return TensorHandle(tensor);
}

/// k of "arr_k", the names that numpy.savez gives to arrays without one; -1 for another name.
int64_t positionOf(const std::string &name) {
  constexpr std::string_view kPrefix = "arr_";
  int64_t position = -1;
  if (!name.starts_with(kPrefix))
    return -1;
  const char *begin = name.data() + kPrefix.size(), *end = name.data() + name.size();
  auto [stop, error] = std::from_chars(begin, end, position);
  return error == std::errc() && stop == end ? position : -1;
}

std::string listInputs(const Signature &signature) {
  std::string text;
  for (const Port &port : signature.inputs)
    text += (text.empty() ? "'" : ", '") + port.name + "'";
  return text.empty() ? "none" : text;
}

/// xoshiro would be more than test inputs need: splitmix64 is one line and passes BigCrush.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t bits() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; } // [0, 1)

private:
  uint64_t state;
};

void fillRandom(const Port &port, const Generator &generator, Random &random, std::byte *data,
                uint64_t count) {
  auto range = generator.ranges.find(port.name);
  bool whole = !isFloat(port.dtype);
  for (uint64_t i = 0; i < count; ++i) {
    double value;
    if (range != generator.ranges.end() && whole) {
      auto [low, high] = range->second;
      uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1; // 0: all 2^64
      uint64_t step = span ? random.bits() % span : random.bits();
      value = static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(low) + step));
    } else if (range != generator.ranges.end()) {
      auto [low, high] = range->second;
      value = static_cast<double>(low) + random.unit() * (static_cast<double>(high) - static_cast<double>(low));
    } else {
      value = whole ? static_cast<double>(random.bits() & 1) : 2 * random.unit() - 1;
    }
    setElement(port.dtype, data, i, value);
  }
}

} // namespace

std::map<uint32_t, TensorHandle> bindArrays(const Signature &signature, const NamedArrays &arrays,
                                            const std::string &source) {
  std::map<uint32_t, TensorHandle> feeds;
  for (const auto &[name, array] : arrays) {
    int64_t index = signature.findInput(name);
    if (index < 0)
      index = positionOf(name);
    if (index < 0 || index >= static_cast<int64_t>(signature.inputs.size()))
      throw Refusal(source + ": the model has no input for the array '" + name +
                    "'; its inputs are: " + listInputs(signature));
    const Port &port = signature.inputs[static_cast<size_t>(index)];
    if (feeds.contains(static_cast<uint32_t>(index)))
      throw Refusal(source + " has two arrays for the input '" + port.name + "'");
    std::vector<std::byte> bytes;
    if (!toTensorBytes(array, port.dtype, bytes))
      throw Refusal(source + ": the input '" + port.name + "' is " + nxrt_dtype_name(port.dtype) +
                    ", but the array '" + name + "' holds " + array.typeName() +
                    "; convert it with astype()");
    TensorHandle tensor = allocate(port, array.shape);
    if (!bytes.empty())
      check(nxrt_tensor_write(tensor.get(), 0, bytes.data(), bytes.size()));
    feeds.emplace(static_cast<uint32_t>(index), std::move(tensor));
  }
  return feeds;
}

void makeMissing(const Signature &signature, const Generator &generator,
                 std::map<uint32_t, TensorHandle> &feeds) {
  for (const auto &[name, value] : generator.sizes) {
    std::string known;
    bool found = false;
    for (const RunTimeSize &size : signature.sizes) {
      found |= size.name == name;
      known += (known.empty() ? "" : ", ") + size.name;
    }
    if (!found)
      throw Refusal("--dim " + name + ": the model has no run-time size of that name; it has: " +
                    (known.empty() ? "none" : known));
  }
  for (const auto &[name, range] : generator.ranges)
    if (signature.findInput(name) < 0)
      throw Refusal("--range " + name + ": the model has no input of that name; its inputs are: " +
                    listInputs(signature));

  // Sizes that were not given follow from the inputs that were.
  std::map<std::string, int64_t> sizes = generator.sizes;
  for (const RunTimeSize &size : signature.sizes) {
    auto feed = feeds.find(size.input);
    if (sizes.contains(size.name) || feed == feeds.end())
      continue;
    NXRT_STRUCT(nxrt_tensor_info, info);
    check(nxrt_tensor_get_info(feed->second.get(), &info));
    if (size.dim < info.rank)
      sizes.emplace(size.name, info.dims[size.dim]);
  }

  for (uint32_t i = 0; i < signature.inputs.size(); ++i) {
    if (feeds.contains(i))
      continue;
    const Port &port = signature.inputs[i];
    std::vector<int64_t> dims = port.dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] >= 0)
        continue;
      auto size = sizes.find(port.dimSymbols[d]);
      if (size == sizes.end())
        throw Refusal("the input '" + port.name + "' " + port.typeText() +
                      " has a size that is known only at run time: add --dim " +
                      port.dimSymbols[d] + "=VALUE");
      dims[d] = size->second;
    }
    TensorHandle tensor = allocate(port, dims);
    if (generator.kind == Generator::Kind::Random) {
      uint64_t count = 1;
      for (int64_t dim : dims)
        count *= static_cast<uint64_t>(dim);
      NXRT_STRUCT(nxrt_tensor_info, info);
      check(nxrt_tensor_get_info(tensor.get(), &info));
      // Each input has its own stream, so that its values don't depend on the inputs before it.
      Random random(generator.seed * 0x100000001b3 + i);
      fillRandom(port, generator, random, static_cast<std::byte *>(info.data), count);
    }
    feeds.emplace(i, std::move(tensor));
  }
}

TensorSetHandle toTensorSet(const Signature &signature,
                            const std::map<uint32_t, TensorHandle> &feeds) {
  nxrt_tensor_set *set = nullptr;
  check(nxrt_tensor_set_create(&set));
  TensorSetHandle handle(set);
  for (const auto &[index, tensor] : feeds)
    check(nxrt_tensor_set_add(set, signature.inputs[index].name.c_str(), tensor.get()));
  return handle;
}

} // namespace nxtool
