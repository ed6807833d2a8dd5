// Many hosts, many peers, more than fits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <span>
#include <string>

#include "policies/policies.h"
#include "tests/sim/gateway/many_peers.h"
#include "tests/sim/gateway/two_sites.h"

namespace cw::sim {
namespace {
using gateway::PacketKind;

// ---- strain ----
// Gateways under strain lose nothing of their own making: hosts that offer four fifths of what the
// line carries, over loss, jitter, longer routes and gateways that stand still.

constexpr uint32_t payload_bytes = 1436, frame_bytes = 1400;
constexpr Rate line_rate = Rate::from_mbps(500);
constexpr Duration one_way = Duration::from_ms(10);

struct Strain {
  const char* name = "";
  const cw_policy_ops* (*policy)() = cw_policy_selective_repeat;
  double overhead = 0;  ///< repair slots for each data slot
  double loss = 0;
  Duration jitter{};     ///< uniform, and packets pass each other
  int pausing_site = 0;  ///< stands still for `pause` each `pause_every`
  Duration pause{}, pause_every = Duration::from_s(1);
  double resent_in_vain = 0.001;  ///< of the slots, at most, or a twentieth of the losses
  Duration grows_by{};            ///< of the way there, in mid-stream
  Rate dips_to{};       ///< for half of the time, from the first pause on, with room for a queue
  double given_up = 0;  ///< of the frames, at most
  uint64_t seed = 1;

