// Messages over networks that lose, copy and reorder: each comes whole, or ends by its deadline.
#include <gtest/gtest.h>

#include <string>

#include "tests/sim/fabric/faults.h"
#include "tests/sim/message/exchange.h"

namespace cw::group {
namespace {

using namespace literals;

// ---- whatever happens ----

const char* const recoveries[] = {"csa_ud", "go_back_n", "irn", "nack_fixed", "rto_only"};

/// Messages between members by chance, of which each end is posted first, or both at once.
void post_some(MessageWorld& world, Exchange& exchange, Prng& prng, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const auto from = static_cast<uint16_t>(prng.below(world.members()));
    const auto apart = prng.between(1, world.members() - 1);
    const auto to = static_cast<uint16_t>((from + apart) % world.members());
    const Exchange::Options options{
        .step = Step(prng.below(3)),
        .bytes = prng.chance(0.5) ? prng.between(1, 2000) : prng.between(1, 100'000)};
    const size_t number = exchange.send(from, to, options);
    if (prng.chance(0.3)) {
      const auto wait = static_cast<int64_t>(prng.below(300));
      world.run(Duration::from_us(wait), [] { return false; });
    }
    exchange.receive(to, from, number, options);
  }
}

void run_faulty(uint64_t seed) {
  Prng prng(seed);
  const char* const policy = recoveries[prng.below(std::size(recoveries))];
  SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy);
  MessageWorldOptions options = calm(static_cast<uint16_t>(prng.between(2, 12)), policy);
  options.shape.seed = prng.next();
  options.shape.payload_bytes = static_cast<uint32_t>(prng.between(56, 1024) * 4);
  options.shape.paths = prng.chance(0.5) ? 16 : 1;
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  world.network().set_all_impairments(some_faults(prng));
  ASSERT_TRUE(world.join(60_s));
  Exchange exchange(world);
  const size_t count = prng.between(1, 40);
  world.network().set_all_impairments(some_faults(prng));
  post_some(world, exchange, prng, count);
  ASSERT_TRUE(exchange.run(2 * count)) << exchange.gather();
  exchange.expect_whole();
  for (size_t rank = 0; rank < world.members(); ++rank) {
    EXPECT_EQ(world.messages(rank).open_sends(), 0u);
    EXPECT_EQ(world.messages(rank).open_receives(), 0u);
    EXPECT_FALSE(world.messages(rank).policy().is_quarantined());
  }
}

TEST(MessagesOnFabric, have_no_byte_wrong_whatever_the_network_does) {
  // One of them, to be looked at.
  if (const char* const one = std::getenv("CW_WORLD")) return run_faulty(std::stoull(one));
  for (uint64_t seed = 1; seed <= worlds(60) && !testing::Test::HasFailure(); ++seed)
    run_faulty(seed);
}

TEST(MessagesOnFabric, that_leave_before_anybody_waits_are_asked_for) {
  const auto made = MessageWorld::make(calm(2));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  exchange.both(0, 1, {});
  ASSERT_TRUE(exchange.run(2));
  const size_t number = exchange.send(0, 1, {.bytes = 10'000});
  world.run(200_us, [] { return false; });
  EXPECT_GT(world.drops(1).read_any_thread(DropReason::group_closed), 0u);
  const Instant posted = world.now();
  exchange.receive(1, 0, number, {.bytes = 10'000});
  ASSERT_TRUE(exchange.run(4, 5_ms));
  exchange.expect_whole();
  EXPECT_LT(world.now() - posted, 500_us);
}

TEST(MessagesOnFabric, go_round_a_path_that_loses_all) {
  MessageWorldOptions options = calm(32);  // at two leaves, so with a spine between
  options.shape.paths = 16;
  options.shape.leaf_hosts = 16;
  options.shape.spines = 4;
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  exchange.both(0, 31, {});
  ASSERT_TRUE(exchange.run(2));
  const auto way = world.network().routes().way(
      world.host_of(0), world.host_of(31), fabric_flow(world.host_of(0), world.host_of(31), 5));
  world.network().set_impairment(way[1], {.loss = 1});
  size_t down = 0;
  for (int i = 0; i < 8; ++i) exchange.both(0, 31, {.bytes = 200'000});
  ASSERT_TRUE(exchange.run(18));
  exchange.expect_whole();
  const Spray& spray = world.messages(0).endpoint().spray();
  for (uint8_t path = 0; path < 16; ++path) down += spray.is_down(31, path);
  EXPECT_TRUE(spray.is_down(31, 5));
  EXPECT_LT(down, 12u) << "others stay";
  world.network().set_impairment(way[1], {});
  for (int i = 0; i < 40; ++i) exchange.both(0, 31, {.bytes = 200'000});
  ASSERT_TRUE(exchange.run(98));
  exchange.expect_whole();
  EXPECT_FALSE(spray.is_down(31, 5)) << "it is back";
}

// ---- a policy that goes on and on ----

int create_insatiable(const cw_env*, cw_policy** policy, char*, size_t) {
  static int nothing;
  *policy = reinterpret_cast<cw_policy*>(&nothing);
  return 0;
}
void destroy_insatiable(cw_policy*) {}
/// Not before half of a message has come, which its successor has to be told.
void arrive_insatiable(cw_policy*, const cw_fact_arrived* fact, int64_t, cw_out* out) {
  out->more = fact->highest > fact->slots / 2;
}
void resume_insatiable(cw_policy*, int64_t, cw_out* out) { out->more = 1; }

constexpr cw_policy_ops insatiable = {.abi = CW_POLICY_ABI,
                                      .size = sizeof(cw_policy_ops),
                                      .name = "insatiable",
                                      .create = create_insatiable,
                                      .destroy = destroy_insatiable,
                                      .arrived = arrive_insatiable,
                                      .resume = resume_insatiable};

TEST(MessagesOnFabric, whose_policy_is_relieved_end_as_its_successor_has_it) {
  const ChosenPolicy successor("csa_ud");
  MessageWorldOptions options = calm(2);
  options.policy = {&insatiable, {}};
  options.fallback = successor.choice();
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  world.network().set_all_impairments({.loss = 0.05});
  Exchange exchange(world);
  exchange.both(0, 1, {.bytes = 300'000});
  ASSERT_TRUE(exchange.run(2));
  exchange.expect_whole();
  EXPECT_TRUE(world.messages(1).policy().is_quarantined());
  EXPECT_GT(world.messages(1).asked_slots(), 0u) << "by it";
}

/// Time from post to whole of one message of ten slots, of which the last three are lost once.
Duration time_with_lost_end(const char* policy) {
  const auto made = MessageWorld::make(calm(2, policy));
  EXPECT_TRUE(made);
  MessageWorld& world = **made;
  EXPECT_TRUE(world.join());
  Exchange exchange(world);
  exchange.both(0, 1, {.bytes = 1000});  // keys are told, and a round trip is measured
  EXPECT_TRUE(exchange.run(2));
  unsigned data = 0;
  world.network().set_lost([&](uint16_t, const Packet& packet) {
    if (packet.data[0] != send_only_with_immediate) return false;
    ++data;
    return data > 7 && data <= 10;
  });
  const Instant begun = world.now();
  exchange.both(0, 1, {.bytes = 10 * 1024});
  EXPECT_TRUE(exchange.run(4));
  exchange.expect_whole();
  EXPECT_EQ(world.counters(0).read_any_thread(Counter::resends_sent), 3u) << policy;
  return world.now() - begun;
}

TEST(MessagesOnFabric, whose_end_is_lost_are_whole_a_round_trip_after_their_sources_word) {
  const Duration told = time_with_lost_end("csa_ud"), by_timeout = time_with_lost_end("irn");
  std::printf("          %.1f us, by timeout %.1f us\n", told.us(), by_timeout.us());
  EXPECT_LT(told, 40_us) << "two round trips of 6 us, and the reorder budget of 20 us";
  EXPECT_GT(by_timeout, 100_us);
}

// ---- records that do not arrive ----

/// Messages of which a little is lost anyway, and of packets of one sort the first, or all.
struct Losing {
  explicit Losing(const IsIt& is_it, uint64_t most) {
    made = std::move(*MessageWorld::make(calm(4)));
    EXPECT_TRUE(made->join());
    made->network().set_all_impairments({.loss = 0.03});
    made->network().set_lost([this, is_it, most](uint16_t, const Packet& packet) {
      if (lost == most || !is_it(packet)) return false;
      ++lost;
      return true;
    });
    exchange.emplace(*made);
    for (uint16_t from = 0; from < 4; ++from) {
      for (uint16_t to = 0; to < 4; ++to) {
        if (from != to) exchange->both(from, to, {.bytes = 60'000, .deadline = 300_ms});
      }
    }
    has_ended = exchange->run(24, 2_s);
  }
  size_t whole(bool is_send) const {
    size_t count = 0;
    for (size_t rank = 0; rank < 4; ++rank) {
      for (const Completion& each : exchange->completions(rank)) {
        count += each.is_send == is_send && each.is_whole;
      }
    }
    return count;
  }

  uint64_t lost = 0;
  bool has_ended = false;
  std::unique_ptr<MessageWorld> made;
  std::optional<Exchange> exchange;
};

bool is_data(const Packet& packet) { return packet.data[0] == send_only_with_immediate; }

TEST(MessageRecords, lost_once_hinder_nothing) {
  for (const RecordType type :
       {RecordType::Join, RecordType::Status, RecordType::Fetch, RecordType::Offer}) {
    const Losing losing(of(type), 1);
    EXPECT_EQ(losing.lost, 1u) << static_cast<int>(type);
    EXPECT_TRUE(losing.has_ended);
    EXPECT_EQ(losing.whole(true), 12u);
    losing.exchange->expect_whole();
  }
}

TEST(MessageRecords, status_always_lost_leaves_sources_without_an_answer) {
  const Losing losing(of(RecordType::Status), UINT64_MAX);
  EXPECT_TRUE(losing.has_ended) << "by their deadline";
  EXPECT_EQ(losing.whole(true), 0u);
  EXPECT_GT(losing.whole(false), 0u) << "what needs no more than a window comes all the same";
}

TEST(MessageRecords, fetch_always_lost_ends_what_has_lost_something) {
  const Losing losing(of(RecordType::Fetch), UINT64_MAX);
  EXPECT_TRUE(losing.has_ended);
  EXPECT_LT(losing.whole(false), 12u);
}

TEST(MessageRecords, all_data_lost_ends_all_by_their_deadline) {
  const Losing losing(is_data, UINT64_MAX);
  EXPECT_TRUE(losing.has_ended);
  EXPECT_EQ(losing.whole(true) + losing.whole(false), 0u);
}

}  // namespace
}  // namespace cw::group
