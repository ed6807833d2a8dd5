// Keeps the kernel's hands off packets that a packet socket shows us and it: it would forward the
// hosts' packets a second time, or answer that it does not.
//
// A rule of nf_tables behind the packet sockets and before the kernel's IP: what is sent to the
// interface's own MAC and to no address of the kernel's is dropped there. ARP, ND, groups and
// packets for the kernel itself pass. The table belongs to the socket, and ends with it, however
// the process does.
#pragma once

#include <string>

#include "dataplane/base/result.h"
#include "dataplane/kernel/owned_fd.h"

namespace cw {

/// As long as the descriptor is open. Errors: no right to (CAP_NET_ADMIN), or a kernel without
/// nf_tables, before 5.12; the sentence has what to do instead.
Result<OwnedFd> silence_forwarding(const std::string& interface);

}  // namespace cw
