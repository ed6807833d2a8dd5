// How a line is told from what it has lost.
#include "control/adapt/line_history.h"

#include <gtest/gtest.h>

#include "dataplane/base/prng.h"
#include "dataplane/port/impair/impairment.h"

namespace cw::adapt {
namespace {

using namespace literals;

/// A line that is looked at five times a second.
class Line {
 public:
  explicit Line(uint64_t seed) : prng_(seed) {}

  void lose(double loss, double burst) {
    chain_ = GilbertElliott::from_burst(burst, loss);
    loses_ = loss > 0;
  }
  /// `packets` a second.
  void run(Duration time, uint64_t packets) {
    const Instant end = now_ + time;
    for (; now_ < end; now_ = now_ + interval) {
      LineCounts counts;
      for (uint64_t i = 0; i < packets / 5; ++i) count(counts);
      history.add(counts, now_ + interval);
    }
  }
  LineLoss loss() const { return history.loss(now_); }

  LineHistory history;

 private:
  static constexpr Duration interval = Duration::from_ms(200);

  void count(LineCounts& counts) {
    is_bad_ = prng_.chance(is_bad_ ? 1 - chain_.to_good : chain_.to_bad);
    const bool is_lost = is_bad_ && loses_;
    counts.bursts += is_lost && !was_lost_ ? 1 : 0;
    ++(is_lost ? counts.lost : counts.arrived);
    was_lost_ = is_lost;
  }

  Prng prng_;
  GilbertElliott chain_;
  Instant now_;
  bool loses_ = false, is_bad_ = false, was_lost_ = false;
};

TEST(LineHistory, knows_nothing_of_a_line_without_packets) {
  Line line(1);
  line.run(5_s, 0);
  const LineLoss loss = line.loss();
  EXPECT_EQ(loss.counts.packets(), 0u);
  EXPECT_EQ(loss.share.low, 0);
  EXPECT_EQ(loss.share.high, 1);
  EXPECT_FALSE(loss.has_lost());
}

TEST(LineHistory, of_a_line_that_stays_as_it_is_grows) {
  size_t within = 0, whole = 0;
  constexpr size_t seeds = 40;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Line line(seed);
    line.lose(1e-3, 3);
    line.run(100_s, 5000);
    const LineLoss loss = line.loss();
    EXPECT_NEAR(loss.burst_packets, 3, 1);
    within += loss.share.low <= 1e-3 && loss.share.high >= 1e-3 ? 1 : 0;
    whole += loss.age >= 99_s ? 1 : 0;
  }
  EXPECT_GE(within, seeds * 85 / 100);  // the length of runs is an estimate, too
  EXPECT_GE(whole, seeds - 1) << "it is taken for another line once in ten million looks";
}

TEST(LineHistory, forgets_within_half_a_second_when_a_line_becomes_bad) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Line line(seed);
    line.lose(1e-6, 1);
    line.run(120_s, 5000);
    line.lose(0.01, 3);
    line.run(600_ms, 5000);
    EXPECT_LE(line.loss().age, 800_ms);
    EXPECT_GT(line.loss().share.ratio, 1e-3);
  }
}

TEST(LineHistory, forgets_when_a_line_has_healed) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Line line(seed);
    line.lose(0.01, 3);
    line.run(60_s, 5000);
    line.lose(0, 1);
    line.run(10_s, 5000);
    EXPECT_NEAR(line.loss().age.seconds(), 10, 1);
    EXPECT_LE(line.loss().counts.bursts, 3u);
  }
}

TEST(LineHistory, sees_that_as_many_runs_have_become_longer) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Line line(seed);
    line.lose(1e-3, 1);
    line.run(60_s, 5000);
    line.lose(8e-3, 8);
    line.run(3_s, 5000);
    EXPECT_LE(line.loss().age, 6_s);
    EXPECT_GT(line.loss().burst_packets, 3);
  }
}

TEST(LineHistory, is_less_sure_of_what_comes_at_once) {
  LineHistory singles, runs;
  singles.add({.arrived = 100'000, .lost = 100, .bursts = 100}, Instant() + 1_s);
  runs.add({.arrived = 100'000, .lost = 100, .bursts = 10}, Instant() + 1_s);
  const Share one = singles.loss(Instant() + 1_s).share, ten = runs.loss(Instant() + 1_s).share;
  EXPECT_DOUBLE_EQ(one.ratio, ten.ratio);
  EXPECT_LT(ten.low, one.low);
  EXPECT_GT(ten.high, one.high * 1.4);
}

TEST(LineHistory, is_bounded_in_room_and_time) {
  Line line(3);
  line.lose(1e-3, 2);
  line.run(1500_s, 500);
  EXPECT_LE(line.loss().age, LineHistory::age_max);
  EXPECT_GT(line.loss().age, LineHistory::age_max / 2);
  EXPECT_LE(line.history.parts(), 100u);
}

TEST(LineHistory, of_an_idle_line_ends) {
  Line line(4);
  line.lose(1e-3, 1);
  line.run(10_s, 5000);
  line.run(LineHistory::age_max + 11_s, 0);
  EXPECT_EQ(line.loss().counts.packets(), 0u);
}

}  // namespace
}  // namespace cw::adapt
