#include "dataplane/core/large_memory.h"

#include <sys/mman.h>

namespace cw {

LargeMemory make_large_memory(size_t bytes) {
  constexpr size_t line = 64, large_page = size_t{2} << 20;
  const size_t unit = bytes < large_page ? line : large_page;
  if (bytes > SIZE_MAX - unit) return nullptr;
  const size_t whole = (bytes + unit - 1) / unit * unit;
  LargeMemory memory(static_cast<uint8_t*>(std::aligned_alloc(unit, whole)));
  // A kernel that does not do it leaves small pages, which only cost time.
  if (memory && unit == large_page) (void)madvise(memory.get(), whole, MADV_HUGEPAGE);
  return memory;
}

}  // namespace cw
