// Gateways whose LAN is an Ethernet of DPDK's: the hosts' cables through net_af_packet, with the
// kernel at the same interface, which must neither forward nor complain.
#include <chrono>
#include <string>

#include "tests/integration/hosts_of_two_gateways.h"

#include "control/json/json.h"

namespace cw::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string af_packet(int number, const std::string& interface) {
  return "port = \"dpdk\"\ndevice = \"net_af_packet" + std::to_string(number) +
         ",iface=" + interface + ",blocksz=65536,framesz=2048,framecnt=1024\"\n";
}

class GatewaysOverDpdk : public HostsOfTwoGateways {
 protected:
  struct Site {
    Gateway& gateway;
    const SiteAddresses& addresses;
    std::string lan, wan;
  };

  void build_dpdk(bool is_wan_too) {
    prepare_for_dpdk();
    for (const Site& site : {Site{a(), site_a, "la", "wa"}, Site{b(), site_b, "lb", "wb"}}) {
      GatewayFile file;
      std::string text = file.text(&site.addresses == &site_a, folder());
      const std::string tun = "device = \"causeway0\"\n", table = "[wan]\n";
      text.replace(text.find(tun), tun.size(),
                   af_packet(0, site.lan) + "addresses = [\"" + site.addresses.gateway +
                       "/24\", \"" + site.addresses.gateway_v6 + "/64\"]\n");
      if (is_wan_too) text.insert(text.find(table) + table.size(), af_packet(1, site.wan));
      site.gateway.configure(text);
      site.gateway.start();
    }
    for (Gateway* each : {&a(), &b()}) {
      ASSERT_TRUE(each->wait_up(seconds(20))) << each->program().err_so_far();
    }
  }

  /// Packets that a gateway's kernel has passed on, or told somebody that it does not.
  uint64_t meddled(At place) {
    const Outcome outcome = sites().space(place).run(
        {"sh", "-c",
         "nstat -asz IpForwDatagrams Ip6OutForwDatagrams IcmpOutDestUnreachs "
         "IcmpOutRedirects Icmp6OutDestUnreachs Icmp6OutRedirects | "
         "awk '!/^#/{sum += $2} END {print sum + 0}'"});
    return std::strtoull(outcome.out.c_str(), nullptr, 10);
  }

  void expect_hosts_served() {
    for (const char* target : {site_b.host, site_b.host_v6}) {
      ASSERT_TRUE(meet(target)) << target;
      expect_pings(target);
    }
    expect_pings(site_a.gateway);  // the kernel's answer
    expect_pings(site_a.wan);      // and for an address of its other interface
    expect_all(exchange({.per_second = 500}, seconds(1)));
    expect_all(exchange({.source = site_a.host_v6, .target = site_b.host_v6, .per_second = 500},
                        seconds(1)));
    EXPECT_GT(tcp_mbps(), 1);
  }
};

TEST_F(GatewaysOverDpdk, carry_ping_udp_and_tcp_of_hosts_on_an_interface_of_dpdk) {
  build_dpdk(false);
  const uint64_t before_a = meddled(At::GatewayA), before_b = meddled(At::GatewayB);
  expect_hosts_served();
  const Json lan = a().status()["lan"];
  EXPECT_EQ(lan["driver"], "net_af_packet");
  EXPECT_EQ(lan["interface"], "la");
  EXPECT_EQ(lan["rx_joined"], 0);
  EXPECT_EQ(lan["rx_malformed"], 0);
  EXPECT_GT(lan["rx_finished"], 1000);  // hosts behind a veth leave checksums open
  EXPECT_GT(lan["rx_local"], 0);
  EXPECT_NE(a().program().err_so_far().find(" steps "), std::string::npos);
  // The gateways' kernels saw all of it, may forward, and have not.
  EXPECT_EQ(meddled(At::GatewayA), before_a);
  EXPECT_EQ(meddled(At::GatewayB), before_b);
}

TEST_F(GatewaysOverDpdk, carry_them_with_both_sides_over_dpdk) {
  build_dpdk(true);
  expect_hosts_served();
  const Json status = a().status();
  EXPECT_EQ(status["wan"]["driver"], "net_af_packet");
  EXPECT_EQ(status["wan"]["rx_malformed"], 0);
  EXPECT_EQ(status["lan"]["driver"], "net_af_packet");
}

// Else two gateways whose routes cross would pass a packet to and fro for ever.
TEST_F(GatewaysOverDpdk, take_a_hop_each_off_a_packet) {
  build_dpdk(/*is_wan_too=*/false);
  for (const char* target : {site_b.host, site_b.host_v6}) {
    ASSERT_TRUE(meet(target)) << target;
    Pings pings(sites().space(At::HostA), target);
    const auto arrives = [&](int hops) {
      pings.set_hops(hops);
      return pings.ping(100, seconds(2)).has_value();
    };
    EXPECT_TRUE(arrives(3)) << target;
    EXPECT_FALSE(arrives(2)) << target;
    EXPECT_FALSE(arrives(1)) << target;
  }
}

TEST_F(GatewaysOverDpdk, leave_the_kernel_as_it_was_however_they_end) {
  build_dpdk(false);
  ASSERT_TRUE(meet(site_b.host));
  const uint64_t undisturbed = meddled(At::GatewayA);
  a().kill();
  // What A's kernel now gets from its host it answers for itself: there is no way to B.
  Pings pings(sites().space(At::HostA), site_b.host);
  EXPECT_FALSE(pings.ping(100, milliseconds(300)));
  EXPECT_GT(meddled(At::GatewayA), undisturbed);
  a().start();
  for (Gateway* each : {&a(), &b()}) ASSERT_TRUE(each->wait_up(seconds(20)));
  const uint64_t before = meddled(At::GatewayA);
  ASSERT_TRUE(meet(site_b.host));
  EXPECT_EQ(meddled(At::GatewayA), before);
}

TEST_F(GatewaysOverDpdk, say_which_address_the_kernel_lacks) {
  prepare_for_dpdk();
  std::string text = GatewayFile().text(true, folder());
  const std::string tun = "device = \"causeway0\"\n";
  text.replace(text.find(tun), tun.size(), af_packet(0, "la") + "addresses = [\"10.1.0.9/24\"]\n");
  a().configure(text);
  a().start_in_vain();
  const Outcome outcome = a().program().finish();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("causewayd: lan.addresses: 10.1.0.9/24 is not one of this machine's, "
                             "whose kernel answers on la; `ip address add 10.1.0.9/24 dev la` "
                             "gives it one"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace cw::lab
