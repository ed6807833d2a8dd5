#include "dataplane/neighbour/table/lan_neighbours.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "dataplane/neighbour/lan_frame.h"

namespace cw {

using lan_frame::is_host, lan_frame::is_routable_host;

bool LanAddress::is_on_link(const HostAddress& host) const {
  if (host.version != ip.version) return false;
  // By numbers: as bytes, most of a packet's next hop would be this.
  const auto a = std::bit_cast<std::array<be64, 2>>(host.ip);
  const auto b = std::bit_cast<std::array<be64, 2>>(ip.ip);
  const auto is_alike = [](be64 left, be64 right, unsigned from_front) {
    return from_front == 0 || (left.host() ^ right.host()) >> (64 - from_front) == 0;
  };
  const unsigned first = std::min<unsigned>(bits, 64);
  return is_alike(a[0], b[0], first) && is_alike(a[1], b[1], bits - first);
}

LanNeighbours::LanNeighbours(std::vector<LanAddress> own, const uint64_t (&key)[2])
    : own_(std::move(own)), table_(limits::neighbours_max, key) {
  for (const LanAddress& it : own_) local_.push_back(it.ip);
}

void LanNeighbours::join_kernel(std::vector<HostAddress> local) {
  has_kernel_ = true;
  local_ = std::move(local);
}

bool LanNeighbours::is_local(const HostAddress& host) const {
  return std::ranges::find(local_, host) != local_.end();
}

const LanAddress* LanNeighbours::link_to(const HostAddress& host) const {
  const auto found =
      std::ranges::find_if(own_, [&](const LanAddress& it) { return it.is_on_link(host); });
  return found == own_.end() ? nullptr : &*found;
}

LanNeighbours::Learned LanNeighbours::learn(const HostAddress& host, const MacAddress& mac,
                                            Instant now) {
  if (!is_routable_host(host) || is_local(host)) return {};
  if (has_kernel_ && link_to(host) == nullptr) return {};  // the kernel knows the router
  Neighbour& it = table_.take(host);
  return {&it, it.overhear(mac, now)};
}

bool LanNeighbours::hear(const NeighbourMessage& message, Instant now) {
  if (!is_host(message.sender)) return false;  // it does not say who it is
  if (!is_local(message.sender) &&
      (link_to(message.sender) != nullptr || table_.find(message.sender) != nullptr)) {
    table_.take(message.sender).hear(message.sender_mac, now);
  }
  return !has_kernel_ && message.is_question && is_local(message.target);
}

LanNeighbours::Hop LanNeighbours::hop_to(const HostAddress& target, Instant now) {
  Hop hop = {.neighbour = table_.find(target),
             .can_be_asked_for = has_kernel_ || link_to(target) != nullptr};
  if (!hop.can_be_asked_for || questions_left_ == 0) return hop;
  if (hop.neighbour == nullptr) hop.neighbour = &table_.take(target);
  hop.is_to_be_asked_for = hop.neighbour->try_ask(now);
  if (hop.is_to_be_asked_for) --questions_left_;
  return hop;
}

}  // namespace cw
