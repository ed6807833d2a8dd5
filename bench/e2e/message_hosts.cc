// Messages over real sockets: members as processes in network namespaces around one bridge, in
// steps in which each has a message for each other one, by each policy at several delays and losses
// of what comes to each member.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/e2e/bridge.h"
#include "bench/e2e/group_members.h"
#include "bench/e2e/lab_program.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"

namespace {

using namespace cw;
using lab::Arguments;

struct Asked {
  std::vector<std::string> policies{"csa_ud", "irn", "nack_fixed", "rto_only", "go_back_n"};
  std::vector<std::string> delays{"0.5ms", "10ms"}, losses{"0%", "1%"};
  std::string size = "256KiB", rate = "200Mbit/s";
  uint32_t members = 8, rounds = 10;
};

void measure(const bench::Bridge& bridge, const Asked& asked, const std::string& policy,
             const std::string& delay, const std::string& loss) {
  const Arguments common{CW_PERF_PROGRAM, "alltoall",
                         "--port",        "udp",
                         "--group",       "239.7.7.7",
                         "--members",     bridge.addresses(),
                         "--rate",        asked.rate,
                         "--size",        asked.size,
                         "--rounds",      std::to_string(asked.rounds),
                         "--policy",      policy,
                         "--delay",       delay,
                         "--loss",        loss,
                         "--payload",     "8160"};
  const Json report = bench::run_members(
      common, asked.members,
      [&](uint32_t rank, const Arguments& own) { return bridge.start(rank, own); });
  std::printf("| %s | %s | `%s` | %s | %llu | %llu |\n", delay.c_str(), loss.c_str(),
              policy.c_str(), bench::message_cells(report).c_str(),
              static_cast<unsigned long long>(report.at("packets_dropped").get<uint64_t>()),
              static_cast<unsigned long long>(report.at("bytes_wrong").get<uint64_t>()));
  std::fflush(stdout);
}

void run(const Asked& asked) {
  const bench::Bridge bridge(asked.members, "9000");
  std::printf("%u members, %s to each other one, %s, MTU 9000, %u steps each\n\n", asked.members,
              asked.size.c_str(), asked.rate.c_str(), asked.rounds);
  std::printf(
      "| delay, one way | lost | policy | %s | lost at full sockets | bytes wrong |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      bench::message_columns);
  for (const std::string& delay : asked.delays) {
    for (const std::string& loss : asked.losses) {
      for (const std::string& policy : asked.policies) measure(bridge, asked, policy, delay, loss);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  Asked asked;
  CommandLine app("What messages take over real sockets, between network namespaces.",
                  "message_hosts");
  app.add_option("--policies", asked.policies, "at the receivers").delimiter(',');
  app.add_option("--delays", asked.delays, "one way, of what comes to each member").delimiter(',');
  app.add_option("--losses", asked.losses, "of what comes to each member").delimiter(',');
  app.add_option("--size", asked.size, "bytes of a message").shows_default();
  app.add_option("--rate", asked.rate, "that a member sends and receives").shows_default();
  app.add_option("--members", asked.members, "processes").between(2, 250).shows_default();
  app.add_option("--rounds", asked.rounds, "steps of each").between(1, 1000).shows_default();
  return bench::run_in_lab(app, "message_hosts", {words, static_cast<size_t>(count)},
                           [&] { run(asked); });
}
