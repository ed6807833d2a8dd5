// The file read again while traffic flows: what of it can be changed now is, what cannot is told,
// and of a file with a mistake nothing is taken.
#pragma once

#include <string>
#include <vector>

#include "control/daemon/log.h"
#include "control/gateway/site/site_state.h"

namespace cw::site {
class Site;
}

namespace cw::daemon {

/// A gateway's file, and what stood in it when the gateway started.
struct Source {
  std::string file, text;
};

/// Thread: the daemon's.
class Reload {
 public:
  /// All of them outlive it.
  Reload(site::Site& site, const Source& source, const Log& log)
      : site_(site), source_(source), log_(log) {}

  /// Reads the file and begins. Cost: slow; waits for each worker's next turn for `patience`.
  void run(Duration patience);
  /// Tells what has become of swaps since the last state, whoever wanted them, and orders those
  /// that could not be ordered before. Returns whether any is under way.
  bool look(const site::SiteState& state, Duration patience);

 private:
  void tell(const site::SwapView& view) const;

  site::Site& site_;
  const Source source_;
  const Log& log_;
  std::vector<site::SwapView> seen_;
};

}  // namespace cw::daemon
