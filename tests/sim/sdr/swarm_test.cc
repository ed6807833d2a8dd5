// The swarm: seed after seed, until so many packets have crossed a bad wire. CW_SWARM_PACKETS is
// what one shard simulates: a million in optimised builds, few where every access is checked.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sim/sdr/swarm.h"

namespace cw::sim {
namespace {

constexpr uint64_t shards = 10;
constexpr uint64_t shard_packets = CW_SWARM_PACKETS;

class Swarm : public testing::TestWithParam<uint64_t> {};

TEST_P(Swarm, survives_whatever_the_seeds_of_this_shard_bring) {
  uint64_t packets = 0;
  for (uint64_t seed = GetParam() + 1; packets < shard_packets; seed += shards) {
    const SwarmRun run = run_swarm(seed);
    ASSERT_EQ(run.complaint, "") << "seed " << seed << ": " << describe(swarm_story(seed));
    packets += run.faulty_packets;
  }
  std::printf("%llu packets under faults\n", static_cast<unsigned long long>(packets));
}

INSTANTIATE_TEST_SUITE_P(Shards, Swarm, testing::Range(uint64_t{0}, shards));

TEST(SwarmSeed, same_seed_is_the_same_run_to_the_last_packet) {
  for (const uint64_t seed : {1, 2, 3}) {
    const SwarmRun first = run_swarm(seed);
    const SwarmRun second = run_swarm(seed);
    EXPECT_EQ(first.trace_hash, second.trace_hash);
    EXPECT_EQ(first.packets, second.packets);
    EXPECT_NE(first.trace_hash, run_swarm(seed + 100).trace_hash);
  }
}

}  // namespace
}  // namespace cw::sim
