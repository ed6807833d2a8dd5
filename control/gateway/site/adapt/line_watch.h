// The line to one peer, told from what a site's links to it say of themselves, look by look.
#pragma once

#include <map>
#include <span>

#include "control/adapt/adapter.h"
#include "control/gateway/site/site_state.h"

namespace cw::site {

/// Thread: one.
class LineWatch {
 public:
  /// So long, or for such a part of the shortest round trip, packets of a line that is not full
  /// wait at most.
  static constexpr Duration queue_min = Duration::from_ms(4);
  static constexpr int64_t queue_part = 10;

  /// All links to the peer, in one state of the site.
  void look(std::span<const PeerView> links, Instant now);
  /// As of the last look; without a round trip where no link is up.
  adapt::LineFacts facts(Instant now) const;

 private:
  adapt::LineHistory history_;
  std::map<uint16_t, adapt::LineCounts> counted_;  // by link
  adapt::LineFacts facts_;
};

}  // namespace cw::site
