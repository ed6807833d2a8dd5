// A stage and its owner: whoever runs the partitions, the same bits come of the same packets, and
// of partitions that stand still or lie, too.
#include "offload/stage/stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "offload/stage/pinned_threads.h"
#include "tests/unit/offload/hand_runner.h"
#include "tests/unit/offload/owner.h"

namespace cw {
namespace {
using namespace literals;

Instant at(int64_t ms) { return Instant() + Duration::from_ms(ms); }

std::unique_ptr<BitStage> stage_of(std::unique_ptr<RowRunner> runner,
                                   BitStageOptions options = {}) {
  auto stage = BitStage::make(std::move(runner), options);
  EXPECT_TRUE(stage) << (stage ? "" : stage.error().sentence);
  return std::move(*stage);
}

// ---- the turn runs it ----

TEST(StageOfTheTurn, has_answered_when_it_is_polled) {
  const auto stage = stage_of(nullptr);
  Owner owner(*stage);
  owner.arm(1);
  for (const uint32_t slot : {3u, 4u, 3u, 70u}) owner.put(1, slot);
  EXPECT_TRUE(stage->settle(at(0)));
  EXPECT_FALSE(stage->is_busy());
  EXPECT_EQ(owner.slots(1), (std::set<uint32_t>{3, 4, 70}));
  EXPECT_EQ(owner.duplicates, 1u);
  owner.close(1);
  EXPECT_TRUE(owner.is_quiet(1)) << "in the call";
}

// ---- others run it ----

TEST(BitStage, holds_an_id_until_all_partitions_have_told_of_its_end) {
  auto [stage, hands] = stage_by_hand({.partitions = 2});
  Owner owner(*stage, {.channels = 2});
  owner.arm(1);
  owner.close(1);
  EXPECT_FALSE(owner.is_quiet(1));
  hands->serve(0);
  stage->poll(at(0));
  EXPECT_FALSE(owner.is_quiet(1));
  hands->serve(1);
  stage->poll(at(0));
  EXPECT_TRUE(owner.is_quiet(1));
  EXPECT_EQ(owner.quiet_count, 1u);
}

TEST(BitStage, gives_packets_to_partitions_by_channel) {
  auto [stage, hands] = stage_by_hand({.partitions = 2});
  Owner owner(*stage, {.channels = 4});
  owner.arm(1);
  for (uint32_t slot = 0; slot < 64; ++slot) owner.put(1, slot);
  stage->settle(at(0));
  hands->serve(1);
  stage->poll(at(0));
  for (const uint32_t slot : owner.slots(1)) EXPECT_EQ(slot % 2, 1u);
  EXPECT_EQ(owner.slots(1).size(), 32u);
  hands->serve(0);
  stage->poll(at(0));
  EXPECT_EQ(owner.slots(1).size(), 64u);
  EXPECT_EQ(stage->records(0) + stage->records(1), 64u + 2);
  EXPECT_EQ(stage->events(0) + stage->events(1), 2u + 2) << "a word, and an arm, of each";
}

TEST(BitStage, has_room_for_what_a_ring_holds_and_loses_nothing) {
  auto [stage, hands] = stage_by_hand({.partitions = 1, .records_max = 128});
  Owner owner(*stage);
  owner.arm(1);
  EXPECT_EQ(stage->room(), 127u);
  for (uint32_t slot = 0; slot < 127; ++slot) owner.put(1, slot);
  stage->settle(at(0));
  EXPECT_EQ(stage->room(), 0u);
  // What says that lives end and begin waits beside the ring, and in its order.
  owner.close(1);
  owner.arm(2);
  EXPECT_EQ(stage->room(), 0u);
  hands->serve_all(0);
  stage->poll(at(1));
  EXPECT_EQ(owner.seen_before_end(1).size(), 127u);
  EXPECT_FALSE(owner.is_quiet(1));
  hands->serve_all(0);
  stage->poll(at(2));
  EXPECT_TRUE(owner.is_quiet(1));
  EXPECT_EQ(stage->room(), 128u);
}

// A control packet in the middle of a burst may end an epoch, and with it every message: the room
// that the burst was told of stays its own.
TEST(BitStage, keeps_the_room_of_a_burst_in_which_lives_end) {
  auto [stage, hands] = stage_by_hand({.partitions = 1, .records_max = 128});
  Owner owner(*stage, {.ids = 100});
  for (uint32_t id = 0; id < 100; ++id) {
    owner.arm(id);
    hands->serve_all(0);
    stage->poll(at(0));
  }
  const size_t room = std::min<size_t>(stage->room(), limits::burst_packets_max);
  EXPECT_EQ(room, limits::burst_packets_max);
  for (uint32_t id = 1; id < 100; ++id) owner.close(id);
  for (uint32_t slot = 0; slot < room; ++slot) owner.put(0, slot);
  for (int i = 0; i < 5; ++i) {
    stage->settle(at(0));
    hands->serve_all(0);
  }
  EXPECT_EQ(owner.slots(0).size(), room);
  EXPECT_EQ(owner.duplicates, 0u);
  for (uint32_t id = 1; id < 100; ++id) EXPECT_TRUE(owner.is_quiet(id)) << id;
  EXPECT_EQ(stage->room(), 128u);
}

TEST(BitStage, refuses_a_stream_too_many_and_limits_that_cannot_be) {
  const auto stage = stage_of(nullptr, {.streams_max = 1});
  Owner owner(*stage);
  const auto second = stage->add(owner, 1, owner.limits());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().sentence, "offload: a stream is one too many: there are 1 at most");
  const auto other = stage_of(nullptr);
  EXPECT_FALSE(
      other->add(owner, 1, {.ids = 2000, .slots_max = 1, .slot_bits = 18, .user_bits = 4}));
}

TEST(BitStage, says_which_core_was_refused) {
  const auto stage =
      BitStage::make(std::make_unique<PinnedThreads>(std::vector<int>{0, 1000}), {.partitions = 2});
  ASSERT_FALSE(stage);
  EXPECT_EQ(stage.error().sentence,
            "offload: core 1000 was refused (Invalid argument); name cores that this machine has "
            "and this process may use");
}

TEST(BitStage, says_what_a_runner_has_no_memory_for) {
  auto hands = std::make_unique<HandRunner>();
  hands->bytes_left = 1000;
  const auto stage = BitStage::make(std::move(hands), {});
  ASSERT_FALSE(stage);
  EXPECT_NE(stage.error().sentence.find("no memory is left for a row"), std::string::npos);
}

// ---- partitions that stand still ----

/// As a partition that was stopped in the middle of a burst leaves it: some records are taken, of
/// more the events are told, and the rest waits.
class StalledStage : public testing::TestWithParam<int> {};

TEST_P(StalledStage, is_left_within_the_bound_and_no_bit_is_lost_or_invented) {
  auto [stage, hands] = stage_by_hand({.partitions = 2, .stall_max = 10_ms});
  Owner owner(*stage, {.channels = 2});
  for (uint32_t id = 0; id < 4; ++id) owner.arm(id);
  stage->poll(at(0));
  for (uint32_t slot = 0; slot < 150; ++slot) owner.put(1, slot);
  for (uint32_t slot = 0; slot < 20; ++slot) owner.put(2, slot);
  owner.close(2);
  stage->settle(at(0));
  hands->serve_all(1);
  hands->stop_in_the_middle(0, GetParam());
  stage->poll(at(1));
  EXPECT_EQ(stage->why_left(0), "");
  for (uint32_t slot = 0; slot < 30; ++slot) owner.put(3, slot);
  stage->settle(at(1));
  hands->serve_all(1);
  for (int64_t ms = 2; ms <= 10; ++ms) stage->poll(at(ms));
  EXPECT_EQ(stage->why_left(0), "");
  stage->poll(at(12));
  EXPECT_TRUE(stage->why_left(0).starts_with("it took no record for 1")) << stage->why_left(0);
  EXPECT_EQ(stage->why_left(1), "");
  stage->poll(at(12));
  EXPECT_EQ(owner.slots(1).size(), 150u);
  EXPECT_EQ(owner.slots(3).size(), 30u);
  EXPECT_TRUE(owner.is_quiet(2));
  EXPECT_EQ(owner.seen_before_end(2).size(), 20u);
  EXPECT_EQ(owner.duplicates, 0u) << "what was told twice is counted once";
  EXPECT_EQ(owner.impossible, 0u);

  // It wakes up, and goes on with what is nobody's any more.
  owner.arm(2);
  hands->serve_all(0);
  stage->settle(at(13));
  stage->poll(at(13));
  EXPECT_EQ(owner.slots(2).size(), 0u);
  for (uint32_t slot = 0; slot < 100; ++slot) owner.put(2, slot);
  owner.put(1, 4);
  stage->settle(at(13));
  hands->serve_all(1);
  stage->poll(at(14));
  EXPECT_EQ(owner.slots(2).size(), 100u);
  EXPECT_EQ(owner.duplicates, 1u);
  EXPECT_FALSE(stage->is_busy());
}

INSTANTIATE_TEST_SUITE_P(After, StalledStage, testing::Values(0, 1, 5, 40, 63, 64, 65, 90));

TEST(BitStage, waits_for_who_was_paused_as_it_was_itself) {
  auto [stage, hands] = stage_by_hand({.partitions = 1, .stall_max = 10_ms});
  Owner owner(*stage);
  owner.arm(1);
  stage->poll(at(0));
  stage->rebase(100_ms);
  stage->poll(at(105));
  EXPECT_EQ(stage->why_left(0), "");
  stage->poll(at(111));
  EXPECT_NE(stage->why_left(0), "");
}

TEST(BitStage, that_is_idle_for_long_does_not_stand_still) {
  auto [stage, hands] = stage_by_hand({.partitions = 1, .stall_max = 10_ms});
  Owner owner(*stage);
  owner.arm(1);
  hands->serve_all(0);
  stage->poll(at(0));
  stage->poll(at(5000));
  owner.put(1, 0);
  stage->settle(at(5000));
  stage->poll(at(5005));
  EXPECT_EQ(stage->why_left(0), "");
  hands->serve_all(0);
  stage->poll(at(5006));
  EXPECT_EQ(owner.slots(1).size(), 1u);
}

// ---- partitions that lie ----

struct Lie {
  const char* name;
  std::function<void(HandRunner&)> tell;
  const char* why;
};

class LyingStage : public testing::TestWithParam<Lie> {};

TEST_P(LyingStage, is_left_and_what_is_true_stays) {
  auto [stage, hands] = stage_by_hand({.partitions = 1, .records_max = 128});
  Owner owner(*stage);
  owner.arm(1);
  for (uint32_t slot = 0; slot < 20; ++slot) owner.put(1, slot);
  stage->settle(at(0));
  hands->serve_all(0);
  stage->poll(at(0));
  for (uint32_t slot = 20; slot < 40; ++slot) owner.put(1, slot);
  stage->settle(at(0));
  GetParam().tell(*hands);
  stage->poll(at(0));
  stage->poll(at(0));
  EXPECT_EQ(stage->why_left(0), GetParam().why);
  std::set<uint32_t> all;
  for (uint32_t slot = 0; slot < 40; ++slot) all.insert(slot);
  EXPECT_EQ(owner.slots(1), all);
  EXPECT_EQ(owner.slots(2), std::set<uint32_t>{});
  owner.close(1);
  EXPECT_TRUE(owner.is_quiet(1));
}

cw_bits_event placed(uint32_t id, uint32_t slot, uint64_t bits, uint8_t generation = 0,
                     uint16_t stream = 0) {
  return {{id << 22 | slot << 4, stream, generation, CW_BITS_PLACED}, bits};
}

const Lie lies[] = {
    {"of_more_records_than_it_was_given", [](HandRunner& r) { r.row(0).records_head += 1000; },
     "it says it has taken records that it was not given"},
    {"of_fewer_records_than_before", [](HandRunner& r) { r.row(0).records_head -= 3; },
     "it says it has taken records that it was not given"},
    {"of_more_events_than_there_is_room_for",
     [](HandRunner& r) { r.row(0).events_tail += 0x8000'0000; },
     "it has told more than there is room for"},
    {"of_records_without_an_answer", [](HandRunner& r) { r.row(0).records_head += 5; },
     "it has told more or less than it was given"},
    {"of_more_packets_than_it_was_given", [](HandRunner& r) { r.tell(0, placed(1, 64, ~0ull)); },
     "it has told more or less than it was given"},
    {"in_its_records_of_other_slots",
     [](HandRunner& r) {
       for (uint32_t i = 0; i < 128; ++i) cw_bits_records(&r.row(0))[i].immediate = 1u << 22 | 900;
       r.row(0).records_head += 1000;
     },
     "it says it has taken records that it was not given"},
    {"of_the_begin_of_a_life_once_more",
     [](HandRunner& r) { r.tell(0, {{1u << 22, 0, 0, CW_BITS_ARMED}, 0}); },
     "it speaks of a life that cannot be over"},
    {"of_an_id_that_there_is_not", [](HandRunner& r) { r.tell(0, placed(7, 0, 1)); },
     "it speaks of a packet that cannot be"},
    {"of_a_slot_beyond_the_message", [](HandRunner& r) { r.tell(0, placed(1, 192, 1)); },
     "it speaks of a packet that cannot be"},
    {"of_a_slot_beyond_the_last", [](HandRunner& r) { r.tell(0, placed(1, 128, 1ull << 30)); },
     "it speaks of a packet that cannot be"},
    {"of_another_life", [](HandRunner& r) { r.tell(0, placed(1, 0, 1, 1)); },
     "it speaks of a packet that cannot be"},
    {"of_no_slot", [](HandRunner& r) { r.tell(0, placed(1, 0, 0)); },
     "it speaks of a packet that cannot be"},
    {"of_a_stream_that_there_is_not", [](HandRunner& r) { r.tell(0, placed(1, 0, 1, 0, 9)); },
     "it speaks of a stream that there is not"},
    {"of_the_end_of_a_life_that_goes_on",
     [](HandRunner& r) { r.tell(0, {{1u << 22, 0, 0, CW_BITS_CLOSED}, 0}); },
     "it speaks of a life that cannot be over"},
    {"of_nothing_that_has_a_name", [](HandRunner& r) { r.tell(0, {{1u << 22, 0, 0, 99}, 0}); },
     "it speaks of a life that cannot be over"},
};

INSTANTIATE_TEST_SUITE_P(Lies, LyingStage, testing::ValuesIn(lies),
                         [](const auto& lie) { return lie.param.name; });

// It stops when it has told of an end, but not that it has taken the records up to there; and the
// id begins anew with the same generation, as after an epoch.
TEST(BitStage, takes_no_packet_of_an_old_life_for_one_of_a_new_one_with_the_same_generation) {
  auto [stage, hands] = stage_by_hand({.partitions = 1, .stall_max = 10_ms});
  Owner owner(*stage, {.generations = 1});
  owner.arm(1);
  hands->serve_all(0);
  stage->poll(at(0));
  owner.put(1, 5);
  owner.close(1);
  stage->settle(at(0));
  hands->stop_in_the_middle(0, 2);
  stage->poll(at(1));
  EXPECT_TRUE(owner.is_quiet(1));
  owner.arm(1);
  owner.put(1, 7);
  stage->settle(at(2));
  stage->poll(at(20));
  EXPECT_NE(stage->why_left(0), "");
  EXPECT_EQ(owner.slots(1), std::set<uint32_t>{7});
}

// ---- the same records through all ----

struct Way {
  const char* name;
  size_t partitions;
  std::unique_ptr<RowRunner> (*make)();
};

class StageWays : public testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(
    All, StageWays,
    testing::Values(Way{"turn", 1, [] { return std::unique_ptr<RowRunner>(); }},
                    Way{"one_core", 1,
                        []() -> std::unique_ptr<RowRunner> {
                          return std::make_unique<PinnedThreads>(std::vector<int>{});
                        }},
                    Way{"three_cores", 3,
                        []() -> std::unique_ptr<RowRunner> {
                          return std::make_unique<PinnedThreads>(std::vector<int>{0});
                        }}),
    [](const auto& way) { return way.param.name; });

TEST_P(StageWays, give_the_same_bits_for_the_same_packets) {
  const auto stage = stage_of(GetParam().make(), {.partitions = GetParam().partitions,
                                                  .records_max = 1024,
                                                  .stall_max = Duration::from_s(60)});
  Owner owner(*stage, {.channels = 8});
  const Play played = play(owner, /*seed=*/20261125, /*packets=*/1'000'000);
  EXPECT_EQ(owner.impossible, 0u);
  EXPECT_EQ(played.packets, owner.taken_count + owner.duplicates + owner.late + owner.out_of_range)
      << "every packet is answered once";
  EXPECT_EQ(played.wrong_lives, 0u) << "each life ended with the bits that its packets have";
  EXPECT_GT(played.lives, 500u);
  EXPECT_GT(owner.out_of_range, 1000u);
  for (size_t i = 0; i < stage->partition_count(); ++i) EXPECT_EQ(stage->why_left(i), "");
}

}  // namespace
}  // namespace cw
