#include "dataplane/kernel/kernel_net.h"

#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "dataplane/kernel/kernel_interface.h"

namespace cw {
namespace {

int family_of(const HostAddress& host) { return host.is_v4() ? AF_INET : AF_INET6; }
size_t ip_bytes(const HostAddress& host) { return host.is_v4() ? 4 : 16; }

union SocketName {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};
socklen_t name_bytes(const HostAddress& host) {
  return host.is_v4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}
/// `scope` is looked at for link-local addresses of IPv6 only.
SocketName name_of(const HostAddress& host, uint16_t udp_port, uint32_t scope) {
  SocketName name{};
  if (host.is_v4()) {
    name.v4.sin_family = AF_INET;
    name.v4.sin_port = htons(udp_port);
    std::memcpy(&name.v4.sin_addr, host.ip.data(), 4);
  } else {
    name.v6 = {};
    name.v6.sin6_family = AF_INET6;
    name.v6.sin6_port = htons(udp_port);
    name.v6.sin6_scope_id = host.ip[0] == 0xfe && (host.ip[1] & 0xc0) == 0x80 ? scope : 0;
    std::memcpy(&name.v6.sin6_addr, host.ip.data(), 16);
  }
  return name;
}

/// A netlink request: its header, a body, and one attribute that is an IP address.
template <class Body>
struct Request {
  nlmsghdr header{};
  Body body{};
  rtattr attribute{};
  uint8_t ip[16] = {};

  Request(uint16_t type, uint16_t flags, uint16_t attribute_type, const HostAddress& host) {
    const size_t bytes = ip_bytes(host);
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    attribute.rta_type = attribute_type;
    attribute.rta_len = static_cast<uint16_t>(RTA_LENGTH(bytes));
    header.nlmsg_len =
        static_cast<uint32_t>(NLMSG_LENGTH(sizeof(Body)) + RTA_ALIGN(attribute.rta_len));
    std::copy_n(host.ip.begin(), bytes, ip);
  }
  std::span<uint8_t> bytes() { return {reinterpret_cast<uint8_t*>(this), header.nlmsg_len}; }
};
static_assert(sizeof(Request<rtmsg>) == NLMSG_LENGTH(sizeof(rtmsg)) + RTA_LENGTH(16));
static_assert(sizeof(Request<ndmsg>) == NLMSG_LENGTH(sizeof(ndmsg)) + RTA_LENGTH(16));

}  // namespace

Result<KernelNet> KernelNet::make(const std::string& interface) {
  const uint32_t index = kernel_index(interface);
  if (index == 0) return failure("device: the kernel has no interface " + interface);
  OwnedFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (fd.get() < 0) return failure(std::string("cannot ask for routes: ") + std::strerror(errno));
  return KernelNet(std::move(fd), static_cast<int>(index));
}

/// The kernel's answer, a message of its own kind; empty when it is an error.
std::span<const uint8_t> KernelNet::ask(std::span<uint8_t> request) {
  auto* const header = reinterpret_cast<nlmsghdr*>(request.data());
  header->nlmsg_seq = ++sequence_;
  if (send(fd_.get(), request.data(), request.size(), 0) < 0) return {};
  // Late answers to earlier questions come first.
  for (int i = 0; i < 8; ++i) {
    const ssize_t bytes = recv(fd_.get(), answer_, sizeof answer_, 0);
    if (bytes <= 0) return {};
    const auto message = kernel_answer({answer_, static_cast<size_t>(bytes)}, sequence_);
    if (message) return *message;
  }
  return {};
}

std::optional<KernelRoute> KernelNet::route_to(const HostAddress& target) {
  Request<rtmsg> request(RTM_GETROUTE, 0, RTA_DST, target);
  request.body.rtm_family = static_cast<unsigned char>(family_of(target));
  request.body.rtm_dst_len = static_cast<unsigned char>(ip_bytes(target) * 8);
  return parse_kernel_route(ask(request.bytes()), target.version);
}

bool KernelNet::is_local(const HostAddress& address) {
  const auto route = route_to(address);
  return route && route->is_local;
}

std::optional<HostAddress> KernelNet::next_hop(const HostAddress& target) {
  const auto route = route_to(target);
  if (!route || !route->is_to_host || route->interface != index_) return std::nullopt;
  return route->router.value_or(target);
}

std::optional<MacAddress> KernelNet::mac_of(const HostAddress& neighbour) {
  Request<ndmsg> request(RTM_GETNEIGH, 0, NDA_DST, neighbour);
  request.body.ndm_family = static_cast<unsigned char>(family_of(neighbour));
  request.body.ndm_ifindex = index_;
  const auto known = parse_kernel_neighbour(ask(request.bytes()));
  if (!known || !known->is_sure) begin_resolving(neighbour);
  return known ? known->mac : std::nullopt;
}

/// By a packet for it, to the UDP port where everybody discards: rtnetlink would want a right that
/// a daemon has given up by now.
void KernelNet::begin_resolving(const HostAddress& neighbour) {
  constexpr uint16_t discard_port = 9;
  constexpr uint8_t nothing[16] = {};
  const SocketName name = name_of(neighbour, discard_port, static_cast<uint32_t>(index_));
  const OwnedFd fd(socket(family_of(neighbour), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  [[maybe_unused]] const ssize_t sent =
      sendto(fd.get(), nothing, sizeof nothing, MSG_DONTWAIT, &name.any, name_bytes(neighbour));
}

std::vector<HostAddress> kernel_addresses() {
  std::vector<HostAddress> all;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return all;
  for (const ifaddrs* it = first; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr) continue;
    SocketName name{};
    HostAddress host;
    if (it->ifa_addr->sa_family == AF_INET) {
      std::memcpy(&name, it->ifa_addr, sizeof name.v4);
      std::memcpy(host.ip.data(), &name.v4.sin_addr, 4);
    } else if (it->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(&name, it->ifa_addr, sizeof name.v6);
      host.version = IpVersion::V6;
      std::memcpy(host.ip.data(), &name.v6.sin6_addr, 16);
    } else {
      continue;
    }
    all.push_back(host);
  }
  freeifaddrs(first);
  return all;
}

Result<OwnedFd> silence_udp_port(const HostAddress& own, uint16_t udp_port) {
  OwnedFd fd(socket(family_of(own), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const std::string number = std::to_string(udp_port);
  sock_filter none[] = {{BPF_RET | BPF_K, 0, 0, 0}};
  const sock_fprog program = {1, none};
  if (fd.get() < 0 ||
      setsockopt(fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
    return failure("udp_port: cannot take " + number + " from the kernel: " + std::strerror(errno));
  }
  const SocketName name = name_of(own, udp_port, 0);
  if (bind(fd.get(), &name.any, name_bytes(own)) == 0) return fd;
  if (errno == EADDRNOTAVAIL) {
    return failure("address: " + text_of(own) +
                   " is not one of this machine's, and the kernel owns the device's interface; "
                   "`ip address add` gives it to the interface");
  }
  return failure("udp_port: the kernel's " + number + " is taken by another program (" +
                 std::strerror(errno) +
                 "); stop it, or choose another udp_port here and at the peers");
}

}  // namespace cw
