// What of LazyMemory is resident, which is all of it where an address sanitizer looks.
#include <gtest/gtest.h>

#include "dataplane/core/lazy_memory.h"

namespace cw {
namespace {

TEST(LazyMemory, is_resident_where_it_was_written) {
  LazyMemory memory;
  auto* const piece = static_cast<uint8_t*>(memory.take(1 << 20));
  EXPECT_EQ(LazyMemory::all_bytes(), memory.bytes());
  EXPECT_EQ(memory.resident_bytes(), 0u);
  piece[0] = piece[1 << 19] = 1;
  EXPECT_EQ(memory.resident_bytes(), 2 * 4096u);
  memory.rest();
  EXPECT_EQ(memory.resident_bytes(), 0u);
}

}  // namespace
}  // namespace cw
