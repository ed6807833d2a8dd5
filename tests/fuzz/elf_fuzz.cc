// A file that is to be loaded as a plugin: whether the loader may trust what it maps.
#include <elf.h>

#include <cstring>
#include <vector>

#include "dataplane/base/assert.h"
#include "plugins/check/elf_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<char> file(data, data + size);
  if (!cw::plugins::check_elf(file)) return 0;
  Elf64_Ehdr head;
  CW_ASSERT(size >= sizeof head);
  std::memcpy(&head, file.data(), sizeof head);
  for (size_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, &file[head.e_phoff + i * sizeof segment], sizeof segment);
    CW_ASSERT(segment.p_type != PT_LOAD || segment.p_filesz == 0 ||
              (segment.p_offset < size && segment.p_filesz <= size - segment.p_offset));
  }
  return 0;
}
