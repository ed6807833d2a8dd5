// A frame of a LAN, read as a router's question about multicast groups, and what a port says to it.
// The checksums are made right first, or nothing behind them would ever be read.
#include <algorithm>
#include <vector>

#include "dataplane/base/assert.h"
#include "dataplane/neighbour/lan_frame.h"
#include "dataplane/neighbour/membership/membership.h"
#include "dataplane/wire/outer/checksum.h"

namespace {
using namespace cw;
using namespace cw::ip_layout;
using ByteVector = std::vector<uint8_t>;

constexpr MacAddress own_mac = {2, 0, 0, 0, 0, 1};
constexpr size_t ip_offset = lan_frame::header_bytes;

void mend(std::span<uint8_t> field, uint16_t sum_around) {
  store16(field.data(), static_cast<uint16_t>(~sum_around));
}

void mend_v4(std::span<uint8_t> ip) {
  const size_t header = size_t{ip[0]} % 16 * 4, total = load<be16>(&ip[v4::total_length]);
  if (header < v4::bytes || total > ip.size() || total < header + 4) return;
  store16(&ip[v4::checksum], 0);
  mend(ip.subspan(v4::checksum), sum_of(ip.first(header)));
  const auto message = ip.subspan(header, total - header);
  store16(&message[2], 0);
  mend(message.subspan(2), sum_of(message));
}

void mend_v6(std::span<uint8_t> ip) {
  if (ip.size() < v6::bytes + 8) return;
  const size_t behind = load<be16>(&ip[v6::payload_length]);
  const size_t options = (size_t{ip[v6::bytes + 1]} + 1) * 8;
  if (behind > ip.size() - v6::bytes || behind < options + 4) return;
  const auto message = ip.subspan(v6::bytes + options, behind - options);
  store16(&message[2], 0);
  const uint16_t pseudo =
      pseudo_header_sum(ip.subspan(v6::addresses, v6::addresses_bytes), 58, message.size());
  mend(message.subspan(2), add_sums(sum_of(message), pseudo));
}

/// What is said is sound, fits, and is no question.
void check_said(std::span<const uint8_t> frame) {
  CW_ASSERT(frame.size() >= ethernet_bytes_min && may_be_group_query(frame));
  CW_ASSERT(!parse_group_query(frame));
  const auto ends = lan_frame::ends_of(frame.subspan(ip_offset));
  CW_ASSERT(ends && is_group(ends->target) && ends->bytes <= frame.size() - ip_offset);
}

void run(const GroupQuery& query) {
  static Membership membership({{{239, 1, 2, 3}}, {{0xff, 5}, IpVersion::V6}},
                               {{{10, 1, 0, 1}}, own_mac}, {{{}, IpVersion::V6}, own_mac}, 1);
  static Instant now;
  membership.hear(query, now);
  now += Membership::pace / 2;
  ByteVector frame(group_message_bytes_max);
  const size_t first = membership.next_report(now, frame);
  if (first == 0) return;
  check_said(std::span(frame).first(first));
  CW_ASSERT(membership.next_report(now, frame) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteVector frame(data, data + size);
  (void)parse_group_query(frame);
  if (size < ip_offset + v4::bytes) return 0;
  const auto ip = std::span(frame).subspan(ip_offset);
  lan_frame::type_of(frame) == lan_frame::type_ipv4 ? mend_v4(ip) : mend_v6(ip);
  if (const auto query = parse_group_query(frame)) run(*query);
  return 0;
}
