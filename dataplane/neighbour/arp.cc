#include <algorithm>
#include <cstring>

#include "dataplane/base/endian.h"
#include "dataplane/neighbour/neighbour_message.h"

namespace cw::arp {
namespace {

struct Frame {
  MacAddress target, source;
  be16 type;
  be16 hardware, protocol;
  uint8_t mac_bytes, ip_bytes;
  be16 operation;
  MacAddress sender_mac;
  uint8_t sender_ip[4];
  MacAddress target_mac;
  uint8_t target_ip[4];
};
static_assert(sizeof(Frame) == 42 && sizeof(Frame) <= neighbour_message_bytes_max);

constexpr uint16_t type_arp = 0x0806, hardware_ethernet = 1, protocol_ipv4 = 0x0800;
constexpr uint16_t operation_request = 1, operation_reply = 2;
constexpr MacAddress broadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

HostAddress host_at(const uint8_t (&ip)[4]) {
  HostAddress host;
  std::copy_n(ip, 4, host.ip.begin());
  return host;
}

}  // namespace

std::optional<NeighbourMessage> parse(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(Frame)) return std::nullopt;
  Frame frame;
  std::memcpy(&frame, bytes.data(), sizeof frame);
  const uint16_t operation = frame.operation.host();
  if (frame.type != be16(type_arp) || frame.hardware != be16(hardware_ethernet) ||
      frame.protocol != be16(protocol_ipv4) || frame.mac_bytes != 6 || frame.ip_bytes != 4 ||
      (operation != operation_request && operation != operation_reply) ||
      (frame.sender_mac[0] & 1) != 0) {
    return std::nullopt;
  }
  return NeighbourMessage{.is_question = operation == operation_request,
                          .sender = host_at(frame.sender_ip),
                          .sender_mac = frame.sender_mac,
                          .target = host_at(frame.target_ip)};
}

size_t encode(bool is_question, const NeighbourSelf& self, const NeighbourMessage& other,
              std::span<uint8_t> out) {
  Frame frame{};
  frame.target = is_question ? broadcast : other.sender_mac;
  frame.source = self.mac;
  frame.type = be16(type_arp);
  frame.hardware = be16(hardware_ethernet);
  frame.protocol = be16(protocol_ipv4);
  frame.mac_bytes = 6;
  frame.ip_bytes = 4;
  frame.operation = be16(is_question ? operation_request : operation_reply);
  frame.sender_mac = self.mac;
  std::copy_n(self.ip.ip.begin(), 4, frame.sender_ip);
  frame.target_mac = other.sender_mac;
  std::copy_n(other.sender.ip.begin(), 4, frame.target_ip);
  std::memset(out.data(), 0, ethernet_bytes_min);
  std::memcpy(out.data(), &frame, sizeof frame);
  return ethernet_bytes_min;
}

}  // namespace cw::arp
