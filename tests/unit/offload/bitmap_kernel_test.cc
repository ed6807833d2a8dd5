// Bitmaps, the memory that they lie in, and who works on them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "dataplane/base/prng.h"
#include "offload/executor/executor.h"
#include "tests/property/property.h"
#include "tests/unit/offload/arena.h"

// For failure messages: kind and index say nearly everything.
static bool operator==(const cw_bits_event& a, const cw_bits_event& b) {
  return a.kind == b.kind && a.id == b.id && a.index == b.index && a.generation == b.generation &&
         a.channel == b.channel;
}
static void PrintTo(const cw_bits_event& e, std::ostream* out) {
  *out << "{kind " << int(e.kind) << " id " << e.id << " index " << e.index << " channel "
       << e.channel << " generation " << int(e.generation) << "}";
}

namespace cw {
namespace {
using Events = std::vector<cw_bits_event>;
using Slots = std::set<uint32_t>;

// ---- the rules of the kernel, one at a time, for both variants ----

struct Variant {
  const char* name;
  decltype(&cw_bits_run_lane) run;
  decltype(&cw_bits_claim_lane) claim;
  decltype(&cw_bits_place_lane) place;
  uint8_t claimed_apart;
};

class Bitmap : public testing::TestWithParam<Variant> {
 protected:
  static cw_bits_limits limits() {
    cw_bits_limits limits = small_limits;
    limits.claimed_apart = GetParam().claimed_apart;
    return limits;
  }
  Events run(const std::vector<cw_bits_record>& records, uint32_t partition = 0) {
    Events events(records.size());
    const auto done = GetParam().run(arena.get(), partition, records.data(),
                                     uint32_t(records.size()), events.data(), events.size());
    EXPECT_EQ(done.records, records.size());
    events.resize(done.events);
    return events;
  }
  Events run(const cw_bits_record& record) { return run(std::vector{record}); }

