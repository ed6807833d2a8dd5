#include "tests/rdma/perftest.h"

#include <sstream>
#include <stdexcept>
#include <vector>

namespace cw::lab {
namespace {

using std::chrono::seconds;

constexpr double bits_per_mib = 8 << 20;
constexpr auto server_patience = seconds(30);

/// The numbers of the line below the table's head; empty when there is no such line.
std::vector<double> row_of(const std::string& printed) {
  std::istringstream lines(printed);
  std::vector<double> row;
  bool is_below = false;
  for (std::string line; std::getline(lines, line);) {
    if (is_below) {
      std::istringstream fields(line);
      for (double each; fields >> each;) row.push_back(each);
      return row;
    }
    is_below = line.find("#bytes") != std::string::npos;
  }
  return row;
}

/// Ends by itself, however slow the line is, and can be ended: its number is left behind.
std::string bounded(const std::string& command, const char* device, seconds most) {
  return "echo $$ >/run/perftest\nexec timeout -s KILL " + std::to_string(most.count()) + " " +
         command + " -d " + device + " -F";
}
constexpr const char* end_it = "kill $(cat /run/perftest)";

uint64_t retransmits_of(RdmaSites& sites) {
  return sites.host_a().retransmits() + sites.host_b().retransmits();
}

}  // namespace

std::optional<Bandwidth> parse_bandwidth(const std::string& printed) {
  const std::vector<double> row = row_of(printed);
  constexpr size_t columns = 5;  // bytes, messages, peak, average in MiB/s, millions a second
  if (row.size() != columns || printed.find("BW average[MB/sec]") == std::string::npos) return {};
  // Messages in no time: it found no speed of its clock, as happens on a busy machine.
  if (row[1] > 0 && row[3] == 0 && row[4] == 0) return {};
  const double mib = row[3] * bits_per_mib * 1e-6, messages = row[4] * 1e6 * row[0] * 8e-6;
  // Printed are hundredths of a MiB and whole messages: for small ones the latter are finer.
  const bool is_small = row[0] < 0.01 * (1 << 20);
  return Bandwidth{.message_bytes = static_cast<uint64_t>(row[0]),
                   .messages = static_cast<uint64_t>(row[1]),
                   .mbps = is_small ? messages : mib};
}

std::optional<Latency> parse_latency(const std::string& printed) {
  const std::vector<double> row = row_of(printed);
  constexpr size_t columns = 9;  // bytes, messages, min, max, typical, mean, deviation, 99, 99.9 %
  if (row.size() != columns || printed.find("t_typical[usec]") == std::string::npos) return {};
  return Latency{.messages = static_cast<uint64_t>(row[1]), .p50_us = row[4], .p99_us = row[7]};
}

PerftestRun run_perftest(RdmaSites& sites, const std::string& command, seconds most) {
  const uint64_t before = retransmits_of(sites);
  const std::string bounded_command = bounded(command, sites.device(), most);
  const int b = sites.host_b().start(bounded_command);
  if (!sites.host_b().wait_for_listeners(1, server_patience)) {
    throw std::runtime_error(
        command + ": host B does not listen: " + sites.host_b().finish(b, most + seconds(5)).err);
  }
  const Outcome asking =
      sites.host_a().run(bounded_command + " " + sites.address_of_b(), most + seconds(5));
  // A server whose client is gone would answer the next one.
  if (asking.status != 0) sites.host_b().run(end_it, server_patience);
  const Outcome answering = sites.host_b().finish(b, most + seconds(5));
  if (asking.status != 0 || answering.status != 0) {
    throw std::runtime_error(command + ": host A, status " + std::to_string(asking.status) + ": " +
                             asking.err + " host B, status " + std::to_string(answering.status) +
                             ": " + answering.err);
  }
  return {asking.out, answering.out, retransmits_of(sites) - before};
}

PerftestRun run_perftest_with_figures(RdmaSites& sites, const std::string& command, seconds most) {
  constexpr int tries = 3;
  PerftestRun run;
  for (int i = 0; i < tries; ++i) {
    run = run_perftest(sites, command, most);
    if (parse_bandwidth(run.host_a) || parse_latency(run.host_a)) return run;
  }
  throw std::runtime_error(command + " printed no figures: " + run.host_a);
}

std::string for_seconds(uint32_t measured) { return " -f 1 -D " + std::to_string(measured + 2); }

}  // namespace cw::lab
