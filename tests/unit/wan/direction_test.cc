// One direction of an emulated WAN.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "control/wan/link/direction.h"
#include "control/wan/link/held.h"
#include "control/wan/link/lateness.h"
#include "control/wan/socket/frame.h"
#include "tests/property/property.h"

namespace cw::wan {
namespace {
using Frame = std::vector<uint8_t>;

// ---- frame ----

/// Ethernet, tags if wanted, then the bytes.
Frame frame_of(uint16_t type, const Frame& packet, size_t tags = 0) {
  Frame frame(12);
  for (size_t i = 0; i < tags; ++i) frame.insert(frame.end(), {0x81, 0, 0, 5});
  frame.insert(frame.end(), {static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)});
  frame.insert(frame.end(), packet.begin(), packet.end());
  return frame;
}

uint16_t sum_of(std::span<const uint8_t> bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    sum += static_cast<uint32_t>(bytes[i] << 8) + (i + 1 < bytes.size() ? bytes[i + 1] : 0u);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

// From RFC 1071's many illustrations: its header sums to 0xffff.
const Frame ipv4 = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                    0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};

Frame ipv4_with_ecn(uint8_t ecn) {
  Frame packet = ipv4;
  packet[1] = ecn;
  packet[11] = static_cast<uint8_t>(packet[11] - ecn);
  return packet;
}

TEST(Frame, a_mark_is_set_where_the_sender_knows_ecn_and_the_checksum_stays_right) {
  ASSERT_EQ(sum_of(ipv4), 0xffff);
  for (const size_t tags : {0, 1, 2}) {
    for (const uint8_t ecn : {1, 2, 3}) {
      Frame frame = frame_of(0x0800, ipv4_with_ecn(ecn), tags);
      EXPECT_TRUE(try_mark_congestion(frame));
      const auto header = std::span(frame).last(20);
      EXPECT_EQ(header[1], 3);
      EXPECT_EQ(sum_of(header), 0xffff);
    }
  }
}

TEST(Frame, a_mark_is_not_set_elsewhere) {
  Frame plain = frame_of(0x0800, ipv4), arp = frame_of(0x0806, Frame(28, 0xff));
  const Frame plain_before = plain, arp_before = arp;
  EXPECT_FALSE(try_mark_congestion(plain));
  EXPECT_FALSE(try_mark_congestion(arp));
  EXPECT_EQ(plain, plain_before);
  EXPECT_EQ(arp, arp_before);
}

TEST(Frame, a_mark_in_ipv6_touches_the_two_bits_only) {
  Frame packet(40);
  packet[0] = 0x6b;
  packet[1] = 0xa5;  // class 0xba: ECN 2; flow label begins with 5
  Frame frame = frame_of(0x86dd, packet);
  EXPECT_TRUE(try_mark_congestion(frame));
  EXPECT_EQ(frame[14], 0x6b);
  EXPECT_EQ(frame[15], 0xb5);
}

TEST(Frame, every_cut_of_a_frame_is_survived) {
  Frame packet(48, 58);
  for (const uint16_t type : {0x0800, 0x86dd, 0x8100}) {
    const Frame whole = frame_of(type, packet, 1);
    for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
      Frame cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
      try_mark_congestion(cut);
      is_neighbour_traffic(cut);
      finish_checksum(cut, 34, 6);
      EXPECT_EQ(cut.size(), bytes);
    }
  }
}

TEST(Frame, neighbour_traffic_is_arp_and_discovery_not_echo) {
  EXPECT_TRUE(is_neighbour_traffic(frame_of(0x0806, Frame(28))));
  EXPECT_FALSE(is_neighbour_traffic(frame_of(0x0800, ipv4)));
  Frame packet(48);
  packet[6] = 58;
  for (const int type : {132, 133, 135, 137, 138, 128}) {
    packet[40] = static_cast<uint8_t>(type);
    EXPECT_EQ(is_neighbour_traffic(frame_of(0x86dd, packet, 1)), type >= 133 && type <= 137);
  }
  packet[6] = 17;
  packet[40] = 135;
  EXPECT_FALSE(is_neighbour_traffic(frame_of(0x86dd, packet)));
}

TEST(Frame, a_finished_checksum_sums_up_and_is_never_zero) {
  for (const size_t bytes : {8u, 9u, 64u}) {
    Frame frame(20 + bytes, 0x3c);
    frame[26] = 0x12;  // the sum of a pseudo header
    frame[27] = 0x34;
    const auto covered = std::span(frame).subspan(20);
    finish_checksum(frame, 20, 6);
    const uint16_t without_pseudo = sum_of(covered);
    EXPECT_EQ(sum_of(Frame{0x12, 0x34, static_cast<uint8_t>(without_pseudo >> 8),
                           static_cast<uint8_t>(without_pseudo)}),
              0xffff);
  }
  Frame full(8, 0xff);
  finish_checksum(full, 0, 6);
  EXPECT_EQ(full[6], 0xff);
  EXPECT_EQ(full[7], 0xff);
}

TEST(Frame, a_checksum_whose_place_lies_outside_is_left_alone) {
  Frame frame(20, 1);
  const Frame before = frame;
  finish_checksum(frame, 21, 0);
  finish_checksum(frame, 10, 9);
  finish_checksum(frame, 65535, 65535);
  EXPECT_EQ(frame, before);
}

