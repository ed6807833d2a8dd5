// What is lost on the way, mended, given up, or looked after in time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {

// ---- holes ----
// Two QPs of one host in one class and one stream, of which only one loses packets on the way: its
// holes are its own business. Percentiles of one run, whose first half loses nothing.

constexpr Duration one_way = Duration::from_ms(10), half = Duration::from_s(2);
constexpr uint16_t losing = 1, sparing = 2;  // flows
constexpr uint32_t large = 1000, small = 200;

/// Loses every fiftieth large slot while told to; the small ones carry frames of the other QP.
class ChoosyPort final : public PortAround {
 public:
  ChoosyPort(Port& inner, const bool& loses) : PortAround(inner), loses_(loses) {}

  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    size_t kept = 0;
    for (Packet*& packet : out.first(count)) {
      if (is_lost(*packet)) {
        give_back({&packet, 1});
      } else {
        out[kept++] = packet;
      }
    }
    return kept;
  }

 private:
  bool is_lost(const Packet& packet) {
    constexpr uint64_t every = 50;
    const bool is_large = packet.data[0] != opcode_ud_send_only && packet.bytes > large;
    return loses_ && is_large && ++large_ % every == 0;
  }

  const bool& loses_;
  uint64_t large_ = 0;
};

/// A thousand packets a second of each: never both in one slot.
FlowOptions writes(uint16_t number, uint32_t bytes, Instant begin) {
  FlowOptions flow;
  flow.kind = gateway::PacketKind::RoceRc;
  flow.number = number;
  flow.bytes = bytes;
  flow.rate = Rate::from_bps(uint64_t{bytes} * 8 * 1000);
  flow.packets = static_cast<uint64_t>(half.seconds() * 2 * 1000);
  flow.begin = begin;
  return flow;
}

/// Of the packets that were sent in the first half, or in the second.
Duration delay_at(const FlowReport& report, bool is_second, double share) {
  const auto middle = report.delays.begin() + static_cast<ptrdiff_t>(report.delays.size() / 2);
  std::vector<Duration> delays(is_second ? middle : report.delays.begin(),
                               is_second ? report.delays.end() : middle);
  std::ranges::sort(delays);
  return delays[static_cast<size_t>(share * static_cast<double>(delays.size() - 1))];
}

class GatewayHoles : public testing::TestWithParam<const cw_policy_ops*> {};

TEST_P(GatewayHoles, of_one_qp_delay_no_other) {
  bool loses = false;
  TwoSitesOptions options{.seed = 23, .wan = {.delay = one_way}, .policy = GetParam()};
  options.wan_around = [&loses](int site, Port& inner) -> std::unique_ptr<Port> {
    if (site == 1) return nullptr;
    return std::make_unique<ChoosyPort>(inner, loses);
  };
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  sites.host(1).add_flow(writes(losing, large, sites.now()));
  sites.host(1).add_flow(writes(sparing, small, sites.now() + Duration::from_us(500)));
  sites.run_for(half + one_way);
  loses = true;
  sites.run_for(half + Duration::from_s(1));

  for (const uint16_t each : {losing, sparing}) {
    const FlowReport& report = sites.host(2).report(each);
    EXPECT_EQ(report.received, 4000u);
    EXPECT_EQ(report.wrong + report.doubled + report.overtaken, 0u);
  }
  // Those who lose wait: the worst of a hundred as long as a repair takes.
  const FlowReport& held = sites.host(2).report(losing);
  EXPECT_GT(delay_at(held, true, 0.99), delay_at(held, false, 0.99) + Duration::from_ms(1));
  // And nobody else, be it the worst of a thousand.
  const FlowReport& other = sites.host(2).report(sparing);
  for (const double share : {0.5, 0.99, 0.999}) {
    EXPECT_LE(delay_at(other, true, share).ns(), delay_at(other, false, share).ns() * 101 / 100);
  }
}

