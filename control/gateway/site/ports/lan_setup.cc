#include "control/gateway/site/ports/lan_setup.h"

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "control/gateway/keys/prefix.h"
#include "control/gateway/site/ports/lan_netlink.h"

namespace cw::site {
namespace {

using gateway::Prefix;

uint8_t family_of(const Prefix& prefix) { return prefix.is_v6 ? AF_INET6 : AF_INET; }
size_t bytes_of(const Prefix& prefix) { return prefix.is_v6 ? 16 : 4; }

Request<ifaddrmsg> address_request(uint16_t type, uint16_t flags, const Prefix& address,
                                   uint32_t device) {
  Request<ifaddrmsg> request(type, flags);
  request.body() = {.ifa_family = family_of(address),
                    .ifa_prefixlen = address.bits,
                    .ifa_flags = IFA_F_NODAD,
                    .ifa_scope = RT_SCOPE_UNIVERSE,
                    .ifa_index = device};
  request.add(IFA_LOCAL, address.address.data(), bytes_of(address));
  request.add(IFA_ADDRESS, address.address.data(), bytes_of(address));
  return request;
}

Request<rtmsg> route_request(uint16_t type, uint16_t flags, const Prefix& route, uint32_t device) {
  Request<rtmsg> request(type, flags);
  request.body() = {.rtm_family = family_of(route),
                    .rtm_dst_len = route.bits,
                    .rtm_table = RT_TABLE_MAIN,
                    .rtm_protocol = RTPROT_STATIC,
                    .rtm_scope = RT_SCOPE_LINK,
                    .rtm_type = RTN_UNICAST};
  if (type == RTM_DELROUTE) request.body().rtm_scope = RT_SCOPE_NOWHERE;
  request.add(RTA_DST, route.address.data(), bytes_of(route));
  request.add(RTA_OIF, &device, sizeof(device));
  return request;
}

std::string why(int error) {
  if (error == EPERM) return "no right to; grant CAP_NET_ADMIN";
  return std::strerror(error);
}

/// What a device has of the kind that we give it.
struct Given {
  std::vector<Prefix> addresses, routes;
};

/// Calls `see` with each attribute of a message that begins with a Body.
template <class Body, class See>
void for_attributes(const nlmsghdr& message, const See& see) {
  const size_t begin = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(Body)));
  size_t left = message.nlmsg_len > begin ? message.nlmsg_len - begin : 0;
  const void* at = reinterpret_cast<const uint8_t*>(&message) + begin;
  while (left >= sizeof(rtattr)) {
    const auto& each = *static_cast<const rtattr*>(at);
    if (each.rta_len < sizeof(rtattr) || each.rta_len > left) return;
    see(each);
    const size_t step = std::min<size_t>(RTA_ALIGN(each.rta_len), left);
    at = static_cast<const uint8_t*>(at) + step;
    left -= step;
  }
}

uint32_t number_of(const rtattr& attribute) {
  uint32_t number = 0;
  std::memcpy(&number, RTA_DATA(&attribute), std::min(sizeof(number), RTA_PAYLOAD(&attribute)));
  return number;
}

void read_bytes(const rtattr& attribute, Prefix& prefix) {
  const size_t count = std::min(bytes_of(prefix), RTA_PAYLOAD(&attribute));
  std::memcpy(prefix.address.data(), RTA_DATA(&attribute), count);
}

/// Nothing more to it than a prefix and a device, as route_request() has it.
void see_route(const nlmsghdr& message, uint32_t device, std::vector<Prefix>& routes) {
  const auto& body = *static_cast<const rtmsg*>(NLMSG_DATA(&message));
  if (body.rtm_protocol != RTPROT_STATIC || body.rtm_type != RTN_UNICAST) return;
  if (body.rtm_table != RT_TABLE_MAIN) return;
  Prefix prefix{};
  prefix.bits = body.rtm_dst_len;
  prefix.is_v6 = body.rtm_family == AF_INET6;
  bool is_plain = prefix.is_v6 || body.rtm_scope == RT_SCOPE_LINK;
  uint32_t leads_to = 0;
  for_attributes<rtmsg>(message, [&](const rtattr& attribute) {
    const auto type = attribute.rta_type & NLA_TYPE_MASK;
    if (type == RTA_DST) read_bytes(attribute, prefix);
    if (type == RTA_OIF) leads_to = number_of(attribute);
    is_plain &= type != RTA_GATEWAY && type != RTA_METRICS && type != RTA_PREFSRC;
    if (type == RTA_PRIORITY) is_plain &= prefix.is_v6;
  });
  if (is_plain && leads_to == device) routes.push_back(prefix);
}

