#include "dataplane/kernel/kernel_groups.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace cw {
namespace {

sockaddr_storage name_of(IpVersion version, const IpAddress& group) {
  sockaddr_storage name{};
  if (version == IpVersion::V4) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(name);
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, group.data(), sizeof v4.sin_addr);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(name);
    v6.sin6_family = AF_INET6;
    std::memcpy(&v6.sin6_addr, group.data(), sizeof v6.sin6_addr);
  }
  return name;
}

}  // namespace

/// One each: a socket has twenty at most.
std::expected<OwnedFd, int> join_group(uint32_t interface_index, IpVersion version,
                                       const IpAddress& group) {
  const bool is_v4 = version == IpVersion::V4;
  OwnedFd fd(socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  group_req request{};
  request.gr_interface = interface_index;
  request.gr_group = name_of(version, group);
  const int level = is_v4 ? IPPROTO_IP : IPPROTO_IPV6;
  const bool is_joined =
      fd.get() >= 0 && setsockopt(fd.get(), level, MCAST_JOIN_GROUP, &request, sizeof request) == 0;
  if (!is_joined) return std::unexpected(errno);
  return fd;
}

}  // namespace cw
