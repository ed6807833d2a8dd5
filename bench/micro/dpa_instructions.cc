// dpa_instructions: how many instructions of RV64 the bitmap kernel takes per packet, counted by an
// emulator, beside what others have published of a DPA; what that may mean for threads of a DPA,
// which is an estimate; and whether what it works on fits a DPA's cache. Nothing here is a speed.
// Exit codes: 0 done, 2 arguments, 3 it cannot be counted here.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "control/command_line/command_line.h"
#include "control/json/json.h"
#include "tests/unit/offload/dpa_datagrams.h"
#include "tests/unit/offload/dpa_kinds.h"

namespace {

using namespace cw;

constexpr int exit_refused = 2, exit_failed = 3;

// Published of one thread of a BlueField-3's DPA (arXiv 2408.13356), per completion.
struct Published {
  double instructions, cycles;
};
constexpr Published unreliable = {66, 598};    // unreliable connection, placed by the NIC
constexpr Published datagrams = {113, 1'084};  // datagrams that are staged and copied
constexpr double dpa_hz = 1.8e9;
constexpr double l2_bytes = 1.5 * 1024 * 1024;
constexpr double packet_bytes = 4096;

double packets_per_second(double gbit) { return gbit * 1e9 / 8 / packet_bytes; }
double threads(double gbit, double cycles) {
  return std::ceil(packets_per_second(gbit) * cycles / dpa_hz);
}

struct Count {
  std::string kind;
  DpaCost cost;
};

Result<std::vector<Count>> count_all(const EmulatedDpaOptions& options) {
  std::vector<Count> counts;
  for (const DpaKind& kind : dpa_kinds()) {
    const auto cost = dpa_cost(options, kind);
    if (!cost) return std::unexpected(cost.error());
    counts.push_back({kind.name, *cost});
  }
  return counts;
}

Result<std::vector<Count>> count_datagrams(const EmulatedDpaOptions& options) {
  std::vector<Count> counts;
  for (const DpaDatagrams& kind : dpa_datagrams()) {
    const auto instructions = dpa_datagram_cost(options, kind);
    if (!instructions) return std::unexpected(instructions.error());
    counts.push_back({kind.name, {*instructions, 1}});
  }
  return counts;
}

/// Of 400 Gbit/s over 25 ms, two of which are in flight or being told of.
struct WorkingSet {
  uint32_t partitions;
  double bits_bytes, rows_bytes;
  double bytes() const { return bits_bytes + rows_bytes; }
};
constexpr double in_flight_bytes = 400e9 / 8 * 2 * 25e-3;
constexpr uint32_t message_slots = 2048, ring_entries = 1024;

WorkingSet working_set(uint32_t partitions) {
  const cw_bits_limits limits = {
      .ids = static_cast<uint32_t>(std::ceil(in_flight_bytes / packet_bytes / message_slots)),
      .slots_max = message_slots,
      .slot_bits = 18,
      .user_bits = 4};
  return {partitions, static_cast<double>(partitions * cw_bits_arena_size(&limits)),
          static_cast<double>(partitions * cw_bits_row_size(1, ring_entries, ring_entries))};
}

const std::vector<uint32_t> partition_counts = {1, 4, 8, 16};
const std::vector<double> rates_gbit = {200, 400, 1600};

void print_counts(const std::vector<Count>& counts) {
  std::printf(
      "Instructions of RV64 per packet, counted by an emulator, bursts of 64:\n\n"
      "| packets | instructions | events per record |\n|---|---:|---:|\n");
  for (const Count& it : counts) {
    std::printf("| %s | %.1f | %.3f |\n", it.kind.c_str(), it.cost.instructions, it.cost.events);
  }
  std::printf(
      "| published, unreliable connection | %.0f (%.0f cycles) | |\n"
      "| published, datagrams with staging | %.0f (%.0f cycles) | |\n\n"
      "Published (arXiv 2408.13356): one thread of a BlueField-3's DPA at 1.8 GHz, its completion "
      "queue and "
      "doorbells\n"
      "included, which the counts above have not: they begin and end at a row of records.\n\n",
      unreliable.instructions, unreliable.cycles, datagrams.instructions, datagrams.cycles);
}

double cycles_by_instructions(double ours) {
  return unreliable.cycles * ours / unreliable.instructions;
}

void print_estimates(double ours) {
  std::printf(
      "Threads of a DPA for packets of 4 KiB in order, an ESTIMATE, measured nowhere:\n\n"
      "| estimate | cycles per packet | 200 Gbit/s | 400 Gbit/s | 1,600 Gbit/s |\n"
      "|---|---:|---:|---:|---:|\n");
  const auto print_row = [](const char* name, double cycles) {
    std::printf("| %s | %.0f |", name, cycles);
    for (const double gbit : rates_gbit) std::printf(" %.0f |", threads(gbit, cycles));
    std::printf("\n");
  };
  print_row("published cycles as they are", unreliable.cycles);
  print_row("if cycles follow instructions", cycles_by_instructions(ours));
  std::printf(
      "| published, measured [1] | | 4 to 16 | | |\n"
      "| published, measured [2] | | | 16 that receive | |\n\n"
      "[1] arXiv 2408.13356, until 200 Gbit/s were full. [2] arXiv 2505.05366, what its testbed "
      "had;\n"
      "it takes 12 million packets per second for 400 Gbit/s and 49 for 1.6 Tbit/s.\n"
      "Published cycles are nine for each instruction: threads wait for memory and PCIe, of which\n"
      "no count of instructions knows.\n\n");
}

void print_working_sets() {
  std::printf(
      "What partitions work on, of 400 Gbit/s and twice 25 ms: %.0f KiB of packet bits; an L2 has\n"
      "%.0f KiB. Messages of %u slots; rings of %u records and events:\n\n"
      "| partitions | bits and lives, KiB | rows, KiB | sum, KiB | fits L2 |\n"
      "|---:|---:|---:|---:|---|\n",
      in_flight_bytes / packet_bytes / 8 / 1024, l2_bytes / 1024, message_slots, ring_entries);
  for (const uint32_t partitions : partition_counts) {
    const WorkingSet it = working_set(partitions);
    std::printf("| %u | %.0f | %.0f | %.0f | %s |\n", it.partitions, it.bits_bytes / 1024,
                it.rows_bytes / 1024, it.bytes() / 1024, it.bytes() <= l2_bytes ? "yes" : "no");
  }
}

void print_datagrams(const std::vector<Count>& counts) {
  std::printf(
      "\nA group's datagrams, checked (SPEC.md 18.2), claimed, and handed to whoever copies:\n\n"
      "| datagrams | instructions |\n|---|---:|\n");
  for (const Count& it : counts) {
    std::printf("| %s | %.1f |\n", it.kind.c_str(), it.cost.instructions);
  }
  const double following =
      datagrams.cycles * counts.front().cost.instructions / datagrams.instructions;
  std::printf(
      "\nThreads for 1,600 Gbit/s of 4 KiB, an ESTIMATE, measured nowhere: %.0f by the published\n"
      "cycles as they are, %.0f if cycles follow instructions.\n",
      threads(1600, datagrams.cycles), threads(1600, following));
}

Json as_json(const std::vector<Count>& counts) {
  Json kinds = Json::array(), estimates = Json::array(), sets = Json::array();
  for (const Count& it : counts) {
    kinds.push_back({{"packets", it.kind},
                     {"instructions", it.cost.instructions},
                     {"events_per_record", it.cost.events}});
  }
  const double following = cycles_by_instructions(counts.front().cost.instructions);
  for (const double gbit : rates_gbit) {
    estimates.push_back({{"gbit", gbit},
                         {"threads_by_published_cycles", threads(gbit, unreliable.cycles)},
                         {"threads_if_cycles_follow_instructions", threads(gbit, following)}});
  }
  for (const uint32_t partitions : partition_counts) {
    const WorkingSet it = working_set(partitions);
    sets.push_back({{"partitions", it.partitions},
                    {"bytes", it.bytes()},
                    {"fits_l2", it.bytes() <= l2_bytes}});
  }
  return {{"instructions", kinds}, {"estimates", estimates}, {"working_sets", sets}};
}

}  // namespace

int main(int argc, char** argv) {
  EmulatedDpaOptions options{.program = CW_DPA_PROGRAM};
  bool is_json = false;
  CommandLine line("Instructions of the bitmap kernel on an emulated DPA.", "dpa_instructions");
  line.add_option("--program", options.program, "the DPA's, for RV64").shows_default();
  line.add_option("--emulator", options.emulator, "that runs it").shows_default();
  line.add_flag("--json", is_json, "the same as JSON");
  if (const auto status = line.parse_or_end(argc, argv, exit_refused)) return *status;
  const auto counts = count_all(options);
  const auto of_datagrams = count_datagrams(options);
  for (const auto* each : {&counts, &of_datagrams}) {
    if (*each) continue;
    std::fprintf(stderr, "dpa_instructions: %s\n", each->error().sentence.c_str());
    return exit_failed;
  }
  if (is_json) {
    std::printf("%s\n", as_json(*counts).dump().c_str());
    return 0;
  }
  print_counts(*counts);
  print_estimates(counts->front().cost.instructions);
  print_working_sets();
  print_datagrams(*of_datagrams);
  return 0;
}