INSTANTIATE_TEST_SUITE_P(Under, GatewayHoles,
                         testing::Values(cw_policy_selective_repeat(), cw_policy_erasure(),
                                         cw_policy_hybrid(), cw_policy_layered_interleave()),
                         [](const auto& each) { return std::string(each.param->name); });
using gateway::PacketKind;

// ---- recovery ----
// What hosts see when a gateway dies, the wire goes black, or the line is narrower than promised.

constexpr Duration recovery_way = Duration::from_ms(10);
constexpr Duration rtt = recovery_way * 2;
const Impairment calm{.delay = recovery_way};

/// Datagrams at a steady pace for `time`, and a flow that keeps its order beside them.
void send_both(TwoSites& sites, Duration time) {
  uint16_t number = 0;
  for (const auto kind : {PacketKind::Udp, PacketKind::RoceRc}) {
    FlowOptions options;
    options.kind = kind;
    options.number = ++number;
    options.bytes = 500;
    options.rate = Rate::from_mbps(8);
    options.begin = sites.now();
    options.packets = static_cast<uint64_t>(time.ns() / 500'000);
    sites.host(1).add_flow(options);
  }
}

/// When the first packet of a flow came that was sent at or after `then`.
Instant first_since(const FlowReport& report, Instant began, Instant then) {
  for (size_t i = 0; i < report.seen.size(); ++i) {
    const Instant sent = began + Duration::from_us(500) * static_cast<int64_t>(i);
    if (report.seen[i] && sent >= then) return sent;
  }
  return Instant::never();
}

void expect_sound(const FlowReport& report) {
  EXPECT_EQ(report.wrong, 0u);
  EXPECT_EQ(report.doubled, 0u);
}

class GatewayRestart : public testing::TestWithParam<int> {};

TEST_P(GatewayRestart, traffic_flows_again_within_a_second_and_nothing_old_is_released) {
  TwoSites sites({.seed = 11, .wan = {.loss = 0.01, .delay = recovery_way}});
  ASSERT_TRUE(sites.come_up());
  const Instant began = sites.now();
  send_both(sites, Duration::from_s(5));
  sites.run_for(Duration::from_s(2));
  const Instant killed = sites.now();
  sites.restart(GetParam());
  sites.run_for(Duration::from_s(5));
  for (const uint16_t flow : {1, 2}) {
    SCOPED_TRACE(flow);
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_LE(first_since(report, began, killed), killed + Duration::from_s(1) + rtt);
    EXPECT_GT(report.received, 7000u);  // of 10,000, at most a second of them missing
    // What had been sent before the kill either arrived in its time or never.
    EXPECT_LT(report.delay_max, Duration::from_ms(250) + rtt);
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, GatewayRestart, testing::Values(1, 2),
                         [](const auto& each) { return "site_" + std::to_string(each.param); });

TEST(GatewayRestart, a_hundred_of_them_leave_nothing_behind) {
  TwoSites sites({.seed = 13, .wan = {.loss = 0.02, .delay = recovery_way}});
  ASSERT_TRUE(sites.come_up());
  send_both(sites, Duration::from_s(30));
  for (int i = 0; i < 100; ++i) {
    sites.run_for(Duration::from_ms(37 + i * 3));
    sites.restart(1 + i % 2);
  }
  sites.run_for(Duration::from_s(12));
  for (const uint16_t flow : {1, 2}) {
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_GT(report.next, 59'900u);  // it flows to the end
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

class GatewayBlackout : public testing::TestWithParam<int> {};

TEST_P(GatewayBlackout, is_over_within_a_second_of_the_wires_return) {
  TwoSites sites({.seed = 17, .wan = calm});
  ASSERT_TRUE(sites.come_up());
  const Instant began = sites.now();
  const Duration length = Duration::from_ms(GetParam());
  send_both(sites, length + Duration::from_s(4));
  sites.run_for(Duration::from_s(1));
  Impairment black = calm;
  black.loss = 1;
  sites.set_wan(black);
  sites.run_for(length);
  const Instant back = sites.now();
  sites.set_wan(calm);
  sites.run_for(Duration::from_s(6));
  for (const uint16_t flow : {1, 2}) {
    SCOPED_TRACE(flow);
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_LE(first_since(report, began, back), back + Duration::from_s(1) + rtt);
    EXPECT_GT(report.next,
              static_cast<uint64_t>((length + Duration::from_s(4)).ns() / 500'000) - 10);
    // Nobody is given a packet that its sender has long given up.
    EXPECT_LT(report.delay_max, Duration::from_ms(250) + rtt * 2);
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

INSTANTIATE_TEST_SUITE_P(Of, GatewayBlackout, testing::Values(100, 1000, 10'000, 20'000),
                         [](const auto& each) { return std::to_string(each.param) + "_ms"; });

TEST(GatewayHold, ends_and_the_order_goes_on_behind_the_hole) {
  // Twenty per cent lost and no time for more than one resend.
  TwoSites sites({.seed = 19,
                  .wan = {.loss = 0.2, .delay = recovery_way},
                  .classes = {{.name = "all", .hold = Duration::from_ms(45)}}});
  ASSERT_TRUE(sites.come_up());
  send_both(sites, Duration::from_s(3));
  sites.run_for(Duration::from_s(5));
  for (const uint16_t flow : {1, 2}) {
    const FlowReport& report = sites.host(2).report(flow);
    expect_sound(report);
    EXPECT_GT(report.received, 4500u);
    EXPECT_LT(report.received, 6000u);  // some were given up
    EXPECT_LT(report.delay_max, Duration::from_ms(45) + rtt * 2);
  }
  EXPECT_EQ(sites.host(2).report(2).overtaken, 0u);
}

TEST(GatewayAccounts, add_up_at_each_site_and_between_them) {
  TwoSites sites({.seed = 23,
                  .wan = {.loss = 0.2, .delay = recovery_way},
                  .classes = {{.name = "all", .hold = Duration::from_ms(45)}}});
  ASSERT_TRUE(sites.come_up());
  send_both(sites, Duration::from_s(2));
  sites.run_for(Duration::from_s(4));
  const auto sender = sites.gateway(1).gateway().view(0);
  const auto receiver = sites.gateway(2).gateway().view(0).inbound;
  const auto& counters = sites.gateway(1).counters();
  const auto& drops = sites.gateway(1).drops();
  EXPECT_EQ(counters.read_any_thread(Counter::lan_in), sites.host(1).sent_count());
  EXPECT_EQ(counters.read_any_thread(Counter::lan_in),
            sender.sent + drops.read_any_thread(DropReason::peer_down) +
                drops.read_any_thread(DropReason::wan_queue_full) +
                drops.read_any_thread(DropReason::wan_places_full) +
                drops.read_any_thread(DropReason::stream_broken));
  EXPECT_TRUE(receiver.is_balanced());
  EXPECT_EQ(receiver.held + receiver.queued, 0u);
  EXPECT_EQ(receiver.out, sites.host(2).received_count());
  // Between the sites: what was sent came out, or was given up.
  EXPECT_GT(receiver.given_up, 0u);
  EXPECT_EQ(sender.sent, receiver.seen + receiver.given_up);
  EXPECT_TRUE(sites.gateway(1).gateway().is_drained());
  EXPECT_TRUE(sites.gateway(2).gateway().is_drained());
}

// ---- given up ----
// A policy that gives up a message while the gateway still writes to it: what was in it is lost,
// and nothing behind it.

const cw_policy_ops* inner = nullptr;
uint32_t given_up = 0;

/// As `inner`, but every fourth message is given up as soon as it has a few slots.
void append_or_give_up(cw_policy* policy, const cw_fact_appended* fact, int64_t now_ns,
                       cw_out* out) {
  inner->appended(policy, fact, now_ns, out);
  const bool is_its_end = fact->first < 5 && fact->first + fact->count >= 5;
  if (fact->message % 4 != 1 || !is_its_end) return;
  cw_decision* const decision = cw_decide(out, CW_DECIDE_FINISH);
  if (decision == nullptr) return;
  decision->u.finish = {fact->message, 0, CW_UNKNOWN, CW_FINISH_GIVEN_UP};
  ++given_up;
}

class GatewayGivesUp : public testing::TestWithParam<const cw_policy_ops*> {};

TEST_P(GatewayGivesUp, one_message_and_the_next_one_goes_on) {
  inner = GetParam();
  given_up = 0;
  cw_policy_ops policy = *inner;
  policy.appended = append_or_give_up;
  TwoSites sites({.seed = 3, .message_slots = 128, .policy = &policy});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(100));
  FlowOptions flow;
  flow.kind = gateway::PacketKind::Tcp;
  flow.rate = Rate::from_mbps(16);
  flow.packets = 4000;
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(4));
  const FlowReport& report = sites.host(2).report(flow.number);
  EXPECT_GE(given_up, 8u);
  EXPECT_GT(report.received, 3700u);
  EXPECT_GT(report.next, 3990u) << "what came last comes, too";
  EXPECT_EQ(report.wrong + report.doubled + report.overtaken, 0u);
  const gateway::LaneView lane = sites.gateway(1).gateway().view(0);
  EXPECT_EQ(lane.waiting_bytes, 0u);
  EXPECT_TRUE(sites.gateway(2).gateway().view(0).inbound.is_balanced());
  EXPECT_TRUE(sites.gateway(1).gateway().is_drained());
  EXPECT_TRUE(sites.gateway(2).gateway().is_drained());
}

INSTANTIATE_TEST_SUITE_P(Under, GatewayGivesUp,
                         testing::Values(cw_policy_passthrough(), cw_policy_selective_repeat(),
                                         cw_policy_go_back_n(), cw_policy_hybrid()),
                         [](const auto& each) { return std::string(each.param->name); });

// ---- upkeep ----
// What a link says besides its data: two gateways a millisecond apart, and one QP's writes between
// them. On a machine whose packets cost system calls a packet of control costs what one of data
// does.

constexpr Duration near_way = Duration::from_us(500), time = Duration::from_s(2);
constexpr uint64_t a_second = 4000;  // packets of rxe_writes

/// As soft-RoCE cuts them at an MTU of 1500.
FlowOptions rxe_writes(Instant begin) {
  constexpr uint32_t bytes = 1068;
  FlowOptions flow;
  flow.kind = gateway::PacketKind::RoceRc;
  flow.bytes = bytes;
  flow.rate = Rate::from_bps(uint64_t{bytes} * 8 * a_second);
  flow.packets = static_cast<uint64_t>(time.seconds() * a_second);
  flow.begin = begin;
  return flow;
}

TEST(GatewayUpkeep, of_a_short_link_is_less_than_half_of_its_data) {
  TwoSites sites({.seed = 5,
                  .wan = {.delay = near_way},
                  .payload_bytes = 1420,
                  .policy = cw_policy_passthrough()});
  ASSERT_TRUE(sites.come_up());
  const auto sum_of = [&](Counter counter) {
    return sites.gateway(1).counters().read_any_thread(counter) +
           sites.gateway(2).counters().read_any_thread(counter);
  };
  const uint64_t before = sum_of(Counter::controls_sent);
  sites.host(1).add_flow(rxe_writes(sites.now()));
  sites.run_for(time + near_way * 20);
  EXPECT_EQ(sites.host(2).report(1).received, sum_of(Counter::data_sent));
  EXPECT_LT(sum_of(Counter::controls_sent) - before, sum_of(Counter::data_sent) / 2);
}

}  // namespace

}  // namespace cw::sim
