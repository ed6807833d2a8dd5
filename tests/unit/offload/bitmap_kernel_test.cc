// The kernel's rules, one at a time, and beside a model that knows no speed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"
#include "tests/unit/offload/one_row.h"

namespace cw {
namespace {
using Events = std::vector<cw_bits_event>;

class BitmapKernel : public testing::Test {
 protected:
  BitmapKernel() { row.add(0); }
  OneRow row;
};

TEST_F(BitmapKernel, tells_of_all_packets_of_a_word_at_once) {
  EXPECT_EQ(row.run({record(CW_BITS_ARM, 1, 0), packet(1, 64), packet(1, 66), packet(1, 65),
                     packet(1, 127), packet(1, 128)}),
            (Events{event(CW_BITS_ARMED, 1, 0), event(CW_BITS_PLACED, 1, 64, 0, 7 | 1ull << 63),
                    event(CW_BITS_PLACED, 1, 128, 0, 1)}));
}

TEST_F(BitmapKernel, looks_not_at_user_bits) {
  cw_bits_record with_user = packet(1, 3);
  with_user.immediate |= 9;
  EXPECT_EQ(row.run({record(CW_BITS_ARM, 1, 0), with_user, packet(1, 4)}),
            (Events{event(CW_BITS_ARMED, 1, 0), event(CW_BITS_PLACED, 1, 0, 0, 3 << 3)}));
}

TEST_F(BitmapKernel, takes_a_slot_once_however_often_it_comes) {
  EXPECT_EQ(row.run({record(CW_BITS_ARM, 1, 0), packet(1, 3), packet(1, 3)}),
            (Events{event(CW_BITS_ARMED, 1, 0), event(CW_BITS_DUPLICATE, 1, 3),
                    event(CW_BITS_PLACED, 1, 0, 0, 1 << 3)}));
  EXPECT_EQ(row.run({packet(1, 3)}), Events{event(CW_BITS_DUPLICATE, 1, 3)});
}

TEST_F(BitmapKernel, tells_what_is_of_no_stream_id_or_slot) {
  row.run({record(CW_BITS_ARM, 1, 0)});
  EXPECT_EQ(
      row.run({packet(5, 0), packet(1023, 0), packet(1, 150), packet(1, (1u << 18) - 1),
               packet(1, 0, 0, 1), packet(1, 0, 0, 3), packet(1, 0, 0, 65535)}),
      (Events{event(CW_BITS_OUT_OF_RANGE, 5, 0), event(CW_BITS_OUT_OF_RANGE, 1023, 0),
              event(CW_BITS_OUT_OF_RANGE, 1, 150), event(CW_BITS_OUT_OF_RANGE, 1, (1u << 18) - 1),
              event(CW_BITS_OUT_OF_RANGE, 1, 0, 0, 0, 1),
              event(CW_BITS_OUT_OF_RANGE, 1, 0, 0, 0, 3),
              event(CW_BITS_OUT_OF_RANGE, 1, 0, 0, 0, 65535)}));
  EXPECT_EQ(row.run({packet(1, 149), packet(1, 150), packet(1, 191)}),
            (Events{event(CW_BITS_OUT_OF_RANGE, 1, 150), event(CW_BITS_OUT_OF_RANGE, 1, 191),
                    event(CW_BITS_PLACED, 1, 128, 0, 1 << 21)}))
      << "beyond the last slot, within its word";
}

TEST_F(BitmapKernel, tells_packets_of_another_generation_and_of_no_life_as_late) {
  EXPECT_EQ(row.run({packet(2, 3)}), Events{event(CW_BITS_LATE, 2, 3)});
  row.run({record(CW_BITS_ARM, 2, 0, 1)});
  EXPECT_EQ(row.run({packet(2, 3, 0), packet(2, 3, 1), packet(2, 4, 3)}),
            (Events{event(CW_BITS_LATE, 2, 3, 0), event(CW_BITS_LATE, 2, 4, 3),
                    event(CW_BITS_PLACED, 2, 0, 1, 1 << 3)}));
  EXPECT_EQ(row.run({record(CW_BITS_CLOSE, 2, 0, 1), packet(2, 5, 1)}),
            (Events{event(CW_BITS_CLOSED, 2, 0, 1), event(CW_BITS_LATE, 2, 5, 1)}));
}

TEST_F(BitmapKernel, begins_a_life_without_a_bit_of_the_one_before) {
  row.run({record(CW_BITS_ARM, 4, 0, 1), packet(4, 0, 1), packet(4, 70, 1), packet(4, 149, 1)});
  EXPECT_EQ(
      row.run({record(CW_BITS_CLOSE, 4, 0, 1), record(CW_BITS_ARM, 4, 0, 2), packet(4, 70, 1),
               packet(4, 70, 2), packet(4, 0, 2), packet(4, 149, 2)}),
      (Events{event(CW_BITS_CLOSED, 4, 0, 1), event(CW_BITS_ARMED, 4, 0, 2),
              event(CW_BITS_LATE, 4, 70, 1), event(CW_BITS_PLACED, 4, 0, 2, 1),
              event(CW_BITS_PLACED, 4, 64, 2, 1 << 6), event(CW_BITS_PLACED, 4, 128, 2, 1 << 21)}));
}

TEST_F(BitmapKernel, begins_a_life_twice_as_once_and_refuses_another) {
  EXPECT_EQ(row.run({record(CW_BITS_ARM, 0, 0, 3), packet(0, 1, 3), record(CW_BITS_ARM, 0, 0, 3),
                     packet(0, 1, 3), record(CW_BITS_ARM, 0, 0, 2), record(CW_BITS_CLOSE, 0, 0, 2),
                     record(CW_BITS_CLOSE, 1, 0), record(77, 0, 0, 3)}),
            (Events{event(CW_BITS_ARMED, 0, 0, 3), event(CW_BITS_PLACED, 0, 0, 3, 2),
                    event(CW_BITS_ARMED, 0, 0, 3), event(CW_BITS_DUPLICATE, 0, 1, 3),
                    event(CW_BITS_REFUSED, 0, 0, 2), event(CW_BITS_REFUSED, 0, 0, 2),
                    event(CW_BITS_REFUSED, 1, 0), event(CW_BITS_REFUSED, 0, 0, 3)}));
}

TEST_F(BitmapKernel, refuses_a_record_of_nothing_but_zeros) {
  EXPECT_EQ(row.run({cw_bits_record{}, packet(1, 0, 0, 9), cw_bits_record{}, packet(0, 1)}),
            (Events{event(CW_BITS_REFUSED, 0, 0), event(CW_BITS_OUT_OF_RANGE, 1, 0, 0, 0, 9),
                    event(CW_BITS_REFUSED, 0, 0), event(CW_BITS_LATE, 0, 1)}));
}

TEST_F(BitmapKernel, tells_streams_apart) {
  row.add(2, {.ids = 2, .slots_max = 9, .slot_bits = 4, .user_bits = 0});
  const auto of_two = [](uint8_t kind, uint32_t id, uint32_t slot) {
    return cw_bits_record{id << 4 | slot, 2, 0, kind};
  };
  const Events told =
      row.run({of_two(CW_BITS_ARM, 1, 0), record(CW_BITS_ARM, 1, 0), of_two(CW_BITS_PACKET, 1, 8),
               packet(1, 8), of_two(CW_BITS_PACKET, 1, 9), of_two(CW_BITS_PACKET, 0, 8)});
  EXPECT_EQ(told, (Events{{of_two(CW_BITS_ARMED, 1, 0), 0},
                          event(CW_BITS_ARMED, 1, 0),
                          {of_two(CW_BITS_PLACED, 1, 0), 1 << 8},
                          event(CW_BITS_PLACED, 1, 0, 0, 1 << 8),
                          {of_two(CW_BITS_OUT_OF_RANGE, 1, 9), 0},
                          {of_two(CW_BITS_LATE, 0, 8), 0}}));
}

TEST_F(BitmapKernel, takes_no_more_than_it_has_room_to_tell_of) {
  OneRow tight(64, 4);
  tight.add(0);
  for (uint32_t slot = 0; slot < 10; ++slot) tight.push(packet(1, slot));
  EXPECT_EQ(cw_bits_serve(&tight.row()), 4u);
  EXPECT_EQ(cw_bits_serve(&tight.row()), 0u);
  EXPECT_EQ(tight.take_events().size(), 4u);
  EXPECT_EQ(cw_bits_serve(&tight.row()), 4u);
  EXPECT_EQ(tight.take_events().size(), 4u);
  EXPECT_EQ(cw_bits_serve(&tight.row()), 2u);
}

TEST_F(BitmapKernel, counts_on_across_the_wrap) {
  row.row().records_head = row.row().records_tail = UINT32_MAX - 40;
  row.row().events_head = row.row().events_tail = UINT32_MAX - 2;
  row.run({record(CW_BITS_ARM, 1, 0)});
  for (uint32_t slot = 0; slot < 100; ++slot) {
    EXPECT_EQ(row.run({packet(1, slot)}),
              Events{event(CW_BITS_PLACED, 1, slot / 64 * 64, 0, 1ull << slot % 64)});
  }
}

TEST(BitmapArena, refuses_limits_that_contradict_each_other) {
  const auto size_with = [](auto change) {
    cw_bits_limits limits = small_limits;
    change(limits);
    return cw_bits_arena_size(&limits);
  };
  EXPECT_GT(size_with([](auto&) {}), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.ids = 0; }), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.ids = 1025; }), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.slots_max = 0; }), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.slots_max = (1u << 18) + 1; }), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.slot_bits = 0; }), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.slot_bits = 25, l.user_bits = 0; }), 0u);
  EXPECT_EQ(size_with([](auto& l) { l.user_bits = 14; }), 0u);
}

