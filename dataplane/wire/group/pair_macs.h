// The keys of envelopes between members, prepared: those of the pairs that spoke last are kept, as
// making one costs as much as sealing an envelope. Each follows from the group's secret (SPEC.md
// 18.4), so that what is not kept is made anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/wire/control/envelope.h"
#include "dataplane/wire/group/pair_key.h"

namespace cw::group {

/// Makes a prepared key of 32 bytes; handed in, as MacKey is.
struct MacMaker {
  static constexpr size_t state_words = 32;
  using State = uint64_t[state_words];
  void (*prepare)(State& state, const void* key, size_t bytes) = nullptr;
};

/// 17 KiB, as secret as the secret. Thread: one. Nothing allocates.
class PairMacs {
 public:
  PairMacs(const MacKey& secret, const MacMaker& maker, uint16_t rank)
      : secret_(secret), maker_(maker), rank_(rank) {}

  /// With a member, in an epoch; 0: in none. Valid until the next call. Cost: of one that is not
  /// kept, four SHA-256 blocks.
  MacKey with(uint16_t other, uint64_t epoch) {
    Kept& kept = kept_[other % kept_.size()];
    if (!kept.is_there || kept.other != other || kept.epoch != epoch) {
      const PairKey key = pair_key(secret_, epoch, rank_, other);
      maker_.prepare(kept.state, key.data(), key.size());
      kept.epoch = epoch;
      kept.other = other;
      kept.is_there = true;
    }
    return {.state = &kept.state, .compute = secret_.compute, .number = secret_.number};
  }

 private:
  struct Kept {
    MacMaker::State state;
    uint64_t epoch;
    uint16_t other;
    bool is_there;
  };

  MacKey secret_;
  MacMaker maker_;
  uint16_t rank_;
  std::array<Kept, 64> kept_{};
};

}  // namespace cw::group
