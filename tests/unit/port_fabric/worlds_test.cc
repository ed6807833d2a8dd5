// Drawn fabrics under drawn load: whatever happens, every packet has one fate, links' counters add
// up, and one seed has one course.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/property/property.h"
#include "tests/unit/port_fabric/talk.h"

namespace cw::test {
namespace {

using namespace literals;

SwitchOptions draw_switch(Prng& prng) {
  return {.port_limit = Bytes(prng.between(1000, 30'000)),
          .buffer = prng.chance(0.5) ? Bytes(prng.between(3000, 60'000)) : Bytes(UINT64_MAX),
          .alpha = prng.chance(0.5) ? 1.0 : 0.25,
          .mark_above = Bytes(prng.between(500, 5000)),
          .counts_sending = prng.chance(0.5)};
}

Topology draw_topology(Prng& prng) {
  const size_t hosts = prng.between(2, 40);
  const CableOptions cable{.rate = Rate::from_mbps(prng.between(1000, 200'000)),
                           .delay = Duration::from_ns(int64_t(prng.below(3000)))};
  if (prng.chance(0.5)) {
    return *make_fat_tree({.radix = 8, .hosts = hosts, .cable = cable, .each = draw_switch(prng)});
  }
  return *make_leaf_spine({.hosts = hosts,
                           .leaves = prng.between(1, std::min<size_t>(hosts, 5)),
                           .spines = prng.between(1, 3),
                           .cables = prng.between(1, 2),
                           .host_cable = cable,
                           .spine_cable = {.rate = 10_Gbps, .delay = 800_ns},
                           .leaf = draw_switch(prng),
                           .spine = draw_switch(prng)});
}

FabricOptions draw_options(Prng& prng, uint64_t seed) {
  return {.seed = seed,
          .balance = prng.chance(0.5) ? FabricBalance::Flow : FabricBalance::Packet,
          .frames = prng.between(50, 3000),
          .port_packets = prng.between(2, 40),
          .rx_packets = prng.between(1, 50),
          .nic_queue = prng.chance(0.5) ? Bytes(8000) : Bytes(UINT64_MAX),
          .overhead_bytes = uint32_t(prng.below(70)),
          .carry_bytes = prng.chance(0.5),
          .icrc = prng.chance(0.5) ? IcrcMode::Exact : IcrcMode::None};
}

/// A fabric whose hosts send to each other and to groups, and sometimes do not listen.
class World {
 public:
  explicit World(uint64_t seed)
      : prng_(seed), talk_(draw_topology(prng_), draw_options(prng_, seed)) {
    for (int i = 0; i < 30; ++i) {
      network().join(draw_host(), static_cast<uint16_t>(0xf000 + prng_.below(3)));
    }
    if (!prng_.chance(0.5)) return;
    network().set_all_impairments({.loss = 0.01,
                                   .corrupt = 0.01,
                                   .duplicate = 0.02,
                                   .jitter_max = 2_us,
                                   .jitter_reorders = true});
  }

  FabricNetwork& network() { return talk_.network; }
  void step() {
    for (int i = 0; i < 20; ++i) send();
    network().run_until(network().now() + Duration::from_ns(int64_t(prng_.below(5000))));
    std::array<uint16_t, 8> ready;
    const size_t count = network().take_ready(ready);
    for (size_t i = 0; i < count; ++i) {
      if (prng_.chance(0.9)) talk_.hear(ready[i]);
    }
  }
  /// Until nothing moves; then all that waits at hosts is heard.
  void settle() {
    talk_.hear_all();
    for (uint16_t host = 0; host < hosts(); ++host) talk_.hear(host);
  }

 private:
  size_t hosts() { return network().topology().host_count(); }
  uint16_t draw_host() { return static_cast<uint16_t>(prng_.below(hosts())); }

  void send() {
    const uint16_t host = draw_host();
    Packet* packet = nullptr;
    if (network().port(host).take_burst({&packet, 1}) == 0) return;
    packet->bytes = static_cast<uint32_t>(prng_.between(1, 700));
    std::fill_n(packet->data, packet->bytes, static_cast<uint8_t>(prng_.next()));
    packet->peer = prng_.chance(0.1) ? static_cast<uint16_t>(0xf000 + prng_.below(4)) : draw_host();
    packet->path = static_cast<uint16_t>(prng_.below(17));
    packet->ecn = prng_.chance(0.5) ? 2 : 0;
    if (prng_.chance(0.5)) {
      packet->payload = payload_.data();
      packet->payload_bytes = static_cast<uint32_t>(prng_.between(1, payload_.size()));
    }
    if (network().port(host).tx_burst({&packet, 1}, network().now()) == 0) {
      network().port(host).give_back({&packet, 1});
    }
  }

  Prng prng_;
  Talk talk_;
  std::vector<uint8_t> payload_ = std::vector<uint8_t>(1000, 7);
};

/// What goes into each switch and host by all its links against what comes out.
bool links_add_up(const FabricNetwork& network) {
  const FabricCounters counters = network.counters();
  uint64_t from_hosts = 0, hops = 0, drops = 0;
  for (uint32_t link = 0; link < network.topology().links().size(); ++link) {
    const FabricLinkCounters of_link = network.counters_of(link);
    hops += of_link.packets;
    drops += of_link.drops;
    if (!network.topology().links()[link].source.is_switch) from_hosts += of_link.packets;
  }
  return hops == counters.hops && drops == counters.dropped && from_hosts <= counters.sent;
}

RC_GTEST_PROP(FabricWorlds, every_packet_has_one_fate, (uint64_t seed)) {
  World world(seed);
  for (int i = 0; i < 150; ++i) {
    world.step();
    RC_ASSERT(adds_up(world.network().counters()));
  }
  RC_ASSERT(links_add_up(world.network()));
  world.settle();
  RC_ASSERT(adds_up(world.network().counters()));
  RC_ASSERT(world.network().counters().in_flight == 0u);
  for (uint16_t host = 0; host < world.network().topology().host_count(); ++host) {
    RC_ASSERT(world.network().port(host).lent_count() == 0u);
  }
}

TEST(FabricWorlds, have_all_fates_between_them) {
  FabricCounters all;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    World world(seed);
    for (int i = 0; i < 150; ++i) world.step();
    const FabricCounters c = world.network().counters();
    all.copies += c.copies, all.delivered += c.delivered, all.dropped += c.dropped;
    all.lost += c.lost, all.unrouted += c.unrouted, all.no_frame += c.no_frame;
    all.rx_dropped += c.rx_dropped, all.rx_damaged += c.rx_damaged, all.marked += c.marked;
  }
  for (const uint64_t count : {all.copies, all.delivered, all.dropped, all.lost, all.unrouted,
                               all.no_frame, all.rx_dropped, all.rx_damaged, all.marked}) {
    EXPECT_GT(count, 20u);
  }
}

uint64_t hash_of(uint64_t seed) {
  World world(seed);
  for (int i = 0; i < 200; ++i) world.step();
  return world.network().trace_hash();
}

TEST(FabricWorlds, one_seed_has_one_trace_hash_and_another_seed_another) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    EXPECT_EQ(hash_of(seed), hash_of(seed));
    EXPECT_NE(hash_of(seed), hash_of(seed + 100));
  }
}

// Given the same packets on the same fabric, how far the clock leaps at a time changes nothing.
TEST(FabricWorlds, the_course_does_not_depend_on_where_the_clock_stops) {
  const auto hash = [](Duration leap) {
    Talk talk(two_leaves(8, 2, {.buffer = 3000_B}), {.seed = 9});
    talk.network.set_all_impairments({.loss = 0.02, .jitter_max = 1_us});
    for (int i = 0; i < 40; ++i) {
      for (uint16_t host = 0; host < 16; ++host) {
        talk.say(host, static_cast<uint16_t>((host + 1 + i) % 16), std::string(80 + host, 'x'),
                 {.at_ns = 130 * i});
      }
    }
    while (talk.network.next_event() != Instant::never()) {
      talk.network.advance_to(talk.network.now() + leap);
    }
    return talk.network.trace_hash();
  };
  EXPECT_EQ(hash(1_ns), hash(1_ms));
  EXPECT_EQ(hash(333_ns), hash(1_ms));
}

}  // namespace
}  // namespace cw::test
