// That another gateway takes over: what this one asks of its peers, and what becomes of routes when
// a peer asks for it, or is gone, and another has them too.
#pragma once

#include <string>

#include "control/daemon/log.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/units.h"

namespace cw::site {
class Site;
}  // namespace cw::site

namespace cw::daemon {

/// Thread: the daemon's.
class Drain {
 public:
  /// Both outlive it.
  Drain(site::Site& site, const Log& log) : site_(site), log_(log) {}

  /// Until it is not wanted any more, or the gateway ends: peers are asked to send by others. What
  /// still comes is carried.
  void want(bool is_wanted, Duration patience);
  bool is_wanted() const { return is_wanted_; }
  /// As of the last look: since a frame of a host was seen to cross, in either direction, or since
  /// the last order.
  Duration quiet() const { return looked_at_ - crossed_at_; }
  /// For the service manager.
  std::string status_line() const;

  /// Once in a while: routes that several peers have go by the fittest, and the log tells.
  void look(const site::SiteState& state, Duration patience);

 private:
  void tell_moves(const site::SiteState& state, Duration patience);

  site::Site& site_;
  const Log& log_;
  bool is_wanted_ = false, is_asked_ = true;  // workers, for what is wanted
  bool is_fresh_ = true;                      // an order, or this: nobody has looked since
  uint64_t crossed_ = 0;                      // frames, as of the last look
  Instant crossed_at_, looked_at_;            // by the worker's clock
};

}  // namespace cw::daemon
