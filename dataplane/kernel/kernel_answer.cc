#include "dataplane/kernel/kernel_answer.h"

#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstring>

namespace cw {
namespace {

/// The object of type T at `offset`; the caller has checked that it lies inside.
template <class T>
T object_at(std::span<const uint8_t> bytes, size_t offset) {
  T object;
  std::memcpy(&object, bytes.data() + offset, sizeof object);
  return object;
}

template <class Body>
std::optional<Body> body_of(std::span<const uint8_t> message) {
  if (message.size() < NLMSG_LENGTH(sizeof(Body))) return std::nullopt;
  return object_at<Body>(message, NLMSG_HDRLEN);
}

/// The content of the attribute `type` behind the body of a message; empty: there is none.
template <class Body>
std::span<const uint8_t> attribute_of(std::span<const uint8_t> message, uint16_t type) {
  size_t at = NLMSG_LENGTH(sizeof(Body));
  while (at + sizeof(rtattr) <= message.size()) {
    const auto attribute = object_at<rtattr>(message, at);
    if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > message.size()) break;
    if (attribute.rta_type == type) {
      return message.subspan(at + RTA_LENGTH(0), attribute.rta_len - RTA_LENGTH(0));
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return {};
}

}  // namespace

std::optional<std::span<const uint8_t>> kernel_answer(std::span<const uint8_t> datagram,
                                                      uint32_t sequence) {
  if (datagram.size() < sizeof(nlmsghdr)) return std::nullopt;
  const auto header = object_at<nlmsghdr>(datagram, 0);
  if (header.nlmsg_seq != sequence || header.nlmsg_len > datagram.size()) return std::nullopt;
  const bool says_none = header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE;
  return says_none ? std::span<const uint8_t>() : datagram.first(header.nlmsg_len);
}

std::optional<KernelRoute> parse_kernel_route(std::span<const uint8_t> message, IpVersion version) {
  const auto body = body_of<rtmsg>(message);
  if (!body) return std::nullopt;
  KernelRoute route{.is_local = body->rtm_type == RTN_LOCAL,
                    .is_to_host = body->rtm_type == RTN_UNICAST};
  const auto interface = attribute_of<rtmsg>(message, RTA_OIF);
  if (interface.size() == sizeof route.interface) route.interface = object_at<int>(interface, 0);
  const auto router = attribute_of<rtmsg>(message, RTA_GATEWAY);
  if (router.size() != (version == IpVersion::V4 ? 4u : 16u)) return route;
  route.router.emplace(HostAddress{.version = version});
  std::ranges::copy(router, route.router->ip.begin());
  return route;
}

std::optional<KernelNeighbour> parse_kernel_neighbour(std::span<const uint8_t> message) {
  const auto body = body_of<ndmsg>(message);
  if (!body) return std::nullopt;
  constexpr uint16_t sure = NUD_REACHABLE | NUD_PERMANENT;
  constexpr uint16_t usable = sure | NUD_STALE | NUD_DELAY | NUD_PROBE;
  KernelNeighbour neighbour{.is_sure = (body->ndm_state & sure) != 0};
  const auto link = attribute_of<ndmsg>(message, NDA_LLADDR);
  if ((body->ndm_state & usable) == 0 || link.size() != sizeof(MacAddress)) return neighbour;
  std::ranges::copy(link, neighbour.mac.emplace().begin());
  return neighbour;
}

}  // namespace cw
