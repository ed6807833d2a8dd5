// A line that changes while hosts send, under one policy after the other: what each made of it, and
// what one that follows the line decided.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/demo/gateways.h"
#include "tests/demo/options.h"
#include "tests/demo/steps.h"
#include "tests/demo/wander/phases.h"
#include "tests/demo/wander/transfers.h"

namespace cw::demo {

/// A part of a phase.
struct Stretch {
  TransferTimes times;
  Carried carried;  ///< meanwhile

  /// What gateways send each other for each byte of the hosts; 0 without these.
  double wan_per_host_byte() const;
};

struct PhaseResult {
  Phase phase;
  Stretch settling;  ///< its first second, in which a policy has to notice
  Stretch rest;
};

struct Decision {
  double second = 0;  ///< since the first phase began
  std::string what;
};

/// Gateways of their own, from the first phase to the last.
struct PolicyRun {
  std::string policy;
  std::vector<PhaseResult> phases;
  std::vector<Decision> decisions;
  GatewayCounts counts;                                  ///< since the gateways' start
  uint64_t lost_at_sockets = 0, lost_at_interfaces = 0;  ///< packets, by kernels
  uint64_t datagrams_wrong = 0;
  /// The emulator says that it was too late for its figures to mean anything.
  bool is_void = false;
  std::string void_because;
};

struct WanderReport {
  Options options;
  std::vector<PolicyRun> runs;
  double seconds = 0;

  uint64_t datagrams_wrong() const;
};

struct WanderPrograms {
  std::string emulator, daemon;
};

/// Those that meet the line, in this order: that of the options, which gateways may refuse, and the
/// fixed ones of two that it is not.
std::vector<std::string> policies_of(const Options& options);

/// Throws what is in the way.
WanderReport measure_wander(const Options& options, const WanderPrograms& programs, Steps& steps);

/// What the figures say of the policy of the options beside the others, in sentences.
std::vector<std::string> verdict_of(const WanderReport& report);
/// One object on one line.
std::string to_json(const WanderReport& report);
std::string to_table(const WanderReport& report);

}  // namespace cw::demo
