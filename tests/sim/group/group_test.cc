// Groups on a fabric: what all come to have is right, byte for byte, and every operation ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "dataplane/collective/digest.h"
#include "dataplane/collective/sum/elements.h"
#include "tests/sim/fabric/faults.h"
#include "tests/sim/group/round.h"

namespace cw::group {
namespace {

using namespace literals;

TEST(GroupOnFabric, members_join) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  EXPECT_LT(world.now() - Instant(), 300_ms);
}

TEST(GroupOnFabric, says_who_is_of_another_group) {
  const auto differ = [](uint16_t rank, GroupEndOptions& options) {
    if (rank == 5) options.chains = 3;
  };
  FabricWorld world({.alter = differ});
  EXPECT_FALSE(world.join(1_s));
  EXPECT_EQ(world.group(0).membership().obstacle(),
            "rank 5 and rank 0 are not of one group: members, sites, sizes or chains differ");
  EXPECT_EQ(world.group(5).membership().obstacle(),
            "rank 0 and rank 5 are not of one group: members, sites, sizes or chains differ");
}

TEST(GroupDigest, is_of_what_all_have_alike) {
  GroupOptions options;
  options.datagrams.membership.peers = {0, 1, 2};
  const uint32_t digest = digest_of(options);
  options.datagrams.membership.sites = {0, 0, 0};
  options.datagrams.membership.rank = 2;
  EXPECT_EQ(digest_of(options), digest);
  options.datagrams.membership.sites = {0, 0, 1};
  EXPECT_NE(digest_of(options), digest);
  options.datagrams.membership.sites = {};
  options.bytes_max = 1;
  EXPECT_NE(digest_of(options), digest);
  options.bytes_max = 0;
  options.address = "239.1.2.3";
  EXPECT_NE(digest_of(options), digest);
}

TEST(GroupOnFabric, broadcasts_from_any_rank) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  for (uint16_t root = 0; root < 8; ++root) {
    Round round(world, {.operation = Operation::Broadcast, .root = root, .bytes = 1'000'001});
    round.post_all();
    ASSERT_TRUE(round.run());
    round.expect_right();
    EXPECT_EQ(round.fetched(), 0u);
  }
}

TEST(GroupOnFabric, gathers) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  for (const uint64_t bytes : {1, 4095, 4096, 4097, 100'000}) {
    Round round(world, {.operation = Operation::Allgather, .bytes = bytes});
    round.post_all();
    ASSERT_TRUE(round.run());
    round.expect_right();
  }
}

TEST(GroupOnFabric, waits_for_all_where_nothing_is_sent) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  Round round(world, {.operation = Operation::Allgather, .bytes = 0});
  for (size_t rank = 0; rank + 1 < world.members(); ++rank) round.post(rank);
  EXPECT_FALSE(round.run(100_ms));
  round.post(world.members() - 1);
  ASSERT_TRUE(round.run(100_ms));
  round.expect_right();
}

