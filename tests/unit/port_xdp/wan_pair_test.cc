// Two WAN ports over AF_XDP that are each other's peer: packets of every length, kept ones, and two
// whole ends of a link, worker to worker, in real time.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/port/frame/frame_wan_port.h"
#include "dataplane/port/impair/impaired_port.h"
#include "dataplane/port/xdp/xdp_driver.h"
#include "offload/crc32.h"
#include "tests/unit/port/live_transfer.h"
#include "tests/unit/port/made_packet.h"
#include "tests/unit/port/polling.h"
#include "tests/unit/port_xdp/veth.h"

namespace cw::test {
namespace {
using namespace literals;

struct XdpPair {
  explicit XdpPair(bool is_v6 = false, uint16_t paths = 1, int mtu = 1500) : veth(1, mtu) {
    const char* const near = is_v6 ? "2001:db8::1" : "192.0.2.1";
    const char* const far = is_v6 ? "2001:db8::2" : "192.0.2.2";
    a = make("v0", near, far, paths);
    veth.far.enter();
    b = make("v1", far, near, paths);
    veth.near.enter();
  }
  /// Until both have the other's MAC from their kernels.
  void meet() {
    for (FrameWanPort* each : {a.get(), b.get()}) {
      const auto is_met = [&] { return each->status().unresolved.empty(); };
      EXPECT_TRUE(receive_until(*each, is_met).empty());
      ASSERT_TRUE(is_met());
    }
  }
  static std::unique_ptr<FrameWanPort> make(const char* device, const char* own, const char* peer,
                                            uint16_t paths) {
    FrameWanOptions options;
    options.device = device;
    options.address = own;
    options.peers = {{.address = peer}};
    options.paths = paths;
    options.packets = 4096;
    options.crc32 = cw_crc32;
    auto made = FrameWanPort::make(xdp_driver(), options);
    EXPECT_TRUE(made) << made.error().sentence;
    return made ? std::move(*made) : nullptr;
  }

  Veth veth;
  std::unique_ptr<FrameWanPort> a, b;
};

void expect_carried(FrameWanPort& from, FrameWanPort& to, size_t payload_bytes) {
  constexpr size_t count = 3;
  std::vector<Packet*> packets;
  for (uint8_t i = 0; i < count; ++i) {
    packets.push_back(make_packet(from, payload_bytes, i));
    packets.back()->dscp = 46;
    packets.back()->ecn = 1;
  }
  ASSERT_EQ(from.tx_burst(packets, clock_now()), count);
  const auto received = receive(to, count);
  ASSERT_EQ(received.size(), count) << payload_bytes;
  for (uint8_t i = 0; i < count; ++i) {
    EXPECT_TRUE(is_made_packet(*received[i], payload_bytes, i)) << payload_bytes;
    EXPECT_EQ(received[i]->dscp, 46);
    EXPECT_EQ(received[i]->ecn, 1);
  }
  to.give_back(received);
}

class XdpPairs : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, XdpPairs, testing::Bool(),
                         [](const auto& it) { return it.param ? "ipv6" : "ipv4"; });

TEST_P(XdpPairs, carry_packets_of_every_length_both_ways) {
  CW_NEEDS_NETWORK_SPACE();
  XdpPair pair(GetParam(), 1, limits::af_xdp_mtu_max);
  ASSERT_NO_FATAL_FAILURE(pair.meet());
  for (size_t bytes = 0; bytes <= pair.a->facts().payload_max; ++bytes) {
    ASSERT_NO_FATAL_FAILURE(expect_carried(*pair.a, *pair.b, bytes));
    ASSERT_NO_FATAL_FAILURE(expect_carried(*pair.b, *pair.a, bytes));
  }
  for (const auto& [from, to] :
       {std::pair(pair.a.get(), pair.b.get()), {pair.b.get(), pair.a.get()}}) {
    EXPECT_EQ(to->counters().rx_malformed, 0u);
    EXPECT_EQ(to->counters().rx_dropped, 0u);
    EXPECT_EQ(to->counters().rx_packets, from->counters().tx_packets);
    EXPECT_EQ(to->counters().rx_bytes, from->counters().tx_bytes);
  }
}

/// Several chunks of the kernel's each, of which a packet is one piece to its owner.
TEST_P(XdpPairs, carry_packets_of_several_pages) {
  CW_NEEDS_NETWORK_SPACE();
  XdpPair pair(GetParam(), 1, 9000);
  ASSERT_NO_FATAL_FAILURE(pair.meet());
  ASSERT_EQ(pair.a->facts().payload_max, limits::payload_bytes_max);
  for (size_t bytes = 0; bytes <= limits::payload_bytes_max;
       bytes += bytes % 4096 < 3600 ? 97 : 1) {
    ASSERT_NO_FATAL_FAILURE(expect_carried(*pair.a, *pair.b, bytes));
    ASSERT_NO_FATAL_FAILURE(expect_carried(*pair.b, *pair.a, bytes));
  }
  for (const auto& [from, to] :
       {std::pair(pair.a.get(), pair.b.get()), {pair.b.get(), pair.a.get()}}) {
    EXPECT_EQ(to->counters().rx_malformed + to->counters().rx_dropped, 0u);
    EXPECT_EQ(to->counters().rx_bytes, from->counters().tx_bytes);
  }
}

TEST(AnXdpPair, keeps_a_packet_that_is_sent_again) {
  CW_NEEDS_NETWORK_SPACE();
  XdpPair pair;
  ASSERT_NO_FATAL_FAILURE(pair.meet());
  expect_kept_and_given_back(*pair.a, [&](Packet& packet) {
    Packet* const row[] = {&packet};
    ASSERT_EQ(pair.a->tx_burst(row, clock_now()), 1u);
    const auto received = receive(*pair.b, 1);
    ASSERT_EQ(received.size(), 1u);
    pair.b->give_back(received);
    receive_until(*pair.a, [&] { return packet.more_owners == 0; });
  });
}

sim::SiteOptions site_options(uint32_t payload_bytes, uint16_t paths) {
  sim::SiteOptions options;
  options.policy = cw_policy_selective_repeat();
  options.stream.payload_bytes = payload_bytes;
  options.paths = paths;
  return options;
}

TEST_P(XdpPairs, carry_a_thousand_messages_unharmed_by_three_paths) {
  CW_NEEDS_NETWORK_SPACE();
  XdpPair pair(GetParam(), 3);
  ASSERT_NO_FATAL_FAILURE(pair.meet());
  expect_whole_transfer(*pair.a, *pair.b, site_options(1400, 3));
  EXPECT_EQ(pair.b->counters().rx_malformed, 0u);
}

TEST(AnXdpPair, mends_what_a_bad_path_loses_doubles_and_reorders) {
  CW_NEEDS_NETWORK_SPACE();
  XdpPair pair;
  ASSERT_NO_FATAL_FAILURE(pair.meet());
  Impairment bad;
  bad.delay = 1_ms;
  bad.loss = 0.02;
  bad.duplicate = 0.02;
  bad.reorder = 0.02;
  bad.reorder_delay = 1_ms;
  ImpairedPort a(*pair.a, {.tx = bad, .seed = 7, .held_packets_max = 2048});
  expect_whole_transfer(a, *pair.b, site_options(1400, 1));
  EXPECT_GT(a.tx_counters(0).lost_total(), 50u);
}

}  // namespace
}  // namespace cw::test
