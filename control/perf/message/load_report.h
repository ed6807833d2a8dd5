// What a run of messages leaves, wherever its hosts were.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/json/json.h"
#include "control/perf/message/options.h"
#include "dataplane/message/messages.h"
#include "plugins/registry.h"

namespace cw::perf {

/// What was timed.
struct LoadTally {
  std::vector<double> message_us;  ///< of each message, from its post until it is there
  std::vector<double> step_us;     ///< of each step, or reduction
  uint64_t bytes_wrong = 0;
  std::string why;  ///< what hindered it; empty: nothing
};

/// What was counted, of one member or of all.
struct LoadCounts {
  uint64_t sent = 0, again = 0, asked = 0, doubled = 0, closed = 0;  ///< slots
  uint64_t dropped = 0, lost = 0, no_frame = 0;  ///< packets, between members; lost on purpose
  uint64_t quarantined = 0;                      ///< policies

  /// Of a member.
  void add(const group::Messages& messages, const Counters& counters, const Drops& drops);
  void add(const LoadCounts& other);
};

struct LoadReport {
  Json figures;     ///< as --json prints them
  std::string why;  ///< what hindered it; empty: nothing
};

LoadReport report_of(const MessageOptions& options, const char* policy, const LoadCounts& counts,
                     const LoadTally& tally);
void print_load(const Json& figures);

/// The policies, and the parameters of the one that is used; stays where it is while it is.
struct Recovery {
  Recovery() = default;
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  plugins::Registry registry;
  std::vector<double> params;
  sdr::PolicyChoice choice, fallback;
};
/// Errors: a sentence, of what is not or cannot be.
Result<void> choose(const MessageOptions& options, Recovery& recovery);

}  // namespace cw::perf
