#include "runtime/loader/code_image.h"

#include "runtime/platform/cpu_features.h"
#include "runtime/platform/log.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nxrt {

#if defined(__x86_64__)
static constexpr uint16_t kMachine = EM_X86_64;
static constexpr uint32_t kRelative = R_X86_64_RELATIVE;
#else
static constexpr uint16_t kMachine = EM_AARCH64;
static constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
#endif

static constexpr size_t kMaxSpan = size_t{1} << 30;

static Status refused(const char *what) {
  return makeError(
      NXRT_INVALID_FILE,
      "the file's code image is refused: %s. Recompile the model; code images are made "
      "by nxcc only.",
      what);
}

CodeImage::~CodeImage() {
  if (base)
    munmap(base, span);
}

Status CodeImage::load(std::span<const std::byte> image, uint32_t kernelCount) {
  NXRT_TRY(map(image));
  return bind(kernelCount);
}

Status CodeImage::map(std::span<const std::byte> image) {
  NXRT_TRY(mapSegments(image));
  NXRT_TRY(relocate());
  return protect();
}

Status CodeImage::mapSegments(std::span<const std::byte> image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header)
    return refused("it is shorter than an ELF header");
  std::memcpy(&header, image.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return refused("it is not a 64-bit little-endian ELF shared object");
  if (header.e_machine != kMachine)
    return refused("it is for another machine than its table says");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > 64 ||
      header.e_phoff > image.size() ||
      (image.size() - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum)
    return refused("its program headers are out of bounds");

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<Elf64_Phdr> loads;
  bool hasDynamic = false;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, image.data() + header.e_phoff + i * sizeof part, sizeof part);
    switch (part.p_type) {
    case PT_LOAD:
      if (part.p_offset > image.size() || part.p_filesz > image.size() - part.p_offset ||
          part.p_filesz > part.p_memsz || part.p_vaddr > kMaxSpan || part.p_memsz > kMaxSpan)
        return refused("a segment is out of bounds");
      if ((part.p_flags & (PF_W | PF_X)) == (PF_W | PF_X))
        return refused("a segment is writable and executable");
      if (part.p_memsz > 0)
        loads.push_back(part);
      break;
    case PT_DYNAMIC:
      if (hasDynamic)
        return refused("it has two dynamic sections");
      hasDynamic = true;
      dynamic = part.p_vaddr;
      dynamicSize = part.p_memsz;
      break;
    case PT_NULL:
    case PT_NOTE:
    case PT_PHDR:
    case PT_GNU_STACK:
    case PT_GNU_RELRO:
    case PT_GNU_EH_FRAME:
    case PT_GNU_PROPERTY:
      break;
    default:
      return refused("it has a program header of a kind that closed images don't need (an "
                     "interpreter or thread-local storage)");
    }
  }

  std::sort(loads.begin(), loads.end(),
            [](const Elf64_Phdr &a, const Elf64_Phdr &b) { return a.p_vaddr < b.p_vaddr; });
  for (const Elf64_Phdr &part : loads) {
    Segment segment;
    segment.address = part.p_vaddr;
    segment.size = part.p_memsz;
    segment.begin = part.p_vaddr / page * page;
    segment.end = (part.p_vaddr + part.p_memsz + page - 1) / page * page;
    segment.writable = part.p_flags & PF_W;
    segment.executable = part.p_flags & PF_X;
    if (!segments.empty() && segment.begin < segments.back().end)
      return refused("two segments share a page");
    segments.push_back(segment);
  }
  if (segments.empty() || segments.back().end > kMaxSpan)
    return refused("it has no segments or is larger than 1 GiB");
  span = segments.back().end;

  void *memory = mmap(nullptr, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return makeError(NXRT_OUT_OF_MEMORY, "no memory for %zu bytes of code: %s", span,
                     errnoText(errno).c_str());
  base = static_cast<std::byte *>(memory);
  for (size_t i = 0; i < segments.size(); ++i) {
    const Segment &segment = segments[i];
    if (mprotect(base + segment.begin, segment.end - segment.begin, PROT_READ | PROT_WRITE) != 0)
      return makeError(NXRT_OUT_OF_MEMORY, "no memory for the code: %s", errnoText(errno).c_str());
    if (loads[i].p_filesz)
      std::memcpy(base + segment.address, image.data() + loads[i].p_offset, loads[i].p_filesz);
  }
  entry = header.e_entry;
  return {};
}

