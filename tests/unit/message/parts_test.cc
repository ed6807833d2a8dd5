// What messages between members are kept in.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "dataplane/datagram/message_index.h"
#include "dataplane/datagram/spray.h"
#include "dataplane/message/peer_row.h"
#include "dataplane/message/steps.h"
#include "tests/property/property.h"

namespace cw::group {
namespace {

using namespace literals;

// ---- numbers ----

// [C-76]
TEST(MessageNumbers, begin_again_behind_the_last_one_without_0) {
  EXPECT_EQ(next_number(0), 1u);
  EXPECT_EQ(next_number(message_numbers), 1u);
  EXPECT_EQ(numbers_between(message_numbers, 1), 1u);
  EXPECT_EQ(numbers_between(message_numbers - 2, 3), 5u);
  EXPECT_EQ(number_before(3, 5), message_numbers - 2);
  EXPECT_EQ(number_before(1, 1), message_numbers);
  EXPECT_TRUE(is_for_pool(pool_bit | 7));
  EXPECT_EQ(number_of(pool_bit | 7), 7u);
  EXPECT_FALSE(is_message_number(pool_bit));
}

RC_GTEST_PROP(MessageNumbers, as_many_steps_lead_from_one_to_another_as_lie_between, ()) {
  const auto first = *rc::gen::inRange<uint32_t>(1, 1u << 31);
  const auto steps = *rc::gen::inRange<uint32_t>(0, 300);
  const bool is_near_end = *rc::gen::arbitrary<bool>();
  const uint32_t from = is_near_end ? message_numbers - first % 200 : first;
  uint32_t to = from;
  for (uint32_t i = 0; i < steps; ++i) to = next_number(to);
  RC_ASSERT(numbers_between(from, to) == steps);
  RC_ASSERT(number_before(to, steps) == from);
}

// ---- what has become of them ----

TEST(PostedNumbers, the_last_128_are_known_and_no_others) {
  PostedNumbers past;
  EXPECT_FALSE(past.is_past(1));
  past.newest = number_before(1, 71);  // across the wrap
  past.post();
  const uint32_t first = past.newest;
  past.note_done(first);
  for (uint32_t i = 1; i < 200; ++i) {
    past.post();
    EXPECT_EQ(past.has_come(first), i < 128) << i;
    EXPECT_TRUE(past.is_past(first));
    EXPECT_FALSE(past.has_come(past.newest));
    if (i % 3 == 0) past.note_done(past.newest);
  }
  for (uint32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(past.has_come(number_before(past.newest, i)), (199 - i) % 3 == 0) << i;
  }
  EXPECT_FALSE(past.is_past(past.next()));
}

// [C-76]
TEST(OpenNumbers, have_room_for_64_from_the_oldest_open_one_on) {
  OpenNumbers numbers;
  numbers.newest = message_numbers - 10;
  numbers.oldest = numbers.next();
  const uint32_t first = numbers.oldest;
  for (uint32_t i = 0; i < numbers_open_max; ++i) {
    ASSERT_TRUE(numbers.has_room()) << i;
    numbers.newest = numbers.next();
  }
  EXPECT_FALSE(numbers.has_room());
  numbers.settle([&](uint32_t number) { return number == first; });
  EXPECT_FALSE(numbers.has_room()) << "all others have ended";
  numbers.settle([](uint32_t) { return false; });
  EXPECT_TRUE(numbers.has_room());
  EXPECT_EQ(numbers.oldest, numbers.next());
}

// [C-77]
TEST(PeerRow, opens_each_message_for_its_pool_once_and_none_that_is_old) {
  PeerRow peer;
  const uint32_t first = message_numbers - 1;
  peer.pool_newest = number_before(first, 1);  // as many have come before
  EXPECT_TRUE(peer.try_open_pooled(first));
  EXPECT_FALSE(peer.try_open_pooled(first));
  const uint32_t ahead = 2;  // three on, across the wrap
  EXPECT_TRUE(peer.try_open_pooled(ahead));
  EXPECT_TRUE(peer.try_open_pooled(number_before(ahead, 2))) << "overtaken, and not yet opened";
  EXPECT_FALSE(peer.is_pooled_past(number_before(ahead, 1)));
  EXPECT_TRUE(peer.is_pooled_past(first));
  peer.note_pooled_done(first);
  EXPECT_TRUE(peer.has_pooled_come(first));
  uint32_t far = ahead;
  for (int i = 0; i < 70; ++i) far = next_number(far);
  EXPECT_TRUE(peer.try_open_pooled(far));
  EXPECT_FALSE(peer.try_open_pooled(number_before(ahead, 1))) << "64 behind";
  EXPECT_TRUE(peer.is_pooled_past(number_before(ahead, 1)));
  EXPECT_FALSE(peer.has_pooled_come(first));
}

// ---- index ----

RC_GTEST_PROP(MessageIndex, finds_what_is_there_and_nothing_else, ()) {
  constexpr size_t most = 60;
  MessageIndex index(most);
  std::map<std::pair<uint16_t, uint32_t>, uint32_t> expected;
  const auto actions =
      *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, 4 * 40 * 2));
  for (const uint32_t action : actions) {
    const auto rank = static_cast<uint16_t>(action % 4);
    const uint32_t message = action / 4 % 40 + (action % 3 == 0 ? pool_bit : 0);
    const std::pair key(rank, message);
    if (expected.contains(key)) {
      index.remove(rank, message);
      expected.erase(key);
    } else if (expected.size() < most) {
      index.add(rank, message, action);
      expected[key] = action;
    }
    RC_ASSERT(index.count() == expected.size());
    for (uint16_t r = 0; r < 4; ++r) {
      for (uint32_t m = 0; m < 40; ++m) {
        for (const uint32_t bit : {uint32_t{0}, pool_bit}) {
          const auto it = expected.find({r, m | bit});
          const uint32_t place = it == expected.end() ? MessageIndex::none : it->second;
          RC_ASSERT(index.find(r, m | bit) == place);
        }
      }
    }
  }
}