void see_address(const nlmsghdr& message, uint32_t device, std::vector<Prefix>& addresses) {
  const auto& body = *static_cast<const ifaddrmsg*>(NLMSG_DATA(&message));
  if (body.ifa_index != device || body.ifa_scope != RT_SCOPE_UNIVERSE) return;
  Prefix prefix{};
  prefix.bits = body.ifa_prefixlen;
  prefix.is_v6 = body.ifa_family == AF_INET6;
  for_attributes<ifaddrmsg>(message, [&](const rtattr& attribute) {
    if (attribute.rta_type == IFA_ADDRESS) read_bytes(attribute, prefix);
  });
  addresses.push_back(prefix);
}

Given given_to(Netlink& netlink, uint32_t device) {
  Given given;
  netlink.list(Request<rtmsg>(RTM_GETROUTE, 0), [&](const nlmsghdr& message) {
    if (message.nlmsg_type == RTM_NEWROUTE) see_route(message, device, given.routes);
  });
  netlink.list(Request<ifaddrmsg>(RTM_GETADDR, 0), [&](const nlmsghdr& message) {
    if (message.nlmsg_type == RTM_NEWADDR) see_address(message, device, given.addresses);
  });
  return given;
}

bool has(std::span<const Prefix> prefixes, const Prefix& wanted) {
  return std::ranges::find(prefixes, wanted) != prefixes.end();
}

/// One that leads to the device already may be an earlier life's, with other attributes.
int set_route(Netlink& netlink, uint32_t device, const Prefix& route) {
  (void)netlink.ask(route_request(RTM_DELROUTE, 0, route, device));
  return netlink.ask(route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route, device));
}

}  // namespace

std::string route_sentence(const std::string& route, const std::string& device, int error) {
  if (error == EEXIST) {
    return "peer.routes: " + route + " is routed elsewhere on this machine (`ip route show " +
           route + "`); remove that route, or set lan.routes = false";
  }
  return "peer.routes: cannot route " + route + " to " + device + ": " + why(error) +
         "; lan.routes = false leaves it to you";
}

int add_lan_route(uint32_t device, const Prefix& route) {
  Netlink netlink;
  return set_route(netlink, device, route);
}

int remove_lan_route(uint32_t device, const Prefix& route) {
  return Netlink().ask(route_request(RTM_DELROUTE, 0, route, device));
}

void set_queue_length(const std::string& device, uint32_t packets) {
  Request<ifinfomsg> request(RTM_NEWLINK, 0);
  request.body().ifi_index = static_cast<int>(if_nametoindex(device.c_str()));
  request.add(IFLA_TXQLEN, &packets, sizeof(packets));
  (void)Netlink().ask(request);
}

Result<void> set_up_lan(const std::string& device, std::span<const Prefix> addresses,
                        std::span<const Prefix> routes) {
  if (addresses.empty() && routes.empty()) return {};
  const uint32_t index = if_nametoindex(device.c_str());
  Netlink netlink;
  const Given given = given_to(netlink, index);
  for (const Prefix& address : addresses) {
    if (has(given.addresses, address)) continue;
    const int error =
        netlink.ask(address_request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, address, index));
    if (error == 0) continue;
    return failure("lan.addresses: cannot give " + prefix_text(address) + " to " + device + ": " +
                   why(error));
  }
  for (const Prefix& route : routes) {
    if (has(given.routes, route)) continue;  // not for a moment without it
    const int error = set_route(netlink, index, route);
    if (error == 0) continue;
    return failure(route_sentence(prefix_text(route), device, error));
  }
  return {};
}

void take_back_others(const std::string& device, std::span<const Prefix> addresses,
                      std::span<const Prefix> routes, bool sets_routes) {
  const uint32_t index = if_nametoindex(device.c_str());
  Netlink netlink;
  const Given given = given_to(netlink, index);
  for (const Prefix& route : given.routes) {
    if (!sets_routes || has(routes, route)) continue;
    (void)netlink.ask(route_request(RTM_DELROUTE, 0, route, index));
  }
  for (const Prefix& address : given.addresses) {
    if (addresses.empty() || has(addresses, address)) continue;
    (void)netlink.ask(address_request(RTM_DELADDR, 0, address, index));
  }
}

}  // namespace cw::site
