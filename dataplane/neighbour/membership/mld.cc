#include <algorithm>

#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/neighbour/membership/group_message.h"
#include "dataplane/wire/outer/checksum.h"

namespace cw::mld {
namespace {

using namespace ip_layout;

constexpr size_t ip_offset = lan_frame::header_bytes, options_bytes = 8;
constexpr size_t message_offset = v6::bytes + options_bytes;  // of what we say
constexpr size_t query_bytes = 24, newest_query_bytes = 28, report_header_bytes = 8,
                 record_bytes = 20;
constexpr uint8_t kind_query = 130, kind_report_v1 = 131, kind_done_v1 = 132, kind_report_v2 = 143;
constexpr uint8_t protocol_icmpv6 = 58, every_hop = 0;
constexpr HostAddress all_routers = {{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
                                     IpVersion::V6},
                      all_v2_routers = {{0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x16},
                                        IpVersion::V6};

/// fe80::/64 and the MAC (RFC 4291, appendix A): nobody reads a report from elsewhere.
IpAddress link_address(const MacAddress& mac) {
  return {0xfe,   0x80,   0,    0,    0,      0,      0,     0, static_cast<uint8_t>(mac[0] ^ 2),
          mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
}

bool is_of_link(const uint8_t* ip) { return ip[0] == 0xfe && (ip[1] & 0xc0) == 0x80; }

uint16_t sum_of_message(std::span<const uint8_t> ip, std::span<const uint8_t> message) {
  const auto addresses = ip.subspan(v6::addresses, v6::addresses_bytes);
  return add_sums(pseudo_header_sum(addresses, protocol_icmpv6, message.size()), sum_of(message));
}

/// Around `bytes` of a message that lies where it belongs in `out`.
size_t finish(const NeighbourSelf& self, const HostAddress& target, size_t bytes,
              std::span<uint8_t> out) {
  const MacAddress mac = mac_of_group(target);
  std::ranges::copy(mac, out.begin() + lan_frame::target_offset);
  std::ranges::copy(self.mac, out.begin() + lan_frame::source_offset);
  store16(&out[lan_frame::type_offset], lan_frame::type_ipv6);
  const std::span<uint8_t> ip = out.subspan(ip_offset, message_offset + bytes);
  constexpr uint32_t router_alert = 0x05020000;
  ip[0] = 0x60;
  store16(&ip[v6::payload_length], options_bytes + bytes);
  ip[v6::next_header] = every_hop;
  ip[v6::next_header + 1] = 1;  // hop limit
  std::ranges::copy(link_address(self.mac), &ip[v6::addresses]);
  std::ranges::copy(target.ip, &ip[v6::addresses + target.ip.size()]);
  ip[v6::bytes] = protocol_icmpv6;
  store32(&ip[v6::bytes + 2], router_alert);
  ip[v6::bytes + 6] = 1;  // two bytes of padding
  const auto message = ip.subspan(message_offset);
  store16(&message[2], static_cast<uint16_t>(~sum_of_message(ip, message)));
  return ip_offset + ip.size();
}

std::span<uint8_t> message_in(std::span<uint8_t> out) {
  std::ranges::fill(out, uint8_t{0});
  return out.subspan(ip_offset + message_offset);
}

}  // namespace

std::optional<GroupQuery> parse(std::span<const uint8_t> frame) {
  const auto ip = frame.subspan(ip_offset);
  if (ip.size() < message_offset + query_bytes || ip[0] >> 4 != 6) return std::nullopt;
  const size_t behind = load<be16>(&ip[v6::payload_length]);
  const size_t options = (size_t{ip[v6::bytes + 1]} + 1) * 8;
  if (behind > ip.size() - v6::bytes || behind < options + query_bytes ||
      ip[v6::next_header + 1] != 1 || !is_of_link(&ip[v6::addresses]) ||
      ip[v6::bytes] != protocol_icmpv6) {
    return std::nullopt;
  }
  const auto message = ip.subspan(v6::bytes + options, behind - options);
  if (sum_of_message(ip, message) != 0xffff || message[0] != kind_query || message[1] != 0) {
    return std::nullopt;
  }
  const HostAddress group = {ipv6_at(&message[8]), IpVersion::V6};
  if (!is_unspecified(group.ip) && !is_group(group)) return std::nullopt;
  const bool is_newest = message.size() >= newest_query_bytes;
  const uint32_t code = load<be16>(&message[4]);
  return GroupQuery{
      .group = group,
      .within = Duration::from_ms(1) * (is_newest ? group_message::time_of(code, 12) : code),
      .is_newest = is_newest};
}

size_t encode(const NeighbourSelf& self, std::span<const GroupRecord> records,
              std::span<uint8_t> out) {
  const auto message = message_in(out);
  message[0] = kind_report_v2;
  store16(&message[6], records.size());
  size_t at = report_header_bytes;
  for (const GroupRecord& each : records) {
    message[at] = group_message::number_of(each.word);
    std::ranges::copy(each.group.ip, &message[at + 4]);
    at += record_bytes;
  }
  return finish(self, all_v2_routers, at, out);
}

size_t encode_older(const NeighbourSelf& self, const GroupRecord& record, std::span<uint8_t> out) {
  const bool leaves = record.word == GroupWord::Leaves;
  const auto message = message_in(out);
  message[0] = leaves ? kind_done_v1 : kind_report_v1;
  std::ranges::copy(record.group.ip, &message[8]);
  return finish(self, leaves ? all_routers : record.group, query_bytes, out);
}

}  // namespace cw::mld
