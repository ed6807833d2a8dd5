// causeway-demo: two sites on one machine, with and without gateways. Exit codes: see --help.
#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "tests/demo/page/page.h"
#include "tests/demo/rdma.h"
#include "tests/demo/report.h"
#include "tests/demo/steps.h"
#include "tests/demo/wander/wander.h"
#include "tests/lab/enclosure.h"

namespace {

using namespace cw;
using namespace cw::demo;
using std::chrono::seconds;

constexpr int exit_wrong = 1, exit_refused = 2, exit_failed = 3;
constexpr auto probe_time = seconds(4);
constexpr auto file_patience = seconds(10);

void say(const std::string& sentence) {
  std::fprintf(stderr, "causeway-demo: %s\n", sentence.c_str());
}

/// Programs lie beside this one. To be asked for before other mounts hide where it came from.
std::filesystem::path own_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::string rate_text(double mbps) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.1f Mbit/s", mbps);
  return text;
}

class Demo {
 public:
  Demo(const Options& options, const std::filesystem::path& programs)
      : programs_(programs),
        sites_({.lan_mtu = options.mtu,
                .wan_mtu = options.mtu,
                .lan_offloads = options.lan == Lan::Tun}) {
    report_.options = options;
  }

  Report run() {
    const auto start = lab::Time::now();
    sites_.join(program("causeway-wan"), link());
    sites_.route_beside();
    steps_.begin("without gateways");
    sites_.route_plainly();
    report_.without = measure("without gateways: ", nullptr);
    sites_.unroute();

    steps_.begin("gateways");
    Gateways gateways(sites_, report_.options, program("causewayd"));
    steps_.end("the link between them is up");
    steps_.begin("added latency");
    report_.gateways.probes = probe(sites_, probe_time);
    steps_.end(std::to_string(report_.gateways.probes.through.us.size()) + " packets");
    report_.with = measure("with gateways: ", &gateways);
    report_.gateways.all = gateways.counts();
    steps_.begin("with gateways: three swaps");
    report_.gateways.swaps = measure_swaps(sites_, gateways, report_.options);
    steps_.end(std::to_string(report_.gateways.swaps.size()) + " done");
    gateways.check();

    report_.emulator = sites_.part();
    read_emulator(report_);
    report_.seconds = std::chrono::duration<double>(lab::Time::now() - start).count();
    return report_;
  }

 private:
  lab::Arguments link() const {
    const Options& it = report_.options;
    lab::Arguments arguments = it.line_arguments();
    const std::string loss = std::to_string(it.loss * 100) + "%";
    if (it.loss > 0 && it.burst > 1) {
      arguments.insert(arguments.end(), {"--gilbert", std::to_string(it.burst) + "," + loss});
    } else if (it.loss > 0) {
      arguments.insert(arguments.end(), {"--loss", loss});
    }
    return arguments;
  }

  /// The processors that the gateways keep busy while `body` runs; 0 without gateways.
  template <class Body>
  double cores_during(Gateways* gateways, Body body) {
    const auto start = lab::Time::now();
    const auto before = gateways ? gateways->processor_time() : std::chrono::nanoseconds();
    body();
    if (gateways == nullptr) return 0;
    const std::chrono::duration<double> used = gateways->processor_time() - before;
    return used / std::chrono::duration<double>(lab::Time::now() - start);
  }

  Half measure(const std::string& prefix, Gateways* gateways) {
    const Options& options = report_.options;
    const OnProgress progress = [&](const std::string& how_far) {
      if (gateways) gateways->check();
      steps_.show(how_far);
    };
    Half half;
    steps_.begin(prefix + "TCP");
    report_.gateways.cores_tcp =
        cores_during(gateways, [&] { half.tcp = measure_tcp(sites_, options, progress); });
    steps_.end(rate_text(half.tcp.mbps));
    steps_.begin(prefix + "UDP");
    const GatewayCounts before = gateways ? gateways->counts() : GatewayCounts();
    report_.gateways.cores_udp =
        cores_during(gateways, [&] { half.udp = measure_udp(sites_, options, progress); });
    if (gateways) report_.gateways.during_udp = gateways->counts().since(before);
    steps_.end(std::to_string(half.udp.lost) + " of " + std::to_string(half.udp.sent) + " lost");
    steps_.begin(prefix + "file");
    half.file = send_file(sites_, options.file, file_patience);
    steps_.end(half.file.is_whole ? half.file.checksum.substr(0, 16) : "not in time");
    steps_.begin(prefix + "messages");
    half.messages = send_messages(sites_, options, program("causeway-perf"));
    steps_.end(std::to_string(half.messages.whole) + " whole");
    return half;
  }

  std::string program(const char* name) const { return (programs_ / name).string(); }

  std::filesystem::path programs_;
  Report report_;
  lab::Sites sites_;
  Steps steps_;
};

int run_rdma(const Options& options, const std::filesystem::path& programs) {
  const std::string guest =
      options.guest.empty() ? (programs.parent_path() / "guest").string() : options.guest;
  if (const std::string why_not = lab::rdma_obstacle(guest); !why_not.empty()) {
    say(why_not);
    return exit_failed;
  }
  Steps steps;
  const RdmaReport report = measure_rdma(options,
                                         {.emulator = (programs / "causeway-wan").string(),
                                          .daemon = (programs / "causewayd").string(),
                                          .guest = guest},
                                         steps);
  std::printf("%s", options.is_json ? (to_json(report) + "\n").c_str() : to_table(report).c_str());
  return 0;
}

WanderPrograms wander_programs(const std::filesystem::path& folder) {
  return {.emulator = (folder / "causeway-wan").string(),
          .daemon = (folder / "causewayd").string()};
}

int run_wander(const Options& options, const std::filesystem::path& programs) {
  Steps steps;
  const WanderReport report = measure_wander(options, wander_programs(programs), steps);
  std::printf("%s", options.is_json ? (to_json(report) + "\n").c_str() : to_table(report).c_str());
  return report.datagrams_wrong() == 0 ? 0 : exit_wrong;
}

int run(const Options& options, const std::filesystem::path& programs) {
  if (options.is_rdma) return run_rdma(options, programs);
  if (options.is_wander) return run_wander(options, programs);
  if (options.is_page) return show_page(options, wander_programs(programs)), 0;
  const Report report = Demo(options, programs).run();
  std::printf("%s", options.is_json ? (to_json(report) + "\n").c_str() : to_table(report).c_str());
  return report.bytes_wrong() == 0 ? 0 : exit_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse_options({argv, static_cast<size_t>(argc)});
  if (!options) return say(options.error().sentence), exit_refused;
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  try {
    const std::filesystem::path programs = own_folder();
    return lab::run_enclosed([&] {
      if (const std::string why_not = lab::obstacle(); !why_not.empty()) {
        say(why_not);
        return exit_failed;
      }
      return run(*options, programs);
    });
  } catch (const std::exception& error) {
    say(error.what());
    return exit_failed;
  }
}
