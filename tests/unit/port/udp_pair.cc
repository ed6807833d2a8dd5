#include "tests/unit/port/udp_pair.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cw::test {
namespace {

bool is_free(uint16_t number) {
  const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(number);
  const bool is_bound = bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
  close(fd);
  return is_bound;
}

}  // namespace

// Tests run side by side: each process looks in a place of its own.
uint16_t free_udp_ports(uint16_t count) {
  static uint16_t next = static_cast<uint16_t>(20000 + getpid() % 500 * 20);
  for (uint16_t free_count = 0; free_count < count;) {
    if (next > 31000) next = 20000;
    free_count = is_free(next++) ? static_cast<uint16_t>(free_count + 1) : uint16_t{0};
  }
  return static_cast<uint16_t>(next - count);
}

UdpPair::UdpPair(const char* address, const Change& change) {
  a_port = free_udp_ports(4);
  b_port = free_udp_ports(4);
  UdpPortOptions a_options = udp_options(a_port, b_port, address);
  UdpPortOptions b_options = udp_options(b_port, a_port, address);
  change(a_options), change(b_options);
  auto a_made = UdpPort::make(a_options), b_made = UdpPort::make(b_options);
  if (!a_made) throw std::runtime_error(a_made.error().sentence);
  if (!b_made) throw std::runtime_error(b_made.error().sentence);
  a = std::move(*a_made), b = std::move(*b_made);
}

Packet* make_packet(Port& port, size_t payload_bytes, uint8_t seed) {
  Packet* packet = nullptr;
  if (port.take_burst({&packet, 1}) != 1) return nullptr;
  std::vector<uint8_t> payload(payload_bytes);
  for (size_t i = 0; i < payload_bytes; ++i) payload[i] = static_cast<uint8_t>(seed + i);
  Transport transport;
  transport.opcode = opcode_uc_write_only_immediate;
  transport.rdma = RdmaTarget{.bytes = static_cast<uint32_t>(payload_bytes)};
  transport.immediate = seed;
  transport.payload = payload;
  const size_t header_bytes =
      encode_transport_headers(transport, {packet->data, packet->bytes_max});
  const size_t pad = pad_bytes_for(payload_bytes);
  std::copy(payload.begin(), payload.end(), packet->data + header_bytes);
  std::memset(packet->data + header_bytes + payload_bytes, 0, pad);
  packet->bytes = static_cast<uint32_t>(header_bytes + payload_bytes + pad);
  return packet;
}

bool is_made_packet(const Packet& packet, size_t payload_bytes, uint8_t seed) {
  const auto transport = parse_transport({packet.data, packet.bytes});
  if (!transport || transport->immediate != seed || transport->payload.size() != payload_bytes) {
    return false;
  }
  for (size_t i = 0; i < payload_bytes; ++i) {
    if (transport->payload[i] != static_cast<uint8_t>(seed + i)) return false;
  }
  return true;
}

std::vector<Packet*> receive(Port& port, size_t count) {
  std::vector<Packet*> all;
  std::array<Packet*, limits::burst_packets_max> burst;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (all.size() < count && std::chrono::steady_clock::now() < deadline) {
    const size_t got = port.rx_burst(burst, Instant());
    all.insert(all.end(), burst.begin(), burst.begin() + static_cast<ptrdiff_t>(got));
    if (got > 0) continue;
    pollfd ready{port.facts().wait_fd, POLLIN, 0};
    poll(&ready, 1, 10);
  }
  return all;
}

}  // namespace cw::test
