// Two gateways, their classes and codes.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/wire/opcode.h"
#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {
using gateway::PacketKind;

// ---- Whole frames between whole sites: what hosts may rely on, whatever the wire does ----

constexpr Duration one_way = Duration::from_ms(10);

FlowOptions flow(PacketKind kind, uint16_t number, uint64_t packets, uint64_t mbps = 20) {
  FlowOptions options;
  options.kind = kind;
  options.number = number;
  options.packets = packets;
  options.rate = Rate::from_mbps(mbps);
  return options;
}

FlowOptions back(FlowOptions options) {
  std::swap(options.from, options.to);
  return options;
}

/// Sends one flow of each kind both ways and lets them arrive.
void send_all_kinds(TwoSites& sites, uint64_t packets) {
  for (int site : {1, 2}) {
    uint16_t number = 0;
    for (const auto kind :
         {PacketKind::Udp, PacketKind::Tcp, PacketKind::RoceRc, PacketKind::RoceUd}) {
      FlowOptions options = flow(kind, ++number, packets);
      options.begin = sites.now();
      options.bytes = 100 + 450u * number - (number == 4 ? 400u : 0u);
      sites.host(site).add_flow(site == 1 ? options : back(options));
    }
  }
}

void expect_whole(const FlowReport& report, uint64_t packets) {
  EXPECT_EQ(report.received, packets);
  EXPECT_EQ(report.wrong, 0u);
  EXPECT_EQ(report.doubled, 0u);
}

void expect_all_kinds(TwoSites& sites, uint64_t packets) {
  for (int site : {1, 2}) {
    SCOPED_TRACE(site);
    for (uint16_t number : {1, 2, 3, 4}) {
      SCOPED_TRACE(number);
      expect_whole(sites.host(site).report(number), packets);
    }
    // TCP and RC keep their order, whatever was lost.
    EXPECT_EQ(sites.host(site).report(2).overtaken, 0u);
    EXPECT_EQ(sites.host(site).report(3).overtaken, 0u);
  }
}

