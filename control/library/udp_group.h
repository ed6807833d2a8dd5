// "udp:239.7.7.7,interface=eth0,port=4791,ttl=1": sockets and multicast as one member of a group.
#pragma once

#include <memory>
#include <string_view>

#include "dataplane/sdr/sdk/platform.h"

namespace cw::sdk {

/// `rest` is the multicast address, and what is not to be as udp_group_port.h has it. Errors: one
/// sentence.
Result<std::unique_ptr<GroupDevice>> open_udp_group(std::string_view rest, const GroupPlace& place);

}  // namespace cw::sdk
