// DpdkWanPort on the way out: transport packets to frames.
#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/port/dpdk/dpdk_wan_port.h"

namespace cw {

DpdkWanPort::~DpdkWanPort() {
  if (device_) device_->give_back(made());
}

size_t DpdkWanPort::tx_burst(std::span<Packet* const> packets, Instant) {
  size_t done = 0;
  while (done < packets.size() && try_flush()) {
    Packet& packet = *packets[done];
    if (uint64_t* const lost = obstacle_to(packet)) {
      ++*lost;
      device_->give_back(packets.subspan(done, 1));
      ++done;
      continue;
    }
    done += make_frames(packets.subspan(done));
  }
  try_flush();
  counters_.tx_refused += packets.size() - done;
  return done;
}

/// Whether the device has taken all frames.
bool DpdkWanPort::try_flush() {
  if (made_count_ == 0) return true;
  const size_t sent = device_->tx_burst(made());
  made_first_ += sent;
  made_count_ -= sent;
  return made_count_ == 0;
}

/// Without a link nothing leaves, and what comes with the next one is not for the same ears.
void DpdkWanPort::drop_frames() {
  status_.tx_link_down += made_count_;
  device_->give_back(made());
  made_count_ = 0;
}

/// The count of those that are lost for the same reason; null for a packet that has a way.
uint64_t* DpdkWanPort::obstacle_to(const Packet& packet) {
  if (packet.peer >= peers_.all.size() || packet.path >= facts_.paths) {
    return &status_.tx_unrouted;
  }
  if (!is_up_) return &status_.tx_link_down;
  if (peers_.hops[peers_.all[packet.peer].hop].is_known) return nullptr;
  return &status_.tx_unresolved;
}

/// Of packets from the front, up to one that may not leave; returns how many.
size_t DpdkWanPort::make_frames(std::span<Packet* const> packets) {
  CW_ASSERT(made_count_ == 0);
  made_first_ = 0;
  std::array<uint8_t, limits::burst_packets_max> outer_bytes;
  while (made_count_ < std::min(packets.size(), made_.size())) {
    Packet& packet = *packets[made_count_];
    if (obstacle_to(packet) != nullptr) break;
    ++counters_.tx_packets;
    counters_.tx_bytes += packet.bytes;
    outer_bytes[made_count_] = static_cast<uint8_t>(put_headers(packet));
    made_[made_count_++] = &packet;
  }
  // In a loop of its own: headers are read here as they were not written, which takes time as long
  // as they have just been.
  for (size_t i = 0; i < made_count_; ++i) put_icrc(*made_[i], outer_bytes[i]);
  return made_count_;
}

/// Writes everything before the transport packet; returns how much that is.
size_t DpdkWanPort::put_headers(Packet& packet) {
  CW_ASSERT(packet.bytes >= sizeof(Bth) && packet.bytes <= packet.bytes_max &&
            packet.payload == nullptr);
  const Peer& peer = peers_.all[packet.peer];
  const auto source_port = static_cast<uint16_t>(udp_port_ + packet.path);
  const FrameAddress address = {
      .target_mac = peers_.hops[peer.hop].mac,
      .source_mac = self_.mac,
      .ip_version = self_.ip.version,
      .source_ip = self_.ip.ip,
      .target_ip = peer.address.ip,
      .dscp = packet.dscp,
      .ecn = packet.ecn,
      .flow_label = source_port,  // SPEC 2.3
      .source_udp_port = source_port,
      .target_udp_port = peer.udp_port,
  };
  const size_t outer_bytes = outer_header_bytes(address, FrameStart::Ethernet);
  uint8_t* const front = packet.data - outer_bytes;
  encode_outer_headers(address, FrameStart::Ethernet, packet.bytes, {front, outer_bytes});
  packet.data = front;
  packet.bytes += static_cast<uint32_t>(outer_bytes);
  return outer_bytes;
}

void DpdkWanPort::put_icrc(Packet& packet, size_t outer_bytes) {
  constexpr size_t link_bytes =
      link_header_bytes(FrameAddress(), FrameStart::Ethernet);  // untagged
  const std::span<const uint8_t> frame(packet.data, packet.bytes);
  const uint32_t icrc = icrc_of(packet, frame.subspan(link_bytes, outer_bytes - link_bytes),
                                frame.subspan(outer_bytes));
  Icrc::write(icrc, std::span<uint8_t, icrc_bytes>(packet.data + packet.bytes, icrc_bytes));
  packet.bytes += icrc_bytes;
}

uint32_t DpdkWanPort::icrc_of(const Packet& packet, std::span<const uint8_t> ip_and_udp,
                              std::span<const uint8_t> own) const {
  if (!packet.has_payload_crc) return icrc_.of(ip_and_udp, own);
  const size_t header_bytes = opcode_table[own[0]].header_bytes;
  const size_t pad_bytes = own[offsetof(Bth, flags)] >> Bth::pad_shift & 3;
  CW_ASSERT(header_bytes >= sizeof(Bth) && header_bytes + pad_bytes <= own.size());
  return icrc_.of(ip_and_udp, own.first(header_bytes),
                  {.crc = packet.payload_crc, .bytes = own.size() - header_bytes - pad_bytes});
}

}  // namespace cw
