#include "control/wan/held.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tests/property/property.h"

namespace cw::wan {
namespace {

Instant at_us(int64_t us) { return Instant::from_ns(us * 1000); }

TEST(ReleaseQueue, is_never_due_when_empty) {
  EXPECT_EQ(ReleaseQueue(4).earliest(), Instant::never());
}

TEST(ReleaseQueue, equal_times_leave_in_the_order_of_pushing) {
  ReleaseQueue queue(4);
  queue.push(at_us(5), 0);
  queue.push(at_us(3), 1);
  queue.push(at_us(5), 2);
  queue.push(at_us(3), 3);
  for (const uint32_t expected : {1u, 3u, 0u, 2u}) EXPECT_EQ(queue.pop().frame, expected);
}

TEST(ReleaseQueue, what_is_put_back_has_its_old_place) {
  ReleaseQueue queue(3);
  for (uint32_t i = 0; i < 3; ++i) queue.push(at_us(7), i);
  const auto first = queue.pop();
  const auto second = queue.pop();
  queue.put_back(second);
  queue.put_back(first);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(queue.pop().frame, i);
}

RC_GTEST_PROP(ReleaseQueue, gives_back_everything_sorted_by_time_and_age,
              (const std::vector<uint8_t>& times)) {
  ReleaseQueue queue(times.size() + 1);
  for (uint32_t i = 0; i < times.size(); ++i) queue.push(at_us(times[i]), i);
  std::vector<uint32_t> expected(times.size());
  for (uint32_t i = 0; i < times.size(); ++i) expected[i] = i;
  std::ranges::sort(expected, {}, [&](uint32_t i) { return std::pair(times[i], i); });
  for (const uint32_t frame : expected) {
    RC_ASSERT(queue.earliest() == at_us(times[frame]));
    RC_ASSERT(queue.pop().frame == frame);
  }
  RC_ASSERT(queue.count() == 0u);
}

TEST(FrameArena, lends_a_frame_until_its_last_copy_is_back) {
  FrameArena arena(2, 100);
  const uint32_t frame = arena.take(60, 2);
  EXPECT_EQ(arena.bytes(frame).size(), 60u);
  arena.give_back(frame);
  EXPECT_EQ(arena.free_count(), 1u);
  arena.give_back(frame);
  EXPECT_EQ(arena.free_count(), 2u);
  EXPECT_EQ(arena.take(100, 1), frame);
}

}  // namespace
}  // namespace cw::wan
