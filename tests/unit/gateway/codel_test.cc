#include "dataplane/gateway/codel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "dataplane/gateway/standstill.h"

namespace cw::gateway::test {
namespace {
using namespace literals;

constexpr CodelLimits limits{.target = 5_ms, .interval = 100_ms};
constexpr Instant start = Instant::from_ns(1'000'000'000);

/// The milliseconds, from `start` on, at which one of a row of frames is told.
std::vector<int> told(Codel& codel, Duration sojourn, int from_ms, int to_ms) {
  std::vector<int> times;
  for (int ms = from_ms; ms < to_ms; ++ms) {
    if (codel.judge(sojourn, limits, start + Duration::from_ms(ms))) times.push_back(ms);
  }
  return times;
}

TEST(Codel, says_nothing_while_the_queue_is_short_or_soon_short_again) {
  Codel codel;
  EXPECT_TRUE(told(codel, Duration::from_us(4999), 0, 1000).empty());
  EXPECT_TRUE(told(codel, 50_ms, 1000, 1100).empty()) << "a burst of an interval";
  EXPECT_FALSE(codel.judge(4_ms, limits, start + 1100_ms));
  EXPECT_TRUE(told(codel, 50_ms, 1101, 1201).empty());
}

TEST(Codel, tells_one_after_an_interval_and_then_by_the_inverse_square_root) {
  Codel codel;
  std::vector<int> expected;
  double at = 100;
  for (int count = 1; at < 1000; ++count) {
    expected.push_back(static_cast<int>(std::ceil(at - 1e-3)));
    at += 100 / std::sqrt(count);
  }
  EXPECT_EQ(told(codel, 6_ms, 0, 1000), expected);
}

TEST(Codel, begins_again_where_it_was_enough_when_that_is_not_long_ago) {
  Codel soon, late;
  for (Codel* codel : {&soon, &late}) {
    EXPECT_GT(told(*codel, 6_ms, 0, 1000).size(), 20u);
    EXPECT_FALSE(codel->judge(1_ms, limits, start + 1000_ms));
  }
  EXPECT_GT(told(soon, 6_ms, 1100, 1300).size(), 5u);
  EXPECT_EQ(told(late, 6_ms, 3000, 3300), (std::vector{3100, 3200, 3271}));
}

TEST(Standstill, counts_less_and_less_and_ends_with_its_queue) {
  Standstill still;
  still.add(50_ms, 60_ms, start);
  EXPECT_EQ(still.rest(start), 50_ms);
  EXPECT_EQ(still.rest(start + 160_ms), 40_ms);
  still.add(50_ms, 60_ms, start + 160_ms);
  EXPECT_EQ(still.rest(start + 160_ms), 60_ms) << "never more than may wait";
  still.end(start + 161_ms);
  EXPECT_GT(still.rest(start + 161_ms), 59_ms) << "what came meanwhile is still being read";
  still.end(start + 170_ms);
  EXPECT_EQ(still.rest(start + 170_ms), Duration());
}

}  // namespace
}  // namespace cw::gateway::test
