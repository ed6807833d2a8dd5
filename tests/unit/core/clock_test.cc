#include "dataplane/core/clock.h"

#include <gtest/gtest.h>

namespace cw {
namespace {
using namespace literals;

Instant at(Duration since_start) { return Instant() + since_start; }

TEST(VirtualClock, stands_still_until_told_otherwise) {
  VirtualClock clock(at(1_s));
  EXPECT_EQ(clock.read(), at(1_s));
  clock.advance_by(5_ms);
  clock.advance_to(at(2_s));
  EXPECT_EQ(clock.read(), at(2_s));
  EXPECT_DEATH(clock.advance_to(at(1_s)), "assertion failed");
}

TEST(MachineClock, never_goes_back_and_agrees_with_the_monotonic_clock) {
  const MachineClock machine;
  const MonotonicClock monotonic;
  Instant before = machine.read();
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = machine.read();
    ASSERT_GE(now, before);
    before = now;
  }
  // Read between two readings of the other: however long the pauses, the bounds hold.
  const Instant low = monotonic.read();
  const Instant middle = machine.read();
  const Instant high = monotonic.read();
  EXPECT_GT(middle, low - 1_ms);
  EXPECT_LT(middle, high + 1_ms);
}

TEST(GapDetector, what_exceeds_a_long_turn_is_a_gap) {
  GapDetector gaps;
  EXPECT_EQ(gaps.observe(at(5_s)), 0_ns) << "the first reading has no predecessor";
  EXPECT_EQ(gaps.observe(at(5_s + 2_ms)), 0_ns);
  EXPECT_EQ(gaps.observe(at(5_s + 4_ms + 1_ns)), 1_ns);
  EXPECT_EQ(gaps.observe(at(5_s + 54_ms)), 48_ms - 1_ns);
  EXPECT_EQ(gaps.observe(at(5_s + 55_ms)), 0_ns);
}

TEST(GapDetector, time_goes_on_where_all_turns_are_long) {
  GapDetector gaps;
  Duration slept;
  for (int turn = 0; turn <= 100; ++turn) slept += gaps.observe(at(10_ms * turn));
  EXPECT_EQ(slept, 800_ms) << "of a second";
}

TEST(GapDetector, time_slept_on_purpose_is_no_gap_but_oversleeping_is) {
  GapDetector gaps;
  gaps.observe(at(0_s));
  gaps.sleeps_until(at(10_s));
  EXPECT_EQ(gaps.observe(at(10_s + 1_ms)), 0_ns);
  gaps.sleeps_until(at(20_s));
  EXPECT_EQ(gaps.observe(at(15_s)), 0_ns) << "woken early by a packet";
  gaps.sleeps_until(at(16_s));
  EXPECT_EQ(gaps.observe(at(18_s)), 1998_ms);
}

}  // namespace
}  // namespace cw
