// How long until what may have been lost is said again. Pure arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/units.h"

namespace cw::sdr {

/// Every quarter of an RTT at first, then ever less often, up to once per RTT, or per 20 ms where
/// that is longer: the far end may be away, and a short RTT is no reason to speak more than the
/// data does [C-32] [C-36]. `repeats`: how often it has been said.
inline Duration repeat_after(Duration rtt, uint8_t repeats) {
  // An RTT is what a peer makes it. Shorter ones there are none, and what is said again at once is
  // said without end.
  constexpr auto rtt_min = Duration::from_us(10);
  rtt = std::max(rtt, rtt_min);
  constexpr auto longest_of_short = Duration::from_ms(20);
  constexpr int doublings_max = 20, times_each = 4;
  const int64_t factor = int64_t{1} << std::min(repeats / times_each, doublings_max);
  return std::min(rtt / 4 * factor, std::max(rtt, longest_of_short));
}

/// What is said again by then goes with what is said now: fewer envelopes for as many words.
inline Instant taken_along(Instant now, Duration rtt) { return now + rtt / 8; }

}  // namespace cw::sdr
