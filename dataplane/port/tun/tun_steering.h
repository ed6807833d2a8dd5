// Which queue of a TUN device a packet of a host goes to.
//
// Left to itself, the kernel moves a flow to the queue that last wrote packets of its other
// direction, and what is already in the former one may be overtaken. So a program of ours chooses,
// by what all packets of a flow have in common: IP addresses, protocol, and the ports of TCP, UDP
// and SCTP. Of fragments no ports are read, not even the first one's, lest they go apart.
//
// The kernel takes the answer modulo the number of queues, so flows move when that changes.
#pragma once

#include "dataplane/base/result.h"

namespace cw {

/// For all queues of the device that one of them belongs to. Again changes nothing.
///
/// Errors: no right to load a program (the sentence names the capability and the way without); the
/// kernel has none of this. One system call to load it, one to attach it, one to forget it.
Result<void> steer_by_flow(int tun_fd);

}  // namespace cw