TEST(Gateway, without_loss_adds_no_more_than_its_own_turns) {
  TwoSites sites({.seed = 1, .wan = {.delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);  // the first credit is on its way
  send_all_kinds(sites, 500);
  sites.run_for(Duration::from_s(2));
  expect_all_kinds(sites, 500);
  for (int site : {1, 2}) {
    for (uint16_t number : {1, 2, 3, 4}) {
      EXPECT_LT(sites.host(site).report(number).delay_max, one_way + Duration::from_ms(1));
    }
  }
  EXPECT_EQ(sites.gateway(1).counters().read_any_thread(Counter::resends_sent), 0u);
}

struct Weather {
  const char* name;
  Impairment wan;
};

class GatewayWeather : public testing::TestWithParam<Weather> {};

TEST_P(GatewayWeather, every_frame_arrives_once_and_in_its_order) {
  TwoSites sites({.seed = 7, .wan = GetParam().wan});
  ASSERT_TRUE(sites.come_up());
  send_all_kinds(sites, 3000);
  sites.run_for(Duration::from_s(6));
  expect_all_kinds(sites, 3000);
}

Impairment bursts() {
  Impairment wan{.delay = one_way};
  wan.gilbert_elliott = GilbertElliott::from_burst(20, 0.01);
  return wan;
}

Impairment cloud() {
  Impairment wan{.delay = one_way};
  wan.bursts.loss = 0.01;
  wan.bursts.profile = *find_burst_profile("amazon");
  return wan;
}

INSTANTIATE_TEST_SUITE_P(
    All, GatewayWeather,
    testing::Values(Weather{"loss_1_percent", {.loss = 0.01, .delay = one_way}},
                    Weather{"loss_5_percent", {.loss = 0.05, .delay = one_way}},
                    Weather{"bursts", bursts()}, Weather{"cloud", cloud()},
                    Weather{
                        "reordered",
                        {.delay = one_way, .reorder = 0.02, .reorder_delay = Duration::from_ms(2)}},
                    Weather{"doubled", {.loss = 0.01, .duplicate = 0.02, .delay = one_way}},
                    Weather{"damaged", {.corrupt = 0.01, .delay = one_way}}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(Gateway, a_lost_datagram_delays_no_other) {
  TwoSites sites({.seed = 3, .wan = {.loss = 0.01, .delay = one_way}});
  ASSERT_TRUE(sites.come_up());
  FlowOptions options = flow(PacketKind::Udp, 1, 5000, 50);
  options.begin = sites.now();
  options.bytes = 400;
  sites.host(1).add_flow(options);
  sites.run_for(Duration::from_s(2));
  FlowReport report = sites.host(2).report(1);
  expect_whole(report, 5000);
  std::ranges::sort(report.delays);
  EXPECT_LT(report.delays[4500], one_way + Duration::from_ms(1));  // nine in ten know of nothing
  EXPECT_GT(report.delay_max, one_way * 2);                        // and some were lost
}

/// Loses the next data packet that comes when it is told to.
class LosingPort final : public PortAround {
 public:
  LosingPort(Port& inner, bool& loses) : PortAround(inner), loses_(loses) {}
  size_t rx_burst(std::span<Packet*> out, Instant now) override {
    const size_t count = PortAround::rx_burst(out, now);
    const auto is_data = [](const Packet* packet) {
      return packet->data[0] != opcode_ud_send_only;
    };
    const auto packets = out.first(count);
    const auto it = loses_ ? std::ranges::find_if(packets, is_data) : packets.end();
    if (it == packets.end()) return count;
    loses_ = false;
    give_back({&*it, 1});
    std::shift_left(it, packets.end(), 1);
    return count - 1;
  }

 private:
  bool& loses_;
};

/// A responder's READ responses and acknowledgements, to one QP of its requester.
struct Responder {
  static constexpr uint8_t read_response_only = 0x10, acknowledge = 0x11;
  static constexpr uint16_t responses = 1, acks = 2;

  Responder() : sites(options()) {
    EXPECT_TRUE(sites.come_up());
    sites.run_for(one_way * 4);
  }
  TwoSitesOptions options() {
    TwoSitesOptions made{.seed = 41, .wan = {.delay = one_way}};
    made.wan_around = [this](int site, Port& inner) -> std::unique_ptr<Port> {
      if (site == 1) return nullptr;
      return std::make_unique<LosingPort>(inner, loses);
    };
    return made;
  }
  void send(uint16_t number, uint8_t opcode, Duration after) {
    FlowOptions options = flow(PacketKind::RoceRc, number, 1);
    options.opcode = opcode;
    options.target_qp = 77;
    options.bytes = 200;
    options.begin = sites.now() + after;
    sites.host(1).add_flow(options);
  }
  const FlowReport& report(uint16_t number) { return sites.host(2).report(number); }

  bool loses = true;
  TwoSites sites;
};

TEST(GatewayOrder, an_acknowledgement_waits_for_the_read_response_before_it) {
  Responder responder;
  responder.send(Responder::responses, Responder::read_response_only, {});
  responder.send(Responder::acks, Responder::acknowledge, Duration::from_ms(1));
  responder.sites.run_for(one_way + Duration::from_ms(5));
  EXPECT_FALSE(responder.loses);
  EXPECT_EQ(responder.report(Responder::acks).received, 0u);
  EXPECT_EQ(responder.sites.gateway(2).gateway().view(0).inbound.held, 1u);
  responder.sites.run_for(Duration::from_s(1));
  expect_whole(responder.report(Responder::responses), 1);
  expect_whole(responder.report(Responder::acks), 1);
  EXPECT_GE(responder.report(Responder::acks).last, responder.report(Responder::responses).last);
  EXPECT_GT(responder.report(Responder::acks).delay_max, one_way * 2);
}

TEST(GatewayOrder, an_acknowledgement_waits_for_no_other) {
  Responder responder;
  responder.send(Responder::acks, Responder::acknowledge, {});
  responder.send(Responder::acks + 1, Responder::acknowledge, Duration::from_ms(1));
  responder.sites.run_for(Duration::from_s(1));
  EXPECT_FALSE(responder.loses);
  expect_whole(responder.report(Responder::acks), 1);
  expect_whole(responder.report(Responder::acks + 1), 1);
  EXPECT_GT(responder.report(Responder::acks).delay_max, one_way * 2);
  EXPECT_LT(responder.report(Responder::acks + 1).delay_max, one_way + Duration::from_ms(1));
}

// ---- classes ----
// Classes that share a link, RoCE's rules of order, and a link that carries less than promised.

gateway::ClassOptions dscp_class(const char* name, uint16_t qp, uint8_t dscp, uint32_t weight) {
  gateway::ClassOptions made{.name = name, .qp = qp, .weight = weight};
  made.matches.push_back({.dscp = dscp});
  return made;
}

void offer(TwoSites& sites, uint8_t dscp, uint64_t mbps, Duration time) {
  const Rate rate = Rate::from_mbps(mbps);
  sites.host(1).add_flow({.number = dscp,
                          .rate = rate,
                          .packets = rate.bytes_in(time).count() / 1000,
                          .begin = sites.now(),
                          .dscp = dscp});
}

uint64_t arrived_between(const FlowReport& report, Instant from, Instant to) {
  uint64_t count = 0;
  for (const Instant at : report.arrivals) count += at >= from && at < to;
  return count;
}

TEST(GatewayClasses, share_a_full_link_by_weight_and_the_idle_ones_share_is_the_others) {
  TwoSitesOptions options{
      .seed = 79, .wan = {.delay = one_way}, .rate = Rate::from_mbps(100), .messages = 64};
  options.classes = {dscp_class("light", 0, 8, 1), dscp_class("heavy", 1, 16, 3)};
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  const Instant begin = sites.now();
  offer(sites, 8, 120, Duration::from_s(4));
  offer(sites, 16, 120, Duration::from_s(2));
  sites.run_for(Duration::from_s(5));
  const FlowReport &light = sites.host(2).report(8), &heavy = sites.host(2).report(16);
  const auto second = Duration::from_s(1);
  const auto of_light =
      static_cast<double>(arrived_between(light, begin + second / 2, begin + second * 2));
  const auto of_heavy =
      static_cast<double>(arrived_between(heavy, begin + second / 2, begin + second * 2));
  EXPECT_NEAR(of_light / (of_light + of_heavy), 0.25, 0.0125);
  EXPECT_GT((of_light + of_heavy) * 8000 / 1.5, 0.9e6 * 100);  // headers take the rest
  const auto alone =
      static_cast<double>(arrived_between(light, begin + second * 5 / 2, begin + second * 7 / 2));
  EXPECT_GT(alone * 8000, 0.9e6 * 100);
}

TEST(GatewayRate, finds_a_link_of_sixty_per_cent_and_keeps_nine_tenths_of_it) {
  TwoSitesOptions options{.seed = 83,
                          .wan = {.delay = one_way},
                          .rate = Rate::from_mbps(100),
                          .messages = 64,
                          .adapt = true};
  TwoSites sites(options);
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  offer(sites, 8, 95, Duration::from_s(10));
  sites.run_for(Duration::from_s(1));
  sites.set_wan(
      {.rate = Rate::from_mbps(60), .queue_time = Duration::from_ms(50), .delay = one_way});
  const Instant changed = sites.now();
  sites.run_for(Duration::from_s(2));
  EXPECT_LT(sites.gateway(1).link().rate().bps(), 76'000'000u);
  sites.run_for(Duration::from_s(8));
  const FlowReport& report = sites.host(2).report(8);
  EXPECT_EQ(report.wrong + report.doubled, 0u);
  const auto kept = static_cast<double>(
      arrived_between(report, changed + Duration::from_s(3), changed + Duration::from_s(8)));
  // Of the bytes of slots, of which frames and slots have headers of their own.
  EXPECT_GT(kept * 8000 / 5, 0.9 * 60e6 * 1000 / 1060);
}

FlowOptions roce(uint16_t number, uint8_t opcode, Instant begin) {
  return {.kind = PacketKind::RoceRc,
          .number = number,
          .bytes = 200,
          .rate = Rate::from_mbps(8),
          .packets = 4000,
          .begin = begin,
          .opcode = opcode};
}

constexpr uint8_t write_only = 0x0a, read_response_only = 0x10, acknowledge = 0x11, cnp = 0x81;

// All four lose alike; what differs is whom they wait for.
TEST(GatewayOrder, is_what_roce_needs_and_no_more) {
  TwoSites sites({.seed = 89, .wan = {.loss = 0.02, .delay = one_way}, .messages = 64});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(one_way * 4);
  const Instant begin = sites.now();
  uint16_t number = 0;
  for (const uint8_t opcode : {write_only, read_response_only, acknowledge, cnp}) {
    ++number;
    sites.host(1).add_flow(roce(number, opcode, begin + Duration::from_us(20) * number));
  }
  sites.run_for(Duration::from_s(3));
  for (const uint16_t each : {1, 2, 3, 4}) {
    SCOPED_TRACE(each);
    const FlowReport& report = sites.host(2).report(each);
    EXPECT_EQ(report.received, 4000u);
    EXPECT_EQ(report.wrong + report.doubled, 0u);
    // Requests and responses keep their order; acknowledgements and notices overtake.
    if (each <= 2) {
      EXPECT_EQ(report.overtaken, 0u);
    } else {
      EXPECT_GT(report.overtaken, 20u);
    }
  }
}

// ---- coding ----
// Policies that code, under whole gateways: repair that was sent ahead reaches hosts in order.

/// An RC flow of about 100 Mbit/s behind some loss.
const FlowReport& send_rc(TwoSites& sites, uint64_t packets) {
  FlowOptions flow;
  flow.kind = PacketKind::RoceRc;
  flow.bytes = 1060;
  flow.rate = Rate::from_mbps(100);
  flow.packets = packets;
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(4));
  return sites.host(2).report(1);
}

Duration delay_at(const FlowReport& report, double share) {
  std::vector<Duration> delays = report.delays;
  const auto at =
      delays.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(delays.size() - 1));
  std::ranges::nth_element(delays, at);
  return *at;
}

class CodingGateway : public testing::TestWithParam<const cw_policy_ops*> {};

TEST_P(CodingGateway, brings_every_frame_once_and_in_its_order) {
  for (const double loss : {0.001, 0.01, 0.05}) {
    SCOPED_TRACE(loss);
    TwoSites sites({.seed = 11, .wan = {.loss = loss, .delay = one_way}, .policy = GetParam()});
    ASSERT_TRUE(sites.come_up());
    const FlowReport& report = send_rc(sites, 20'000);
    EXPECT_EQ(report.received, 20'000u);
    EXPECT_EQ(report.wrong, 0u);
    EXPECT_EQ(report.doubled, 0u);
    EXPECT_EQ(report.overtaken, 0u);
    EXPECT_GT(sites.gateway(2).counters().read_any_thread(Counter::slots_rebuilt), 0u);
  }
}

// What hosts that wait in order gain: a loss costs the rest of a block, not a round trip.
TEST_P(CodingGateway, repairs_a_loss_before_a_resend_could_come) {
  TwoSites sites({.seed = 12, .wan = {.loss = 0.01, .delay = one_way}, .policy = GetParam()});
  ASSERT_TRUE(sites.come_up());
  const FlowReport& report = send_rc(sites, 20'000);
  EXPECT_LT(delay_at(report, 0.5), one_way + Duration::from_ms(1));
  // Two losses of one XOR row are a matter of a wider layer, which takes longer to fill.
  const double share = GetParam() == cw_policy_layered_interleave() ? 0.95 : 0.99;
  EXPECT_LT(delay_at(report, share), one_way * 2);

  TwoSites resending({.seed = 12, .wan = {.loss = 0.01, .delay = one_way}});
  ASSERT_TRUE(resending.come_up());
  EXPECT_GT(delay_at(send_rc(resending, 20'000), share), one_way * 2);
}

TEST_P(CodingGateway, lone_packets_are_repaired_within_the_age_of_a_block) {
  TwoSites sites({.seed = 13, .wan = {.loss = 0.05, .delay = one_way}, .policy = GetParam()});
  ASSERT_TRUE(sites.come_up());
  FlowOptions flow;
  flow.kind = PacketKind::Tcp;
  flow.bytes = 200;
  flow.rate = Rate::from_bps(200 * 8 * 50);  // one every 20 ms
  flow.packets = 150;
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(6));
  const FlowReport& report = sites.host(2).report(1);
  EXPECT_EQ(report.received, 150u);
  EXPECT_LT(delay_at(report, 0.98), one_way * 2);
}

INSTANTIATE_TEST_SUITE_P(All, CodingGateway,
                         testing::Values(cw_policy_erasure(), cw_policy_hybrid(),
                                         cw_policy_layered_interleave()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace

}  // namespace cw::sim
