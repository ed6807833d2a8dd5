// Messages between members of a group, over the real endpoints on a simulated fabric.
#include <gtest/gtest.h>

#include "tests/sim/message/exchange.h"

namespace cw::group {
namespace {
using namespace literals;

TEST(Messages, come_whole_to_those_who_wait_for_them) {
  const auto made = MessageWorld::make(calm(4, "passthrough"));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  size_t count = 0;
  for (uint16_t from = 0; from < 4; ++from) {
    for (uint16_t to = 0; to < 4; ++to) {
      if (from != to) exchange.both(from, to, {.bytes = 1u + 5000u * count++});
    }
  }
  ASSERT_TRUE(exchange.run(2 * count));
  exchange.expect_whole();
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(world.counters(rank).read_any_thread(Counter::resends_sent), 0u);
    EXPECT_EQ(world.messages(rank).open_sends(), 0u);
    EXPECT_EQ(world.messages(rank).open_receives(), 0u);
  }
}

TEST(Messages, of_a_window_and_more_leave_at_the_pace_of_the_line) {
  MessageWorldOptions options = calm(2, "passthrough");
  options.bytes_max = 32 << 20;
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  exchange.both(0, 1, {.bytes = 1000});  // keys are told, and a round trip is measured
  ASSERT_TRUE(exchange.run(2));
  const Instant begun = world.now();
  exchange.both(0, 1, {.bytes = 32 << 20});
  ASSERT_TRUE(exchange.run(4));
  exchange.expect_whole();
  const double line = (world.now() - begun).seconds() * 95e9 / 8;
  EXPECT_GT((32 << 20) / line, 0.9);
  EXPECT_EQ(world.counters(0).read_any_thread(Counter::resends_sent), 0u);
}

TEST(Messages, to_a_pool_take_memory_as_they_come) {
  MessageWorldOptions options = calm(3, "passthrough");
  options.pool_bytes = 50'000;
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  std::vector<std::vector<uint8_t>> memory(6, std::vector<uint8_t>(50'000));
  for (size_t i = 0; i < memory.size(); ++i) {
    ASSERT_TRUE(world.messages(0).try_post_pool({.memory = memory[i].data(), .cookie = 100 + i}));
  }
  Exchange exchange(world);
  for (uint16_t from = 1; from < 3; ++from) {
    for (const uint64_t bytes : {1u, 1024u, 49'999u})
      exchange.send(from, 0, {.bytes = bytes}, true);
  }
  ASSERT_TRUE(exchange.run(12));
  uint64_t bytes = 0;
  for (const Completion& each : exchange.completions(0)) {
    EXPECT_TRUE(each.is_whole);
    EXPECT_TRUE(is_for_pool(each.message));
    bytes += each.bytes;
    const std::vector<uint8_t>& got = memory[each.cookie - 100];
    const std::vector<uint8_t>& sent = exchange.sent_of(each.peer, each.bytes);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), got.begin()));
  }
  EXPECT_EQ(bytes, 2u * (1 + 1024 + 49'999));
}

TEST(Messages, for_a_pool_without_memory_wait_until_there_is_some) {
  MessageWorldOptions options = calm(2, "passthrough");
  options.pool_bytes = 1000;
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  exchange.send(1, 0, {.bytes = 1000}, true);
  EXPECT_FALSE(exchange.run(1, 50_ms));
  EXPECT_GT(world.drops(0).read_any_thread(DropReason::group_closed), 0u);
  std::vector<uint8_t> memory(1000);
  ASSERT_TRUE(world.messages(0).try_post_pool({.memory = memory.data()}));
  EXPECT_FALSE(exchange.run(2, 100_ms)) << "OFFER opens it; its slots are asked for by no one here";
  EXPECT_EQ(world.messages(0).open_receives(), 1u);
}

TEST(Messages, given_up_by_one_end_are_over_at_the_other) {
  const auto made = MessageWorld::make(calm(2, "passthrough"));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  exchange.both(0, 1, {});
  ASSERT_TRUE(exchange.run(2));
  world.network().set_all_impairments({.loss = 1});
  const size_t first = exchange.both(0, 1, {});
  const size_t second = exchange.both(0, 1, {});
  world.messages(0).cancel(exchange.sending(first), world.now());
  world.messages(1).cancel(exchange.receiving(second), world.now());
  world.run(1_ms, [] { return false; });
  world.network().set_all_impairments({});
  ASSERT_TRUE(exchange.run(5)) << "the source of the second asks what became of it";
  EXPECT_EQ(exchange.completion(0, first, true).reason, Reason::Cancelled);
  EXPECT_FALSE(exchange.completion(0, first, true).is_of_other_end);
  EXPECT_TRUE(exchange.completion(0, second, true).is_of_other_end);
  EXPECT_EQ(exchange.completion(0, second, true).reason, Reason::Cancelled);
  EXPECT_EQ(exchange.completion(1, second, false).reason, Reason::Cancelled);
  EXPECT_EQ(world.messages(1).open_receives(), 1u) << "nothing has asked for the first";
}

TEST(Messages, end_by_their_deadline_when_the_other_end_posts_nothing) {
  const auto made = MessageWorld::make(calm(2, "passthrough"));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  const Instant begun = world.now();
  const size_t sent = exchange.send(0, 1, {.deadline = 30_ms});
  const size_t awaited = exchange.await(0, 1, {.deadline = 20_ms});
  ASSERT_TRUE(exchange.run(2, 100_ms));
  EXPECT_GE(world.now() - begun, 30_ms);
  EXPECT_LT(world.now() - begun, 31_ms);
  EXPECT_EQ(exchange.completion(0, sent, true).reason, Reason::Late);
  EXPECT_EQ(exchange.completion(0, awaited, false).reason, Reason::Late);
}

TEST(Messages, that_both_ends_post_otherwise_fail_at_both) {
  const auto made = MessageWorld::make(calm(2, "passthrough"));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  const size_t step = exchange.send(0, 1, {.step = Step(4)});
  exchange.receive(1, 0, step, {.step = Step(5)});
  const size_t size = exchange.send(0, 1, {.step = Step(4), .bytes = 3000});
  exchange.receive(1, 0, size, {.step = Step(4), .bytes = 2999});
  ASSERT_TRUE(exchange.run(4));
  for (const bool is_send : {true, false}) {
    EXPECT_EQ(exchange.completion(is_send ? 0 : 1, step, is_send).reason, Reason::UnlikeStep);
    EXPECT_EQ(exchange.completion(is_send ? 0 : 1, size, is_send).reason, Reason::UnlikeSize);
  }
}

TEST(Messages, more_than_a_pair_may_have_open_are_for_later) {
  const auto made = MessageWorld::make(calm(2, "passthrough"));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  for (size_t i = 0; i < numbers_open_max; ++i) exchange.both(0, 1, {});
  const uint8_t byte = 0;
  uint8_t place = 0;
  const auto send = [&] {
    return world.messages(0).post_send({.to = 1, .memory = &byte, .bytes = 1}, world.now());
  };
  const auto receive = [&] {
    return world.messages(1).post_receive({.from = 0, .memory = &place, .bytes = 1}, world.now());
  };
  EXPECT_TRUE(!send() && send().error().is_for_now);
  EXPECT_TRUE(!receive() && receive().error().is_for_now);
  ASSERT_TRUE(exchange.run(2 * numbers_open_max));
  EXPECT_TRUE(send());
  EXPECT_TRUE(receive());
}

// [C-76]
TEST(Messages, of_which_an_old_one_does_not_come_are_not_posted_without_end) {
  MessageWorldOptions options = calm(2, "passthrough");
  const auto made = MessageWorld::make(options);
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  ASSERT_TRUE(world.join());
  Exchange exchange(world);
  std::vector<size_t> awaited;
  for (size_t i = 0; i < numbers_open_max; ++i) awaited.push_back(exchange.await(1, 0, {}));
  for (size_t i = 1; i < numbers_open_max; ++i) {
    world.messages(1).cancel(exchange.receiving(awaited[i]), world.now());
  }
  uint8_t place = 0;
  const auto posted =
      world.messages(1).post_receive({.from = 0, .memory = &place, .bytes = 1}, world.now());
  EXPECT_TRUE(!posted && posted.error().is_for_now) << "its source might still ask about those";
  world.messages(1).cancel(exchange.receiving(awaited[0]), world.now());
  EXPECT_TRUE(
      world.messages(1).post_receive({.from = 0, .memory = &place, .bytes = 1}, world.now()));
}

TEST(Messages, that_cannot_be_are_refused_in_a_sentence) {
  const auto made = MessageWorld::make(calm(2, "passthrough"));
  ASSERT_TRUE(made);
  MessageWorld& world = **made;
  uint8_t byte = 0;
  const auto send = [&](uint16_t to, uint64_t bytes) {
    const auto posted =
        world.messages(0).post_send({.to = to, .memory = &byte, .bytes = bytes}, world.now());
    return posted ? std::string() : posted.error().why;
  };
  EXPECT_EQ(send(1, 1), "") << "there is no epoch yet: later";
  ASSERT_TRUE(world.join());
  EXPECT_EQ(send(2, 1), "there is no rank 2 in a group of 2");
  EXPECT_EQ(send(0, 1), "a member has no messages for itself");
  EXPECT_EQ(send(1, 0), "a message has at least one byte");
  EXPECT_EQ(send(1, (1 << 20) + 1), "a message has 1048576 bytes at most, not 1048577");
}

TEST(Messages, of_a_policy_for_streams_only_cannot_be) {
  const ChosenPolicy streams("erasure"), fallback("passthrough");
  FabricShape shape;
  Prng prng(1);
  FabricRunner runner(shape, prng);
  MessageEndOptions options;
  options.peers = runner.hosts();
  options.random = RandomSource::of(prng);
  options.rate = 1_Gbps;
  options.bytes_max = 1000;
  options.policy = streams.choice();
  options.fallback = fallback.choice();
  const auto end = MessageEnd::make(runner.port(0), options);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().sentence, "policy erasure refused to start: erasure: serves streams only");
}

}  // namespace
}  // namespace cw::group
