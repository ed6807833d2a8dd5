// A group of two sites by way of two gateways: members as processes, four at each site by default,
// of which each multicast packet crosses the long line once; beside a ring across it. What crossed
// is counted at the gateways' interfaces, control and repair included.
//
//   members 10.1.0.11.. [host A] --- gateway A --- causeway-wan --- gateway B --- [host
//   B] 10.2.0.11..
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/e2e/group_members.h"
#include "bench/e2e/lab_program.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "control/units/units.h"
#include "tests/lab/gateway.h"
#include "tests/lab/multicast_routes.h"
#include "tests/lab/program.h"
#include "tests/lab/sites.h"

namespace {

using namespace cw;
using lab::Arguments;
using lab::At;
using lab::Gateway;
using lab::Program;
using lab::Space;

constexpr const char *group = "239.1.2.3", *site_group = "239.1.2.4";

struct Asked {
  std::vector<std::string> sizes{"1MiB"}, algorithms{"multicast", "ring"};
  std::string policy = "hybrid", rtt = "50ms", loss = "0.1%", rate = "100Mbit/s";
  uint32_t members = 4, rounds = 3, payload = 1024;
};

/// Out of both gateways, on the long line.
struct Crossed {
  double bytes = 0;              ///< on the wire, headers and control included
  double frames = 0;             ///< of hosts
  double data = 0, repairs = 0;  ///< slots of gateways
};

std::string address_of(const char* prefix, uint32_t member) {
  return prefix + std::to_string(11 + member);
}

class TwoSites {
 public:
  // Frame by frame: a kernel that routes multicast drops trains of segments as too long.
  explicit TwoSites(const Asked& asked) : sites_({.lan_offloads = false}) {
    const auto rtt = parse_duration(asked.rtt);
    if (!rtt) throw std::runtime_error("--rtt: " + rtt.error().sentence);
    delay_ = std::to_string(rtt->ns() / 2000) + "us";
    sites_.join(CW_WAN_PROGRAM, {"--delay", delay_, "--loss", asked.loss});
    folder_.write("pair.key", "a secret of thirty-two bytes or more, and nobody else's");
    for (const bool is_a : {true, false}) {
      gateways_.push_back(std::make_unique<Gateway>(sites_, folder_, CW_DAEMON_PROGRAM, is_a));
      gateways_.back()->configure(file_of(asked, is_a));
      gateways_.back()->start();
    }
    for (const auto& each : gateways_) {
      if (!each->wait_up()) throw std::runtime_error(each->program().err_so_far());
    }
    add_members(asked);
  }

  const std::string& addresses() const { return addresses_; }
  const std::string& delay() const { return delay_; }
  std::unique_ptr<Program> start(bool is_a, const Arguments& arguments) const {
    return std::make_unique<Program>(sites_.namespace_of(is_a ? At::HostA : At::HostB), arguments);
  }
  Crossed crossed() const {
    Crossed all;
    for (const auto& [place, interface] : {std::pair(At::GatewayA, "wa"), {At::GatewayB, "wb"}}) {
      const lab::Outcome told =
          sites_.space(place).run({"ip", "-j", "-s", "link", "show", "dev", interface});
      all.bytes += Json::parse(told.out).at(0).at("stats64").at("tx").at("bytes").get<double>();
    }
    for (const auto& gateway : gateways_) {
      const Json counters = gateway->status().at("counters");
      all.frames += counters.at("lan_sent").get<double>();
      all.data += counters.at("data_sent").get<double>();
      all.repairs += counters.at("repairs_sent").get<double>();
    }
    return all;
  }

 private:
  std::string file_of(const Asked& asked, bool is_a) const {
    lab::GatewayFile file;
    file.rtt = asked.rtt;
    file.classes =
        "[[class]]\nname = \"all\"\npolicy = \"" + asked.policy + "\"\n" + lab::patient_class;
    std::string text = file.text(is_a, folder_);
    const std::string tun = "device = \"causeway0\"\n";
    const lab::SiteAddresses& own = is_a ? lab::site_a : lab::site_b;
    text.replace(text.find(tun), tun.size(), tun + "prefixes = [\"" + own.prefix + "\"]\n");
    return text + "\n[[group]]\naddress = \"" + group + "\"\n";
  }

  void add_members(const Asked& asked) {
    near_.emplace(sites_.space(At::GatewayA), "la", "causeway0");
    far_.emplace(sites_.space(At::GatewayB), "lb", "causeway0");
    for (uint32_t member = 0; member < asked.members; ++member) {
      const std::string a = address_of("10.1.0.", member), b = address_of("10.2.0.", member);
      sites_.space(At::HostA).must("ip address add " + a + "/24 dev va");
      sites_.space(At::HostB).must("ip address add " + b + "/24 dev vb");
      near_->add(group, a, b);
      far_->add(group, b, a);
    }
    for (const char* prefix : {"10.1.0.", "10.2.0."}) {
      for (uint32_t member = 0; member < asked.members; ++member) {
        addresses_ += (addresses_.empty() ? "" : ",") + address_of(prefix, member);
      }
    }
  }

  lab::Folder folder_;
  lab::Sites sites_;
  std::vector<std::unique_ptr<Gateway>> gateways_;
  std::optional<lab::MulticastRoutes> near_, far_;
  std::string addresses_, delay_;
};

Json measure(const TwoSites& sites, const Asked& asked, const std::string& size,
             const std::string& algorithm) {
  Arguments common{CW_PERF_PROGRAM, "allgather", "--port", "udp", "--sites", "2", "--ttl", "4"};
  const std::pair<const char*, std::string> options[] = {
      {"--group", group},
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
      common, 2 * asked.members,
      [&](uint32_t rank, const Arguments& own) { return sites.start(rank < asked.members, own); });
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
  const TwoSites sites(asked);
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
