// Sites of several cores as they run: a thread for each shard and one for grants, over sockets of
// the kernel, and a control thread that asks. What ThreadSanitizer has nothing to say about shares
// nothing but grants and mailboxes.
#include "tests/sim/gateway/hosted_site.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <utility>

#include "control/gateway/site/shard_plan.h"

namespace cw::sim {
namespace {

using namespace literals;

constexpr size_t cores = HostedSite::cores;
constexpr uint16_t udp_port = 28'791;
constexpr uint16_t flows_of_a_shard = 4, packets_of_a_flow = 300;

HostedSite::WanMaker over_sockets(const char* own, const char* other) {
  return [=](const site::Plan& file, size_t shard) {
    UdpPortOptions options = site::wan_of(file, shard);
    options.address = own;
    options.udp_port = udp_port;
    for (UdpPeerOptions& each : options.peers) each = {other, udp_port, each.link};
    auto wan = UdpPort::make(options);
    CW_ASSERT(wan);
    return std::move(*wan);
  };
}

using Threads = std::deque<std::jthread>;

void start(HostedSite& site, std::atomic<bool>& stop, Threads& threads) {
  for (size_t i = 0; i < cores; ++i) threads.emplace_back([&, i] { site.site->run(i, stop); });
  threads.emplace_back([&] { site.site->run_grants(stop); });
}

TEST(SiteThreads, carry_flows_over_sockets_and_share_nothing_but_grants) {
  const MachineClock clock;
  HostedSite one(1, {}, clock.read(), over_sockets("127.0.0.1", "127.0.0.2"));
  HostedSite two(2, {}, clock.read(), over_sockets("127.0.0.2", "127.0.0.1"));
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
        site->lans[shard]->host.add_flow(flow);
      }
    }
  }
  std::atomic<bool> stop = false;
  Threads threads;
  start(one, stop, threads);
  start(two, stop, threads);
  constexpr uint64_t expected = cores * flows_of_a_shard * packets_of_a_flow;
  const Instant patience = begin + 60_s;
  uint64_t out_one = 0, out_two = 0;
  uint64_t changes = 0;
  while ((out_one < expected || out_two < expected) && MonotonicClock().read() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)one.is_up();
    (void)two.is_up();
    // Live keys, which cost no frame.
    for (HostedSite* each : {&one, &two}) {
      site::Plan next = each->plan();
      next.peers[0].pacer.rate = next.peers[0].pacer.rate.scaled(changes % 2 == 0 ? 0.5 : 1);
      EXPECT_TRUE(each->site->apply(next, 10_s));
      ++changes;
    }
    const auto at_one = one.look(), at_two = two.look();
    if (at_one) out_one = at_one->lan_port.tx_packets;
    if (at_two) out_two = at_two->lan_port.tx_packets;
  }
  EXPECT_TRUE(one.is_up() && two.is_up());
  stop = true;
  for (HostedSite* each : {&one, &two}) each->site->wake();
  threads.clear();
  uint64_t received = 0, wrong = 0;
  for (HostedSite* each : {&one, &two}) {
    const int from = each == &one ? 2 : 1;
    for (const auto& lan : each->lans) {
      lan->network.advance_to(lan->network.now() + 1_ms);
      lan->host.turn(lan->network.now());
      for (size_t shard = 0; shard < cores; ++shard) {
        for (uint16_t i = 0; i < flows_of_a_shard; ++i) {
          const FlowReport& report =
              lan->host.report(static_cast<uint16_t>(from * 1000 + shard * 100 + i));
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
