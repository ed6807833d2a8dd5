#include "tests/unit/port/made_packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dataplane/wire/roce.h"

namespace cw::test {

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
  std::ranges::copy(payload, packet->data + header_bytes);
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

namespace {

/// Takes all that the port will lend, and gives it back.
size_t free_count(Port& port) {
  std::vector<Packet*> packets;
  Packet* packet = nullptr;
  while (port.take_burst({&packet, 1}) == 1) packets.push_back(packet);
  port.give_back(packets);
  return packets.size();
}

}  // namespace

void expect_kept_and_given_back(Port& port, const std::function<void(Packet&)>& send) {
  const size_t before = free_count(port);
  Packet* packet = make_packet(port, 1400, 7);
  ASSERT_NE(packet, nullptr);
  packet->slot = packet->data;
  const uint32_t bytes = packet->bytes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(port.is_shared(*packet)) << "it has left, and is ours alone";
    packet->data = packet->slot;
    packet->bytes = bytes;
    port.share({&packet, 1});
    EXPECT_TRUE(port.is_shared(*packet));
    send(*packet);
    EXPECT_LT(free_count(port), before);
  }
  port.share({&packet, 1});
  port.give_back({&packet, 1});  // unsent, by one of its owners
  EXPECT_FALSE(port.is_shared(*packet));
  EXPECT_LT(free_count(port), before);
  port.give_back({&packet, 1});
  EXPECT_EQ(free_count(port), before);
}

}  // namespace cw::test
