// Which shard's socket a datagram goes to, where the shards of a site share one UDP port.
//
// Shard 0 binds the port for itself, so that a second gateway is told that it is taken, and lets
// others in afterwards. The shards behind it bind the same port one after the other; the kernel
// numbers the sockets as they come. From the second on it asks a small program of ours for each
// datagram, which reads the link off the number of the target QP [C-60] and needs no table.
//
// What the kernel has joined on the way in (GRO) goes to one socket as a whole, by its first
// packet. It joins datagrams of one sender and source port only, and links have source ports of
// their own [C-63], so that those are of one link.
#pragma once

#include <cstdint>

#include "dataplane/base/result.h"
#include "dataplane/base/shards.h"

namespace cw {

/// One shard of those that share a UDP port, in one process. They are made in the order of their
/// numbers and go together: when a socket leaves, the kernel numbers the others anew.
struct UdpShare {
  uint16_t shard = 0, shards = 1;

  /// Whether the packets of this link come here.
  constexpr bool has(uint16_t link) const { return shard_of_link(link, shards) == shard; }
};

/// Before the shard's socket is bound, and after. Nothing happens where there is one shard. Errors:
/// a kernel that cannot do it.
Result<void> prepare_share(int fd, const UdpShare& share);
Result<void> begin_share(int fd, const UdpShare& share);

}  // namespace cw
