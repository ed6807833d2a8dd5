// The keys of envelopes between members (SPEC.md 18.4): each pair of members has one of its own,
// which follows from the group's secret, the epoch and the two ranks. So nobody has to keep them
// all, and what was sealed for one pair or epoch is nothing in another.
// Thread: any. Nothing allocates.
#pragma once

#include <array>
#include <cstdint>

#include "dataplane/wire/control/envelope.h"

namespace cw::group {

/// As long as the MACs it is made with.
using PairKey = std::array<uint8_t, 32>;

/// Of two members, in either order; `epoch` is 0 before there is one. `secret` is the group's. What
/// is returned is as secret. Cost: one MAC over 31 bytes.
PairKey pair_key(const MacKey& secret, uint64_t epoch, uint16_t one, uint16_t other);

}  // namespace cw::group
