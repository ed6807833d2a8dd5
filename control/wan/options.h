// The command line of causeway-wan.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "control/wan/link/link_change.h"
#include "dataplane/base/result.h"
#include "dataplane/base/units.h"

namespace cw::wan {

inline constexpr const char* direction_names[2] = {"a_to_b", "b_to_a"};

struct Options {
  std::array<std::string, 2> interfaces;
  BothDirections directions;
  uint64_t seed = 1;
  Duration duration = Duration::max();
  Duration stats_every = {};  ///< zero: no live counters
  Duration spin = {};         ///< wake so much early and spin for the rest
  Duration gather = {};       ///< let frames gather so long before looking again
  Bytes memory;
  std::string control;  ///< path of the socket that changes the link; empty: none
  bool is_json = false;
  bool impairs_arp = false;
  bool fixes_offloads = false;
  bool is_realtime = true;
  std::string help;  ///< not empty: print it and do nothing else
};

/// Never throws. The sentence names the option and what it accepts.
Result<Options> parse_options(std::span<const char* const> arguments);

}  // namespace cw::wan
