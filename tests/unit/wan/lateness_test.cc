#include "control/wan/lateness.h"

#include <gtest/gtest.h>

namespace cw::wan {
namespace {

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

}  // namespace
}  // namespace cw::wan
