#include "dataplane/core/lazy_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace cw {
namespace {

TEST(LazyMemory, is_zero_and_again_after_it_has_rested) {
  LazyMemory memory;
  std::vector<std::pair<uint8_t*, size_t>> pieces;
  const auto all_are = [&](size_t i, uint8_t wanted) {
    const auto [piece, bytes] = pieces[i];
    return std::all_of(piece, piece + bytes, [&](uint8_t byte) { return byte == wanted; });
  };
  for (const size_t bytes : {1, 64, 5000, 100, 70'000, 4096, 7}) {
    pieces.push_back({static_cast<uint8_t*>(memory.take(bytes)), bytes});
    const size_t i = pieces.size() - 1;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pieces[i].first) % TableMemory::line_bytes, 0u);
    EXPECT_TRUE(all_are(i, 0));
    std::fill_n(pieces[i].first, bytes, static_cast<uint8_t>(i + 1));
  }
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_TRUE(all_are(i, static_cast<uint8_t>(i + 1)));
  LazyMemory moved = std::move(memory);
  moved.rest();
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_TRUE(all_are(i, 0));
}

}  // namespace
}  // namespace cw
