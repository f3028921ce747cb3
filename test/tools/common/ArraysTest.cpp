// The .npy and .npz readers and writer: what NumPy writes is read, what is written reads back, and every
// damage is a refusal.
#include "tools/common/Files.h"
#include "tools/common/Npz.h"
#include "tools/common/Refusal.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <zlib.h>

using namespace nxtool;

namespace {

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string npy(const std::string &header, const std::string &data, int major = 1) {
  std::string text = "\x93NUMPY";
  text += {static_cast<char>(major), 0, static_cast<char>(header.size()),
           static_cast<char>(header.size() >> 8)};
  if (major > 1)
    text += std::string(2, '\0');
  return text + header + data;
}

std::string refusalOf(const std::string &file) {
  try {
    parseNpy(bytesOf(file), "x");
  } catch (const Refusal &refusal) {
    return refusal.what();
  }
  return "";
}

Array array(char kind, uint32_t itemSize, std::vector<int64_t> shape, const std::string &data) {
  auto bytes = bytesOf(data);
  return {kind, itemSize, std::move(shape), {bytes.begin(), bytes.end()}};
}

std::string text(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// A file name in the test's temporary folder.
std::string scratch(const std::string &name) {
  return (std::filesystem::path(testing::TempDir()) / (std::to_string(getpid()) + name)).string();
}

/// A one-member ZIP archive in the form that numpy.savez_compressed writes.
std::string zipDeflated(const std::string &name, const std::string &content) {
  std::string packed(compressBound(content.size()) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  auto put = [](std::string &to, uint64_t value, int width) {
    to.append(reinterpret_cast<const char *>(&value), static_cast<size_t>(width));
  };
  uint64_t crc = crc32(0, reinterpret_cast<const Bytef *>(content.data()),
                       static_cast<uInt>(content.size()));
  std::string common;
  put(common, 20, 2), put(common, 0, 2), put(common, 8, 2), put(common, 0, 4), put(common, crc, 4);
  put(common, packed.size(), 4), put(common, content.size(), 4), put(common, name.size(), 2);
  std::string zip;
  put(zip, 0x04034b50, 4);
  zip += common;
  put(zip, 0, 2);
  zip += name + packed;
  uint64_t directory = zip.size();
  put(zip, 0x02014b50, 4), put(zip, 20, 2);
  zip += common;
  put(zip, 0, 2), put(zip, 0, 2), put(zip, 0, 2), put(zip, 0, 2), put(zip, 0, 4), put(zip, 0, 4);
  zip += name;
  uint64_t size = zip.size() - directory;
  put(zip, 0x06054b50, 4), put(zip, 0, 4), put(zip, 1, 2), put(zip, 1, 2), put(zip, size, 4);
  put(zip, directory, 4), put(zip, 0, 2);
  return zip;
}

TEST(Npy, ReadsWhatNumpyWrites) {
  Array a = parseNpy(bytesOf(npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 1), }  \n",
                                 std::string("\1\0\0\0\xff\xff\xff\xff", 8))),
                     "x");
  EXPECT_EQ(a.typeName(), "i4");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(a.data.size(), 8u);
  // Version 2 has a longer header size; scalars have an empty shape.
  a = parseNpy(bytesOf(npy("{\"descr\":\"|b1\",\"fortran_order\":False,\"shape\":()}", "\1", 2)), "x");
  EXPECT_EQ(a.typeName(), "b1");
  EXPECT_TRUE(a.shape.empty());
}

TEST(Npy, OtherOrdersBecomeRowMajorLittleEndian) {
  Array a = parseNpy(bytesOf(npy("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }",
                                 std::string("\0\1\0\4\0\2\0\5\0\3\0\6", 12))),
                     "x");
  EXPECT_EQ(text(a.data), std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12));
}

TEST(Npy, EmptyArraysKeepTheirShape) {
  Array a = parseNpy(bytesOf(npy("{'descr': '<f8', 'fortran_order': True, 'shape': (0, 7), }", "")), "x");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{0, 7}));
  EXPECT_TRUE(a.data.empty());
}

TEST(Npy, RefusesWithTheCause) {
  auto header = [](const char *descr, const char *shape) {
    return "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': " + shape + ", }";
  };
  EXPECT_NE(refusalOf("PK").find("magic"), std::string::npos);
  EXPECT_NE(refusalOf(npy(header("<c8", "(1,)"), "12345678")).find("'<c8' is not supported"),
            std::string::npos);
  EXPECT_NE(refusalOf(npy(header("<f4", "(2,)"), "1234567")).find("needs 8 bytes, but it has 7"),
            std::string::npos);
  EXPECT_NE(refusalOf(npy(header("<f4", "(2,)"), "123456789")).find("but it has 9"), std::string::npos);
  EXPECT_NE(refusalOf(npy(header("<f4", "(4294967296, 4294967296, 4)"), "")).find("too large"),
            std::string::npos);
  EXPECT_NE(refusalOf(npy(header("<f4", "(99999999999999999999,)"), "")).find("too large"),
            std::string::npos);
  EXPECT_NE(refusalOf(npy(header("<f4", "(-1,)"), "")).find("not a tuple of sizes"), std::string::npos);
  EXPECT_NE(refusalOf(npy("{'descr': [('a', '<f4')], 'shape': (1,)}", "1234")).find("structured"),
            std::string::npos);
  EXPECT_NE(refusalOf(npy("{'descr': '<f4', 'shape': (1,)}", "1234")).find("lacks"), std::string::npos);
  EXPECT_NE(refusalOf(npy(header("|O", "(1,)"), "1234")).find("not supported"), std::string::npos);
  std::string whole = npy(header("<f4", "(2,)"), "12345678");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(refusalOf(whole.substr(0, size)), "") << size;
}

