#include "tests/sim/gateway/many_peers.h"

#include <gtest/gtest.h>

namespace cw::sim {
namespace {
using namespace literals;

// All 64 ask each other every quarter of a second whether they are still there, which is what the
// tenth is for; the one that is busy has its turn every time.
TEST(ManyPeers, of_which_one_is_busy_cost_hardly_more_turns_than_that_one) {
  ManyPeers one(1), many(64);
  ASSERT_TRUE(one.come_up());
  ASSERT_TRUE(many.come_up());
  // Nobody has anything to say to the others: their questions become rare.
  one.run(1500_ms, 1_Mbps);
  many.run(1500_ms, 1_Mbps);
  const ManyPeers::Turns alone = one.run(300_ms, 400_Mbps), among = many.run(300_ms, 400_Mbps);
  EXPECT_GT(alone.count, 10'000u);
  EXPECT_LE(alone.links_per_turn(), 1.0);
  EXPECT_LE(among.links_per_turn(), 1.1);
  EXPECT_LE(double(among.count), 1.1 * double(alone.count));
  for (ManyPeers* world : {&one, &many}) {
    const uint64_t sent = world->centre_host().sent_count();
    EXPECT_GT(sent, 10'000u);
    EXPECT_EQ(world->busy_host().received_count(), sent);
  }
}

}  // namespace
}  // namespace cw::sim
