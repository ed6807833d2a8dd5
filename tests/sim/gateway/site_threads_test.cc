// Sites of several cores as they run: a thread for each shard and one for grants, over sockets of
// the kernel, and a control thread that asks. What ThreadSanitizer has nothing to say about shares
// nothing but grants and mailboxes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "control/gateway/site/shard_plan.h"
#include "control/gateway/site/site.h"
#include "dataplane/base/assert.h"
#include "dataplane/port/sim/network.h"
#include "tests/sim/gateway/host.h"
#include "tests/sim/gateway/sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {

using namespace literals;

constexpr size_t cores = 2;
constexpr uint16_t flows_of_a_shard = 4, packets_of_a_flow = 300;

uint64_t random_bits(void*) {
  uint64_t bits = 0;
  CW_ASSERT(getentropy(&bits, sizeof(bits)) == 0);
  return bits;
}

/// A LAN of one host, on the thread of the shard that it is behind.
struct HostedLan {
  HostedLan() { network.join(host_port, gateway_port); }
  SimNetwork network{{.port_packets = 4096, .payload_max = limits::frame_bytes_max}};
  SimPort &host_port = network.add_port(), &gateway_port = network.add_port();
  Host host{host_port, 0};
};

/// Lets the LAN's time pass with the shard's turns.
class HostedLanPort final : public PortAround {
 public:
  explicit HostedLanPort(HostedLan& lan) : PortAround(lan.gateway_port), lan_(lan) {}
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    lan_.network.advance_to(now);
    lan_.host.turn(now);
    return PortAround::rx_burst(out, now);
  }

 private:
  HostedLan& lan_;
};

/// One site: its plan, with sockets of its own, and the LANs of its shards.
struct ThreadedSite {
  ThreadedSite(int number, const char* own, const char* other) {
    SiteText text;
    text.site = "cores = [0, 0]\nidle = \"adaptive\"\n";
    text.pair = "links = 2\n";
    site::Plan plan = plan_of(site_files(2, text)[static_cast<size_t>(number - 1)]);
    plan.cores.assign(cores, std::nullopt);
    plan.wan.address = own;
    plan.wan.udp_port = 28'791;
    plan.wan.peers[0] = {.address = other, .udp_port = 28'791};
    site::SiteGround ground{.ports = {}, .now = {}, .random = {nullptr, random_bits}, .clock = {}};
    ground.clock.emplace();
    ground.now = ground.clock->read();
    for (size_t i = 0; i < cores; ++i) {
      auto wan = UdpPort::make(site::wan_of(plan, i));
      EXPECT_TRUE(wan) << wan.error().sentence;
      ground.ports.push_back({std::make_unique<HostedLanPort>(lans[i]), std::move(*wan)});
    }
    auto made = site::Site::make(std::move(plan), std::move(ground));
    EXPECT_TRUE(made) << made.error().sentence;
    site = std::move(*made);
  }

  void start(std::atomic<bool>& stop) {
    for (size_t i = 0; i < cores; ++i)
      threads.emplace_back([this, i, &stop] { site->run(i, stop); });
    threads.emplace_back([this, &stop] { site->run_grants(stop); });
  }

  /// As causewayd's control thread does.
  std::optional<site::SiteState> look() const {
    auto state = site->state(1_s);
    if (state && state->wants_policies) site->care_for_policies(1_s);
    return state;
  }
  bool is_up() const {
    const auto state = look();
    return state && std::ranges::all_of(state->peers, &site::PeerView::is_up);
  }

  std::array<HostedLan, cores> lans;
  std::unique_ptr<site::Site> site;
  std::deque<std::jthread> threads;
};

TEST(SiteThreads, carry_flows_over_sockets_and_share_nothing_but_grants) {
  ThreadedSite one(1, "127.0.0.1", "127.0.0.2"), two(2, "127.0.0.2", "127.0.0.1");
  const Instant begin = MonotonicClock().read();
  // Each host speaks from the start; nobody may touch it once its shard turns.
  for (const auto& [site, from] : {std::pair(&one, 1), {&two, 2}}) {
    for (size_t shard = 0; shard < cores; ++shard) {
      for (uint16_t i = 0; i < flows_of_a_shard; ++i) {
        FlowOptions flow;
        flow.kind = gateway::PacketKind::Tcp;
        flow.number = static_cast<uint16_t>(from * 1000 + shard * 100 + i);
        flow.packets = packets_of_a_flow;
        flow.rate = 2_Mbps;
        flow.begin = begin + 2_s;
        flow.from = static_cast<uint8_t>(from), flow.to = static_cast<uint8_t>(3 - from);
        site->lans[shard].host.add_flow(flow);
      }
    }
  }
  std::atomic<bool> stop = false;
  one.start(stop);
  two.start(stop);
  constexpr uint64_t expected = cores * flows_of_a_shard * packets_of_a_flow;
  const Instant patience = begin + 60_s;
  uint64_t out_one = 0, out_two = 0;
  while ((out_one < expected || out_two < expected) && MonotonicClock().read() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)one.is_up();
    (void)two.is_up();
    const auto at_one = one.look(), at_two = two.look();
    if (at_one) out_one = at_one->lan_port.tx_packets;
    if (at_two) out_two = at_two->lan_port.tx_packets;
  }
  EXPECT_TRUE(one.is_up() && two.is_up());
  stop = true;
  for (ThreadedSite* each : {&one, &two}) each->site->wake();
  for (ThreadedSite* each : {&one, &two}) each->threads.clear();
  uint64_t received = 0, wrong = 0;
  for (ThreadedSite* each : {&one, &two}) {
    const int from = each == &one ? 2 : 1;
    for (HostedLan& lan : each->lans) {
      lan.network.advance_to(lan.network.now() + 1_ms);
      lan.host.turn(lan.network.now());
      for (size_t shard = 0; shard < cores; ++shard) {
        for (uint16_t i = 0; i < flows_of_a_shard; ++i) {
          const FlowReport& report =
              lan.host.report(static_cast<uint16_t>(from * 1000 + shard * 100 + i));
          received += report.received;
          wrong += report.wrong + report.doubled + report.overtaken;
        }
      }
    }
  }
  EXPECT_EQ(received, 2 * expected);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace cw::sim
