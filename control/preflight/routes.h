// What /proc/net tells of routes and of sockets.
#pragma once

#include <string>

#include "control/preflight/machine.h"

namespace cw::preflight {

/// The interface that the kernel's main table routes `address` to; empty: none, or no IP address.
std::string interface_towards(const Machine& machine, const std::string& address);

/// Whether a socket has this UDP port at this address, or at every one; an empty address is every.
bool is_udp_port_taken(const Machine& machine, const std::string& address, uint16_t udp_port);

}  // namespace cw::preflight
