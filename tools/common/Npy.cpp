#include "tools/common/Npy.h"
#include "tools/common/Refusal.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace nxtool {

std::string shapeText(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

uint64_t Array::count() const {
  uint64_t product = 1;
  for (int64_t dim : shape)
    product *= static_cast<uint64_t>(dim);
  return product;
}

std::string Array::typeName() const { return kind + std::to_string(itemSize); }
std::string Array::shapeText() const { return nxtool::shapeText(shape); }

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlign = 64; // of the data in a file that we write; NumPy's own choice

/// The Python dictionary literal of a .npy header. Its grammar as NumPy writes it is small: quoted
/// strings, True and False, and a tuple of integers.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &name) : text(text), name(name) {}

  void parse(std::string &descr, bool &fortranOrder, std::vector<int64_t> &shape) {
    bool seen[3] = {};
    expect('{');
    while (!accept('}')) {
      std::string key = quoted();
      expect(':');
      if (key == "descr") {
        descr = quoted();
        seen[0] = true;
      } else if (key == "fortran_order") {
        fortranOrder = boolean();
        seen[1] = true;
      } else if (key == "shape") {
        shape = tuple();
        seen[2] = true;
      } else {
        fail("its header has the unknown key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skipSpace();
    if (at != text.size())
      fail("its header goes on after the dictionary");
    if (!seen[0] || !seen[1] || !seen[2])
      fail("its header lacks descr, fortran_order or shape");
  }

private:
  [[noreturn]] void fail(const std::string &why) {
    throw Refusal(name + " is not a readable NumPy array: " + why);
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      ++at;
  }
  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(std::string("its header lacks '") + c + "'");
  }
  std::string quoted() {
    skipSpace();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
      fail("structured element types are not supported");
    char quote = text[at++];
    size_t end = text.find(quote, at);
    if (end == std::string_view::npos)
      fail("a string in its header does not end");
    std::string result(text.substr(at, end - at));
    at = end + 1;
    return result;
  }
  bool boolean() {
    skipSpace();
    for (bool value : {true, false}) {
      std::string_view word = value ? "True" : "False";
      if (text.substr(at, word.size()) == word) {
        at += word.size();
        return value;
      }
    }
    fail("fortran_order is neither True nor False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skipSpace();
      uint64_t value = 0;
      size_t begin = at;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
            __builtin_add_overflow(value, uint64_t(text[at] - '0'), &value) || value > INT64_MAX)
          fail("a size in its shape is too large");
      if (at == begin)
        fail("its shape is not a tuple of sizes");
      dims.push_back(static_cast<int64_t>(value));
      if (dims.size() > NXRT_MAX_RANK)
        fail("it has more than " + std::to_string(NXRT_MAX_RANK) + " dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }

  std::string_view text;
  const std::string &name;
  size_t at = 0;
};

/// Element type of a descr such as "<f4"; false when it is none that we read.
bool parseDescr(const std::string &descr, Array &array, bool &bigEndian) {
  if (descr.size() != 3)
    return false;
  bigEndian = descr[0] == '>';
  if (std::string_view("<>|=").find(descr[0]) == std::string_view::npos)
    return false;
  array.kind = descr[1];
  array.itemSize = static_cast<uint32_t>(descr[2] - '0');
  switch (array.kind) {
  case 'f':
    if (array.itemSize == 1) // how ml_dtypes spells float8_e5m2
      array.kind = 'V';
    return array.itemSize == 1 || array.itemSize == 2 || array.itemSize == 4 || array.itemSize == 8;
  case 'i':
  case 'u':
    return array.itemSize == 1 || array.itemSize == 2 || array.itemSize == 4 || array.itemSize == 8;
  case 'b':
    return array.itemSize == 1;
  case 'V':
    return array.itemSize == 1 || array.itemSize == 2;
  default:
    return false;
  }
}

/// Column-major to row-major: the reversed shape read along reversed strides.
std::vector<std::byte> transposeFromFortran(const Array &array) {
  size_t rank = array.shape.size(), item = array.itemSize;
  std::vector<std::byte> result(array.data.size());
  std::vector<uint64_t> stride(rank), index(rank, 0);
  uint64_t step = 1;
  for (size_t d = 0; d < rank; ++d) {
    stride[d] = step;
    step *= static_cast<uint64_t>(array.shape[d]);
  }
  uint64_t source = 0;
  for (size_t to = 0; to < result.size(); to += item) {
    std::memcpy(result.data() + to, array.data.data() + source * item, item);
    for (size_t d = rank; d-- > 0;) {
      source += stride[d];
      if (++index[d] < static_cast<uint64_t>(array.shape[d]))
        break;
      source -= stride[d] * index[d];
      index[d] = 0;
    }
  }
  return result;
}

} // namespace

Array parseNpy(std::span<const std::byte> bytes, const std::string &name) {
  auto refuse = [&](const std::string &why) {
    return Refusal(name + " is not a readable NumPy array: " + why);
  };
  auto *raw = reinterpret_cast<const unsigned char *>(bytes.data());
  if (bytes.size() < 10 || std::memcmp(raw, kMagic.data(), kMagic.size()) != 0)
    throw refuse("it does not begin with NumPy's magic bytes");
  unsigned major = raw[6];
  if (major < 1 || major > 3)
    throw refuse("its format version " + std::to_string(major) + " is unknown");
  size_t headerAt = major == 1 ? 10 : 12;
  if (bytes.size() < headerAt)
    throw refuse("it is truncated");
  uint64_t headerSize = raw[8] | uint64_t(raw[9]) << 8;
  if (major > 1)
    headerSize |= uint64_t(raw[10]) << 16 | uint64_t(raw[11]) << 24;
  if (headerSize > bytes.size() - headerAt)
    throw refuse("it is truncated inside its header");

  Array array;
  std::string descr;
  bool fortranOrder = false, bigEndian = false;
  std::string_view header(reinterpret_cast<const char *>(raw) + headerAt, headerSize);
  HeaderParser(header, name).parse(descr, fortranOrder, array.shape);
  if (!parseDescr(descr, array, bigEndian))
    throw refuse("the element type '" + descr +
                 "' is not supported; use f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 or bool");

  uint64_t want = array.itemSize;
  bool empty = std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end();
  for (int64_t dim : array.shape)
    if (!empty && __builtin_mul_overflow(want, static_cast<uint64_t>(dim), &want))
      throw refuse("its shape " + array.shapeText() + " is too large");
  if (empty)
    want = 0;
  std::span<const std::byte> data = bytes.subspan(headerAt + headerSize);
  if (data.size() != want)
    throw refuse("its shape " + array.shapeText() + " needs " + std::to_string(want) +
                 " bytes, but it has " + std::to_string(data.size()));
  array.data.assign(data.begin(), data.end());
  if (bigEndian && array.itemSize > 1)
    for (auto at = array.data.begin(); at != array.data.end(); at += array.itemSize)
      std::reverse(at, at + array.itemSize);
  if (fortranOrder && array.shape.size() > 1)
    array.data = transposeFromFortran(array);
  return array;
}

std::string npyHeader(const Array &array) {
  std::string shape = "(";
  for (int64_t dim : array.shape)
    shape += std::to_string(dim) + ", ";
  if (array.shape.size() == 1)
    shape.pop_back(); // "(3,)"
  else if (array.shape.size() > 1)
    shape.resize(shape.size() - 2);
  shape += ")";
  char order = array.itemSize == 1 ? '|' : '<';
  std::string dict = std::string("{'descr': '") + order + array.typeName() +
                     "', 'fortran_order': False, 'shape': " + shape + ", }";
  size_t prefix = kMagic.size() + 4;
  size_t padded = (prefix + dict.size() + 1 + kAlign - 1) / kAlign * kAlign - prefix;
  dict.resize(padded - 1, ' ');
  dict += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(padded & 0xff), static_cast<char>(padded >> 8)};
  return header + dict;
}

namespace {

/// What NumPy calls an element type.
struct NumpyType {
  char kind;
  uint32_t itemSize;
};

bool numpyType(nxrt_dtype dtype, NumpyType &type) {
  switch (dtype) {
  case NXRT_DTYPE_F32: type = {'f', 4}; return true;
  case NXRT_DTYPE_F64: type = {'f', 8}; return true;
  case NXRT_DTYPE_F16: type = {'f', 2}; return true;
  case NXRT_DTYPE_BF16: type = {'V', 2}; return true;
  case NXRT_DTYPE_I64: type = {'i', 8}; return true;
  case NXRT_DTYPE_I32: type = {'i', 4}; return true;
  case NXRT_DTYPE_I16: type = {'i', 2}; return true;
  case NXRT_DTYPE_I8: type = {'i', 1}; return true;
  case NXRT_DTYPE_U64: type = {'u', 8}; return true;
  case NXRT_DTYPE_U32: type = {'u', 4}; return true;
  case NXRT_DTYPE_U16: type = {'u', 2}; return true;
  case NXRT_DTYPE_U8: type = {'u', 1}; return true;
  case NXRT_DTYPE_BOOL: type = {'b', 1}; return true;
  case NXRT_DTYPE_I4: type = {'i', 1}; return true;
  case NXRT_DTYPE_U4: type = {'u', 1}; return true;
  case NXRT_DTYPE_F8E4M3FN:
  case NXRT_DTYPE_F8E4M3FNUZ:
  case NXRT_DTYPE_F8E5M2FNUZ:
  case NXRT_DTYPE_F8E8M0:
  case NXRT_DTYPE_F8E5M2: type = {'V', 1}; return true;
  case NXRT_DTYPE_INVALID:
  case NXRT_DTYPE_ANY_INT: return false;
  }
  return false;
}

} // namespace

bool toTensorBytes(const Array &array, nxrt_dtype dtype, std::vector<std::byte> &bytes) {
  NumpyType type = {};
  if (!numpyType(dtype, type) || type.itemSize != array.itemSize)
    return false;
  // Raw records stand for any type of their size, and u2 for bf16: the usual way to carry it without
  // ml_dtypes.
  bool rawBits = array.kind == 'V' || (dtype == NXRT_DTYPE_BF16 && array.kind == 'u');
  if (!rawBits && type.kind != array.kind)
    return false;
  if (nxrt_dtype_bits(dtype) != 4) {
    bytes = array.data;
    if (dtype == NXRT_DTYPE_BOOL)
      for (std::byte &b : bytes)
        b = std::byte(b != std::byte(0));
    return true;
  }
  bytes.assign((array.data.size() + 1) / 2, std::byte(0));
  for (size_t i = 0; i < array.data.size(); ++i)
    bytes[i / 2] |= (array.data[i] & std::byte(0xf)) << (i % 2 * 4);
  return true;
}

Array fromTensorBytes(nxrt_dtype dtype, std::span<const int64_t> dims,
                      std::span<const std::byte> bytes) {
  Array array;
  NumpyType type = {'V', 1};
  numpyType(dtype, type);
  array.kind = type.kind;
  array.itemSize = type.itemSize;
  array.shape.assign(dims.begin(), dims.end());
  if (nxrt_dtype_bits(dtype) != 4) {
    array.data.assign(bytes.begin(), bytes.end());
    return array;
  }
  array.data.resize(array.count());
  for (size_t i = 0; i < array.data.size(); ++i) {
    auto nibble = std::to_integer<uint8_t>(bytes[i / 2] >> (i % 2 * 4)) & 0xf;
    bool negative = dtype == NXRT_DTYPE_I4 && nibble >= 8;
    array.data[i] = std::byte(negative ? nibble | 0xf0 : nibble);
  }
  return array;
}

} // namespace nxtool
