// Sites of several cores as they run: a thread for each shard and one for grants, over sockets of
// the kernel, and a control thread that asks. What ThreadSanitizer has nothing to say about shares
// nothing but grants and mailboxes.
#include "tests/sim/gateway/hosted_site.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "control/config/policy_keys.h"
#include "control/gateway/site/shard_plan.h"
#include "policies/policies.h"
#include "tests/unit/port/udp_pair.h"

namespace cw::sim {
namespace {

using namespace literals;

constexpr size_t cores = HostedSite::cores;
constexpr uint16_t flows_of_a_shard = 4, packets_of_a_flow = 300;

HostedSite::WanMaker over_sockets(uint16_t udp_port, const char* own, const char* other) {
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
  const uint16_t udp_port = test::free_udp_ports(1);
  HostedSite one(1, {}, clock.read(), over_sockets(udp_port, "127.0.0.1", "127.0.0.2"));
  HostedSite two(2, {}, clock.read(), over_sockets(udp_port, "127.0.0.2", "127.0.0.1"));
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

/// Two sites that nobody looks after but who is called.
struct CalledSites {
  CalledSites() {
    for (const HostedSite* each : {&one, &two}) sites.push_back(each->site.get());
    start(one, stop, threads);
    start(two, stop, threads);
  }
  ~CalledSites() {
    stop = true;
    for (site::Site* each : sites) each->wake();
  }
  static site::SiteState state_of(site::Site& site) {
    auto state = site.state(1_s);
    return state ? std::move(*state) : site::SiteState();
  }
  /// Whoever wants something has called, or does.
  void answer_calls() {
    std::vector<pollfd> calls;
    for (const site::Site* each : sites) calls.push_back({each->wants_care_fd(), POLLIN, 0});
    EXPECT_GT(poll(calls.data(), calls.size(), 20'000), 0) << "nobody calls";
    for (size_t i = 0; i < sites.size(); ++i) {
      if ((calls[i].revents & POLLIN) != 0) sites[i]->care_for_policies(1_s);
    }
  }
  bool run_until(const std::function<bool()>& is_reached) {
    for (const Instant end = MonotonicClock().read() + 60_s; !is_reached();) {
      if (MonotonicClock().read() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const bool is_wanted = std::ranges::any_of(
          sites, [](site::Site* each) { return state_of(*each).wants_policies; });
      if (is_wanted) answer_calls();
    }
    return true;
  }
  bool are_up() {
    return std::ranges::all_of(sites, [](site::Site* each) {
      const auto peers = state_of(*each).peers;
      return !peers.empty() && std::ranges::all_of(peers, &site::PeerView::is_up);
    });
  }

  const MachineClock clock;
  const uint16_t udp_port = test::free_udp_ports(1);
  HostedSite one{1, {}, clock.read(), over_sockets(udp_port, "127.0.0.1", "127.0.0.2")};
  HostedSite two{2, {}, clock.read(), over_sockets(udp_port, "127.0.0.2", "127.0.0.1")};
  std::vector<site::Site*> sites;
  std::atomic<bool> stop = false;
  Threads threads;
};

TEST(SiteThreads, call_for_care_when_a_peer_orders) {
  CalledSites world;
  site::Site& here = *world.sites[0];
  ASSERT_TRUE(world.run_until([&] { return world.are_up(); }));
  const cw_policy_ops& next = *cw_policy_go_back_n();
  site::SwapOrder order;
  order.is_outward = false, order.is_inward = true;
  order.policy = sdr::named({&next, config::default_params(next)});
  const uint32_t number = here.order_swap(order, 1_s);
  EXPECT_TRUE(world.run_until([&] {
    const auto swaps = CalledSites::state_of(here).swaps;
    return std::ranges::count_if(swaps, [&](const site::SwapView& each) {
             return each.order == number && each.fate == site::SwapView::Fate::Done;
           }) == 2;  // links
  }));
  EXPECT_EQ(CalledSites::state_of(*world.sites[1]).lanes[0].policy_out, "go_back_n");
}

}  // namespace
}  // namespace cw::sim
