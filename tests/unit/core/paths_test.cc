// Paths, and what the numbers of their packets tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/core/path/paths.h"
#include "dataplane/core/path/psn_tracker.h"
#include "tests/property/property.h"

namespace cw {
namespace {
using namespace literals;

// ---- paths ----

Instant at(Duration since_start) { return Instant() + since_start; }

TEST(RttEstimator, the_first_sample_counts_whole_and_half_as_variance) {
  RttEstimator rtt;
  EXPECT_EQ(rtt.timeout(1_ms, 1_s, 300_ms), 300_ms);
  rtt.add(20_ms, at(0_s));
  EXPECT_EQ(rtt.smoothed(), 20_ms);
  EXPECT_EQ(rtt.variance(), 10_ms);
  EXPECT_EQ(rtt.timeout(1_ms, 1_s, 300_ms), 60_ms);
}

TEST(RttEstimator, further_samples_count_an_eighth_and_a_quarter) {
  RttEstimator rtt;
  rtt.add(20_ms, at(0_s));
  rtt.add(28_ms, at(1_ms));
  EXPECT_EQ(rtt.smoothed(), 21_ms);
  EXPECT_EQ(rtt.variance(), 9'500_us);
  rtt.add(-(1_ms), at(2_ms));
  EXPECT_EQ(rtt.smoothed(), 21_ms) << "a sample that is not positive says nothing";
}

TEST(RttEstimator, a_longer_route_counts_whole_after_three_samples) {
  RttEstimator rtt;
  Instant now;
  for (int i = 0; i < 8; ++i) rtt.add(20_ms, now = now + 10_ms);
  rtt.add(50_ms, now = now + 10_ms);  // half of it had left before
  rtt.add(80_ms, now = now + 10_ms);
  EXPECT_LT(rtt.smoothed(), 32_ms);
  rtt.add(80_ms, now = now + 10_ms);
  EXPECT_EQ(rtt.smoothed(), 50_ms);
  rtt.add(80_ms, now = now + 10_ms);
  EXPECT_EQ(rtt.smoothed(), 80_ms);
  rtt.add(20_ms, now = now + 10_ms);
  EXPECT_GT(rtt.smoothed(), 70_ms) << "a shorter one may be chance: nobody gives up too early";
}

TEST(RttEstimator, the_minimum_is_forgotten_when_the_route_has_become_longer) {
  RttEstimator rtt;
  rtt.add(10_ms, at(0_s));
  for (int s = 1; s < 9; ++s) rtt.add(30_ms, at(1_s * s));
  EXPECT_EQ(rtt.min(), 10_ms);
  for (int s = 9; s < 21; ++s) rtt.add(30_ms, at(1_s * s));
  EXPECT_EQ(rtt.min(), 30_ms);
}

TEST(RttEstimator, the_timeout_stays_within_its_bounds) {
  RttEstimator rtt;
  for (int i = 0; i < 200; ++i) rtt.add(2_ms, at(1_ms * i));
  EXPECT_EQ(rtt.timeout(5_ms, 1_s, 1_s), 5_ms);
  EXPECT_EQ(rtt.timeout(1_us, 1_ms, 1_s), 1_ms);
}

TEST(WilsonShare, agrees_with_published_values) {
  const Share none = wilson_share(0, 0);
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.high, 1);
  const Share tenth = wilson_share(10, 100);
  EXPECT_NEAR(tenth.low, 0.0552, 0.0001);
  EXPECT_NEAR(tenth.high, 0.1744, 0.0001);
  const Share clean = wilson_share(0, 1000);
  EXPECT_EQ(clean.ratio, 0);
  EXPECT_NEAR(clean.high, 0.00383, 0.00001) << "no loss seen is not no loss";
}

TEST(LossEstimator, counts_only_its_window) {
  LossEstimator loss(8_s);
  loss.add_arrived(90, at(0_s));
  loss.add_lost(10, 2, at(0_s));
  EXPECT_DOUBLE_EQ(loss.loss(at(1_s)).ratio, 0.1);
  EXPECT_DOUBLE_EQ(loss.burst_mean(at(1_s)), 5);
  loss.add_arrived(100, at(4_s));
  EXPECT_DOUBLE_EQ(loss.loss(at(7_s)).ratio, 0.05);
  EXPECT_DOUBLE_EQ(loss.loss(at(8_s)).ratio, 0.0) << "the first second has left";
  EXPECT_EQ(loss.loss(at(100_s)).high, 1) << "nothing is known any more";
  loss.add_arrived(1, at(100_s));
  EXPECT_EQ(loss.loss(at(100_s)).ratio, 0);
}

TEST(LossEstimator, a_late_packet_takes_its_loss_back) {
  LossEstimator loss;
  loss.add_arrived(8, at(0_s));
  loss.add_lost(2, 1, at(0_s));
  loss.add_late(at(1_s));
  EXPECT_DOUBLE_EQ(loss.loss(at(1_s)).ratio, 0.1);
  loss.add_late(at(1_s));
  loss.add_late(at(1_s));  // more than were lost: a forged PSN
  EXPECT_EQ(loss.loss(at(1_s)).ratio, 0);
}

TEST(LossEstimator, the_interval_holds_the_true_share_about_as_often_as_it_says) {
  Prng prng(1);
  int held = 0;
  constexpr int runs = 2000;
  for (int run = 0; run < runs; ++run) {
    uint64_t lost = 0;
    for (int i = 0; i < 500; ++i) lost += prng.chance(0.01);
    const Share share = wilson_share(lost, 500);
    held += share.low <= 0.01 && 0.01 <= share.high;
  }
  EXPECT_GT(held, runs * 93 / 100);
}

TEST(ReorderBudget, grows_once_per_lateness_up_to_its_ceiling) {
  ReorderBudget budget(1_ms, 10_ms);
  budget.on_late({}, at(1_s));
  budget.on_late({}, at(1_s));
  EXPECT_EQ(budget.time(), 2_ms);
  for (int i = 0; i < 10; ++i) budget.on_late({}, at(2_s) + 100_ms * i);
  EXPECT_EQ(budget.time(), 10_ms);
}

TEST(ReorderBudget, grows_at_once_to_what_a_late_packet_needed) {
  ReorderBudget budget(1_ms, 30_ms);
  budget.on_late(8_ms, at(1_s));
  EXPECT_EQ(budget.time(), 10_ms);
  budget.on_late(16_ms, at(1_s + 1_ms));
  EXPECT_EQ(budget.time(), 20_ms) << "later still, and heard though the last was just now";
  budget.on_late(17_ms, at(1_s + 2_ms));
  EXPECT_GE(budget.time(), 20_ms);
  budget.on_late(100_ms, at(2_s));
  EXPECT_EQ(budget.time(), 30_ms);
}

TEST(ReorderBudget, grows_to_what_came_in_time_needed) {
  ReorderBudget budget(1_ms, 30_ms);
  budget.on_reordered(8_ms, at(1_s));
  EXPECT_EQ(budget.time(), 10_ms);
  budget.on_reordered(2_ms, at(2_s));
  EXPECT_EQ(budget.time(), 10_ms);
  budget.on_reordered(100_ms, at(3_s));
  EXPECT_EQ(budget.time(), 30_ms);
}

TEST(ReorderBudget, shrinks_in_calm_but_not_below_what_packets_need) {
  ReorderBudget budget(1_ms, 64_ms);
  for (int i = 0; i < 6; ++i) budget.on_late({}, at(1_s + 100_ms * i));
  EXPECT_EQ(budget.time(), 64_ms);
  for (int i = 0; i < 1000; ++i) {
    budget.on_reordered(4_ms, at(2_s + 100_ms * i));
    budget.on_time(at(2_s + 100_ms * i));
  }
  EXPECT_EQ(budget.time(), 6_ms);
  for (int i = 0; i < 1000; ++i) budget.on_time(at(200_s + 100_ms * i));
  EXPECT_EQ(budget.time(), 1_ms);
}

TEST(PathEstimates, a_tracker_and_its_path_agree_with_what_the_wire_did) {
  PathEstimates path;
  PsnTracker tracker;
  Ring<LostRange> lost(64);
  uint64_t dropped = 0;
  Instant now;
  for (uint64_t psn = 0; psn < 20'000; ++psn, now += 10_us) {
    if (psn % 500 >= 495) {  // five in a row of 500
      ++dropped;
    } else {
      path.on_arrival(tracker.on_arrival(Psn(psn), now, lost), now);
    }
    tracker.settle(now, path.reorder_time(), lost);
    while (!lost.is_empty()) path.on_lost(lost.pop(), now);
  }
  const PathState report = path.report(now);
  EXPECT_EQ(report.lost, dropped - 5) << "nothing follows the last five";
  EXPECT_EQ(report.arrived + dropped, 20'000u);
  EXPECT_NEAR(report.loss.ratio, 0.01, 0.0005);
  EXPECT_LT(report.loss.low, 0.01);
  EXPECT_GT(report.loss.high, 0.01);
  EXPECT_DOUBLE_EQ(report.burst_packets_mean, 5);
  EXPECT_EQ(report.late + report.reordered + report.duplicates + report.stale, 0u);
}

TEST(PathEstimates, reordering_beyond_the_budget_teaches_the_budget) {
  PathEstimates path({.loss_window = 4_s, .reorder_floor = 100_us, .reorder_ceiling = 10_ms});
  PsnTracker tracker;
  Ring<LostRange> lost(1024);
  Instant now;
  uint64_t late_before = 0;
  for (uint64_t pair = 0; pair < 4'000; ++pair, now += 1_ms) {  // swapped pairs, 700 us apart
    path.on_arrival(tracker.on_arrival(Psn(2 * pair + 1), now, lost), now);
    tracker.settle(now + 600_us, path.reorder_time(), lost);
    while (!lost.is_empty()) path.on_lost(lost.pop(), now);
    path.on_arrival(tracker.on_arrival(Psn(2 * pair), now + 700_us, lost), now + 700_us);
    path.on_time(now + 700_us);
    if (pair == 100) late_before = path.report(now).late;
  }
  const PathState report = path.report(now);
  EXPECT_GT(late_before, 0u);
  EXPECT_EQ(report.late, late_before) << "the budget has grown over the skew and stays there";
  EXPECT_GE(report.reorder_budget, 700_us);
  EXPECT_EQ(report.reorder_packets_max, 1u);
  EXPECT_EQ(report.loss.ratio, 0) << "late packets are not losses";
}
using Kind = PsnArrival::Kind;

// ---- psn tracker ----

constexpr Duration budget = 1_ms;

// A tracker that begins three before the wrap, so that every test crosses it.
struct Tracked {
  static constexpr uint64_t start = Psn::space - 3;
  PsnTracker tracker{9, Psn(start)};
  Ring<LostRange> lost{256};

  PsnArrival arrive(uint64_t offset, Instant now) {
    return tracker.on_arrival(Psn(start + offset), now, lost);
  }
  std::vector<std::pair<uint32_t, uint32_t>> take_lost() {
    std::vector<std::pair<uint32_t, uint32_t>> result;
    while (!lost.is_empty()) {
      const LostRange range = lost.pop();
      EXPECT_EQ(range.tracker, 9u);
      result.emplace_back((range.first - start).value(), range.count);
    }
    return result;
  }
};
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(PsnTracker, an_unbroken_row_across_the_wrap_loses_nothing) {
  Tracked t;
  for (uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(t.arrive(i, at(0_us)).kind, Kind::Fresh);
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_TRUE(t.lost.is_empty());
  EXPECT_EQ(t.tracker.next_settle(budget), Instant::never());
}

TEST(PsnTracker, a_gap_is_lost_when_it_has_outlived_the_reorder_budget) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(4, at(10_us));  // skips 1, 2, 3: the wrap lies among them
  EXPECT_EQ(t.tracker.next_settle(budget), at(10_us) + budget);
  t.tracker.settle(at(10_us) + budget - 1_ns, budget, t.lost);
  EXPECT_TRUE(t.lost.is_empty());
  t.tracker.settle(at(10_us) + budget, budget, t.lost);
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 3}}));
  EXPECT_EQ(t.tracker.lost_count(), 3u);
  EXPECT_EQ(t.tracker.lost_range_count(), 1u);
}

