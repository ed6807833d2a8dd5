// Groups over real sockets: members as processes in network namespaces around one bridge, each size
// without loss and with some, of what comes to each member. What is timed is at rank 0, from its
// post until all members have all.
//
//   member 0 [10.9.0.1] --- veth --- bridge --- veth --- [10.9.0.2] member 1 ...
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/e2e/bridge.h"
#include "bench/e2e/group_members.h"
#include "bench/e2e/group_mpi.h"
#include "bench/e2e/group_strangers.h"
#include "bench/e2e/lab_program.h"
#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "control/units/units.h"
#include "tests/lab/space.h"

namespace {

using namespace cw;
using lab::Arguments;

struct Asked {
  std::vector<std::string> operations{"broadcast"}, losses{"0%", "1%", "5%"};
  std::vector<std::string> sizes{"4KiB", "64KiB", "1MiB", "16MiB", "64MiB"};
  std::string rate = "1Gbit/s", algorithm = "multicast", mtu = "9000";
  uint32_t members = 8, rounds = 5;
  bool has_strangers = false;
};

Json measure(const bench::Bridge& bridge, const Asked& asked, const Arguments& what) {
  Arguments common{CW_PERF_PROGRAM};
  common.insert(common.end(), what.begin(), what.end());
  for (const std::string& more :
       {std::string("--port"), std::string("udp"), std::string("--group"), std::string("239.7.7.7"),
        std::string("--members"), bridge.addresses(), std::string("--rate"), asked.rate,
        std::string("--rounds"), std::to_string(asked.rounds), std::string("--algorithm"),
        asked.algorithm, std::string("--payload"), std::string("8160")}) {
    common.push_back(more);
  }
  return bench::run_members(common, asked.members, [&](uint32_t rank, const Arguments& own) {
    return bridge.start(rank, own);
  });
}

/// `lossless_us` is of the same operation and size; 0: this is it.
void print(const Json& report, double lossless_us) {
  const double mean = report.at("completion_us").at("mean").get<double>();
  const double bytes = report.at("bytes").get<double>();
  const bool is_broadcast = report.at("operation") == "broadcast";
  const double sources = is_broadcast ? 1 : report.at("hosts").get<double>();
  std::printf("| %s, %.0f KiB | %g %% | %.0f | %.0f | %.2f | %.3f | %.2f | %.1f | %llu | %llu |\n",
              report.at("operation").get<std::string>().c_str(), bytes / 1024,
              report.at("loss").get<double>() * 100, mean,
              report.at("completion_us").at("max").get<double>(),
              lossless_us > 0 ? mean / lossless_us : 1, bytes * sources * 8 / mean / 1000,
              report.at("injected_bytes").get<double>() / (bytes * sources),
              report.at("fetched_slots").get<double>(),
              static_cast<unsigned long long>(report.at("rx_dropped").get<uint64_t>()),
              static_cast<unsigned long long>(report.at("bytes_wrong").get<uint64_t>()));
  std::fflush(stdout);
}

/// A file from rank 0 to all others, by programs that do that.
void run_strangers(const bench::Bridge& bridge, const Asked& asked) {
  const auto rate = parse_rate(asked.rate);
  if (!rate) throw std::runtime_error("--rate: " + rate.error().sentence);
  std::printf(
      "\n| program, bytes | lost | whole run of the sender, ms | receivers with all |\n"
      "|---|---|---|---|\n");
  for (const bench::Stranger& stranger : bench::strangers_here()) {
    for (const std::string& size : asked.sizes) {
      const auto bytes = parse_bytes(size);
      if (!bytes) throw std::runtime_error("--sizes: " + bytes.error().sentence);
      for (const std::string& loss : asked.losses) {
        bridge.lose(loss);
        const bench::StrangerRun run = bench::run_stranger(
            stranger, asked.members, bytes->count(), static_cast<uint32_t>(rate->bps() / 1'000'000),
            [&](uint32_t rank, const Arguments& what) { return bridge.start(rank, what); });
        std::printf("| %s, %s | %s | %.0f | %u of %u %s |\n", stranger.name, size.c_str(),
                    loss.c_str(), run.ms, run.right, asked.members - 1, run.why.c_str());
        std::fflush(stdout);
      }
    }
  }
}

/// What ours does, by a library that has no multicast here.
void run_mpi(const bench::Bridge& bridge, const Asked& asked) {
  const std::string obstacle = bench::mpi_obstacle();
  if (!obstacle.empty()) return void(std::printf("\nOpenMPI: %s\n", obstacle.c_str()));
  bridge.send_frame_by_frame();
  std::printf(
      "\n| OpenMPI over TCP, bytes | lost | mean, us | max, us | of lossless | bytes wrong |\n"
      "|---|---|---|---|---|---|\n");
  for (const std::string& size : asked.sizes) {
    double lossless_us = 0;
    for (const std::string& loss : asked.losses) {
      const auto bytes = parse_bytes(size);
      if (!bytes) throw std::runtime_error("--sizes: " + bytes.error().sentence);
      bridge.lose(loss, "tcp");
      const auto run = bench::run_mpi(bridge, bytes->count(), asked.rounds);
      if (!run) throw std::runtime_error(run.error().sentence);
      std::printf("| %s | %s | %.0f | %.0f | %.2f | %llu |\n", size.c_str(), loss.c_str(),
                  run->mean_us, run->max_us, lossless_us > 0 ? run->mean_us / lossless_us : 1,
                  static_cast<unsigned long long>(run->bytes_wrong));
      std::fflush(stdout);
      if (lossless_us == 0) lossless_us = run->mean_us;
    }
  }
}

void run(const Asked& asked) {
  const bench::Bridge bridge(asked.members, asked.mtu);
  std::printf("%u members, %s at %s, MTU %s, %u rounds each\n\n", asked.members,
              asked.algorithm.c_str(), asked.rate.c_str(), asked.mtu.c_str(), asked.rounds);
  std::printf(
      "| operation, bytes of a source | lost | mean, us | max, us | of lossless | Gbit/s | "
      "injected,"
      " of payload | fetched slots | lost at full sockets, all rounds | bytes wrong |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& operation : asked.operations) {
    for (const std::string& size : asked.sizes) {
      double lossless_us = 0;
      for (const std::string& loss : asked.losses) {
        const Json report = measure(bridge, asked, {operation, "--size", size, "--loss", loss});
        print(report, lossless_us);
        if (lossless_us == 0) lossless_us = report.at("completion_us").at("mean").get<double>();
      }
    }
  }
  if (!asked.has_strangers) return;
  run_strangers(bridge, asked);
  run_mpi(bridge, asked);
}

}  // namespace

int main(int count, char** words) {
  Asked asked;
  CommandLine app("What groups take over real sockets, between network namespaces.", "group_hosts");
  app.add_option("--operations", asked.operations, "broadcast, allgather").delimiter(',');
  app.add_option("--sizes", asked.sizes, "bytes of a source").delimiter(',');
  app.add_option("--losses", asked.losses, "of what comes to each member; none first")
      .delimiter(',');
  app.add_option("--rate", asked.rate, "that a member sends and receives").shows_default();
  app.add_option("--algorithm", asked.algorithm, "as causeway-perf has it").shows_default();
  app.add_option("--mtu", asked.mtu, "of all cables").shows_default();
  app.add_option("--members", asked.members, "processes").between(2, 250).shows_default();
  app.add_option("--rounds", asked.rounds, "of each").between(1, 1000).shows_default();
  app.add_flag("--strangers", asked.has_strangers,
               "then the same by udpcast, uftp and OpenMPI, whole percents of it lost by nft");
  return bench::run_in_lab(app, "group_hosts", {words, static_cast<size_t>(count)},
                           [&] { run(asked); });
}
