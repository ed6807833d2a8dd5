#include "dataplane/core/times/hole_times.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cw {
namespace {

TEST(HoleTimes, are_counted_by_half_octaves) {
  EXPECT_EQ(HoleTimes::step_of(Duration()), 0u);
  EXPECT_EQ(HoleTimes::step_of(Duration::from_ns(92'000)), 0u);
  EXPECT_EQ(HoleTimes::step_of(Duration::from_ns(93'000)), 1u);
  EXPECT_EQ(HoleTimes::step_of(Duration::from_s(3600)), HoleTimes::steps - 1);
  for (size_t step = 1; step < HoleTimes::steps; ++step) {
    const double begin = std::exp2(HoleTimes::first_octave + static_cast<double>(step) / 2);
    EXPECT_EQ(HoleTimes::step_of(Duration::from_ns(static_cast<int64_t>(begin) - 1)), step - 1);
    EXPECT_EQ(HoleTimes::step_of(Duration::from_ns(static_cast<int64_t>(begin) + 1)), step);
  }
}

TEST(HoleTimes, tell_a_quantile_to_a_fifth) {
  HoleTimes times;
  EXPECT_EQ(times.quantile(0.99), Duration());
  for (int ms = 1; ms <= 1000; ++ms) ++times.counts[HoleTimes::step_of(Duration::from_ms(ms))];
  EXPECT_EQ(times.sum(), 1000u);
  EXPECT_NEAR(times.quantile(0.99).ms(), 990, 200);
  EXPECT_NEAR(times.quantile(0.5).ms(), 500, 100);
  HoleTimes later = times;
  later.counts[4] += 7;
  EXPECT_EQ(later.since(times).sum(), 7u);
}

}  // namespace
}  // namespace cw