TEST(PsnTracker, the_first_packet_of_all_can_be_lost_too) {
  Tracked t;
  t.arrive(2, at(0_us));
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_EQ(t.take_lost(), (Ranges{{0, 2}}));
}

TEST(PsnTracker, a_packet_that_fills_its_gap_in_time_was_reordered) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(5, at(10_us));
  const PsnArrival arrival = t.arrive(3, at(30_us));
  EXPECT_EQ(arrival.kind, Kind::Reordered);
  EXPECT_EQ(arrival.depth, 2u);
  EXPECT_EQ(arrival.behind, 20_us);
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 2}, {4, 1}}));
}

TEST(PsnTracker, a_packet_after_its_loss_was_reported_is_late_and_then_a_duplicate) {
  Tracked t;
  t.arrive(2, at(0_us));
  t.tracker.settle(at(1_s), budget, t.lost);
  EXPECT_EQ(t.arrive(1, at(1_s)).kind, Kind::Late);
  EXPECT_EQ(t.arrive(1, at(1_s)).kind, Kind::Duplicate);
  EXPECT_EQ(t.arrive(2, at(1_s)).kind, Kind::Duplicate);
}

TEST(PsnTracker, the_window_tells_apart_to_its_last_psn) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(PsnTracker::window_psns, at(0_us));
  EXPECT_EQ(t.arrive(1, at(0_us)).kind, Kind::Reordered);
  EXPECT_EQ(t.arrive(0, at(0_us)).kind, Kind::Stale);
}

