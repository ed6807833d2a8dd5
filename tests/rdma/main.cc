// rdma-lab: two real RDMA hosts and what lies between them, for as long as their commands run.
#include <signal.h>

#include <cstdio>
#include <filesystem>

#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/lab/enclosure.h"
#include "tests/rdma/rdma_sites.h"

namespace {

using namespace cw::lab;
using std::chrono::seconds;

constexpr int exit_refused = 2, exit_failed = 3;

struct Options {
  RdmaLine line;
  std::string policy = "hybrid", guest;
  std::string on_a, on_b;
  uint32_t mtu = 1500, patience = 120;
};

constexpr const char* summary =
    "Two virtual machines with soft-RoCE behind two gateways and a bad link; runs a command in "
    "each.\nHost A is 10.1.0.2, host B 10.2.0.2. The command at A begins when B's listens, or "
    "after "
    "ten\nseconds; B's ends with it.";
constexpr const char* examples =
    "Examples:\n"
    "  rdma-lab --on-b 'ib_write_bw -d rx0' --on-a 'ib_write_bw -d rx0 10.2.0.2' --loss 1%\n"
    "  rdma-lab --policy plain ...   what the hosts have without gateways\n";

void parse(Options& options, cw::CommandLine& app) {
  app.footer(examples);
  app.add_option("--on-a", options.on_a, "What host A runs, by bash.").required();
  app.add_option("--on-b", options.on_b, "What host B runs meanwhile.");
  app.add_option("--policy", options.policy,
                 "Of the gateways; default: as they choose; plain: no gateways; bridge: none, and "
                 "one LAN.");
  app.add_option("--rtt", options.line.rtt, "Of the link.");
  app.add_option("--loss", options.line.loss, "Of all packets.");
  app.add_option("--burst", options.line.burst, "Packets lost in a row, on average.");
  app.add_option("--rate", options.line.rate, "Of the link.");
  app.add_option("--mtu", options.mtu, "Everywhere.");
  app.add_option("--seconds", options.patience, "How long the command at A may take.");
  app.add_option("--guest", options.guest, "What make_guest made.").required();
}

void show(const char* title, const Outcome& outcome) {
  std::printf("---- %s (status %d)\n%s%s", title, outcome.status, outcome.out.c_str(),
              outcome.err.c_str());
}

int run(const Options& options, const std::filesystem::path& programs) {
  if (const std::string why = rdma_obstacle(options.guest); !why.empty()) {
    throw std::runtime_error(why);
  }
  RdmaSites sites(
      {(programs / "causeway-wan").string(), (programs / "causewayd").string(), options.guest},
      options.mtu);
  sites.set_line(options.line);
  std::fprintf(stderr, "two machines start...\n");
  sites.wait_ready();
  const bool has_gateways = options.policy != "plain" && options.policy != "bridge";
  if (options.policy == "bridge") {
    sites.bridge();
  } else if (!has_gateways) {
    sites.route_plainly();
  } else {
    sites.route_by_gateways(options.policy, options.line);
  }
  std::fprintf(stderr, "commands run...\n");
  const int b = sites.host_b().start(options.on_b);
  sites.host_b().wait_for_listeners(1, seconds(10));
  const Outcome a = sites.host_a().run(options.on_a, seconds(options.patience));
  show("host A", a);
  show("host B", sites.host_b().finish(b, seconds(2)));
  std::printf("---- retransmissions of the hosts: %llu and %llu\n",
              static_cast<unsigned long long>(sites.host_a().retransmits()),
              static_cast<unsigned long long>(sites.host_b().retransmits()));
  if (has_gateways) {
    std::printf("%s\n%s\n", sites.gateway_a().status().dump().c_str(),
                sites.gateway_b().status().dump().c_str());
  }
  return a.status == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  cw::CommandLine app(summary, "rdma-lab");
  parse(options, app);
  if (const auto status = app.parse_or_end(argc, argv, exit_refused)) return *status;
  try {
    const auto programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    return run_enclosed([&] { return run(options, programs); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rdma-lab: %s\n", error.what());
    return exit_failed;
  }
}
