#include "dataplane/wire/frame_form.h"

#include <algorithm>

namespace cw {
namespace {

constexpr size_t link_bytes = 14, type_offset = 12;
constexpr uint8_t open_in_fragment = 0xc0;  // its reserved bit, and don't fragment

/// Ones where frames of one form are alike.
void put_mask(bool is_v4, std::span<uint8_t> mask) {
  const auto may_differ = [&](size_t from, size_t count) {
    std::fill_n(mask.begin() + from, count, 0);
  };
  std::ranges::fill(mask, 0xff);
  may_differ(0, type_offset);
  constexpr size_t ip = link_bytes;
  if (is_v4) {
    may_differ(ip + 1, 1);  // DSCP, ECN
    may_differ(ip + 2, 4);  // length, identification
    mask[ip + 6] = uint8_t(~open_in_fragment);
    may_differ(ip + 8, 1);   // time to live
    may_differ(ip + 10, 2);  // checksum
  } else {
    mask[ip] = 0xf0;        // of version, class and label the version
    may_differ(ip + 1, 5);  // and the length
    may_differ(ip + 7, 1);  // hop limit
  }
  const size_t udp = ip + (is_v4 ? 20 : 40);
  may_differ(udp, 2);      // source port
  may_differ(udp + 4, 4);  // length, checksum
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
