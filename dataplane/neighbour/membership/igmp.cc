#include <algorithm>

#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/neighbour/membership/group_message.h"
#include "dataplane/wire/outer/checksum.h"

namespace cw::igmp {
namespace {

using namespace ip_layout;

constexpr size_t ip_offset = lan_frame::header_bytes;
constexpr size_t report_header_bytes = v4::bytes + 4, message_bytes = 8, newest_query_bytes = 12;
constexpr size_t report_record_bytes = 8;
constexpr uint8_t kind_query = 0x11, kind_report_v2 = 0x16, kind_leave_v2 = 0x17,
                  kind_report_v3 = 0x22;
constexpr uint8_t protocol = 2, internetwork_control = 0xc0;
constexpr HostAddress all_routers = {{224, 0, 0, 2}}, all_v3_routers = {{224, 0, 0, 22}};
constexpr Duration unit = Duration::from_ms(100);
constexpr uint32_t within_v1 = 100;  // whose queries do not say

/// Around `bytes` of a message that lies where it belongs in `out`.
size_t finish(const NeighbourSelf& self, const HostAddress& target, size_t bytes,
              std::span<uint8_t> out) {
  const MacAddress mac = mac_of_group(target);
  std::ranges::copy(mac, out.begin() + lan_frame::target_offset);
  std::ranges::copy(self.mac, out.begin() + lan_frame::source_offset);
  store16(&out[lan_frame::type_offset], lan_frame::type_ipv4);
  const std::span<uint8_t> ip = out.subspan(ip_offset, report_header_bytes + bytes);
  constexpr uint32_t router_alert = 0x94040000;
  ip[0] = 0x40 | report_header_bytes / 4;
  ip[v4::tos] = internetwork_control;
  store16(&ip[v4::total_length], ip.size());
  ip[v4::ttl] = 1;
  ip[v4::protocol] = protocol;
  std::copy_n(self.ip.ip.begin(), 4, &ip[v4::addresses]);
  std::copy_n(target.ip.begin(), 4, &ip[v4::addresses + 4]);
  store32(&ip[v4::bytes], router_alert);
  store16(&ip[v4::checksum], static_cast<uint16_t>(~sum_of(ip.first(report_header_bytes))));
  const auto message = ip.subspan(report_header_bytes);
  store16(&message[2], static_cast<uint16_t>(~sum_of(message)));
  return std::max(ip_offset + ip.size(), ethernet_bytes_min);
}

std::span<uint8_t> message_in(std::span<uint8_t> out) {
  std::ranges::fill(out, uint8_t{0});
  return out.subspan(ip_offset + report_header_bytes);
}

}  // namespace

std::optional<GroupQuery> parse(std::span<const uint8_t> frame) {
  const auto ip = frame.subspan(ip_offset);
  const size_t header = size_t{ip[0]} % 16 * 4, total = load<be16>(&ip[v4::total_length]);
  if (ip[0] >> 4 != 4 || header < v4::bytes || total > ip.size() ||
      total < header + message_bytes || ip[v4::ttl] != 1) {
    return std::nullopt;
  }
  const auto message = ip.subspan(header, total - header);
  if (sum_of(ip.first(header)) != 0xffff || sum_of(message) != 0xffff || message[0] != kind_query) {
    return std::nullopt;
  }
  const HostAddress group = {ipv4_at(&message[4])};
  if (!is_unspecified(group.ip) && !is_group(group)) return std::nullopt;
  const bool is_newest = message.size() >= newest_query_bytes;
  const uint32_t within = is_newest         ? group_message::time_of(message[1], 4)
                          : message[1] == 0 ? within_v1
                                            : message[1];
  return GroupQuery{.group = group, .within = unit * within, .is_newest = is_newest};
}

size_t encode(const NeighbourSelf& self, std::span<const GroupRecord> records,
              std::span<uint8_t> out) {
  const auto message = message_in(out);
  message[0] = kind_report_v3;
  store16(&message[6], records.size());
  size_t at = message_bytes;
  for (const GroupRecord& each : records) {
    message[at] = group_message::number_of(each.word);
    std::copy_n(each.group.ip.begin(), 4, &message[at + 4]);
    at += report_record_bytes;
  }
  return finish(self, all_v3_routers, at, out);
}

size_t encode_older(const NeighbourSelf& self, const GroupRecord& record, std::span<uint8_t> out) {
  const bool leaves = record.word == GroupWord::Leaves;
  const auto message = message_in(out);
  message[0] = leaves ? kind_leave_v2 : kind_report_v2;
  std::copy_n(record.group.ip.begin(), 4, &message[4]);
  return finish(self, leaves ? all_routers : record.group, message_bytes, out);
}

}  // namespace cw::igmp
