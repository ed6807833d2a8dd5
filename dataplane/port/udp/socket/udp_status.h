// What a person should know about a port of UDP sockets and PortCounters do not say.
#pragma once

#include <cstdint>

namespace cw {

/// Counts only grow.
struct UdpPortStatus {
  bool has_gso = false, has_gro = false;
  uint32_t rx_buffer_bytes = 0, tx_buffer_bytes = 0;
  /// The kernel granted less than socket_buffer_bytes: raise net.core.rmem_max and wmem_max, or
  /// grant CAP_NET_ADMIN.
  bool has_capped_buffers = false;

  // These two are part of PortCounters::rx_malformed.
  uint64_t rx_unknown = 0;    ///< packets from nobody in the list of peers
  uint64_t rx_truncated = 0;  ///< packets longer than any of ours
  uint64_t tx_messages = 0;   ///< what the kernel was given; one may carry many packets
  uint64_t tx_unrouted = 0;   ///< packets for a peer, link or path that does not exist
  uint64_t tx_too_big = 0;    ///< packets that the interface's MTU has become too small for
  uint64_t tx_lost = 0;       ///< packets that the kernel would not send: no route, say
  uint64_t tx_kept = 0;       ///< packets that waited in the port for their socket
  uint64_t icmp_errors = 0;   ///< complaints of the network, or of who forges them
};

}  // namespace cw
