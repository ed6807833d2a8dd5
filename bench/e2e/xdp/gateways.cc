// A pair at a steady load that it has time for, with the long line between: what it costs.
#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/e2e/xdp/measured_pair.h"
#include "bench/e2e/xdp/parts.h"
#include "tests/lab/datagrams.h"

namespace cw::bench {
namespace {

constexpr size_t host_bytes = 1300;

Json measure_pair(const Asked& asked, Ports ports) {
  lab::Sites sites({.lan_offloads = false});
  sites.join(CW_WAN_PROGRAM, {"--rtt", "2ms", "--rate", "2Gbit/s"});
  MeasuredPair pair(sites, {.ports = ports});
  const lab::DatagramsOptions options{.bytes = host_bytes, .per_second = asked.per_second};
  Json row;
  // The first packets ask who is where.
  for (const uint32_t seconds : {1u, asked.seconds}) {
    const Taken before = pair.taken();
    lab::Datagrams datagrams(sites, options);
    datagrams.start();
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    datagrams.stop();
    datagrams.settle();
    const Taken taken = pair.taken() - before;
    const auto counts = datagrams.counts();
    const double bytes = static_cast<double>(counts.arrived * host_bytes);
    const double gigabytes = bytes * 1e-9;
    row = {{"ports", name_of(ports)},
           {"mbps", bytes * 8e-6 / seconds},
           {"lost", counts.lost()},
           {"processor_s_per_gb", taken.processor_seconds / gigabytes},
           {"calls_per_gb", taken.system_calls / gigabytes},
           {"packets_per_turn", taken.packets / taken.turns},
           {"waits_per_s", taken.waits / seconds / 2}};
  }
  return row;
}

}  // namespace

void measure_gateways(const Asked& asked, Report& report) {
  report.begin("gateways", {{"ports", "ports of both"},
                            {"mbps", "Mbit/s of hosts"},
                            {"lost", "lost"},
                            {"processor_s_per_gb", "processor, s/GB, both gateways", 2},
                            {"calls_per_gb", "system calls a GB"},
                            {"packets_per_turn", "packets a turn", 1},
                            {"waits_per_s", "waits a second, each"}});
  for (uint32_t round = 1; round <= asked.rounds; ++round) {
    for (const Ports ports : {Ports::Sockets, Ports::Xdp}) report.add(measure_pair(asked, ports));
  }
}

}  // namespace cw::bench
