// What the way to a peer is made for: the MTU of the interface that it leaves by, or of the route,
// where its owner gave it one. Not what the kernel believes of the path: that is learnt from ICMP
// packets, which anybody can forge.
#pragma once

#include <cstdint>

#include "dataplane/port/udp/udp_address.h"

namespace cw {

/// In bytes of an IP packet; 0 when there is no route now, or the kernel does not tell.
uint32_t route_mtu(const UdpAddress& peer);

}  // namespace cw