const CodeImage::Segment *CodeImage::segmentOf(size_t address, size_t size) const {
  for (const Segment &segment : segments)
    if (address >= segment.address && address - segment.address <= segment.size &&
        size <= segment.size - (address - segment.address))
      return &segment;
  return nullptr;
}

Status CodeImage::relocate() {
  if (dynamicSize == 0)
    return {};
  if (!segmentOf(dynamic, dynamicSize))
    return refused("its dynamic section is out of bounds");
  size_t table = 0, tableSize = 0;
  for (size_t i = 0; i + sizeof(Elf64_Dyn) <= dynamicSize; i += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, base + dynamic + i, sizeof entry);
    if (entry.d_tag == DT_NULL)
      break;
    switch (entry.d_tag) {
    case DT_RELA:
      table = entry.d_un.d_ptr;
      break;
    case DT_RELASZ:
      tableSize = entry.d_un.d_val;
      break;
    case DT_RELAENT:
      if (entry.d_un.d_val != sizeof(Elf64_Rela))
        return refused("its relocations have an unknown size");
      break;
    case DT_FLAGS:
      if (entry.d_un.d_val & (DF_TEXTREL | DF_STATIC_TLS))
        return refused("its code needs relocations or thread-local storage");
      break;
    case DT_RELACOUNT:
    case DT_HASH:
    case DT_GNU_HASH:
    case DT_STRTAB:
    case DT_STRSZ:
    case DT_SYMTAB:
    case DT_SYMENT:
    case DT_SONAME:
    case DT_SYMBOLIC:
    case DT_DEBUG:
    case DT_FLAGS_1:
      break;
    default:
      return refused("its dynamic section has an entry that closed images don't need (an import, a "
                     "constructor or a lazy relocation)");
    }
  }
  if (tableSize == 0)
    return {};
  if (tableSize % sizeof(Elf64_Rela) != 0 || !segmentOf(table, tableSize))
    return refused("its relocations are out of bounds");
  for (size_t i = 0; i < tableSize; i += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    std::memcpy(&relocation, base + table + i, sizeof relocation);
    if (ELF64_R_TYPE(relocation.r_info) != kRelative || ELF64_R_SYM(relocation.r_info) != 0)
      return refused("it has a relocation that is not relative");
    const Segment *target = segmentOf(relocation.r_offset, sizeof(uint64_t));
    if (!target || !target->writable)
      return refused("a relocation lies outside of its writable data");
    if (relocation.r_addend < 0 || static_cast<size_t>(relocation.r_addend) >= span)
      return refused("a relocation points out of the image");
    uint64_t value = reinterpret_cast<uint64_t>(base) + static_cast<uint64_t>(relocation.r_addend);
    std::memcpy(base + relocation.r_offset, &value, sizeof value);
  }
  return {};
}

Status CodeImage::protect() {
  for (const Segment &segment : segments) {
    int access =
        PROT_READ | (segment.writable ? PROT_WRITE : 0) | (segment.executable ? PROT_EXEC : 0);
    if (mprotect(base + segment.begin, segment.end - segment.begin, access) != 0)
      return makeError(NXRT_UNSUPPORTED,
                       "the operating system does not let code be loaded (mprotect: %s). Its "
                       "security policy must allow executable anonymous memory.",
                       errnoText(errno).c_str());
    if (segment.executable)
      __builtin___clear_cache(reinterpret_cast<char *>(base + segment.begin),
                              reinterpret_cast<char *>(base + segment.end));
  }
  return {};
}

bool CodeImage::isCode(const void *address) const {
  size_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(base);
  const Segment *segment = segmentOf(offset, 1);
  return segment && segment->executable;
}

bool CodeImage::isData(const void *address, size_t size) const {
  uintptr_t offset = reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(base);
  return offset % alignof(void *) == 0 && segmentOf(offset, size);
}

