#include "dataplane/core/paths.h"

#include <gtest/gtest.h>

#include "dataplane/base/prng.h"

namespace cw {
namespace {
using namespace literals;

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

}  // namespace
}  // namespace cw
