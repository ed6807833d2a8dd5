// What `ip address add` and `ip route add` do, for the LAN device: over netlink, since a daemon
// that holds CAP_NET_ADMIN does not give it to another program.
#pragma once

#include <span>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/gateway/options.h"

namespace cw::site {

/// Gives addresses to `device`, which is up, and routes prefixes to it; those that it has already
/// stay. Errors: no right, an address or route that cannot be, a route that leads elsewhere.
Result<void> set_up_lan(const std::string& device, std::span<const gateway::Prefix> addresses,
                        std::span<const gateway::Prefix> routes);

}  // namespace cw::site
