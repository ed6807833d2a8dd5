#include "offload/executor.h"

#include <chrono>
#include <thread>

#include "tests/unit/offload/arena.h"

namespace cw {
namespace {

constexpr size_t poll_max = 64;

template <class Executor>
std::vector<cw_bits_event> wait_for_events(Executor& executor, size_t partition, size_t count) {
  std::vector<cw_bits_event> events(count);
  for (size_t have = 0; have < count;) {
    have += executor.poll(partition, std::span(events).subspan(have));
    std::this_thread::yield();
  }
  return events;
}

std::vector<cw_bits_record> whole_message(uint32_t id) {
  std::vector records = {arm(id, 0, {.data_slots = 150, .chunk_slots = 1})};
  for (uint32_t slot = 0; slot < 150; ++slot) records.push_back(packet(id, slot));
  return records;
}

TEST(InlineExecutor, takes_no_more_than_it_has_room_to_tell_of) {
  const Arena arena(small_limits);
  const BitmapPartition partition{arena.get(), 0};
  InlineExecutor executor({&partition, 1}, BitmapSharing::ByLane, 100);
  const auto records = whole_message(0);
  EXPECT_EQ(executor.submit(0, records), 101u);  // the arm tells nothing
  EXPECT_EQ(executor.submit(0, std::span(records).subspan(101)), 0u);
  cw_bits_event events[poll_max];
  EXPECT_EQ(executor.poll(0, events), poll_max);
  EXPECT_EQ(events[63].index, 63u);
  EXPECT_EQ(executor.submit(0, std::span(records).subspan(101)), 50u);
}

TEST(PinnedExecutor, keeps_order_when_nobody_polls_for_a_while) {
  const Arena arena(small_limits);
  const BitmapPartition partition{arena.get(), 0};
  auto executor = PinnedExecutor::make({&partition, 1}, {.records_max = 256, .events_max = 16});
  ASSERT_TRUE(executor.has_value());
  const auto records = whole_message(0);
  ASSERT_EQ((*executor)->submit(0, records), records.size());
  // Long enough for the thread to fill the events and fall asleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(arena.data(0).size(), 16u);
  const auto events = wait_for_events(**executor, 0, 150);
  for (uint32_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].index, i);
}

TEST(PinnedExecutor, wakes_from_sleep_for_every_burst) {
  const Arena arena(small_limits);
  const BitmapPartition partition{arena.get(), 0};
  auto executor = PinnedExecutor::make({&partition, 1}, {});
  ASSERT_TRUE(executor.has_value());
  for (const auto& record : whole_message(3)) {
    ASSERT_EQ((*executor)->submit(0, {&record, 1}), 1u);
    if (record.kind == CW_BITS_ARM) continue;
    wait_for_events(**executor, 0, 1);
    if (record.immediate % 32 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(arena.data(3).size(), 150u);
}

TEST(PinnedExecutor, runs_what_was_submitted_before_it_ends) {
  for (const BitmapIdle idle : {BitmapIdle::Poll, BitmapIdle::Adaptive}) {
    const Arena arena(small_limits);
    const BitmapPartition partition{arena.get(), 0};
    {
      auto executor = PinnedExecutor::make({&partition, 1}, {.idle = idle});
      ASSERT_TRUE(executor.has_value());
      ASSERT_EQ((*executor)->submit(0, whole_message(0)), 151u);
    }
    EXPECT_EQ(arena.data(0).size(), 150u);
  }
}

TEST(PinnedExecutor, reports_a_core_that_does_not_exist_and_runs_all_the_same) {
  const Arena arena(small_limits);
  const BitmapPartition partitions[] = {{arena.get(), 0}, {arena.get(), 1}};
  auto executor = PinnedExecutor::make(partitions, {.cores = {-1, 1 << 20}});
  ASSERT_TRUE(executor.has_value());
  EXPECT_FALSE((*executor)->is_pinned(0));
  EXPECT_FALSE((*executor)->is_pinned(1));
  ASSERT_EQ((*executor)->submit(1, whole_message(0)), 151u);
  EXPECT_EQ(wait_for_events(**executor, 1, 150).back().index, 149u);
}

}  // namespace
}  // namespace cw
