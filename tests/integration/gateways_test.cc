// Two gateways from their files, real traffic between two hosts, and a bad line between them.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/integration/two_gateways.h"
#include "tests/lab/connections.h"
#include "tests/lab/pings.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Json = nlohmann::json;

class Gateways : public TwoGateways {
 protected:
  struct Tcp {
    double bytes = 0;
    int retransmits = 0;  ///< segments that the sender sent again
  };
  /// What becomes of so much by one TCP connection of iperf3 from host A to host B.
  Tcp run_tcp(const char* source, const char* target, const char* how_much) {
    Program server(sites().namespace_of(At::HostB), {"iperf3", "-s", "-1", "--forceflush"});
    sites().space(At::HostB).wait_for_listener(5201);
    const Outcome outcome =
        sites().space(At::HostA).run({"iperf3", "-B", source, "-c", target, "-n", how_much, "-C",
                                      "cubic", "--json", "--connect-timeout", "20000"});
    const Json report = Json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
    if (outcome.status != 0 || !report.is_object()) return {};
    const Json &sent = report["end"]["sum_sent"], &received = report["end"]["sum_received"];
    const Tcp tcp{received["bytes"], sent["retransmits"]};
    tell(std::string("TCP to ") + target + ": " + std::to_string(tcp.retransmits) +
         " segments again, " + std::to_string(received["bits_per_second"].get<double>() * 1e-6) +
         " Mbit/s");
    return tcp;
  }
};

const Arguments bad_line{"--rtt", "25ms", "--loss", "1%", "--rate", "200Mbit/s"};

#ifdef CW_HAVE_DPDK
TEST_F(Gateways, carry_ping_and_udp_over_dpdk_and_a_line_that_loses) {
  prepare({}, {}, bad_line);
  for (const auto& [gateway, interface] : {std::pair(&a(), "wa"), std::pair(&b(), "wb")}) {
    GatewayFile file;
    file.wan_more = std::string("port = \"dpdk\"\ndevice = \"net_af_packet0,iface=") + interface +
                    ",blocksz=65536,framesz=2048,framecnt=1024\"\n";
    gateway->configure(file);
    gateway->start();
  }
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up()) << each->program().err_so_far();
  Pings pings(sites().space(At::HostA), site_b.host);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pings.ping(100, seconds(10))) << i;
  expect_all(exchange({.per_second = 2000}, seconds(1)));
  const Json wan = a().status()["wan"];
  EXPECT_EQ(wan["driver"], "net_af_packet");
  EXPECT_EQ(wan["rx_malformed"], 0);
}
#endif

TEST_F(Gateways, carry_ping_and_udp_in_both_families_over_a_line_that_loses) {
  build({}, {}, bad_line);
  for (const char* target : {site_b.host, site_b.host_v6}) {
    Pings pings(sites().space(At::HostA), target);
    for (int i = 0; i < 20; ++i) {
      const auto time = pings.ping(100, seconds(10));
      ASSERT_TRUE(time) << target << ", ping " << i;
      EXPECT_GE(*time, milliseconds(25));
    }
  }
  expect_all(exchange({.per_second = 5000}, seconds(1)));
  expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6}, seconds(1)));
  expect_all(
      exchange({.from = At::HostB, .to = At::HostA, .source = site_b.host, .target = site_a.host},
               seconds(1)));
}

// How fast depends on the machine, and ./demo tells; here it is counted what TCP finds lost.
TEST_F(Gateways, carry_tcp_in_both_families_and_leave_it_less_to_send_again) {
  build({}, {}, bad_line);
  sites().route_beside();
  const Tcp plain = run_tcp(site_a.beside, site_b.beside, "4M");
  EXPECT_GT(plain.retransmits, 10);  // of some 2,900 segments
  for (const auto& [source, target] :
       {std::pair{site_a.host, site_b.host}, std::pair{site_a.host_v6, site_b.host_v6}}) {
    const Tcp mended = run_tcp(source, target, "4M");
    EXPECT_GE(mended.bytes, 1e6) << target;
    EXPECT_LT(mended.retransmits, plain.retransmits) << target;
  }
}

