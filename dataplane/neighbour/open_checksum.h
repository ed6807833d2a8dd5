// Checksums that a kernel has left to a NIC that is not there. A host behind a veth, or a virtual
// machine, hands its packets over with the sum of the pseudo header alone in the checksum field;
// the packet socket that we read by knows, and DPDK 22.11 does not pass it on.
#pragma once

#include <cstdint>
#include <span>

namespace cw {

/// Finishes the TCP or UDP checksum of an IP packet of exactly its length. False, and nothing
/// changed: it is right, or wrong in another way, or not this packet's business (fragments, IPv6
/// extension headers). A right one is never touched; of those that were spoiled on the way one in
/// 65,536 looks like an open one. Cost: hot; a few nanoseconds for a checksum that is not open.
bool finish_open_checksum(std::span<uint8_t> packet);

}  // namespace cw