Status CodeImage::bind(uint32_t kernelCount) {
  if (entry >= span || !isCode(base + entry))
    return refused("its entry point is not code");
  auto *getModule = reinterpret_cast<const nxrt_kernel_module *(*)()>(base + entry);
  const nxrt_kernel_module *module = getModule();
  if (!isData(module, sizeof *module))
    return refused("its kernel table lies outside of it");
  if (module->abi_version != NXRT_KERNEL_ABI_VERSION)
    return refused("its kernels were built for another ABI than its table says");
  if (module->kernel_count != kernelCount)
    return refused("it has not as many kernels as the executable lists");
  if (kernelCount > 0 && !isData(module->kernels, sizeof(nxrt_kernel) * size_t{kernelCount}))
    return refused("its kernels lie outside of it");
  kernels = module->kernels;
  count = kernelCount;
  for (uint32_t i = 0; i < count; ++i) {
    const nxrt_kernel &kernel = kernels[i];
    if (!isCode(reinterpret_cast<void *>(kernel.run)) ||
        !isCode(reinterpret_cast<void *>(kernel.tiles)) ||
        !isCode(reinterpret_cast<void *>(kernel.scratch_bytes)) ||
        !isCode(reinterpret_cast<void *>(kernel.grain)))
      return refused("a kernel's function lies outside of its code");
  }
  return {};
}

void CodeImage::writePerfMap(const nx::fb::Executable &executable) const {
  std::string path = format("/tmp/perf-%d.map", getpid());
  std::FILE *file = std::fopen(path.c_str(), "ae");
  if (!file) {
    log(NXRT_LOG_WARNING, "the perf map %s cannot be written: %s", path.c_str(),
        errnoText(errno).c_str());
    return;
  }
  // Sizes are not known: a kernel reaches to the next one, or to the end of its segment.
  std::vector<std::pair<uintptr_t, std::string>> symbols;
  for (uint32_t i = 0; i < count; ++i)
    symbols.emplace_back(reinterpret_cast<uintptr_t>(kernels[i].run),
                         executable.kernels()->Get(i)->name()->str());
  std::sort(symbols.begin(), symbols.end());
  for (size_t i = 0; i < symbols.size(); ++i) {
    uintptr_t begin = symbols[i].first;
    const Segment *segment = segmentOf(begin - reinterpret_cast<uintptr_t>(base), 1);
    uintptr_t end = reinterpret_cast<uintptr_t>(base) + segment->address + segment->size;
    if (i + 1 < symbols.size())
      end = std::min(end, symbols[i + 1].first);
    std::fprintf(file, "%zx %zx nx::%s\n", begin, end - begin, symbols[i].second.c_str());
  }
  std::fclose(file);
}

/// What of the object's needs the machine does not meet; "" when it can run it.
static std::string lacks(const nx::fb::CodeObject &code) {
  nx::fb::Arch arch =
      std::strcmp(machineArch(), "x86_64") == 0 ? nx::fb::Arch::X86_64 : nx::fb::Arch::AArch64;
  if (code.arch() != arch)
    return std::string("needs ") + nx::fb::EnumNameArch(code.arch());
  if (code.abi_version() != NXRT_KERNEL_ABI_VERSION)
    return format("has kernel ABI %u, not %u", code.abi_version(), NXRT_KERNEL_ABI_VERSION);
  std::string missing;
  if (code.features())
    for (const flatbuffers::String *feature : *code.features())
      if (!machineHas(feature->string_view()))
        missing += (missing.empty() ? "needs " : ", ") + feature->str();
  return missing;
}

Status selectCode(const nx::fb::Executable &executable, uint32_t &index) {
  const auto *objects = executable.code();
  const nx::fb::CodeObject *best = nullptr;
  std::string report;
  bool otherAbi = objects && objects->size() > 0;
  for (uint32_t i = 0; objects && i < objects->size(); ++i) {
    const nx::fb::CodeObject &code = *objects->Get(i);
    otherAbi &= code.abi_version() != NXRT_KERNEL_ABI_VERSION;
    std::string missing = lacks(code);
    if (missing.empty()) {
      if (!best || code.priority() > best->priority()) {
        best = &code;
        index = i;
      }
      continue;
    }
    report += (report.empty() ? "" : "; ") + code.cpu()->str() + " " + missing;
  }
  if (best)
    return {};
  return makeError(otherAbi ? NXRT_UNSUPPORTED : NXRT_TARGET_MISMATCH,
                   "the file has no code that this %s machine can run (%s). The machine has: %s. "
                   "Recompile the model with a --target-cpu that it supports%s.",
                   machineArch(), report.empty() ? "none at all" : report.c_str(),
                   machineFeatures().c_str(),
                   otherAbi ? " and the nxcc that belongs to this libnxrt" : "");
}

} // namespace nxrt
