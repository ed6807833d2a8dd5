// Whole frames between whole sites: what hosts may rely on, whatever the wire does.
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/wire/opcode.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {

using gateway::PacketKind;

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

}  // namespace
}  // namespace cw::sim
