// What comes through at full load: from a host that sends frames of 1,400 bytes at one rate after
// another, by way of two gateways or two testpmds at their places, to a host that throws them away.
// Gateway A has core 0; gateway B and the sending host share core 1, since A's calls also carry
// what it sends to where B takes it.
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/e2e/xdp/measured_pair.h"
#include "bench/e2e/xdp/parts.h"
#include "bench/e2e/xdp/udp_frame.h"
#include "bench/machine.h"
#include "tests/lab/hostile.h"

namespace cw::bench {
namespace {

using lab::At;
using lab::Program;
using std::chrono::milliseconds;
using ForwardClock = std::chrono::steady_clock;

constexpr size_t frame_bytes = 1400, payload_bytes = frame_bytes - 42;
constexpr double ratio_wanted = 0.6;
/// Host B's neighbour, whose frames it leaves aside at once.
constexpr const char *target_mac = "02:00:00:00:00:77", *target = "10.2.0.77";

std::vector<uint8_t> frame_to(const char* mac) {
  return UdpFrame{.target_mac = mac,
                  .source_mac = "02:00:00:00:00:01",
                  .source = lab::site_a.host,
                  .target = target,
                  .source_udp_port = 7000,
                  .target_udp_port = 7000,
                  .bytes = frame_bytes,
                  .payload = {}}
      .text();
}

/// By which a gateway that asks for MACs itself hears of the neighbour.
std::vector<uint8_t> frame_of_neighbour() {
  return UdpFrame{.target_mac = "02:00:00:00:00:05",
                  .source_mac = target_mac,
                  .source = target,
                  .target = lab::site_a.host,
                  .source_udp_port = 7000,
                  .target_udp_port = 7000,
                  .payload = {}}
      .text();
}

struct Rate {
  double offered = 0, arrived = 0;  ///< frames a second
};

class Line {
 public:
  Line() {
    join_by_cable(sites_);
    sites_.space(At::GatewayB)
        .must(std::string("ip neigh replace ") + target + " lladdr " + target_mac + " dev lb");
  }

  const lab::Sites& sites() const { return sites_; }

  /// `meanwhile` begins when frames flow evenly, and lasts as long as it is measured.
  Rate offer(uint32_t per_second, const char* mac, const std::function<void()>& meanwhile) {
    const lab::Flood neighbour(sites_.space(At::HostB), "vb", {frame_of_neighbour()}, 10);
    lab::Flood flood(sites_.space(At::HostA), "va", {frame_to(mac)}, per_second);
    std::this_thread::sleep_for(milliseconds(400));
    const uint64_t sent = flood.sent();
    const uint64_t arrived = frames_at_b();
    const auto begin = ForwardClock::now();
    meanwhile();
    const uint64_t come = frames_at_b() - arrived;
    const std::chrono::duration<double> time = ForwardClock::now() - begin;
    return {.offered = static_cast<double>(flood.sent() - sent) / time.count(),
            .arrived = static_cast<double>(come) / time.count()};
  }

  /// The rate at which most arrives.
  Rate fullest(const Asked& asked, const char* mac) {
    Rate best;
    for (const uint32_t per_second : asked.offered) {
      const Rate rate =
          offer(per_second, mac, [] { std::this_thread::sleep_for(milliseconds(1000)); });
      if (rate.arrived > best.arrived)
        best = {.offered = double(per_second), .arrived = rate.arrived};
      if (rate.arrived < best.arrived * 0.5) break;
    }
    return best;
  }

 private:
  uint64_t frames_at_b() const { return frames_come(sites_.space(At::HostB), "vb"); }

  lab::Sites sites_{{.lan_offloads = false}};
};

PairSetup at_full_load(Ports ports) {
  return {.ports = ports,
          .rate = "60 Gbit/s",
          .rtt = "1 ms",
          .class_lines = "hold = \"2.6 ms\"\nqueue = \"1 ms\"\n",
          .cores = std::array{0u, 1u}};
}

constexpr const char* gateway_mac = "02:00:00:00:00:02";

Rate testpmd_rate(const Asked& asked) {
  Line line;
  Program b(line.sites().namespace_of(At::GatewayB), testpmd({"wb", "lb"}, "io", 1));
  Program a(line.sites().namespace_of(At::GatewayA), testpmd({"la", "wa"}, "io", 0));
  std::this_thread::sleep_for(milliseconds(2500));
  for (Program* each : {&a, &b}) {
    if (each->has_ended()) throw std::runtime_error(each->finish().err);
  }
  return line.fullest(asked, target_mac);
}

Rate gateways_rate(const Asked& asked) {
  Line line;
  MeasuredPair pair(line.sites(), at_full_load(Ports::Xdp));
  return line.fullest(asked, gateway_mac);
}

Json table_row(const Asked& asked, Ports ports) {
  Line line;
  MeasuredPair pair(line.sites(), at_full_load(ports));
  const Rate best = line.fullest(asked, gateway_mac);
  Taken taken;
  double seconds = 0;
  const auto measure = [&] {
    const Taken before = pair.taken();
    const auto begin = ForwardClock::now();
    std::this_thread::sleep_for(std::chrono::seconds(asked.seconds));
    taken = pair.taken() - before;
    seconds = std::chrono::duration<double>(ForwardClock::now() - begin).count();
  };
  const Rate rate = line.offer(static_cast<uint32_t>(best.offered), gateway_mac, measure);
  const double gigabytes = rate.arrived * seconds * payload_bytes * 1e-9;
  const bool counts_calls = taken.system_calls > 0;
  return {{"ports", name_of(ports)},
          {"mbps", rate.arrived * payload_bytes * 8e-6},
          {"lost_share", std::max(0.0, 1 - rate.arrived / rate.offered)},
          {"processor_s_per_gb", taken.processor_seconds / gigabytes},
          {"calls_per_gb", counts_calls ? Json(taken.system_calls / gigabytes) : Json()},
          {"packets_per_turn", taken.packets / taken.turns},
          {"waits_per_s", taken.waits / seconds / 2}};
}

}  // namespace

void measure_forward(const Asked& asked, Report& report) {
  try_bind_to(1);
  report.begin("forward", {{"round", "round"},
                           {"testpmd_pps", "two testpmds, frames/s"},
                           {"pps", "two gateways, frames/s"},
                           {"ratio", "of it", 2}});
  std::vector<double> ratios;
  for (uint32_t round = 1; round <= asked.rounds; ++round) {
    const double baseline = testpmd_rate(asked).arrived, rate = gateways_rate(asked).arrived;
    ratios.push_back(rate / baseline);
    report.add(
        {{"round", round}, {"testpmd_pps", baseline}, {"pps", rate}, {"ratio", ratios.back()}});
  }
  report.conclude("of testpmd's, median", median(ratios));
  report.conclude("wanted", ratio_wanted);
}

void measure_table(const Asked& asked, Report& report) {
  try_bind_to(1);
  report.begin("table", {{"ports", "ports of both"},
                         {"mbps", "Mbit/s of hosts"},
                         {"lost_share", "lost of it", 2},
                         {"processor_s_per_gb", "processor, s/GB, both gateways", 2},
                         {"calls_per_gb", "system calls a GB"},
                         {"packets_per_turn", "packets a turn", 1},
                         {"waits_per_s", "waits a second, each"}});
  for (uint32_t round = 0; round < asked.rounds; ++round) {
    for (const Ports ports : {Ports::Sockets, Ports::Xdp, Ports::Dpdk}) {
      report.add(table_row(asked, ports));
    }
  }
}

}  // namespace cw::bench
