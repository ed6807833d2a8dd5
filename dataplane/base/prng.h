// Seeded randomness for simulation, jitter and tests: xoshiro256++ (Blackman and Vigna), seeded by
// splitmix64. The same seed gives the same row of numbers on every machine. Not for keys: those
// come from the operating system, by way of a RandomSource.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace cw {

class Prng {
 public:
  explicit constexpr Prng(uint64_t seed) {
    for (uint64_t& word : state_) word = split_mix(seed);
  }

  /// 64 uniform bits.
  constexpr uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// Uniform in [0, bound); `bound` must not be zero. The bias is below bound / 2^64.
  constexpr uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64);
  }
  /// Uniform in [low, high]; `low` must not be larger.
  constexpr uint64_t between(uint64_t low, uint64_t high) {
    const uint64_t count = high - low + 1;  // zero: all 2^64 of them
    return count == 0 ? next() : low + below(count);
  }
  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// True with the given probability; draws a number even for 0 and 1, so that a changed
  /// probability does not shift everything that follows.
  constexpr bool chance(double probability) { return uniform() < probability; }
  /// Exponentially distributed with the given mean; its last bit may differ between C libraries.
  double exponential(double mean) { return -mean * std::log1p(-uniform()); }
  /// An independent generator, for a part that must not disturb the rest of the row.
  constexpr Prng split() { return Prng(next()); }

 private:
  static constexpr uint64_t split_mix(uint64_t& state) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  uint64_t state_[4];
};

/// 64 bits that nobody can guess, never zero: from the operating system, or from a seed in
/// simulation.
struct RandomSource {
  void* state = nullptr;
  uint64_t (*next)(void* state) = nullptr;

  /// From a seed; `prng` lives longer.
  static RandomSource of(Prng& prng) {
    return {&prng, [](void* state) { return static_cast<Prng*>(state)->next(); }};
  }
  uint64_t fresh() const {
    uint64_t bits = 0;
    while (bits == 0) bits = next(state);
    return bits;
  }
};

}  // namespace cw
