// The LAN's side of a gateway under strain: ports that take nothing, backlogs, and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/sim/checkers/heap_watch.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

constexpr Duration one_way = Duration::from_ms(10);

/// A LAN port that has no packet for anybody while it is stopped.
class StoppablePort final : public PortAround {
 public:
  StoppablePort(Port& inner, const bool& is_stopped) : PortAround(inner), is_stopped_(is_stopped) {}
  size_t take_burst(std::span<Packet*> out) override {
    return is_stopped_ ? 0 : PortAround::take_burst(out);
  }

 private:
  const bool& is_stopped_;
};

TEST(LanQueue, of_a_port_that_takes_nothing_is_bounded_and_recovers) {
  bool is_stopped = false;
  TwoSitesOptions options{.seed = 61, .wan = {.delay = one_way}};
  options.lan_around = [&](int site, Port& inner) -> std::unique_ptr<Port> {
    if (site == 1) return nullptr;
    return std::make_unique<StoppablePort>(inner, is_stopped);
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  // 2,000 packets of 1,000 bytes a second: 10 ms of queue are about 20 of them.
  const FlowOptions flow{
      .rate = Rate::from_mbps(16), .packets = 4000, .begin = sites.now(), .ecn = 2};
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_ms(500));
  is_stopped = true;
  for (int ms = 0; ms < 30; ++ms) {
    sites.run_for(Duration::from_ms(1));
    EXPECT_LE(sites.gateway(2).gateway().view(0).inbound.queued, 21u);
  }
  is_stopped = false;
  sites.run_for(Duration::from_s(3));
  const uint64_t dropped = sites.gateway(2).drops().read_any_thread(DropReason::lan_queue_full);
  // What came in the first 20 ms, less what still waits at the end of the 30.
  EXPECT_GE(dropped, 38u);
  EXPECT_LE(dropped, 42u);
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received + dropped, 4000u);
  EXPECT_EQ(report.wrong + report.doubled, 0u);
  EXPECT_EQ(report.next, 4000u);
  EXPECT_LT(report.delay_max, one_way + options.lan_queue + Duration::from_ms(1));
  // Those that had waited for more than half of the queue's time.
  EXPECT_GE(report.marked, 8u);
  EXPECT_LE(report.marked, 12u);
  EXPECT_TRUE(sites.gateway(2).gateway().view(0).inbound.is_balanced());
  EXPECT_TRUE(sites.gateway(2).gateway().is_drained());
}

/// Bytes of a flow that arrived in any `window`.
uint64_t most_in(const FlowReport& report, Duration window, uint32_t bytes) {
  size_t first = 0, most = 0;
  for (size_t last = 0; last < report.arrivals.size(); ++last) {
    while (report.arrivals[last] - report.arrivals[first] > window) ++first;
    most = std::max(most, last - first + 1);
  }
  return most * bytes;
}

// One late slot holds a flow in order for a round trip and more; what was held leaves at a pace.
TEST(Release, of_a_backlog_is_no_faster_than_a_quarter_above_the_link) {
  TwoSites sites({.seed = 67,
                  .wan = {.loss = 0.0005, .delay = Duration::from_ms(20)},
                  .rate = Rate::from_mbps(200),
                  .messages = 64});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(100));
  sites.host(1).add_flow({.kind = PacketKind::Tcp,
                          .rate = Rate::from_mbps(150),
                          .packets = 20'000,
                          .begin = sites.now()});
  sites.run_for(Duration::from_s(3));
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received, 20'000u);
  EXPECT_EQ(report.overtaken + report.wrong + report.doubled, 0u);
  EXPECT_GT(report.delay_max, Duration::from_ms(60));  // something was held
  const Duration window = Duration::from_ms(10);
  const uint64_t paced = Rate::from_mbps(250).bytes_in(window).count();
  EXPECT_LE(most_in(report, window, 1000), paced + (64 << 10) + 2000);
  EXPECT_GT(most_in(report, window, 1000), paced * 9 / 10);  // and it was a backlog
}

TEST(GatewayMemory, nothing_is_allocated_in_a_turn_after_the_start) {
  std::optional<HeapWatch> watch;
  bool is_watching = false;
  TwoSitesOptions options{.seed = 71, .wan = {.loss = 0.02, .delay = one_way}};
  options.around_turn = [&](int, bool is_before) {
    if (!is_watching) return;
    if (is_before) {
      watch.emplace();
    } else {
      watch.reset();
    }
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  is_watching = true;
  const uint64_t before = HeapWatch::allocation_count();
  for (int site : {1, 2}) {
    for (const auto kind : {PacketKind::Udp, PacketKind::Tcp, PacketKind::RoceRc}) {
      sites.host(site).add_flow({.kind = kind,
                                 .number = static_cast<uint16_t>(kind),
                                 .bytes = 1400,
                                 .packets = 1500,
                                 .begin = sites.now(),
                                 .from = static_cast<uint8_t>(site),
                                 .to = static_cast<uint8_t>(3 - site)});
    }
    // And what must be refused, with an answer.
    sites.host(site).add_flow({.number = 99,
                               .bytes = 1501,
                               .packets = 100,
                               .begin = sites.now(),
                               .from = static_cast<uint8_t>(site),
                               .to = static_cast<uint8_t>(3 - site)});
  }
  sites.run_for(Duration::from_s(3));
  EXPECT_EQ(HeapWatch::allocation_count() - before, 0u);
  EXPECT_EQ(sites.host(2).received_count(), 4500u);
  EXPECT_GT(sites.gateway(1).counters().read_any_thread(Counter::resends_sent), 50u);
  EXPECT_EQ(sites.host(1).foreign_count(), 100u);
}

TEST(GatewayMemory, runs_short_and_gives_up_the_oldest_holes) {
  // The first packet of a flow in order is missing for good, and 70,000 small ones follow.
  bool loses = false;
  TwoSitesOptions options{
      .seed = 73, .wan = {.delay = Duration::from_ms(100)}, .messages = 64, .message_slots = 2048};
  options.classes = {{.name = "all", .hold = Duration::from_s(2), .queue = Duration::from_s(1)}};
  struct Loser final : PortAround {
    Loser(Port& inner, bool& armed) : PortAround(inner), armed_(armed) {}
    size_t tx_burst(std::span<Packet* const> packets, Instant now) override {
      size_t sent = 0;
      for (Packet* packet : packets) {
        if (armed_ && packet->bytes > 0 && packet->data[0] != 0x64) {
          armed_ = false;
          give_back({&packet, 1});
          ++sent;
          continue;
        }
        if (PortAround::tx_burst({&packet, 1}, now) == 0) break;
        ++sent;
      }
      return sent;
    }
    bool& armed_;
  };
  options.wan_around = [&](int site, Port& inner) -> std::unique_ptr<Port> {
    if (site == 2) return nullptr;
    return std::make_unique<Loser>(inner, loses);
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(500));
  loses = true;
  sites.host(1).add_flow({.kind = PacketKind::Tcp,
                          .bytes = 84,
                          .rate = Rate::from_mbps(400),
                          .packets = 100'000,
                          .begin = sites.now()});
  sites.run_for(Duration::from_s(4));
  EXPECT_FALSE(loses);
  const auto in = sites.gateway(2).gateway().view(0).inbound;
  EXPECT_GT(in.missed_by_need, 0u);
  EXPECT_TRUE(in.is_balanced());
  EXPECT_EQ(in.held + in.queued, 0u);
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.overtaken + report.wrong + report.doubled, 0u);
  EXPECT_GT(report.received, 60'000u);
}

}  // namespace
}  // namespace cw::sim
