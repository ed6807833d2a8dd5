// Two shards on one device, which has one queue or two, against a peer of one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {
using namespace literals;

/// A site with link 0 on one shard and link 1 on the other, and a peer with both on one.
struct ShardedPair {
  explicit ShardedPair(uint16_t queues) {
    start_small_eal();
    const std::string wire = ",bsize=4096,rsize=9,socket-abstract=no,socket=" + own_path("shards");
    auto far_options = wan_options("net_memif1,role=client" + wire, "192.0.2.2", "192.0.2.1");
    far_options.queues = queues;
    far_options.peers.push_back(far_options.peers.front());
    far_options.peers.back().link = 1;
    auto options = wan_options("net_memif0,role=server" + wire, "192.0.2.1", "192.0.2.2");
    options.shards = 2;
    options.queues = queues;
    options.elsewhere = {{.address = "192.0.2.2", .link = 1, .shard = 1}};
    shards[0] = make_wan_port(options);
    options.peers.front().link = 1;
    options.elsewhere = {{.address = "192.0.2.2", .link = 0, .shard = 0}};
    auto beside = DpdkWanPort::make_beside(*shards[0], options, 1);
    if (!beside) throw std::runtime_error(beside.error().sentence);
    shards[1] = std::move(*beside);
    far = make_wan_port(far_options);
  }
  ~ShardedPair() { std::filesystem::remove(own_path("shards")); }

  bool meet() {
    const Instant start = clock_now();
    Packet* none = nullptr;
    while (clock_now() - start < 20_s) {
      bool is_met = true;
      for (DpdkWanPort* port : {shards[0].get(), shards[1].get(), far.get()}) {
        port->rx_burst({&none, 1}, clock_now());
        const DpdkWanStatus now = port->status();
        is_met &= now.device.is_link_up && now.unresolved.empty();
      }
      if (is_met) return true;
      usleep(1000);
    }
    return false;
  }
  /// What of `count` packets for a link comes to its shard, while all turn.
  std::vector<Packet*> carry_to(uint16_t link, size_t count) {
    std::vector<Packet*> packets;
    for (size_t i = 0; i < count; ++i) {
      packets.push_back(make_packet(*far, 1000, static_cast<uint8_t>(i)));
      packets.back()->peer = link;
    }
    EXPECT_EQ(far->tx_burst(packets, clock_now()), count);
    return turn_until(*shards[link], count);
  }
  std::vector<Packet*> turn_until(DpdkWanPort& port, size_t count) {
    std::vector<Packet*> all;
    const Instant start = clock_now();
    while (all.size() < count && clock_now() - start < 20_s) {
      for (DpdkWanPort* each : {shards[0].get(), shards[1].get(), far.get()}) {
        std::array<Packet*, limits::burst_packets_max> burst;
        const size_t got = each->rx_burst(burst, clock_now());
        const std::span came(burst.data(), got);
        EXPECT_TRUE(each == &port || came.empty());
        if (each == &port) all.insert(all.end(), came.begin(), came.end());
      }
    }
    return all;
  }

  std::array<std::unique_ptr<DpdkWanPort>, 2> shards;
  std::unique_ptr<DpdkWanPort> far;
};

class DpdkShards : public testing::TestWithParam<uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Over, DpdkShards, testing::Values(uint16_t{1}, uint16_t{2}),
                         [](const auto& it) { return it.param == 1 ? "a_queue" : "two_queues"; });

// Whichever queue it comes by: the peer sends all by its first.
TEST_P(DpdkShards, have_what_is_for_their_links_and_send_what_is_theirs) {
  ShardedPair pair(GetParam());
  ASSERT_TRUE(pair.meet());
  EXPECT_EQ(pair.shards[0]->status().device.queues, GetParam());
  for (uint16_t link = 0; link < 2; ++link) {
    const auto there = pair.carry_to(link, 32);
    ASSERT_EQ(there.size(), 32u) << link;
    for (size_t i = 0; i < there.size(); ++i) {
      EXPECT_TRUE(is_made_packet(*there[i], 1000, static_cast<uint8_t>(i)));
      EXPECT_EQ(there[i]->peer, 0);
    }
    // And back, in the packets that they came in.
    ASSERT_EQ(pair.shards[link]->tx_burst(there, clock_now()), there.size());
    const auto back = pair.turn_until(*pair.far, there.size());
    ASSERT_EQ(back.size(), 32u) << link;
    for (size_t i = 0; i < back.size(); ++i) {
      EXPECT_TRUE(is_made_packet(*back[i], 1000, static_cast<uint8_t>(i)));
      EXPECT_EQ(back[i]->peer, link);
    }
    pair.far->give_back(back);
  }
  for (const auto& shard : pair.shards) EXPECT_EQ(shard->counters().rx_malformed, 0u);
}

// Packets of one that does not turn are lost once they are too many, and counted by who had them.
TEST_P(DpdkShards, that_stand_still_hold_up_no_other) {
  ShardedPair pair(GetParam());
  ASSERT_TRUE(pair.meet());
  size_t sent = 0;
  std::array<Packet*, limits::burst_packets_max> burst;
  const auto send_to_who_stands = [&] {
    Packet* packet = make_packet(*pair.far, 1000, 1);
    packet->peer = 1;
    if (pair.far->tx_burst({&packet, 1}, clock_now()) == 1) return ++sent, true;
    pair.far->give_back({&packet, 1});
    return false;
  };
  const Instant start = clock_now();
  while (pair.shards[0]->counters().rx_dropped == 0 && clock_now() - start < 20_s) {
    send_to_who_stands();
    EXPECT_EQ(pair.shards[0]->rx_burst(burst, clock_now()), 0u);
  }
  EXPECT_GT(pair.shards[0]->counters().rx_dropped, 0u);
  Packet* packet = make_packet(*pair.far, 1000, 9);
  ASSERT_EQ(pair.far->tx_burst({&packet, 1}, clock_now()), 1u);
  const auto there = receive(*pair.shards[0], 1);
  ASSERT_EQ(there.size(), 1u);
  pair.shards[0]->give_back(there);
  // It has the rest when it turns again.
  const size_t expected = sent - pair.shards[0]->counters().rx_dropped;
  const auto late = pair.turn_until(*pair.shards[1], expected);
  EXPECT_EQ(late.size(), expected);
  pair.shards[1]->give_back(late);
}

}  // namespace
}  // namespace cw::test