TEST(Npz, WritesWhatItReads) {
  std::string path = scratch("round.npz");
  NamedArrays arrays = {{"a/b", array('f', 4, {2}, "abcdefgh")},
                        {"scalar", array('i', 1, {}, "x")},
                        {"empty", array('u', 8, {3, 0}, "")},
                        {"bf16", array('V', 2, {1, 2}, "1234")}};
  writeNpz(path, arrays);
  NamedArrays back = readNpz(path);
  ASSERT_EQ(back.size(), arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(back[i].first, arrays[i].first);
    EXPECT_EQ(back[i].second.typeName(), arrays[i].second.typeName());
    EXPECT_EQ(back[i].second.shape, arrays[i].second.shape);
    EXPECT_EQ(back[i].second.data, arrays[i].second.data);
  }
  std::vector<std::byte> first = readFile(path);
  writeNpz(path, arrays);
  EXPECT_EQ(readFile(path), first);
  // Damage anywhere in the arrays' bytes is seen, and no truncation passes.
  for (size_t size = 0; size < first.size(); ++size)
    EXPECT_THROW(parseNpz(std::span(first).first(size), "x"), Refusal) << size;
  for (size_t at = 0; at < first.size(); ++at) {
    std::vector<std::byte> damaged = first;
    damaged[at] ^= std::byte(0x10);
    try {
      parseNpz(damaged, "x");
    } catch (const Refusal &) {
    }
  }
  std::filesystem::remove(path);
}

TEST(Npz, InflatesCompressedMembers) {
  std::string file = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (5000,), }",
                         std::string(5000, 'z'));
  std::string zip = zipDeflated("x.npy", file);
  ASSERT_LT(zip.size(), 500u);
  NamedArrays arrays = parseNpz(bytesOf(zip), "x");
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(text(arrays[0].second.data), std::string(5000, 'z'));
  for (size_t size = 0; size < zip.size(); ++size)
    EXPECT_THROW(parseNpz(bytesOf(zip.substr(0, size)), "x"), Refusal) << size;
}

TEST(Npz, RefusesOtherMembers) {
  try {
    parseNpz(bytesOf(zipDeflated("readme.txt", "hello")), "'in.npz'");
    FAIL();
  } catch (const Refusal &refusal) {
    EXPECT_STREQ(refusal.what(),
                 "'in.npz' has the member 'readme.txt', which is not a .npy array");
  }
}

TEST(Files, OutputAppearsWholeOrNotAtAll) {
  std::string path = scratch("out");
  {
    OutputFile file(path);
    file.write("abc", 3);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    OutputFile file(path);
    file.write("abc", 3);
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(text(readFile(path)), "abc");
  std::filesystem::remove(path);
  EXPECT_THROW(OutputFile(scratch("no/such/folder/out")), Refusal);
  EXPECT_THROW(readFile(scratch("nothing")), Refusal);
  EXPECT_THROW(readFile(testing::TempDir()), Refusal);
}

TEST(Tensors, BytesFollowTheModelsType) {
  std::vector<std::byte> bytes;
  EXPECT_TRUE(toTensorBytes(array('V', 2, {1}, "ab"), NXRT_DTYPE_BF16, bytes));
  EXPECT_TRUE(toTensorBytes(array('u', 2, {1}, "ab"), NXRT_DTYPE_BF16, bytes));
  EXPECT_FALSE(toTensorBytes(array('f', 2, {1}, "ab"), NXRT_DTYPE_BF16, bytes));
  EXPECT_FALSE(toTensorBytes(array('i', 4, {1}, "abcd"), NXRT_DTYPE_F32, bytes));
  EXPECT_FALSE(toTensorBytes(array('i', 4, {1}, "abcd"), NXRT_DTYPE_I64, bytes));
  EXPECT_TRUE(toTensorBytes(array('b', 1, {2}, std::string("\0\7", 2)), NXRT_DTYPE_BOOL, bytes));
  EXPECT_EQ(text(bytes), std::string("\0\1", 2));
  EXPECT_TRUE(toTensorBytes(array('i', 1, {3}, "\x01\xff\xf8"), NXRT_DTYPE_I4, bytes));
  EXPECT_EQ(text(bytes), "\xf1\x08");
  Array back = fromTensorBytes(NXRT_DTYPE_I4, std::vector<int64_t>{3}, bytes);
  EXPECT_EQ(text(back.data), "\x01\xff\xf8");
  EXPECT_EQ(fromTensorBytes(NXRT_DTYPE_BF16, std::vector<int64_t>{1}, bytes).typeName(), "V2");
}

} // namespace
