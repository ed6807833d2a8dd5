// Queues in front of links, against what is computed by hand. Lines of 8 Gbit/s take a nanosecond
// for a byte.
#include "dataplane/port/sim/fabric/queues.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {

using namespace literals;

Instant at(int64_t ns) { return Instant::from_ns(ns); }

/// One switch of so many hosts; the link to host i is 2 i + 1.
Topology star(size_t hosts, const SwitchOptions& options, Rate rate = 8_Gbps) {
  Topology topology;
  const uint16_t middle = topology.add_switch(options);
  for (size_t i = 0; i < hosts; ++i) {
    topology.join(FabricNode::host(topology.add_host()), FabricNode::at_switch(middle),
                  {.rate = rate, .delay = 500_ns});
  }
  return topology;
}
constexpr uint32_t to_host(uint32_t host) { return 2 * host + 1; }

struct Queues {
  explicit Queues(const SwitchOptions& options, size_t hosts = 4, Rate rate = 8_Gbps)
      : queues(star(hosts, options, rate), 1000, Bytes(UINT64_MAX)) {}
  /// When it has left; -1: it is dropped.
  int64_t put(uint32_t link, uint32_t bytes, int64_t now) {
    last =
        queues.admit(link, {.bytes = bytes, .takes_marks = true, .now = at(now), .from = at(now)});
    return last.is_admitted ? last.departs.ns() : -1;
  }
  FabricQueues queues;
  FabricPassage last;
};

TEST(FabricQueues, one_leaves_after_the_other) {
  Queues q({});
  EXPECT_EQ(q.put(1, 1000, 0), 1000);
  EXPECT_EQ(q.put(1, 500, 200), 1500);
  EXPECT_EQ(q.put(3, 500, 200), 700) << "another link";
  EXPECT_EQ(q.put(1, 100, 1500), 1600) << "the line has just become free";
  EXPECT_EQ(q.put(1, 100, 5000), 5100) << "and has long been";
}

TEST(FabricQueues, what_may_leave_later_holds_the_line_from_then_on) {
  Queues q({});
  const FabricPassage first =
      q.queues.admit(1, {.bytes = 100, .takes_marks = false, .now = at(0), .from = at(50)});
  EXPECT_EQ(first.departs, at(150));
  EXPECT_EQ(q.put(1, 100, 0), 250);
}

