// perftest between the two hosts: A asks, B answers. What is run, and what its tables say.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tests/rdma/rdma_sites.h"

namespace cw::lab {

/// The row of a bandwidth test's table.
struct Bandwidth {
  uint64_t message_bytes = 0, messages = 0;
  /// Of messages' bytes, in 10^6 bits a second, as finely as the table can tell.
  double mbps = 0;
};

/// The row of a latency test's table: half of the time there and back.
struct Latency {
  uint64_t messages = 0;
  double p50_us = 0, p99_us = 0;
};

/// Of what perftest printed; nothing when no such row is in it.
std::optional<Bandwidth> parse_bandwidth(const std::string& printed);
std::optional<Latency> parse_latency(const std::string& printed);

/// What both hosts printed, and what they had to send again meanwhile.
struct PerftestRun {
  std::string host_a, host_b;
  uint64_t retransmits = 0;
};

/// Runs `command`, one of perftest's with its options, at both hosts. Throws what they say when it
/// fails or takes longer than `most`; nothing of it runs then any more.
PerftestRun run_perftest(RdmaSites& sites, const std::string& command, std::chrono::seconds most);

/// The same, again when it ends well and its table has no figures: on a busy machine perftest may
/// not find out how fast its clock is. Throws after three times.
PerftestRun run_perftest_with_figures(RdmaSites& sites, const std::string& command,
                                      std::chrono::seconds most);

/// For how long a bandwidth test measures: perftest leaves out a second at each end.
std::string for_seconds(uint32_t seconds);

/// The QPs' timeout, 4.096 us * 2^18 = 1.07 s: longer than a gateway takes to mend a loss.
inline constexpr const char* patient_qp = " -u 18";

}  // namespace cw::lab
