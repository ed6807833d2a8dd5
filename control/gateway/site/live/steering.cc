#include "control/gateway/site/live/steering.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace cw::site {
namespace {

using gateway::PeerRoutes;
using gateway::Prefix;
using gateway::Standing;

bool has(const PeerRoutes& peer, const Prefix& route) {
  return std::ranges::find(peer.routes, route) != peer.routes.end();
}

/// Each once that several peers have.
std::vector<Prefix> shared_routes(const std::vector<PeerRoutes>& peers) {
  std::map<std::tuple<bool, uint8_t, std::array<uint8_t, 16>>, const PeerRoutes*> first;
  std::vector<Prefix> shared;
  for (const PeerRoutes& peer : peers) {
    for (const Prefix& route : peer.routes) {
      const auto [known, is_new] =
          first.try_emplace({route.is_v6, route.bits, route.address}, &peer);
      const bool is_shared = !is_new && known->second != nullptr && known->second != &peer;
      if (!is_shared) continue;
      known->second = nullptr;
      shared.push_back(route);
    }
  }
  return shared;
}

/// Of a route that somebody has.
const PeerRoutes& holder_of(const std::vector<PeerRoutes>& peers, const Prefix& route) {
  return *std::ranges::min_element(peers, [&](const PeerRoutes& one, const PeerRoutes& other) {
    return has(one, route) != has(other, route) ? has(one, route) : one.is_before(other);
  });
}

}  // namespace

std::vector<Standing> Steering::seen_in(const SiteState& state, size_t places) {
  std::vector<Standing> seen(places, Standing::Down);
  std::vector<bool> drains(places, false);
  for (const PeerView& link : state.peers) {
    if (link.peer >= places || !link.is_up || !link.may_carry()) continue;
    if (link.is_drain_wanted) drains[link.peer] = true;
    seen[link.peer] = drains[link.peer] ? Standing::Draining : Standing::Up;
  }
  return seen;
}

std::vector<Standing> Steering::look(const SiteState& state, const Plan& plan) {
  const std::vector<PeerRoutes>& peers = plan.gateway.peers;
  const std::vector<Standing> seen = seen_in(state, peers.size());
  peers_.resize(peers.size());
  std::vector<Standing> standings;
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers_[i].name != peers[i].name) peers_[i] = {.name = peers[i].name};
    follow(peers_[i], seen[i], state.at);
    standings.push_back(peers_[i].standing);
  }
  return standings;
}

void Steering::follow(Peer& peer, Standing seen, Instant now) {
  if (seen != Standing::Up) {
    peer.up_since = Instant::never();
    peer.was_up |= seen == Standing::Draining;
    peer.standing = seen;
    return;
  }
  peer.up_since = std::min(peer.up_since, now);
  const bool is_back = peer.standing != Standing::Up && peer.was_up;
  peer.standing = is_back && now - peer.up_since < patience ? Standing::Returning : Standing::Up;
  peer.was_up = true;
}

std::vector<RouteMove> moves_between(const Plan& plan, const std::vector<Standing>& after) {
  std::vector<PeerRoutes> then = plan.gateway.peers;
  for (size_t i = 0; i < then.size(); ++i) then[i].standing = after[i];
  std::vector<RouteMove> moves;
  for (const Prefix& route : shared_routes(then)) {
    const PeerRoutes &from = holder_of(plan.gateway.peers, route), &to = holder_of(then, route);
    if (from.name == to.name) continue;
    moves.push_back({route, from.name, to.name, then[from.peer].standing});
  }
  return moves;
}

}  // namespace cw::site
