// What is claimed of the project's speed and thrift, measured: a row of the table each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/json/json.h"

namespace cw::claims {

struct Figure {
  std::string what;
  double value = 0;
  std::string unit;
  /// The value beside something else of the same run, and what that is; speeds have one, since
  /// machines differ.
  std::optional<double> ratio = {};
  std::string beside = {};
};
using Figures = std::vector<Figure>;

/// How much of everything is measured.
struct Effort {
  double bench_seconds = 0.3;  ///< of one benchmark, five times over
  unsigned repetitions = 5;
  unsigned wakes = 2000, pings = 300;
  unsigned idle_ms = 5000, stream_s = 5;
};
inline constexpr Effort quick{.bench_seconds = 0.001,
                              .repetitions = 1,
                              .wakes = 20,
                              .pings = 5,
                              .idle_ms = 300,
                              .stream_s = 1};

// ---- each throws, with a sentence, when it cannot measure
/// By the programs of bench/micro, which lie in `folder`.
Figures of_rooms(const std::string& folder, const Effort& effort);
/// A worker that sleeps until a packet comes, in this process.
Figures of_waking(const Effort& effort);
/// Two gateways of a lab, with a link and hosts.
Figures of_gateways(const Effort& effort);

/// The value of `values` below which a share of them lies; sorts them.
double quantile(std::vector<double>& values, double share);

std::string table_of(const Figures& figures);
Json json_of(const Figures& figures);

}  // namespace cw::claims
