// What hosts behind two gateways try: pings, and TCP.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include "control/json/json.h"
#include "tests/integration/two_gateways.h"
#include "tests/lab/pings.h"

namespace cw::lab {

class HostsOfTwoGateways : public TwoGateways {
 protected:
  /// A line that loses nothing, and hosts that leave no segments to a card, as DPDK's ports need
  /// them; checksums stay open.
  void prepare_for_dpdk() {
    prepare({.lan_offloads = false}, {}, {"--rtt", "10ms", "--rate", "200Mbit/s"});
  }

  void expect_pings(const char* target) {
    Pings pings(sites().space(At::HostA), target);
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(pings.ping(100, std::chrono::seconds(5))) << target << " " << i;
  }

  /// One TCP connection of iperf3 from host A to host B, in Mbit/s.
  double tcp_mbps() {
    Program server(sites().namespace_of(At::HostB), {"iperf3", "-s", "-1", "--forceflush"});
    const auto end = Time::now() + std::chrono::seconds(20);
    while (server.out_so_far().find("listening") == std::string::npos && Time::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    const Outcome outcome = sites().space(At::HostA).run(
        {"iperf3", "-c", site_b.host, "-t", "2", "--json", "--connect-timeout", "5000"});
    const auto report = Json::parse_or_null(outcome.out);
    if (outcome.status != 0 || !report.is_object()) return 0;
    const double mbps = report["end"]["sum_received"]["bits_per_second"].get<double>() * 1e-6;
    tell("TCP: " + std::to_string(mbps) + " Mbit/s");
    return mbps;
  }
};

}  // namespace cw::lab
