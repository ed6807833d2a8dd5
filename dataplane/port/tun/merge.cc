#include "dataplane/port/tun/merge.h"

#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/outer/checksum.h"

namespace cw {
namespace {
using namespace ip_layout;

constexpr uint16_t v4_more_or_offset = 0x3fff;

/// Where the TCP header of a plain packet begins, one without options, extensions or fragments
/// whose length is the header's; zero for any other.
size_t tcp_offset(std::span<const uint8_t> packet) {
  if (packet.size() < v4::bytes + tcp::bytes) return 0;
  if (packet[0] == 0x45) {
    const bool is_plain = packet[v4::protocol] == protocol_tcp &&
                          load<be16>(&packet[v4::total_length]) == packet.size() &&
                          (load<be16>(&packet[v4::fragment]) & v4_more_or_offset) == 0;
    return is_plain ? v4::bytes : 0;
  }
  if (packet[0] >> 4 != 6 || packet.size() < v6::bytes + tcp::bytes) return 0;
  const bool is_plain = packet[v6::next_header] == protocol_tcp &&
                        load<be16>(&packet[v6::payload_length]) + v6::bytes == packet.size();
  return is_plain ? v6::bytes : 0;
}

bool is_equal(std::span<const uint8_t> a, std::span<const uint8_t> b, size_t from, size_t end) {
  return std::memcmp(a.data() + from, b.data() + from, end - from) == 0;
}

}  // namespace

void Merger::begin(std::span<const uint8_t> packet) {
  first_ = packet;
  count_ = 1;
  bytes_ = packet.size();
  is_verified_ = false;
  transport_ = tcp_offset(packet);
  is_open_ = transport_ != 0 && can_begin();
}

/// Takes the header's measure on the way.
bool Merger::can_begin() {
  is_v4_ = transport_ == v4::bytes;
  const auto segment = first_.subspan(transport_);
  header_bytes_ = transport_ + size_t{segment[tcp::data_offset]} / 16 * 4;
  if (header_bytes_ < transport_ + tcp::bytes || header_bytes_ >= first_.size()) return false;
  constexpr uint8_t plain = tcp::ack | tcp::ece | tcp::cwr;
  return (segment[tcp::flags] & tcp::ack) != 0 && (segment[tcp::flags] & ~plain) == 0;
}

bool Merger::try_add(std::span<const uint8_t> packet) {
  if (!is_open_ || packet.size() <= header_bytes_ || packet.size() > first_.size() ||
      bytes_ + payload_bytes(packet) > UINT16_MAX || !continues(packet)) {
    return false;
  }
  if (!is_verified_) is_open_ = is_verified_ = has_right_checksum(first_);
  if (!is_open_ || !has_right_checksum(packet)) return false;
  bytes_ += payload_bytes(packet);
  ++count_;
  last_flags_ = packet[transport_ + tcp::flags];
  is_open_ = packet.size() == first_.size() && (last_flags_ & (tcp::fin | tcp::psh)) == 0;
  return true;
}

/// `packet` is long enough for the first one's headers. Compares what must be equal, field by
/// field, and what must go up.
bool Merger::continues(std::span<const uint8_t> packet) const {
  if (tcp_offset(packet) != transport_) return false;
  if (is_v4_) {
    const auto step = static_cast<uint16_t>(load<be16>(&packet[v4::identification]) -
                                            load<be16>(&first_[v4::identification]));
    if (step != count_ || !is_equal(first_, packet, 0, v4::total_length) ||
        !is_equal(first_, packet, v4::fragment, v4::checksum) ||
        !is_equal(first_, packet, v4::addresses, v4::bytes)) {
      return false;
    }
  } else if (!is_equal(first_, packet, 0, v6::payload_length) ||
             !is_equal(first_, packet, v6::next_header, v6::bytes)) {
    return false;
  }
  const auto first = first_.subspan(transport_), segment = packet.subspan(transport_);
  constexpr uint8_t may_come = tcp::fin | tcp::psh;
  const uint8_t expected = first[tcp::flags] & static_cast<uint8_t>(~tcp::cwr);
  const uint32_t offset = static_cast<uint32_t>(bytes_ - header_bytes_);
  return load<be32>(&segment[tcp::seq]) == load<be32>(&first[tcp::seq]) + offset &&
         (segment[tcp::flags] & ~may_come) == expected &&
         is_equal(first, segment, 0, tcp::seq) &&                                  // both ends
         is_equal(first, segment, tcp::seq + 4, tcp::flags) &&                     // acknowledged
         is_equal(first, segment, tcp::flags + 1, tcp::checksum) &&                // window
         is_equal(first, segment, tcp::checksum + 2, header_bytes_ - transport_);  // options
}

bool Merger::has_right_checksum(std::span<const uint8_t> packet) const {
  if (is_v4_ && sum_of(packet.first(v4::bytes)) != 0xffff) return false;
  const auto segment = packet.subspan(transport_);
  const auto addresses = is_v4_ ? packet.subspan(v4::addresses, v4::addresses_bytes)
                                : packet.subspan(v6::addresses, v6::addresses_bytes);
  const uint16_t pseudo = pseudo_header_sum(addresses, protocol_tcp, segment.size());
  return add_sums(pseudo, sum_of(segment)) == 0xffff;
}

std::span<const uint8_t> Merger::write_headers() {
  CW_ASSERT(count_ > 1 && bytes_ <= UINT16_MAX);
  uint8_t* headers = headers_.data();
  std::memcpy(headers, first_.data(), header_bytes_);
  const size_t addresses = is_v4_ ? v4::addresses : v6::addresses;
  const size_t addresses_bytes = is_v4_ ? v4::addresses_bytes : v6::addresses_bytes;
  if (is_v4_) {
    store16(headers + v4::total_length, bytes_);
    store16(headers + v4::checksum, 0);
    store16(headers + v4::checksum, static_cast<uint16_t>(~sum_of({headers, v4::bytes})));
  } else {
    store16(headers + v6::payload_length, bytes_ - v6::bytes);
  }
  headers[transport_ + tcp::flags] |= last_flags_;
  store16(
      headers + transport_ + tcp::checksum,
      pseudo_header_sum({headers + addresses, addresses_bytes}, protocol_tcp, bytes_ - transport_));
  return {headers, header_bytes_};
}

Offload Merger::offload() const {
  return {.needs_checksum = true,
          .checksum_start = static_cast<uint16_t>(transport_),
          .checksum_offset = tcp::checksum,
          .gso = is_v4_ ? Gso::TcpV4 : Gso::TcpV6,
          .has_cwr = (first_[transport_ + tcp::flags] & tcp::cwr) != 0,
          .segment_bytes = static_cast<uint16_t>(first_.size() - header_bytes_),
          .header_bytes = static_cast<uint16_t>(header_bytes_)};
}

}  // namespace cw
