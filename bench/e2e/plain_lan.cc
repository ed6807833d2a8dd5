#include "bench/e2e/plain_lan.h"

#include <algorithm>

namespace cw::bench {
namespace {

constexpr uint32_t link_bytes = 14;

/// To everybody: an IP packet says itself whom it is for.
void put_link_header(Packet& packet) {
  packet.data -= link_bytes;
  packet.bytes += link_bytes;
  std::fill_n(packet.data, 6, uint8_t{0xff});
  std::copy_n("\x02\0\0\0\0\1", 6, packet.data + 6);
  const bool is_v6 = packet.data[link_bytes] >> 4 == 6;
  packet.data[12] = is_v6 ? 0x86 : 0x08;
  packet.data[13] = is_v6 ? 0xdd : 0x00;
}

}  // namespace

Result<std::unique_ptr<PlainLan>> PlainLan::make(const std::string& device, uint32_t mtu) {
  auto made = DpdkDevice::make({.device = device, .ip_bytes_max = mtu, .packet_bytes = mtu});
  if (!made) return std::unexpected(std::move(made.error()));
  std::unique_ptr<PlainLan> lan(new PlainLan(std::move(*made)));
  lan->facts_ = {.name = "plain", .payload_max = mtu, .icrc = IcrcMode::None};
  return lan;
}

size_t PlainLan::rx_burst(std::span<Packet*> out, Instant now) {
  const size_t arrived = device_->rx_burst(out);
  size_t count = 0;
  for (size_t i = 0; i < arrived; ++i) {
    Packet* const packet = out[i];
    if (packet->bytes <= link_bytes || (packet->data[12] != 0x08 && packet->data[12] != 0x86)) {
      ++counters_.rx_malformed;
      device_->give_back({&packet, 1});
      continue;
    }
    packet->data += link_bytes;
    packet->bytes -= link_bytes;
    packet->at = now;
    out[count++] = packet;
  }
  counters_.rx_packets += count;
  return count;
}

size_t PlainLan::tx_burst(std::span<Packet* const> packets, Instant) {
  for (Packet* packet : packets) put_link_header(*packet);
  const size_t sent = device_->tx_burst(packets);
  for (Packet* packet : packets.subspan(sent)) {
    packet->data += link_bytes;
    packet->bytes -= link_bytes;
  }
  counters_.tx_packets += sent;
  counters_.tx_refused += packets.size() - sent;
  return sent;
}

}  // namespace cw::bench
