// Messages from a port's sockets, taken apart into the datagrams that the kernel has joined.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/port.h"
#include "dataplane/port/udp/socket/udp_socket.h"
#include "dataplane/port/udp/socket/udp_status.h"
#include "dataplane/port/udp/udp_batch.h"

namespace cw {

/// Thread: one. Nothing allocates once it is made.
class UdpReceiver {
 public:
  /// The port's own, which outlive it. `gro`: the kernel may join.
  UdpReceiver(bool gro, uint32_t datagram_bytes_max, PortCounters& counters, UdpPortStatus& status);

  /// There must be nothing left to unpack. A complaint of the network comes before what has
  /// arrived.
  bool try_receive(const UdpSocket& socket);

  /// `begin(arrival)` of each message says whether its packets are to be looked at: they are from
  /// somebody; `accept(datagram)` returns a packet, or null.
  template <class Begin, class Accept>
  size_t unpack(std::span<Packet*> out, const Begin& begin, const Accept& accept) {
    size_t count = 0;
    while (count < out.size()) {
      if (arrival_.bytes.empty()) {
        if (next_ == count_) break;
        begin_arrival(begin);
        continue;
      }
      const auto datagram =
          arrival_.bytes.first(std::min(arrival_.segment_bytes, arrival_.bytes.size()));
      arrival_.bytes = arrival_.bytes.subspan(datagram.size());
      if (Packet* packet = accept(datagram)) out[count++] = packet;
    }
    return count;
  }
  /// Of the message that is being unpacked.
  uint8_t tos() const { return arrival_.tos; }

 private:
  /// The next message: what holds for all its packets.
  template <class Begin>
  void begin_arrival(const Begin& begin) {
    arrival_ = recvs_.arrival(next_++);
    arrival_.segment_bytes = std::max<size_t>(arrival_.segment_bytes, 1);
    const size_t packets = std::max<size_t>(
        (arrival_.bytes.size() + arrival_.segment_bytes - 1) / arrival_.segment_bytes, 1);
    const bool is_somebodys = begin(arrival_);
    if (arrival_.is_truncated) {
      status_.rx_truncated += 1;
    } else if (!is_somebodys) {
      status_.rx_unknown += packets;
    } else if (!arrival_.bytes.empty()) {
      return;
    }
    counters_.rx_malformed += packets;
    arrival_.bytes = {};
  }

  PortCounters& counters_;
  UdpPortStatus& status_;
  UdpRecvBatch recvs_;
  size_t count_ = 0, next_ = 0;  // of recvs_: had, and unpacked so far
  UdpArrival arrival_;           // being unpacked; its bytes shrink
};

}  // namespace cw
