// A packet and the mbuf that it lies in.
#pragma once

#include <rte_mbuf.h>

#include "dataplane/port.h"

namespace cw {

inline constexpr size_t packet_room_bytes =
    (sizeof(Packet) + RTE_MBUF_PRIV_ALIGN - 1) / RTE_MBUF_PRIV_ALIGN * RTE_MBUF_PRIV_ALIGN;

inline Packet* packet_of(rte_mbuf* mbuf) { return static_cast<Packet*>(rte_mbuf_to_priv(mbuf)); }
inline rte_mbuf* mbuf_of(const Packet* packet) {
  return reinterpret_cast<rte_mbuf*>(reinterpret_cast<uintptr_t>(packet) - sizeof(rte_mbuf));
}
inline uint8_t* bytes_of(rte_mbuf* mbuf) { return rte_pktmbuf_mtod(mbuf, uint8_t*); }

/// Makes the mbuf say what the packet says.
inline void set_mbuf(const Packet& packet) {
  rte_mbuf* const mbuf = mbuf_of(&packet);
  mbuf->data_off = static_cast<uint16_t>(packet.data - static_cast<uint8_t*>(mbuf->buf_addr));
  mbuf->data_len = static_cast<uint16_t>(packet.bytes);
  mbuf->pkt_len = packet.bytes;
}

}  // namespace cw
