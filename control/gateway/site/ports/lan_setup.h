// What `ip address add`, `ip route add` and `ip link set txqueuelen` do, for the LAN device: over
// netlink, since a daemon that holds CAP_NET_ADMIN does not give it to another program.
#pragma once

#include <span>
#include <string>

#include "dataplane/base/result.h"
#include "dataplane/gateway/options.h"

namespace cw::site {

/// Lets the kernel keep so many packets for us until we read them; drops of more are not ours to
/// count. Without the right to, it stays as it is: 500, or what the device's maker said.
void set_queue_length(const std::string& device, uint32_t packets);

/// Gives addresses to `device`, which is up, and routes prefixes to it; those that it has already
/// stay. Errors: no right, an address or route that cannot be, a route that leads elsewhere.
Result<void> set_up_lan(const std::string& device, std::span<const gateway::Prefix> addresses,
                        std::span<const gateway::Prefix> routes);

/// Of a device that an earlier life has left: takes back the addresses and routes that the file of
/// that life had and this one's has not. Whoever leaves them to others has none taken back.
void take_back_others(const std::string& device, std::span<const gateway::Prefix> addresses,
                      std::span<const gateway::Prefix> routes, bool sets_routes);

/// One route more towards the device of this index, or one less. Returns what the kernel says:
/// zero, or an errno. Allocates nothing.
int add_lan_route(uint32_t device, const gateway::Prefix& route);
int remove_lan_route(uint32_t device, const gateway::Prefix& route);
/// The sentence for it.
std::string route_sentence(const std::string& route, const std::string& device, int error);

}  // namespace cw::site
