// The loss processes of an impairment, each with a generator of its own. Every process is shown
// every packet, also those that another one has already lost: so a changed probability of one never
// shifts what the others do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/base/prng.h"
#include "dataplane/port/impair/impairment.h"

namespace cw {

class GilbertElliottLoss {
 public:
  explicit GilbertElliottLoss(Prng prng) : prng_(prng) {}

  /// True when the next packet is lost.
  bool loses_next(const GilbertElliott& chain) {
    if (chain.to_bad == 0 && chain.loss_good == 0) return is_bad_ = false;
    const double step = prng_.uniform();
    is_bad_ = is_bad_ ? step >= chain.to_good : step < chain.to_bad;
    return prng_.chance(is_bad_ ? chain.loss_bad : chain.loss_good);
  }

 private:
  Prng prng_;
  bool is_bad_ = false;
};

class BurstEvents {
 public:
  explicit BurstEvents(Prng prng) : prng_(prng) {}

  /// True when the next packet is lost; `probability` is the events' event_probability().
  bool loses_next(const BurstLoss& events, double probability) {
    if (packets_left_ == 0) {
      if (probability == 0 || !prng_.chance(probability)) return false;
      start(events);
    }
    const bool lost = drops_ & 1;
    drops_ >>= 1;
    --packets_left_;
    return lost;
  }

 private:
  void start(const BurstLoss& events);

  Prng prng_;
  uint64_t drops_ = 0;  // bit i: the i-th packet from here is lost
  uint32_t packets_left_ = 0;
};

/// Follows up to `targets_max` hit keys at a time; a hit beyond that is dropped once, not followed.
class Targets {
 public:
  static constexpr size_t targets_max = 64;

  /// True when this appearance of `key` is to be dropped.
  bool hits(const TargetedLoss& wanted, uint64_t key);

 private:
  struct Target {
    uint64_t key = 0;
    uint32_t resends_left = 0;
  };
  bool is_chosen(const TargetedLoss& wanted);
  void follow(uint64_t key, uint32_t resends);

  uint64_t seen_ = 0;
  size_t count_ = 0;
  std::array<Target, targets_max> targets_;
};

}  // namespace cw