TEST(GroupOnFabric, fetches_what_is_lost) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  world.network().set_all_impairments({.loss = 0.01});
  uint64_t fetched = 0;
  for (const Operation operation : {Operation::Broadcast, Operation::Allgather}) {
    Round round(world, {.operation = operation, .bytes = 120'000});
    round.post_all();
    ASSERT_TRUE(round.run());
    fetched += round.fetched();
    round.expect_right();
  }
  EXPECT_GT(fetched, 0u);
}

/// Ranks of up to three sites, in whatever order, some way apart.
void draw_sites(WorldOptions& options, Prng& prng) {
  if (prng.chance(0.6)) return;
  const uint64_t sites = std::min<uint64_t>(prng.between(2, 3), options.hosts);
  for (uint16_t rank = 0; rank < options.hosts; ++rank) {
    options.sites.push_back(static_cast<uint16_t>(rank < sites ? rank : prng.below(sites)));
  }
  options.far_delay = Duration::from_us(static_cast<int64_t>(prng.between(10, 3000)));
  if (prng.chance(0.5)) options.recovery_worst = options.far_delay;
}

/// One that loses much more than others of what comes to it.
void draw_slow(FabricWorld& world, Prng& prng) {
  if (prng.chance(0.7)) return;
  const auto host = static_cast<uint16_t>(prng.below(world.members()));
  const uint32_t link = Topology::back(world.network().routes().link_from(host));
  world.network().set_impairment(link, {.loss = 0.1 + prng.uniform() * 0.3});
}

void run_faulty(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Prng prng(seed);
  const auto hosts = static_cast<uint16_t>(prng.between(2, 24));
  WorldOptions options{.seed = prng.next(), .hosts = hosts};
  options.payload_bytes = static_cast<uint32_t>(prng.between(56, 1024) * 4);
  options.chains = static_cast<uint32_t>(prng.below(4));
  options.bytes_max = uint64_t{hosts} * 60'000;
  options.sum_bytes_max = 60'000;
  if (prng.chance(0.3)) options.algorithm = static_cast<Algorithm>(prng.between(1, 3));
  draw_sites(options, prng);
  FabricWorld world(options);
  world.network().set_all_impairments(some_faults(prng));
  ASSERT_TRUE(world.join(60_s));
  for (int i = 0; i < 3; ++i) {
    world.network().set_all_impairments(some_faults(prng));
    draw_slow(world, prng);
    Posting posting{.operation = static_cast<Operation>(prng.between(1, 4)),
                    .bytes = prng.below(60'000)};
    if (posting.operation == Operation::Broadcast)
      posting.root = static_cast<uint16_t>(prng.below(hosts));
    if (posting.is_added_up()) {
      posting.element = prng.chance(0.5) ? ElementType::F32 : ElementType::Bf16;
      posting.bytes -= posting.bytes % group::bytes_of(posting.element);
    }
    Round round(world, posting);
    round.post_all();
    ASSERT_TRUE(round.run(60_s));
    round.expect_right();
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GroupOnFabric, has_no_byte_wrong_whatever_the_network_does) {
  for (uint64_t seed = 1; seed <= worlds(30) && !HasFailure(); ++seed) run_faulty(seed);
}

const WorldOptions adding_up{.sum_bytes_max = 120'000};

// [C-75]
TEST(GroupOnFabric, adds_up_in_one_order) {
  FabricWorld world(adding_up);
  ASSERT_TRUE(world.join());
  for (const Operation operation : {Operation::ReduceScatter, Operation::Pair}) {
    for (const ElementType element : {ElementType::F32, ElementType::Bf16}) {
      for (const uint64_t bytes : {4, 4096, 4100, 120'000}) {
        Round round(world, {.operation = operation, .element = element, .bytes = bytes});
        round.post_all();
        ASSERT_TRUE(round.run());
        round.expect_right();
        EXPECT_EQ(round.fetched(), 0u);
      }
    }
  }
}

TEST(GroupOnFabric, adds_up_what_is_lost_and_fetched) {
  FabricWorld world(adding_up);
  ASSERT_TRUE(world.join());
  world.network().set_all_impairments({.loss = 0.02});
  Round round(world, {.operation = Operation::Pair, .element = ElementType::F32, .bytes = 120'000});
  round.post_all();
  ASSERT_TRUE(round.run());
  EXPECT_GT(round.fetched(), 0u);
  round.expect_right();
}

TEST(GroupOnFabric, says_who_has_died_while_it_adds_up) {
  FabricWorld world(adding_up);
  ASSERT_TRUE(world.join());
  Round round(
      world,
      {.operation = Operation::ReduceScatter, .element = ElementType::F32, .bytes = 120'000});
  round.post_all();
  EXPECT_FALSE(round.run(30_us));
  world.stop(5);
  EXPECT_FALSE(round.run(5_s));
  for (size_t rank = 0; rank < world.members(); ++rank) {
    if (rank == 5) continue;
    EXPECT_EQ(world.group(rank).failure(), "rank 5 silent for 3.0 s in reduce-scatter 0");
  }
}

TEST(GroupOnFabric, refuses_what_cannot_be_added_up) {
  FabricWorld world(adding_up);
  ASSERT_TRUE(world.join());
  const auto refusal_of = [&](Operation operation, ElementType element, uint64_t bytes) {
    const auto posted = world.group(0).post(
        {.operation = operation, .element = element, .bytes = bytes}, world.now());
    return posted ? std::string() : posted.error().why;
  };
  EXPECT_EQ(refusal_of(Operation::ReduceScatter, ElementType::Bytes, 8),
            "what is added up must be f32 or bf16");
  EXPECT_EQ(refusal_of(Operation::Allgather, ElementType::F32, 8),
            "nothing of this operation is added up");
  EXPECT_EQ(refusal_of(Operation::Pair, ElementType::F32, 10), "10 bytes are no whole elements");
  EXPECT_EQ(refusal_of(Operation::Pair, ElementType::F32, 120'004),
            "120004 bytes are more than sum_bytes_max allows");
  EXPECT_EQ(refusal_of(Operation::AllToAll, ElementType::Bytes, 8),
            "all-to-all is no operation of this group");
}

/// Without multicast, over what else there is.
TEST(GroupOnFabric, passes_on_what_comes_where_nothing_is_multicast) {
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Unicast}) {
    for (const uint16_t hosts : {2, 3, 8, 13}) {
      FabricWorld world({.hosts = hosts, .algorithm = algorithm});
      ASSERT_TRUE(world.join());
      for (const uint64_t bytes : {1, 50'000, 70'000}) {
        for (uint16_t root = 0; root < hosts; root += 4) {
          Round round(world, {.operation = Operation::Broadcast, .root = root, .bytes = bytes});
          round.post_all();
          ASSERT_TRUE(round.run());
          round.expect_right();
          EXPECT_EQ(round.fetched(), 0u);
        }
        Round round(world, {.operation = Operation::Allgather, .bytes = bytes});
        round.post_all();
        ASSERT_TRUE(round.run());
        round.expect_right();
        EXPECT_EQ(round.fetched(), 0u);
      }
      EXPECT_EQ(world.counters(0).read_any_thread(Counter::resends_sent), 0u);
    }
  }
}

/// Who has all of it, and asks whether all have, learns that it failed.
TEST(GroupOnFabric, says_that_it_has_failed_to_who_did_not_hear_it) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  Round round(world, {.operation = Operation::Broadcast, .bytes = 100'000});
  round.post_all();
  EXPECT_FALSE(round.run(10_us));
  world.stop(5);
  EXPECT_FALSE(round.run(2_s));
  ASSERT_TRUE(world.group(3).view(round.step()).is_readable);
  const uint32_t to_three = Topology::back(world.network().routes().link_from(3));
  world.network().set_impairment(to_three, {.loss = 1});
  const auto has_failed = [&] { return !world.group(0).failure().empty(); };
  ASSERT_TRUE(world.run(2_s, has_failed));
  EXPECT_FALSE(round.run(100_ms));
  ASSERT_TRUE(world.group(0).try_release(round.step()));
  world.network().set_impairment(to_three, {});
  const auto knows = [&] { return world.group(3).stage(round.step()) != Stage::Open; };
  ASSERT_TRUE(world.run(1_s, knows));
  EXPECT_EQ(world.group(3).stage(round.step()), Stage::Failed);
  EXPECT_TRUE(world.group(3).failure().starts_with("rank 5 silent for 3."));
}

TEST(GroupOnFabric, says_who_has_died) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  Round round(world, {.operation = Operation::Allgather, .bytes = 100'000});
  round.post_all();
  EXPECT_FALSE(round.run(30_us));
  world.stop(5);
  EXPECT_FALSE(round.run(5_s));
  for (size_t rank = 0; rank < world.members(); ++rank) {
    if (rank == 5) continue;
    EXPECT_EQ(world.group(rank).view(round.step()).stage, Stage::Failed);
    EXPECT_EQ(world.group(rank).failure(), "rank 5 silent for 3.0 s in allgather 0");
  }
}

TEST(GroupOnFabric, ends_by_its_deadline_where_somebody_does_not_post) {
  FabricWorld world({.deadline = 2_s});
  ASSERT_TRUE(world.join());
  Round round(world, {.operation = Operation::Broadcast, .bytes = 1000});
  for (size_t rank = 1; rank < world.members(); ++rank) round.post(rank);
  EXPECT_FALSE(round.run(3_s));
  for (size_t rank = 1; rank < world.members(); ++rank) {
    EXPECT_EQ(world.group(rank).failure(), "step 0 was not posted everywhere by its deadline");
  }
}

TEST(GroupOnFabric, is_over_when_a_member_is_another_process) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  world.restart(3);
  EXPECT_TRUE(world.run(1_s, [&] { return !world.group(7).failure().empty(); }));
  EXPECT_EQ(world.group(7).failure(), "rank 3 has begun anew");
}

TEST(GroupOnFabric, does_several_operations_at_a_time) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  std::vector<Round> rounds;
  for (uint16_t i = 0; i < Group::operations_max; ++i) {
    rounds.emplace_back(
        world, Posting{.operation = i % 2 == 0 ? Operation::Broadcast : Operation::Allgather,
                       .root = static_cast<uint16_t>(i % 2 == 0 ? i : 0),
                       .bytes = 50'000});
  }
  for (Round& each : rounds) each.post_all();
  const auto more = world.group(0).post({.bytes = 1}, world.now());
  ASSERT_FALSE(more);
  EXPECT_TRUE(more.error().is_for_now);
  for (Round& each : rounds) ASSERT_TRUE(each.run());
  for (Round& each : rounds) each.expect_right();
}

TEST(GroupOnFabric, says_who_has_posted_something_else) {
  FabricWorld world({});
  ASSERT_TRUE(world.join());
  Round alike(world, {.operation = Operation::Broadcast, .root = 1, .bytes = 1000});
  Round other(world, {.operation = Operation::Broadcast, .root = 1, .bytes = 1001});
  for (size_t rank = 0; rank < world.members(); ++rank)
    rank == 3 ? other.post(rank) : alike.post(rank);
  ASSERT_TRUE(alike.run());
  EXPECT_EQ(world.group(7).failure(),
            "step 0 is broadcast of 1000 bytes from 1 at rank 0 and broadcast of 1001 bytes from 1 "
            "at rank 3 or below it");
}

}  // namespace
}  // namespace cw::group