// ---- beside its model ----

/// The definition in sets and maps.
class Model {
 public:
  Model(const cw_bits_limits& limits, uint16_t streams) : limits_(limits), streams_(streams) {}

  /// The event that answers a record, a packet's with its own bit alone.
  cw_bits_event run(const cw_bits_record& r) {
    cw_bits_event told = {r, 0};
    told.about.kind = kind_for(r);
    if (told.about.kind == CW_BITS_PLACED) {
      told.bits = 1ull << slot_of(r) % 64;
      told.about.immediate = immediate(r.immediate >> 22, slot_of(r) / 64 * 64);
    }
    return told;
  }

 private:
  struct Life {
    bool is_armed = false;
    uint8_t generation = 0;
    std::set<uint32_t> slots;
  };
  static uint32_t slot_of(const cw_bits_record& r) { return r.immediate >> 4 & 0x3ffff; }
  uint8_t kind_for(const cw_bits_record& r) {
    const uint32_t id = r.immediate >> 22;
    if (r.stream >= streams_ || id >= limits_.ids) return CW_BITS_OUT_OF_RANGE;
    Life& life = lives_[{r.stream, id}];
    const bool is_same = life.is_armed && life.generation == r.generation;
    switch (r.kind) {
      case CW_BITS_PACKET:
        if (slot_of(r) >= limits_.slots_max) return CW_BITS_OUT_OF_RANGE;
        if (!is_same) return CW_BITS_LATE;
        return life.slots.insert(slot_of(r)).second ? CW_BITS_PLACED : CW_BITS_DUPLICATE;
      case CW_BITS_ARM:
        if (life.is_armed && !is_same) return CW_BITS_REFUSED;
        life.is_armed = true;
        life.generation = r.generation;
        return CW_BITS_ARMED;
      case CW_BITS_CLOSE:
        if (!is_same) return CW_BITS_REFUSED;
        life = {};
        return CW_BITS_CLOSED;
    }
    return CW_BITS_REFUSED;
  }

