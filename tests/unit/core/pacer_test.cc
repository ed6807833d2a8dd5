#include "dataplane/core/rate/pacer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "dataplane/base/prng.h"
#include "tests/property/property.h"

namespace cw {
namespace {
using namespace literals;

Instant at(Duration since_start) { return Instant() + since_start; }

struct Left {
  std::vector<Departed> departed;
  std::vector<uint64_t> expired;

  std::vector<uint64_t> cookies() const {
    std::vector<uint64_t> result;
    for (const Departed& one : departed) result.push_back(one.cookie);
    return result;
  }
};

Left depart_all(Pacer& pacer, Instant now) {
  Left left;
  Departed departed[8];
  uint64_t expired[8];
  while (true) {
    const Pacer::Counts counts = pacer.depart(now, departed, expired);
    left.departed.insert(left.departed.end(), departed, departed + counts.departed);
    left.expired.insert(left.expired.end(), expired, expired + counts.expired);
    if (counts.departed == 0 && counts.expired == 0) return left;
  }
}

// Jumps from one departure to the next until nothing is due before `end`.
Left depart_until(Pacer& pacer, Instant now, Instant end) {
  Left left;
  while (now <= end) {
    const Left some = depart_all(pacer, now);
    left.departed.insert(left.departed.end(), some.departed.begin(), some.departed.end());
    left.expired.insert(left.expired.end(), some.expired.begin(), some.expired.end());
    const Instant next = pacer.next_departure();
    EXPECT_GT(next, now) << "something was due and did not leave";
    now = next;
  }
  return left;
}

Departure item(uint64_t cookie, Priority priority = Priority::Data, uint32_t bytes = 1000) {
  return {.cookie = cookie, .bytes = bytes, .priority = priority};
}

// 1000 bytes take 1 us.
PacerOptions options_8_gbps() { return {.rate = 8_Gbps}; }

TEST(Pacer, a_million_departures_at_an_odd_rate_lose_not_one_nanosecond) {
  for (const uint64_t bps : {7ull, 999'999'937ull, 12'345'678'901ull, 399'999'999'989ull}) {
    const int packets = bps == 12'345'678'901 ? 1'000'000 : 10'000;
    Pacer pacer({.rate = Rate::from_bps(bps), .packet_overhead_bytes = 24});
    Prng prng(bps);
    Departed departed[1];
    uint64_t bytes = 0;
    for (int i = 0; i < packets; ++i) {
      const auto size = static_cast<uint32_t>(prng.between(1, 9000));
      ASSERT_TRUE(pacer.try_push(item(0, Priority::Data, size), Instant()));
      ASSERT_EQ(pacer.depart(std::max(Instant(), pacer.next_departure()), departed, {}).departed,
                1u);
      const auto exact = static_cast<unsigned __int128>(bytes) * 8'000'000'000 / bps;
      ASSERT_EQ(departed[0].at.ns(), static_cast<int64_t>(exact));
      bytes += size + 24;
    }
  }
}

TEST(Pacer, after_an_idle_time_no_more_than_the_burst_leaves_at_once) {
  PacerOptions options = options_8_gbps();
  options.burst_bytes = 3000;
  Pacer pacer(options);
  for (uint64_t i = 0; i < 8; ++i) pacer.try_push(item(i), at(1_s));
  const Left left = depart_until(pacer, at(1_s), at(2_s));
  const Duration expected[] = {0_us, 0_us, 0_us, 0_us, 1_us, 2_us, 3_us, 4_us};
  ASSERT_EQ(left.departed.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(left.departed[i].at, at(1_s) + expected[i]);
}

TEST(Pacer, the_horizon_hands_out_early_but_keeps_the_departure_times) {
  PacerOptions options = options_8_gbps();
  options.horizon = 5_us;
  Pacer pacer(options);
  for (uint64_t i = 0; i < 20; ++i) pacer.try_push(item(i), at(0_us));
  const Left left = depart_all(pacer, at(0_us));
  ASSERT_EQ(left.departed.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(left.departed[static_cast<size_t>(i)].at, at(1_us * i));
  EXPECT_EQ(pacer.next_departure(), at(1_us));
}

TEST(Pacer, control_goes_first_and_repair_last) {
  Pacer pacer(options_8_gbps());
  pacer.try_push(item(4, Priority::Repair), at(0_us));
  pacer.try_push(item(2, Priority::Data), at(0_us));
  pacer.try_push(item(3, Priority::Data), at(0_us));
  pacer.try_push(item(1, Priority::Control), at(0_us));
  EXPECT_EQ(depart_until(pacer, at(0_us), at(1_s)).cookies(), (std::vector<uint64_t>{1, 2, 3, 4}));
}

TEST(Pacer, a_resend_outranks_older_data_only_near_its_deadline) {
  PacerOptions options = options_8_gbps();
  options.resend_slack = 2_ms;
  for (const bool is_near : {false, true}) {
    Pacer pacer(options);
    pacer.try_push(item(1), at(0_us));
    Departure resend = item(2, Priority::Resend);
    resend.drop_after = is_near ? at(2_ms) : at(2_ms + 2_us);
    pacer.try_push(resend, at(0_us));
    pacer.try_push(item(3), at(0_us));
    const std::vector<uint64_t> by_age{1, 2, 3}, urgent_first{2, 1, 3};
    EXPECT_EQ(depart_until(pacer, at(0_us), at(1_ms)).cookies(), is_near ? urgent_first : by_age);
  }
}

TEST(Pacer, resends_leave_in_the_order_of_their_deadlines) {
  Pacer pacer(options_8_gbps());
  for (const int ms : {30, 10, 20}) {
    Departure resend = item(static_cast<uint64_t>(ms), Priority::Resend);
    resend.drop_after = at(1_ms * ms);
    pacer.try_push(resend, at(0_us));
  }
  EXPECT_EQ(depart_until(pacer, at(0_us), at(1_s)).cookies(), (std::vector<uint64_t>{10, 20, 30}));
}

TEST(Pacer, an_item_waits_for_its_not_before_without_blocking_others) {
  Pacer pacer(options_8_gbps());
  Departure later = item(1);
  later.not_before = at(10_us);
  pacer.try_push(later, at(0_us));
  pacer.try_push(item(2), at(0_us));
  EXPECT_EQ(pacer.queued_packets(Priority::Data), 2u);
  EXPECT_EQ(pacer.queued_bytes(Priority::Data), 1000_B);
  const Left left = depart_until(pacer, at(0_us), at(1_s));
  EXPECT_EQ(left.cookies(), (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(left.departed[1].at, at(10_us));
}

TEST(Pacer, what_can_no_longer_leave_in_time_is_handed_back) {
  Pacer pacer(options_8_gbps());
  for (uint64_t i = 0; i < 4; ++i) {
    Departure short_lived = item(i);
    short_lived.drop_after = at(2_us);  // the line reaches the fourth at 3 us
    pacer.try_push(short_lived, at(0_us));
  }
  const Left left = depart_until(pacer, at(0_us), at(1_s));
  EXPECT_EQ(left.cookies(), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(left.expired, std::vector<uint64_t>{3});
  EXPECT_EQ(pacer.expired_count(), 1u);
}

TEST(Pacer, a_full_class_declines_and_leaves_room_for_the_others) {
  PacerOptions options = options_8_gbps();
  options.capacity_packets = {2, 2, 2, 2};
  Pacer pacer(options);
  Departure later = item(1);
  later.not_before = at(1_s);
  EXPECT_TRUE(pacer.try_push(later, at(0_us)));
  EXPECT_TRUE(pacer.try_push(item(2), at(0_us)));
  EXPECT_FALSE(pacer.try_push(item(3), at(0_us)));
  EXPECT_TRUE(pacer.try_push(item(4, Priority::Control), at(0_us)));
  EXPECT_EQ(pacer.free_packets(Priority::Data), 0u);
}

TEST(Pacer, overhead_never_exceeds_its_share_of_a_busy_line) {
  PacerOptions options = options_8_gbps();
  options.overhead_ppm = 100'000;
  options.overhead_burst_bytes = 10'000;
  Pacer pacer(options);
  uint64_t data = 0, overhead = 0;
  Instant now;
  for (int i = 0; i < 20'000; ++i) {
    if (pacer.free_packets(Priority::Resend) > 0) pacer.try_push(item(1, Priority::Resend), now);
    if (pacer.free_packets(Priority::Repair) > 0) pacer.try_push(item(1, Priority::Repair), now);
    if (pacer.free_packets(Priority::Data) > 0) pacer.try_push(item(0), now);
    now = std::max(now, pacer.next_departure());
    for (const uint64_t is_overhead : depart_all(pacer, now).cookies()) {
      (is_overhead ? overhead : data) += 1000;
      ASSERT_LE(overhead, data / 10 + 10'000);
    }
  }
  EXPECT_GE(overhead, data / 10 + 9'000 - 1000) << "the budget is there to be used";
}

TEST(Pacer, the_last_losses_are_mended_on_an_idle_line_at_the_same_share) {
  PacerOptions options = options_8_gbps();
  options.overhead_ppm = 100'000;
  options.overhead_burst_bytes = 10'000;
  Pacer pacer(options);
  for (uint64_t i = 0; i < 30; ++i) pacer.try_push(item(i, Priority::Resend), at(0_us));
  const Left left = depart_until(pacer, at(0_us), at(1_s));
  ASSERT_EQ(left.departed.size(), 30u);
  EXPECT_EQ(left.departed[9].at, at(9_us));  // saved up
  // Ten idle microseconds earn one resend, which then takes one.
  EXPECT_EQ(left.departed[29].at, at(9_us) + 11_us * 20);
}

// A turn every 50 us hands over what the line could have carried since the last one, in one burst.
TEST(Pacer, a_line_that_a_burst_catches_up_with_was_not_idle_too) {
  PacerOptions options = options_8_gbps();
  options.burst_bytes = 100'000;
  options.overhead_ppm = 100'000;
  options.overhead_burst_bytes = 10'000;
  options.capacity_packets = {64, 64, 64, 64};
  Pacer pacer(options);
  uint64_t data = 0, overhead = 0;
  for (Instant now = at(1_ms); now < at(21_ms); now += 50_us) {
    for (int i = 0; i < 40; ++i) (void)pacer.try_push(item(0), now);
    while (pacer.try_push(item(1, Priority::Resend), now)) continue;
    for (const uint64_t is_overhead : depart_all(pacer, now).cookies()) {
      (is_overhead ? overhead : data) += 1000;
    }
  }
  EXPECT_GT(data, 15'000'000u);
  EXPECT_LE(overhead, 20'000'000 / 10 + 2 * 10'000);  // what the line carries in 20 ms
}

// 1,000 packets wait while the machine stands still; the line takes a microsecond for each.
TEST(Pacer, what_the_machine_stood_still_for_is_made_up_as_far_as_allowed) {
  PacerOptions options = options_8_gbps();
  options.burst_bytes = 10'000;
  options.pause_bytes = 300'000;
  struct Row {
    Duration pause, back;  // and how long ago it ended
    size_t at_once;
  };
  for (const Row& row :
       {Row{Duration(), Duration(), 11}, Row{200_us, Duration(), 211}, Row{200_us, 50_us, 161},
        Row{200_us, 300_us, 11}, Row{50_ms, Duration(), 311}}) {
    Pacer pacer(options);
    const Instant end = at(100_ms);
    if (row.pause > Duration()) pacer.on_pause(row.pause, end);
    const Instant now = end + row.back;
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pacer.try_push(item(0), now));
    EXPECT_EQ(depart_all(pacer, now).departed.size(), row.at_once) << row.pause.ns();
  }
}

TEST(Pacer, pauses_in_a_row_are_made_up_together_and_never_beyond_what_is_allowed) {
  PacerOptions options = options_8_gbps();
  options.burst_bytes = 0;
  options.pause_bytes = 300'000;
  Pacer pacer(options);
  pacer.on_pause(200_us, at(100_ms));
  pacer.on_pause(200_us, at(100_ms) + 50_us);
  const Instant now = at(100_ms) + 50_us;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pacer.try_push(item(0), now));
  EXPECT_EQ(depart_all(pacer, now).departed.size(), 301u);
}

TEST(Pacer, makes_up_for_a_pause_by_bytes_whatever_the_rate_is_by_then) {
  PacerOptions options = options_8_gbps();
  options.rate = 4_Gbps;
  options.burst_bytes = 0;
  options.pause_bytes = 300'000;
  Pacer pacer(options);
  pacer.on_pause(50_ms, at(100_ms));
  pacer.set_rate(8_Gbps);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pacer.try_push(item(0), at(100_ms)));
  EXPECT_EQ(depart_all(pacer, at(100_ms)).departed.size(), 301u);
}

TEST(Pacer, without_an_overhead_budget_resends_expire_and_data_flows) {
  PacerOptions options = options_8_gbps();
  options.overhead_ppm = 0;
  Pacer pacer(options);
  Departure resend = item(1, Priority::Resend);
  resend.drop_after = at(1_ms);
  pacer.try_push(resend, at(0_us));
  pacer.try_push(item(2), at(0_us));
  const Left left = depart_until(pacer, at(0_us), at(1_s));
  EXPECT_EQ(left.cookies(), std::vector<uint64_t>{2});
  EXPECT_EQ(left.expired, std::vector<uint64_t>{1});
  EXPECT_EQ(pacer.next_departure(), Instant::never());
}

TEST(Pacer, a_new_rate_holds_from_the_next_departure_on) {
  Pacer pacer(options_8_gbps());
  for (uint64_t i = 0; i < 3; ++i) pacer.try_push(item(i), at(0_us));
  EXPECT_EQ(depart_all(pacer, at(0_us)).departed.size(), 1u);
  pacer.set_rate(4_Gbps);
  const Left left = depart_until(pacer, at(1_us), at(1_s));
  EXPECT_EQ(left.departed[0].at, at(1_us));
  EXPECT_EQ(left.departed[1].at, at(3_us));
}

TEST(Pacer, gives_way_to_what_another_has_sent_by_the_same_line) {
  PacerOptions options = options_8_gbps();
  options.burst_bytes = 2000;
  Pacer pacer(options);
  const Instant now = at(1_s);
  pacer.give_way(3000, now);  // of which the burst allows two packets
  for (uint64_t cookie : {1, 2}) ASSERT_TRUE(pacer.try_push(item(cookie), now));
  const Left left = depart_until(pacer, now, at(2_s));
  ASSERT_EQ(left.cookies(), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(left.departed[0].at, now + 1_us);
  EXPECT_EQ(left.departed[1].at, now + 2_us);
}

TEST(Pacer, backlog_is_the_queue_delay_of_new_data) {
  Pacer pacer(options_8_gbps());
  for (uint64_t i = 0; i < 10; ++i) pacer.try_push(item(i), at(0_us));
  pacer.try_push(item(99, Priority::Repair), at(0_us));
  EXPECT_EQ(pacer.backlog(at(0_us)), 10_us);
  depart_all(pacer, at(0_us));
  EXPECT_EQ(pacer.backlog(at(0_us)), 10_us);  // nine queued, one on the line
}

// Everything at once, from a seed: conservation, the rate in every window, no departure outside
// [not_before, drop_after], none before its turn's now.
void check_random_run(uint64_t seed) {
  Prng prng(seed);
  const PacerOptions options{.rate = Rate::from_bps(prng.between(1'000'000, 100'000'000'000)),
                             .packet_overhead_bytes = static_cast<uint32_t>(prng.below(64)),
                             .burst_bytes = static_cast<uint32_t>(prng.below(20'000)),
                             .horizon = Duration::from_us(static_cast<int64_t>(prng.below(20))),
                             .overhead_ppm = static_cast<uint32_t>(prng.below(1'000'001)),
                             .overhead_burst_bytes = 20'000,
                             .capacity_packets = {8, 16, 32, 16}};
  Pacer pacer(options);
  const Duration packet_time = options.rate.time_for(1500_B);
  std::vector<Departure> pushed;
  std::vector<Departed> departed;
  Instant now;
  size_t handed_back = 0;
  for (int turn = 0; turn < 300; ++turn) {
    for (uint64_t i = prng.below(6); i > 0; --i) {
      Departure one{.cookie = pushed.size(),
                    .bytes = static_cast<uint32_t>(prng.between(1, 9000)),
                    .priority = static_cast<Priority>(prng.below(4))};
      if (prng.chance(0.3))
        one.not_before = now + packet_time * static_cast<int64_t>(prng.below(50));
      if (prng.chance(0.5))
        one.drop_after = now + packet_time * static_cast<int64_t>(prng.below(80));
      if (pacer.try_push(one, now)) pushed.push_back(one);
    }
    const Instant turn_at = now;
    const Left left = depart_all(pacer, now);
    for (const Departed& one : left.departed) {
      ASSERT_GE(one.at, turn_at);
      ASSERT_LE(one.at, turn_at + options.horizon);
      ASSERT_GE(one.at, pushed[one.cookie].not_before);
      ASSERT_LE(one.at, pushed[one.cookie].drop_after);
      departed.push_back(one);
    }
    handed_back += left.expired.size();
    size_t queued = 0;
    for (const Priority p :
         {Priority::Control, Priority::Resend, Priority::Data, Priority::Repair}) {
      queued += pacer.queued_packets(p);
    }
    ASSERT_EQ(pushed.size(), departed.size() + handed_back + queued);
    const Instant next = pacer.next_departure();
    ASSERT_GT(next, now);
    const bool jump = prng.chance(0.5) && next != Instant::never();
    now = jump ? next : now + packet_time * static_cast<int64_t>(prng.below(8));
  }
  // Any window from one departure to a later one holds at most rate x its length, plus the burst,
  // plus the packet that leaves at its end. A nanosecond covers the cut-off fraction.
  const auto wire = [&](const Departed& one) {
    return pushed[one.cookie].bytes + options.packet_overhead_bytes;
  };
  for (size_t first = 0; first < departed.size(); ++first) {
    uint64_t bytes = 0;
    for (size_t i = first; i < departed.size(); ++i) {
      ASSERT_TRUE(i == first || departed[i].at >= departed[i - 1].at);
      const Duration window = departed[i].at - departed[first].at + 2_ns;
      ASSERT_LE(bytes, options.rate.bytes_in(window).count() + options.burst_bytes + 1);
      bytes += wire(departed[i]);
    }
  }
}

Departure any_row(Prng& prng, uint64_t cookie, Instant now) {
  Departure row{.cookie = cookie << 32,
                .cookie_step = static_cast<uint32_t>(prng.between(0, 3)),
                .count = static_cast<uint32_t>(prng.between(1, 9)),
                .bytes = static_cast<uint32_t>(prng.between(1, 3) * 500),
                .priority = static_cast<Priority>(prng.below(4))};
  if (prng.chance(0.3)) row.not_before = now + Duration::from_us(int64_t(prng.below(9)));
  if (prng.chance(0.5)) row.drop_after = now + Duration::from_us(int64_t(prng.below(9)));
  return row;
}

void push_one_by_one(Pacer& pacer, Departure row, Instant now) {
  for (uint32_t left = std::exchange(row.count, 1); left > 0; --left) {
    ASSERT_TRUE(pacer.try_push(row, now));
    row.cookie += row.cookie_step;
  }
}

bool is_same(const Left& a, const Left& b) {
  const auto alike = [](const Departed& x, const Departed& y) {
    return x.cookie == y.cookie && x.at == y.at;
  };
  return a.expired == b.expired && std::ranges::equal(a.departed, b.departed, alike);
}

// Two pacers, one given rows and one the same packets: nobody behind them can tell which.
RC_GTEST_PROP(PacerProperty, a_row_is_its_packets_one_after_the_other, (uint64_t seed)) {
  Prng prng(seed);
  const PacerOptions options{.rate = Rate::from_bps(prng.between(1'000'000'000, 20'000'000'000)),
                             .packet_overhead_bytes = 24,
                             .burst_bytes = 3000,
                             .horizon = 2_us,
                             .overhead_burst_bytes = 20'000,
                             .capacity_packets = {20, 20, 40, 20}};
  Pacer rows(options), singles(options);
  Instant now;
  for (uint64_t turn = 0; turn < 200; ++turn) {
    const Departure row = any_row(prng, turn, now);
    const bool has_room = rows.free_packets(row.priority) >= row.count;
    RC_ASSERT(rows.try_push(row, now) == has_room);
    if (has_room) push_one_by_one(singles, row, now);
    RC_ASSERT(is_same(depart_all(rows, now), depart_all(singles, now)));
    RC_ASSERT(rows.next_departure() == singles.next_departure());
    RC_ASSERT(rows.backlog(now) == singles.backlog(now));
    RC_ASSERT(rows.pushed_count() == singles.pushed_count());
    if (prng.chance(0.05)) {
      rows.set_rate(rows.rate() == options.rate ? 3_Gbps : options.rate);
      singles.set_rate(rows.rate());
    }
    now += Duration::from_ns(int64_t(prng.below(4000)));
  }
}

TEST(Pacer, other_options_move_nothing_that_is_queued) {
  PacerOptions options = options_8_gbps();
  Pacer pacer(options);
  for (uint64_t i = 0; i < 3; ++i) pacer.try_push(item(i), at(0_us));
  const Bytes saved = pacer.overhead_allowance();
  options.rate = 4_Gbps;
  options.overhead_burst_bytes /= 2;
  options.capacity_packets = {1, 1, 1, 1};
  pacer.change(options);
  EXPECT_EQ(pacer.rate(), 4_Gbps);
  EXPECT_EQ(pacer.overhead_allowance().count(), saved.count() / 2);
  EXPECT_EQ(pacer.queued_packets(), 3u);
  EXPECT_TRUE(pacer.try_push(item(3), at(0_us))) << "there is as much room as before";
  EXPECT_EQ(depart_until(pacer, at(0_us), at(1_s)).cookies(), (std::vector<uint64_t>{0, 1, 2, 3}));
  options.overhead_ppm = 0;
  pacer.change(options);
  EXPECT_EQ(pacer.overhead_allowance(), Bytes());
}

TEST(Pacer, a_packet_that_left_at_a_low_rate_does_not_hold_up_a_high_one) {
  Pacer pacer({.rate = 1_Mbps});
  std::array<Departed, 1> departed;
  std::array<uint64_t, 1> expired;
  const Instant now = Instant() + 1_s;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pacer.try_push({.bytes = 1250}, now));
  EXPECT_EQ(pacer.depart(now, departed, expired).departed, 1u);
  EXPECT_EQ(pacer.next_departure(), now + 10_ms);
  pacer.change_rate(100_Mbps, now + 5_ms);  // half of it is still to leave
  EXPECT_GT(pacer.next_departure(), now + 5_ms + 49_us);
  EXPECT_LT(pacer.next_departure(), now + 5_ms + 51_us);
}

RC_GTEST_PROP(PacerProperty, loses_nothing_and_never_exceeds_the_rate, (uint64_t seed)) {
  check_random_run(seed);
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace cw
