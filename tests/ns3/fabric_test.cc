// Eight senders, two leaves, two spines: the fabric drops the same packets as ns-3, and brings the
// others at the same nanosecond.
//
// ns-3's queue leaves out the packet that is being sent (SwitchOptions::counts_sending), and PPP
// adds two bytes. Lines take whole nanoseconds for a byte, since ns-3 rounds each packet's time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "dataplane/base/prng.h"
#include "dataplane/port/sim/fabric/network.h"
#include "tests/ns3/ns3_fabric.h"

namespace cw::test {
namespace {

using namespace literals;

constexpr uint16_t senders = 8;
constexpr Bytes port_limit = 20_KiB;

/// Sender i has receiver 8 + i, whose cable is a quarter of its own: queues are full at both
/// leaves.
Topology eight_and_eight() {
  Topology topology;
  std::array<FabricNode, 4> switches;  // two leaves, two spines
  for (FabricNode& each : switches) {
    each = FabricNode::at_switch(
        topology.add_switch({.port_limit = port_limit, .counts_sending = false}));
  }
  for (uint16_t host = 0; host < 2 * senders; ++host) {
    const bool sends = host < senders;
    topology.join(FabricNode::host(topology.add_host()), switches[sends ? 0 : 1],
                  {.rate = sends ? 1_Gbps : 250_Mbps, .delay = 3_us});
  }
  for (const size_t leaf : {0, 1}) {
    for (const size_t spine : {2, 3}) {
      topology.join(switches[leaf], switches[spine], {.rate = 1_Gbps, .delay = 5_us});
    }
  }
  return topology;
}

/// Of drawn lengths at drawn instants, 400 Mbit/s each: 3.2 Gbit/s for the 2 of the spines.
std::vector<Datagram> draw_datagrams(uint64_t seed, size_t count) {
  Prng prng(seed);
  std::vector<Datagram> datagrams;
  int64_t now = 0;
  for (size_t i = 0; i < count; ++i) {
    now += static_cast<int64_t>(prng.between(1, 3800));
    const auto source = static_cast<uint16_t>(prng.below(senders));
    datagrams.push_back({.at_ns = now,
                         .source = source,
                         .target = static_cast<uint16_t>(source + senders),
                         .bytes = static_cast<uint32_t>(prng.between(8, 1400))});
  }
  return datagrams;
}

struct Outcome {
  std::map<size_t, int64_t> arrivals;
  std::map<uint32_t, uint64_t> drops;
};

void hear(FabricNetwork& network, Outcome& outcome) {
  std::array<uint16_t, senders> ready;
  const size_t count = network.take_ready(ready);
  for (size_t i = 0; i < count; ++i) {
    FabricPort& port = network.port(ready[i]);
    Packet* packet = nullptr;
    while (port.rx_burst({&packet, 1}, network.now()) == 1) {
      size_t name = 0;
      std::memcpy(&name, packet->data, sizeof(name));
      outcome.arrivals[name] = packet->at.ns();
      port.give_back({&packet, 1});
    }
  }
}

void send(FabricNetwork& network, size_t name, const Datagram& datagram) {
  FabricPort& port = network.port(datagram.source);
  Packet* packet = nullptr;
  ASSERT_EQ(port.take_burst({&packet, 1}), 1u);
  std::memcpy(packet->data, &name, sizeof(name));
  packet->bytes = datagram.bytes;
  packet->peer = datagram.target;
  ASSERT_EQ(port.tx_burst({&packet, 1}, network.now()), 1u);
}

Outcome run_in_fabric(const Topology& topology, uint64_t seed,
                      const std::vector<Datagram>& datagrams) {
  FabricNetwork network(topology, {.seed = seed, .overhead_bytes = ns3_overhead_bytes});
  Outcome outcome;
  for (size_t name = 0; name < datagrams.size(); ++name) {
    network.advance_to(Instant::from_ns(datagrams[name].at_ns));
    send(network, name, datagrams[name]);
    hear(network, outcome);
  }
  network.advance_to(network.now() + 1_s);
  hear(network, outcome);
  for (uint32_t link = 0; link < topology.links().size(); ++link) {
    const uint64_t drops = network.counters_of(link).drops;
    if (drops > 0) outcome.drops[link] = drops;
  }
  return outcome;
}

/// The routes that the network of that seed has.
FabricRoutes routes_of(const Topology& topology, uint64_t seed) {
  return FabricNetwork(topology, {.seed = seed, .frames = 1, .port_packets = 1}).routes();
}

TEST(FabricBesideNs3, drops_the_same_packets_and_brings_the_others_at_the_same_nanosecond) {
  const Topology topology = eight_and_eight();
  size_t compared = 0, dropped = 0, dropping_queues = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto datagrams = draw_datagrams(seed, 1000);
    const Ns3Outcome theirs =
        run_in_ns3(topology, routes_of(topology, seed), port_limit, datagrams);
    if (theirs.ties > 0) continue;
    const Outcome ours = run_in_fabric(topology, seed, datagrams);
    ASSERT_EQ(ours.arrivals, theirs.arrivals) << "seed " << seed;
    ASSERT_EQ(ours.drops, theirs.drops) << "seed " << seed;
    ++compared;
    dropped += datagrams.size() - ours.arrivals.size();
    dropping_queues = std::max(dropping_queues, ours.drops.size());
  }
  std::printf("%zu of 60 worlds without ties, %zu packets dropped in them\n", compared, dropped);
  EXPECT_GE(compared, 10u);
  EXPECT_GE(dropped, 1000u);
  EXPECT_GE(dropping_queues, 4u) << "at both leaves";
}

}  // namespace
}  // namespace cw::test
