#include "dataplane/gateway/frame_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <vector>

#include "dataplane/base/prng.h"

namespace cw::gateway::test {
namespace {

constexpr Instant start = Instant::from_ns(1'000'000'000);

bool push(FrameQueue& queue, uint16_t bucket, size_t bytes, uint8_t fill) {
  Admitted how;
  how.bucket = bucket;
  how.bytes = static_cast<uint16_t>(bytes);
  return queue.try_push(how, std::vector<uint8_t>(bytes, fill), start);
}

uint8_t pop(FrameQueue& queue) {
  const uint8_t fill = queue.packet_of(queue.next()).back();
  queue.pop_next();
  return fill;
}

TEST(FrameQueue, lets_one_row_leave_as_it_came) {
  FrameQueue queue(Bytes(1 << 20), false);
  for (uint8_t i = 0; i < 100; ++i) ASSERT_TRUE(push(queue, i % 7, 100 + i, i));
  EXPECT_EQ(queue.frames(), 100u);
  EXPECT_EQ(queue.bytes(), 100u * 100 + 99 * 50);
  for (uint8_t i = 0; i < 100; ++i) EXPECT_EQ(pop(queue), i);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(FrameQueue, gives_flows_equal_bytes_and_lets_who_sends_little_go_first) {
  FrameQueue queue(Bytes(4 << 20), true);
  for (int i = 0; i < 600; ++i) push(queue, 1, 1500, 1);
  for (int i = 0; i < 3000; ++i) push(queue, 2, 300, 2);
  std::map<uint8_t, uint64_t> bytes;
  for (int i = 0; i < 600; ++i) {
    const uint8_t flow = pop(queue);
    bytes[flow] += flow == 1 ? 1500 : 300;
  }
  EXPECT_NEAR(static_cast<double>(bytes[1]), static_cast<double>(bytes[2]), 2 * 1514.0);
  push(queue, 3, 100, 3);
  EXPECT_EQ(pop(queue), 3) << "before 1,000 others";
}

TEST(FrameQueue, is_as_long_as_its_memory_and_the_oldest_makes_room) {
  FrameQueue queue(Bytes(32 * 1000), true);
  uint8_t count = 0;
  while (push(queue, count % 2, 1000, count)) ++count;
  EXPECT_EQ(count, 30) << "of 33 units each";
  queue.drop_oldest();
  EXPECT_FALSE(push(queue, 9, 2000, 200));
  queue.drop_oldest();
  EXPECT_TRUE(push(queue, 9, 1000, 200));
  for (const int expected : {2, 4, 3, 5, 200, 6}) EXPECT_EQ(pop(queue), expected);
  queue.clear();
  EXPECT_TRUE(queue.is_empty());
  EXPECT_TRUE(push(queue, 0, 9216, 1));
}

TEST(FrameQueue, lets_who_has_most_waiting_make_room) {
  FrameQueue queue(Bytes(1 << 20), true);
  Admitted little, much;
  little.bucket = 1, much.bucket = 2;
  EXPECT_FALSE(queue.try_drop_fattest(little)) << "nothing waits";
  for (const uint8_t fill : {1, 2}) push(queue, 1, 500, fill);
  for (const uint8_t fill : {3, 4, 5}) push(queue, 2, 1000, fill);
  EXPECT_FALSE(queue.try_drop_fattest(much)) << "it may not push out its own";
  EXPECT_TRUE(queue.try_drop_fattest(little));
  EXPECT_EQ(queue.bytes(), 3000u);
  std::vector<int> left;
  while (!queue.is_empty()) left.push_back(pop(queue));
  EXPECT_EQ(left, (std::vector{1, 2, 4, 5})) << "at its head";
}

// Beside a row of whole frames per flow.
TEST(FrameQueue, loses_and_changes_nothing_whatever_happens) {
  for (const bool is_fair : {false, true}) {
    Prng prng(20261122);
    FrameQueue queue(Bytes(40'000), is_fair);
    std::map<uint16_t, std::deque<std::pair<size_t, uint8_t>>> model;
    std::deque<uint16_t> ages;  // of one row
    uint64_t frames = 0;
    for (int i = 0; i < 50'000; ++i) {
      const auto bucket = static_cast<uint16_t>(prng.below(5));
      const size_t bytes = prng.between(20, 4000);
      const auto fill = static_cast<uint8_t>(i);
      if (prng.chance(0.52)) {
        while (!push(queue, bucket, bytes, fill)) {
          WaitingFrame& next = queue.next();
          const auto& row = model[next.how.bucket];
          ASSERT_EQ(row.front().first, next.how.bytes);
          ASSERT_EQ(row.front().second, queue.packet_of(next).back());
          model[next.how.bucket].pop_front();
          queue.pop_next();
          --frames;
        }
        model[bucket].emplace_back(bytes, fill);
        ++frames;
      } else if (!queue.is_empty()) {
        WaitingFrame& next = queue.next();
        auto& row = model[next.how.bucket];
        ASSERT_EQ(row.front(), std::pair(size_t{next.how.bytes}, queue.packet_of(next).front()));
        ASSERT_EQ(queue.packet_of(next).front(), queue.packet_of(next).back());
        row.pop_front();
        queue.pop_next();
        --frames;
      }
      ASSERT_EQ(queue.frames(), frames);
    }
  }
}

}  // namespace
}  // namespace cw::gateway::test
