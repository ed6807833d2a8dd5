// What of a file takes links in the place of those that carry: begun when nothing else of the kind
// is under way, followed until it is done, and told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/config/text/tree.h"
#include "control/daemon/log.h"
#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "control/json/json.h"

namespace cw::site {
class Site;
}  // namespace cw::site

namespace cw::daemon {

/// Thread: the daemon's.
class Relinking {
 public:
  /// `site` and `log` outlive it; `file` for sentences.
  Relinking(site::Site& site, const std::string& file, const Log& log)
      : site_(site), file_(file), log_(log) {}

  /// Links by this file are to take the place of those by `in_force`; nothing: those are to stay.
  /// What has been wanted before and has not been done is over.
  void want(std::optional<config::Node> tree, const config::Node& in_force, Duration patience);
  /// The gateway ends: nothing is begun any more.
  void stop() { is_stopping_ = true; }
  /// Does what is to be done as of `state`. The file by which the site takes what hosts send from
  /// now on, if that is another one.
  std::optional<config::Node> look(const site::SiteState& state, const config::Node& in_force,
                                   Duration patience);

  /// What it waits for, or why it was not done; a sentence. Empty: nobody wants any.
  std::string why() const;
  bool has_failed() const { return !trouble_.empty(); }
  /// Null: none is there and none is wanted.
  Json json() const;

 private:
  static constexpr Duration told_interval = Duration::from_s(10);
  /// Links that a peer has asked for and that do not come up are in nobody's way, and of no use;
  /// who asks again may have to wait.
  static constexpr Duration asked_max = Duration::from_s(30);
  static constexpr Duration asked_pause = Duration::from_s(30),
                            failed_pause = Duration::from_s(300);

  bool is_waiting() const;
  void take(std::optional<config::Node> tree, Duration patience);
  void follow_peers(const site::SiteState& state, const config::Node& in_force, Duration patience);
  void pursue(Duration patience);
  void begin(Duration patience);
  void tell_missing(Instant now);

  site::Site& site_;
  const std::string file_;
  const Log& log_;
  std::optional<config::Node> wanted_;  // not begun
  std::optional<config::Node> beside_;  // of the links that are not in force, whichever those are
  bool is_cancelled_ = false;
  bool is_asked_for_ = false;  // by a peer, and by nobody here
  bool is_stopping_ = false;
  Instant asked_again_at_;            // before, no peer is heard
  std::vector<bool> has_other_keys_;  // told, by peer
  std::string trouble_;
  std::vector<std::string> told_;
  Instant told_at_, begun_at_;
};

}  // namespace cw::daemon
