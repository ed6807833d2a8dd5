// Multicast groups that the kernel belongs to for us, on an interface whose frames it sees: it then
// tells routers and switches, and the NIC.
#pragma once

#include <cstdint>
#include <expected>

#include "dataplane/kernel/owned_fd.h"
#include "dataplane/wire/outer/frame.h"

namespace cw {

/// As long as the descriptor is open, of a socket that receives nothing. Errors: errno.
std::expected<OwnedFd, int> join_group(uint32_t interface_index, IpVersion version,
                                       const IpAddress& group);

}  // namespace cw
