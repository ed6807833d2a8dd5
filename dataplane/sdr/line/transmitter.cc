#include "dataplane/sdr/line/transmitter.h"

#include <algorithm>
#include <bit>

#include "dataplane/base/assert.h"

namespace cw::sdr {

Transmitter::Transmitter(uint16_t paths, std::span<const uint8_t> weights) : paths_(paths) {
  CW_ASSERT(paths >= 1 && paths <= limits::paths_max);
  CW_ASSERT(weights.empty() || weights.size() == paths);
  weights_.fill(1);
  std::ranges::copy(weights, weights_.begin());
  set_up((uint32_t{1} << paths) - 1);
}

// Smooth weighted round robin: each path is owed its weight in every turn, who is owed most is
// next, and pays with what all together are owed.
void Transmitter::set_up(uint32_t up) {
  CW_ASSERT(up != 0 && up >> paths_ == 0);
  up_ = up;
  has_several_ = std::popcount(up) > 1;
  int total = 0;
  for (uint16_t path = 0; path < paths_; ++path) total += is_up(path) ? weights_[path] : 0;
  CW_ASSERT(total > 0);
  std::array<int, limits::paths_max> owed{};
  for (int i = 0; i < total; ++i) {
    uint16_t most = static_cast<uint16_t>(std::countr_zero(up));
    for (uint16_t path = 0; path < paths_; ++path) {
      if (!is_up(path)) continue;
      owed[path] += weights_[path];
      if (owed[path] > owed[most]) most = path;
    }
    owed[most] -= total;
    turns_[static_cast<size_t>(i)] = static_cast<uint8_t>(most);
  }
  turn_count_ = static_cast<uint16_t>(total);
  turn_ = turn_ % turn_count_;
}

uint32_t Transmitter::sent(uint16_t path) const {
  uint32_t sent = 0;
  for (const auto& row : psns_) sent += row[path].value();
  return sent & 0xffffff;
}

void Transmitter::restart_psns() {
  for (auto& row : psns_) row.fill(Psn());
}

}  // namespace cw::sdr
