#include "dataplane/neighbour/neighbour_message.h"

#include "dataplane/base/assert.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw {
namespace {

constexpr size_t type_offset = 12, ip_offset = 14;
constexpr uint16_t type_arp = 0x0806, type_ipv6 = 0x86dd;
constexpr uint8_t protocol_icmpv6 = 58;

}  // namespace

bool may_be_neighbour_message(std::span<const uint8_t> frame) {
  if (frame.size() < ip_offset) return false;
  const uint16_t type = ip_layout::load<be16>(&frame[type_offset]);
  if (type == type_arp) return true;
  return type == type_ipv6 && frame.size() >= ip_offset + ip_layout::v6::bytes &&
         frame[ip_offset + ip_layout::v6::next_header] == protocol_icmpv6;
}

std::optional<NeighbourMessage> parse_neighbour_message(std::span<const uint8_t> frame) {
  if (!may_be_neighbour_message(frame)) return std::nullopt;
  const bool is_arp = ip_layout::load<be16>(&frame[type_offset]) == type_arp;
  return is_arp ? arp::parse(frame) : nd::parse(frame);
}

size_t encode_neighbour_question(const NeighbourSelf& self, const HostAddress& target,
                                 std::span<uint8_t> out) {
  CW_ASSERT(out.size() >= neighbour_message_bytes_max && self.ip.version == target.version);
  if (!target.is_v4()) return nd::encode_question(self, target, out);
  return arp::encode(true, self, {.is_question = true, .sender = target}, out);
}

size_t encode_neighbour_answer(const NeighbourSelf& self, const NeighbourMessage& question,
                               std::span<uint8_t> out) {
  CW_ASSERT(out.size() >= neighbour_message_bytes_max && self.ip == question.target);
  if (!self.ip.is_v4()) return nd::encode_answer(self, question, out);
  return arp::encode(false, self, question, out);
}

}  // namespace cw
