// What operations took, and how it is told, whatever was between the members.
#pragma once

#include <cstdint>
#include <vector>

#include "control/json/json.h"
#include "control/perf/collective/options.h"

namespace cw::perf {

struct Tally {
  std::vector<double> times_us;  ///< of each operation, until all have all
  // Over all members and operations.
  uint64_t injected_bytes = 0;
  uint64_t fetched_slots = 0;
  uint64_t bytes_wrong = 0;

  double each_round(uint64_t count) const {
    return times_us.empty() ? 0 : static_cast<double>(count) / static_cast<double>(times_us.size());
  }
};

/// The keys that every report has.
Json report_of(const CollectiveOptions& options, const Tally& tally);
/// As OSU's benchmarks print it.
void print(const Json& report);

}  // namespace cw::perf