TEST(PsnTracker, a_gap_that_leaves_the_window_is_settled_while_its_bits_are_there) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(3, at(0_us));
  for (uint64_t i = 4; i <= PsnTracker::window_psns; ++i) t.arrive(i, at(0_us));
  EXPECT_TRUE(t.lost.is_empty());
  t.arrive(PsnTracker::window_psns + 1, at(0_us));
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 2}}));
}

TEST(PsnTracker, a_jump_beyond_the_window_is_one_burst_counted_by_arithmetic) {
  Tracked t;
  t.arrive(0, at(0_us));
  t.arrive(3, at(0_us));
  t.arrive(8'000'000, at(0_us));
  EXPECT_EQ(t.take_lost(), (Ranges{{1, 2}, {4, 7'999'996}}));
  EXPECT_EQ(t.arrive(7'999'999, at(0_us)).kind, Kind::Late);
  EXPECT_EQ(t.arrive(8'000'001, at(0_us)).kind, Kind::Fresh);
}

TEST(PsnTracker, one_forged_jump_silences_the_tracker_only_for_a_short_while) {
  for (const Duration apart : {1_ms, 100_ms}) {
    Tracked t;
    for (uint64_t i = 0; i < 10; ++i) t.arrive(i, at(0_us));
    t.arrive(5'000'000, at(0_us));
    uint64_t next = 10;
    Duration time;
    while (t.arrive(next++, at(time)).kind == Kind::Stale) ASSERT_LT(time += apart, 20_s);
    EXPECT_GE(time, PsnTracker::stale_time_min);
    EXPECT_GE(next, 10 + PsnTracker::stale_run_max);
    EXPECT_EQ(t.arrive(next, at(time)).kind, Kind::Fresh);
  }
}

