// The swarm's own promises: a seed is a run, and every fault it draws comes about. The runs
// themselves are sdr_swarm's.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/sim/sdr/swarm.h"

namespace cw::sim {
namespace {

TEST(SwarmSeed, same_seed_is_the_same_run_to_the_last_packet) {
  for (const uint64_t seed : {1, 2, 3}) {
    const SwarmRun first = run_swarm(seed);
    const SwarmRun second = run_swarm(seed);
    EXPECT_EQ(first.complaint, "") << describe(swarm_world(seed));
    EXPECT_EQ(first.trace_hash, second.trace_hash);
    EXPECT_EQ(first.packets, second.packets);
    EXPECT_NE(first.trace_hash, run_swarm(seed + 100).trace_hash);
  }
}

TEST(SwarmSeed, a_hundred_draw_every_policy_and_every_kind_of_fault) {
  std::set<const cw_policy_ops*> policies;
  std::set<bool> coded, restarted, paused, strangers, two_generations, streamed, swapped;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const WorldOptions world = swarm_world(seed);
    const auto strikes = [&](Blow::What what) {
      return std::ranges::any_of(world.blows, [&](const Blow& blow) { return blow.what == what; });
    };
    policies.insert(world.site.policy);
    coded.insert(world.site.stream.k > 0);
    restarted.insert(strikes(Blow::What::Restart));
    paused.insert(strikes(Blow::What::Pause));
    strangers.insert(world.stranger.interval != Duration::max());
    two_generations.insert(world.site.stream.generations == 2);
    streamed.insert(world.courier.pieces > 1);
    swapped.insert(strikes(Blow::What::Swap));
    EXPECT_TRUE(sdr::check(world.site.stream)) << "seed " << seed;
  }
  EXPECT_EQ(policies.size(), policy::for_streams().size());
  for (const auto& each :
       {coded, restarted, paused, strangers, two_generations, streamed, swapped}) {
    EXPECT_EQ(each.size(), 2u) << "once and again, and not always";
  }
}

// Without these a run would not be what it is described as.
TEST(SwarmSeed, faults_leave_their_marks_in_what_the_sites_count) {
  uint64_t restarts = 0, injected = 0, rebuilt = 0, late = 0, stale = 0;
  uint64_t swapped = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world(swarm_world(seed));
    world.run_faults();
    EXPECT_EQ(world.run_calm(), "") << "seed " << seed;
    restarts += world.restart_count();
    injected += world.injected_count();
    rebuilt += world.count(Counter::slots_rebuilt);
    swapped += world.count(Counter::policies_swapped);
    refused += world.count(Counter::swaps_refused);
    late += world.dropped(DropReason::generation_late);
    stale += world.dropped(DropReason::key_stale) + world.dropped(DropReason::epoch_stale);
  }
  EXPECT_GT(swapped, 30u);
  EXPECT_GT(refused, 10u);
  EXPECT_GT(restarts, 20u);
  EXPECT_GT(injected, 1000u);
  EXPECT_GT(rebuilt, 1000u);
  EXPECT_GT(late, 100u);
  EXPECT_GT(stale, 1000u);
}

}  // namespace
}  // namespace cw::sim
