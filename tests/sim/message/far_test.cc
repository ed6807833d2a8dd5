// Messages between members far from each other, who are told nothing of that: what a round trip
// takes they learn from the first words between them.
#include <gtest/gtest.h>

#include "tests/sim/message/exchange.h"

namespace cw::group {
namespace {

using namespace literals;

constexpr Duration cable = 5_ms;
constexpr Duration round_trip = cable * 8, round_trip_at_leaf = cable * 4;

/// Which loses nothing.
MessageWorldOptions far(uint16_t members, const char* policy = "csa_ud") {
  MessageWorldOptions options = calm(members, policy);
  options.shape.delay = cable;
  options.alter = [](uint16_t, MessageEndOptions& end) { end.rtt = 200_us; };
  return options;
}

uint64_t resends_of(const MessageWorld& world, size_t rank) {
  return world.counters(rank).read_any_thread(Counter::resends_sent);
}

TEST(FarMessages, are_not_asked_for_before_they_can_have_come) {
  const auto made = MessageWorld::make(far(4));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  for (uint16_t from = 0; from < 4; ++from) {
    for (uint16_t to = 0; to < 4; ++to) {
      if (from != to) exchange.both(from, to, {.bytes = 65'536});
    }
  }
  ASSERT_TRUE(exchange.run(24));
  exchange.expect_whole();
  for (uint16_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(resends_of(world, rank), 0u) << rank;
    for (uint16_t to = 0; to < 4; ++to) {
      if (to == rank) continue;
      const Duration known = world.messages(rank).endpoint().rtt(to);
      EXPECT_GE(known, round_trip_at_leaf);
      EXPECT_LT(known, round_trip + 2_ms);
    }
  }
}

TEST(FarMessages, leave_in_windows_of_a_round_trip_from_the_first_on) {
  MessageWorldOptions options = far(2);
  options.bytes_max = 4 << 20;
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  const Instant begun = world.now();
  exchange.both(0, 1, {.bytes = 4 << 20});
  ASSERT_TRUE(exchange.run(2));
  exchange.expect_whole();
  EXPECT_LT(world.now() - begun, round_trip * 3);  // a greeting, the slots, and that they are there
}

TEST(FarMessages, for_which_nobody_has_posted_memory_are_asked_for_when_somebody_has) {
  const auto made = MessageWorld::make(far(2));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  exchange.both(0, 1, {});
  ASSERT_TRUE(exchange.run(2));
  const size_t number = exchange.send(0, 1, {.bytes = 10'000});
  world.run(30_ms, [] { return false; });
  EXPECT_GT(world.drops(1).read_any_thread(DropReason::group_closed), 0u);
  const Instant posted = world.now();
  exchange.receive(1, 0, number, {.bytes = 10'000});
  ASSERT_TRUE(exchange.run(3));  // here; its source hears of that later
  EXPECT_LT(world.now() - posted, round_trip + 1_ms);
}

}  // namespace
}  // namespace cw::group
