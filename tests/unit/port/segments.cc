#include "tests/unit/port/segments.h"

#include "dataplane/port/tun/split.h"

namespace cw::test {
namespace {

void put16(ByteVector& bytes, size_t value) {
  bytes.push_back(static_cast<uint8_t>(value >> 8));
  bytes.push_back(static_cast<uint8_t>(value));
}
void put32(ByteVector& bytes, uint32_t value) { put16(bytes, value >> 16), put16(bytes, value); }
void set16(ByteVector& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}
size_t get16(std::span<const uint8_t> bytes, size_t at) {
  return size_t{bytes[at]} * 256 + bytes[at + 1];
}

uint16_t pseudo_sum(std::span<const uint8_t> packet, size_t transport, uint8_t protocol) {
  const bool is_v4 = packet[0] >> 4 == 4;
  const auto addresses = is_v4 ? packet.subspan(12, 8) : packet.subspan(8, 32);
  return plain_sum(addresses, static_cast<uint32_t>(protocol + packet.size() - transport));
}

}  // namespace

uint16_t plain_sum(std::span<const uint8_t> bytes, uint32_t start) {
  uint32_t sum = start;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += i % 2 == 0 ? uint32_t{bytes[i]} << 8 : bytes[i];
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>((sum & 0xffff) + (sum >> 16));
}

Joined make_joined(const JoinedShape& shape) {
  const size_t options = shape.is_tcp ? size_t{shape.option_words} * 4 : 0;
  const size_t transport_bytes = (shape.is_tcp ? 20 : 8) + options;
  const size_t behind_ip = transport_bytes + shape.payload_bytes;
  const uint8_t protocol = shape.is_tcp ? 6 : 17;
  ByteVector p;
  if (shape.is_v4) {
    p = {0x45, 0x2e};
    put16(p, 20 + behind_ip), put16(p, shape.identification), put16(p, 0x4000);
    p.insert(p.end(), {63, protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2});
    set16(p, 10, static_cast<uint16_t>(~plain_sum(p)));
  } else {
    p = {0x62, 0xe1, 0x23, 0x45};
    put16(p, behind_ip);
    p.insert(p.end(), {protocol, 63});
    for (int i = 0; i < 32; ++i) p.push_back(static_cast<uint8_t>(0xfd - i));
  }
  const size_t transport = p.size();
  put16(p, 40000), put16(p, 4433);
  if (shape.is_tcp) {
    put32(p, shape.seq), put32(p, 77777777);
    p.push_back(static_cast<uint8_t>(transport_bytes / 4 << 4));
    p.push_back(shape.flags);
    put16(p, 501), put16(p, 0), put16(p, 0);
    p.insert(p.end(), options, 1);
  } else {
    put16(p, behind_ip), put16(p, 0);
  }
  uint32_t state = shape.seed;
  for (uint32_t i = 0; i < shape.payload_bytes; ++i) {
    state = state * 1664525 + 1013904223;
    p.push_back(static_cast<uint8_t>(state >> 24));
  }
  const uint16_t field = shape.is_tcp ? 16 : 6;
  set16(p, transport + field, pseudo_sum(p, transport, protocol));
  const Gso gso = !shape.is_tcp ? Gso::Udp : shape.is_v4 ? Gso::TcpV4 : Gso::TcpV6;
  return {p,
          {.needs_checksum = true,
           .checksum_start = static_cast<uint16_t>(transport),
           .checksum_offset = field,
           .gso = gso,
           .has_cwr = (shape.flags & 0x80) != 0 && shape.is_tcp,
           .segment_bytes = shape.segment_bytes,
           .header_bytes = static_cast<uint16_t>(transport + transport_bytes)}};
}

std::string fault_of(std::span<const uint8_t> packet) {
  const bool is_v4 = packet[0] >> 4 == 4;
  const size_t transport = is_v4 ? 20 : 40;
  const uint8_t protocol = is_v4 ? packet[9] : packet[6];
  if (is_v4 && get16(packet, 2) != packet.size()) return "total length";
  if (is_v4 && plain_sum(packet.first(20)) != 0xffff) return "header checksum";
  if (!is_v4 && get16(packet, 4) + 40 != packet.size()) return "payload length";
  const auto behind_ip = packet.subspan(transport);
  if (protocol == 17 && get16(behind_ip, 4) != behind_ip.size()) return "UDP length";
  if (protocol == 17 && get16(behind_ip, 6) == 0) return "no UDP checksum";
  const uint16_t sum = plain_sum(behind_ip, pseudo_sum(packet, transport, protocol));
  return sum == 0xffff ? "" : "checksum";
}

std::vector<ByteVector> split_all(const Joined& joined) {
  std::vector<ByteVector> pieces;
  auto splitter = Splitter::make(joined.packet, joined.offload);
  if (!splitter) return pieces;
  while (splitter->pieces_left() > 0) {
    ByteVector piece(splitter->piece_bytes_max());
    piece.resize(splitter->next(piece));
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace cw::test