  Arena arena{limits()};
};

INSTANTIATE_TEST_SUITE_P(
    All, Bitmap,
    testing::Values(
        Variant{"lane", cw_bits_run_lane, cw_bits_claim_lane, cw_bits_place_lane, 0},
        Variant{"lane_apart", cw_bits_run_lane, cw_bits_claim_lane, cw_bits_place_lane, 1},
        Variant{"shared", cw_bits_run_shared, cw_bits_claim_shared, cw_bits_place_shared, 0},
        Variant{"shared_apart", cw_bits_run_shared, cw_bits_claim_shared, cw_bits_place_shared, 1}),
    [](const auto& variant) { return variant.param.name; });

TEST_P(Bitmap, publishes_a_chunk_with_its_last_slot_and_not_before) {
  run(arm(1, 0, {.data_slots = 12, .chunk_slots = 4}));
  EXPECT_EQ(run({packet(1, 7), packet(1, 4), packet(1, 5)}), Events{});
  EXPECT_EQ(arena.chunks(1), Slots{});
  EXPECT_EQ(run(packet(1, 6, 0, 9)), (Events{{1, 1, 9, 0, CW_BITS_CHUNK}}));
  EXPECT_EQ(arena.chunks(1), Slots{1});
  EXPECT_EQ(arena.data(1), (Slots{4, 5, 6, 7}));
}

TEST_P(Bitmap, counts_a_slot_once_however_often_it_comes) {
  run(arm(1, 0, {.data_slots = 12, .chunk_slots = 4}));
  EXPECT_EQ(run({packet(1, 3), packet(1, 3), packet(1, 3), packet(1, 3)}),
            (Events{{1, 3, 0, 0, CW_BITS_DUPLICATE},
                    {1, 3, 0, 0, CW_BITS_DUPLICATE},
                    {1, 3, 0, 0, CW_BITS_DUPLICATE}}));
  EXPECT_EQ(arena.chunks(1), Slots{});
}

TEST_P(Bitmap, keeps_repair_slots_apart_from_data_and_out_of_chunks) {
  run(arm(1, 0, {.data_slots = 100, .chunk_slots = 1, .cut = 200'000, .repair_slots = 30}));
  EXPECT_EQ(run({packet(1, 200'000), packet(1, 200'029), packet(1, 200'029)}),
            (Events{{1, 200'029, 0, 0, CW_BITS_DUPLICATE}}));
  EXPECT_EQ(arena.repair(1), (Slots{0, 29}));
  EXPECT_EQ(arena.data(1), Slots{});
  EXPECT_EQ(arena.chunks(1), Slots{});
}

TEST_P(Bitmap, tells_slots_that_are_neither_data_nor_repair) {
  run(arm(1, 0, {.data_slots = 100, .chunk_slots = 1, .cut = 110, .repair_slots = 30}));
  for (const uint32_t slot : {100u, 109u, 140u, (1u << 18) - 1}) {
    EXPECT_EQ(run(packet(1, slot)), (Events{{1, slot, 0, 0, CW_BITS_OUT_OF_RANGE}}));
  }
  EXPECT_EQ(run(packet(5, 0)), (Events{{5, 0, 0, 0, CW_BITS_OUT_OF_RANGE}}));
  EXPECT_EQ(arena.data(1), Slots{});
  EXPECT_EQ(arena.repair(1), Slots{});
}

TEST_P(Bitmap, tells_packets_of_another_generation_and_of_no_life_as_late) {
  EXPECT_EQ(run(packet(2, 3)), (Events{{2, 3, 0, 0, CW_BITS_LATE}}));
  run(arm(2, 1, {.data_slots = 10}));
  EXPECT_EQ(run(packet(2, 3, 0)), (Events{{2, 3, 0, 0, CW_BITS_LATE}}));
  EXPECT_EQ(run(control(CW_BITS_CLOSE, 2, 1)), (Events{{2, 0, 0, 1, CW_BITS_CLOSED}}));
  EXPECT_EQ(run(packet(2, 3, 1)), (Events{{2, 3, 0, 1, CW_BITS_LATE}}));
  EXPECT_EQ(arena.data(2), Slots{});
}

TEST_P(Bitmap, completes_a_short_last_chunk_when_the_length_becomes_known) {
  run(arm(1, 0, {.data_slots = 100, .chunk_slots = 10}));
  run({packet(1, 20), packet(1, 22), packet(1, 21)});
  EXPECT_EQ(run(control(CW_BITS_LENGTH, 1, 0, 0, 23)), (Events{{1, 2, 0, 0, CW_BITS_CHUNK}}));
  EXPECT_EQ(run(control(CW_BITS_LENGTH, 1, 0, 0, 23)), Events{});
  EXPECT_EQ(arena.chunks(1), Slots{2});
  EXPECT_EQ(arena.data(1), (Slots{20, 21, 22})) << "what has come, and nothing else";
  EXPECT_EQ(run(packet(1, 23)), (Events{{1, 23, 0, 0, CW_BITS_OUT_OF_RANGE}}));
}

TEST_P(Bitmap, waits_for_the_rest_of_the_last_chunk_when_the_length_comes_first) {
  run(arm(1, 0, {.data_slots = 100, .chunk_slots = 10}));
  EXPECT_EQ(run(control(CW_BITS_LENGTH, 1, 0, 0, 2)), Events{});
  EXPECT_EQ(run({packet(1, 1), packet(1, 0)}), (Events{{1, 0, 0, 0, CW_BITS_CHUNK}}));
}

TEST_P(Bitmap, does_not_count_a_slot_beyond_the_length_twice) {
  run(arm(1, 0, {.data_slots = 100, .chunk_slots = 4}));
  // Slot 3 should not have come; had the length counted it again, the chunk would be whole with
  // slot 1 missing.
  EXPECT_EQ(run({packet(1, 3), packet(1, 0), control(CW_BITS_LENGTH, 1, 0, 0, 2)}), Events{});
  EXPECT_EQ(run(packet(1, 1)), (Events{{1, 0, 0, 0, CW_BITS_CHUNK}}));
}

TEST_P(Bitmap, has_a_shorter_last_chunk_when_the_armed_slots_are_no_whole_number_of_chunks) {
  run(arm(1, 0, {.data_slots = 11, .chunk_slots = 4}));
  EXPECT_EQ(run({packet(1, 8), packet(1, 10), packet(1, 9)}),
            (Events{{1, 2, 0, 0, CW_BITS_CHUNK}}));
  EXPECT_EQ(run(control(CW_BITS_LENGTH, 1, 0, 0, 11)), Events{});
}

TEST_P(Bitmap, takes_messages_of_no_length) {
  EXPECT_EQ(run({arm(1, 0, {.data_slots = 20, .chunk_slots = 4}),
                 control(CW_BITS_LENGTH, 1, 0, 0, 0), packet(1, 0)}),
            (Events{{1, 0, 0, 0, CW_BITS_OUT_OF_RANGE}}));
  EXPECT_EQ(run({arm(2, 0, {.data_slots = 0}), packet(2, 0)}),
            (Events{{2, 0, 0, 0, CW_BITS_OUT_OF_RANGE}}));
}

TEST_P(Bitmap, counts_void_slots_as_in_and_their_packets_as_duplicates) {
  run(arm(1, 0, {.data_slots = 150, .chunk_slots = 75}));
  std::vector<cw_bits_record> packets;
  for (uint32_t slot = 75; slot < 85; ++slot) packets.push_back(packet(1, slot));
  EXPECT_EQ(run(packets), Events{});
  EXPECT_EQ(run(control(CW_BITS_VOID, 1, 0, 86, 64)), Events{});
  EXPECT_EQ(run(packet(1, 149)), (Events{{1, 149, 0, 0, CW_BITS_DUPLICATE}}));
  // Overlaps what is in already; slot 85 is the last one missing.
  EXPECT_EQ(run(control(CW_BITS_VOID, 1, 0, 80, 10)), (Events{{1, 1, 0, 0, CW_BITS_CHUNK}}));
}

TEST_P(Bitmap, refuses_control_records_that_make_no_sense) {
  const auto is_refused = [&](const cw_bits_record& record) {
    const Events events = run(record);
    return events.size() == 1 && events[0].kind == CW_BITS_REFUSED &&
           events[0].index == record.kind;
  };
  EXPECT_TRUE(is_refused(arm(1, 0, {.data_slots = 151})));
  EXPECT_TRUE(is_refused(arm(1, 0, {.data_slots = 9, .chunk_slots = 0})));
  EXPECT_TRUE(is_refused(arm(1, 0, {.data_slots = 9, .cut = 8, .repair_slots = 1})));
  EXPECT_TRUE(is_refused(arm(1, 0, {.data_slots = 9, .cut = 9, .repair_slots = 38})));
  EXPECT_TRUE(is_refused(arm(1, 0, {.data_slots = 9, .cut = (1 << 18) - 1, .repair_slots = 2})));
  EXPECT_TRUE(is_refused(control(CW_BITS_LENGTH, 1, 0, 0, 0)));
  EXPECT_TRUE(is_refused(control(CW_BITS_VOID, 1, 0, 0, 1)));
  run(arm(1, 0, {.data_slots = 30, .chunk_slots = 4}));
  EXPECT_TRUE(is_refused(arm(1, 0, {.data_slots = 30, .chunk_slots = 4})));
  EXPECT_TRUE(is_refused(control(CW_BITS_CLOSE, 1, 1)));
  EXPECT_TRUE(is_refused(control(CW_BITS_LENGTH, 1, 0, 0, 31)));
  EXPECT_TRUE(is_refused(control(CW_BITS_VOID, 1, 0, 2, 3)));  // two chunks
  EXPECT_TRUE(is_refused(control(CW_BITS_VOID, 1, 0, 29, 2)));
  EXPECT_TRUE(is_refused(control(CW_BITS_VOID, 1, 0, 30, 1)));
  EXPECT_TRUE(is_refused(control(CW_BITS_VOID, 1, 0, 3, 0)));
  EXPECT_TRUE(is_refused(control(77, 1, 0)));
  EXPECT_EQ(arena.data(1), Slots{});
}

TEST_P(Bitmap, stops_before_a_record_whose_event_would_not_fit) {
  run(arm(1, 0, {.data_slots = 10, .chunk_slots = 1}));
  const std::vector records = {packet(1, 0), packet(1, 1), packet(1, 2)};
  Events events(3);
  auto done = GetParam().run(arena.get(), 0, records.data(), 3, events.data(), 2);
  EXPECT_EQ(done.records, 2u);
  EXPECT_EQ(done.events, 2u);
  EXPECT_EQ(arena.data(1), (Slots{0, 1}));
  done = GetParam().run(arena.get(), 0, records.data() + 2, 1, events.data(), 0);
  EXPECT_EQ(done.records, 0u);
  EXPECT_EQ(arena.data(1), (Slots{0, 1}));
}

TEST_P(Bitmap, is_quiet_only_when_every_partition_has_closed) {
  const std::vector arms = {arm(1, 0, {.data_slots = 10, .chunk_slots = 2})};
  run(arms, 0);
  run(arms, 1);
  run({packet(1, 0)}, 0);
  EXPECT_EQ(cw_bits_reset(arena.get(), 1), -1);
  run({control(CW_BITS_CLOSE, 1, 0)}, 0);
  EXPECT_EQ(cw_bits_reset(arena.get(), 1), -1);
  EXPECT_EQ(run({packet(1, 1)}, 1), (Events{{1, 0, 0, 0, CW_BITS_CHUNK}}));
  run({control(CW_BITS_CLOSE, 1, 0)}, 1);
  EXPECT_EQ(arena.data(1), (Slots{0, 1}));
  EXPECT_EQ(cw_bits_reset(arena.get(), 1), 0);
  EXPECT_EQ(arena.data(1), Slots{});
  EXPECT_EQ(arena.chunks(1), Slots{});
  EXPECT_EQ(cw_bits_reset(arena.get(), 5), -1);
}

TEST_P(Bitmap, starts_a_new_life_without_a_trace_of_the_old_one) {
  run({arm(1, 0, {.data_slots = 140, .chunk_slots = 7, .cut = 140, .repair_slots = 37}),
       packet(1, 139), packet(1, 1), packet(1, 176), packet(1, 0),
       control(CW_BITS_VOID, 1, 0, 2, 3), control(CW_BITS_LENGTH, 1, 0, 0, 131),
       control(CW_BITS_CLOSE, 1, 0)});
  ASSERT_EQ(cw_bits_reset(arena.get(), 1), 0);
  EXPECT_EQ(arena.data(1), Slots{});
  EXPECT_EQ(arena.repair(1), Slots{});
  // Counts began at zero again: no chunk is whole before its last slot.
  std::vector records = {arm(1, 1, {.data_slots = 150, .chunk_slots = 3})};
  for (uint32_t slot = 0; slot < 150; ++slot) {
    records.push_back(packet(1, slot, 0));  // of the old life
    if (slot % 3 != 2) records.push_back(packet(1, slot, 1));
  }
  for (const auto& event : run(records)) EXPECT_EQ(event.kind, CW_BITS_LATE);
  EXPECT_EQ(arena.chunks(1), Slots{});
}

TEST_P(Bitmap, shows_a_claimed_slot_only_when_it_is_placed) {
  run(arm(1, 0, {.data_slots = 10, .chunk_slots = 1}));
  const cw_bits_record slot = packet(1, 4, 0, 3);
  cw_bits_spot spot;
  cw_bits_event event;
  ASSERT_EQ(GetParam().claim(arena.get(), 0, &slot, &spot), CW_BITS_NONE);
  cw_bits_spot loser;
  EXPECT_EQ(GetParam().claim(arena.get(), 0, &slot, &loser), CW_BITS_DUPLICATE);
  EXPECT_EQ(arena.data(1), GetParam().claimed_apart ? Slots{} : Slots{4});
  EXPECT_EQ(arena.chunks(1), Slots{});
  ASSERT_EQ(GetParam().place(arena.get(), 0, &slot, &spot, &event), 1);
  EXPECT_EQ(event, (cw_bits_event{1, 4, 3, 0, CW_BITS_CHUNK}));
  EXPECT_EQ(arena.data(1), Slots{4});
  EXPECT_EQ(arena.chunks(1), Slots{4});
}

TEST(BitmapDivision, is_exact_for_every_slot_and_chunk_size) {
  cw_bits_limits limits = small_limits;
  limits.ids = 1;
  limits.slot_bits = 24;
  limits.user_bits = 0;
  limits.data_slots_max = 1 << 24;
  limits.repair_slots_max = 0;
  const Arena arena(limits);
  Prng random(1);
  for (uint8_t life = 0; life < 100; ++life) {
    const auto chunk_slots = uint16_t(life < 40 ? life + 1 : random.between(41, 65535));
    const uint32_t count = (1 << 24) / chunk_slots;
    // The error grows with the slot: mostly the last chunks.
    const uint32_t chunk = random.chance(0.7) ? count - 1 : uint32_t(random.below(count));
    const uint32_t first = chunk * chunk_slots;
    // All but the last slot of a chunk are void, then the last one comes: off by one in either
    // direction, and the void is refused or another chunk is told.
    std::vector records = {arm(0, life, {1 << 24, chunk_slots})};
    records.push_back(control(CW_BITS_VOID, 0, life, 0, chunk_slots - 1));
    records.back().immediate = first;
    if (chunk_slots == 1) records.pop_back();
    records.push_back(packet(0, 0, life));
    records.back().immediate = first + chunk_slots - 1;
    records.push_back(control(CW_BITS_CLOSE, 0, life));
    cw_bits_event events[4];
    const auto done = cw_bits_run_lane(arena.get(), 0, records.data(), records.size(), events, 4);
    ASSERT_EQ(done.events, 2u) << chunk_slots;
    ASSERT_EQ(events[0], (cw_bits_event{0, chunk, 0, life, CW_BITS_CHUNK})) << chunk_slots;
    ASSERT_EQ(cw_bits_reset(arena.get(), 0), 0);
  }
}

// Records of any bytes: what comes from the wire is hostile, and a kernel on a DPA has no net.
RC_GTEST_PROP(BitmapRandom, never_writes_outside_of_its_arena, (uint64_t seed)) {
  cw_bits_limits limits = small_limits;
  limits.claimed_apart = seed & 1;
  const size_t bytes = cw_bits_size(&limits);
  constexpr size_t guard_bytes = 4096;
  std::vector<char> memory(bytes + 2 * guard_bytes + 64, 0x5a);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  char* start = memory.data() + guard_bytes + (64 - address % 64) % 64;
  RC_ASSERT(cw_bits_init(start, &limits) == 0);

  Prng random(seed);
  for (int i = 0; i < 400; ++i) {
    cw_bits_record r{};
    r.immediate = immediate(uint32_t(random.below(7)), uint32_t(random.below(200)));
    if (random.chance(0.1)) r.immediate = uint32_t(random.next());
    r.length = uint32_t(random.below(160));
    if (random.chance(0.1)) r.length = uint32_t(random.next());
    r.repair_slots = uint32_t(random.chance(0.1) ? random.next() : random.below(40));
    r.chunk_slots = uint16_t(random.chance(0.1) ? random.next() : random.below(70));
    r.generation = uint8_t(random.below(2));
    r.kind = uint8_t(random.below(8));
    cw_bits_event event;
    const auto run = random.chance(0.5) ? cw_bits_run_lane : cw_bits_run_shared;
    RC_ASSERT(run(start, uint32_t(random.below(2)), &r, 1, &event, 1).records == 1);
    cw_bits_reset(start, uint32_t(random.below(7)));
  }
  for (const char* c = memory.data(); c < start; ++c) RC_ASSERT(*c == 0x5a);
  for (const char* c = start + bytes; c < memory.data() + memory.size(); ++c) RC_ASSERT(*c == 0x5a);
}

// ---- bitmap arena ----

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

// ---- executor ----

constexpr size_t poll_max = 64;

template <class Executor>
std::vector<cw_bits_event> wait_for_events(Executor& executor, size_t partition, size_t count) {
  std::vector<cw_bits_event> events(count);
  for (size_t have = 0; have < count;) {
    have += executor.poll(partition, std::span(events).subspan(have));
    std::this_thread::yield();
  }
  return events;
}

std::vector<cw_bits_record> whole_message(uint32_t id) {
  std::vector records = {arm(id, 0, {.data_slots = 150, .chunk_slots = 1})};
  for (uint32_t slot = 0; slot < 150; ++slot) records.push_back(packet(id, slot));
  return records;
}

TEST(InlineExecutor, takes_no_more_than_it_has_room_to_tell_of) {
  const Arena arena(small_limits);
  const BitmapPartition partition{arena.get(), 0};
  InlineExecutor executor({&partition, 1}, BitmapSharing::ByLane, 100);
  const auto records = whole_message(0);
  EXPECT_EQ(executor.submit(0, records), 101u);  // the arm tells nothing
  EXPECT_EQ(executor.submit(0, std::span(records).subspan(101)), 0u);
  cw_bits_event events[poll_max];
  EXPECT_EQ(executor.poll(0, events), poll_max);
  EXPECT_EQ(events[63].index, 63u);
  EXPECT_EQ(executor.submit(0, std::span(records).subspan(101)), 50u);
}

TEST(PinnedExecutor, keeps_order_when_nobody_polls_for_a_while) {
  const Arena arena(small_limits);
  const BitmapPartition partition{arena.get(), 0};
  auto executor = PinnedExecutor::make({&partition, 1}, {.records_max = 256, .events_max = 16});
  ASSERT_TRUE(executor.has_value());
  const auto records = whole_message(0);
  ASSERT_EQ((*executor)->submit(0, records), records.size());
  // Long enough for the thread to fill the events and fall asleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(arena.data(0).size(), 16u);
  const auto events = wait_for_events(**executor, 0, 150);
  for (uint32_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].index, i);
}

TEST(PinnedExecutor, wakes_from_sleep_for_every_burst) {
  const Arena arena(small_limits);
  const BitmapPartition partition{arena.get(), 0};
  auto executor = PinnedExecutor::make({&partition, 1}, {});
  ASSERT_TRUE(executor.has_value());
  for (const auto& record : whole_message(3)) {
    ASSERT_EQ((*executor)->submit(0, {&record, 1}), 1u);
    if (record.kind == CW_BITS_ARM) continue;
    wait_for_events(**executor, 0, 1);
    if (record.immediate % 32 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(arena.data(3).size(), 150u);
}

TEST(PinnedExecutor, runs_what_was_submitted_before_it_ends) {
  for (const BitmapIdle idle : {BitmapIdle::Poll, BitmapIdle::Adaptive}) {
    const Arena arena(small_limits);
    const BitmapPartition partition{arena.get(), 0};
    {
      auto executor = PinnedExecutor::make({&partition, 1}, {.idle = idle});
      ASSERT_TRUE(executor.has_value());
      ASSERT_EQ((*executor)->submit(0, whole_message(0)), 151u);
    }
    EXPECT_EQ(arena.data(0).size(), 150u);
  }
}

TEST(PinnedExecutor, reports_a_core_that_does_not_exist_and_runs_all_the_same) {
  const Arena arena(small_limits);
  const BitmapPartition partitions[] = {{arena.get(), 0}, {arena.get(), 1}};
  auto executor = PinnedExecutor::make(partitions, {.cores = {-1, 1 << 20}});
  ASSERT_TRUE(executor.has_value());
  EXPECT_FALSE((*executor)->is_pinned(0));
  EXPECT_FALSE((*executor)->is_pinned(1));
  ASSERT_EQ((*executor)->submit(1, whole_message(0)), 151u);
  EXPECT_EQ(wait_for_events(**executor, 1, 150).back().index, 149u);
}

}  // namespace

}  // namespace cw
