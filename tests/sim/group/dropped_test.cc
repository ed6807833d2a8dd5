// Each record and each kind of packet lost once, and always: operations end right, or by their
// deadline with a sentence.
#include <gtest/gtest.h>

#include "tests/sim/fabric/faults.h"
#include "tests/sim/group/round.h"

namespace cw::group {
namespace {

using namespace literals;

struct Outcome {
  uint64_t lost = 0;
  bool has_joined = false, has_ended = false;
  std::vector<Stage> stages;
};

/// An Allgather of which a little is lost anyway, so that something is asked for, and of packets of
/// one sort the first, or all.
Outcome lose(const IsIt& is_it, uint64_t most, Algorithm algorithm = Algorithm::Multicast) {
  Outcome outcome;
  FabricWorld world({.seed = 3, .algorithm = algorithm, .deadline = 1_s});
  world.network().set_all_impairments({.loss = 0.02});
  world.network().set_lost([&](uint16_t, const Packet& packet) {
    if (outcome.lost == most || !is_it(packet)) return false;
    ++outcome.lost;
    return true;
  });
  outcome.has_joined = world.join(3_s);
  if (!outcome.has_joined) return outcome;
  Round round(world, {.operation = Operation::Allgather, .bytes = 60'000});
  round.post_all();
  outcome.has_ended = round.run(30_s);
  bool are_all_right = true;
  for (size_t rank = 0; rank < world.members(); ++rank) {
    const OperationView view = world.group(rank).view(round.step());
    outcome.stages.push_back(view.stage);
    are_all_right = are_all_right && view.stage == Stage::Done;
    EXPECT_TRUE(view.stage == Stage::Done || !view.failure.empty()) << rank;
  }
  if (are_all_right) round.expect_right();
  return outcome;
}

const RecordType record_types[] = {RecordType::Join,   RecordType::Epoch, RecordType::Ready,
                                   RecordType::Go,     RecordType::Turn,  RecordType::Done,
                                   RecordType::Fetch,  RecordType::Miss,  RecordType::Status,
                                   RecordType::AllDone};

void expect_right(const Outcome& outcome) {
  EXPECT_TRUE(outcome.has_ended);
  for (const Stage stage : outcome.stages) EXPECT_EQ(stage, Stage::Done);
}

TEST(GroupLoses, a_record_of_each_type_without_harm) {
  for (const RecordType type : record_types) {
    SCOPED_TRACE(static_cast<int>(type));
    const Outcome outcome = lose(of(type), 1);
    EXPECT_EQ(outcome.lost, 1u);
    expect_right(outcome);
  }
}

TEST(GroupLoses, a_packet_of_each_kind_without_harm) {
  for (const Kind kind : {Kind::Multicast, Kind::Fetched}) {
    const Outcome outcome = lose(of(kind), 1);
    EXPECT_EQ(outcome.lost, 1u);
    expect_right(outcome);
  }
  const Outcome outcome = lose(of(Kind::Unicast), 1, Algorithm::Ring);
  EXPECT_EQ(outcome.lost, 1u);
  expect_right(outcome);
}

TEST(GroupLoses, all_records_of_a_type_and_ends_by_its_deadline) {
  for (const RecordType type : record_types) {
    SCOPED_TRACE(static_cast<int>(type));
    const Outcome outcome = lose(of(type), UINT64_MAX);
    EXPECT_GT(outcome.lost, 0u);
    const bool is_of_joining = type == RecordType::Join || type == RecordType::Epoch;
    EXPECT_EQ(outcome.has_joined, !is_of_joining);
    if (is_of_joining) continue;
    EXPECT_TRUE(outcome.has_ended);
    const bool is_needed = type == RecordType::Ready || type == RecordType::Done ||
                           type == RecordType::AllDone || type == RecordType::Fetch;
    if (!is_needed) expect_right(outcome);
  }
}

TEST(GroupLoses, all_that_is_multicast_and_fetches_it) {
  const Outcome outcome = lose(of(Kind::Multicast), UINT64_MAX);
  EXPECT_GT(outcome.lost, 0u);
  expect_right(outcome);
}

TEST(GroupLoses, what_is_multicast_at_a_member_whom_no_switch_knows_and_who_says_so) {
  FabricWorld world({.deaf = 3});
  ASSERT_TRUE(world.join());
  for (const bool is_deaf : {true, true, false}) {
    if (!is_deaf) world.network().join(world.host_of(3), group_peer_first);
    Round round(world, {.operation = Operation::Allgather, .bytes = 10'000});
    round.post_all();
    ASSERT_TRUE(round.run());
    round.expect_right();
    for (size_t rank = 0; rank < world.members(); ++rank) {
      EXPECT_EQ(world.group(rank).trouble().empty(), !is_deaf || rank != 3) << rank;
    }
  }
}

TEST(GroupLoses, all_that_is_passed_on_and_fetches_it) {
  const Outcome outcome = lose(of(Kind::Unicast), UINT64_MAX, Algorithm::Ring);
  EXPECT_GT(outcome.lost, 0u);
  expect_right(outcome);
}

/// Who is asked for more than its line carries in the time after which a member is taken for dead
/// says that it is there.
TEST(GroupLoses, all_that_is_passed_on_over_slow_lines_and_takes_nobody_for_dead) {
  FabricWorld world(
      {.hosts = 4, .rate = Rate::from_mbps(1), .algorithm = Algorithm::Ring, .deadline = 100_s});
  ASSERT_TRUE(world.join());
  world.network().set_lost(
      [&](uint16_t, const Packet& packet) { return of(Kind::Unicast)(packet); });
  Round round(world, {.operation = Operation::Allgather, .bytes = 150'000});
  round.post_all();
  ASSERT_TRUE(round.run(100_s));
  round.expect_right();
  EXPECT_LT(round.time(), 40_s);
}

TEST(GroupLoses, all_that_is_fetched_and_ends_by_its_deadline) {
  const Outcome outcome = lose(of(Kind::Fetched), UINT64_MAX);
  EXPECT_GT(outcome.lost, 0u);
  EXPECT_TRUE(outcome.has_ended);
}

TEST(GroupLoses, what_is_said_of_a_failure_and_all_know_by_their_own_deadline) {
  for (const uint64_t most : {uint64_t{1}, UINT64_MAX}) {
    FabricWorld world({.deadline = 1_s});
    ASSERT_TRUE(world.join());
    uint64_t lost = 0;
    world.network().set_lost([&](uint16_t, const Packet& packet) {
      if (lost == most || !has_record(packet, RecordType::Fail)) return false;
      return ++lost, true;
    });
    Round round(world, {.operation = Operation::Allgather, .bytes = 100'000});
    round.post_all();
    EXPECT_FALSE(round.run(30_us));
    world.stop(5);
    EXPECT_FALSE(round.run(30_s));
    EXPECT_GT(lost, 0u);
    for (size_t rank = 0; rank < world.members(); ++rank) {
      if (rank == 5) continue;
      EXPECT_EQ(world.group(rank).view(round.step()).stage, Stage::Failed) << rank;
      EXPECT_FALSE(world.group(rank).failure().empty());
    }
  }
}

}  // namespace
}  // namespace cw::group
