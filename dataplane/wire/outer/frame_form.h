// What the outer frames of one sender have in common, so that each of them is read by comparing a
// few words instead of header by header:
//
//   | MACs | type | version | class | length, id | fragment | .. | addresses | ports | length, sum
//   |
//     free   same   same      read    read  free   same       ..   same        read    read    free
//
// It says of a frame what parse_frame() says, or declines; parse_frame() then knows what it is or
// what is wrong with it. IPv4 options, VLAN tags and what is not whole are always declined.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {

/// What frames of one form differ in.
struct FormedFrame {
  uint32_t transport_bytes = 0;  ///< without the ICRC, which follows
  uint16_t source_udp_port = 0;
  uint8_t dscp = 0, ecn = 0;
};

/// Thread: any; constant once made.
class FrameForm {
 public:
  /// Of Ethernet frames with these IP addresses and this target UDP port. Nothing else of
  /// `address` counts.
  explicit FrameForm(const FrameAddress& address);

  size_t ip_offset() const { return link_bytes; }
  size_t transport_offset() const { return transport_offset_; }

  /// False, and `frame` is anything: a frame of another form, a wrong one, or one that holds less
  /// than a BTH. Cost: hot.
  bool try_read(std::span<const uint8_t> bytes, FormedFrame& frame) const;

 private:
  using Word = uint64_t;
  static constexpr size_t link_bytes = link_header_bytes({}, FrameStart::Ethernet);
  static constexpr size_t words_offset = 8;  // the first word that is not all MAC addresses
  static constexpr size_t words_max = 7;     // of IPv6; four of IPv4

  std::array<Word, words_max> same_{}, mask_{};
  uint32_t transport_offset_;
  bool is_v4_;
};

inline bool FrameForm::try_read(std::span<const uint8_t> bytes, FormedFrame& frame) const {
  if (bytes.size() < transport_offset_ + sizeof(Bth) + icrc_bytes) return false;
  const uint8_t* const ip = bytes.data() + link_bytes;
  const uint8_t* const udp = bytes.data() + transport_offset_ - ip_layout::udp::bytes;
  const auto differ = [&](size_t i) {
    return (read_at<Word>(bytes.data() + words_offset + i * sizeof(Word)) ^ same_[i]) & mask_[i];
  };
  Word wrong = differ(0) | differ(1) | differ(2) | differ(3);
  if (!is_v4_) wrong |= differ(4) | differ(5) | differ(6);
  const uint32_t ip_payload_bytes =
      is_v4_
          ? ip_layout::load<be16>(ip + ip_layout::v4::total_length) - uint32_t{ip_layout::v4::bytes}
          : ip_layout::load<be16>(ip + ip_layout::v6::payload_length);
  const uint32_t udp_packet_bytes = ip_layout::load<be16>(udp + ip_layout::udp::length);
  if ((wrong | (ip_payload_bytes ^ udp_packet_bytes)) != 0) return false;
  const size_t around = transport_offset_ - ip_layout::udp::bytes;
  if (udp_packet_bytes < ip_layout::udp::bytes + sizeof(Bth) + icrc_bytes ||
      udp_packet_bytes > bytes.size() - around || (is_v4_ && !is_ipv4_header_sound(ip))) {
    return false;
  }
  const unsigned traffic_class =
      is_v4_ ? ip[ip_layout::v4::tos] : ip_layout::load<be16>(ip) >> 4 & 0xff;
  frame.transport_bytes = udp_packet_bytes - uint32_t{ip_layout::udp::bytes + icrc_bytes};
  frame.source_udp_port = ip_layout::load<be16>(udp);
  frame.dscp = static_cast<uint8_t>(traffic_class >> 2);
  frame.ecn = traffic_class & 3;
  return true;
}

}  // namespace cw
