// What of a plan one shard of the site is made from: its queues of the ports, and of each peer the
// links that live in it. At its WAN port every link is a peer of its own, since each has source
// ports of its own: link i of those that peer p has here is number p x (links here) + i.
#pragma once

#include <cstdint>
#include <vector>

#include "control/gateway/plan.h"

namespace cw::site {

/// The numbers of the links that each peer has there, in order.
std::vector<uint16_t> links_in(const Plan& plan, size_t shard);

TunPortOptions lan_of(const Plan& plan, size_t shard);
FrameLanOptions lan_over_frames_of(const Plan& plan);
UdpPortOptions wan_of(const Plan& plan, size_t shard);
FrameWanOptions wan_over_frames_of(const Plan& plan, size_t shard);
VerbsPortOptions wan_by_rnic_of(const Plan& plan, size_t shard);
/// `lan_mtu` is what its LAN port takes.
gateway::GatewayOptions gateway_of(const Plan& plan, size_t shard, uint32_t lan_mtu);
/// As the WAN port numbers them; grants are not set.
std::vector<sdr::LinkOptions> link_options_of(const Plan& plan, size_t shard);
/// Chance differs between shards.
ImpairedPortOptions impair_of(const Plan& plan, size_t shard);

}  // namespace cw::site
