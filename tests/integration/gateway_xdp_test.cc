// Gateways over AF_XDP on both sides: on the hosts' cable and on the line's, whose interfaces stay
// the kernel's for all that is not the gateway's.
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

#include "tests/integration/hosts_of_two_gateways.h"

#include "control/json/json.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class GatewaysOverXdp : public HostsOfTwoGateways {
 protected:
  void build_xdp(const GatewayFile& file = {.is_over_xdp = true, .is_lan_over_xdp = true},
                 const Arguments& line = {"--rtt", "10ms", "--rate", "200Mbit/s"}) {
    prepare({.lan_offloads = false}, file, line);
    for (Gateway* each : {&a(), &b()}) each->start();
    for (Gateway* each : {&a(), &b()}) {
      ASSERT_TRUE(each->wait_up(seconds(20))) << each->program().err_so_far();
    }
    let_kernels_talk();
  }

  bool has_program(At place, const std::string& interface) {
    const Outcome shown = sites().space(place).run({"ip", "-d", "link", "show", "dev", interface});
    return shown.out.find("xdp") != std::string::npos;
  }
};

TEST_F(GatewaysOverXdp, carry_ping_udp_and_tcp_of_hosts_and_leave_the_kernel_its_own) {
  build_xdp();
  for (const char* target : {site_b.host, site_b.host_v6}) {
    ASSERT_TRUE(meet(target)) << target;
    expect_pings(target);
  }
  expect_pings(site_a.gateway);  // the kernel's answers, on the same interfaces
  expect_pings(site_a.wan);
  expect_all(exchange({.per_second = 500}, seconds(1)));
  expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6, .per_second = 500},
                      seconds(1)));
  EXPECT_GT(tcp_mbps(), 1);
  const Json status = a().status();
  for (const char* side : {"lan", "wan"}) {
    EXPECT_EQ(status[side]["driver"], "af_xdp") << side;
    EXPECT_EQ(status[side]["rx_malformed"], 0) << side;
    EXPECT_EQ(status[side]["tx_errors"], 0) << side;
  }
  // Two hops: the gateways, as routers, and no kernel's.
  Pings pings(sites().space(At::HostA), site_b.host);
  pings.set_hops(3);
  EXPECT_TRUE(pings.ping(100, seconds(2)));
  pings.set_hops(2);
  EXPECT_FALSE(pings.ping(100, seconds(2)));
}

TEST_F(GatewaysOverXdp, lose_nothing_where_the_line_does) {
  build_xdp({.rate = "100 Mbit/s", .is_over_xdp = true},
            {"--rtt", "25ms", "--loss", "1%", "--rate", "200Mbit/s"});
  Pings pings(sites().space(At::HostA), site_b.host);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(pings.ping(100, seconds(10))) << i;
  expect_all(exchange({.per_second = 2000}, seconds(1)));
  EXPECT_GT(number(a().status()["counters"], "resends_sent") +
                number(a().status()["counters"], "repairs_sent"),
            0u);
}

TEST_F(GatewaysOverXdp, are_a_peer_of_one_over_sockets) {
  prepare({.lan_offloads = false}, {}, {"--rtt", "10ms", "--rate", "200Mbit/s"});
  GatewayFile sockets;
  sockets.wan_more = "icrc = \"exact\"\n";
  a().configure(GatewayFile{.is_over_xdp = true, .is_lan_over_xdp = true});
  b().configure(sockets);
  for (Gateway* each : {&a(), &b()}) each->start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up(seconds(20)));
  ASSERT_TRUE(meet(site_b.host));
  expect_all(exchange({.per_second = 500}, seconds(1)));
}

TEST_F(GatewaysOverXdp, count_what_strangers_send_before_it_costs_anything) {
  build_xdp();
  ASSERT_TRUE(meet(site_b.host));
  // From an address beside the peer's, to the gateway's port; and from it to another port.
  sites().space(At::GatewayB).must("ip addr add 192.0.2.77/24 dev wb");
  const uint64_t before = number(a().status()["wan"]["refused"], "stranger");
  const int fd = sites().space(At::GatewayB).socket(AF_INET, SOCK_DGRAM);
  const sockaddr_in own = socket_name("192.0.2.77", 0), to = socket_name(site_a.wan, 4791);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  for (int i = 0; i < 10; ++i) {
    const std::array<uint8_t, 64> bytes{0x29};
    ASSERT_EQ(sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                     sizeof to),
              static_cast<ssize_t>(bytes.size()));
  }
  close(fd);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_EQ(number(a().status()["wan"]["refused"], "stranger"), before + 10);
  EXPECT_TRUE(meet(site_b.host));
}

TEST_F(GatewaysOverXdp, take_routes_while_they_run) {
  prepare({.lan_offloads = false}, {.is_over_xdp = true, .is_lan_over_xdp = true},
          {"--rtt", "10ms", "--rate", "200Mbit/s"});
  const GatewayFile file{.is_over_xdp = true, .is_lan_over_xdp = true};
  const std::string all = file.text(true, folder());
  const std::string v6 = std::string(", \"") + site_b.prefix_v6 + "\"";
  std::string less = all;
  less.erase(less.find(v6), v6.size());
  a().configure(less);
  for (Gateway* each : {&a(), &b()}) each->start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up(seconds(20)));
  ASSERT_TRUE(meet(site_b.host));
  Pings pings(sites().space(At::HostA), site_b.host_v6);
  const auto is_answered = [&] { return pings.ping(100, seconds(1)).has_value(); };
  EXPECT_FALSE(is_answered()) << "it is the kernel's, which has no route";
  const auto reload = [&](const std::string& text) {
    a().configure(text);
    a().program().signal(SIGHUP);
    return a().program().wait_for("info reloaded");
  };
  ASSERT_TRUE(reload(all)) << a().program().err_so_far();
  EXPECT_TRUE(meet(site_b.host_v6));
  EXPECT_TRUE(is_answered());
}

TEST_F(GatewaysOverXdp, go_on_when_an_interface_has_gone_and_come_back) {
  build_xdp();
  ASSERT_TRUE(meet(site_b.host));
  expect_kernels_undisturbed();
  sites().take_lan_away();
  ASSERT_TRUE(a().program().wait_for("device_trouble port=lan")) << a().program().err_so_far();
  EXPECT_TRUE(a().wait_up(seconds(1))) << "the WAN's is there";
  sites().bring_lan_back();
  ASSERT_TRUE(a().program().wait_for("device_well port=lan")) << a().program().err_so_far();
  ASSERT_TRUE(meet(site_b.host));
  expect_all(exchange({.per_second = 500}, seconds(1)));
  expect_pings(site_a.gateway);
  let_kernels_talk();
}

TEST_F(GatewaysOverXdp, leave_an_interface_as_they_found_it_however_they_end) {
  build_xdp();
  ASSERT_TRUE(meet(site_b.host));
  EXPECT_TRUE(has_program(At::GatewayA, "la"));
  a().kill();
  expect_pings(site_a.gateway);  // nothing is swallowed
  EXPECT_FALSE(has_program(At::GatewayA, "la"));
  expect_pings(site_a.wan);
  a().start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up(seconds(20)));
  ASSERT_TRUE(meet(site_b.host));
  a().stop();
  for (const char* interface : {"la", "wa"}) {
    EXPECT_FALSE(has_program(At::GatewayA, interface)) << interface;
  }
}

}  // namespace
}  // namespace cw::lab
