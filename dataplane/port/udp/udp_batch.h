// What sendmmsg and recvmmsg work on: rows of messages, each with its address, its pieces of memory
// and its control data (DSCP and ECN, segmentation). Allocated once, filled anew for every burst.
//
// One message may carry many packets: the kernel cuts it into segments of equal size when it leaves
// (GSO) and hands segments of one sender over in one piece when they have arrived together (GRO).
// Only the last segment of a message may be shorter.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/base/limits.h"
#include "dataplane/base/memory/buffers.h"
#include "dataplane/port/udp/udp_address.h"

namespace cw {

/// One packet on its way out. What it points to lives until the batch has been sent.
struct UdpDatagram {
  const SocketName* target = nullptr;
  socklen_t target_bytes = 0;
  std::span<const uint8_t> headers, payload, trailer;  ///< in this order on the wire
  uint8_t tos = 0;                                     ///< DSCP and ECN

  size_t bytes() const { return headers.size() + payload.size() + trailer.size(); }
};

class UdpSendBatch {
 public:
  /// Packets of one message, as <linux/udp.h> has it.
  static constexpr uint32_t segments_max = 64;

  UdpSendBatch();

  void clear() { count_ = iovec_count_ = 0; }
  /// Adds a packet, at most limits::burst_packets_max of them: to the last message where that is
  /// allowed and gives the same packets on the wire, else as a new one.
  /// Returns how many packets of its message come before it. What it points to need not be written
  /// yet.
  size_t append(const UdpDatagram& datagram, bool may_join);

  size_t message_count() const { return count_; }
  size_t packet_count(size_t message) const { return shapes_[message].packets; }
  /// The messages from `first` on, ready for sendmmsg. After the last append().
  std::span<mmsghdr> messages_from(size_t first);

 private:
  // As IPv6 has it.
  static constexpr uint32_t message_bytes_max = 65535 - 40 - 8;
  static constexpr size_t pieces_max = 3;

  struct Shape {
    const SocketName* target;
    uint32_t iovec_first, bytes, segment_bytes, packets;
    uint8_t tos;
    bool is_closed;  // by a segment shorter than the others
  };
  struct alignas(cmsghdr) Control {
    uint8_t bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))];
  };

  bool fits_last(const UdpDatagram& datagram) const;
  void open_message(const UdpDatagram& datagram);
  void write_control(size_t message);

  size_t count_ = 0, iovec_count_ = 0;
  std::array<mmsghdr, limits::burst_packets_max> headers_{};
  std::array<Shape, limits::burst_packets_max> shapes_;
  std::array<Control, limits::burst_packets_max> controls_;
  std::array<iovec, limits::burst_packets_max * pieces_max> iovecs_;
};

/// One message as it arrived.
struct UdpArrival {
  const SocketName* source = nullptr;
  std::span<const uint8_t> bytes;
  size_t segment_bytes = 0;     ///< of each packet in `bytes`, save that the last may be shorter
  uint8_t tos = 0;              ///< DSCP and ECN
  bool is_truncated = false;    ///< it was longer than any packet of ours
  uint32_t overflow_drops = 0;  ///< what this socket has had no room for so far, modulo 2^32
};

class UdpRecvBatch {
 public:
  /// For sockets with GRO: no UDP packet is longer, nor what the kernel joins.
  static constexpr size_t joined_bytes = 65536;
  static constexpr size_t joined_messages = 32;

  UdpRecvBatch(size_t messages, size_t message_bytes);

  /// Takes what has arrived. Returns the count of messages, or a negative errno. One system call.
  int receive(int fd);
  /// The message `index` of the last receive(); its bytes stay until the next.
  UdpArrival arrival(size_t index) const;

 private:
  struct alignas(cmsghdr) Control {
    uint8_t bytes[3 * CMSG_SPACE(sizeof(int))];  // DSCP and ECN, segment size, overflow
  };

  size_t message_bytes_;
  Buffers buffers_;
  std::vector<mmsghdr> headers_;
  std::vector<iovec> iovecs_;
  std::vector<SocketName> sources_;
  std::vector<Control> controls_;
};

}  // namespace cw
