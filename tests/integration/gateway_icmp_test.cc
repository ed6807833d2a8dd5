// What strangers say of the line by ICMP, which is believed by nobody, and a line that really has
// become too small, which is told.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/two_gateways.h"
#include "tests/lab/hostile.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Json = nlohmann::json;

const Arguments good_line{"--rtt", "25ms", "--rate", "200Mbit/s"};
/// Of payload: the packet of a host's MTU.
constexpr size_t long_datagram = 1472;

class GatewayIcmp : public TwoGateways, public testing::WithParamInterface<bool> {
 protected:
  GatewayFile file() const { return {.is_wan_v6 = GetParam(), .wan_more = "paths = 4\n"}; }

  /// About A's packets, on each of its paths.
  std::vector<Frame> complaints_to_a() {
    Recorder recorder(sites().space(At::Between), "ma");
    expect_all(exchange({}, milliseconds(500)));
    return make_complaints(recorder.take());
  }
  /// What the kernel of A says of the way to B.
  std::string route_of_a() {
    return sites().space(At::GatewayA).run({"ip", "route", "get", to_b()}).out;
  }
  const char* to_b() const { return GetParam() ? site_b.wan_v6 : site_b.wan; }
};

TEST_P(GatewayIcmp, of_strangers_stops_nothing) {
  build({}, file(), good_line);
  const std::vector<Frame> complaints = complaints_to_a();
  EXPECT_EQ(complaints.size(), 4u * 6u);
  Flood flood(sites().space(At::Between), "ma", complaints, 2000);
  expect_all(exchange({.bytes = long_datagram}, milliseconds(1500)));
  flood.stop();
  EXPECT_GE(flood.sent(), complaints.size());
  expect_all(exchange({.bytes = long_datagram}, milliseconds(300)));
  const Json status = a().status();
  tell(status["wan"].dump());
  EXPECT_GT(status["wan"]["icmp_errors"], 0);
  EXPECT_EQ(status["wan"]["tx_too_big"], 0);
  EXPECT_EQ(status["wan"]["tx_lost"], 0);
  EXPECT_TRUE(status["alarms"].empty()) << status["alarms"];
  EXPECT_EQ(status["counters"]["epochs"], 1);
}

TEST_P(GatewayIcmp, that_the_kernel_believed_before_the_start_stops_nothing) {
  build({}, file(), good_line);
  std::vector<Frame> complaints = complaints_to_a();
  a().kill();
  // Somebody else of this machine, who learns a path MTU from what looks like his packets.
  Frame one = complaints.front();
  const Space& machine = sites().space(At::GatewayA);
  const int believer = machine.socket(GetParam() ? AF_INET6 : AF_INET, SOCK_DGRAM);
  const size_t quoted_udp = one.size() - 8;
  const auto port = static_cast<uint16_t>(one[quoted_udp] << 8 | one[quoted_udp + 1]);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  sockaddr_in v4 = socket_name("0.0.0.0", port);
  const auto* const name =
      GetParam() ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
  ASSERT_EQ(bind(believer, name, GetParam() ? sizeof v6 : sizeof v4), 0);
  Flood flood(sites().space(At::Between), "ma", {one}, 100);
  const auto end = Time::now() + seconds(20);
  while (route_of_a().find("mtu") == std::string::npos && Time::now() < end) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  flood.stop();
  close(believer);
  EXPECT_NE(route_of_a().find("mtu"), std::string::npos) << route_of_a();
  tell(route_of_a());
  a().start();
  ASSERT_TRUE(a().wait_up()) << a().program().err_so_far();
  expect_all(exchange({.bytes = long_datagram}, milliseconds(500)));
}

INSTANTIATE_TEST_SUITE_P(Over, GatewayIcmp, testing::Bool(),
                         [](const auto& each) { return each.param ? "ipv6" : "ipv4"; });

class GatewayLine : public TwoGateways {};

TEST_F(GatewayLine, that_becomes_too_small_in_the_middle_is_told_and_so_is_its_end) {
  const std::string control = folder().path("wan");
  Arguments line = good_line;
  line.insert(line.end(), {"--control", control});
  build({}, {.wan_more = "paths = 2\n"}, line);
  expect_all(exchange({.bytes = long_datagram}, milliseconds(300)));
  const auto carry_at_most = [&](const char* mtu) {
    const Outcome outcome = sites().space(At::Between).run({CW_WAN_PROGRAM, "set", control, mtu});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
  };
  carry_at_most("mtu=1280B");
  for (Gateway* each : {&a(), &b()}) {
    for (const char* path : {"path=0", "path=1"}) {
      const std::string peer = each == &a() ? "peer=b " : "peer=a ";
      EXPECT_TRUE(each->program().wait_for("warning path_too_small " + peer + path))
          << each->program().err_so_far();
    }
    const Json status = each->status();
    tell(status["alarms"].dump());
    EXPECT_EQ(status["alarms"].size(), 2u);
    EXPECT_TRUE(status["peers"][0]["paths"][1]["is_too_small"]);
  }
  carry_at_most("mtu=9000B");
  for (Gateway* each : {&a(), &b()}) {
    EXPECT_TRUE(each->program().wait_for("path_fits")) << each->program().err_so_far();
  }
  std::this_thread::sleep_for(seconds(1));
  expect_all(exchange({.bytes = long_datagram}, milliseconds(500)));
  EXPECT_TRUE(a().status()["alarms"].empty());
}

TEST_F(GatewayLine, whose_interface_becomes_too_small_is_told) {
  build({}, {}, good_line);
  expect_all(exchange({.bytes = long_datagram}, milliseconds(300)));
  sites().space(At::GatewayA).must("ip link set dev wa mtu 1300");
  (void)exchange({.bytes = long_datagram}, milliseconds(300));
  EXPECT_TRUE(a().program().wait_for("warning too_big ")) << a().program().err_so_far();
  EXPECT_GT(a().status()["wan"]["tx_too_big"], 0);
  EXPECT_FALSE(a().status()["alarms"].empty());
  sites().space(At::GatewayA).must("ip link set dev wa mtu 1500");
  EXPECT_TRUE(a().program().wait_for("too_big_no_more")) << a().program().err_so_far();
  expect_all(exchange({.bytes = long_datagram}, milliseconds(500)));
}

}  // namespace
}  // namespace cw::lab
