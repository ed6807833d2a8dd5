// What a gateway adds to what frames take, lately: told without a common clock, as each end
// measures what happens there alone.
//
//   host -- LAN --> [ waits for the line ] === half a round trip ===> [ waits for others ] --> host
//                     here, of what leaves                              here, of what comes
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "control/gateway/site/site_state.h"
#include "dataplane/core/times/hole_times.h"
#include "dataplane/core/times/octave_times.h"

namespace cw::daemon {

/// Of the last 10 to 20 seconds; zero where there was nothing.
struct AddedTimes {
  Duration p50, p99, p999;
};

/// Of one class at one peer.
struct Added {
  AddedTimes sending;    ///< of slots: from when their frames were here until they left
  AddedTimes receiving;  ///< of all frames that came: most wait for no other, which is zero
};

/// Thread: one.
class LatencyWatch {
 public:
  static constexpr Duration window = Duration::from_s(10);

  /// Cost: a comparison, but for once in a window.
  void look(const site::SiteState& state);
  /// As of now; the lanes of a class at a peer, one for each link, are summed in `lane`.
  Added added(const gateway::LaneView& lane) const;

 private:
  struct Sums {
    OctaveTimes waits;
    HoleTimes holds;
    uint64_t out = 0;

    void add(const gateway::LaneView& lane);
  };
  using ByLane = std::map<std::pair<uint16_t, uint16_t>, Sums>;  // by peer and class

  ByLane before_, long_before_;  // a window apart
  Instant before_at_ = Instant::never();
};

}  // namespace cw::daemon
