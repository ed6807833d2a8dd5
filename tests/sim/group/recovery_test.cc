// What is lost is found soon, asked for once, and said to all where many lack it.
#include <gtest/gtest.h>

#include "dataplane/collective/recovery/demand.h"
#include "dataplane/collective/recovery/pace.h"
#include "dataplane/collective/recovery/watch.h"
#include "tests/sim/group/round.h"

namespace cw::group {
namespace {

using namespace literals;

Instant at(int64_t us) { return Instant() + Duration::from_us(us); }

TEST(GroupWatch, settles_holes_that_others_have_been_ahead_of_for_long) {
  Watch watch;
  watch.begin(3);
  watch.note(0, at(0));
  EXPECT_EQ(watch.due(10_us), Instant::never());
  watch.note(4, at(1));
  watch.note(5, at(2));
  watch.note(9, at(3));
  EXPECT_EQ(watch.due(10_us), at(11));
  EXPECT_EQ(watch.settle(10_us, at(10)), 0u);
  EXPECT_EQ(watch.settle(10_us, at(11)), 4u);
  EXPECT_EQ(watch.settle(10_us, at(13)), 9u);
  EXPECT_EQ(watch.next(), 10u);
}

TEST(GroupWatch, takes_no_late_slot_for_news) {
  Watch watch;
  watch.begin(3);
  watch.note(7, at(1));
  watch.note(2, at(5));
  EXPECT_EQ(watch.next(), 8u);
  EXPECT_EQ(watch.heard(), at(1));
}

TEST(GroupWatch, settles_all_of_more_holes_than_it_has_room_for) {
  Watch watch;
  watch.begin(0);
  for (uint32_t i = 1; i <= 40; ++i) watch.note(2 * i, at(i));
  EXPECT_EQ(watch.settle(10_us, at(11)), 2u);
  EXPECT_EQ(watch.settle(10_us, at(50)), 80u);
}

TEST(GroupDemand, tells_what_many_ask_for) {
  using enum Demand::Answer;
  const Demand::Terms terms{.many = 2, .time = 20_us, .queue = 0_us};
  Demand demand;
  EXPECT_EQ(demand.note(5, 1, terms, at(0)), Alone);
  EXPECT_EQ(demand.note(5, 1, terms, at(1)), Alone);
  EXPECT_EQ(demand.note(5, 2, terms, at(2)), Again);
  EXPECT_EQ(demand.note(5, 3, terms, at(3)), OnItsWay);
  EXPECT_EQ(demand.note(5, 3, terms, at(30)), Alone);
  EXPECT_EQ(demand.note(5, 1, terms, at(60)), Alone);
}

TEST(GroupDemand, queues_nothing_twice_for_the_same_member) {
  using enum Demand::Answer;
  const Demand::Terms terms{.many = 3, .time = 20_us, .queue = 100_us};
  Demand demand;
  EXPECT_EQ(demand.note(5, 1, terms, at(0)), Alone);
  EXPECT_EQ(demand.note(5, 1, terms, at(99)), OnItsWay);
  EXPECT_EQ(demand.note(5, 1, terms, at(100)), Alone);
}

TEST(GroupPace, gives_way_to_one_that_is_slow_and_comes_back) {
  Pace pace;
  const Pace::Fetched slow{.most = 60, .mean = 8, .slots = 100};
  pace.note(slow);
  EXPECT_EQ(pace.value(), 800);
  for (int i = 0; i < 20; ++i) pace.note(slow);
  EXPECT_EQ(pace.value(), Pace::least);
  const Pace::Fetched clean{.most = 10, .mean = 8, .slots = 100};
  for (int i = 0; i < 7; ++i) pace.note(clean);
  EXPECT_EQ(pace.value(), Pace::least);
  pace.note(clean);
  EXPECT_EQ(pace.value(), 132);
  for (int i = 0; i < 8 * 50; ++i) pace.note(clean);
  EXPECT_EQ(pace.value(), Pace::whole);
}

TEST(GroupPace, is_whole_where_all_lose_alike_or_next_to_nothing) {
  Pace pace;
  pace.note({.most = 90, .mean = 70, .slots = 100});
  pace.note({.most = 90, .mean = 10, .slots = 15});
  pace.note({.most = 50, .mean = 10, .slots = 100});
  EXPECT_EQ(pace.value(), Pace::whole);
}

TEST(GroupRecovery, gives_way_to_a_member_that_cannot_follow) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  const auto gather = [&] {
    Round round(world, {.operation = Operation::Allgather, .bytes = 120'000});
    round.post_all();
    ASSERT_TRUE(round.run());
    round.expect_right();
  };
  const uint32_t link = Topology::back(world.network().routes().link_from(5));
  world.network().set_impairment(link, {.loss = 0.2});
  for (int i = 0; i < 3; ++i) gather();
  // What is told with the end of an operation holds from the next one on.
  for (size_t rank = 0; rank < world.members(); ++rank) EXPECT_EQ(world.group(rank).pace(), 512);
  world.network().set_impairment(link, {});
  for (int i = 0; i < 8; ++i) gather();
  for (size_t rank = 0; rank < world.members(); ++rank) EXPECT_EQ(world.group(rank).pace(), 538);
}

Duration time_of_broadcast(FabricWorld& world) {
  Round round(world, {.operation = Operation::Broadcast, .bytes = 8 << 20});
  round.post_all();
  EXPECT_TRUE(round.run());
  const Duration time = round.time();
  round.expect_right();
  return time;
}

TEST(GroupRecovery, costs_a_tenth_where_a_hundredth_is_lost_on_each_cable) {
  FabricWorld world({.delay = 500_ns, .bytes_max = 8 << 20});
  ASSERT_TRUE(world.join());
  const Duration lossless = time_of_broadcast(world);
  world.network().set_all_impairments({.loss = 0.01});
  Duration lossy;
  for (int i = 0; i < 4; ++i) lossy += time_of_broadcast(world);
  // A part half as long, whose last losses count twice as much.
  EXPECT_LT(lossy / 4, lossless.scaled(1.16));
}

TEST(GroupRecovery, ends_soon_whatever_is_lost) {
  FabricWorld world({.delay = 500_ns, .bytes_max = 8 << 20});
  ASSERT_TRUE(world.join());
  const Duration lossless = time_of_broadcast(world);
  world.network().set_all_impairments({.loss = 0.05});
  EXPECT_LT(time_of_broadcast(world), lossless * 6);
}

}  // namespace
}  // namespace cw::group
