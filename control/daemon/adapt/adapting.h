// Classes that adapt, in the daemon: a thread of their own thinks, and what it says is ordered and
// told by the daemon's.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "control/daemon/log.h"
#include "control/gateway/site/adapt/site_adapt.h"
#include "control/gateway/site/site_state.h"

namespace cw::site {
class Site;
}  // namespace cw::site

namespace cw::daemon {

class Adapting {
 public:
  /// Both outlive it. `wake` makes the daemon's thread call carry_out() soon; thread: any.
  Adapting(site::Site& site, const Log& log, std::function<void()> wake);
  ~Adapting();
  Adapting(const Adapting&) = delete;
  Adapting& operator=(const Adapting&) = delete;

  // Thread: the daemon's.
  /// Asks about the state, unless what was asked before is still thought about.
  void look(const site::SiteState& state);
  /// Orders what has been thought, and says whether that is anything.
  bool carry_out(Instant now, Duration patience);
  site::SiteAdapt& places() { return places_; }
  const site::SiteAdapt& places() const { return places_; }
  /// The gateway ends: nothing is ordered any more.
  void stop() { is_stopped_ = true; }

 private:
  using Questions = std::vector<site::AdaptQuestion>;
  using Answers = std::vector<site::AdaptAnswer>;

  void think();
  void tell(const site::AdaptAnswer& answer, site::SiteAdapt::Carried carried) const;

  site::Site& site_;
  const Log& log_;
  const std::function<void()> wake_;
  site::SiteAdapt places_;
  bool is_stopped_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Questions> asked_;  // until they have been thought about
  Answers answers_;
  bool is_over_ = false;
  site::AdaptMind mind_;  // the thinker's
  std::thread thinker_;   // begins with the first question
};

}  // namespace cw::daemon
