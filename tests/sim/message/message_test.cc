// Messages between members of a group, over the real endpoints on a simulated fabric.
#include <gtest/gtest.h>

#include "tests/sim/message/exchange.h"

namespace cw::group {
namespace {
using namespace literals;

MessageWorldOptions calm(uint16_t hosts, const char* policy = "csa_ud") {
  static const ChosenPolicy fallback("passthrough");
  static std::deque<ChosenPolicy> chosen;
  chosen.emplace_back(policy);
  MessageWorldOptions options;
  options.shape.hosts = hosts;
  options.shape.payload_bytes = 1024;
  options.policy = chosen.back().choice();
  options.fallback = fallback.choice();
  return options;
}

TEST(Messages, come_whole_to_those_who_wait_for_them) {
  MessageWorld world(calm(4, "passthrough"));
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

}  // namespace
}  // namespace cw::group
