// The memory of a device's packets: DPDK's pool of mbufs, each with room for a Packet.
#pragma once

#include <cstdint>
#include <string>

struct rte_mempool;

namespace cw {

struct PacketPoolOptions {
  std::string name;
  unsigned packets = 0;
  uint16_t room_bytes = 0;     ///< for bytes, headroom included
  unsigned cache_packets = 0;  ///< that a thread takes without a lock
  bool is_copied = false;      ///< the driver copies packets: no NIC, and no kernel, reads them
  bool is_umem = false;        ///< net_af_xdp's, which tells the kernel where packets lie
};

/// Null: DPDK has no memory left for it. Freed by rte_mempool_free().
///
/// DPDK keeps what a NIC might read within one page. Where pages are of 4 KiB, that gives each
/// packet a page of its own: the first lines of all packets then share a few places of the nearest
/// cache, and none is there when it is needed. So packets that are copied lie side by side. They
/// are lent last in, first out, being warm then.
///
/// net_af_xdp of DPDK 22.11 takes packets to lie side by side, in which case as many bytes as they
/// need are told to the kernel, who then denies those that lie farther out. So its packets have
/// half a page or a page each to the byte, and any that is beyond all the same is never lent.
rte_mempool* make_packet_pool(const PacketPoolOptions& options);

}  // namespace cw
