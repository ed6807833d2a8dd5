// What the kernel is told of multicast: by which interface and how far it leaves, and what a socket
// hears.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/port/udp/socket/udp_socket.h"
#include "dataplane/port/udp/udp_address.h"

namespace cw {

bool is_multicast(const UdpAddress& address);

/// The interface of this name, or, where that is empty, the one that has `own`, or whose network
/// `own` is in. Errors: there is none.
Result<uint32_t> find_interface(const std::string& name, const UdpAddress& own);

/// Whether another of `members` than `rank` is on this machine.
bool has_member_here(std::span<const UdpAddress> members, uint16_t rank);

/// How multicast leaves by a socket.
struct MulticastWay {
  uint32_t interface_index = 0;
  uint8_t hops = 1;
  bool is_heard_here = false;  ///< by other sockets of this machine
};
/// Errors: what the kernel says.
Result<void> set_multicast_way(const UdpSocket& socket, int family, const MulticastWay& way);

/// Has the socket hear what comes to the group by this interface, and of no other group.
Result<void> join_group(const UdpSocket& socket, const UdpAddress& group, uint32_t interface_index);

}  // namespace cw
