// What senders that are told of congestion by loss get through two gateways, and what their queue
// does to others. Virtual time: every figure is exact for its seed.
#include "tests/sim/gateway/tcp.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <ostream>
#include <string>

#include "tests/sim/gateway/sites.h"

namespace cw::sim {
namespace {

constexpr Rate line_rate = Rate::from_mbps(500);
constexpr uint32_t frame_bytes = 1500;

struct Line {
  const char* policy;
  int rtt_ms;
  double loss;
  double share;  ///< of what the line has left for hosts, at least

  friend void PrintTo(const Line& it, std::ostream* out) {
    *out << it.policy << ", " << it.rtt_ms << " ms, " << it.loss * 100 << " %";
  }
};

SitesOptions options_of(const Line& line) {
  SiteText text;
  text.rtt = std::to_string(line.rtt_ms) + " ms";
  text.classes = "[[class]]\nname = \"all\"\npolicy = \"" + std::string(line.policy) + "\"\n";
  Impairment wan{.rate = line_rate, .loss = line.loss, .delay = Duration::from_ms(line.rtt_ms) / 2};
  wan.queue_time = Duration::from_ms(100);
  return {.seed = 3, .files = site_files(2, text), .wan = wan};
}

/// What headers and the policy's overhead leave: that much comes of datagrams at the line's rate.
double left_for_hosts(const Line& line) {
  Sites sites(options_of(line));
  EXPECT_TRUE(sites.come_up());
  FlowOptions flow{.bytes = frame_bytes, .rate = line_rate, .packets = 1'000'000};
  flow.begin = sites.now();
  sites.host(1).add_flow(flow);
  sites.run_for(Duration::from_s(1));
  const uint64_t before = sites.host(2).report(1).received;
  sites.run_for(Duration::from_s(2));
  return static_cast<double>((sites.host(2).report(1).received - before) * frame_bytes) / 2;
}

class GatewayTcp : public testing::TestWithParam<Line> {};

// Once it has started: that repair comes an RTT late ends CUBIC's doubling early (HyStart), and it
// then needs seconds over a long line.
TEST_P(GatewayTcp, one_cubic_flow_fills_the_line) {
  const Line& line = GetParam();
  Sites sites(options_of(line));
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(400));
  const TcpOptions options{.bytes = frame_bytes, .begin = sites.now()};
  TcpSender sender(options);
  TcpReceiver receiver(options);
  sites.host(1).run(sender);
  sites.host(2).run(receiver);
  constexpr Duration start = Duration::from_s(8), time = Duration::from_s(10);
  sites.run_for(start);
  const uint64_t before = receiver.good_bytes();
  sites.run_for(time);
  const double most = left_for_hosts(line);
  const double first = static_cast<double>(before) / start.seconds() / most;
  const double share = static_cast<double>(receiver.good_bytes() - before) / time.seconds() / most;
  std::printf("%.3f of %.0f Mbit/s (%.3f in the first seconds), %lu cuts, %lu sent again\n", share,
              most * 8e-6, first, sender.cut_count(), sender.resent_count());
  EXPECT_GE(share, line.share);
  EXPECT_EQ(sender.timeout_count(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Over, GatewayTcp,
    testing::Values(Line{"selective_repeat", 20, 0, 0.95}, Line{"selective_repeat", 20, 0.01, 0.95},
                    Line{"erasure", 20, 0.01, 0.95}, Line{"hybrid", 20, 0.01, 0.95},
                    Line{"selective_repeat", 100, 0.001, 0.90}, Line{"erasure", 100, 0.001, 0.90},
                    Line{"hybrid", 100, 0.001, 0.90}),
    [](const auto& each) {
      return std::string(each.param.policy) + "_" + std::to_string(each.param.rtt_ms) + "_ms_" +
             std::to_string(static_cast<int>(each.param.loss * 1000)) + "_in_1000";
    });

struct Flow {
  Flow(const TcpOptions& options, Sites& sites) : sender(options), receiver(options) {
    sites.host(1).run(sender);
    sites.host(2).run(receiver);
  }
  TcpSender sender;
  TcpReceiver receiver;
};

// Eight flows that always have more, and one that sends little.
TEST(GatewayFair, flows_share_alike_and_who_sends_little_does_not_wait) {
  SiteText text{.rate = "100 Mbit/s"};
  text.classes = "[[class]]\nname = \"all\"\nfair = true\n";
  Sites sites({.seed = 4, .files = site_files(2, text), .wan = {.delay = Duration::from_ms(10)}});
  ASSERT_TRUE(sites.come_up());
  sites.run_for(Duration::from_ms(100));
  std::deque<Flow> flows;
  for (uint16_t i = 0; i < 8; ++i) {
    const auto number = static_cast<uint16_t>(100 + i);
    flows.emplace_back(TcpOptions{.number = number, .begin = sites.now()}, sites);
  }
  FlowOptions little{.bytes = 200, .rate = Rate::from_bps(160'000), .packets = 1000};
  little.begin = sites.now();
  sites.host(1).add_flow(little);
  sites.run_for(Duration::from_s(2));
  uint64_t before[8];
  for (size_t i = 0; i < 8; ++i) before[i] = flows[i].receiver.good_bytes();
  sites.run_for(Duration::from_s(8));
  double sum = 0, squares = 0;
  for (size_t i = 0; i < 8; ++i) {
    const auto bytes = static_cast<double>(flows[i].receiver.good_bytes() - before[i]);
    sum += bytes;
    squares += bytes * bytes;
  }
  const double jain = sum * sum / 8 / squares;
  const FlowReport& report = sites.host(2).report(1);
  std::printf("Jain's index %.3f, %.1f Mbit/s, at most %.1f ms for who sends little\n", jain,
              sum / 1e6, report.delay_max.ms());
  EXPECT_GT(jain, 0.95);
  EXPECT_GT(sum / 1e6, 85) << "of 92 that headers leave";
  EXPECT_GE(report.received, 990u);
  EXPECT_LT(report.delay_max, Duration::from_ms(10 + 5));
}

}  // namespace
}  // namespace cw::sim
