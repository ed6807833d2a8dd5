// Two shards on one device of one queue, against a wire of one. Several queues:
// gateway_dpdk_kinds_test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <vector>

#include "dataplane/port/dpdk/dpdk_driver.h"
#include "dataplane/port/dpdk/eal/device.h"
#include "dataplane/port/frame/frame_lan_port.h"
#include "dataplane/wire/control/envelope.h"
#include "tests/unit/port_dpdk/dpdk_pair.h"

namespace cw::test {
namespace {
using namespace literals;

constexpr uint16_t stray_port = 60'000, data_port = 50'000;

/// A site with link 0 on one shard and link 1 on the other, and a peer with both on one: whose
/// packets come from its paths' ports, or, as an RNIC's control packets do, from any.
struct ShardedPair {
  explicit ShardedPair(bool is_rnic = false) {
    start_small_eal();
    const std::string wire = ",bsize=4096,rsize=9,socket-abstract=no,socket=" + own_path("shards");
    auto far_options = wan_options("net_memif1,role=client" + wire, "192.0.2.2", "192.0.2.1");
    far_options.peers.push_back(far_options.peers.front());
    far_options.peers.back().link = 1;
    auto options = wan_options("net_memif0,role=server" + wire, "192.0.2.1", "192.0.2.2");
    options.shards = 2;
    const uint16_t far_port = is_rnic ? stray_port : roce_udp_port;
    const uint16_t source_port = is_rnic ? data_port : uint16_t{0};
    far_options.udp_port = options.peers.front().udp_port = far_port;
    options.peers.front().source_port = source_port;
    options.elsewhere = {{.address = "192.0.2.2",
                          .udp_port = far_port,
                          .link = 1,
                          .shard = 1,
                          .source_port = source_port}};
    shards[0] = make_wan_port(options);
    options.peers.front().link = 1;
    options.elsewhere.front().link = options.elsewhere.front().shard = 0;
    auto beside = FrameWanPort::make_beside(*shards[0], options, 1);
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
      for (FrameWanPort* port : {shards[0].get(), shards[1].get(), far.get()}) {
        port->rx_burst({&none, 1}, clock_now());
        const FrameWanStatus now = port->status();
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
  std::vector<Packet*> turn_until(FrameWanPort& port, size_t count) {
    std::vector<Packet*> all;
    const Instant start = clock_now();
    while (all.size() < count && clock_now() - start < 20_s) {
      for (FrameWanPort* each : {shards[0].get(), shards[1].get(), far.get()}) {
        std::array<Packet*, limits::burst_packets_max> burst;
        const size_t got = each->rx_burst(burst, clock_now());
        const std::span came(burst.data(), got);
        EXPECT_TRUE(each == &port || came.empty());
        if (each == &port) all.insert(all.end(), came.begin(), came.end());
      }
    }
    return all;
  }

  std::array<std::unique_ptr<FrameWanPort>, 2> shards;
  std::unique_ptr<FrameWanPort> far;
};

TEST(DpdkShards, have_what_is_for_their_links_and_send_what_is_theirs) {
  ShardedPair pair;
  ASSERT_TRUE(pair.meet());
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

/// For the QP of a link's control, or any other.
Packet* make_control(Port& port, uint32_t qpn, uint16_t peer) {
  Packet* packet = nullptr;
  if (port.take_burst({&packet, 1}) != 1) return nullptr;
  Transport transport;
  transport.opcode = opcode_ud_send_only;
  transport.target_qp = qpn;
  transport.datagram = {control_qkey, 17};
  packet->bytes =
      static_cast<uint32_t>(encode_transport_headers(transport, {packet->data, packet->bytes_max}));
  packet->peer = peer;
  return packet;
}

// [C-65] It is the QP that says to which shard, whichever queue they come by.
TEST(DpdkShards, have_the_control_packets_of_an_rnic_from_whatever_port) {
  ShardedPair pair(true);
  ASSERT_TRUE(pair.meet());
  for (const uint16_t from : {0, 1}) {
    for (uint16_t link = 0; link < 2; ++link) {
      Packet* packet = make_control(*pair.far, control_qpn_of(link), from);
      ASSERT_EQ(pair.far->tx_burst({&packet, 1}, clock_now()), 1u);
      const auto there = pair.turn_until(*pair.shards[link], 1);
      ASSERT_EQ(there.size(), 1u) << link;
      EXPECT_EQ(there[0]->peer, 0);
      EXPECT_EQ(there[0]->path, 0);
      pair.shards[link]->give_back(there);
    }
  }
  for (const auto& shard : pair.shards) EXPECT_EQ(shard->counters().rx_malformed, 0u);
  // Neither data, nor a link that no shard has.
  Packet* packets[] = {make_packet(*pair.far, 100, 1),
                       make_control(*pair.far, control_qpn_of(2), 0),
                       make_control(*pair.far, 17, 1)};
  ASSERT_EQ(pair.far->tx_burst(packets, clock_now()), std::size(packets));
  const auto is_counted = [&] { return pair.shards[0]->status().rx_unknown == 3; };
  EXPECT_TRUE(receive_until(*pair.shards[0], is_counted).empty());
  EXPECT_EQ(pair.shards[0]->counters().rx_malformed, 3u);
}

// Packets of one that does not turn are lost once they are too many, and counted by who had them.
TEST(DpdkShards, that_stand_still_hold_up_no_other) {
  ShardedPair pair;
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

// ---- lan ----
// A host behind a router is known by its packets alone, and those come to one shard.

struct ShardedLan {
  static constexpr MacAddress router = {2, 0, 0, 0, 0, 9};

  ShardedLan() {
    start_small_eal();
    const std::string wire = ",bsize=4096,rsize=9,socket-abstract=no,socket=" + own_path("lans");
    FrameLanOptions options;
    options.device = "net_memif0,role=server" + wire;
    options.addresses = {{*parse_host_address("10.1.0.1", "test"), 24}};
    options.descriptors = 256;
    options.packets = 512;
    options.shards = 2;
    auto made = FrameLanPort::make(dpdk_driver(), options);
    if (!made) throw std::runtime_error(made.error().sentence);
    shards[0] = std::move(*made);
    shards[1] = std::move(*FrameLanPort::make_beside(*shards[0], options, 1));
    auto device = DpdkDevice::make({.device = "net_memif1,role=client" + wire,
                                    .descriptors = 256,
                                    .packet_bytes = 2000,
                                    .packets = 512});
    if (!device) throw std::runtime_error(device.error().sentence);
    far = std::move(*device);
  }
  ~ShardedLan() { std::filesystem::remove(own_path("lans")); }

  bool turn_until(const std::function<bool()>& is_met) {
    const Instant start = clock_now();
    while (!is_met()) {
      if (clock_now() - start > 20_s) return false;
      for (size_t i = 0; i < shards.size(); ++i) {
        std::array<Packet*, limits::burst_packets_max> burst;
        const size_t got = shards[i]->rx_burst(burst, clock_now());
        taken[i] += got;
        shards[i]->give_back({burst.data(), got});
      }
      std::array<Packet*, limits::burst_packets_max> burst;
      const size_t got = far->rx_burst(burst);
      for (const Packet* packet : std::span(burst).first(got)) {
        sent.emplace_back(packet->data, packet->data + packet->bytes);
      }
      far->give_back({burst.data(), got});
    }
    return true;
  }
  static std::vector<uint8_t> ip(uint8_t from, uint8_t to) {
    std::vector<uint8_t> bytes(60);
    const uint8_t header[] = {0x45, 0, 0,  60,   0, 0, 0,  0,  64, 200,
                              0,    0, 10, from, 9, 9, 10, to, 9,  9};
    std::ranges::copy(header, bytes.begin());
    return bytes;
  }
  void put(const std::vector<uint8_t>& packet) {
    Packet* frame = nullptr;
    ASSERT_EQ(far->take_burst({&frame, 1}), 1u);
    std::ranges::copy(shards[0]->status().device.mac, frame->data);
    std::ranges::copy(router, frame->data + 6);
    frame->data[12] = 8, frame->data[13] = 0;
    std::ranges::copy(packet, frame->data + 14);
    frame->bytes = static_cast<uint32_t>(14 + packet.size());
    ASSERT_EQ(far->tx_burst({&frame, 1}), 1u);
  }
  bool try_send(size_t shard, const std::vector<uint8_t>& packet) {
    Packet* one = nullptr;
    EXPECT_EQ(shards[shard]->take_burst({&one, 1}), 1u);
    std::ranges::copy(packet, one->data);
    one->bytes = static_cast<uint32_t>(packet.size());
    const uint64_t before = shards[shard]->counters().tx_packets;
    EXPECT_EQ(shards[shard]->tx_burst({&one, 1}, clock_now()), 1u);
    return shards[shard]->counters().tx_packets > before;
  }

  std::array<std::unique_ptr<FrameLanPort>, 2> shards;
  std::unique_ptr<DpdkDevice> far;
  std::array<size_t, 2> taken{};
  std::vector<std::vector<uint8_t>> sent;
};

TEST(DpdkShards, tell_each_other_of_hosts_behind_routers) {
  ShardedLan lan;
  ASSERT_TRUE(lan.turn_until(
      [&] { return lan.shards[0]->status().device.is_link_up && lan.far->is_link_up(); }));
  // Of flows from one host, until both shards have had one; what one has learned both know.
  lan.put(ShardedLan::ip(7, 2));
  ASSERT_TRUE(lan.turn_until([&] { return lan.taken[0] + lan.taken[1] == 1; }));
  const size_t shard = lan.taken[0] == 1 ? 1 : 0;
  ASSERT_TRUE(lan.turn_until([&] { return lan.shards[shard]->status().neighbours == 1; }));
  EXPECT_TRUE(lan.try_send(shard, ShardedLan::ip(2, 7)));
  EXPECT_TRUE(lan.try_send(1 - shard, ShardedLan::ip(2, 7)));
  ASSERT_TRUE(lan.turn_until([&] { return lan.sent.size() == 2; }));
  for (const auto& frame : lan.sent) {
    EXPECT_TRUE(std::ranges::equal(std::span(frame).first(6), ShardedLan::router));
  }
  EXPECT_EQ(lan.shards[shard]->status().questions, 0u);
}

// A word that got lost is asked for when it is missed.
TEST(DpdkShards, ask_each_other_before_they_give_a_host_up) {
  ShardedLan lan;
  ASSERT_TRUE(lan.turn_until(
      [&] { return lan.shards[0]->status().device.is_link_up && lan.far->is_link_up(); }));
  EXPECT_FALSE(lan.try_send(0, ShardedLan::ip(2, 7)));
  EXPECT_EQ(lan.shards[0]->status().tx_unrouted, 1u);
  // Which changes nothing where nobody knows of it.
  Packet* none = nullptr;
  for (int turn = 0; turn < 10; ++turn) lan.shards[1]->rx_burst({&none, 1}, clock_now());
  EXPECT_EQ(lan.shards[1]->status().neighbours, 0u);
  EXPECT_FALSE(lan.try_send(0, ShardedLan::ip(2, 7)));
}

}  // namespace
}  // namespace cw::test