// ---- paths ----

TEST(Spray, the_slots_of_a_message_go_over_all_paths_in_turn) {
  Spray spray(2, 16);
  std::vector<uint32_t> uses(16);
  for (uint32_t slot = 0; slot < 64; ++slot) ++uses[spray.path_of(1, 9, slot)];
  for (const uint32_t count : uses) EXPECT_EQ(count, 4u);
  EXPECT_NE(spray.path_of(1, 9, 5), spray.path_of(1, 10, 5));
  for (uint32_t salt = 0; salt < 40; ++salt) {
    EXPECT_NE(spray.other_path(1, 9, 5, salt), spray.path_of(1, 9, 5));
  }
  EXPECT_EQ(Spray(2, 1).path_of(1, 9, 5), 0);
  EXPECT_EQ(Spray(2, 1).other_path(1, 9, 5, 3), 0);
}

/// All slots of a message that took this path are lost.
void lose_on(Spray& spray, uint8_t path, uint32_t message) {
  for (uint32_t slot = 0; slot < 512; ++slot) {
    if (spray.path_of(0, message, slot) == path) spray.note_lost(0, message, slot);
  }
}

TEST(Spray, a_path_that_loses_much_more_than_others_is_left_out_but_for_probes) {
  Spray spray(2, 8);
  lose_on(spray, 3, 1);
  EXPECT_TRUE(spray.is_down(0, 3));
  EXPECT_FALSE(spray.is_down(1, 3)) << "towards another member";
  std::vector<uint32_t> uses(8);
  for (uint32_t slot = 0; slot < 640; ++slot) ++uses[spray.path_of(0, 2, slot)];
  EXPECT_EQ(uses[3], 10u) << "one of 64";
  for (uint8_t path = 0; path < 8; ++path) {
    if (path != 3) {
      EXPECT_GT(uses[path], 70u);
    }
  }
}

TEST(Spray, a_path_is_back_after_a_period_in_which_its_probes_all_came) {
  Spray spray(1, 8);
  lose_on(spray, 3, 1);
  spray.note_sent(0, Spray::period_slots);
  EXPECT_TRUE(spray.is_down(0, 3)) << "it lost in this period";
  lose_on(spray, 3, 2);
  spray.note_sent(0, Spray::period_slots);
  EXPECT_TRUE(spray.is_down(0, 3)) << "a probe was lost";
  spray.note_sent(0, Spray::period_slots);
  EXPECT_FALSE(spray.is_down(0, 3));
}

TEST(Spray, the_last_path_stays_and_all_alike_are_none_worse) {
  Spray spray(1, 2);
  lose_on(spray, 0, 1);
  EXPECT_TRUE(spray.is_down(0, 0));
  for (uint32_t message = 2; message < 9; ++message) lose_on(spray, 1, message);
  EXPECT_FALSE(spray.is_down(0, 1));
  Spray alike(1, 4);
  for (uint32_t slot = 0; slot < 200; ++slot) alike.note_lost(0, 1, slot);
  for (uint8_t path = 0; path < 4; ++path) EXPECT_FALSE(alike.is_down(0, path));
}

// ---- steps ----

TEST(Steps, count_what_is_to_come_and_from_how_many) {
  Steps steps(8);
  const Instant soon = Instant() + 1_s, late = Instant() + 2_s;
  const uint32_t place = steps.begin(Step(7), 3, 1000, late);
  EXPECT_EQ(steps.begin(Step(7), 3, 500, soon), place);
  EXPECT_EQ(steps.begin(Step(7), 4, 100, late), place);
  const uint32_t other = steps.begin(Step(8), 3, 1, late);
  EXPECT_NE(other, place);
  EXPECT_EQ(steps.row(place).sources, 2u);
  EXPECT_EQ(steps.row(place).expected_bytes, 1600u);
  EXPECT_EQ(steps.row(place).deadline, soon);
  EXPECT_TRUE(steps.try_end(place, 3, 0));
  EXPECT_EQ(steps.row(place).sources_done, 0u);
  EXPECT_TRUE(steps.try_end(place, 3, 400));
  EXPECT_EQ(steps.row(place).sources_done, 1u);
  EXPECT_EQ(steps.row(place).expected_bytes, 1200u);
  EXPECT_FALSE(steps.try_end(place, 4, 0));
  EXPECT_FALSE(steps.try_end(other, 3, 0));
  for (uint16_t peer = 0; peer < 8; ++peer)
    EXPECT_LT(steps.begin(Step(9 + peer), peer, 1, late), 8u);
}

TEST(ArrivalRate, is_the_lines_until_it_is_measured_and_after_a_silence) {
  ArrivalRate rate(10_Gbps);
  Instant now = Instant() + 1_s;
  rate.note(1000, 10_us, now);
  EXPECT_EQ(rate.rate(), 10_Gbps);
  for (int i = 0; i < 400; ++i) rate.note(1250, 10_us, now += 2_us);
  EXPECT_NEAR(static_cast<double>(rate.rate().bps()), 5e9, 0.6e9);
  rate.note(1250, 10_us, now += 1_s);
  EXPECT_EQ(rate.rate(), 10_Gbps);
}

}  // namespace
}  // namespace cw::group
