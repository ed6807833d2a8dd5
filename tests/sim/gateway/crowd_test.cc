// Many peers, and three sites.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "policies/policies.h"
#include "tests/sim/gateway/many_peers.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {
using gateway::PacketKind;
using namespace literals;

// ---- many peers ----

/// What the others may add to links awake in a turn, and to the number of turns.
struct Crowd {
  size_t peers;
  double links_per_turn, turns;
};

class ManyPeersOf : public testing::TestWithParam<Crowd> {};

// All ask each other every quarter of a second whether they are still there, some six turns each
// time, which is what the bounds leave room for; the one that is busy has its turn every time.
TEST_P(ManyPeersOf, which_one_is_busy_cost_hardly_more_turns_than_that_one) {
  ManyPeers one(1), many(GetParam().peers);
  ASSERT_TRUE(one.come_up());
  ASSERT_TRUE(many.come_up());
  // Nobody has anything to say to the others: their questions become rare.
  one.run(1500_ms, 1_Mbps);
  many.run(1500_ms, 1_Mbps);
  const ManyPeers::Turns alone = one.run(300_ms, 400_Mbps), among = many.run(300_ms, 400_Mbps);
  EXPECT_GT(alone.count, 10'000u);
  EXPECT_LE(alone.links_per_turn(), 1.0);
  EXPECT_LE(among.links_per_turn(), GetParam().links_per_turn);
  EXPECT_LE(double(among.count), GetParam().turns * double(alone.count));
  for (ManyPeers* world : {&one, &many}) {
    const uint64_t sent = world->centre_host().sent_count();
    EXPECT_GT(sent, 10'000u);
    EXPECT_EQ(world->busy_host().received_count(), sent);
  }
}

INSTANTIATE_TEST_SUITE_P(Crowds, ManyPeersOf,
                         testing::Values(Crowd{64, 1.1, 1.1}, Crowd{1024, 1.1, 1.1}),
                         [](const auto& crowd) { return std::to_string(crowd.param.peers); });

using gateway::LaneView;

// ---- three sites ----
// Three sites, each with two peers, all in one process and virtual time: what goes where, that what
// happens to one pair is no other pair's business, and accounts per peer.  1 ======= 2 \\     //
// each edge a link of its own, impaired \\   // 3.

constexpr Duration one_way = Duration::from_ms(10), rtt = one_way * 2;
constexpr std::array<uint8_t, 3> all_sites{1, 2, 3};

uint16_t flow_number(PacketKind kind, int from, int to) {
  return static_cast<uint16_t>(static_cast<int>(kind) * 100 + from * 10 + to);
}

class Triangle {
 public:
  explicit Triangle(const TwoSitesOptions& options)
      : options_(options),
        network_(
            {.seed = options.seed, .port_packets = packets_of(options, 2), .wire_packets = 65536}) {
    for (int i = 0; i < 3; ++i) {
      SimPort& host_port = network_.add_port();
      lan_[i] = &network_.add_port();
      wan_[i] = &network_.add_port();
      hosts_[i] = std::make_unique<Host>(host_port, network_.join(host_port, *lan_[i]).of_first);
    }
    for (uint8_t first : all_sites) {
      for (auto second = static_cast<uint8_t>(first + 1); second <= 3; ++second) {
        const SimPeers peers =
            network_.join(*wan_[first - 1], *wan_[second - 1], {.loss = 0.01, .delay = one_way});
        far_[first - 1].push_back({peers.of_first, second});
        far_[second - 1].push_back({peers.of_second, first});
      }
    }
    for (uint8_t site : all_sites) {
      seats_[site - 1].ports = {lan_[site - 1], wan_[site - 1]};
      start(site);
      stage_.add(*hosts_[site - 1]);
      stage_.add(seats_[site - 1]);
    }
  }

  Instant now() const { return network_.now(); }
  Host& host(int site) { return *hosts_[site - 1]; }
  GatewaySite& gateway(int site) { return *seats_[site - 1].site; }
  /// What `site` exchanges with `far`.
  LaneView view(int site, int far) { return gateway(site).gateway().view(index_of(site, far)); }
  sdr::Link& peer(int site, int far) { return gateway(site).link(index_of(site, far)); }

  void run_for(Duration time) {
    stage_.run_until([] { return false; }, now() + time);
  }
  bool come_up() {
    const auto is_up = [&] {
      for (uint8_t site : all_sites) {
        for (size_t i : {0, 1}) {
          if (!gateway(site).link(i).is_up()) return false;
        }
      }
      return true;
    };
    return stage_.run_until(is_up, now() + Duration::from_s(1)) == StageEnd::Reached;
  }
  void kill(int site) { seats_[site - 1].site.reset(); }
  void start(int site) {
    seats_[site - 1].site =
        std::make_unique<GatewaySite>(*lan_[site - 1], *wan_[site - 1], far_[site - 1], options_,
                                      options_.seed * 1000 + ++lives_, now());
  }

  /// One flow of datagrams and one that keeps its order, from each site to each other.
  void send_all_ways(uint64_t packets) {
    for (uint8_t from : all_sites) {
      for (const FarSite& far : far_[from - 1]) {
        for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
          host(from).add_flow({.kind = kind,
                               .number = flow_number(kind, from, far.site),
                               .bytes = 500,
                               .rate = Rate::from_mbps(8),
                               .packets = packets,
                               .begin = now(),
                               .from = from,
                               .to = static_cast<uint8_t>(far.site)});
        }
      }
    }
  }
  const FlowReport& report(PacketKind kind, int from, int to) {
    return host(to).report(flow_number(kind, from, to));
  }

 private:
  /// Sockets die with their process: what comes to an empty seat is nobody's.
  struct Seat final : Actor {
    void turn(Instant now) override {
      if (site) return site->turn(now);
      for (SimPort* port : ports) drain(*port, now);
    }
    static void drain(SimPort& port, Instant now) {
      std::array<Packet*, limits::burst_packets_max> burst;
      while (const size_t count = port.rx_burst(burst, now)) {
        port.give_back(std::span(burst).first(count));
      }
    }
    Instant next_deadline() const override {
      return site ? site->next_deadline() : Instant::never();
    }
    std::array<SimPort*, 2> ports{};
    std::unique_ptr<GatewaySite> site;
  };

  size_t index_of(int site, int far) const { return far_[site - 1][0].site == far ? 0 : 1; }

  TwoSitesOptions options_;
  SimNetwork network_;
  Stage stage_{network_, options_.seed};
  std::array<SimPort*, 3> lan_{}, wan_{};
  std::array<std::vector<FarSite>, 3> far_;
  std::array<std::unique_ptr<Host>, 3> hosts_;
  std::array<Seat, 3> seats_;
  uint64_t lives_ = 0;
};

void expect_whole(const FlowReport& report, uint64_t packets) {
  EXPECT_EQ(report.received, packets);
  EXPECT_EQ(report.wrong + report.doubled, 0u);
}

template <class Visit>
void for_each_way(Visit visit) {
  for (int from : all_sites) {
    for (int to : all_sites) {
      if (from == to) continue;
      SCOPED_TRACE(testing::Message() << from << " to " << to);
      visit(from, to);
    }
  }
}

TEST(GatewayTriangle, carries_all_six_ways_at_once_and_accounts_for_each_peer) {
  Triangle sites({.seed = 31});
  ASSERT_TRUE(sites.come_up());
  const uint64_t packets = 4000;
  sites.send_all_ways(packets);
  sites.run_for(Duration::from_s(4));
  for_each_way([&](int from, int to) {
    expect_whole(sites.report(PacketKind::Udp, from, to), packets);
    expect_whole(sites.report(PacketKind::Tcp, from, to), packets);
    EXPECT_EQ(sites.report(PacketKind::Tcp, from, to).overtaken, 0u);
    const LaneView sent = sites.view(from, to), received = sites.view(to, from);
    EXPECT_EQ(sent.sent, packets * 2);
    EXPECT_EQ(received.inbound.out, packets * 2);
    EXPECT_TRUE(received.inbound.is_balanced());
    EXPECT_EQ(sent.lost, 0u);
  });
  for (int site : all_sites) {
    EXPECT_EQ(sites.host(site).received_count(), packets * 4);
    EXPECT_EQ(sites.host(site).foreign_count(), 0u);
    EXPECT_TRUE(sites.gateway(site).gateway().is_drained());
  }
}

TEST(GatewayTriangle, a_site_that_dies_and_comes_back_disturbs_no_other_pair) {
  Triangle sites({.seed = 37});
  ASSERT_TRUE(sites.come_up());
  const uint64_t packets = 12'000;  // of six seconds
  sites.send_all_ways(packets);
  sites.run_for(Duration::from_s(2));
  sites.kill(3);
  sites.run_for(Duration::from_s(2));
  sites.start(3);
  const Instant started = sites.now();
  sites.run_for(Duration::from_s(4));
  for_each_way([&](int from, int to) {
    for (const auto kind : {PacketKind::Udp, PacketKind::Tcp}) {
      const FlowReport& report = sites.report(kind, from, to);
      EXPECT_EQ(report.wrong + report.doubled, 0u);
      EXPECT_EQ(report.next, packets);  // it flows to the end
      if (from != 3 && to != 3) {
        expect_whole(report, packets);
        EXPECT_LT(report.delay_max, one_way + rtt * 3);  // a resend of a resend, and no pause
        continue;
      }
      EXPECT_LT(report.received, packets);
      // Within a second and an RTT of its start; 2000 packets are a second.
      const auto again = static_cast<size_t>((started - Instant()).ns() / 500'000) + 2100;
      for (size_t i = again; i < packets; ++i) ASSERT_TRUE(report.seen[i]) << i;
    }
    EXPECT_EQ(sites.report(PacketKind::Tcp, from, to).overtaken, 0u);
    EXPECT_TRUE(sites.view(to, from).inbound.is_balanced());
  });
  EXPECT_EQ(sites.view(1, 2).sent, packets * 2);
  EXPECT_EQ(sites.view(2, 1).inbound.out, packets * 2);
  // What found no epoch in force is the dead site's, and told at those who sent it.
  for (int site : {1, 2}) {
    const Drops& drops = sites.gateway(site).drops();
    EXPECT_EQ(packets * 4, sites.view(site, 1 + site % 2).sent + sites.view(site, 3).sent +
                               drops.read_any_thread(DropReason::peer_down) +
                               drops.read_any_thread(DropReason::wan_queue_full) +
                               drops.read_any_thread(DropReason::wan_places_full) +
                               drops.read_any_thread(DropReason::stream_broken));
    EXPECT_TRUE(sites.peer(site, 3).is_up());
  }
}

}  // namespace

}  // namespace cw::sim
