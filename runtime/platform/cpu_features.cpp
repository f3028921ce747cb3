#include "runtime/platform/cpu_features.h"

#include <cstdint>
#include <span>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#else
#error "libnxrt supports x86-64 and aarch64"
#endif

namespace nxrt {

// A feature: its canonical name (lower case, without separators) and where its bit is.
struct Feature {
  const char *name;
  uint8_t word;
  uint8_t bit;
};
struct Alias {
  const char *name;
  const char *canonical;
};

#if defined(__x86_64__)

enum Word : uint8_t {
  Leaf1Ecx,
  Leaf1Edx,
  Leaf7Ebx,
  Leaf7Ecx,
  Leaf7Edx,
  Leaf71Eax,
  Ext1Ecx,
  WordCount
};

static constexpr Feature features[] = {
    {"sse", Leaf1Edx, 25},          {"sse2", Leaf1Edx, 26},
    {"cx8", Leaf1Edx, 8},           {"cmov", Leaf1Edx, 15},
    {"mmx", Leaf1Edx, 23},          {"fxsr", Leaf1Edx, 24},
    {"sse3", Leaf1Ecx, 0},          {"ssse3", Leaf1Ecx, 9},
    {"sse41", Leaf1Ecx, 19},        {"sse42", Leaf1Ecx, 20},
    {"cx16", Leaf1Ecx, 13},         {"movbe", Leaf1Ecx, 22},
    {"popcnt", Leaf1Ecx, 23},       {"aes", Leaf1Ecx, 25},
    {"pclmulqdq", Leaf1Ecx, 1},     {"xsave", Leaf1Ecx, 26},
    {"avx", Leaf1Ecx, 28},          {"f16c", Leaf1Ecx, 29},
    {"fma", Leaf1Ecx, 12},          {"lahflm", Ext1Ecx, 0},
    {"lzcnt", Ext1Ecx, 5},          {"bmi1", Leaf7Ebx, 3},
    {"avx2", Leaf7Ebx, 5},          {"bmi2", Leaf7Ebx, 8},
    {"avx512f", Leaf7Ebx, 16},      {"avx512dq", Leaf7Ebx, 17},
    {"avx512ifma", Leaf7Ebx, 21},   {"avx512cd", Leaf7Ebx, 28},
    {"avx512bw", Leaf7Ebx, 30},     {"avx512vl", Leaf7Ebx, 31},
    {"avx512vbmi", Leaf7Ecx, 1},    {"avx512vbmi2", Leaf7Ecx, 6},
    {"gfni", Leaf7Ecx, 8},          {"vaes", Leaf7Ecx, 9},
    {"vpclmulqdq", Leaf7Ecx, 10},   {"avx512vnni", Leaf7Ecx, 11},
    {"avx512bitalg", Leaf7Ecx, 12}, {"avx512vpopcntdq", Leaf7Ecx, 14},
    {"amxbf16", Leaf7Edx, 22},      {"avx512fp16", Leaf7Edx, 23},
    {"amxtile", Leaf7Edx, 24},      {"amxint8", Leaf7Edx, 25},
    {"avxvnni", Leaf71Eax, 4},      {"avx512bf16", Leaf71Eax, 5},
    {"amxfp16", Leaf71Eax, 21},     {"avxifma", Leaf71Eax, 23},
};
static constexpr Alias aliases[] = {
    {"pni", "sse3"}, {"abm", "lzcnt"}, {"bmi", "bmi1"}, {"sahf", "lahflm"}, {"pclmul", "pclmulqdq"},
};

static uint64_t enabledStates() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

struct Words {
  uint32_t word[WordCount] = {};
  Words() {
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
      word[Leaf1Ecx] = c;
      word[Leaf1Edx] = d;
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
      word[Leaf7Ebx] = b;
      word[Leaf7Ecx] = c;
      word[Leaf7Edx] = d;
      if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
        word[Leaf71Eax] = a;
    }
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
      word[Ext1Ecx] = c;
    // A register file that the operating system does not save must not be used.
    constexpr uint32_t osxsave = 1u << 27;
    uint64_t states = word[Leaf1Ecx] & osxsave ? enabledStates() : 0;
    if ((states & 0x6) != 0x6)
      clear("avx");
    if ((states & 0xe6) != 0xe6)
      clear("avx512");
    if ((states & 0x60000) != 0x60000)
      clear("amx");
  }
  /// Takes a family of features away; without AVX there is nothing wider either.
  void clear(std::string_view family) {
    for (const Feature &feature : features) {
      std::string_view name = feature.name;
      bool vex = name == "fma" || name == "f16c" || name == "vaes" || name == "vpclmulqdq";
      if (name.starts_with(family) || (family == "avx" && vex))
        word[feature.word] &= ~(1u << feature.bit);
    }
  }
};

#else

enum Word : uint8_t { Hwcap, Hwcap2, WordCount };

static constexpr Feature features[] = {
    {"fp", Hwcap, 0},       {"asimd", Hwcap, 1},     {"aes", Hwcap, 3},
    {"pmull", Hwcap, 4},    {"sha1", Hwcap, 5},      {"sha2", Hwcap, 6},
    {"crc32", Hwcap, 7},    {"atomics", Hwcap, 8},   {"fphp", Hwcap, 9},
    {"asimdhp", Hwcap, 10}, {"asimdrdm", Hwcap, 12}, {"jscvt", Hwcap, 13},
    {"fcma", Hwcap, 14},    {"lrcpc", Hwcap, 15},    {"dcpop", Hwcap, 16},
    {"sha3", Hwcap, 17},    {"asimddp", Hwcap, 20},  {"sha512", Hwcap, 21},
    {"sve", Hwcap, 22},     {"asimdfhm", Hwcap, 23}, {"sve2", Hwcap2, 1},
    {"svei8mm", Hwcap2, 9}, {"svebf16", Hwcap2, 12}, {"i8mm", Hwcap2, 13},
    {"bf16", Hwcap2, 14},   {"sme", Hwcap2, 23},
};
static constexpr Alias aliases[] = {
    {"neon", "asimd"},       {"fparmv8", "fp"},  {"dotprod", "asimddp"},
    {"fullfp16", "asimdhp"}, {"lse", "atomics"}, {"fp16fml", "asimdfhm"},
    {"rdm", "asimdrdm"},     {"crc", "crc32"},   {"rcpc", "lrcpc"},
};

struct Words {
  uint64_t word[WordCount] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
};

#endif

static const Words &machine() {
  static const Words words;
  return words;
}

static bool has(const Feature &feature) { return machine().word[feature.word] >> feature.bit & 1; }

bool machineHas(std::string_view feature) {
  std::string name;
  for (char c : feature)
    if (c != '_' && c != '-' && c != '.')
      name += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
  for (const Alias &alias : aliases)
    if (name == alias.name)
      name = alias.canonical;
  for (const Feature &known : features)
    if (name == known.name)
      return has(known);
  return false;
}

std::string machineFeatures() {
  std::string text;
  for (const Feature &feature : features) {
    if (!has(feature))
      continue;
    if (!text.empty())
      text += ' ';
    text += feature.name;
  }
  return text;
}

const char *machineArch() {
#if defined(__x86_64__)
  return "x86_64";
#else
  return "aarch64";
#endif
}

} // namespace nxrt
