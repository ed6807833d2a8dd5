// The ICRCs of what crosses sockets. A pseudo one covers the transport packet alone (SPEC 3.3). An
// exact one begins with IP and UDP headers that are the kernel's: all of them follow from the two
// ends and the length, save the IPv4 identification (unseen_id.h).
//
// Packets of one way and length begin alike, and most are as long as the one before them: of each
// way and direction the last start is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/port/udp/udp_address.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/crc/unseen_id.h"

namespace cw {

/// The two ends of a packet that goes out or comes in.
struct UdpWay {
  static constexpr size_t no_number = SIZE_MAX;

  size_t number;          ///< tells it from others of its direction; no_number: it comes seldom
  const UdpAddress& far;  ///< whom it goes to, or who has sent it
  uint16_t own_udp_port;  ///< by which it leaves, or came
};

/// Thread: one. Nothing allocates once it is made.
class UdpIcrc {
 public:
  /// `own` is our address; exact ones alone need it. `ways` are those with a number.
  UdpIcrc(const Icrc& icrc, Crc32Function crc32, uint32_t payload_bytes_max, const UdpAddress& own,
          size_t ways);

  IcrcMode mode() const { return icrc_.mode(); }

  /// Of a packet on its way out, whose pad is zeros. It is the `place`-th of those that the kernel
  /// cuts one message into. Cost: hot.
  uint32_t of(const UdpWay& way, size_t place, std::span<const uint8_t> headers,
              std::span<const uint8_t> payload);
  /// Whether the last four bytes of a datagram that has come are right. Cost: hot.
  bool is_right(const UdpWay& way, std::span<const uint8_t> datagram);

  /// The numbers are those of other ways from now on.
  void forget();

 private:
  /// Of the packet before.
  struct Start {
    uint32_t transport_bytes = 0;  // 0: there was none
    uint32_t start = 0;
  };
  struct Ends {
    const UdpAddress *from, *to;
    uint16_t from_udp_port, to_udp_port;
  };

  uint32_t start_of(std::vector<Start>& known, size_t number, const Ends& ends,
                    size_t transport_bytes) const;
  uint32_t make_start(const Ends& ends, size_t transport_bytes) const;

  Icrc icrc_;
  Crc32Function crc32_;
  UdpAddress own_;
  bool is_v4_;
  UnseenId unseen_id_;
  std::vector<Start> outward_, inward_;  // by number; empty unless exact
};

}  // namespace cw
