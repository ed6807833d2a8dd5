#include "dataplane/wire/replay_window.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/property/property.h"

namespace cw::test {
namespace {

TEST(ReplayWindow, takes_a_sequence_once) {
  ReplayWindow window;
  EXPECT_TRUE(window.try_accept(1));
  EXPECT_FALSE(window.try_accept(1));
  EXPECT_TRUE(window.try_accept(3));
  EXPECT_TRUE(window.try_accept(2));
  EXPECT_FALSE(window.try_accept(2));
}

TEST(ReplayWindow, refuses_zero) {
  ReplayWindow window;
  EXPECT_FALSE(window.try_accept(0));
  EXPECT_TRUE(window.try_accept(500));
  EXPECT_FALSE(window.try_accept(0));
}

TEST(ReplayWindow, knows_the_last_1024_exactly_and_refuses_what_is_older) {
  ReplayWindow window;
  EXPECT_TRUE(window.try_accept(5000));
  EXPECT_TRUE(window.try_accept(5000 - 1023));
  EXPECT_FALSE(window.try_accept(5000 - 1023));
  EXPECT_FALSE(window.try_accept(5000 - 1024));
  EXPECT_TRUE(window.try_accept(5001));
  EXPECT_FALSE(window.try_accept(5001 - 1024));
}

TEST(ReplayWindow, jumps_any_distance_and_reaches_the_last_number) {
  ReplayWindow window;
  EXPECT_TRUE(window.try_accept(7));
  EXPECT_TRUE(window.try_accept(UINT64_MAX));
  EXPECT_FALSE(window.try_accept(UINT64_MAX));
  EXPECT_TRUE(window.try_accept(UINT64_MAX - 1));
  EXPECT_FALSE(window.try_accept(7));
}

RC_GTEST_PROP(ReplayWindow, agrees_with_a_set_of_all_numbers_seen, ()) {
  ReplayWindow window;
  std::set<uint64_t> seen;
  uint64_t highest = *rc::gen::inRange<uint64_t>(0, 3000);
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1500, 700));
  for (const int step : steps) {
    const uint64_t sequence = step < 0 && static_cast<uint64_t>(-step) > highest
                                  ? 0
                                  : highest + static_cast<int64_t>(step);
    const uint64_t floor = seen.empty() ? 0 : *seen.rbegin();
    const bool is_too_old = sequence == 0 || (floor >= 1024 && sequence <= floor - 1024);
    const bool is_new = !is_too_old && seen.insert(sequence).second;
    RC_ASSERT(window.try_accept(sequence) == is_new);
    highest = std::max(highest, sequence);
  }
}

}  // namespace
}  // namespace cw::test
