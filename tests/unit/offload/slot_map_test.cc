// What bits add up to, one rule at a time, and beside a model in sets.
#include "offload/slot_map.h"

#include <gtest/gtest.h>

#include <set>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {
using Slots = std::set<uint32_t>;

constexpr SlotMapLimits limits = {
    .ids = 5, .data_slots_max = 150, .repair_slots_max = 37, .chunk_slots = 4};

/// Looks at whole words: a stray bit in the last word's unused part is seen too.
Slots bits_of(const uint64_t* words, uint32_t count) {
  Slots found;
  for (uint32_t bit = 0; bit < (count + 63) / 64 * 64; ++bit) {
    if (words[bit / 64] >> bit % 64 & 1) found.insert(bit);
  }
  return found;
}
Slots data(const SlotMap& map, uint32_t id) {
  return bits_of(map.data_words(id), limits.data_slots_max);
}
Slots repair(const SlotMap& map, uint32_t id) {
  return bits_of(map.repair_words(id), limits.repair_slots_max);
}
Slots chunks(const SlotMap& map, uint32_t id, uint32_t chunk_slots = limits.chunk_slots) {
  return bits_of(map.chunk_words(id), (limits.data_slots_max - 1) / chunk_slots + 1);
}

bool put(SlotMap& map, uint32_t id, uint32_t slot) {
  return map.try_claim(id, slot) && map.count(id, slot);
}

TEST(SlotMap, publishes_a_chunk_with_its_last_slot_and_not_before) {
  SlotMap map(limits);
  map.arm(1, 12);
  for (const uint32_t slot : {7u, 4u, 5u}) EXPECT_FALSE(put(map, 1, slot));
  EXPECT_EQ(chunks(map, 1), Slots{});
  EXPECT_TRUE(put(map, 1, 6));
  EXPECT_EQ(chunks(map, 1), Slots{1});
  EXPECT_EQ(data(map, 1), (Slots{4, 5, 6, 7}));
}

TEST(SlotMap, lets_one_claim_a_slot) {
  SlotMap map(limits);
  map.arm(1, 12);
  EXPECT_TRUE(map.try_claim(1, 3));
  EXPECT_FALSE(map.try_claim(1, 3));
  EXPECT_EQ(map.merge(1, 0, 1 << 3).slots, 0u);
  EXPECT_TRUE(map.try_claim_repair(1, 3));
  EXPECT_FALSE(map.try_claim_repair(1, 3));
  EXPECT_EQ(repair(map, 1), Slots{3});
}

