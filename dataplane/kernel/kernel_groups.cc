#include "dataplane/kernel/kernel_groups.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cw {
namespace {

int join_v4(int fd, unsigned interface, const HostAddress& group) {
  ip_mreqn request{};
  std::memcpy(&request.imr_multiaddr, group.ip.data(), sizeof request.imr_multiaddr);
  request.imr_ifindex = static_cast<int>(interface);
  return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
}

int join_v6(int fd, unsigned interface, const HostAddress& group) {
  ipv6_mreq request{};
  std::memcpy(&request.ipv6mr_multiaddr, group.ip.data(), sizeof request.ipv6mr_multiaddr);
  request.ipv6mr_interface = interface;
  return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
}

}  // namespace

/// One each: a socket has twenty at most.
Result<OwnedFd> join_group(const std::string& interface, const HostAddress& group) {
  const unsigned index = if_nametoindex(interface.c_str());
  OwnedFd fd(socket(group.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool is_joined = fd.get() >= 0 && (group.is_v4() ? join_v4(fd.get(), index, group)
                                                         : join_v6(fd.get(), index, group)) == 0;
  if (is_joined) return fd;
  return failure("group " + text_of(group) + " cannot be joined on " + interface + ": " +
                 std::strerror(errno));
}

}  // namespace cw
