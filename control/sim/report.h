// What a run came to, as a program and as a person read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/units.h"

namespace cw {

/// In milliseconds; zero when no message completed.
struct CompletionTimes {
  double mean = 0, p50 = 0, p99 = 0, p999 = 0;
  double mean_error = 0;               ///< the standard error of the mean
  double p999_low = 0, p999_high = 0;  ///< where the true p99.9 lies, with 95 % confidence

  static CompletionTimes of(std::vector<Duration> times);
};

struct Report {
  std::string policy;
  uint64_t seed = 0;
  uint64_t messages = 0;                   ///< to be sent, warm-up excluded
  uint64_t completed = 0;                  ///< of them, received whole
  CompletionTimes completion;              ///< of those that the sender's policy settled
  std::vector<Duration> completion_times;  ///< each of them, in no order
  double goodput_gbps = 0;  ///< bytes of completed messages over the time they took together
  // Of the whole run, warm-up and control packets included.
  uint64_t packets = 0;
  uint64_t resent_packets = 0;
  uint64_t repair_packets = 0;
  uint64_t lost_packets = 0;  ///< by the wire
  uint64_t quarantined = 0;   ///< instances of the policy that were replaced
  uint64_t bytes_wrong = 0;
  uint64_t trace_hash = 0;
  double virtual_seconds = 0;
  double wall_seconds = 0;
};

/// One JSON object on one line.
std::string to_json(const Report& report);
std::string to_table(const Report& report);

}  // namespace cw
