// Groups of several sites, on a fabric with a long line between two switches.
#include <gtest/gtest.h>

#include <set>

#include "dataplane/collective/chains.h"
#include "tests/sim/group/round.h"

namespace cw::group {
namespace {

using namespace literals;

const std::vector<uint16_t> interleaved = {0, 1, 0, 1, 1, 0, 1, 0};

TEST(GroupChains, hold_each_rank_once_and_cross_no_site) {
  const std::vector<std::vector<uint16_t>> all_sites = {{0, 0, 0, 0, 0, 0, 0},
                                                        interleaved,
                                                        {3, 1, 1, 1, 2, 1, 1, 1, 1},
                                                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
  for (const auto& sites : all_sites) {
    const Chains chains(sites);
    for (uint32_t wanted = 1; wanted <= Chains::wanted_max; ++wanted) {
      std::set<std::pair<uint32_t, uint32_t>> places;
      for (uint16_t rank = 0; rank < sites.size(); ++rank) {
        EXPECT_LT(chains.chain_of(rank, wanted), chains.count(wanted));
        EXPECT_LT(chains.place_of(rank, wanted), chains.longest(wanted));
        EXPECT_TRUE(
            places.emplace(chains.chain_of(rank, wanted), chains.place_of(rank, wanted)).second);
        const auto next = chains.successor_of(rank, wanted);
        if (!next) continue;
        EXPECT_GT(*next, rank);
        EXPECT_EQ(sites[*next], sites[rank]);
        EXPECT_EQ(chains.predecessor_of(*next), rank);
        EXPECT_EQ(chains.chain_of(*next, wanted), chains.chain_of(rank, wanted));
        EXPECT_EQ(chains.place_of(*next, wanted), chains.place_of(rank, wanted) + 1);
      }
      EXPECT_LE(chains.count(wanted), chains.count_max());
    }
  }
}

/// Two of four, 5 ms apart.
WorldOptions two_sites() {
  WorldOptions options;
  options.sites = interleaved;
  options.far_delay = 5_ms;
  return options;
}

uint64_t bytes_between(const FabricWorld& world) {
  return world.network().counters_of(world.long_line_from(0)).bytes +
         world.network().counters_of(world.long_line_from(1)).bytes;
}

TEST(GroupOfSites, sends_each_part_once_over_the_long_line) {
  FabricWorld world(two_sites());
  ASSERT_TRUE(world.join());
  const uint64_t before = bytes_between(world);
  Round round(world, {.operation = Operation::Allgather, .bytes = 100'000});
  round.post_all();
  ASSERT_TRUE(round.run());
  EXPECT_EQ(round.fetched(), 0u);
  round.expect_right();
  // (S - 1) n B out of each of S sites, and headers.
  EXPECT_LT(bytes_between(world) - before, 8 * 100'000 * 1.06);
  EXPECT_LT(round.time(), 35_ms);
}

TEST(GroupOfSites, fetches_over_the_long_line_once_for_all) {
  FabricWorld world(two_sites());
  ASSERT_TRUE(world.join());
  for (uint16_t site = 0; site < 2; ++site) {
    world.network().set_impairment(world.long_line_from(site), {.loss = 0.05});
  }
  const uint64_t before = bytes_between(world);
  Round round(world, {.operation = Operation::Allgather, .bytes = 400'000 / 8});
  round.post_all();
  ASSERT_TRUE(round.run());
  round.expect_right();
  // What is lost crosses once more, not once for each of four.
  EXPECT_LT(bytes_between(world) - before, 400'000 * 1.3);
  EXPECT_LT(round.time(), 200_ms);
}

TEST(GroupOfSites, come_to_all_of_a_broadcast_whatever_is_lost) {
  FabricWorld world(two_sites());
  ASSERT_TRUE(world.join());
  world.network().set_all_impairments({.loss = 0.02});
  for (const uint16_t root : {0, 1, 6}) {
    Round round(world, {.operation = Operation::Broadcast, .root = root, .bytes = 1'000'000});
    round.post_all();
    ASSERT_TRUE(round.run());
    round.expect_right();
    EXPECT_LT(round.time(), 400_ms);
  }
}

TEST(GroupOfSites, waits_for_what_gateways_recover) {
  WorldOptions options = two_sites();
  options.recovery_worst = 20_ms;
  FabricWorld world(options);
  ASSERT_TRUE(world.join());
  // Late by less than a recovery takes.
  for (uint16_t site = 0; site < 2; ++site) {
    world.network().set_impairment(world.long_line_from(site),
                                   {.reorder = 0.05, .reorder_delay = 10_ms});
  }
  Round round(world, {.operation = Operation::Allgather, .bytes = 100'000});
  round.post_all();
  ASSERT_TRUE(round.run());
  EXPECT_EQ(round.fetched(), 0u);
  round.expect_right();
}

}  // namespace
}  // namespace cw::group
