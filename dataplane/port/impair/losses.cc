#include "dataplane/port/impair/losses.h"

#include <algorithm>

namespace cw {
namespace {

constexpr uint64_t ones(uint64_t count) { return count >= 64 ? ~uint64_t{0} : (1ull << count) - 1; }

/// `chosen` of the lowest `window` bits, each set of that size equally likely (Knuth's selection).
uint64_t chosen_bits(uint64_t chosen, uint64_t window, Prng& prng) {
  uint64_t bits = 0;
  for (uint64_t i = 0; i < window; ++i) {
    if (prng.below(window - i) >= chosen) continue;
    bits |= 1ull << i;
    --chosen;
  }
  return bits;
}

}  // namespace

void BurstEvents::start(const BurstLoss& events) {
  const double kind = prng_.uniform();
  if (kind < events.profile.long_burst) {
    packets_left_ = static_cast<uint32_t>(prng_.between(
        events.burst_packets - events.burst_spread, events.burst_packets + events.burst_spread));
    drops_ = ones(packets_left_);
  } else if (kind < events.profile.long_burst + events.profile.high_frequency) {
    packets_left_ = events.window_packets;
    const uint64_t drops = prng_.between(events.window_drops_min, events.window_drops_max);
    drops_ = chosen_bits(drops, packets_left_, prng_);
  } else {
    packets_left_ = 1;
    drops_ = 1;
  }
}

bool Targets::is_chosen(const TargetedLoss& wanted) {
  ++seen_;
  if (seen_ < wanted.first) return false;
  const uint64_t since = seen_ - wanted.first;
  return wanted.every == 0 ? since == 0 : since % wanted.every == 0;
}

void Targets::follow(uint64_t key, uint32_t resends) {
  if (resends == 0 || count_ == targets_max) return;
  targets_[count_++] = {key, resends};
}

bool Targets::hits(const TargetedLoss& wanted, uint64_t key) {
  if (wanted.first == 0 || key == 0) return false;
  const bool chosen = is_chosen(wanted);
  const auto end = targets_.begin() + count_;
  const auto target =
      std::find_if(targets_.begin(), end, [&](const Target& t) { return t.key == key; });
  if (target != end) {
    if (--target->resends_left == 0) *target = targets_[--count_];
    return true;
  }
  if (chosen) follow(key, wanted.resends);
  return chosen;
}

}  // namespace cw
