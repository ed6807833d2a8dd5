// What the way to a peer is made for: the MTU of the interface that it leaves by, or of the route,
// where its owner gave it one. Not what the kernel believes of the path: that is learnt from ICMP
// packets, which anybody can forge.
#pragma once

#include <cstdint>

#include "dataplane/port/udp/udp_address.h"

namespace cw {

/// In bytes of an IP packet; 0 when there is no route now, or the kernel does not tell.
uint32_t route_mtu(const UdpAddress& peer);

/// The same of an interface, by its number.
uint32_t interface_mtu(uint32_t index);

/// PortFacts::payload_max for a route of this MTU: what the headers below the transport packet, its
/// own, and the ICRC leave.
uint32_t payload_for(uint32_t mtu, bool is_v4);

}  // namespace cw
