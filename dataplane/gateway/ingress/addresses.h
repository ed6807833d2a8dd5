// What kind of address an address is, as far as a gateway must know.
#pragma once

#include <algorithm>

#include "dataplane/wire/outer/frame.h"

namespace cw::gateway {

namespace detail {
inline bool is_zero_until_last(const IpAddress& address) {
  return std::all_of(address.begin(), address.end() - 1, [](uint8_t byte) { return byte == 0; });
}
}  // namespace detail

/// Names one host, if any: neither unspecified, loopback, multicast nor broadcast.
inline bool is_one_host(const IpAddress& address, bool is_v6) {
  if (!is_v6) return address[0] != 0 && address[0] != 127 && address[0] < 224;
  const bool is_unspecified_or_loopback = address[15] <= 1 && detail::is_zero_until_last(address);
  return address[0] != 0xff && !is_unspecified_or_loopback;
}

/// Multicast of any scope.
inline bool is_group(const IpAddress& address, bool is_v6) {
  return is_v6 ? address[0] == 0xff : address[0] >= 224 && address[0] < 240;
}

/// Means something only on its own link, where no router may take it from.
inline bool is_link_local(const IpAddress& address, bool is_v6) {
  if (is_v6) {
    const bool is_unicast = address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
    const bool is_multicast = address[0] == 0xff && (address[1] & 0x0f) <= 2;
    return is_unicast || is_multicast;
  }
  const bool is_unicast = address[0] == 169 && address[1] == 254;
  const bool is_multicast = address[0] == 224 && address[1] == 0 && address[2] == 0;
  const bool is_broadcast =
      std::all_of(address.begin(), address.begin() + 4, [](uint8_t byte) { return byte == 255; });
  return is_unicast || is_multicast || is_broadcast;
}

/// A router may carry packets from `source` to `target`: a host to a host or to a group.
inline bool is_routable(const IpAddress& source, const IpAddress& target, bool is_v6) {
  return is_one_host(source, is_v6) && !is_link_local(source, is_v6) &&
         !is_link_local(target, is_v6) && (is_group(target, is_v6) || is_one_host(target, is_v6));
}

}  // namespace cw::gateway