  cw_bits_limits limits_;
  uint16_t streams_;
  std::map<std::pair<uint16_t, uint32_t>, Life> lives_;
};

/// Anything at all, near the edges mostly.
cw_bits_record any_record(Prng& random) {
  const auto pick = [&](uint64_t below) { return static_cast<uint32_t>(random.below(below)); };
  uint8_t kind = CW_BITS_PACKET;
  if (random.chance(0.1)) kind = random.chance(0.5) ? CW_BITS_ARM : CW_BITS_CLOSE;
  if (random.chance(0.01)) kind = static_cast<uint8_t>(random.next());
  return record(kind, pick(random.chance(0.05) ? 1024 : 6),
                pick(random.chance(0.05) ? 1u << 18 : 155), static_cast<uint8_t>(pick(3)),
                static_cast<uint16_t>(pick(3)));
}

/// One event for each record: bits of a word that were told at once, one by one.
std::multiset<std::tuple<uint32_t, uint16_t, uint8_t, uint8_t, uint64_t>> singly(
    const Events& events) {
  std::multiset<std::tuple<uint32_t, uint16_t, uint8_t, uint8_t, uint64_t>> all;
  for (const cw_bits_event& e : events) {
    const cw_bits_record& about = e.about;
    uint64_t bits = e.bits;
    do {
      const uint64_t lowest = bits & (~bits + 1);
      all.insert({about.immediate, about.stream, about.generation, about.kind, lowest});
      bits &= ~lowest;
    } while (bits != 0);
  }
  return all;
}

RC_GTEST_PROP(BitmapKernelBesideItsModel, says_the_same_of_any_records, (uint64_t seed)) {
  Prng random(seed);
  OneRow row(64, 64, 2);
  row.add(0);
  row.add(1);
  Model model(small_limits, 2);
  for (int burst = 0; burst < 60; ++burst) {
    Events expected;
    std::vector<cw_bits_record> records;
    for (uint64_t count = 1 + random.below(64); records.size() < count;) {
      records.push_back(any_record(random));
      // The word in which a control record's slot lies is nobody's affair.
      if (records.back().kind != CW_BITS_PACKET) records.back().immediate &= ~0u << 22;
      expected.push_back(model.run(records.back()));
    }
    RC_ASSERT(singly(row.run(records)) == singly(expected));
  }
}

}  // namespace
}  // namespace cw