TEST(Frame, the_port_of_udp_is_found_behind_any_header) {
  Frame packet = ipv4;  // of 20 bytes, UDP
  packet.insert(packet.end(), {0x12, 0xb7, 0x12, 0xb8, 0, 8, 0, 0});
  for (const size_t tags : {0u, 1u, 2u}) {
    EXPECT_EQ(udp_source_port(frame_of(0x0800, packet, tags)), 4791);
  }
  Frame options = packet;
  options[0] = 0x46;
  options.insert(options.begin() + 20, 4, 0);
  EXPECT_EQ(udp_source_port(frame_of(0x0800, options)), 4791);
  Frame v6(40);
  v6[6] = 17;
  v6.insert(v6.end(), packet.end() - 8, packet.end());
  EXPECT_EQ(udp_source_port(frame_of(0x86dd, v6)), 4791);
}

TEST(Frame, what_is_not_udp_has_no_port) {
  Frame packet = ipv4;
  packet.insert(packet.end(), {0x12, 0xb7, 0x12, 0xb8, 0, 8, 0, 0});
  const Frame whole = frame_of(0x0800, packet);
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const Frame cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
    EXPECT_EQ(udp_source_port(cut), 0) << bytes;
  }
  Frame fragment = packet;
  fragment[7] = 1;
  EXPECT_EQ(udp_source_port(frame_of(0x0800, fragment)), 0);
  Frame tcp = packet;
  tcp[9] = 6;
  EXPECT_EQ(udp_source_port(frame_of(0x0800, tcp)), 0);
  EXPECT_EQ(udp_source_port(frame_of(0x0806, packet)), 0);
}

// ---- held ----

Instant at_us(int64_t us) { return Instant::from_ns(us * 1000); }

TEST(ReleaseQueue, is_never_due_when_empty) {
  EXPECT_EQ(ReleaseQueue(4).earliest(), Instant::never());
}

TEST(ReleaseQueue, equal_times_leave_in_the_order_of_pushing) {
  ReleaseQueue queue(4);
  queue.push(at_us(5), 0);
  queue.push(at_us(3), 1);
  queue.push(at_us(5), 2);
  queue.push(at_us(3), 3);
  for (const uint32_t expected : {1u, 3u, 0u, 2u}) EXPECT_EQ(queue.pop().frame, expected);
}

TEST(ReleaseQueue, what_is_put_back_has_its_old_place) {
  ReleaseQueue queue(3);
  for (uint32_t i = 0; i < 3; ++i) queue.push(at_us(7), i);
  const auto first = queue.pop();
  const auto second = queue.pop();
  queue.put_back(second);
  queue.put_back(first);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(queue.pop().frame, i);
}

RC_GTEST_PROP(ReleaseQueue, gives_back_everything_sorted_by_time_and_age,
              (const std::vector<uint8_t>& times)) {
  ReleaseQueue queue(times.size() + 1);
  for (uint32_t i = 0; i < times.size(); ++i) queue.push(at_us(times[i]), i);
  std::vector<uint32_t> expected(times.size());
  for (uint32_t i = 0; i < times.size(); ++i) expected[i] = i;
  std::ranges::sort(expected, {}, [&](uint32_t i) { return std::pair(times[i], i); });
  for (const uint32_t frame : expected) {
    RC_ASSERT(queue.earliest() == at_us(times[frame]));
    RC_ASSERT(queue.pop().frame == frame);
  }
  RC_ASSERT(queue.count() == 0u);
}

TEST(FrameArena, lends_a_frame_until_its_last_copy_is_back) {
  FrameArena arena(2, 100);
  const uint32_t frame = arena.take(60, 2);
  EXPECT_EQ(arena.bytes(frame).size(), 60u);
  arena.give_back(frame);
  EXPECT_EQ(arena.free_count(), 1u);
  arena.give_back(frame);
  EXPECT_EQ(arena.free_count(), 2u);
  EXPECT_EQ(arena.take(100, 1), frame);
}

// ---- lateness ----

TEST(Lateness, of_nothing_is_zero) {
  const Lateness none;
  EXPECT_EQ(none.at(0.99), Duration());
  EXPECT_EQ(none.max(), Duration());
}

TEST(Lateness, quantiles_are_within_a_sixteenth_and_never_too_small) {
  Lateness lateness;
  for (int64_t us = 1; us <= 10'000; ++us) lateness.add(Duration::from_us(us));
  for (const double quantile : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = quantile * 10'000;
    EXPECT_GE(lateness.at(quantile).us(), exact);
    EXPECT_LE(lateness.at(quantile).us(), exact * (1 + 1.0 / 16));
  }
  EXPECT_EQ(lateness.at(1), Duration::from_ms(10));
  EXPECT_EQ(lateness.count(), 10'000u);
}

TEST(Lateness, early_counts_as_in_time_and_the_longest_has_a_bucket) {
  Lateness lateness;
  lateness.add(Duration::from_ns(-5));
  EXPECT_EQ(lateness.at(0.5), Duration());
  lateness.add(Duration::max());
  EXPECT_EQ(lateness.max(), Duration::max());
  EXPECT_EQ(lateness.at(1), Duration::max());
}

// ---- direction ----

constexpr DirectionLimits limits{.frames_max = 16, .frame_bytes_max = 128};

using Frames = std::vector<std::vector<uint8_t>>;

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
