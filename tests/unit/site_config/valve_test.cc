// The valve before the hosts: shut, it lets through what was there, and no more.
#include "control/gateway/valve.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/core/loop_port.h"

namespace cw::site {
namespace {

/// Puts so many packets where the port's next bursts find them.
void wait_at(LoopPort& port, size_t count) {
  std::array<Packet*, 200> packets;
  const std::span<Packet*> some(packets.data(), count);
  ASSERT_EQ(port.take_burst(some), count);
  ASSERT_EQ(port.tx_burst(some, Instant()), count);
}

size_t burst_of(Valve& valve, size_t most) {
  std::array<Packet*, 200> packets;
  const size_t count = valve.rx_burst({packets.data(), most}, Instant());
  valve.give_back({packets.data(), count});
  return count;
}

TEST(Valve, shuts_behind_what_was_waiting) {
  LoopPort port;
  Valve valve(port);
  wait_at(port, 100);
  valve.shut();
  EXPECT_FALSE(valve.is_shut());
  EXPECT_EQ(burst_of(valve, 64), 64u);
  EXPECT_FALSE(valve.is_shut());
  EXPECT_EQ(burst_of(valve, 64), 36u);
  EXPECT_TRUE(valve.is_shut());
  wait_at(port, 10);
  EXPECT_EQ(burst_of(valve, 64), 0u);
}

TEST(Valve, shuts_at_last_before_packets_that_go_on_coming) {
  LoopPort port;
  Valve valve(port);
  valve.shut();
  size_t count = 0;
  while (!valve.is_shut()) {
    wait_at(port, 64);
    count += burst_of(valve, 64);
    ASSERT_LE(count, Valve::behind_max + 64);
  }
  EXPECT_GE(count, Valve::behind_max);
}

}  // namespace
}  // namespace cw::site