TEST_F(Gateways, carry_two_hundred_connections_at_once) {
  build({}, {}, bad_line);
  const ConnectionCounts counts =
      run_connections(sites(), {.connections = 200, .bytes = 20'000}, seconds(60));
  tell(std::to_string(counts.whole) + " connections whole, " + std::to_string(counts.failed) +
       " failed");
  EXPECT_EQ(counts.whole, 200u);
  EXPECT_EQ(counts.wrong, 0u);
}

TEST_F(Gateways, talk_to_each_other_over_ipv6) {
  build({}, {.is_wan_v6 = true}, bad_line);
  expect_all(exchange({}, seconds(1)));
  expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6}, seconds(1)));
}

struct Lengths {
  uint32_t lan_mtu, wan_mtu;
  friend void PrintTo(const Lengths& it, std::ostream* out) { *out << it.lan_mtu; }
};
class GatewayLengths : public Gateways, public testing::WithParamInterface<Lengths> {};

TEST_P(GatewayLengths, carry_packets_of_every_length_that_the_lan_allows) {
  const auto [lan_mtu, wan_mtu] = GetParam();
  build({.lan_mtu = lan_mtu, .wan_mtu = wan_mtu}, {.lan_mtu = lan_mtu, .wan_mtu = wan_mtu},
        bad_line);
  for (const size_t bytes : {size_t{24}, size_t{lan_mtu / 2}, size_t{lan_mtu - 28}}) {
    expect_all(exchange({.bytes = bytes, .per_second = 500}, milliseconds(400)));
  }
  expect_all(exchange({.source = site_a.host_v6,
                       .target = site_b.host_v6,
                       .bytes = lan_mtu - 48,
                       .per_second = 500},
                      milliseconds(400)));
  EXPECT_GE(run_tcp(site_a.host, site_b.host, "8M").bytes, 1e6);
}

INSTANTIATE_TEST_SUITE_P(Mtu, GatewayLengths,
                         testing::Values(Lengths{1280, 1280}, Lengths{9000, 9000},
                                         Lengths{9000, 1500}),
                         [](const auto& each) {
                           return "lan_" + std::to_string(each.param.lan_mtu) + "_wan_" +
                                  std::to_string(each.param.wan_mtu);
                         });

struct Line {
  const char* name;
  const char* policy;
  Arguments options;
  friend void PrintTo(const Line& it, std::ostream* out) { *out << it.name; }
};
class GatewayLines : public Gateways, public testing::WithParamInterface<Line> {};

TEST_P(GatewayLines, lose_nothing) {
  const std::string classes = std::string("[[class]]\nname = \"all\"\npolicy = \"") +
                              GetParam().policy + "\"\n" + patient_class;
  build({}, {.classes = classes}, GetParam().options);
  expect_all(exchange({.per_second = 6000}, seconds(2)));
  const Json line = Json::parse(sites().part());
  const Json& one_way = line["a_to_b"];
  tell("the line lost " + one_way["lost"]["total"].dump() + " of " + one_way["received"].dump());
  EXPECT_GT(one_way["lost"]["total"].get<uint64_t>() + one_way.value("reordered", uint64_t{0}), 0u);
}

const Arguments bursts{"--rtt", "25ms", "--gilbert", "8,1%", "--rate", "200Mbit/s"};
const Arguments one_percent{"--rtt", "25ms", "--loss", "1%"};

INSTANTIATE_TEST_SUITE_P(
    All, GatewayLines,
    testing::Values(Line{"bursts", "selective_repeat", bursts},
                    Line{
                        "a_cloud", "selective_repeat", {"--rtt", "25ms", "--profile", "google:1%"}},
                    Line{"reordering",
                         "selective_repeat",
                         {"--rtt", "25ms", "--loss", "0.5%", "--reorder", "5%,3ms"}},
                    Line{"jitter",
                         "selective_repeat",
                         {"--rtt", "25ms", "--loss", "0.5%", "--jitter", "2ms,1ms,reorders"}},
                    Line{"erasure", "erasure", one_percent}, Line{"hybrid", "hybrid", one_percent},
                    Line{"layered_bursts", "layered_interleave", bursts}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace cw::lab
