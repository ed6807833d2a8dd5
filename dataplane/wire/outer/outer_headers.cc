#include "dataplane/wire/outer/outer_headers.h"

namespace cw {

OuterHeaders::OuterHeaders(const FrameAddress& address)
    : is_v4_(address.ip_version == IpVersion::V4) {
  FrameAddress common = address;
  common.vlan.reset();
  common.dscp = common.ecn = 0;
  encode_outer_headers(common, FrameStart::Ethernet, 0, bytes_);
  uint8_t* const ip = bytes_.data() + link_bytes;
  first_ = ip_layout::load<be16>(ip);
  if (!is_v4_) return;
  ip_layout::store16(ip + ip_layout::v4::total_length, 0);
  ip_layout::store16(ip + ip_layout::v4::checksum, 0);
  for (size_t at = 0; at < ip_layout::v4::bytes; at += 2) sum_ += ip_layout::load<be16>(ip + at);
}

}  // namespace cw
