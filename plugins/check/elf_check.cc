#include "plugins/check/elf_check.h"

#include <elf.h>

#include <cstring>
#include <string>

namespace cw::plugins {
namespace {

#if defined(__x86_64__)
constexpr uint16_t machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t machine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t machine = EM_RISCV;
#endif
constexpr unsigned char byte_order =
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

/// The object of type T at `offset`; the caller has checked that it lies inside.
template <class T>
T object_at(std::span<const char> file, size_t offset) {
  T object;
  std::memcpy(&object, file.data() + offset, sizeof object);
  return object;
}

bool lies_inside(std::span<const char> file, uint64_t offset, uint64_t bytes) {
  return offset <= file.size() && bytes <= file.size() - offset;
}

bool is_whole(std::span<const char> file, const Elf64_Ehdr& head) {
  if (head.e_phentsize != sizeof(Elf64_Phdr)) return false;
  if (!lies_inside(file, head.e_phoff, uint64_t{head.e_phnum} * sizeof(Elf64_Phdr))) return false;
  for (size_t i = 0; i < head.e_phnum; ++i) {
    const auto segment = object_at<Elf64_Phdr>(file, head.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_LOAD) continue;
    if (!lies_inside(file, segment.p_offset, segment.p_filesz)) return false;
  }
  return true;
}

}  // namespace

Result<void> check_elf(std::span<const char> file) {
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
    return failure("is not a shared object");
  }
  const auto head = object_at<Elf64_Ehdr>(file, 0);
  const bool is_ours = head.e_ident[EI_CLASS] == ELFCLASS64 &&
                       head.e_ident[EI_DATA] == byte_order && head.e_machine == machine;
  if (!is_ours) return failure("is made for another machine");
  if (head.e_type != ET_DYN) return failure("is not a shared object");
  if (!is_whole(file, head)) {
    return failure("is cut short at " + std::to_string(file.size()) + " bytes: copy it again");
  }
  return {};
}

}  // namespace cw::plugins
