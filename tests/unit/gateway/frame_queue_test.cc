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
  QueueMemory memory(Bytes(1 << 20), 1);
  FrameQueue queue(memory, false);
  for (uint8_t i = 0; i < 100; ++i) ASSERT_TRUE(push(queue, i % 7, 100 + i, i));
  EXPECT_EQ(queue.frames(), 100u);
  EXPECT_EQ(queue.bytes(), 100u * 100 + 99 * 50);
  for (uint8_t i = 0; i < 100; ++i) EXPECT_EQ(pop(queue), i);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.bytes(), 0u);
}

TEST(FrameQueue, gives_flows_equal_bytes_and_lets_who_sends_little_go_first) {
  QueueMemory memory(Bytes(4 << 20), 1);
  FrameQueue queue(memory, true);
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

TEST(FrameQueue, is_as_long_as_its_memory_and_the_oldest_make_room) {
  QueueMemory memory(Bytes(0), 1);  // two blocks
  FrameQueue queue(memory, true);
  uint8_t count = 0;
  while (push(queue, count % 2, 1000, count)) ++count;
  EXPECT_EQ(count, 2 * 31) << "of 33 units each, of 1,024 in a block";
  for (int i = 0; i < 30; ++i) queue.drop_oldest();
  EXPECT_FALSE(push(queue, 9, 1000, 200)) << "there is one more in the block";
  queue.drop_oldest();
  EXPECT_TRUE(push(queue, 9, 1000, 200));
  for (const int expected : {32, 34, 31, 33, 200}) EXPECT_EQ(pop(queue), expected);
  queue.clear();
  EXPECT_TRUE(queue.is_empty());
  EXPECT_TRUE(push(queue, 0, 9216, 1));
}

TEST(FrameQueue, leaves_others_their_part_and_gives_back_what_is_empty) {
  QueueMemory memory(Bytes(7 * 32 * 1024), 2);  // 15 blocks: five each, and five
  FrameQueue greedy(memory, false), other(memory, false);
  int count = 0;
  while (push(greedy, 0, 9000, 1)) ++count;
  EXPECT_EQ(count, 10 * 3);
  for (int i = 0; i < 5 * 3; ++i) ASSERT_TRUE(push(other, 0, 9000, 2));
  EXPECT_FALSE(push(other, 0, 9000, 2));
  greedy.clear();
  for (int i = 0; i < 5 * 3; ++i) ASSERT_TRUE(push(other, 0, 9000, 3));
  EXPECT_FALSE(push(other, 0, 9000, 3)) << "the part of the one that is empty";
  for (int i = 0; i < 5 * 3; ++i) ASSERT_TRUE(push(greedy, 0, 9000, 4));
  while (!other.is_empty()) EXPECT_GE(pop(other), 2);
  while (!greedy.is_empty()) EXPECT_EQ(pop(greedy), 4);
}

TEST(FrameQueue, lets_who_has_most_waiting_make_room) {
  QueueMemory memory(Bytes(1 << 20), 1);
  FrameQueue queue(memory, true);
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
    QueueMemory memory(Bytes(0), 1);
    FrameQueue queue(memory, is_fair);
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
