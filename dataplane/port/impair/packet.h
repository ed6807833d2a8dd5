// How a verdict is carried out on a packet: shared by the simulator and the wrapper around ports.
#pragma once

#include <cstdint>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/base/units.h"
#include "dataplane/port.h"

namespace cw {

/// The identity by which TargetedLoss knows a packet and its resends again; 0: it has none.
using PacketKey = uint64_t (*)(const Packet& packet);

/// What the packet occupies on the wire, the layers below the port left out.
inline Bytes wire_bytes(const Packet& packet) {
  return Bytes(uint64_t{packet.bytes} + packet.payload_bytes);
}

/// Carries out Verdict::is_corrupted. False when the packet must be lost instead: because a
/// checksum finds the damage out, or because the bit is not ours to flip (an external payload, or a
/// header below the port).
inline bool try_damage(Packet& packet, uint32_t bit, IcrcMode icrc) {
  if (icrc != IcrcMode::None || bit / 8 >= packet.bytes) return false;
  packet.data[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  return true;
}

/// Carries out Verdict::is_marked; packets of transports that know no ECN stay as they are.
inline void mark_congestion(Packet& packet) {
  constexpr uint8_t congestion_experienced = 3;
  if (packet.ecn != 0) packet.ecn = congestion_experienced;
}

/// Moves what lies elsewhere into the packet, pad included.
inline void take_in_payload(Packet& packet) {
  if (packet.payload == nullptr) return;
  const uint32_t pad_bytes = -packet.payload_bytes & 3;
  CW_ASSERT(uint64_t{packet.bytes} + packet.payload_bytes + pad_bytes <= packet.bytes_max);
  std::memcpy(packet.data + packet.bytes, packet.payload, packet.payload_bytes);
  packet.bytes += packet.payload_bytes;
  std::memset(packet.data + packet.bytes, 0, pad_bytes);
  packet.bytes += pad_bytes;
  packet.payload = nullptr;
  packet.payload_bytes = 0;
}

/// Makes `target`, a packet of the same port, a copy of `source`. It names the same payload
/// elsewhere, which stays where it is for the source only.
inline void copy_packet(const Packet& source, Packet& target) {
  CW_ASSERT(source.bytes <= target.bytes_max);
  uint8_t* const data = target.data;
  const uint32_t bytes_max = target.bytes_max;
  void* const port_data = target.port_data;
  target = source;
  target.cookie = 0;
  target.more_owners = 0;
  target.data = data;
  target.bytes_max = bytes_max;
  target.port_data = port_data;
  std::memcpy(data, source.data, source.bytes);
}

}  // namespace cw
