// By which of the peers that share a route its packets go: followed from how the links to them are.
// The gateway's own rules choose (gateway::PeerRoutes); this says how much is to be expected of
// each, and what has become of the routes.
#pragma once

#include <string>
#include <vector>

#include "control/gateway/plan.h"
#include "control/gateway/site/site_state.h"
#include "dataplane/base/units.h"
#include "dataplane/gateway/options.h"

namespace cw::site {

/// A route whose packets go by another peer than before.
struct RouteMove {
  gateway::Prefix route;
  std::string from, to;
  gateway::Standing why = gateway::Standing::Up;  ///< how `from` is; up: `to` is preferred
};

/// Thread: whoever changes the site.
class Steering {
 public:
  /// Who was up, and was down or drained, is up again when it has carried for so long: a peer that
  /// comes and goes would else take what it is sent with it each time.
  static constexpr Duration patience = Duration::from_s(3);
  /// And four round trips: so long without an answer, and a peer is as good as down, long before
  /// its epoch ends. Questions are asked four times a second at least.
  static constexpr Duration silence_max = Duration::from_s(2);

  /// How the peers of `plan` are as of `state`, by place. One whose links are partly down is up.
  std::vector<gateway::Standing> look(const SiteState& state, const Plan& plan);

 private:
  struct Peer {
    std::string name;
    gateway::Standing standing = gateway::Standing::Up;
    bool was_up = false;
    Instant up_since = Instant::never();
  };
  /// Up, draining or down.
  static std::vector<gateway::Standing> seen_in(const SiteState& state, size_t places);
  static void follow(Peer& peer, gateway::Standing seen, Instant now);

  std::vector<Peer> peers_;
};

/// What `after` makes of the routes that several have.
std::vector<RouteMove> moves_between(const Plan& plan, const std::vector<gateway::Standing>& after);

}  // namespace cw::site
