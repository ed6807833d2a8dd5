// Messages of two sites by way of two gateways: members as processes, in steps in which each has a
// message for each other one, near or far. Who mends what the long line loses is compared: the
// members alone, behind gateways that only carry, or the gateways too.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/e2e/group_members.h"
#include "bench/e2e/lab_program.h"
#include "bench/e2e/two_sites.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"

namespace {

using namespace cw;
using bench::TwoSites;
using lab::Arguments;

struct Asked {
  std::vector<std::string> policies{"csa_ud", "irn", "nack_fixed", "rto_only", "go_back_n"};
  std::vector<std::string> gateways{"passthrough", "hybrid"}, losses{"0%", "0.1%", "1%"};
  std::string size = "256KiB", rate = "100Mbit/s", rtt = "50ms";
  uint32_t members = 4, rounds = 10, payload = 1024;
};

/// What is of message hosts has a class of its own.
std::string classes_of(const std::string& policy) {
  const auto one = [](const std::string& name, const std::string& keys) {
    return "[[class]]\nname = \"" + name + "\"\n" + keys + lab::patient_class + "\n";
  };
  return one("messages", "policy = \"" + policy + "\"\nmatch = [{ kind = \"roce_datagram\" }]\n") +
         one("rest", "");
}

void measure(const TwoSites& sites, const Asked& asked, const std::string& gateways,
             const std::string& loss, const std::string& policy) {
  const Arguments common{CW_PERF_PROGRAM, "alltoall",
                         "--port",        "udp",
                         "--ttl",         "4",
                         "--group",       TwoSites::group,
                         "--members",     sites.addresses(),
                         "--rate",        asked.rate,
                         "--size",        asked.size,
                         "--rounds",      std::to_string(asked.rounds),
                         "--policy",      policy,
                         "--payload",     std::to_string(asked.payload)};
  const double before = sites.sent_in_class("messages");
  const Json report = bench::run_members(
      common, sites.members(),
      [&](uint32_t rank, const Arguments& own) { return sites.start(rank, own); });
  const double carried = sites.sent_in_class("messages") - before;
  std::printf("| `%s` | %s | `%s` | %s | %.0f | %llu |\n", gateways.c_str(), loss.c_str(),
              policy.c_str(), bench::message_cells(report).c_str(), carried,
              static_cast<unsigned long long>(report.at("bytes_wrong").get<uint64_t>()));
  std::fflush(stdout);
  if (carried == 0) throw std::runtime_error("nothing came through the gateways as roce_datagram");
}

void run(const Asked& asked) {
  std::printf("two sites of %u, %s round trip, %s to each other one, %s, %u steps each\n\n",
              asked.members, asked.rtt.c_str(), asked.size.c_str(), asked.rate.c_str(),
              asked.rounds);
  std::printf(
      "| gateways | lost each way | policy of members | %s | datagrams by the gateways | bytes "
      "wrong "
      "|\n|---|---|---|---|---|---|---|---|---|---|\n",
      bench::message_columns);
  for (const std::string& gateways : asked.gateways) {
    for (const std::string& loss : asked.losses) {
      const TwoSites sites({.classes = classes_of(gateways),
                            .rtt = asked.rtt,
                            .loss = loss,
                            .members = asked.members});
      for (const std::string& policy : asked.policies) {
        measure(sites, asked, gateways, loss, policy);
      }
    }
  }
}

}  // namespace

int main(int count, char** words) {
  Asked asked;
  CommandLine app("Messages of two sites over two gateways, between network namespaces.",
                  "message_sites");
  app.add_option("--gateways", asked.gateways, "their policy").delimiter(',');
  app.add_option("--losses", asked.losses, "of the long line, each way").delimiter(',');
  app.add_option("--policies", asked.policies, "of the members").delimiter(',');
  app.add_option("--rtt", asked.rtt, "of the long line").shows_default();
  app.add_option("--size", asked.size, "bytes of a message").shows_default();
  app.add_option("--rate", asked.rate, "that a member sends and receives").shows_default();
  app.add_option("--payload", asked.payload, "bytes of a slot").between(224, 8160).shows_default();
  app.add_option("--members", asked.members, "of each site").between(1, 100).shows_default();
  app.add_option("--rounds", asked.rounds, "steps of each").between(1, 1000).shows_default();
  return bench::run_in_lab(app, "message_sites", {words, static_cast<size_t>(count)},
                           [&] { run(asked); });
}
