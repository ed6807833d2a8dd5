// The outer headers of packets that all go one way (SPEC.md section 2), made once. What differs
// from packet to packet is written over a copy:
//
//   | MACs | type | version | class | length | .. | checksum | addresses | ports | length | 0
//                             write   write        write                           write
//
// Thread: any; constant once made. Nothing allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dataplane/base/assert.h"
#include "dataplane/base/endian.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {

class OuterHeaders {
 public:
  OuterHeaders() = default;
  /// Of untagged Ethernet frames. DSCP and ECN of `address` do not count.
  explicit OuterHeaders(const FrameAddress& address);

  size_t bytes() const { return is_v4_ ? v4_bytes : v6_bytes; }
  /// The part that the ICRC begins with, of headers written at `front`.
  std::span<const uint8_t> ip_and_udp_of(const uint8_t* front) const {
    return {front + link_bytes, bytes() - link_bytes};
  }

  /// Writes what encode_outer_headers() would, bytes() at `front`, within its bounds.
  /// Cost: hot.
  void write(uint8_t* front, size_t transport_bytes, uint8_t dscp, uint8_t ecn) const {
    const size_t udp_bytes = ip_layout::udp::bytes + transport_bytes + icrc_bytes;
    CW_DCHECK(bytes() - link_bytes + transport_bytes + icrc_bytes <= 0xffff);
    const auto traffic_class = static_cast<uint8_t>(dscp << 2 | (ecn & 3));
    if (is_v4_) {
      write_v4(front, udp_bytes, traffic_class);
    } else {
      write_v6(front, udp_bytes, traffic_class);
    }
  }

 private:
  static constexpr size_t link_bytes = link_header_bytes({}, FrameStart::Ethernet);
  static constexpr size_t v4_bytes = link_bytes + ip_layout::v4::bytes + ip_layout::udp::bytes;
  static constexpr size_t v6_bytes = link_bytes + ip_layout::v6::bytes + ip_layout::udp::bytes;

  void write_v4(uint8_t* front, size_t udp_bytes, uint8_t traffic_class) const {
    namespace v4 = ip_layout::v4;
    const size_t ip_bytes = v4::bytes + udp_bytes;
    uint8_t* const ip = front + link_bytes;
    std::memcpy(front, bytes_.data(), v4_bytes);
    ip[v4::tos] = traffic_class;
    ip_layout::store16(ip + v4::total_length, ip_bytes);
    ip_layout::store16(ip + v4::checksum, checksum(traffic_class + ip_bytes));
    ip_layout::store16(ip + v4::bytes + ip_layout::udp::length, udp_bytes);
  }

  void write_v6(uint8_t* front, size_t udp_bytes, uint8_t traffic_class) const {
    namespace v6 = ip_layout::v6;
    uint8_t* const ip = front + link_bytes;
    std::memcpy(front, bytes_.data(), v6_bytes);
    ip_layout::store16(ip, first_ | traffic_class << 4);
    ip_layout::store16(ip + v6::payload_length, udp_bytes);
    ip_layout::store16(ip + v6::bytes + ip_layout::udp::length, udp_bytes);
  }

  /// Of an IPv4 header with these fields more than those of bytes_.
  uint16_t checksum(uint64_t fields) const {
    const uint64_t sum = sum_ + fields;
    const uint64_t once = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~(once + (once >> 16)));
  }

  std::array<uint8_t, v6_bytes> bytes_{};  // as written, with zeros where packets differ
  uint32_t sum_ = 0;                       // IPv4: of what they have in common
  uint16_t first_ = 0;                     // IPv6: version and what is beside it of the flow label
  bool is_v4_ = true;
};

}  // namespace cw
