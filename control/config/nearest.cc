#include "control/config/nearest.h"

#include <algorithm>

#include "plugins/nearest.h"

namespace cw::config {

std::string_view nearest(std::string_view name, std::span<const std::string> known) {
  std::string_view best;
  const size_t slips_max = name.size() <= 3 ? 1 : std::max<size_t>(2, name.size() / 3);
  size_t best_distance = slips_max + 1;
  for (const std::string& candidate : known) {
    const size_t slips = plugins::edit_distance(name, candidate);
    if (slips >= best_distance) continue;
    best = candidate;
    best_distance = slips;
  }
  return best;
}

}  // namespace cw::config
