#include "dataplane/neighbour/membership/group_message.h"

#include "dataplane/base/assert.h"
#include "dataplane/neighbour/lan_frame.h"

namespace cw {
namespace {

constexpr uint8_t protocol_igmp = 2, every_hop = 0;

bool is_ipv4(std::span<const uint8_t> frame) {
  return lan_frame::type_of(frame) == lan_frame::type_ipv4;
}

}  // namespace

bool is_group(const HostAddress& address) {
  return address.is_v4() ? address.ip[0] >= 224 && address.ip[0] < 240 : address.ip[0] == 0xff;
}

MacAddress mac_of_group(const HostAddress& group) {
  const IpAddress& ip = group.ip;
  if (!group.is_v4()) return {0x33, 0x33, ip[12], ip[13], ip[14], ip[15]};
  return {0x01, 0x00, 0x5e, static_cast<uint8_t>(ip[1] & 0x7f), ip[2], ip[3]};
}

bool may_be_group_query(std::span<const uint8_t> frame) {
  using namespace ip_layout;
  constexpr size_t ip = lan_frame::header_bytes;
  if (frame.size() < ip + v4::bytes) return false;
  if (is_ipv4(frame)) return frame[ip + v4::protocol] == protocol_igmp;
  return lan_frame::type_of(frame) == lan_frame::type_ipv6 &&
         frame[ip + v6::next_header] == every_hop;
}

std::optional<GroupQuery> parse_group_query(std::span<const uint8_t> frame) {
  if (!may_be_group_query(frame)) return std::nullopt;
  return is_ipv4(frame) ? igmp::parse(frame) : mld::parse(frame);
}

size_t encode_group_report(const NeighbourSelf& self, std::span<const GroupRecord> records,
                           std::span<uint8_t> out) {
  CW_ASSERT(out.size() >= group_message_bytes_max);
  CW_ASSERT(!records.empty() && records.size() <= limits::groups_max);
  const bool is_v4 = records.front().group.is_v4();
  return is_v4 ? igmp::encode(self, records, out) : mld::encode(self, records, out);
}

size_t encode_older_group_report(const NeighbourSelf& self, const GroupRecord& record,
                                 std::span<uint8_t> out) {
  CW_ASSERT(out.size() >= group_message_bytes_max);
  return record.group.is_v4() ? igmp::encode_older(self, record, out)
                              : mld::encode_older(self, record, out);
}

namespace group_message {

uint8_t number_of(GroupWord word) {
  constexpr uint8_t excludes_nobody = 2, to_include_nobody = 3, to_exclude_nobody = 4;
  if (word == GroupWord::IsMember) return excludes_nobody;
  return word == GroupWord::Joins ? to_exclude_nobody : to_include_nobody;
}

uint32_t time_of(uint32_t code, unsigned bits) {
  const uint32_t top = 1u << bits;
  if (code < top << 3) return code;
  return (top | (code & (top - 1))) << ((code >> bits & 7) + 3);
}

}  // namespace group_message

}  // namespace cw
