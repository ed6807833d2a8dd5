// Multicast groups that the kernel belongs to for us, on an interface whose frames it sees: it then
// tells routers and switches, and the NIC.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"
#include "dataplane/neighbour/address.h"

namespace cw {

/// As long as the descriptor is open, of a socket that receives nothing. Errors: what the kernel
/// says.
Result<OwnedFd> join_group(const std::string& interface, const HostAddress& group);

}  // namespace cw
