// Whole frames for tests: made from fields by the shipped encoders, and taken apart from bytes that
// lie in a heap block of exactly their size, so that AddressSanitizer sees any read beyond.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/outer/frame.h"
#include "dataplane/wire/roce.h"
#include "offload/crc32.h"
#include "tests/unit/wire/capture.h"

namespace cw::test {

/// A copy of bytes with nothing readable behind it.
class ExactCopy {
 public:
  explicit ExactCopy(std::span<const uint8_t> bytes)
      : size_(bytes.size()), bytes_(new uint8_t[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  std::span<const uint8_t> span() const { return {bytes_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<uint8_t[]> bytes_;
};

inline const Icrc& exact_icrc() {
  static const Icrc icrc(IcrcMode::Exact, cw_crc32, 4096);
  return icrc;
}

/// The frame a port would send: outer headers, transport headers, payload, zero pad, exact ICRC.
inline ByteVector make_frame(const FrameAddress& address, const Transport& packet,
                             FrameStart start = FrameStart::Ethernet) {
  const size_t header_bytes = packet.facts().header_bytes;
  const size_t pad = pad_bytes_for(packet.payload.size());
  const size_t transport_bytes = header_bytes + packet.payload.size() + pad;
  const size_t outer_bytes = outer_header_bytes(address, start);
  ByteVector frame(outer_bytes + transport_bytes + icrc_bytes);
  const std::span bytes(frame);
  encode_outer_headers(address, start, transport_bytes, bytes);
  encode_transport_headers(packet, bytes.subspan(outer_bytes));
  std::ranges::copy(packet.payload, bytes.begin() + outer_bytes + header_bytes);
  const auto ip_packet = bytes.subspan(link_header_bytes(address, start));
  const size_t ip_and_udp_bytes = outer_bytes - link_header_bytes(address, start);
  const uint32_t icrc = exact_icrc().of(ip_packet.first(ip_and_udp_bytes),
                                        bytes.subspan(outer_bytes, transport_bytes));
  Icrc::write(icrc, bytes.last<icrc_bytes>());
  if (address.has_udp_checksum) {
    write_udp_checksum(ip_packet.first(ip_and_udp_bytes), ip_packet.subspan(ip_and_udp_bytes));
  }
  return frame;
}

/// A frame and its transport packet, both decoded; `error` is the first refusal.
struct Decoded {
  Frame frame;
  Transport transport;
  bool has_right_icrc = false;
  std::optional<WireError> error;
};

inline Decoded decode(std::span<const uint8_t> bytes, FrameStart start = FrameStart::Ethernet) {
  Decoded decoded;
  const auto frame = parse_frame(bytes, start);
  if (!frame) {
    decoded.error = frame.error();
    return decoded;
  }
  decoded.frame = *frame;
  const auto transport = parse_transport(frame->transport_of(bytes));
  if (!transport) {
    decoded.error = transport.error();
    return decoded;
  }
  decoded.transport = *transport;
  decoded.has_right_icrc =
      exact_icrc().is_right(frame->ip_and_udp_of(bytes), frame->covered_of(bytes));
  return decoded;
}

}  // namespace cw::test
