#include "dataplane/port/hand_over.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace cw::test {
namespace {

/// Of a shard, numbered by their places.
using Row = std::vector<Packet>;

std::vector<Packet*> pointers(Row& row) {
  std::vector<Packet*> all;
  for (Packet& packet : row) all.push_back(&packet);
  return all;
}

TEST(HandOver, keeps_the_order_of_each_and_says_nothing_where_there_is_nothing) {
  HandOver hand_over(3);
  Row row(10);
  const auto all = pointers(row);
  std::array<Packet*, 32> out{};
  EXPECT_EQ(hand_over.pop(2, out), 0u);
  EXPECT_EQ(hand_over.push(0, 2, all), all.size());
  EXPECT_EQ(hand_over.pop(1, out), 0u);
  EXPECT_EQ(hand_over.pop(0, out), 0u);
  ASSERT_EQ(hand_over.pop(2, out), all.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(out[i], all[i]);
  EXPECT_EQ(hand_over.pop(2, out), 0u);
}

TEST(HandOver, takes_turns_between_shards_whose_packets_do_not_all_fit) {
  HandOver hand_over(3);
  std::array<Row, 2> rows{Row(64), Row(64)};
  for (uint16_t from = 0; from < 2; ++from) {
    ASSERT_EQ(hand_over.push(from, 2, pointers(rows[from])), 64u);
  }
  std::array<size_t, 2> got{};
  std::array<Packet*, 16> out{};
  for (int turn = 0; turn < 4; ++turn) {
    const size_t count = hand_over.pop(2, out);
    ASSERT_EQ(count, out.size());
    for (Packet* packet : out) {
      const bool is_first = packet >= rows[0].data() && packet < rows[0].data() + 64;
      const Row& row = rows[is_first ? 0 : 1];
      EXPECT_EQ(packet, &row[got[is_first ? 0 : 1]++]);
    }
  }
  EXPECT_EQ(got[0], 32u);
  EXPECT_EQ(got[1], 32u);
  size_t rest = 0;
  for (int turn = 0; turn < 8; ++turn) rest += hand_over.pop(2, out);
  EXPECT_EQ(rest, 64u);
}

// Who stands still is not waited for, and holds up no other.
TEST(HandOver, refuses_what_a_shard_that_stands_still_has_no_room_for) {
  HandOver hand_over(3);
  Row row(HandOver::packets_max + 10);
  const auto all = pointers(row);
  EXPECT_EQ(hand_over.push(0, 1, all), HandOver::packets_max);
  EXPECT_EQ(hand_over.push(0, 1, {&all.back(), 1}), 0u);
  EXPECT_EQ(hand_over.push(0, 2, {&all.back(), 1}), 1u);
  EXPECT_EQ(hand_over.push(2, 1, {&all.back(), 1}), 1u);
  std::array<Packet*, 1> out{};
  EXPECT_EQ(hand_over.pop(2, out), 1u);
  EXPECT_EQ(out[0], all.back());
}

TEST(HandOver, loses_nothing_between_threads) {
  constexpr uint16_t shards = 4;
  constexpr size_t each = 50'000;
  HandOver hand_over(shards);
  std::array<Row, shards> rows;
  for (Row& row : rows) row.resize(each);
  std::array<std::array<size_t, shards>, shards> got{};  // by receiver, then sender
  // Each sends its packets to the others in turn, and receives.
  const auto run = [&](uint16_t own) {
    const auto all = pointers(rows[own]);
    size_t sent = 0, received = 0;
    constexpr size_t expected = each - each % (shards - 1);
    std::array<Packet*, 64> out{};
    while (sent < expected || received < expected) {
      const auto to = static_cast<uint16_t>((own + 1 + sent % (shards - 1)) % shards);
      if (sent < expected) sent += hand_over.push(own, to, {&all[sent], 1});
      const size_t count = hand_over.pop(own, out);
      received += count;
      for (size_t i = 0; i < count; ++i) {
        for (uint16_t from = 0; from < shards; ++from) {
          const auto at = static_cast<size_t>(out[i] - rows[from].data());
          if (out[i] < rows[from].data() || at >= each) continue;
          // In the order in which they were sent there.
          if (at / (shards - 1) == got[own][from]) ++got[own][from];
        }
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint16_t shard = 0; shard < shards; ++shard) threads.emplace_back(run, shard);
  }
  for (uint16_t to = 0; to < shards; ++to) {
    for (uint16_t from = 0; from < shards; ++from) {
      EXPECT_EQ(got[to][from], to == from ? 0 : each / (shards - 1)) << from << " to " << to;
    }
  }
}

}  // namespace
}  // namespace cw::test