TEST(SlotMap, merges_a_word_and_counts_what_is_new) {
  SlotMap map(limits);
  map.arm(2, 130);
  put(map, 2, 66);
  const SlotMap::Merged merged = map.merge(2, 1, 0b1111'0111);
  EXPECT_EQ(merged.slots, 6u);
  EXPECT_EQ(merged.chunks, 1u) << "that of 68 to 71";
  EXPECT_EQ(chunks(map, 2), Slots{17});
  EXPECT_EQ(map.merge(2, 1, 0b1000).chunks, 1u);
  EXPECT_EQ(chunks(map, 2), (Slots{16, 17}));
  EXPECT_EQ(map.merge(2, 2, 3).chunks, 1u) << "the last, which has two slots";
  EXPECT_EQ(data(map, 2), (Slots{64, 65, 66, 67, 68, 69, 70, 71, 128, 129}));
}

TEST(SlotMap, publishes_chunks_that_lie_across_words) {
  SlotMap map({.ids = 1, .data_slots_max = 150, .repair_slots_max = 0, .chunk_slots = 48});
  map.arm(0, 150);
  EXPECT_EQ(map.merge(0, 0, ~uint64_t{0}).chunks, 1u);
  EXPECT_EQ(map.merge(0, 1, ~uint64_t{0}).chunks, 1u);
  EXPECT_EQ(chunks(map, 0, 48), (Slots{0, 1}));
  EXPECT_EQ(map.merge(0, 2, (1 << 22) - 1).chunks, 2u);
}

TEST(SlotMap, completes_a_short_last_chunk_when_the_length_becomes_known) {
  SlotMap map(limits);
  map.arm(1, 100);
  map.merge(1, 0, 7ull << 20);
  EXPECT_TRUE(map.set_length(1, 23));
  EXPECT_FALSE(map.set_length(1, 23));
  EXPECT_EQ(chunks(map, 1), Slots{5});
  EXPECT_EQ(data(map, 1), (Slots{20, 21, 22})) << "what has come, and nothing else";
}

TEST(SlotMap, completes_a_short_last_chunk_by_its_last_slot) {
  SlotMap map(limits);
  map.arm(1, 100);
  EXPECT_FALSE(map.set_length(1, 23));
  EXPECT_EQ(map.merge(1, 0, 5ull << 20).chunks, 0u);
  EXPECT_TRUE(put(map, 1, 21));
}

TEST(SlotMap, is_all_zero_when_it_is_cleared) {
  SlotMap map(limits);
  for (uint32_t id = 0; id < limits.ids; ++id) {
    map.arm(id, 150);
    for (uint32_t word = 0; word < 3; ++word) map.merge(id, word, word < 2 ? ~0ull : 0x3fffff);
    EXPECT_TRUE(map.try_claim_repair(id, 36));
  }
  map.clear(3);
  EXPECT_EQ(data(map, 3), Slots{});
  EXPECT_EQ(repair(map, 3), Slots{});
  EXPECT_EQ(chunks(map, 3), Slots{});
  map.arm(3, 150);
  EXPECT_EQ(map.merge(3, 0, 0xf).chunks, 1u) << "no count was left over";
  for (const uint32_t id : {0u, 1u, 2u, 4u}) {
    EXPECT_EQ(data(map, id).size(), 150u);
    EXPECT_EQ(chunks(map, id).size(), 38u);
    EXPECT_EQ(repair(map, id), Slots{36});
  }
}

// ---- beside its model ----

struct Model {
  uint32_t slots = 0, end = 0, chunk_slots = 1;
  Slots in, whole;

  /// Which chunks have become whole.
  uint32_t settle() {
    uint32_t fresh = 0;
    for (uint32_t chunk = 0; chunk * chunk_slots < slots; ++chunk) {
      const uint32_t first = chunk * chunk_slots;
      const uint32_t full = std::min(first + chunk_slots, slots);
      const uint32_t cut = std::min(full, end);
      const auto has_all = [&](uint32_t last) {
        for (uint32_t slot = first; slot < last; ++slot) {
          if (!in.contains(slot)) return false;
        }
        return true;
      };
      const bool is_whole = has_all(full) || (cut > first && has_all(cut));
      if (is_whole) fresh += whole.insert(chunk).second;
    }
    return fresh;
  }
};

RC_GTEST_PROP(SlotMapBesideItsModel, adds_up_alike, (uint64_t seed)) {
  Prng random(seed);
  const auto pick = [&](uint64_t below) { return static_cast<uint32_t>(random.below(below)); };
  const uint32_t chunk_slots = 1 + pick(random.chance(0.5) ? 16 : 150);
  SlotMap map({.ids = 2, .data_slots_max = 150, .repair_slots_max = 0, .chunk_slots = chunk_slots});
  for (int life = 0; life < 6; ++life) {
    Model model{.slots = 1 + pick(150), .chunk_slots = chunk_slots, .in = {}, .whole = {}};
    model.end = model.slots;
    map.arm(1, model.slots);
    for (int step = 0; step < 60; ++step) {
      uint32_t found = 0;
      if (random.chance(0.05)) {
        model.end = std::min(model.end, 1 + pick(model.slots));
        found = map.set_length(1, model.end);
      } else if (random.chance(0.5)) {
        const uint32_t slot = pick(model.slots);
        const bool is_first = map.try_claim(1, slot);
        RC_ASSERT(is_first == model.in.insert(slot).second);
        if (is_first) found = map.count(1, slot);
      } else {
        const uint32_t word = pick((model.slots + 63) / 64);
        uint64_t bits = 0;
        uint32_t fresh = 0;
        for (uint32_t slot = word * 64; slot < std::min(word * 64 + 64, model.slots); ++slot) {
          if (!random.chance(0.3)) continue;
          bits |= 1ull << slot % 64;
          fresh += model.in.insert(slot).second;
        }
        const SlotMap::Merged merged = map.merge(1, word, bits);
        RC_ASSERT(merged.slots == fresh);
        found = merged.chunks;
      }
      RC_ASSERT(found == model.settle());
      RC_ASSERT(data(map, 1) == model.in);
      RC_ASSERT(chunks(map, 1, chunk_slots) == model.whole);
    }
    map.clear(1);
    RC_ASSERT(data(map, 1).empty() && chunks(map, 1, chunk_slots).empty());
  }
}

}  // namespace
}  // namespace cw
