#include "dataplane/wire/outer/frame_form.h"

#include <algorithm>
#include <cstring>

namespace cw {
namespace {

constexpr uint8_t open_in_fragment = 0xc0;  // its reserved bit, and don't fragment

/// Ones where frames of one form are alike.
void put_mask(bool is_v4, std::span<uint8_t> mask) {
  const auto may_differ = [&](size_t from, size_t count) {
    std::fill_n(mask.begin() + from, count, 0);
  };
  std::ranges::fill(mask, 0xff);
  using namespace ip_layout;
  const size_t ip = link_header_bytes({}, FrameStart::Ethernet);
  may_differ(0, ip - 2);  // MACs; not the type
  if (is_v4) {
    may_differ(ip + v4::tos, 1);
    may_differ(ip + v4::total_length, 4);  // and the identification
    mask[ip + v4::fragment] = uint8_t(~open_in_fragment);
    may_differ(ip + v4::ttl, 1);
    may_differ(ip + v4::checksum, 2);
  } else {
    mask[ip] = 0xf0;                          // of version, class and label the version
    may_differ(ip + 1, 5);                    // and the length
    may_differ(ip + v6::next_header + 1, 1);  // hop limit
  }
  const size_t ports = ip + (is_v4 ? v4::bytes : v6::bytes);
  may_differ(ports, 2);                // source port
  may_differ(ports + udp::length, 4);  // and the checksum
}

}  // namespace

FrameForm::FrameForm(const FrameAddress& address)
    : transport_offset_(0), is_v4_(address.ip_version == IpVersion::V4) {
  FrameAddress form = address;
  form.vlan.reset();
  transport_offset_ = static_cast<uint32_t>(outer_header_bytes(form, FrameStart::Ethernet));
  std::array<uint8_t, words_offset + words_max * sizeof(Word)> same{}, mask{};
  encode_outer_headers(form, FrameStart::Ethernet, sizeof(Bth), same);
  put_mask(is_v4_, std::span(mask).first(transport_offset_));
  std::memcpy(same_.data(), same.data() + words_offset, sizeof same_);
  std::memcpy(mask_.data(), mask.data() + words_offset, sizeof mask_);
}

}  // namespace cw
