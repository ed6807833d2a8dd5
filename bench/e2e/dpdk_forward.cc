// dpdk_forward: what a pair of gateways costs over DPDK, beside testpmd with the same devices.
//
//   forward   LAN A is a file that never ends (net_pcap, infinite_rx), LAN B takes everything
//             (net_null), and a memif joins the two: frames per second that come out. A gateway
//             sends to hosts that it has heard, so its LAN B is a file with one frame (net_pcap
//             without a file to write to), which throws away as well. Over a WAN of the hosts' own
//             MTU, and one of jumbo frames, where a slot carries several of theirs.
//   latency   the LANs are cables of two hosts (net_af_packet): one way, at a thousand packets a
//             second, and what testpmd's way takes.
//   cost      processor time of both gateways at 500 Mbit/s, per gigabyte.
//   idle      what an idle pair costs, and how long the first packet after a pause waits.
//
// Baseline and gateways take turns in rounds; ratios are of one round, and the median is told. Exit
// codes: 0 done, 1 less than half of testpmd's frames, 2 arguments, 3 it cannot be measured here.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "bench/e2e/capture.h"
#include "bench/e2e/forward_report.h"
#include "bench/e2e/hosts.h"
#include "bench/e2e/pair.h"
#include "bench/machine.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/lab/enclosure.h"

