#include "dataplane/port/udp/group/udp_multicast.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace cw {
namespace {

constexpr size_t v4_in_v6 = 12;
#ifndef IPV6_MULTICAST_ALL
constexpr int ipv6_multicast_all = 29;  // Linux 4.20
#else
constexpr int ipv6_multicast_all = IPV6_MULTICAST_ALL;
#endif

template <class Value>
bool set_option(const UdpSocket& socket, int level, int name, const Value& value) {
  return setsockopt(socket.fd(), level, name, &value, sizeof value) == 0;
}

Error error_of(const char* what) { return Error{std::string(what) + ": " + std::strerror(errno)}; }

/// Calls `see(interface, its address, its mask)` for each that has both, until it returns true.
template <class See>
bool any_interface(const See& see) {
  ifaddrs* rows = nullptr;
  if (getifaddrs(&rows) != 0) return false;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(rows, freeifaddrs);
  for (const ifaddrs* row = rows; row != nullptr; row = row->ifa_next) {
    if (row->ifa_addr == nullptr || row->ifa_netmask == nullptr) continue;
    const int family = row->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const size_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    SocketName address{}, mask{};
    std::memcpy(&address, row->ifa_addr, bytes);
    std::memcpy(&mask, row->ifa_netmask, bytes);
    mask.any.sa_family = static_cast<sa_family_t>(family);
    if (see(row->ifa_name, read_socket_name(address), read_socket_name(mask))) return true;
  }
  return false;
}

bool is_in_network(const UdpAddress& address, const UdpAddress& own, const UdpAddress& mask) {
  if (address.is_v4() != own.is_v4()) return false;
  for (size_t i = own.is_v4() ? v4_in_v6 : 0; i < address.ip.size(); ++i) {
    if (((address.ip[i] ^ own.ip[i]) & mask.ip[i]) != 0) return false;
  }
  return true;
}

bool is_loopback(const UdpAddress& address) {
  return address.is_v4() ? address.ip[v4_in_v6] == 127
                         : IN6_IS_ADDR_LOOPBACK(reinterpret_cast<const in6_addr*>(&address.ip));
}

}  // namespace

bool is_multicast(const UdpAddress& address) {
  return address.is_v4() ? address.ip[v4_in_v6] >> 4 == 0xe : address.ip[0] == 0xff;
}

Result<uint32_t> find_interface(const std::string& name, const UdpAddress& own) {
  std::string found = name;
  if (name.empty()) {
    const auto has_it = [&](const char* each, const UdpAddress& address, const UdpAddress&) {
      if (address.ip == own.ip) found = each;
      return !found.empty();
    };
    const auto is_near = [&](const char* each, const UdpAddress& address, const UdpAddress& mask) {
      if (is_in_network(own, address, mask)) found = each;
      return !found.empty();
    };
    if (!any_interface(has_it)) any_interface(is_near);
  }
  const uint32_t index = found.empty() ? 0 : if_nametoindex(found.c_str());
  if (index != 0) return index;
  return failure(name.empty() ? "interface: none has the address of this member; name one"
                              : "interface: there is none called \"" + name + "\"");
}

bool has_member_here(std::span<const UdpAddress> members, uint16_t rank) {
  const auto is_ours = [&](const UdpAddress& member) {
    if (is_loopback(member)) return true;
    return any_interface([&](const char*, const UdpAddress& address, const UdpAddress&) {
      return address.ip == member.ip;
    });
  };
  for (size_t i = 0; i < members.size(); ++i) {
    if (i != rank && is_ours(members[i])) return true;
  }
  return false;
}

Result<void> set_multicast_way(const UdpSocket& socket, int family, const MulticastWay& way) {
  const int hops = way.hops, loop = way.is_heard_here,
            index = static_cast<int>(way.interface_index);
  bool is_done = false;
  if (family == AF_INET) {
    const ip_mreqn by{.imr_multiaddr = {}, .imr_address = {}, .imr_ifindex = index};
    is_done = set_option(socket, IPPROTO_IP, IP_MULTICAST_IF, by) &&
              set_option(socket, IPPROTO_IP, IP_MULTICAST_TTL, hops) &&
              set_option(socket, IPPROTO_IP, IP_MULTICAST_LOOP, loop);
  } else {
    is_done = set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_IF, index) &&
              set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops) &&
              set_option(socket, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, loop);
  }
  if (is_done) return {};
  return std::unexpected(error_of("interface: it takes no multicast"));
}

Result<void> join_group(const UdpSocket& socket, const UdpAddress& group,
                        uint32_t interface_index) {
  const int no = 0;
  bool is_done = false;
  SocketName name;
  if (group.is_v4()) {
    write_socket_name(group, AF_INET, name);
    const ip_mreqn wanted{.imr_multiaddr = name.v4.sin_addr,
                          .imr_address = {},
                          .imr_ifindex = static_cast<int>(interface_index)};
    is_done = set_option(socket, IPPROTO_IP, IP_MULTICAST_ALL, no) &&
              set_option(socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, wanted);
  } else {
    write_socket_name(group, AF_INET6, name);
    const ipv6_mreq wanted{.ipv6mr_multiaddr = name.v6.sin6_addr,
                           .ipv6mr_interface = interface_index};
    is_done = set_option(socket, IPPROTO_IPV6, ipv6_multicast_all, no) &&
              set_option(socket, IPPROTO_IPV6, IPV6_JOIN_GROUP, wanted);
  }
  if (is_done) return {};
  return std::unexpected(error_of("group: this machine cannot join it"));
}

}  // namespace cw
