#include "dataplane/port/tun/split.h"

#include <algorithm>
#include <cstring>

#include "dataplane/base/assert.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {
using namespace ip_layout;

/// Whether the IP header is one that leads to `protocol` at offset `transport`. Extension headers
/// of IPv6 are the sender's affair: they are repeated in every piece.
bool is_ip_header(std::span<const uint8_t> packet, size_t transport, uint8_t protocol) {
  const uint8_t version = packet[0] >> 4;
  if (version == 4) {
    const bool is_whole = (load<be16>(&packet[v4::fragment]) & 0x3fff) == 0;
    return transport >= v4::bytes && transport == size_t{packet[0] & 0x0fu} * 4 && is_whole &&
           packet[v4::protocol] == protocol;
  }
  return version == 6 && transport >= v6::bytes &&
         (transport > v6::bytes || packet[v6::next_header] == protocol);
}

/// Of the TCP or UDP header at the start of `bytes`; zero when it is cut off or malformed.
size_t transport_header_bytes(std::span<const uint8_t> bytes, bool is_tcp) {
  if (!is_tcp) return bytes.size() < udp::bytes ? 0 : udp::bytes;
  if (bytes.size() < tcp::bytes) return 0;
  const size_t header_bytes = size_t{bytes[tcp::data_offset]} / 16 * 4;
  return header_bytes < tcp::bytes || header_bytes > bytes.size() ? 0 : header_bytes;
}

}  // namespace

std::optional<Splitter> Splitter::make(std::span<const uint8_t> packet, const Offload& offload) {
  const bool is_tcp = offload.gso != Gso::Udp;
  const uint8_t protocol = is_tcp ? protocol_tcp : protocol_udp;
  const size_t transport = offload.checksum_start;
  const size_t field = is_tcp ? tcp::checksum : udp::checksum;
  if (offload.gso == Gso::None || !offload.needs_checksum || offload.segment_bytes == 0 ||
      offload.checksum_offset != field) {
    return std::nullopt;
  }
  if (packet.size() < v4::bytes || packet.size() > UINT16_MAX || transport > packet.size() ||
      !is_ip_header(packet, transport, protocol)) {
    return std::nullopt;
  }
  const bool is_v4 = packet[0] >> 4 == 4;
  if (offload.gso == (is_v4 ? Gso::TcpV6 : Gso::TcpV4)) return std::nullopt;
  const auto behind_ip = packet.subspan(transport);
  const size_t transport_bytes = transport_header_bytes(behind_ip, is_tcp);
  if (transport_bytes == 0 || transport_bytes == behind_ip.size()) return std::nullopt;

  Splitter splitter;
  splitter.packet_ = packet;
  splitter.is_v4_ = is_v4;
  splitter.is_tcp_ = is_tcp;
  splitter.transport_ = transport;
  splitter.header_bytes_ = transport + transport_bytes;
  splitter.segment_bytes_ = offload.segment_bytes;
  // The kernel's sum is that of the true pseudo header, even where routing headers hide it.
  splitter.base_sum_ =
      subtract_sum(load<be16>(&behind_ip[field]), static_cast<uint16_t>(behind_ip.size()));
  return splitter;
}

size_t Splitter::piece_bytes_max() const {
  return header_bytes_ + std::min(segment_bytes_, payload_bytes());
}

size_t Splitter::pieces_left() const {
  return (payload_bytes() - offset_ + segment_bytes_ - 1) / segment_bytes_;
}

size_t Splitter::next(std::span<uint8_t> out) {
  CW_ASSERT(pieces_left() > 0 && out.size() >= piece_bytes_max());
  const size_t payload = std::min(segment_bytes_, payload_bytes() - offset_);
  const auto piece = out.first(header_bytes_ + payload);
  std::memcpy(piece.data(), packet_.data(), header_bytes_);
  std::memcpy(piece.data() + header_bytes_, packet_.data() + header_bytes_ + offset_, payload);
  write_ip(piece);
  const auto behind_ip = piece.subspan(transport_);
  if (is_tcp_) {
    write_tcp(behind_ip);
  } else {
    store16(&behind_ip[udp::length], behind_ip.size());
  }
  const size_t field = is_tcp_ ? tcp::checksum : udp::checksum;
  store16(&behind_ip[field], add_sums(base_sum_, static_cast<uint16_t>(behind_ip.size())));
  complete_checksum(piece, {.checksum_start = static_cast<uint16_t>(transport_),
                            .checksum_offset = static_cast<uint16_t>(field)});
  offset_ += payload;
  ++index_;
  return piece.size();
}

void Splitter::write_ip(std::span<uint8_t> piece) const {
  if (!is_v4_) {
    store16(&piece[v6::payload_length], piece.size() - v6::bytes);
    return;
  }
  store16(&piece[v4::total_length], piece.size());
  store16(&piece[v4::identification], load<be16>(&packet_[v4::identification]) + size_t{index_});
  store16(&piece[v4::checksum], 0);
  store16(&piece[v4::checksum], static_cast<uint16_t>(~sum_of(piece.first(transport_))));
}

/// As RFC 793 and 3168 would have sent it: the end of the data is at its end, the answer to a
/// congestion mark at its start.
void Splitter::write_tcp(std::span<uint8_t> piece) const {
  const uint32_t seq = load<be32>(&packet_[transport_ + tcp::seq]);
  store32(&piece[tcp::seq], seq + static_cast<uint32_t>(offset_));
  if (offset_ > 0) piece[tcp::flags] &= static_cast<uint8_t>(~tcp::cwr);
  if (pieces_left() > 1) piece[tcp::flags] &= static_cast<uint8_t>(~(tcp::fin | tcp::psh));
}

}  // namespace cw
