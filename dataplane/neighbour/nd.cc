#include <algorithm>
#include <cstring>

#include "dataplane/base/endian.h"
#include "dataplane/neighbour/neighbour_message.h"
#include "dataplane/wire/outer/checksum.h"
#include "dataplane/wire/outer/ip_layout.h"

namespace cw::nd {
namespace {

struct Frame {
  MacAddress target, source;
  be16 type;
  be32 version;
  be16 payload_bytes;
  uint8_t next_header, hop_limit;
  IpAddress source_ip, target_ip;
  uint8_t kind, code;
  be16 checksum;
  be32 flags;
  IpAddress about;
  uint8_t option, option_words;  // a link-layer address
  MacAddress link;
};
static_assert(sizeof(Frame) == neighbour_message_bytes_max);

constexpr size_t ip_offset = 14, icmp_offset = ip_offset + ip_layout::v6::bytes;
constexpr size_t icmp_bytes_min = 24, icmp_bytes = sizeof(Frame) - icmp_offset;
constexpr uint8_t kind_solicitation = 135, kind_advertisement = 136;
constexpr uint8_t option_source_link = 1, option_target_link = 2;
constexpr uint8_t protocol_icmpv6 = 58;
constexpr uint8_t hop_limit_of_neighbours = 255;  // no router lets it through undiminished
constexpr uint32_t is_solicited = 0x40000000, is_override = 0x20000000;

/// ff02::1:ff00:0/104 and the last three bytes of the address.
IpAddress solicited_group(const IpAddress& ip) {
  IpAddress group = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  std::copy_n(ip.begin() + 13, 3, group.begin() + 13);
  return group;
}

MacAddress mac_of_group(const IpAddress& group) {
  return {0x33, 0x33, group[12], group[13], group[14], group[15]};
}

/// The link-layer address among the options, which must fit their lengths; nothing: none or wrong.
std::optional<MacAddress> link_option(std::span<const uint8_t> options, uint8_t wanted) {
  while (options.size() >= 8) {
    const size_t bytes = size_t{options[1]} * 8;
    if (bytes == 0 || bytes > options.size()) return std::nullopt;
    if (options[0] == wanted) {
      MacAddress mac;
      std::copy_n(options.begin() + 2, mac.size(), mac.begin());
      return (mac[0] & 1) == 0 ? std::optional(mac) : std::nullopt;
    }
    options = options.subspan(bytes);
  }
  return std::nullopt;
}

uint16_t icmp_sum(std::span<const uint8_t> frame, size_t bytes) {
  const auto addresses =
      frame.subspan(ip_offset + ip_layout::v6::addresses, ip_layout::v6::addresses_bytes);
  return add_sums(pseudo_header_sum(addresses, protocol_icmpv6, bytes),
                  sum_of(frame.subspan(icmp_offset, bytes)));
}

size_t write(Frame frame, std::span<uint8_t> out) {
  frame.type = be16(0x86dd);
  frame.version = be32(6u << 28);
  frame.payload_bytes = be16(icmp_bytes);
  frame.next_header = protocol_icmpv6;
  frame.hop_limit = hop_limit_of_neighbours;
  frame.option_words = 1;
  std::memcpy(out.data(), &frame, sizeof frame);
  ip_layout::store16(&out[icmp_offset + 2], static_cast<uint16_t>(~icmp_sum(out, icmp_bytes)));
  return sizeof frame;
}

}  // namespace

std::optional<NeighbourMessage> parse(std::span<const uint8_t> bytes) {
  if (bytes.size() < icmp_offset + icmp_bytes_min) return std::nullopt;
  const size_t length = ip_layout::load<be16>(&bytes[ip_offset + ip_layout::v6::payload_length]);
  if (length < icmp_bytes_min || length > bytes.size() - icmp_offset) return std::nullopt;
  Frame frame{};
  std::memcpy(&frame, bytes.data(), icmp_offset + icmp_bytes_min);
  const bool is_question = frame.kind == kind_solicitation;
  if ((!is_question && frame.kind != kind_advertisement) || frame.code != 0 ||
      frame.next_header != protocol_icmpv6 || frame.hop_limit != hop_limit_of_neighbours ||
      frame.about[0] == 0xff || icmp_sum(bytes, length) != 0xffff) {
    return std::nullopt;
  }
  const auto options = bytes.subspan(icmp_offset + icmp_bytes_min, length - icmp_bytes_min);
  const auto link = link_option(options, is_question ? option_source_link : option_target_link);
  const MacAddress& mac = link ? *link : frame.source;
  if ((mac[0] & 1) != 0) return std::nullopt;
  const IpAddress& speaker = is_question ? frame.source_ip : frame.about;
  return NeighbourMessage{.is_question = is_question,
                          .sender = {speaker, IpVersion::V6},
                          .sender_mac = mac,
                          .target = {frame.about, IpVersion::V6}};
}

size_t encode_question(const NeighbourSelf& self, const HostAddress& target,
                       std::span<uint8_t> out) {
  Frame frame{};
  frame.target_ip = solicited_group(target.ip);
  frame.target = mac_of_group(frame.target_ip);
  frame.source = self.mac;
  frame.source_ip = self.ip.ip;
  frame.kind = kind_solicitation;
  frame.about = target.ip;
  frame.option = option_source_link;
  frame.link = self.mac;
  return write(frame, out);
}

size_t encode_answer(const NeighbourSelf& self, const NeighbourMessage& question,
                     std::span<uint8_t> out) {
  Frame frame{};
  frame.target = question.sender_mac;
  frame.target_ip = question.sender.ip;
  frame.source = self.mac;
  frame.source_ip = self.ip.ip;
  frame.kind = kind_advertisement;
  frame.flags = be32(is_solicited | is_override);
  frame.about = self.ip.ip;
  frame.option = option_target_link;
  frame.link = self.mac;
  return write(frame, out);
}

}  // namespace cw::nd
