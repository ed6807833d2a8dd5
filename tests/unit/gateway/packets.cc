#include "tests/unit/gateway/packets.h"

#include <algorithm>

namespace cw::gateway::test {
namespace {

void put16(ByteVector& bytes, size_t at, size_t value) {
  bytes[at] = static_cast<uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<uint8_t>(value);
}

ByteVector make_v4(const Shape& shape) {
  const size_t header = 20 + size_t{shape.option_words} * 4;
  ByteVector bytes(header, 1);  // options of one byte that say nothing
  bytes[0] = static_cast<uint8_t>(0x40 | header / 4);
  bytes[1] = static_cast<uint8_t>(shape.dscp << 2 | shape.ecn);
  put16(bytes, 2, header + shape.payload.size());
  put16(bytes, 4, 0x1234);
  put16(bytes, 6, shape.fragment_offset | (shape.more_fragments ? 0x2000 : 0));
  bytes[8] = shape.ttl;
  bytes[9] = shape.protocol;
  put16(bytes, 10, 0);
  std::copy_n(shape.source.begin(), 4, bytes.begin() + 12);
  std::copy_n(shape.target.begin(), 4, bytes.begin() + 16);
  put16(bytes, 10, static_cast<uint16_t>(~plain_sum(bytes)));
  return bytes;
}

ByteVector extension_of(uint8_t type, uint8_t next, const Shape& shape) {
  if (type == 44) {
    ByteVector bytes = {next, 0, 0, 0, 0, 0, 0, 7};
    put16(bytes, 2, static_cast<size_t>(shape.fragment_offset << 3 | shape.more_fragments));
    return bytes;
  }
  if (type == 51) {
    ByteVector bytes(16);
    bytes[0] = next;
    bytes[1] = 2;  // in words, less two
    return bytes;
  }
  ByteVector bytes(16);
  bytes[0] = next;
  bytes[1] = 1;  // in units of eight bytes, less one
  return bytes;
}

ByteVector make_v6(const Shape& shape) {
  ByteVector bytes(40);
  put16(bytes, 0, static_cast<size_t>(6 << 12 | shape.dscp << 6 | shape.ecn << 4 | 0x5));
  put16(bytes, 2, 0x4321);
  bytes[7] = shape.ttl;
  std::ranges::copy(shape.source, bytes.begin() + 8);
  std::ranges::copy(shape.target, bytes.begin() + 24);
  const auto& types = shape.extensions;
  bytes[6] = types.empty() ? shape.protocol : types.front();
  for (size_t i = 0; i < types.size(); ++i) {
    const uint8_t next = i + 1 < types.size() ? types[i + 1] : shape.protocol;
    const ByteVector extension = extension_of(types[i], next, shape);
    bytes.insert(bytes.end(), extension.begin(), extension.end());
  }
  put16(bytes, 4, bytes.size() - 40 + shape.payload.size());
  return bytes;
}

}  // namespace

ByteVector make_packet(const Shape& shape) {
  ByteVector bytes = shape.is_v6 ? make_v6(shape) : make_v4(shape);
  bytes.insert(bytes.end(), shape.payload.begin(), shape.payload.end());
  bytes.insert(bytes.end(), shape.padding, 0xee);
  return bytes;
}

Address v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) { return {a, b, c, d}; }

Address v6(std::vector<uint16_t> first_groups, uint16_t last) {
  first_groups.resize(8);
  first_groups[7] |= last;
  Address address{};
  for (size_t i = 0; i < 8; ++i) {
    address[2 * i] = static_cast<uint8_t>(first_groups[i] >> 8);
    address[2 * i + 1] = static_cast<uint8_t>(first_groups[i]);
  }
  return address;
}

Prefix prefix(const Address& address, uint8_t bits, bool is_v6) { return {address, bits, is_v6}; }

ByteVector ports(uint16_t source, uint16_t target, size_t bytes) {
  ByteVector payload(bytes);
  put16(payload, 0, source);
  put16(payload, 2, target);
  return payload;
}

ByteVector roce(uint8_t opcode, uint32_t qp, uint16_t source_port, size_t more) {
  ByteVector payload = ports(source_port, 4791, 8 + 12 + more);
  put16(payload, 4, payload.size());
  payload[8] = opcode;
  payload[8 + 5] = static_cast<uint8_t>(qp >> 16);
  put16(payload, 8 + 6, qp & 0xffff);
  return payload;
}

Shape any_shape(Prng& prng, size_t payload_max) {
  Shape shape;
  const auto byte = [&prng] { return static_cast<uint8_t>(prng.next()); };
  shape.is_v6 = prng.chance(0.5);
  // Few different bytes, so that rules and packets meet.
  for (uint8_t& part : shape.source) part = static_cast<uint8_t>(prng.below(3));
  for (uint8_t& part : shape.target) part = static_cast<uint8_t>(prng.below(3));
  constexpr uint8_t protocols[] = {tcp, udp, udp, icmp, icmpv6, 50, 89};
  shape.protocol = protocols[prng.below(std::size(protocols))];
  shape.dscp = byte() & 63;
  shape.ecn = byte() & 3;
  shape.ttl = byte();
  const auto port = [&prng] { return static_cast<uint16_t>(prng.below(6)); };
  shape.payload = ports(port(), port(), 4 + prng.below(payload_max - 3));
  if (shape.protocol == udp && prng.chance(0.5)) {
    shape.payload = roce(byte(), static_cast<uint32_t>(prng.below(4)));
  }
  shape.option_words = static_cast<uint8_t>(prng.below(11));
  constexpr uint8_t types[] = {0, 43, 60, 51, 135, 139, 140};
  for (size_t count = prng.below(4); count > 0; --count) {
    shape.extensions.push_back(types[prng.below(std::size(types))]);
  }
  if (prng.chance(0.2)) {
    shape.extensions.push_back(44);
    shape.fragment_offset = static_cast<uint16_t>(prng.below(3));
    shape.more_fragments = prng.chance(0.5);
  }
  shape.padding = prng.below(3) * 7;
  return shape;
}

uint16_t plain_sum(std::span<const uint8_t> bytes, uint32_t start) {
  uint32_t sum = start;
  for (size_t i = 0; i < bytes.size(); ++i) sum += i % 2 == 0 ? bytes[i] << 8 : bytes[i];
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

}  // namespace cw::gateway::test
