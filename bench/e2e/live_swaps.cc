// live_swaps: what hosts see of swaps, in goodput by 10 ms, between namespaces. As many times as a
// swap is ordered, the gateway's file is read again with nothing changed in it: the sham. Both by
// turns, and the same window after each is looked at, so that what a busy machine does is in both.
//
// Exit codes: 0 done, 1 a swap that failed, 2 arguments, 3 it cannot be measured here.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/e2e/steady_flow.h"
#include "control/chart/svg_chart.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/demo/gateways.h"
#include "tests/lab/enclosure.h"
#include "tests/lab/one_way.h"
#include "tests/lab/sites.h"

namespace {

using namespace cw;
using bench::Flow, bench::frame_bytes;
using lab::At, lab::Time;
using std::chrono::milliseconds;

constexpr int exit_refused = 2;
constexpr auto bin = milliseconds(10), window = milliseconds(300),
               pause_between = milliseconds(100);
constexpr auto swap_patience = milliseconds(20'000), warm_up = milliseconds(1000);

struct Arguments {
  unsigned swaps = 100;
  uint64_t mbps = 100;
  double loss = 0, load = 0.8;
  std::string svg;
  bool is_json = false;
};

struct Event {
  bool is_swap = false;
  Time::time_point at;
  double took_ms = 0;
};

/// The least that came in 10 ms within the window, as a share of what is sent in 10 ms.
double lowest_of(const Event& event, const std::vector<Time::time_point>& arrivals, double usual) {
  double lowest = 1e9;
  for (auto from = event.at; from < event.at + window; from += bin / 2) {
    const auto first = std::ranges::lower_bound(arrivals, from);
    const auto last = std::ranges::lower_bound(arrivals, from + bin);
    lowest = std::min(lowest, static_cast<double>(last - first) / usual);
  }
  return lowest;
}

struct Figures {
  std::vector<double> swaps, shams, took_ms;  // lowest bins, and how long swaps took; sorted
  uint64_t sent = 0, arrived = 0;
};

void wait_until_swapped(demo::Gateways& gateways, const std::string& policy, double& took_ms) {
  const auto end = Time::now() + swap_patience;
  while (!gateways.has_swapped(took_ms)) {
    gateways.check();
    if (Time::now() > end) throw std::runtime_error(gateways.why_not(policy));
    std::this_thread::sleep_for(milliseconds(5));
  }
}

Figures measure(const Arguments& arguments, const std::filesystem::path& programs) {
  demo::Options options;
  options.loss = arguments.loss;
  options.rate = Rate::from_mbps(arguments.mbps);
  lab::Sites sites({.lan_mtu = options.mtu, .wan_mtu = options.mtu});
  sites.join((programs / "causeway-wan").string(),
             {"--rtt", std::to_string(options.rtt.ns()) + "ns", "--rate",
              std::to_string(options.rate.bps()) + "bit/s", "--loss",
              std::to_string(options.loss * 100) + "%", "--gather", "100us"});
  demo::Gateways gateways(sites, options, (programs / "causewayd").string());
  const double packets_per_second = static_cast<double>(options.rate.bps()) * arguments.load /
                                    (8 * static_cast<double>(frame_bytes));
  Flow flow(sites, packets_per_second);
  std::this_thread::sleep_for(warm_up);
  const std::vector<std::string> targets = demo::swap_targets(options);
  std::vector<Event> events;
  std::string policy = options.policy;
  for (unsigned i = 0; i < arguments.swaps * 2; ++i) {
    Event event{.is_swap = i % 2 == 0, .at = Time::now()};
    if (event.is_swap) policy = targets[i / 2 % targets.size()];
    gateways.order(policy);
    if (event.is_swap) wait_until_swapped(gateways, policy, event.took_ms);
    std::this_thread::sleep_until(event.at + window + pause_between);
    events.push_back(event);
    std::fprintf(stderr, "\r%u of %u", i + 1, arguments.swaps * 2);
  }
  std::fprintf(stderr, "\n");
  flow.end();
  const double usual = packets_per_second * std::chrono::duration<double>(bin).count();
  Figures figures{.sent = flow.sent(), .arrived = flow.arrivals().size()};
  for (const Event& event : events) {
    (event.is_swap ? figures.swaps : figures.shams)
        .push_back(lowest_of(event, flow.arrivals(), usual));
    if (event.is_swap) figures.took_ms.push_back(event.took_ms);
  }
  for (auto* row : {&figures.swaps, &figures.shams, &figures.took_ms}) std::ranges::sort(*row);
  return figures;
}

Curve curve_of(const std::string& name, const std::vector<double>& lowest) {
  Curve curve{.name = name};
  for (double q = 0.01; q < 1; q += 0.01)
    curve.points.push_back({q * 100, lab::nearest_rank(lowest, q)});
  return curve;
}

void draw(const Figures& it, std::ofstream& file) {
  const ChartPanel panel{
      .x_label = "share of swaps, or of shams, %",
      .y_label = "least that came in 10 ms, of what was sent",
      .curves = {curve_of("policy swapped", it.swaps), curve_of("file read again", it.shams)},
      .y_least = 0.1};
  file << svg_of("The lowest 10 ms after a swap, and after none", {{panel}}) << std::flush;
}

Json json_of(const Figures& it) {
  const auto row = [](const std::vector<double>& lowest) {
    return Json{{"count", lowest.size()},
                {"median", lab::nearest_rank(lowest, 0.5)},
                {"p1", lab::nearest_rank(lowest, 0.01)},
                {"lowest", lab::nearest_rank(lowest, 0)}};
  };
  const auto ratio = [&](double q) {
    return lab::nearest_rank(it.swaps, q) / lab::nearest_rank(it.shams, q);
  };
  return {{"swaps", row(it.swaps)},
          {"shams", row(it.shams)},
          {"ratio_median", ratio(0.5)},
          {"ratio_p1", ratio(0.01)},
          {"took_ms_median", lab::nearest_rank(it.took_ms, 0.5)},
          {"took_ms_longest", lab::nearest_rank(it.took_ms, 1)},
          {"sent", it.sent},
          {"arrived", it.arrived}};
}

void print(const Json& it) {
  const auto row = [&](const char* name, const Json& of) {
    std::printf("| %s | %d | %.3f | %.3f | %.3f |\n", name, of["count"].get<int>(),
                of["median"].get<double>(), of["p1"].get<double>(), of["lowest"].get<double>());
  };
  std::printf(
      "Least that came in any 10 ms of the 300 ms after each, as a share of what was sent:\n\n"
      "| | count | median | p1 | lowest |\n|---|---:|---:|---:|---:|\n");
  row("policy swapped", it["swaps"]);
  row("file read again, nothing changed", it["shams"]);
  std::printf("| ratio | | %.3f | %.3f | |\n\n", it["ratio_median"].get<double>(),
              it["ratio_p1"].get<double>());
  std::printf("A swap took %.0f ms (median), %.0f at most. %ld datagrams sent, %ld arrived.\n",
              it["took_ms_median"].get<double>(), it["took_ms_longest"].get<double>(),
              it["sent"].get<long>(), it["arrived"].get<long>());
}

int run(const Arguments& arguments, const std::filesystem::path& programs, std::ofstream& svg) {
  const Figures figures = measure(arguments, programs);
  const Json json = json_of(figures);
  if (svg.is_open()) draw(figures, svg);
  if (arguments.is_json) {
    std::printf("%s\n", json.dump().c_str());
  } else {
    print(json);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CommandLine app("What hosts see of swaps: the lowest 10 ms after each, and after shams.",
                  "live_swaps");
  app.add_option("--swaps", arguments.swaps, "and as many shams").between(1, 100'000);
  app.add_option("--rate", arguments.mbps, "of the link, Mbit/s").between(1, 10'000);
  app.add_option("--svg", arguments.svg, "a picture of it goes to this file");
  app.add_flag("--json", arguments.is_json, "all of it on one line");
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  std::ofstream svg;  // opened before other mounts hide where it lies
  if (!arguments.svg.empty()) svg.open(arguments.svg);
  return lab::run_measurement("live_swaps", [&](const std::filesystem::path& programs) {
    return run(arguments, programs, svg);
  });
}
