// Whether [lan] and [wan] have what the kinds of their ports take.
#pragma once

#include "control/config/section.h"
#include "control/gateway/keys/config.h"

namespace cw::site {

// Complain of the section's keys. Thread: any.
void check_lan_port(config::Section& section, const LanConfig& lan);
void check_icrc(config::Section& section, const WanConfig& wan);
void check_wan_port(config::Section& section, const WanConfig& wan);
/// What stands before a device's arguments is its name, and DPDK has one of each.
void check_devices(config::Section& section, const Config& config);

}  // namespace cw::site
