// What a shard and the granter tell each other of one link, where several links share a pair's
// rate: each in cache lines of its own, about once a millisecond.
//
//   shard    Demand: what classes and envelopes want, and which lowering of its grant it has seen
//            LineCounts: what has left and what the peer says of it, for rate control
//   granter  Grant: so much, until then
//
// A grant is a lease, which counts from when the shard was last heard of: once its end has come
// the link may send nothing, whatever its shard did meanwhile. So whoever stands still holds up
// nobody.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "dataplane/base/units.h"
#include "dataplane/core/rate/published.h"

namespace cw {

/// How often either end looks; how long a grant lasts, so that a thread that shares its core with
/// another keeps it; and what is added for the turn that began before its end: more than a turn
/// takes, with the pacer's horizon.
inline constexpr Duration grant_interval = Duration::from_ms(1);
inline constexpr Duration grant_lease = Duration::from_ms(10);
inline constexpr Duration grant_margin = Duration::from_ms(1);

inline constexpr size_t grant_classes_max = 8;  // that have demands of their own

struct Grant {
  Rate rate;
  Instant until;           ///< nothing leaves from then on
  uint64_t lowerings = 0;  ///< so often the rate fell, up to here
  /// Of that, by class, while they compete; what one leaves the others take.
  std::array<uint32_t, grant_classes_max> kbps{};
};

struct Demand {
  static constexpr uint32_t all = std::numeric_limits<uint32_t>::max();  ///< that it can get

  Instant at;
  uint64_t lowerings = 0;                          ///< of the grant that is in force there
  std::array<uint32_t, grant_classes_max> kbps{};  ///< by class
  uint32_t envelopes_kbps = 0;                     ///< before all classes
  bool is_pressed = false;  ///< more waits above the link than may do so for long
};

/// Since the link's epoch began; a later one begins from zero.
struct LineCounts {
  uint64_t sent_packets = 0, sent_bytes = 0;
  uint64_t arrived = 0, lost = 0;  ///< packets, as the peer says
  Duration rtt;                    ///< of the longest path, a queue on the way included
  uint64_t rtts = 0;               ///< so many of them were told
};

struct GrantLine {
  Published<Demand> demand;  ///< the shard's
  Published<LineCounts> counts;
  Published<Grant> grant;  ///< the granter's
};
// Nobody writes to a line that another writes to, nor to two for one value.
static_assert(sizeof(Published<Demand>) == 64 && alignof(Published<Demand>) == 64);
static_assert(sizeof(Published<LineCounts>) == 64 && alignof(Published<LineCounts>) == 64);
static_assert(sizeof(Published<Grant>) == 64 && alignof(Published<Grant>) == 64);
static_assert(sizeof(GrantLine) == 3 * 64);

}  // namespace cw
