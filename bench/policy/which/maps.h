// Which policy has the least p99.9, over message size and packet loss, for twelve links.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bench/policy/which/scenes.h"

namespace cw::which {

inline constexpr std::array rates_gbps = {1.0, 10.0, 100.0, 400.0};
inline constexpr std::array rtts_ms = {5.0, 25.0, 75.0};

/// What a cell of a map keeps of its standing.
struct Cell {
  size_t winner = 0;  ///< of the usual plans
  bool is_known = false, is_code = false;
  double loss = 0, hit = 0, leaving_rtts = 0;
  double timeout_ratio = 0;  ///< p99.9 of selective repeat by timeout over the best; 0: no law
};

/// Of one link.
struct LinkMap {
  double gbps = 1, rtt_ms = 25;
  std::vector<std::vector<Cell>> cells;  ///< [loss][size], both rising
};

LinkMap map_of(double gbps, double rtt_ms);
/// The maps of one rate as SVG; names are those that win anywhere in `all`.
std::string picture_of(double gbps, const std::vector<LinkMap>& all);
/// How many cells each kind of policy wins, per link and per loss, and sentences about all of them.
void print_shares(const std::vector<LinkMap>& all);

}  // namespace cw::which