namespace {

using namespace cw;
using namespace cw::bench;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int exit_slow = 1, exit_refused = 2, exit_failed = 3;
constexpr double ratio_wanted = 0.5;

struct Arguments {
  unsigned rounds = 5, seconds = 3, frame_bytes = 1400;
  bool is_json = false;
  std::vector<unsigned> wan_mtus = {1500, 9000};
  std::vector<std::string> parts = {"forward", "latency", "cost", "idle"};
};

void say(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

// ---- frames per second --------------------------------------------------------------------------

struct Contender {
  const char* name;
  GatewaySetup setup;
  bool must_reach = false;  // half of the baseline
};

std::vector<Contender> contenders() {
  // 64 messages of 1 MiB each.
  const GatewaySetup plain{.policy = "passthrough"};
  const GatewaySetup retaining{.policy = "selective_repeat"};
  const GatewaySetup coding{.policy = "erasure", .params = "[class.params]\nk = 32\nm = 4\n"};
  return {{"passthrough", plain, true},
          {"selective_repeat", retaining, true},
          {"erasure (32,4), inline", coding, false}};
}

Json measure_forwarding(const Arguments& arguments, unsigned wan_mtu, const std::string& gateway) {
  const lab::Space space = lab::Space::make();
  const std::string capture = std::string(lab::enclosure_folder) + "/frames.pcap";
  const std::string host = std::string(lab::enclosure_folder) + "/host.pcap";
  write_capture(capture, {.flows = 64, .bytes = arguments.frame_bytes});
  write_capture(host, {.from = 2});
  const Ends ends{.space_a = space.fd(),
                  .space_b = space.fd(),
                  .lan_a = "net_pcap0,rx_pcap=" + capture + ",infinite_rx=1",
                  .lan_b = "net_null0,no-rx=1",
                  .lan_b_heard = "net_pcap0,rx_pcap=" + host,
                  .wan_mtu = wan_mtu};
  std::vector<double> baseline;
  const std::vector<Contender> all = contenders();
  std::vector<std::vector<double>> rates(all.size()), ratios(all.size());
  for (unsigned round = 1; round <= arguments.rounds; ++round) {
    baseline.push_back(start_testpmd(ends)->frames_per_second(arguments.seconds));
    std::string line = "forward, WAN of " + std::to_string(wan_mtu) + ", round " +
                       std::to_string(round) + ": testpmd " +
                       std::to_string(baseline.back() * 1e-6) + " Mpps";
    for (size_t i = 0; i < all.size(); ++i) {
      const auto pair = start_gateways(ends, all[i].setup, gateway);
      rates[i].push_back(pair->frames_per_second(arguments.seconds));
      ratios[i].push_back(rates[i].back() / baseline.back());
      line += std::string(", ") + all[i].name + " " + std::to_string(ratios[i].back());
    }
    say(line);
  }
  Json result = {{"frame_bytes", arguments.frame_bytes},
                 {"wan_mtu", wan_mtu},
                 {"testpmd_pps", median(baseline)}};
  for (size_t i = 0; i < all.size(); ++i) {
    result["gateways"].push_back({{"policy", all[i].name},
                                  {"pps", median(rates[i])},
                                  {"ratio", median(ratios[i])},
                                  {"ratios", ratios[i]},
                                  {"must_reach", all[i].must_reach ? ratio_wanted : 0}});
  }
  return result;
}

// ---- hosts --------------------------------------------------------------------------------------

Json latency_of(const Hosts& hosts, Pair& pair, microseconds interval, milliseconds time) {
  const auto [all, sent] = hosts.probe(interval, time);
  pair.check();
  return {{"p50_us", all.quantile(0.5)},
          {"p99_us", all.quantile(0.99)},
          {"max_us", all.quantile(1)},
          {"lost", sent - all.us.size()}};
}

GatewaySetup at_ease() {
  GatewaySetup setup{.policy = "selective_repeat", .rate = "1 Gbit/s", .hold = "20 ms"};
  setup.polls = false;
  return setup;
}

Json measure_latency(const Arguments& arguments, const Hosts& hosts, const std::string& gateway) {
  const milliseconds time(arguments.seconds * 1000);
  constexpr microseconds interval(1000);
  GatewaySetup polling = at_ease();
  polling.polls = true;
  Json result;
  std::array<std::vector<double>, 2> added;
  for (unsigned round = 1; round <= arguments.rounds; ++round) {
    const auto run = [&](std::unique_ptr<Pair> pair) {
      return latency_of(hosts, *pair, interval, time);
    };
    hosts.aim_at_each_other();
    const Json testpmd = run(start_testpmd(hosts.ends()));
    hosts.aim_at_gateways();
    const Json ours = run(start_gateways(hosts.ends(), polling, gateway));
    const Json sleeping = run(start_gateways(hosts.ends(), at_ease(), gateway));
    for (const size_t i : {0, 1}) {
      const char* const key = i == 0 ? "p50_us" : "p99_us";
      added[i].push_back(ours.at(key).get<double>() - testpmd.at(key).get<double>());
    }
    result["rounds"].push_back({{"testpmd", testpmd}, {"polling", ours}, {"sleeping", sleeping}});
    say("latency, round " + std::to_string(round) + ": " + result["rounds"].back().dump());
  }
  result["added_p50_us"] = median(added[0]);
  result["added_p99_us"] = median(added[1]);
  return result;
}

Json measure_cost(const Arguments& arguments, const Hosts& hosts, const std::string& gateway) {
  constexpr uint64_t rate = 500'000'000;
  std::vector<double> costs;
  for (unsigned round = 1; round <= arguments.rounds; ++round) {
    const auto pair = start_gateways(hosts.ends(), at_ease(), gateway);
    const double before = pair->processor_seconds();
    const uint64_t bytes = hosts.stream(rate, milliseconds(arguments.seconds * 1000));
    costs.push_back((pair->processor_seconds() - before) / (static_cast<double>(bytes) * 1e-9));
    pair->check();
    say("cost, round " + std::to_string(round) + ": " + std::to_string(costs.back()) + " s/GB");
  }
  return {{"rate_mbps", rate / 1'000'000}, {"processor_seconds_per_gb", median(costs)}};
}

Json measure_idle(const Arguments& arguments, const Hosts& hosts, const std::string& gateway) {
  const auto pair = start_gateways(hosts.ends(), at_ease(), gateway);
  const double before = pair->processor_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(arguments.seconds));
  const double cores = (pair->processor_seconds() - before) / arguments.seconds / 2;
  Json result = latency_of(hosts, *pair, milliseconds(50), milliseconds(arguments.seconds * 1000));
  result["cores_each"] = cores;
  say("idle: " + result.dump());
  return result;
}

// ---- all of it ----------------------------------------------------------------------------------

bool is_fast_enough(const Json& report) {
  if (!report.contains("forward")) return true;
  const auto has_reached = [](const Json& each) {
    return each.at("ratio").get<double>() >= each.at("must_reach").get<double>();
  };
  return std::ranges::all_of(report.at("forward"), [&](const Json& wan) {
    return std::ranges::all_of(wan.at("gateways"), has_reached);
  });
}

void print(const Json& report, bool is_json) {
  std::printf("%s\n", is_json ? report.dump().c_str() : forward_report(report).c_str());
  std::fflush(stdout);
}

int run(const Arguments& arguments, const std::string& gateway) {
  Json report;
  const auto wants = [&](const char* part) {
    return std::ranges::find(arguments.parts, part) != arguments.parts.end();
  };
  for (const unsigned wan_mtu : arguments.wan_mtus) {
    if (wants("forward")) {
      report["forward"].push_back(measure_forwarding(arguments, wan_mtu, gateway));
    }
  }
  if (wants("latency") || wants("cost") || wants("idle")) {
    const Hosts hosts;
    if (wants("latency")) report["latency"] = measure_latency(arguments, hosts, gateway);
    if (wants("cost")) report["cost"] = measure_cost(arguments, hosts, gateway);
    if (wants("idle")) report["idle"] = measure_idle(arguments, hosts, gateway);
  }
  print(report, arguments.is_json);
  return is_fast_enough(report) ? 0 : exit_slow;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CommandLine app("What a pair of gateways costs over DPDK, beside testpmd with the same devices.",
                  "dpdk_forward");
  app.add_option("--rounds", arguments.rounds, "of everything").between(1, 100);
  app.add_option("--seconds", arguments.seconds, "of each measurement").between(1, 60);
  app.add_option("--frame", arguments.frame_bytes, "bytes, Ethernet header included")
      .between(60, 1514);
  app.add_option("--wan-mtu", arguments.wan_mtus,
                 "of the memif between the gateways, and between testpmds; several are measured "
                 "one after the other")
      .between(1280, 9000);
  app.add_option("--part", arguments.parts, "forward, latency, cost, idle; all when not given")
      .one_of({"forward", "latency", "cost", "idle"});
  app.add_flag("--json", arguments.is_json, "the report on one line; else it is Markdown");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  try {
    const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    if (const std::string why = lab::obstacle(); !why.empty()) throw std::runtime_error(why);
    return lab::run_enclosed([&] {
      try {
        return run(arguments, (folder / "causewayd").string());
      } catch (const std::exception& error) {
        return say(std::string("dpdk_forward: ") + error.what()), exit_failed;
      }
    });
  } catch (const std::exception& error) {
    return say(std::string("dpdk_forward: ") + error.what()), exit_failed;
  }
}
