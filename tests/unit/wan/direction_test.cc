#include "control/wan/direction.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <vector>

#include "tests/property/property.h"

namespace cw::wan {
namespace {

constexpr DirectionLimits limits{.frames_max = 16, .frame_bytes_max = 128};

using Frames = std::vector<std::vector<uint8_t>>;

Instant at_us(int64_t us) { return Instant::from_ns(us * 1000); }

Direction direction_of(const Impairment& impairment, bool impairs_arp = false) {
  return {impairment, Prng(1), limits, impairs_arp};
}

/// Sends all that is due; returns the frames' bytes.
Frames send_all(Direction& direction, Instant now) {
  Frames sent;
  std::array<Direction::Due, 3> due;
  while (const size_t count = direction.take_due(now, due)) {
    for (size_t i = 0; i < count; ++i) {
      sent.emplace_back(due[i].bytes.begin(), due[i].bytes.end());
      direction.sent(due[i]);
    }
  }
  return sent;
}

void expect_accounts_add_up(const Direction& direction) {
  const DirectionCounters& own = direction.counters();
  const ImpairmentCounters& model = direction.model_counters();
  EXPECT_EQ(own.received + model.extra_copies, own.forwarded + model.lost_total() +
                                                   direction.held_count() + own.failures.total() -
                                                   own.failures.missed);
}

TEST(Direction, holds_a_frame_for_its_delay) {
  Direction direction = direction_of({.delay = Duration::from_us(10)});
  const std::vector<uint8_t> frame(60, 7);
  direction.admit({.at = at_us(5), .bytes = frame});
  EXPECT_EQ(direction.next_due(), at_us(15));
  EXPECT_TRUE(send_all(direction, at_us(14)).empty());
  EXPECT_EQ(send_all(direction, at_us(15)), Frames{frame});
  EXPECT_EQ(direction.next_due(), Instant::never());
}

TEST(Direction, a_full_arena_loses_and_says_so) {
  Direction direction = direction_of({.delay = Duration::from_us(10)});
  const std::vector<uint8_t> frame(60);
  for (size_t i = 0; i < limits.frames_max + 3; ++i) direction.admit({.bytes = frame});
  EXPECT_EQ(direction.counters().failures.no_memory, 3u);
  EXPECT_EQ(direction.held_count(), limits.frames_max);
  expect_accounts_add_up(direction);
}

TEST(Direction, frames_that_are_too_long_are_failures) {
  Direction direction = direction_of({});
  const std::vector<uint8_t> frame(129);
  direction.admit({.bytes = frame});
  direction.admit({.bytes = std::span(frame).first(60), .is_truncated = true});
  EXPECT_EQ(direction.counters().failures.too_long, 2u);
  expect_accounts_add_up(direction);
}

TEST(Direction, a_tag_that_the_kernel_took_out_is_put_back) {
  Direction direction = direction_of({});
  std::vector<uint8_t> frame(20, 9), expected = frame;
  direction.admit({.bytes = frame, .has_vlan_tag = true, .vlan_type = 0x8100, .vlan_tag = 0x0123});
  const uint8_t tag[] = {0x81, 0x00, 0x01, 0x23};
  expected.insert(expected.begin() + 12, std::begin(tag), std::end(tag));
  EXPECT_EQ(send_all(direction, at_us(0)), Frames{expected});
}

TEST(Direction, damage_is_one_bit_and_the_same_in_every_copy) {
  Direction direction = direction_of({.corrupt = 1, .duplicate = 1, .copies_max = 3});
  const std::vector<uint8_t> frame(60, 0);
  direction.admit({.bytes = frame});
  const auto sent = send_all(direction, at_us(0));
  ASSERT_EQ(sent.size(), 3u);
  int bits = 0;
  for (const uint8_t byte : sent[0]) bits += std::popcount(byte);
  EXPECT_EQ(bits, 1);
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_EQ(sent[0], sent[2]);
  expect_accounts_add_up(direction);
}

TEST(Direction, neighbour_traffic_passes_a_dead_link_unless_told_otherwise) {
  std::vector<uint8_t> arp(42);
  arp[12] = 0x08;
  arp[13] = 0x06;
  Direction sparing = direction_of({.loss = 1}), strict = direction_of({.loss = 1}, true);
  sparing.admit({.bytes = arp});
  strict.admit({.bytes = arp});
  EXPECT_EQ(sparing.held_count(), 1u);
  EXPECT_EQ(sparing.counters().unimpaired, 1u);
  EXPECT_EQ(strict.held_count(), 0u);
}

TEST(Direction, drops_the_packet_of_the_wanted_number) {
  Direction direction = direction_of({.targeted = {.first = 2, .every = 3}});
  for (uint8_t i = 1; i <= 8; ++i) {
    const std::vector<uint8_t> frame(60, i);
    direction.admit({.bytes = frame});
  }
  std::vector<int> numbers;
  for (const auto& frame : send_all(direction, at_us(0))) numbers.push_back(frame[0]);
  EXPECT_EQ(numbers, (std::vector{1, 3, 4, 6, 7}));
}

RC_GTEST_PROP(Direction, accounts_add_up_whatever_happens, (uint64_t seed)) {
  Prng prng(seed);
  Direction direction({.rate = Rate::from_mbps(100),
                       .queue_time = Duration::from_us(50),
                       .loss = 0.1,
                       .duplicate = 0.3,
                       .delay = Duration::from_us(20),
                       .jitter_max = Duration::from_us(30),
                       .jitter_reorders = true},
                      prng.split(), limits, false);
  const std::vector<uint8_t> frame(140, 1);
  Instant now;
  for (int i = 0; i < 300; ++i) {
    now += Duration::from_us(static_cast<int64_t>(prng.below(10)));
    direction.admit({.at = now, .bytes = std::span(frame).first(prng.below(140))});
    std::array<Direction::Due, 4> due;
    const size_t count = direction.take_due(now, due);
    for (size_t j = 0; j < count; ++j) {
      RC_ASSERT(due[j].entry.at <= now);
      switch (prng.below(3)) {
        case 0:
          direction.put_back(due[j]);
          break;
        case 1:
          direction.refused(due[j]);
          break;
        default:
          direction.sent(due[j]);
      }
    }
    const DirectionCounters& own = direction.counters();
    const ImpairmentCounters& model = direction.model_counters();
    RC_ASSERT(own.received + model.extra_copies ==
              own.forwarded + model.lost_total() + direction.held_count() + own.failures.total());
  }
}

}  // namespace
}  // namespace cw::wan
