// The packets that a port of UDP sockets lends, and what is counted of those that come and leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/base/memory/pool.h"
#include "dataplane/port.h"
#include "dataplane/port/done_row.h"
#include "dataplane/port/udp/socket/udp_status.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/roce.h"

namespace cw {

/// Thread: one. Nothing allocates once it is made.
class UdpPackets {
 public:
  /// The port's own counters, which outlive it.
  UdpPackets(size_t packets, uint32_t payload_bytes_max, PortCounters& counters,
             UdpPortStatus& status)
      : frame_bytes_(static_cast<uint32_t>(limits::headers_bytes_max) + payload_bytes_max),
        pool_(packets),
        done_(packets),
        buffers_(packets, datagram_bytes_max()),
        counters_(counters),
        status_(status) {}

  /// Of one that is sent or received, pad and ICRC included.
  uint32_t datagram_bytes_max() const { return frame_bytes_ + limits::trailer_bytes_max; }

  // As the port's.
  size_t take_burst(std::span<Packet*> out) {
    size_t count = 0;
    while (count < out.size() && (out[count] = try_take()) != nullptr) ++count;
    return count;
  }
  size_t take_done(std::span<uint64_t> out) {
    return done_.take(out, [this](Packet* packet) { pool_.give_back(packet); });
  }
  void give_back(std::span<Packet* const> packets) {
    for (Packet* packet : packets) release(packet);
  }

  /// By one of its owners.
  void release(Packet* packet) {
    if (!try_leave(*packet) && !done_.try_keep(*packet)) pool_.give_back(packet);
  }
  /// Done with: they have left, or are lost for a reason that is counted.
  void settle(std::span<Packet* const> packets, bool has_left) {
    for (Packet* packet : packets) {
      if (has_left) {
        ++counters_.tx_packets;
        counters_.tx_bytes += packet->bytes + packet->payload_bytes;
      }
      release(packet);
    }
  }

  /// A packet with the datagram, or null when it is refused or there is no packet. `is_right()`
  /// asks for its ICRC.
  template <class IsRight>
  Packet* accept(std::span<const uint8_t> datagram, uint8_t tos, Instant now,
                 const IsRight& is_right) {
    const bool is_too_long = datagram.size() > frame_bytes_ + icrc_bytes;
    status_.rx_truncated += is_too_long;
    if (is_too_long || datagram.size() < sizeof(Bth) + icrc_bytes || !is_right()) {
      ++counters_.rx_malformed;
      return nullptr;
    }
    Packet* packet = try_take();
    if (packet == nullptr) {
      ++counters_.rx_dropped;
      return nullptr;
    }
    packet->bytes = static_cast<uint32_t>(datagram.size() - icrc_bytes);
    std::memcpy(packet->data, datagram.data(), packet->bytes);
    packet->ecn = tos & 3;
    packet->dscp = tos >> 2;
    packet->at = now;
    ++counters_.rx_packets;
    counters_.rx_bytes += packet->bytes;
    return packet;
  }

 private:
  Packet* try_take() {
    Packet* packet = pool_.try_take();
    if (packet == nullptr) return nullptr;
    *packet = {};
    packet->data = buffers_.at(pool_.index_of(packet));
    packet->bytes_max = frame_bytes_;
    return packet;
  }

  uint32_t frame_bytes_;  // of a packet, without the room for pad and ICRC behind it
  Pool<Packet> pool_;
  DoneRow done_;
  Buffers buffers_;
  PortCounters& counters_;
  UdpPortStatus& status_;
};

}  // namespace cw
