#include <vector>

#include "tests/unit/offload/arena.h"

namespace cw {
namespace {

TEST(BitmapArena, holds_two_windows_of_25_ms_at_400_gbps_in_76_kib_of_packet_bits) {
  constexpr uint64_t slots = 400'000'000'000 / 8 * 2 * 25 / 1000 / 4096;
  cw_bits_limits limits = small_limits;
  limits.data_slots_max = 4096;  // messages of 16 MiB
  limits.repair_slots_max = 0;
  limits.chunk_slots_min = 16;
  limits.partitions = 1;
  limits.ids = (slots + 4095) / 4096 + 1;  // one message may be half used at either end
  EXPECT_EQ(slots, 610'351u);

  const Arena arena(limits);
  const auto* first = cw_bits_data_words(arena.get(), 0);
  const size_t packet_bytes = (cw_bits_chunk_words(arena.get(), 0) - first) * sizeof(uint64_t);
  EXPECT_EQ(packet_bytes, 4096u / 8);
  EXPECT_LE((limits.ids - 1) * packet_bytes, 76u << 10);
  EXPECT_GT(limits.ids * packet_bytes, 74u << 10);
  // All of it, with counts, chunk bits and the partition's table, leaves most of a DPA's 1.5 MB.
  EXPECT_LT(cw_bits_size(&limits), 300u << 10);
}

TEST(BitmapArena, follows_the_limits_and_not_the_width_of_the_slot_field) {
  cw_bits_limits narrow = small_limits, wide = small_limits;
  narrow.slot_bits = 18;
  wide.slot_bits = 22;
  wide.user_bits = 2;
  EXPECT_EQ(cw_bits_size(&narrow), cw_bits_size(&wide));
}

TEST(BitmapArena, keeps_claims_apart_only_when_asked) {
  cw_bits_limits one = small_limits, apart = small_limits;
  one.data_slots_max = apart.data_slots_max = 4096;
  apart.claimed_apart = 1;
  EXPECT_GE(cw_bits_size(&apart), cw_bits_size(&one) + one.ids * 4096 / 8);
}

TEST(BitmapArena, refuses_limits_that_the_split_cannot_name) {
  const auto is_refused = [](auto change) {
    cw_bits_limits limits = small_limits;
    change(limits);
    alignas(64) char nothing[64];
    return cw_bits_size(&limits) == 0 && cw_bits_init(nothing, &limits) == -1;
  };
  EXPECT_FALSE(cw_bits_size(&small_limits) == 0);
  EXPECT_TRUE(is_refused([](auto& l) { l.ids = 0; }));
  EXPECT_TRUE(is_refused([](auto& l) { l.ids = 1025; }));
  EXPECT_TRUE(is_refused([](auto& l) { l.partitions = 0; }));
  EXPECT_TRUE(is_refused([](auto& l) { l.data_slots_max = 0; }));
  EXPECT_TRUE(is_refused([](auto& l) { l.data_slots_max = 1 << 18; }));  // and 37 for repair
  EXPECT_TRUE(is_refused([](auto& l) { l.chunk_slots_min = 0; }));
  EXPECT_TRUE(is_refused([](auto& l) { l.slot_bits = 25; }));
  EXPECT_TRUE(is_refused([](auto& l) { l.slot_bits = 24, l.user_bits = 8; }));
}

TEST(BitmapArena, refuses_memory_that_is_not_aligned_to_a_line) {
  std::vector<char> memory(cw_bits_size(&small_limits) + 128);
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  char* odd = memory.data() + (64 - address % 64) + 8;
  EXPECT_EQ(cw_bits_init(odd, &small_limits), -1);
}

}  // namespace
}  // namespace cw
