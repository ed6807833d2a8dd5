// Two QPs of one host in one class and one stream, of which only one loses packets on the way: its
// holes are its own business. Percentiles of one run, whose first half loses nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "policies/policies.h"
#include "tests/sim/gateway/two_sites.h"
#include "tests/sim/tally_port.h"

namespace cw::sim {
namespace {

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

}  // namespace
}  // namespace cw::sim
