// A group of two sites by way of two gateways: members as processes, four at each site by default,
// of which each multicast packet crosses the long line once; beside a ring across it. What crossed
// is counted at the gateways' interfaces, control and repair included.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/e2e/group_members.h"
#include "bench/e2e/lab_program.h"
#include "bench/e2e/two_sites.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"

namespace {

using namespace cw;
using bench::Crossed;
using bench::TwoSites;
using lab::Arguments;

constexpr const char* site_group = "239.1.2.4";

struct Asked {
  std::vector<std::string> sizes{"1MiB"}, algorithms{"multicast", "ring"};
  std::string policy = "hybrid", rtt = "50ms", loss = "0.1%", rate = "100Mbit/s";
  uint32_t members = 4, rounds = 3, payload = 1024;
};

Json measure(const TwoSites& sites, const Asked& asked, const std::string& size,
             const std::string& algorithm) {
  Arguments common{CW_PERF_PROGRAM, "allgather", "--port", "udp", "--sites", "2", "--ttl", "4"};
  const std::pair<const char*, std::string> options[] = {
      {"--group", TwoSites::group},
      {"--site-group", site_group},
      {"--members", sites.addresses()},
      {"--far-delay", sites.delay()},
      {"--size", size},
      {"--algorithm", algorithm},
      {"--rate", asked.rate},
      {"--rounds", std::to_string(asked.rounds)},
      {"--payload", std::to_string(asked.payload)}};
  for (const auto& [name, value] : options) {
    common.emplace_back(name);
    common.push_back(value);
  }
  const Crossed before = sites.crossed();
  Json report = bench::run_members(
      common, sites.members(),
      [&](uint32_t rank, const Arguments& own) { return sites.start(rank, own); });
  const Crossed after = sites.crossed();
  report["far_bytes"] = (after.bytes - before.bytes) / asked.rounds;
  report["far_frames"] = (after.frames - before.frames) / asked.rounds;
  report["repair_per_data"] = (after.repairs - before.repairs) / (after.data - before.data);
  return report;
}

/// Were each part to leave its site once, or as a ring has it.
void print(const Json& report, const Asked& asked) {
  const double bytes = report.at("bytes").get<double>();
  const double far = report.at("far_bytes").get<double>();
  const double parts = 2.0 * asked.members;
  const double slots = std::ceil(bytes / asked.payload) * parts;
  std::printf("| %s | %.0f KiB | %.0f | %.0f | %.3f | %.3f | %.3f | %.1f | %llu |\n",
              report.at("algorithm").get<std::string>().c_str(), bytes / 1024,
              report.at("completion_us").at("mean").get<double>() / 1000,
              report.at("completion_us").at("max").get<double>() / 1000,
              report.at("far_frames").get<double>() / slots,
              report.at("repair_per_data").get<double>(), far / (parts * bytes),
              report.at("fetched_slots").get<double>(),
              static_cast<unsigned long long>(report.at("bytes_wrong").get<uint64_t>()));
  std::fflush(stdout);
}

void run(const Asked& asked) {
  const TwoSites sites({.classes = "[[class]]\nname = \"all\"\npolicy = \"" + asked.policy +
                                   "\"\n" + lab::patient_class,
                        .rtt = asked.rtt,
                        .loss = asked.loss,
                        .members = asked.members});
  std::printf("two sites of %u, %s round trip, %s lost each way, %s, policy %s, %u rounds each\n\n",
              asked.members, asked.rtt.c_str(), asked.loss.c_str(), asked.rate.c_str(),
              asked.policy.c_str(), asked.rounds);
  std::printf(
      "| allgather by | bytes of a source | mean, ms | max, ms | frames over the long line, of all "
      "parts' slots | repair slots to data slots there | bytes there, of all parts' | fetched "
      "slots "
      "| bytes wrong |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& size : asked.sizes) {
    for (const std::string& algorithm : asked.algorithms) {
      print(measure(sites, asked, size, algorithm), asked);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  Asked asked;
  CommandLine app("A group of two sites over two gateways, between network namespaces.",
                  "group_sites");
  app.add_option("--sizes", asked.sizes, "bytes of a source").delimiter(',');
  app.add_option("--algorithms", asked.algorithms, "as causeway-perf has them").delimiter(',');
  app.add_option("--policy", asked.policy, "of the gateways").shows_default();
  app.add_option("--rtt", asked.rtt, "of the long line").shows_default();
  app.add_option("--loss", asked.loss, "of it, each way").shows_default();
  app.add_option("--rate", asked.rate, "that a member sends and receives").shows_default();
  app.add_option("--payload", asked.payload, "bytes of a slot").between(224, 8160).shows_default();
  app.add_option("--members", asked.members, "of each site").between(1, 100).shows_default();
  app.add_option("--rounds", asked.rounds, "of each").between(1, 1000).shows_default();
  return bench::run_in_lab(app, "group_sites", {words, static_cast<size_t>(count)},
                           [&] { run(asked); });
}
