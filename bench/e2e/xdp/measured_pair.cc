#include "bench/e2e/xdp/measured_pair.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace cw::bench {
namespace {

using lab::At;

constexpr const char* cable_lines =
    " mtu 1500 numrxqueues 1 numtxqueues 1 type veth peer name wb address 02:00:00:00:00:06 mtu "
    "1500 numrxqueues 1 numtxqueues 1 netns ";

std::string end_lines(const lab::SiteAddresses& own, const char* other, const char* other_mac) {
  const std::string wan = own.wan_interface;
  return "ethtool -K " + wan + " tso off gso off gro off tx-udp-segmentation off; ip addr add " +
         own.wan + "/24 dev " + wan + "; ip link set dev " + wan + " up; ip neigh replace " +
         other + " lladdr " + other_mac + " dev " + wan;
}

lab::GatewayFile file_of(const PairSetup& setup, bool is_a) {
  lab::GatewayFile file;
  file.rate = setup.rate;
  file.rtt = setup.rtt;
  file.wan_more = "adapt = false\n";
  file.classes = "[[class]]\nname = \"all\"\npolicy = \"passthrough\"\n" + setup.class_lines;
  file.is_over_xdp = file.is_lan_over_xdp = setup.ports == Ports::Xdp;
  file.is_over_dpdk = file.is_lan_over_dpdk = setup.ports == Ports::Dpdk;
  if (setup.cores) file.site_more = "core = " + std::to_string((*setup.cores)[is_a ? 0 : 1]) + "\n";
  return file;
}

}  // namespace

const char* name_of(Ports ports) {
  switch (ports) {
    case Ports::Sockets:
      return "UDP sockets, TUN";
    case Ports::Xdp:
      return "AF_XDP";
    case Ports::Dpdk:
      return "DPDK, net_af_packet";
  }
  return "";
}

void join_by_cable(const lab::Sites& sites) {
  const lab::Space &a = sites.space(At::GatewayA), &b = sites.space(At::GatewayB);
  a.must("ip link del wa");
  b.must("ip link del wb");
  a.must("ip link add name wa address 02:00:00:00:00:03" + std::string(cable_lines) + b.path());
  a.must(end_lines(lab::site_a, lab::site_b.wan, "02:00:00:00:00:06"));
  b.must(end_lines(lab::site_b, lab::site_a.wan, "02:00:00:00:00:03"));
}

Taken Taken::operator-(const Taken& before) const {
  return {.processor_seconds = processor_seconds - before.processor_seconds,
          .system_calls = system_calls - before.system_calls,
          .packets = packets - before.packets,
          .turns = turns - before.turns,
          .waits = waits - before.waits};
}

MeasuredPair::MeasuredPair(const lab::Sites& sites, const PairSetup& setup)
    : a_(sites, folder_, CW_DAEMON_PROGRAM, true), b_(sites, folder_, CW_DAEMON_PROGRAM, false) {
  folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
  a_.configure(file_of(setup, true));
  b_.configure(file_of(setup, false));
  for (lab::Gateway* each : {&a_, &b_}) each->start();
  for (lab::Gateway* each : {&a_, &b_}) {
    if (!each->wait_up()) throw std::runtime_error(each->program().err_so_far());
  }
  calls_a_.watch(a_.program().pid());
  calls_b_.watch(b_.program().pid());
}

Taken MeasuredPair::taken() {
  Taken sum;
  double port_calls = 0;
  for (lab::Gateway* each : {&a_, &b_}) {
    const Json status = each->status();
    for (const char* side : {"lan", "wan"}) {
      port_calls += status[side]["system_calls"].get<double>();
      sum.packets += status[side]["rx_packets"].get<double>();
    }
    sum.turns += status["counters"]["turns"].get<double>();
    sum.waits += status["counters"]["waits"].get<double>();
    sum.processor_seconds +=
        std::chrono::duration<double>(each->program().processor_time()).count();
  }
  sum.system_calls = counts_all_calls() ? calls_a_.count() + calls_b_.count() : port_calls;
  return sum;
}

double worker_seconds(lab::Gateway& gateway) {
  namespace fs = std::filesystem;
  const fs::path tasks = "/proc/" + std::to_string(gateway.program().pid()) + "/task";
  for (const auto& task : fs::directory_iterator(tasks)) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    double run_ns = 0;
    if (name == "packets" && std::ifstream(task.path() / "schedstat") >> run_ns)
      return run_ns * 1e-9;
  }
  throw std::runtime_error("the gateway has no thread that moves packets");
}

}  // namespace cw::bench
