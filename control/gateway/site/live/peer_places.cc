#include "control/gateway/site/live/peer_places.h"

#include <algorithm>
#include <optional>
#include <string>

namespace cw::site {
namespace {

/// By place: the number of the peer in `next` that is to have it; nothing: nobody.
using Places = std::vector<std::optional<size_t>>;

bool has_peer(const Plan& plan, const std::string& name) {
  const auto& peers = plan.gateway.peers;
  return std::ranges::find(peers, name, &gateway::PeerRoutes::name) != peers.end();
}

/// The first place that nobody else is to have, of those that this is asked about.
template <class IsFit>
bool try_take(Places& places, const Plan& running, size_t peer, const IsFit& is_fit) {
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] || !is_fit(running.gateway.peers[i].name)) continue;
    places[i] = peer;
    return true;
  }
  return false;
}

/// Nothing: there are too few.
std::optional<Places> places_of(const Plan& running, const Plan& next) {
  Places places(running.gateway.peers.size());
  const auto& peers = next.gateway.peers;
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers[i].name.empty()) continue;
    (void)try_take(places, running, i,
                   [&](const std::string& name) { return name == peers[i].name; });
  }
  const auto is_free = [](const std::string& name) { return name.empty(); };
  const auto is_any = [](const std::string&) { return true; };
  for (size_t i = 0; i < peers.size(); ++i) {
    if (peers[i].name.empty() || has_peer(running, peers[i].name)) continue;
    // Who leaves is told so by his place, unless another needs it at once.
    const bool is_placed =
        try_take(places, running, i, is_free) || try_take(places, running, i, is_any);
    if (!is_placed) return std::nullopt;
  }
  return places;
}

}  // namespace

bool try_arrange(const Plan& running, Plan& next) {
  const auto places = places_of(running, next);
  if (!places) return false;
  std::vector<sdr::LinkOptions> links;
  std::vector<gateway::PeerRoutes> routes;
  std::vector<UdpPeerOptions> addresses;
  std::vector<std::optional<seal::KeyringPeer>> keys;
  for (size_t i = 0; i < places->size(); ++i) {
    const auto peer = (*places)[i];
    links.push_back(next.peers[peer.value_or(0)]);
    if (!peer) {
      links.back().control.peer_site = running.peers[i].control.peer_site;
      links.back().control.peer_address = running.peers[i].control.peer_address;
    }
    routes.push_back(peer ? next.gateway.peers[*peer] : gateway::PeerRoutes());
    // Who leaves is told so, where he was.
    addresses.push_back(peer ? next.wan.peers[*peer] : running.wan.peers[i]);
    if (next.seal) keys.push_back(peer ? next.seal->peers[*peer] : std::nullopt);
    links.back().peer = routes.back().peer = static_cast<uint16_t>(i);
    links.back().control.is_vacant = !peer;
  }
  next.peers = std::move(links);
  next.gateway.peers = std::move(routes);
  next.wan.peers = std::move(addresses);
  if (next.seal) next.seal->peers = std::move(keys);
  return true;
}

std::vector<Beyond> beyond_places(const Plan& running, const Plan& next) {
  const bool is_over_sockets = running.wan_kind == WanKind::Udp;
  if (is_over_sockets && places_of(running, next)) return {};
  const std::string why =
      is_over_sockets ? "there are places for " + std::to_string(running.gateway.peers.size()) +
                            " peers, and site.spare_peers makes more at a start"
                      : "over wan.port \"" + std::string(name_of(running.wan_kind)) +
                            "\" peers are those of the start";
  std::vector<Beyond> found;
  const auto add_missing = [&](const Plan& from, const Plan& in) {
    for (const gateway::PeerRoutes& each : from.gateway.peers) {
      if (!each.name.empty() && !has_peer(in, each.name))
        found.push_back({"peer." + each.name, why});
    }
  };
  add_missing(next, running);
  if (is_over_sockets) return found;
  add_missing(running, next);
  for (size_t i = 0; i < std::min(next.wan.peers.size(), running.wan.peers.size()); ++i) {
    const UdpPeerOptions &was = running.wan.peers[i], &is = next.wan.peers[i];
    if (was.address == is.address && was.udp_port == is.udp_port &&
        was.first_source() == is.first_source()) {
      continue;
    }
    found.push_back({"peer." + next.gateway.peers[i].name, why});
  }
  return found;
}

}  // namespace cw::site
