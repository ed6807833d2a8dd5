// How many repair shards a row needs for the loss that is measured. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cw::policy {

/// The probability that more than `most` of `tries` are lost, each with probability `loss`.
inline double more_than(uint32_t most, uint32_t tries, double loss) {
  if (loss <= 0 || most >= tries) return 0;
  if (loss >= 1) return 1;
  double term = std::exp(tries * std::log1p(-loss)), within = term;
  for (uint32_t i = 1; i <= most; ++i) {
    term *= (tries - i + 1.0) / i * (loss / (1 - loss));
    within += term;
  }
  return std::max(0.0, 1 - within);
}

/// The fewest shards in [least, most] with which a row of k fails at most once in 1 / `failure`.
/// Losses come in bursts of `burst` slots, of which a row meets every rows-th: they count as
/// clusters that are lost as one.
inline uint8_t shards_for(double loss, double burst, uint16_t rows, uint8_t k, uint8_t least,
                          uint8_t most, double failure) {
  const double cluster = std::max(1.0, std::ceil(burst / rows));
  for (uint32_t m = least; m < most; ++m) {
    const auto clusters = static_cast<uint32_t>(std::lround((k + m) / cluster));
    const auto most_lost = static_cast<uint32_t>(m / cluster);
    if (more_than(most_lost, std::max(clusters, 1u), loss) <= failure) {
      return static_cast<uint8_t>(m);
    }
  }
  return std::max(least, most);
}

}  // namespace cw::policy