  friend void PrintTo(const Strain& it, std::ostream* out) { *out << it.name; }
};

Impairment line_of(const Strain& strain) {
  Impairment line{.rate = line_rate, .loss = strain.loss, .delay = one_way};
  line.queue_time = Duration::from_ms(strain.dips_to == Rate() ? 100 : 300);
  line.jitter_max = strain.jitter;
  line.jitter_reorders = true;
  return line;
}

/// Four fifths of what headers and repair leave of the line.
Rate offered_rate(const Strain& strain) {
  constexpr double slot_share = double{frame_bytes} / (frame_bytes + 8);
  constexpr double packet_share = (payload_bytes - 8.0) / (payload_bytes + 32.0);
  return line_rate.scaled(0.8 * slot_share * packet_share / (1 + strain.overhead));
}

struct Outcome {
  uint64_t sent = 0, received = 0, resent = 0, slots = 0, lost_packets = 0, duplicates = 0;
  uint64_t wrong = 0;
  std::string drops;
};

std::string drops_of(const Drops& drops) {
  std::string text;
  for (size_t i = 0; i < drop_reason_count; ++i) {
    const auto reason = static_cast<DropReason>(i);
    const uint64_t count = drops.read_any_thread(reason);
    if (count > 0) text += std::string(name_of(reason)) + " " + std::to_string(count) + ", ";
  }
  return text;
}

Outcome run(const Strain& strain, Duration time) {
  TwoSitesOptions options;
  options.seed = strain.seed;
  options.wan = line_of(strain);
  options.payload_bytes = payload_bytes;
  options.rate = line_rate;
  options.messages = 64;
  options.message_slots = 448;
  options.policy = strain.policy();
  options.burst_bytes = static_cast<uint32_t>(line_rate.bytes_in(Duration::from_ms(2)).count());
  options.pause_bytes = static_cast<uint32_t>(line_rate.bytes_in(Duration::from_ms(10)).count());
  options.adapt = true;
  TwoSites sites(options);
  EXPECT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(200));
  FlowOptions flow{.kind = PacketKind::Udp, .bytes = frame_bytes, .rate = offered_rate(strain)};
  flow.begin = sites.now();
  flow.packets = offered_rate(strain).bytes_in(time).count() / frame_bytes;
  sites.host(1).add_flow(flow);
  const Instant end = sites.now() + time;
  const Instant grows_at = sites.now() + time / 2;
  bool has_grown = strain.grows_by == Duration();
  while (sites.now() < end) {
    sites.run_for(strain.pause_every / 2);
    if (strain.pausing_site != 0) sites.pause(strain.pausing_site, strain.pause);
    if (strain.dips_to != Rate()) {
      Impairment line = line_of(strain);
      if (sites.now() < grows_at) line.rate = strain.dips_to;
      sites.set_wan(line);
    }
    if (!has_grown && sites.now() >= grows_at) {
      has_grown = true;
      Impairment line = line_of(strain);
      line.delay += strain.grows_by / 2;
      sites.set_wan(line);
    }
    sites.run_for(strain.pause_every / 2);
  }
  sites.run_for(Duration::from_s(2));
  const FlowReport& report = sites.host(2).report(1);
  Outcome outcome{.sent = sites.host(1).sent_count(), .received = report.received};
  outcome.wrong = report.wrong + report.doubled;
  outcome.resent = sites.gateway(1).counters().read_any_thread(Counter::resends_sent);
  outcome.slots = sites.gateway(1).counters().read_any_thread(Counter::data_sent);
  const auto& wan = sites.network().counters_of(sites.wan_port(1), {sites.far_peer(1), 0});
  outcome.lost_packets = wan.lost_total();
  outcome.duplicates = sites.gateway(2).drops().read_any_thread(DropReason::packet_duplicate);
  outcome.drops = "site 1: " + drops_of(sites.gateway(1).drops()) +
                  "site 2: " + drops_of(sites.gateway(2).drops());
  return outcome;
}

class GatewaysUnderStrain : public testing::TestWithParam<Strain> {};

TEST_P(GatewaysUnderStrain, lose_no_frame_and_resend_little_but_what_was_lost) {
  const bool is_slow_to_run = GetParam().pause_every < Duration::from_ms(100);
  const Outcome outcome = run(GetParam(), Duration::from_s(is_slow_to_run ? 2 : 5));
  std::printf("sent %lu received %lu slots %lu lost %lu resent %lu duplicates %lu; %s\n",
              outcome.sent, outcome.received, outcome.slots, outcome.lost_packets, outcome.resent,
              outcome.duplicates, outcome.drops.c_str());
  EXPECT_LE(outcome.received, outcome.sent);
  EXPECT_GE(static_cast<double>(outcome.received),
            static_cast<double>(outcome.sent) * (1 - GetParam().given_up))
      << outcome.drops;
  EXPECT_EQ(outcome.wrong, 0u);
  const double spare = std::max(static_cast<double>(outcome.lost_packets) / 20,
                                static_cast<double>(outcome.slots) * GetParam().resent_in_vain);
  EXPECT_LE(static_cast<double>(outcome.resent), static_cast<double>(outcome.lost_packets) + spare)
      << outcome.drops;
}

std::vector<Strain> strains() {
  struct Of {
    const char* name;
    const cw_policy_ops* (*policy)();
    double overhead;
  };
  const Of policies[] = {{"selective_repeat", cw_policy_selective_repeat, 0},
                         {"erasure", cw_policy_erasure, 0.25},
                         {"hybrid", cw_policy_hybrid, 0.25}};
  std::vector<Strain> rows;
  static std::vector<std::string> names;
  names.reserve(64);
  for (const Of& of : policies) {
    const auto add = [&](const char* what, Strain strain) {
      names.push_back(std::string(of.name) + "_" + what);
      strain.name = names.back().c_str();
      strain.policy = of.policy;
      strain.overhead = of.overhead;
      strain.seed = rows.size() + 1;
      rows.push_back(strain);
    };
    add("calm", {});
    add("loss", {.loss = 0.01});
    add("jitter", {.loss = 0.001, .jitter = Duration::from_ms(10)});
    add("jitter_of_an_rtt", {.loss = 0.001, .jitter = Duration::from_ms(20)});
    add("sender_pauses", {.pausing_site = 1, .pause = Duration::from_ms(50)});
    add("receiver_pauses", {.pausing_site = 2, .pause = Duration::from_ms(50)});
    add("sender_pauses_with_loss",
        {.loss = 0.01, .pausing_site = 1, .pause = Duration::from_ms(50)});
    add("receiver_pauses_with_loss",
        {.loss = 0.01, .pausing_site = 2, .pause = Duration::from_ms(50)});
    add("receiver_pauses_with_jitter", {.loss = 0.01,
                                        .jitter = Duration::from_ms(10),
                                        .pausing_site = 2,
                                        .pause = Duration::from_ms(50)});
    // As the kernel shares a core with a program that computes, in ticks of 4 ms.
    add("sender_shares_a_core", {.loss = 0.01,
                                 .pausing_site = 1,
                                 .pause = Duration::from_ms(8),
                                 .pause_every = Duration::from_ms(12)});
    add("receiver_shares_a_core", {.loss = 0.01,
                                   .pausing_site = 2,
                                   .pause = Duration::from_ms(8),
                                   .pause_every = Duration::from_ms(12),
                                   .resent_in_vain = 0.008});
    // A queue on the way that could only be drained at the cost of the one here. Frames whose
    // repair crosses it are later than their hold.
    add("line_dips_after_a_pause", {.loss = 0.01,
                                    .pausing_site = 1,
                                    .pause = Duration::from_ms(100),
                                    .dips_to = Rate::from_mbps(415),
                                    .given_up = 0.0001});
    add("route_grows", {.loss = 0.001, .grows_by = Duration::from_ms(40)});
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Every, GatewaysUnderStrain, testing::ValuesIn(strains()),
                         [](const auto& row) { return std::string(row.param.name); });
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

constexpr Duration rtt = one_way * 2;
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