TEST(PsnTracker, a_burst_of_old_ones_moves_nothing_and_neither_do_several) {
  Tracked t;
  for (uint64_t i = 0; i < 10'000; ++i) t.arrive(i, at(0_us));
  for (const Duration when : {1_s, 12_s, 23_s}) {
    for (uint64_t i = 0; i < 4000; ++i) {
      ASSERT_EQ(t.arrive(i, at(when + Duration::from_us(100) * static_cast<int64_t>(i))).kind,
                Kind::Stale);
    }
  }
  EXPECT_EQ(t.arrive(10'000, at(24_s)).kind, Kind::Fresh);
}

TEST(PsnTracker, what_the_full_ring_cannot_carry_comes_with_the_next_call) {
  PsnTracker tracker(0, Psn(0));
  Ring<LostRange> lost(2);
  for (uint64_t i = 1; i < 10; i += 2) tracker.on_arrival(Psn(i), at(0_us), lost);
  std::vector<uint32_t> firsts;
  for (int call = 0; call < 3; ++call) {
    tracker.settle(at(1_s), budget, lost);
    while (!lost.is_empty()) firsts.push_back(lost.pop().first.value());
  }
  EXPECT_EQ(firsts, (std::vector<uint32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(tracker.unreported_count(), 0u);
}

TEST(PsnTracker, more_gaps_than_it_remembers_settle_the_oldest_early) {
  PsnTracker tracker(0, Psn(0));
  Ring<LostRange> lost(256);
  for (uint64_t i = 0; i <= PsnTracker::gaps_max; ++i) {
    tracker.on_arrival(Psn(2 * i + 1), at(0_us), lost);
  }
  ASSERT_EQ(lost.count(), 1u);
  EXPECT_EQ(lost.pop().first, Psn(0));
}

// The reference keeps whole sets: what was sent, what arrived, what was reported.
void compare_with_sets(uint64_t seed) {
  Prng prng(seed);
  const uint64_t start = Psn::space - 1000;
  PsnTracker tracker(1, Psn(start));
  Ring<LostRange> lost(1024);
  std::multimap<Instant, uint64_t> wire;
  std::map<uint64_t, Instant> reported;
  std::set<uint64_t> arrived;
  const double loss = prng.uniform() * 0.2, reorder = prng.uniform() * 0.2;
  constexpr uint64_t sent = 3000;
  Instant departure;
  for (uint64_t i = 0; i < sent; ++i, departure += 2_us) {
    if (prng.chance(loss) && i + 1 < sent) continue;
    const Duration extra =
        prng.chance(reorder) ? Duration::from_us(int64_t(prng.below(300))) : 0_us;
    wire.emplace(departure + extra, i);
    if (prng.chance(0.05)) wire.emplace(departure + extra + 50_us, i);
  }
  uint64_t highest = 0;
  const auto take = [&](Instant now) {
    while (!lost.is_empty()) {
      const LostRange range = lost.pop();
      for (uint64_t i = 0; i < range.count; ++i) {
        const uint64_t offset = (range.first + i - start).value();
        ASSERT_LT(offset, highest);
        ASSERT_FALSE(arrived.contains(offset)) << "reported what had arrived";
        ASSERT_TRUE(reported.emplace(offset, now).second) << "reported twice";
      }
    }
  };
  for (const auto& [now, offset] : wire) {
    tracker.settle(now, 100_us, lost);
    take(now);
    const bool is_fresh = arrived.empty() || offset > highest;
    const Kind expected = arrived.contains(offset)    ? Kind::Duplicate
                          : is_fresh                  ? Kind::Fresh
                          : reported.contains(offset) ? Kind::Late
                                                      : Kind::Reordered;
    ASSERT_EQ(tracker.on_arrival(Psn(start + offset), now, lost).kind, expected) << offset;
    highest = std::max(highest, offset);
    take(now);
    arrived.insert(offset);
  }
  tracker.settle(at(10_s), 100_us, lost);
  take(at(10_s));
  for (uint64_t i = 0; i < highest; ++i) {
    ASSERT_TRUE(arrived.contains(i) || reported.contains(i)) << i << " was forgotten";
  }
  EXPECT_EQ(tracker.lost_count(), reported.size());
}

RC_GTEST_PROP(PsnTrackerProperty, agrees_with_sets, (uint64_t seed)) {
  compare_with_sets(seed);
  RC_ASSERT(!testing::Test::HasFailure());
}

// The short way of the packet that comes in order is the long way, step by step.
RC_GTEST_PROP(PsnTrackerProperty, goes_the_same_whether_the_next_is_asked_for_or_not, ()) {
  PsnTracker asked(3, Psn(0)), plain(3, Psn(0));
  Ring<LostRange> asked_lost(8), plain_lost(8);
  uint64_t psn = *rc::gen::element(uint64_t{0}, uint64_t{Psn::space - 20});
  Instant now = at(0_us);
  for (int i = *rc::gen::inRange(1, 200); i > 0; --i) {
    psn += *rc::gen::weightedElement<uint64_t>({{20, 1}, {2, 3}, {1, 5000}, {2, Psn::space - 2}});
    now += Duration::from_us(*rc::gen::inRange(0, 300));
    const PsnArrival arrival = plain.on_arrival(Psn(psn), now, plain_lost);
    if (asked.try_next(Psn(psn))) {
      RC_ASSERT(arrival.kind == Kind::Fresh);
    } else {
      const PsnArrival other = asked.on_arrival(Psn(psn), now, asked_lost);
      RC_ASSERT((other.kind == arrival.kind && other.depth == arrival.depth &&
                 other.behind == arrival.behind));
    }
    asked.settle(now, budget, asked_lost), plain.settle(now, budget, plain_lost);
    while (!plain_lost.is_empty()) {
      const LostRange a = asked_lost.pop(), b = plain_lost.pop();
      RC_ASSERT((a.tracker == b.tracker && a.first == b.first && a.count == b.count));
    }
    RC_ASSERT(asked_lost.is_empty());
    RC_ASSERT((asked.next_settle(budget) == plain.next_settle(budget)));
  }
}

TEST(PsnTracker, hostile_psns_cost_no_more_than_one_window_each) {
  Prng prng(3);
  PsnTracker tracker(0, Psn(0));
  Ring<LostRange> lost(16);
  for (int i = 0; i < 200'000; ++i) {
    tracker.on_arrival(Psn(prng.next()), at(0_us), lost);
    if (prng.chance(0.1)) lost.clear();
  }
  EXPECT_GT(tracker.lost_count(), tracker.unreported_count());
}

}  // namespace

}  // namespace cw