// 1,500 bytes take 120 ns at 100 Gbit/s, 4,218 take 337.44.
TEST(FabricQueues, fractions_of_nanoseconds_add_up_and_are_rounded_once) {
  Queues q({}, 2, 100_Gbps);
  EXPECT_EQ(q.put(1, 4218, 0), 338);
  EXPECT_EQ(q.put(1, 4218, 0), 675);
  for (int i = 2; i < 99; ++i) q.put(1, 4218, 0);
  EXPECT_EQ(q.put(1, 4218, 0), 33'744) << "a hundred of them";
  EXPECT_EQ(q.put(1, 1500, 0), 33'864);
}

TEST(FabricQueues, sizes_that_share_a_place_in_the_memo_keep_their_own_times) {
  Queues q({});
  EXPECT_EQ(q.put(1, 8, 0), 8);
  EXPECT_EQ(q.put(1, 16, 0), 24);
  EXPECT_EQ(q.put(1, 8, 0), 32);
}

TEST(FabricQueues, a_slow_line_takes_seconds_without_overflow) {
  Queues q({}, 2, Rate::from_bps(1000));
  EXPECT_EQ(q.put(1, 60'000, 0), 480'000'000'000);
}

TEST(FabricQueues, the_tail_is_dropped_exactly_where_the_limit_is) {
  Queues q({.port_limit = 3000_B});
  EXPECT_EQ(q.put(1, 1000, 0), 1000);
  EXPECT_EQ(q.put(1, 1000, 0), 2000);
  EXPECT_EQ(q.put(1, 1001, 0), -1);
  EXPECT_EQ(q.put(1, 1000, 0), 3000);
  EXPECT_EQ(q.put(1, 1, 0), -1);
  EXPECT_EQ(q.put(1, 1000, 999), -1) << "the first has one bit left";
  EXPECT_EQ(q.put(1, 1000, 1000), 4000) << "and now it has left";
  const FabricLinkCounters counters = q.queues.counters_of(1);
  EXPECT_EQ(counters.packets, 4u);
  EXPECT_EQ(counters.bytes, 4000u);
  EXPECT_EQ(counters.drops, 3u);
  EXPECT_EQ(counters.queue_bytes_max, 3000u);
}

TEST(FabricQueues, a_packet_that_is_being_sent_need_not_count) {
  Queues q({.port_limit = 2000_B, .counts_sending = false});
  EXPECT_EQ(q.put(1, 1000, 0), 1000) << "is sent at once and never waits";
  EXPECT_EQ(q.put(1, 1000, 0), 2000);
  EXPECT_EQ(q.put(1, 1000, 0), 3000);
  EXPECT_EQ(q.put(1, 1, 0), -1);
  EXPECT_EQ(q.put(1, 1, 999), -1);
  EXPECT_EQ(q.put(1, 1000, 1000), 4000) << "the second has just begun";
}

TEST(FabricQueues, a_packet_longer_than_the_limit_never_passes) {
  Queues q({.port_limit = 999_B});
  EXPECT_EQ(q.put(1, 1000, 0), -1);
  EXPECT_EQ(q.put(1, 999, 0), 999);
}

TEST(FabricQueues, marks_are_for_those_that_meet_more_than_the_threshold_and_can_take_them) {
  Queues q({.mark_above = 2000_B});
  q.put(1, 1000, 0);
  EXPECT_FALSE(q.last.is_marked);
  q.put(1, 1000, 0);
  EXPECT_FALSE(q.last.is_marked) << "2,000 with itself";
  q.put(1, 1, 0);
  EXPECT_TRUE(q.last.is_marked);
  EXPECT_FALSE(
      q.queues.admit(1, {.bytes = 1, .takes_marks = false, .now = at(0), .from = at(0)}).is_marked);
  q.put(1, 1, 1000);
  EXPECT_FALSE(q.last.is_marked) << "the first has left";
  EXPECT_EQ(q.queues.counters_of(1).marks, 1u);
}

// Alpha 1 of 4,000 bytes: a lone port may have q with q <= 4,000 - what was used before, so two
// packets of 1,000 and then none of 1,001; and with other ports at work less.
TEST(FabricQueues, a_ports_limit_is_alpha_times_what_is_free_of_the_buffer) {
  Queues q({.buffer = 4000_B, .alpha = 1});
  EXPECT_EQ(q.put(1, 1000, 0), 1000) << "1,000 of 4,000 free";
  EXPECT_EQ(q.put(1, 1000, 0), 2000) << "2,000 of 3,000 free";
  EXPECT_EQ(q.put(1, 1, 0), -1) << "2,001 of 2,000 free";
  EXPECT_EQ(q.put(3, 1001, 0), 1001) << "another port's first of 2,000 free";
  EXPECT_EQ(q.put(5, 1000, 0), -1) << "1,000 of 999 free";
  EXPECT_EQ(q.put(5, 999, 0), 999);
  EXPECT_EQ(q.put(7, 1, 0), -1) << "it is full";
}

TEST(FabricQueues, what_other_ports_have_sent_is_free_at_that_nanosecond) {
  Queues q({.buffer = 3000_B, .alpha = 2});
  EXPECT_EQ(q.put(1, 1000, 0), 1000);
  EXPECT_EQ(q.put(3, 1000, 0), 1000);
  EXPECT_EQ(q.put(5, 1000, 0), 1000);
  EXPECT_EQ(q.put(7, 1000, 0), -1);
  EXPECT_EQ(q.put(7, 1000, 999), -1);
  EXPECT_EQ(q.put(7, 1000, 1000), 2000) << "nobody has been to the three others since";
  EXPECT_EQ(q.put(7, 1000, 1000), 3000) << "2,000 of twice 2,000";
  EXPECT_EQ(q.put(7, 1001, 1000), -1) << "not of 1,000";
}

TEST(FabricQueues, small_alphas_keep_each_port_short) {
  Queues q({.buffer = 16'000_B, .alpha = 0.125});
  EXPECT_EQ(q.put(1, 2000, 0), 2000);
  EXPECT_EQ(q.put(1, 1, 0), -1) << "2,001 of 1,750";
  EXPECT_EQ(q.put(3, 1750, 0), 1750) << "an eighth of 14,000";
}

TEST(FabricQueues, a_nic_has_room_or_says_when_to_ask_again) {
  FabricQueues queues(star(2, {}), 10, 1500_B);
  const auto put = [&](int64_t now) {
    return queues.admit(0, {.bytes = 1000, .takes_marks = false, .now = at(now), .from = at(now)});
  };
  EXPECT_TRUE(put(0).is_admitted);
  EXPECT_FALSE(queues.has_room(0, 1000, at(0)));
  EXPECT_TRUE(queues.has_room(0, 500, at(0)));
  EXPECT_EQ(queues.next_leaving(0), at(1000));
  EXPECT_TRUE(queues.has_room(0, 1000, at(1000)));
  EXPECT_EQ(queues.next_leaving(0), Instant::never());
  EXPECT_EQ(queues.counters_of(0).drops, 0u) << "asking is no drop";
}

// With room for so few packets, ports that nobody comes to must give theirs back.
TEST(FabricQueues, ports_that_fall_silent_hold_nothing_for_ever) {
  FabricQueues queues(star(100, {.buffer = 1_MiB, .alpha = 8}), 4, Bytes(UINT64_MAX));
  for (uint32_t host = 0; host < 100; ++host) {
    const Instant now = at(1000 * host);
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(
          queues.admit(to_host(host), {.bytes = 200, .takes_marks = false, .now = now, .from = now})
              .is_admitted);
    }
  }
}

/// A switch's queues as anybody would write them down, and slowly.
class PlainQueues {
 public:
  PlainQueues(size_t ports, const SwitchOptions& options) : ports_(ports), options_(options) {}

  /// As Queues::put().
  int64_t put(size_t port, uint32_t bytes, int64_t now) {
    uint64_t used = 0;
    for (auto& row : ports_) {
      while (!row.empty() && row.front().first <= now) row.pop_front();
      used += bytes_of(row);
    }
    auto& row = ports_[port];
    const uint64_t queue = bytes_of(row) + bytes;
    if (queue > options_.port_limit.count()) return -1;
    const uint64_t buffer = options_.buffer.count();
    if (buffer != UINT64_MAX) {
      if (used + bytes > buffer) return -1;
      if (double(queue) > options_.alpha * double(buffer - used)) return -1;
    }
    is_marked = queue > options_.mark_above.count();
    const int64_t departs = (row.empty() ? now : row.back().first) + bytes;
    row.emplace_back(departs, bytes);
    return departs;
  }
  bool is_marked = false;

 private:
  using Row = std::deque<std::pair<int64_t, uint32_t>>;
  static uint64_t bytes_of(const Row& row) {
    uint64_t bytes = 0;
    for (const auto& packet : row) bytes += packet.second;
    return bytes;
  }
  std::vector<Row> ports_;
  SwitchOptions options_;
};

RC_GTEST_PROP(FabricQueues, agree_packet_by_packet_with_a_plain_model, (uint64_t seed)) {
  Prng prng(seed);
  const SwitchOptions options{
      .port_limit = Bytes(prng.between(1000, 20'000)),
      .buffer = prng.chance(0.8) ? Bytes(prng.between(2000, 40'000)) : Bytes(UINT64_MAX),
      .alpha = double(prng.between(1, 64)) / 16,
      .mark_above = Bytes(prng.between(500, 10'000))};
  constexpr size_t hosts = 6;
  Queues queues(options, hosts);
  PlainQueues plain(hosts, options);
  const uint64_t gap_max = prng.between(10, 600);
  int64_t now = 0;
  for (int i = 0; i < 2000; ++i) {
    now += static_cast<int64_t>(prng.below(gap_max));
    const auto port = static_cast<uint32_t>(prng.chance(0.5) ? 0 : prng.below(hosts));
    const auto bytes = static_cast<uint32_t>(prng.between(1, 1500));
    const int64_t expected = plain.put(port, bytes, now);
    RC_ASSERT(queues.put(to_host(port), bytes, now) == expected);
    if (expected >= 0) RC_ASSERT(queues.last.is_marked == plain.is_marked);
  }
}

}  // namespace
}  // namespace cw
