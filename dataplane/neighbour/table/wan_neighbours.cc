#include "dataplane/neighbour/table/wan_neighbours.h"

#include <algorithm>

namespace cw {

Result<Neighbour> parse_next_hop(const std::string& text, const HostAddress& peer) {
  Neighbour hop{.ip = peer};
  if (looks_like_mac(text)) {
    const auto mac = parse_mac(text, "next_hop");
    if (!mac) return std::unexpected(mac.error());
    hop.mac = *mac;
    hop.is_known = hop.is_fixed = true;
  } else if (!text.empty()) {
    const auto router = parse_host_address(text, "next_hop");
    if (!router) return std::unexpected(router.error());
    if (router->version != peer.version) {
      return failure("next_hop: " + text + " and " + text_of(peer) + " are not of one IP version");
    }
    hop.ip = *router;
  }
  return hop;
}

void WanNeighbours::add_peer(const Neighbour& hop) {
  const auto same = [&hop](const Neighbour& it) { return !hop.is_fixed && it.ip == hop.ip; };
  const auto found = std::ranges::find_if(hops_, same);
  hop_of_peer_.push_back(static_cast<size_t>(found - hops_.begin()));
  if (found == hops_.end()) hops_.push_back(hop);
}

bool WanNeighbours::hear(const NeighbourMessage& message, Instant now) {
  if (message.sender.version != own_.version) return false;
  for (Neighbour& hop : hops_) {
    if (hop.ip == message.sender) hop.hear(message.sender_mac, now);
  }
  return message.is_question && message.target == own_ && !is_unspecified(message.sender.ip);
}

void WanNeighbours::doubt_all() {
  for (Neighbour& hop : hops_) hop.doubt();
}

Neighbour* WanNeighbours::next_to_ask(Instant now) {
  const auto due = std::ranges::find_if(hops_, [&](Neighbour& hop) { return hop.try_ask(now); });
  return due == hops_.end() ? nullptr : &*due;
}

std::vector<std::string> WanNeighbours::unresolved() const {
  std::vector<std::string> texts;
  for (const Neighbour& hop : hops_) {
    if (!hop.is_known) texts.push_back(text_of(hop.ip));
  }
  return texts;
}

}  // namespace cw
