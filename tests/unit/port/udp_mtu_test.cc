// The UDP port where the MTU is small or becomes so, in a network namespace of the test's own.
#include <gtest/gtest.h>

#include "tests/unit/port/network_space.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::test {
namespace {

TEST(UdpPortMtu, bounds_the_payload) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  set_mtu("lo", 1500);
  set_up("lo");
  // 20 or 40 of IP, 8 of UDP, 32 of BTH, RETH and immediate, 4 of ICRC; a multiple of four.
  EXPECT_EQ(UdpPair("127.0.0.1").a->facts().payload_max, 1436u);
  EXPECT_EQ(UdpPair("::1").a->facts().payload_max, 1416u);
}

TEST(UdpPortMtu, counts_packets_that_have_become_too_big_and_sends_the_others) {
  CW_NEEDS_NETWORK_SPACE();
  const NetworkSpace space;
  set_up("lo");
  for (const char* address : {"127.0.0.1", "::1"}) {
    set_mtu("lo", 9000);
    UdpPair pair(address);
    set_mtu("lo", 1500);
    std::vector<Packet*> packets;
    for (uint8_t i = 0; i < 12; ++i) {
      packets.push_back(make_packet(*pair.a, i % 6 < 3 ? 4096 : 1400, i));
    }
    ASSERT_EQ(pair.a->tx_burst(packets, Instant()), 12u);
    EXPECT_EQ(pair.a->status().tx_too_big, 6u);
    EXPECT_EQ(pair.a->status().icmp_errors, 0u);
    EXPECT_TRUE(pair.a->status().has_gso);
    const auto received = receive(*pair.b, 6);
    ASSERT_EQ(received.size(), 6u);
    for (const Packet* packet : received) EXPECT_EQ(packet->bytes, 1432u);
    EXPECT_TRUE(receive_in_vain(*pair.a).empty());
    const uint64_t calls = pair.a->counters().system_calls;
    receive_in_vain(*pair.a);
    EXPECT_LT(pair.a->counters().system_calls - calls, 200u) << "errors keep waking the port";
  }
}

}  // namespace
}  // namespace cw::test
